/* `assay inspect` of .npy and .npz files: every array's type, order and shape, and what its values
 * are like. */
#include "cli/inspect.h"

#include <stdio.h>

#include "base/alloc.h"
#include "package/npz.h"

/* Larger arrays are described by their headers alone. A deflated one may come from a thousandth of
 * its size. */
#define READ_MAX_BYTES    ((uint64_t)4 << 30)
#define INFLATE_MAX_BYTES ((uint64_t)1 << 30)

/* reason says why nothing is known. */
typedef struct values {
  bool known;
  char reason[INSPECT_TEXT_BYTES]; /* when not */
  inspect_values found;
} values;

typedef struct listing {
  assay_npz_entry_info *entries;
  values *values; /* [n] */
  size_t n;
} listing;

static void say_unknown(values *out, const char *reason) {
  snprintf(out->reason, sizeof out->reason, "%s", reason);
}

/* Reads one array and looks at its values. Only bytes that contradict the format fail: whoever
 * lists an archive must hear of a wrong CRC. */
static assay_status read_values(const char *path, bool is_npz, const assay_npz_entry_info *entry,
                                values *out, assay_error *err) {
  const assay_npz_limits limits = {.max_array_bytes = READ_MAX_BYTES};
  if (entry->dtype == ASSAY_DTYPE_NONE) {
    say_unknown(out, "not a type of numbers that assay reads");
    return ASSAY_OK;
  }
  if (entry->dtype == ASSAY_DTYPE_C64 || entry->dtype == ASSAY_DTYPE_C128) {
    say_unknown(out, "complex numbers have no order");
    return ASSAY_OK;
  }
  if (entry->size_bytes > (entry->compressed ? INFLATE_MAX_BYTES : READ_MAX_BYTES)) {
    say_unknown(out,
                entry->compressed ? "deflated and over 1 GiB, not read" : "over 4 GiB, not read");
    return ASSAY_OK;
  }
  assay_tensor tensor = {0};
  ASSAY_TRY(is_npz ? assay_npz_read_array(path, entry->name, &limits, &tensor, err)
                   : assay_npy_read(path, &limits, &tensor, err));
  inspect_measure(&tensor, &out->found);
  out->known = true;
  assay_tensor_reset(&tensor);
  return ASSAY_OK;
}

static assay_status collect(const char *path, bool is_npz, listing *out, assay_error *err) {
  ASSAY_TRY(assay_npz_list(path, &out->entries, &out->n, err));
  out->values = assay_alloc_array(out->n, sizeof *out->values);
  if (out->values == NULL) return assay_fail_memory(err, out->n * sizeof *out->values);
  for (size_t i = 0; i < out->n; i++) {
    ASSAY_TRY(read_values(path, is_npz, &out->entries[i], &out->values[i], err));
  }
  return ASSAY_OK;
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void put_values(assay_json_builder *json, const assay_npz_entry_info *entry,
                       const values *v) {
  if (!v->known) {
    assay_json_put_null(json, "values");
    assay_json_put_string(json, "values_reason", v->reason);
    return;
  }
  inspect_put_values(json, entry->dtype, &v->found);
}

static void put_entry(assay_json_builder *json, const assay_npz_entry_info *entry, const values *v,
                      bool is_npz) {
  assay_json_begin_object(json, NULL);
  inspect_put_text(json, "name", is_npz ? entry->name : NULL);
  assay_json_put_string(json, "descr", entry->descr);
  bool is_known = entry->dtype != ASSAY_DTYPE_NONE;
  assay_json_put_string(json, "dtype", is_known ? assay_dtype_name(entry->dtype) : NULL);
  assay_json_begin_array(json, "shape");
  for (int i = 0; i < entry->rank; i++) assay_json_put_int(json, NULL, entry->dims[i]);
  assay_json_end(json);
  assay_json_put_string(json, "order", entry->fortran_order ? "column-major" : "row-major");
  if (is_known)
    assay_json_put_int(json, "size_bytes", (int64_t)entry->size_bytes);
  else
    assay_json_put_null(json, "size_bytes");
  assay_json_put_bool(json, "compressed", entry->compressed);
  if (!is_npz) assay_json_put_int(json, "extra_bytes", (int64_t)entry->extra_bytes);
  put_values(json, entry, v);
  assay_json_end(json);
}

static void put_listing(assay_json_builder *json, const listing *list, bool is_npz) {
  assay_json_put_string(json, "kind", is_npz ? "npz" : "npy");
  assay_json_begin_array(json, "arrays");
  for (size_t i = 0; i < list->n; i++) put_entry(json, &list->entries[i], &list->values[i], is_npz);
  assay_json_end(json);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static void add_values(inspect_table *table, const assay_npz_entry_info *entry, const values *v) {
  if (!v->known) {
    for (int i = 0; i < 3; i++) inspect_table_add(table, "%s", "");
    inspect_table_add(table, "%s", v->reason);
    return;
  }
  inspect_table_add_values(table, entry->dtype, &v->found);
}

/* What is not as usual about how the array is stored. */
static const char *storage_of(const assay_npz_entry_info *entry) {
  if (entry->fortran_order) return entry->compressed ? "column-major, deflated" : "column-major";
  return entry->compressed ? "deflated" : "";
}

static void print_listing(const char *path, const listing *list, bool is_npz) {
  char safe[INSPECT_TEXT_BYTES], size[INSPECT_TEXT_BYTES];
  uint64_t total_bytes = 0;
  for (size_t i = 0; i < list->n; i++) total_bytes += list->entries[i].size_bytes;
  inspect_safe(path, safe);
  inspect_size(total_bytes, size);
  if (is_npz)
    printf("%s: NumPy archive, %zu array%s, %s\n", safe, list->n, list->n == 1 ? "" : "s", size);
  else if (list->entries[0].dtype != ASSAY_DTYPE_NONE)
    printf("%s: NumPy array, %s\n", safe, size);
  else
    printf("%s: NumPy array\n", safe);
  inspect_table table = {.n_cols = 8};
  static const char *const head[] = {"name", "type", "shape", "storage",
                                     "min",  "max",  "mean",  "other"};
  for (size_t i = 0; i < 8 && list->n > 0; i++) inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < list->n; i++) {
    const assay_npz_entry_info *entry = &list->entries[i];
    char shape[INSPECT_TEXT_BYTES];
    assay_shape_text(entry->dims, entry->rank, shape, sizeof shape);
    inspect_table_add(&table, "%s", is_npz ? entry->name : "(no name)");
    inspect_table_add(&table, "%s", entry->descr);
    inspect_table_add(&table, "%s", shape);
    inspect_table_add(&table, "%s", storage_of(entry));
    add_values(&table, entry, &list->values[i]);
  }
  inspect_table_print(&table, "");
  if (!is_npz && list->entries[0].extra_bytes > 0) {
    inspect_line("note", "%llu bytes behind the array are ignored, as by numpy",
                 (unsigned long long)list->entries[0].extra_bytes);
  }
}

/* ---- both ---------------------------------------------------------------------------------------
 */

static assay_status inspect_arrays(const char *path, bool is_npz, assay_json_builder *json,
                                   assay_error *err) {
  listing list = {0};
  assay_status st = collect(path, is_npz, &list, err);
  if (!st && json != NULL) put_listing(json, &list, is_npz);
  if (!st && json == NULL) print_listing(path, &list, is_npz);
  assay_npz_list_destroy(list.entries, list.n);
  assay_free(list.values);
  return st;
}

assay_status inspect_npz(const char *path, assay_json_builder *json, assay_error *err) {
  return inspect_arrays(path, /*is_npz=*/true, json, err);
}

assay_status inspect_npy(const char *path, assay_json_builder *json, assay_error *err) {
  return inspect_arrays(path, /*is_npz=*/false, json, err);
}
