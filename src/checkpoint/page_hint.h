/* Memory that is about to be gone through from end to end: the system may make all its pages ready
 * at once, where one fault for each costs as much as the bytes. Hints only: nothing depends on
 * them, and where the system does not know them nothing happens. */
#ifndef ASSAY_CHECKPOINT_PAGE_HINT_H
#define ASSAY_CHECKPOINT_PAGE_HINT_H

#include <stddef.h>

/* Mapped bytes of a file, which will all be read. */
void page_hint_read(const void *bytes, size_t size_bytes);

/* Fresh memory, which will all be written. */
void page_hint_write(void *bytes, size_t size_bytes);

#endif
