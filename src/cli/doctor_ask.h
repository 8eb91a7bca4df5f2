/* What 'assay doctor' asks of another process of this program: to open a library or a runtime, and
 * to say how that went as JSON. One process opens one library, and a damaged one may take its
 * process with it. */
#ifndef ASSAY_CLI_DOCTOR_ASK_H
#define ASSAY_CLI_DOCTOR_ASK_H

#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

/* An empty folder of our own; removed with assay_folder_remove. Errors: IO. */
assay_status assay_doctor_open_folder(char *out, size_t out_bytes,
                                      assay_error *err) ASSAY_NODISCARD;

/* "assay doctor OPTION VALUE" as a child with env ("K=V", "K" alone to unset; ends in NULL, or
 * NULL); *out is what it printed, or {"asked": VALUE, "usable": false, "reason": …} where it did
 * not get that far. Errors: IO, MEMORY. */
assay_status assay_doctor_ask(const char *self, const char *option, const char *value,
                              const char *const *env, assay_json **out,
                              assay_error *err) ASSAY_NODISCARD;

#endif
