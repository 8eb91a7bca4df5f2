/* Taps of one evaluation (ref_mlpf.h): which blocks the caller wants, and tensors that steps fill
 * on the way. A step that finds slot->data NULL has nothing to keep. */
#ifndef ASSAY_REFERENCE_REF_TAP_H
#define ASSAY_REFERENCE_REF_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "reference/ref_mlpf.h"

enum { REF_TAP_NAME_BYTES = 96 };

/* All zeroes: a block that nobody wants. */
typedef struct ref_tap_slot {
  char name[REF_TAP_NAME_BYTES];
  assay_tensor tensor; /* owned; zeroed when opened */
} ref_tap_slot;

/* Whether the caller wants a block: asked once for each. tap may be NULL. */
bool ref_tap_wants(const assay_ref_tap *tap, const char *block);

/* Gives the caller a view of data, if it wants the block. Errors: the caller's. */
assay_status ref_tap_show(const assay_ref_tap *tap, const char *block, assay_dtype dtype, int rank,
                          const int64_t *dims, void *data, assay_error *err) ASSAY_NODISCARD;

/* Memory for a block if the caller wants it; nothing otherwise. Errors: MEMORY. */
assay_status ref_tap_open(const assay_ref_tap *tap, const char *block, assay_dtype dtype, int rank,
                          const int64_t *dims, ref_tap_slot *slot,
                          assay_error *err) ASSAY_NODISCARD;

/* Gives the caller what was kept, if the slot is open, and closes it. Errors: the caller's. */
assay_status ref_tap_close(const assay_ref_tap *tap, ref_tap_slot *slot,
                           assay_error *err) ASSAY_NODISCARD;

void ref_tap_reset(ref_tap_slot *slot);

#endif
