/* Reads and writes the "caches" member of result.json. The format stands in the header. */
#include "package/result_caches.h"

#include "base/alloc.h"
#include "base/array.h"
#include "package/fields.h"

#define CACHE(member, kind) ASSAY_FIELD(assay_result_cache, member, kind)
static const assay_field cache_fields[] = {
    CACHE(name, STRING),         CACHE(n_files_before, COUNT), CACHE(bytes_before, COUNT),
    CACHE(n_files_after, COUNT), CACHE(bytes_after, COUNT),
};
#undef CACHE

static assay_status reserve(assay_result_caches *out, size_t n, assay_error *err) {
  out->items = assay_alloc_array(n > 0 ? n : 1, sizeof *out->items);
  if (out->items == NULL) return assay_fail_memory(err, n * sizeof *out->items);
  out->n = n;
  return ASSAY_OK;
}

assay_status assay_result_caches_read(const assay_json *root, assay_result_caches *out,
                                      assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_array(root, "caches", &list, err));
  ASSAY_TRY(reserve(out, assay_json_len(list), err));
  for (size_t i = 0; i < out->n; i++) {
    assay_status st = assay_fields_read(assay_json_at(list, i), cache_fields, N_OF(cache_fields),
                                        NULL, /*n_others=*/0, &out->items[i], err);
    if (st) {
      assay_error_in(err, "'caches'");
      return st;
    }
  }
  return ASSAY_OK;
}

void assay_result_caches_put(const assay_result_caches *caches, assay_json_builder *b) {
  assay_json_begin_array(b, "caches");
  for (size_t i = 0; i < caches->n; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(cache_fields, N_OF(cache_fields), &caches->items[i], b);
    assay_json_end(b);
  }
  assay_json_end(b);
}

assay_status assay_result_caches_copy(const assay_result_caches *from, assay_result_caches *out,
                                      assay_error *err) {
  assay_result_caches_reset(out);
  ASSAY_TRY(reserve(out, from->n, err));
  for (size_t i = 0; i < from->n; i++) {
    out->items[i] = from->items[i];
    out->items[i].name = assay_fields_printable(from->items[i].name);
    if (out->items[i].name == NULL) return assay_fail_memory(err, 64);
  }
  return ASSAY_OK;
}

void assay_result_caches_reset(assay_result_caches *caches) {
  for (size_t i = 0; i < caches->n; i++) assay_free(caches->items[i].name);
  assay_free(caches->items);
  *caches = (assay_result_caches){0};
}

const char *assay_result_caches_word(const assay_result_caches *caches) {
  for (size_t i = 0; i < caches->n; i++)
    if (caches->items[i].n_files_before > 0) return "warm";
  return caches->n > 0 ? "cold" : "";
}
