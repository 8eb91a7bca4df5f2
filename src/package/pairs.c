/* Reads and writes compare/pairs.json. The format stands in the header. */
#include "package/pairs.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "package/fields.h"

#define PAIRS_MAX_BYTES ((size_t)256 << 20)

static const assay_field side_fields[] = {
    ASSAY_FIELD(assay_pairs_side, runtime, NAME),
    ASSAY_FIELD(assay_pairs_side, bundle, NAME),
};
static const assay_field pair_fields[] = {
    {"case", ASSAY_FIELD_NAME, offsetof(assay_pair, case_name), sizeof(char *), NULL, 0},
    ASSAY_FIELD_SUB(assay_pair, a, side_fields),
    ASSAY_FIELD_SUB(assay_pair, b, side_fields),
    ASSAY_FIELD(assay_pair, reason, STRING_OR_NULL),
    ASSAY_FIELD(assay_pair, same_graph, BOOL),
    ASSAY_FIELD(assay_pair, identical, BOOL),
};
static const char *const pair_others[] = {"comparisons", "nearer"};
static const assay_field nearer_fields[] = {
    ASSAY_FIELD(assay_pairs_nearer, head, STRING),  ASSAY_FIELD(assay_pairs_nearer, n, COUNT),
    ASSAY_FIELD(assay_pairs_nearer, n_a, COUNT),    ASSAY_FIELD(assay_pairs_nearer, n_b, COUNT),
    ASSAY_FIELD(assay_pairs_nearer, n_same, COUNT),
};
static const assay_field root_fields[] = {
    ASSAY_FIELD(assay_pairs, what, STRING),
    ASSAY_FIELD(assay_pairs, a, STRING),
    ASSAY_FIELD(assay_pairs, b, STRING),
};
static const char *const root_others[] = {"schema", "pairs"};

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status read_comparisons(const assay_json *object, assay_pair *out, assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_array(object, "comparisons", &list, err));
  out->comparisons = assay_alloc_array(assay_json_len(list), sizeof *out->comparisons);
  if (out->comparisons == NULL) return assay_fail_memory(err, assay_json_len(list));
  for (size_t i = 0; i < assay_json_len(list); i++) {
    out->n_comparisons++;
    assay_status st =
        assay_result_comparison_read(assay_json_at(list, i), &out->comparisons[i], err);
    if (st) {
      assay_error_in(err, "comparisons[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status read_nearer(const assay_json *object, assay_pair *out, assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_array(object, "nearer", &list, err));
  out->nearer = assay_alloc_array(assay_json_len(list), sizeof *out->nearer);
  if (out->nearer == NULL) return assay_fail_memory(err, assay_json_len(list));
  for (size_t i = 0; i < assay_json_len(list); i++) {
    out->n_nearer++;
    assay_status st = assay_fields_read(assay_json_at(list, i), nearer_fields, N_OF(nearer_fields),
                                        NULL, /*n_others=*/0, &out->nearer[i], err);
    if (st) {
      assay_error_in(err, "nearer[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

static assay_status read_pair(const assay_json *object, assay_pair *out, assay_error *err) {
  ASSAY_TRY(assay_fields_read(object, pair_fields, N_OF(pair_fields), pair_others,
                              N_OF(pair_others), out, err));
  ASSAY_TRY(read_comparisons(object, out, err));
  return read_nearer(object, out, err);
}

static assay_status read_root(const assay_json *root, assay_pairs *out, assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_schema(root, "pairs", /*version=*/1, err));
  ASSAY_TRY(assay_fields_read(root, root_fields, N_OF(root_fields), root_others, N_OF(root_others),
                              out, err));
  ASSAY_TRY(assay_json_need_array(root, "pairs", &list, err));
  out->pairs = assay_alloc_array(assay_json_len(list), sizeof *out->pairs);
  if (out->pairs == NULL) return assay_fail_memory(err, assay_json_len(list));
  for (size_t i = 0; i < assay_json_len(list); i++) {
    out->n++;
    assay_status st = read_pair(assay_json_at(list, i), &out->pairs[i], err);
    if (st) {
      assay_error_in(err, "pairs[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status assay_pairs_read(const char *package_path, assay_pairs *out, assay_error *err) {
  assay_json *root = NULL;
  assay_pairs pairs = {0};
  char *path = assay_path_join(package_path, ASSAY_PAIRS_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_json_read(path, PAIRS_MAX_BYTES, &root, err);
  if (st == ASSAY_OK) {
    st = read_root(root, &pairs, err);
    if (st) assay_error_in(err, "%s", path);
  }
  assay_json_destroy(root);
  assay_free(path);
  if (st) {
    assay_pairs_reset(&pairs);
    return st;
  }
  *out = pairs;
  return ASSAY_OK;
}

bool assay_pairs_are_there(const char *package_path) {
  char *path = assay_path_join(package_path, ASSAY_PAIRS_FILE);
  bool there = path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FILE;
  assay_free(path);
  return there;
}

/* --- writing -------------------------------------------------------------------------------------
 */

static void put_pair(const assay_pair *pair, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_fields_put(pair_fields, N_OF(pair_fields), pair, b);
  assay_json_begin_array(b, "comparisons");
  for (size_t i = 0; i < pair->n_comparisons; i++)
    assay_result_comparison_put(&pair->comparisons[i], b, NULL);
  assay_json_end(b);
  assay_json_begin_array(b, "nearer");
  for (size_t i = 0; i < pair->n_nearer; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(nearer_fields, N_OF(nearer_fields), &pair->nearer[i], b);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
}

assay_status assay_pairs_write(const assay_pairs *pairs, const char *package_path,
                               assay_error *err) {
  char *folder = assay_path_join(package_path, ASSAY_PAIRS_FOLDER);
  char *path = assay_path_join(package_path, ASSAY_PAIRS_FILE);
  assay_json_builder *b = assay_json_builder_create();
  assay_status st = folder != NULL && path != NULL ? assay_folder_create(folder, err)
                                                   : assay_fail_memory(err, 256);
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/pairs/1");
  assay_fields_put(root_fields, N_OF(root_fields), pairs, b);
  assay_json_begin_array(b, "pairs");
  for (size_t i = 0; i < pairs->n; i++) put_pair(&pairs->pairs[i], b);
  assay_json_end(b);
  assay_json_end(b);
  if (st == ASSAY_OK) st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  assay_free(folder);
  assay_free(path);
  return st;
}

/* --- the end -------------------------------------------------------------------------------------
 */

void assay_pair_reset(assay_pair *pair) {
  for (size_t i = 0; i < pair->n_comparisons; i++)
    assay_result_comparison_reset(&pair->comparisons[i]);
  for (size_t i = 0; i < pair->n_nearer; i++) assay_free(pair->nearer[i].head);
  assay_free(pair->comparisons);
  assay_free(pair->nearer);
  assay_fields_reset(pair_fields, N_OF(pair_fields), pair);
  *pair = (assay_pair){0};
}

void assay_pairs_reset(assay_pairs *pairs) {
  for (size_t i = 0; i < pairs->n; i++) assay_pair_reset(&pairs->pairs[i]);
  assay_free(pairs->pairs);
  assay_fields_reset(root_fields, N_OF(root_fields), pairs);
  *pairs = (assay_pairs){0};
}
