#include "onnx/name_set.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const char *name) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (const char *p = name; *p != '\0'; p++)
    hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
  return hash;
}

/* Where name is, or the free slot where it would go. */
static const char **slot_of(const char **slots, size_t n_slots, const char *name) {
  size_t i = (size_t)hash_of(name) & (n_slots - 1);
  while (slots[i] != NULL && strcmp(slots[i], name) != 0) i = (i + 1) & (n_slots - 1);
  return &slots[i];
}

const char *assay_name_set_find(const assay_name_set *set, const char *name) {
  return set->n_slots == 0 ? NULL : *slot_of(set->slots, set->n_slots, name);
}

static assay_status grow(assay_name_set *set, assay_error *err) {
  size_t n_slots = set->n_slots == 0 ? 64 : set->n_slots * 2;
  const char **slots = assay_alloc_array(n_slots, sizeof *slots);
  if (slots == NULL) return assay_fail_memory(err, n_slots * sizeof *slots);
  for (size_t i = 0; i < set->n_slots; i++) {
    if (set->slots[i] != NULL) *slot_of(slots, n_slots, set->slots[i]) = set->slots[i];
  }
  assay_name_set_reset(&(assay_name_set){.slots = set->slots});
  set->slots = slots;
  set->n_slots = n_slots;
  return ASSAY_OK;
}

assay_status assay_name_set_add(assay_name_set *set, const char *name, assay_error *err) {
  if (set->n * 2 >= set->n_slots) ASSAY_TRY(grow(set, err));
  *slot_of(set->slots, set->n_slots, name) = name;
  set->n++;
  return ASSAY_OK;
}

void assay_name_set_reset(assay_name_set *set) {
  void *slots = set->slots;
  assay_free(slots);
  *set = (assay_name_set){0};
}
