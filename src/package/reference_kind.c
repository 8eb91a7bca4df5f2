#include "package/reference_kind.h"

#include <stddef.h>
#include <string.h>

const assay_reference_kind ASSAY_REFERENCE_KINDS[ASSAY_N_REFERENCE_KINDS] = {
    {"f32", true, NULL},
    {"f64", true, NULL},
    {"user", true, NULL},
    {"same", false, "FP16, sums in FP32"},
    {"sums", false, "FP16, sums in FP16"},
    {"stored", false, "FP32, stored in FP16"},
};

const assay_reference_kind *assay_reference_kind_find(const char *name) {
  for (int i = 0; i < ASSAY_N_REFERENCE_KINDS; i++) {
    if (strcmp(ASSAY_REFERENCE_KINDS[i].name, name) == 0) return &ASSAY_REFERENCE_KINDS[i];
  }
  return NULL;
}
