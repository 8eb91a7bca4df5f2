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

assay_status assay_result_caches_read(const assay_json *root, assay_result_caches *out,
                                      assay_error *err) {
  void *list = NULL;
  const assay_status st = assay_fields_list(root, "caches", cache_fields, N_OF(cache_fields),
                                            sizeof *out->items, &list, &out->n, err);
  out->items = list;
  return st;
}

void assay_result_caches_put(const assay_result_caches *caches, assay_json_builder *b) {
  assay_fields_put_list(b, "caches", cache_fields, N_OF(cache_fields), caches->items,
                        sizeof *caches->items, caches->n);
}

assay_status assay_result_caches_copy(const assay_result_caches *from, assay_result_caches *out,
                                      assay_error *err) {
  assay_result_caches_reset(out);
  out->items = assay_alloc_array(from->n, sizeof *out->items);
  if (out->items == NULL) return assay_fail_memory(err, from->n * sizeof *out->items);
  out->n = from->n;
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
