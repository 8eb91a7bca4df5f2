#include "fusion/span_index.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_SLOTS 64

/* FNV-1a, 64 bits. */
static size_t hash_of(assay_text_span key) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < key.n; i++) h = (h ^ (unsigned char)key.text[i]) * 0x100000001b3u;
  return (size_t)(h ^ (h >> 29));
}

/* The slot of key, or the free one where it belongs; n_slots is not 0. */
static struct assay_span_slot *slot_of(const assay_span_index *index, assay_text_span key) {
  size_t i = hash_of(key) & (index->n_slots - 1);
  while (index->slots[i].key.text != NULL && !assay_span_equal(index->slots[i].key, key))
    i = (i + 1) & (index->n_slots - 1);
  return &index->slots[i];
}

bool assay_span_index_find(const assay_span_index *index, assay_text_span key, size_t *out) {
  if (index->n_slots == 0) return false;
  const struct assay_span_slot *slot = slot_of(index, key);
  if (slot->key.text == NULL) return false;
  *out = slot->value;
  return true;
}

static assay_status grow(assay_span_index *index, assay_error *err) {
  size_t n_slots = index->n_slots > 0 ? 2 * index->n_slots : FIRST_SLOTS;
  assay_span_index larger = {
      .slots = assay_alloc_array(n_slots, sizeof *index->slots), .n_slots = n_slots, .n = index->n};
  if (larger.slots == NULL) return assay_fail_memory(err, n_slots * sizeof *index->slots);
  for (size_t i = 0; i < index->n_slots; i++)
    if (index->slots[i].key.text != NULL) *slot_of(&larger, index->slots[i].key) = index->slots[i];
  assay_free(index->slots);
  *index = larger;
  return ASSAY_OK;
}

assay_status assay_span_index_set(assay_span_index *index, assay_text_span key, size_t value,
                                  assay_error *err) {
  if (2 * (index->n + 1) > index->n_slots) ASSAY_TRY(grow(index, err));
  struct assay_span_slot *slot = slot_of(index, key);
  if (slot->key.text == NULL) index->n++;
  *slot = (struct assay_span_slot){.key = key, .value = value};
  return ASSAY_OK;
}

void assay_span_index_clear(assay_span_index *index) {
  if (index->n == 0) return;
  if (index->n_slots >
      16 * (index->n + FIRST_SLOTS)) { /* emptying it would cost more than filling */
    assay_span_index_reset(index);
    return;
  }
  memset(index->slots, 0, index->n_slots * sizeof *index->slots);
  index->n = 0;
}

void assay_span_index_reset(assay_span_index *index) {
  assay_free(index->slots);
  *index = (assay_span_index){0};
}
