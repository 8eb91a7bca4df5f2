/* See ref_tap.h. */
#include "reference/ref_tap.h"

#include <assert.h>
#include <stdio.h>

bool ref_tap_wants(const assay_ref_tap *tap, const char *block) {
  return tap != NULL && (tap->wants == NULL || tap->wants(tap->argument, block));
}

assay_status ref_tap_show(const assay_ref_tap *tap, const char *block, assay_dtype dtype, int rank,
                          const int64_t *dims, void *data, assay_error *err) {
  assay_tensor view;
  if (!ref_tap_wants(tap, block)) return ASSAY_OK;
  ASSAY_TRY(assay_tensor_init_view(&view, dtype, rank, dims, data, err));
  return tap->take(tap->argument, block, &view, err);
}

assay_status ref_tap_open(const assay_ref_tap *tap, const char *block, assay_dtype dtype, int rank,
                          const int64_t *dims, ref_tap_slot *slot, assay_error *err) {
  assert(slot->tensor.data == NULL);
  if (!ref_tap_wants(tap, block)) return ASSAY_OK;
  snprintf(slot->name, sizeof slot->name, "%s", block);
  return assay_tensor_init(&slot->tensor, dtype, rank, dims, err);
}

assay_status ref_tap_close(const assay_ref_tap *tap, ref_tap_slot *slot, assay_error *err) {
  if (slot->tensor.data == NULL) return ASSAY_OK;
  assay_status st = tap->take(tap->argument, slot->name, &slot->tensor, err);
  ref_tap_reset(slot);
  return st;
}

void ref_tap_reset(ref_tap_slot *slot) {
  assay_tensor_reset(&slot->tensor);
  *slot = (ref_tap_slot){0};
}
