/* `assay inspect` of a TFDS dataset: its splits, shards and features, or one example's arrays; and
 * of a single ArrayRecord file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/inspect.h"
#include "dataset/array_record.h"
#include "dataset/tfds.h"
#include "dataset/tfrecord.h"

#define DEFAULT_SPLIT "test"

/* name[/config]:version, safe for a terminal. */
static const char *full_name(const assay_tfds *dataset, char out[INSPECT_TEXT_BYTES]) {
  char raw[INSPECT_TEXT_BYTES];
  assay_tfds_info info = assay_tfds_describe(dataset);
  snprintf(raw, sizeof raw, "%s%s%s:%s", info.name, *info.config == '\0' ? "" : "/", info.config,
           info.version);
  return inspect_safe(raw, out);
}

/* ---- shards -------------------------------------------------------------------------------------
 */

/* What opening a shard found. */
typedef struct shard {
  size_t split, index;
  char *path;
  char *problem; /* or NULL */
} shard;

typedef struct shards {
  shard *items;
  size_t n;
  size_t n_wrong;
} shards;

static void reset_shards(shards *list) {
  for (size_t i = 0; i < list->n; i++) {
    assay_free(list->items[i].path);
    assay_free(list->items[i].problem);
  }
  assay_free(list->items);
  *list = (shards){0};
}

/* Whatever is wrong with a shard is a finding; only what is wrong with this machine fails. */
static assay_status check_shard(assay_tfds *dataset, shard *s, shards *list, assay_error *err) {
  assay_error words = {0};
  ASSAY_TRY(assay_tfds_shard_path(dataset, s->split, s->index, &s->path, err));
  assay_status st = assay_tfds_check_shard(dataset, s->split, s->index, &words);
  if (st == ASSAY_OK) return ASSAY_OK;
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", words.text);
  s->problem = assay_strdup(words.text);
  if (s->problem == NULL) return assay_fail_memory(err, 0);
  list->n_wrong++;
  return ASSAY_OK;
}

static assay_status check_shards(assay_tfds *dataset, shards *list, assay_error *err) {
  size_t n = 0;
  for (size_t i = 0; i < assay_tfds_n_splits(dataset); i++)
    n += assay_tfds_split_at(dataset, i).n_shards;
  list->items = assay_alloc_array(n, sizeof *list->items);
  if (list->items == NULL) return assay_fail_memory(err, n * sizeof *list->items);
  for (size_t i = 0; i < assay_tfds_n_splits(dataset); i++) {
    for (size_t k = 0; k < assay_tfds_split_at(dataset, i).n_shards; k++) {
      shard *s = &list->items[list->n++];
      *s = (shard){.split = i, .index = k};
      ASSAY_TRY(check_shard(dataset, s, list, err));
    }
  }
  return ASSAY_OK;
}

static assay_status fail_shards(const shards *list, assay_error *err) {
  for (size_t i = 0; i < list->n; i++) {
    if (list->items[i].problem == NULL) continue;
    if (list->n_wrong == 1)
      return assay_fail(err, ASSAY_E_MISMATCH, "one of %zu shards is missing or wrong: %s", list->n,
                        list->items[i].problem);
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "%zu of %zu shards are missing or wrong, the first of them: %s",
                      list->n_wrong, list->n, list->items[i].problem);
  }
  return ASSAY_OK;
}

/* ---- a dataset as JSON --------------------------------------------------------------------------
 */

static void put_identity(assay_json_builder *json, const assay_tfds *dataset) {
  assay_tfds_info info = assay_tfds_describe(dataset);
  inspect_put_text(json, "name", info.name);
  inspect_put_text(json, "config", *info.config == '\0' ? NULL : info.config);
  inspect_put_text(json, "version", info.version);
  assay_json_put_string(json, "file_format", info.file_format);
  assay_json_begin_object(json, "metadata_sha256");
  assay_json_put_string(json, "dataset_info.json", info.info_sha256);
  assay_json_put_string(json, "features.json", info.features_sha256);
  assay_json_put_string(json, "metadata.json",
                        *info.metadata_sha256 == '\0' ? NULL : info.metadata_sha256);
  assay_json_end(json);
}

static void put_splits(assay_json_builder *json, const assay_tfds *dataset, const shards *list) {
  assay_json_begin_array(json, "splits");
  const shard *s = list->items;
  for (size_t i = 0; i < assay_tfds_n_splits(dataset); i++) {
    assay_tfds_split split = assay_tfds_split_at(dataset, i);
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", split.name);
    assay_json_put_int(json, "n_examples", (int64_t)split.n_examples);
    if (split.size_bytes >= 0)
      assay_json_put_int(json, "size_bytes", split.size_bytes);
    else
      assay_json_put_null(json, "size_bytes");
    assay_json_begin_array(json, "shards");
    for (size_t k = 0; k < split.n_shards; k++, s++) {
      assay_json_begin_object(json, NULL);
      inspect_put_text(json, "file", assay_path_name(s->path));
      assay_json_put_int(json, "n_examples", (int64_t)assay_tfds_shard_count(dataset, i, k));
      inspect_put_text(json, "problem", s->problem);
      assay_json_end(json);
    }
    assay_json_end(json);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static const char *encoding_name(const assay_tfds_feature *feature) {
  static const char *const names[] = {"none", "bytes", "zlib"};
  return names[feature->encoding];
}

static void put_features(assay_json_builder *json, const assay_tfds *dataset) {
  assay_json_begin_array(json, "features");
  for (size_t i = 0; i < assay_tfds_n_features(dataset); i++) {
    const assay_tfds_feature *f = assay_tfds_feature_at(dataset, i);
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", f->name);
    bool is_known = f->dtype != ASSAY_DTYPE_NONE;
    assay_json_put_string(json, "dtype", is_known ? assay_dtype_name(f->dtype) : NULL);
    assay_json_begin_array(json, "shape");
    for (int d = 0; d < f->rank; d++) {
      if (f->dims[d] >= 0)
        assay_json_put_int(json, NULL, f->dims[d]);
      else
        assay_json_put_null(json, NULL);
    }
    assay_json_end(json);
    assay_json_put_string(json, "encoding", encoding_name(f));
    assay_json_put_bool(json, "optional", f->optional);
    inspect_put_text(json, "unsupported", f->unsupported);
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void put_dataset(assay_json_builder *json, const assay_tfds *dataset, const shards *list) {
  assay_json_put_string(json, "kind", "dataset");
  put_identity(json, dataset);
  inspect_put_text(json, "warning", assay_tfds_describe(dataset).warning);
  put_splits(json, dataset, list);
  put_features(json, dataset);
}

/* ---- a dataset as text --------------------------------------------------------------------------
 */

static void print_splits(const assay_tfds *dataset, const shards *list) {
  inspect_table table = {.n_cols = 5};
  static const char *const head[] = {"name", "examples", "shards", "records", ""};
  for (size_t i = 0; i < 5; i++) inspect_table_add(&table, "%s", head[i]);
  const shard *s = list->items;
  for (size_t i = 0; i < assay_tfds_n_splits(dataset); i++) {
    assay_tfds_split split = assay_tfds_split_at(dataset, i);
    char size[INSPECT_TEXT_BYTES] = "";
    size_t n_wrong = 0;
    for (size_t k = 0; k < split.n_shards; k++, s++) n_wrong += s->problem != NULL;
    if (split.size_bytes >= 0) inspect_size((uint64_t)split.size_bytes, size);
    inspect_table_add(&table, "%s", split.name);
    inspect_table_add(&table, "%" PRIu64, split.n_examples);
    inspect_table_add(&table, "%zu", split.n_shards);
    inspect_table_add(&table, "%s", size);
    if (n_wrong > 0)
      inspect_table_add(&table, "%zu missing or wrong", n_wrong);
    else
      inspect_table_add(&table, "%s", "");
  }
  inspect_table_print(&table, "splits");
}

/* "[any,55]" */
static void shape_text(const assay_tfds_feature *feature, char out[INSPECT_TEXT_BYTES]) {
  size_t used = (size_t)snprintf(out, INSPECT_TEXT_BYTES, "[");
  for (int d = 0; d < feature->rank; d++) {
    const char *comma = d > 0 ? "," : "";
    int n = feature->dims[d] < 0 ? snprintf(out + used, INSPECT_TEXT_BYTES - used, "%sany", comma)
                                 : snprintf(out + used, INSPECT_TEXT_BYTES - used, "%s%" PRId64,
                                            comma, feature->dims[d]);
    used += (size_t)n; /* 17 dimensions of 13 digits fit */
  }
  snprintf(out + used, INSPECT_TEXT_BYTES - used, "]");
}

static void print_features(const assay_tfds *dataset) {
  inspect_table table = {.n_cols = 4};
  static const char *const head[] = {"name", "type", "shape", ""};
  for (size_t i = 0; i < 4; i++) inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < assay_tfds_n_features(dataset); i++) {
    const assay_tfds_feature *f = assay_tfds_feature_at(dataset, i);
    char shape[INSPECT_TEXT_BYTES];
    bool is_encoded = f->encoding != ASSAY_TFDS_PLAIN;
    shape_text(f, shape);
    inspect_table_add(&table, "%s", f->name);
    inspect_table_add(&table, "%s",
                      f->dtype == ASSAY_DTYPE_NONE ? "?" : assay_dtype_name(f->dtype));
    inspect_table_add(&table, "%s", f->unsupported != NULL ? "" : shape);
    if (f->unsupported != NULL)
      inspect_table_add(&table, "not read: %s", f->unsupported);
    else
      inspect_table_add(&table, "%s%s%s", f->optional ? "optional" : "",
                        f->optional && is_encoded ? ", " : "", is_encoded ? encoding_name(f) : "");
  }
  inspect_table_print(&table, "features");
}

static void print_dataset(const char *path, const assay_tfds *dataset, const shards *list) {
  char safe[INSPECT_TEXT_BYTES], name[INSPECT_TEXT_BYTES], warning[INSPECT_TEXT_BYTES];
  assay_tfds_info info = assay_tfds_describe(dataset);
  printf("%s: TFDS dataset %s, %s\n", inspect_safe(path, safe), full_name(dataset, name),
         info.file_format);
  print_splits(dataset, list);
  print_features(dataset);
  inspect_line("SHA-256", "dataset_info.json  %s", info.info_sha256);
  inspect_line("", "features.json      %s", info.features_sha256);
  if (*info.metadata_sha256 != '\0')
    inspect_line("", "metadata.json      %s", info.metadata_sha256);
  if (info.warning != NULL) inspect_line("note", "%s", inspect_safe(info.warning, warning));
}

assay_status inspect_dataset(const char *path, assay_json_builder *json, assay_error *err) {
  assay_tfds *dataset = NULL;
  shards list = {0};
  assay_status st = assay_tfds_open(path, &dataset, err);
  if (!st) st = check_shards(dataset, &list, err);
  if (!st) {
    if (json != NULL)
      put_dataset(json, dataset, &list);
    else
      print_dataset(path, dataset, &list);
    st = fail_shards(&list, err);
  }
  reset_shards(&list);
  assay_tfds_close(dataset);
  return st;
}

bool inspect_is_dataset(const char *folder) {
  return assay_tfds_is_folder(folder);
}

/* ---- one example --------------------------------------------------------------------------------
 */

/* An array of the example. */
typedef struct array_row {
  const assay_named_tensor *array; /* borrowed */
  inspect_values values;
  char sha256[ASSAY_SHA256_HEX_BYTES];
} array_row;

typedef struct example {
  size_t split;
  uint64_t index;
  assay_tfds_place place;
  char *path; /* of the shard */
  uint64_t record_bytes;
  char record_sha256[ASSAY_SHA256_HEX_BYTES];
  assay_tensor_map arrays;
  array_row *rows; /* [arrays.n] */
} example;

static void reset_example(example *e) {
  assay_free(e->path);
  assay_free(e->rows);
  assay_tensor_map_reset(&e->arrays);
  *e = (example){0};
}

static assay_status fill_rows(example *e, assay_error *err) {
  e->rows = assay_alloc_array(e->arrays.n, sizeof *e->rows);
  if (e->rows == NULL) return assay_fail_memory(err, e->arrays.n * sizeof *e->rows);
  for (size_t i = 0; i < e->arrays.n; i++) {
    array_row *row = &e->rows[i];
    row->array = &e->arrays.items[i];
    const assay_tensor *tensor = &row->array->tensor;
    inspect_measure(tensor, &row->values);
    ASSAY_TRY(assay_sha256_bytes(tensor->data, tensor->size_bytes, row->sha256, err));
  }
  return ASSAY_OK;
}

static assay_status read_example(assay_tfds *dataset, const char *split, uint64_t index, example *e,
                                 assay_error *err) {
  assay_span record;
  e->index = index;
  ASSAY_TRY(assay_tfds_find_split(dataset, split != NULL ? split : DEFAULT_SPLIT, &e->split, err));
  ASSAY_TRY(assay_tfds_locate(dataset, e->split, index, &e->place, err));
  ASSAY_TRY(assay_tfds_shard_path(dataset, e->split, e->place.shard, &e->path, err));
  ASSAY_TRY(assay_tfds_record(dataset, e->split, index, &record, err));
  e->record_bytes = record.size_bytes;
  ASSAY_TRY(assay_sha256_bytes(record.data, record.size_bytes, e->record_sha256, err));
  ASSAY_TRY(assay_tfds_read(dataset, e->split, index, /*names=*/NULL, /*n=*/0, &e->arrays, err));
  return fill_rows(e, err);
}

/* Why a feature is not among the arrays. */
static const char *why_not_read(const assay_tfds_feature *f) {
  if (f->unsupported != NULL) return f->unsupported;
  return f->dtype == ASSAY_DTYPE_STRING ? "texts are no arrays"
                                        : "optional, and this record lacks it";
}

static void put_array(assay_json_builder *json, const array_row *row) {
  const assay_tensor *tensor = &row->array->tensor;
  assay_json_begin_object(json, NULL);
  inspect_put_text(json, "name", row->array->name);
  assay_json_put_string(json, "dtype", assay_dtype_name(tensor->dtype));
  assay_json_begin_array(json, "shape");
  for (int d = 0; d < tensor->rank; d++) assay_json_put_int(json, NULL, tensor->dims[d]);
  assay_json_end(json);
  assay_json_put_int(json, "size_bytes", (int64_t)tensor->size_bytes);
  inspect_put_values(json, tensor->dtype, &row->values);
  assay_json_put_string(json, "sha256", row->sha256);
  assay_json_end(json);
}

static void put_example(assay_json_builder *json, const assay_tfds *dataset, const example *e) {
  assay_json_put_string(json, "kind", "example");
  put_identity(json, dataset);
  inspect_put_text(json, "split", assay_tfds_split_at(dataset, e->split).name);
  assay_json_put_int(json, "event", (int64_t)e->index);
  assay_json_begin_object(json, "record");
  inspect_put_text(json, "file", assay_path_name(e->path));
  assay_json_put_int(json, "shard", (int64_t)e->place.shard);
  assay_json_put_int(json, "index_in_shard", (int64_t)e->place.index);
  assay_json_put_int(json, "size_bytes", (int64_t)e->record_bytes);
  assay_json_put_string(json, "sha256", e->record_sha256);
  assay_json_end(json);
  assay_json_begin_array(json, "arrays");
  for (size_t i = 0; i < e->arrays.n; i++) put_array(json, &e->rows[i]);
  assay_json_end(json);
  assay_json_begin_array(json, "not_read");
  for (size_t i = 0; i < assay_tfds_n_features(dataset); i++) {
    const assay_tfds_feature *f = assay_tfds_feature_at(dataset, i);
    if (assay_tensor_map_find(&e->arrays, f->name) != NULL) continue;
    assay_json_begin_object(json, NULL);
    inspect_put_text(json, "name", f->name);
    inspect_put_text(json, "reason", why_not_read(f));
    assay_json_end(json);
  }
  assay_json_end(json);
}

static void print_arrays(const example *e) {
  inspect_table table = {.n_cols = 8};
  static const char *const head[] = {"name", "type", "shape", "min",
                                     "max",  "mean", "other", "SHA-256"};
  for (size_t i = 0; i < 8 && e->arrays.n > 0; i++) inspect_table_add(&table, "%s", head[i]);
  for (size_t i = 0; i < e->arrays.n; i++) {
    const array_row *row = &e->rows[i];
    const assay_tensor *tensor = &row->array->tensor;
    char shape[INSPECT_TEXT_BYTES];
    assay_shape_text(tensor->dims, tensor->rank, shape, sizeof shape);
    inspect_table_add(&table, "%s", row->array->name);
    inspect_table_add(&table, "%s", assay_dtype_name(tensor->dtype));
    inspect_table_add(&table, "%s", shape);
    inspect_table_add_values(&table, tensor->dtype, &row->values);
    inspect_table_add(&table, "%s", row->sha256);
  }
  inspect_table_print(&table, "arrays");
}

static void print_example(const char *path, const assay_tfds *dataset, const example *e) {
  char safe[INSPECT_TEXT_BYTES], name[INSPECT_TEXT_BYTES], split[INSPECT_TEXT_BYTES];
  printf("%s: event %" PRIu64 " of split %s of TFDS dataset %s\n", inspect_safe(path, safe),
         e->index, inspect_safe(assay_tfds_split_at(dataset, e->split).name, split),
         full_name(dataset, name));
  inspect_line("record", "%" PRIu64 " of %s, %s", e->place.index,
               inspect_safe(assay_path_name(e->path), safe), inspect_size(e->record_bytes, name));
  inspect_line("SHA-256", "%s", e->record_sha256);
  print_arrays(e);
  for (size_t i = 0; i < assay_tfds_n_features(dataset); i++) {
    const assay_tfds_feature *f = assay_tfds_feature_at(dataset, i);
    if (assay_tensor_map_find(&e->arrays, f->name) != NULL) continue;
    inspect_line("not read", "%s: %s", inspect_safe(f->name, safe),
                 inspect_safe(why_not_read(f), name));
  }
}

assay_status inspect_example(const char *path, const char *split, uint64_t index,
                             assay_json_builder *json, assay_error *err) {
  assay_tfds *dataset = NULL;
  example e = {0};
  assay_status st = assay_tfds_open(path, &dataset, err);
  if (!st) st = read_example(dataset, split, index, &e, err);
  if (!st && json != NULL) put_example(json, dataset, &e);
  if (!st && json == NULL) print_example(path, dataset, &e);
  reset_example(&e);
  assay_tfds_close(dataset);
  return st;
}

/* ---- an ArrayRecord file ------------------------------------------------------------------------
 */

static assay_status read_codec(assay_array_record *file, const char **out, assay_error *err) {
  assay_span record;
  *out = NULL;
  if (assay_array_record_describe(file).n_records == 0) return ASSAY_OK;
  ASSAY_TRY(assay_array_record_get(file, /*i=*/0, &record, err));
  *out = assay_codec_name((uint8_t)assay_array_record_last_codec(file));
  return ASSAY_OK;
}

static void put_file(assay_json_builder *json, const assay_array_record_info *info,
                     const char *codec) {
  assay_json_put_string(json, "kind", "array_record");
  assay_json_put_int(json, "n_records", (int64_t)info->n_records);
  assay_json_put_int(json, "n_chunks", (int64_t)info->n_chunks);
  assay_json_put_int(json, "group_size", (int64_t)info->group_size);
  assay_json_put_bool(json, "uneven_groups", info->uneven_groups);
  assay_json_put_string(json, "codec", codec);
  inspect_put_text(json, "writer_options", info->writer_options);
  assay_json_put_int(json, "size_bytes", (int64_t)info->file_bytes);
}

static void print_file(const char *path, const assay_array_record_info *info, const char *codec) {
  char safe[INSPECT_TEXT_BYTES], size[INSPECT_TEXT_BYTES];
  printf("%s: ArrayRecord file, %" PRIu64 " record%s, %s\n", inspect_safe(path, safe),
         info->n_records, info->n_records == 1 ? "" : "s", inspect_size(info->file_bytes, size));
  if (codec != NULL)
    inspect_line("chunks", "%" PRIu64 " of up to %" PRIu64 " record%s, %s", info->n_chunks,
                 info->group_size, info->group_size == 1 ? "" : "s", codec);
  if (*info->writer_options != '\0')
    inspect_line("written", "%s", inspect_safe(info->writer_options, safe));
  if (info->uneven_groups)
    inspect_line("note", "the groups of records are of uneven size, which the reference reader "
                         "does not expect");
  inspect_line("hashes", "all right");
}

assay_status inspect_array_record(const char *path, assay_json_builder *json, assay_error *err) {
  assay_array_record *file = NULL;
  const char *codec;
  ASSAY_TRY(assay_array_record_open(path, /*limits=*/NULL, &file, err));
  assay_status st = read_codec(file, &codec, err);
  if (!st) st = assay_array_record_verify(file, err);
  assay_array_record_info info = assay_array_record_describe(file);
  if (!st && json != NULL) put_file(json, &info, codec);
  if (!st && json == NULL) print_file(path, &info, codec);
  assay_array_record_close(file);
  return st;
}

/* ---- a TFRecord file ----------------------------------------------------------------------------
 */

/* Every record, so that every CRC is checked; *out_bytes: of all of them. */
static assay_status read_records(assay_tfrecord *file, uint64_t *out_bytes, assay_error *err) {
  *out_bytes = 0;
  for (uint64_t i = 0; i < assay_tfrecord_count(file); i++) {
    assay_span record;
    ASSAY_TRY(assay_tfrecord_get(file, i, &record, err));
    *out_bytes += record.size_bytes;
  }
  return ASSAY_OK;
}

assay_status inspect_tfrecord(const char *path, assay_json_builder *json, assay_error *err) {
  assay_tfrecord *file = NULL;
  uint64_t n_bytes;
  char safe[INSPECT_TEXT_BYTES], size[INSPECT_TEXT_BYTES];
  ASSAY_TRY(assay_tfrecord_open(path, /*limits=*/NULL, &file, err));
  const assay_status st = read_records(file, &n_bytes, err);
  const uint64_t n = assay_tfrecord_count(file);
  if (!st && json != NULL) {
    assay_json_put_string(json, "kind", "tfrecord");
    assay_json_put_int(json, "n_records", (int64_t)n);
    assay_json_put_int(json, "record_bytes", (int64_t)n_bytes);
  } else if (!st) {
    printf("%s: TFRecord file, %" PRIu64 " record%s, %s\n", inspect_safe(path, safe), n,
           n == 1 ? "" : "s", inspect_size(n_bytes, size));
    inspect_line("checksums", "all right");
  }
  assay_tfrecord_close(file);
  return st;
}
