/* TFDS datasets: the files of a version's folder, and the shards that are open. */
#include "dataset/tfds.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/array_record.h"
#include "dataset/tfds_parts.h"
#include "dataset/tfrecord.h"

#define MAX_OPEN_SHARDS 64
#define INFO_FILE       "dataset_info.json"
#define FEATURES_FILE   "features.json"
#define METADATA_FILE   "metadata.json"

/* A shard that is open; one of the readers. */
typedef struct open_shard {
  size_t split, shard;
  assay_array_record *array_record;
  assay_tfrecord *tfrecord;
} open_shard;

struct assay_tfds {
  char *folder;
  assay_tfds_document document;
  assay_tfds_features features;
  assay_json *metadata; /* or NULL */
  char *warning;        /* or NULL */
  char info_sha256[ASSAY_SHA256_HEX_BYTES];
  char features_sha256[ASSAY_SHA256_HEX_BYTES];
  char metadata_sha256[ASSAY_SHA256_HEX_BYTES];
  open_shard open[MAX_OPEN_SHARDS];
  size_t n_open;
  size_t next_slot; /* the one to give up when all are taken: the oldest */
  open_shard *last; /* the one that was read last, or NULL */
  assay_example example;
};

/* ---- opening ------------------------------------------------------------------------------------
 */

/* A JSON file of the folder, and its hash. */
static assay_status read_json(const char *folder, const char *name, assay_json **out,
                              char out_sha256[ASSAY_SHA256_HEX_BYTES], assay_error *err) {
  char *path = assay_path_join(folder, name);
  if (path == NULL) return assay_fail_memory(err, 0);
  assay_buf text = {0};
  assay_status st = assay_file_read(path, ASSAY_TFDS_JSON_MAX_BYTES, &text, err);
  if (!st) st = assay_sha256_bytes(text.data, text.size_bytes, out_sha256, err);
  if (!st) {
    st = assay_json_parse(text.data, text.size_bytes, out, err);
    if (st) assay_error_in(err, "'%s'", path);
  }
  assay_buf_reset(&text);
  assay_free(path);
  return st;
}

static assay_status read_document(assay_tfds *dataset, assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(read_json(dataset->folder, INFO_FILE, &root, dataset->info_sha256, err));
  assay_status st = assay_tfds_document_parse(root, &dataset->document, err);
  if (st) assay_error_in(err, "'%s/" INFO_FILE "'", dataset->folder);
  assay_json_destroy(root);
  return st;
}

static assay_status read_features(assay_tfds *dataset, assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(read_json(dataset->folder, FEATURES_FILE, &root, dataset->features_sha256, err));
  assay_status st = assay_tfds_features_parse(root, &dataset->features, err);
  if (st) assay_error_in(err, "'%s/" FEATURES_FILE "'", dataset->folder);
  assay_json_destroy(root);
  return st;
}

static assay_status read_metadata(assay_tfds *dataset, assay_error *err) {
  char *path = assay_path_join(dataset->folder, METADATA_FILE);
  if (path == NULL) return assay_fail_memory(err, 0);
  bool is_there = assay_path_kind_of(path) != ASSAY_PATH_NONE;
  assay_free(path);
  if (!is_there) return ASSAY_OK;
  return read_json(dataset->folder, METADATA_FILE, &dataset->metadata, dataset->metadata_sha256,
                   err);
}

/* The last component of folder's first *n bytes, and *n set to where it begins, without the slash.
 */
static assay_span take_component(const char *folder, size_t *n) {
  while (*n > 0 && folder[*n - 1] == '/') --*n;
  size_t end = *n;
  while (*n > 0 && folder[*n - 1] != '/') --*n;
  return (assay_span){(const uint8_t *)folder + *n, end - *n};
}

/* Nothing to compare with counts as the same. */
static bool is_same(assay_span component, const char *text) {
  const char *bytes = (const char *)component.data;
  size_t n = component.size_bytes;
  if (n == 0 || (n <= 2 && memcmp(bytes, "..", n) == 0)) return true;
  return n == strlen(text) && memcmp(bytes, text, n) == 0;
}

/* The folder should be called …/name[/config]/version: a copied or renamed one is worth a word. */
static assay_status compare_names(assay_tfds *dataset, assay_error *err) {
  const assay_tfds_document *d = &dataset->document;
  size_t n = strlen(dataset->folder);
  const char *expected = NULL;
  if (!is_same(take_component(dataset->folder, &n), d->version))
    expected = d->version;
  else if (*d->config != '\0' && !is_same(take_component(dataset->folder, &n), d->config))
    expected = d->config;
  else if (!is_same(take_component(dataset->folder, &n), d->name))
    expected = d->name;
  if (expected == NULL) return ASSAY_OK;
  dataset->warning = assay_format("dataset_info.json says name '%.200s', config '%.200s', version "
                                  "'%.200s': no part of the folder's path is called '%.200s'",
                                  d->name, d->config, d->version, expected);
  return dataset->warning != NULL ? ASSAY_OK : assay_fail_memory(err, 0);
}

static assay_status open_dataset(const char *folder, assay_tfds *dataset, assay_error *err) {
  dataset->folder = assay_strdup(folder);
  if (dataset->folder == NULL) return assay_fail_memory(err, strlen(folder));
  if (!assay_tfds_is_folder(folder))
    return assay_fail(
        err, ASSAY_E_IO,
        "'%s' is no TFDS dataset: no " INFO_FILE " in it (give the folder of a version)", folder);
  ASSAY_TRY(read_document(dataset, err));
  ASSAY_TRY(read_features(dataset, err));
  ASSAY_TRY(read_metadata(dataset, err));
  return compare_names(dataset, err);
}

assay_status assay_tfds_open(const char *folder, assay_tfds **out, assay_error *err) {
  assay_tfds *dataset = assay_alloc(sizeof *dataset);
  if (dataset == NULL) return assay_fail_memory(err, sizeof *dataset);
  assay_status st = open_dataset(folder, dataset, err);
  if (st)
    assay_tfds_close(dataset);
  else
    *out = dataset;
  return st;
}

static void close_shard(open_shard *shard) {
  assay_array_record_close(shard->array_record);
  assay_tfrecord_close(shard->tfrecord);
  *shard = (open_shard){0};
}

void assay_tfds_close(assay_tfds *dataset) {
  if (dataset == NULL) return;
  for (size_t i = 0; i < dataset->n_open; i++) close_shard(&dataset->open[i]);
  assay_example_reset(&dataset->example);
  assay_tfds_document_reset(&dataset->document);
  assay_tfds_features_reset(&dataset->features);
  assay_json_destroy(dataset->metadata);
  assay_free(dataset->warning);
  assay_free(dataset->folder);
  assay_free(dataset);
}

bool assay_tfds_is_folder(const char *folder) {
  char *path = assay_path_join(folder, INFO_FILE);
  bool is_there = path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FILE;
  assay_free(path);
  return is_there;
}

/* ---- what is in it ------------------------------------------------------------------------------
 */

assay_tfds_info assay_tfds_describe(const assay_tfds *dataset) {
  assay_tfds_info info = {
      .folder = dataset->folder,
      .name = dataset->document.name,
      .version = dataset->document.version,
      .config = dataset->document.config,
      .file_format = assay_tfds_format_name(dataset->document.format),
      .metadata = dataset->metadata,
      .warning = dataset->warning,
  };
  memcpy(info.info_sha256, dataset->info_sha256, sizeof info.info_sha256);
  memcpy(info.features_sha256, dataset->features_sha256, sizeof info.features_sha256);
  memcpy(info.metadata_sha256, dataset->metadata_sha256, sizeof info.metadata_sha256);
  return info;
}

size_t assay_tfds_n_splits(const assay_tfds *dataset) {
  return dataset->document.n_splits;
}

assay_tfds_split assay_tfds_split_at(const assay_tfds *dataset, size_t split) {
  assert(split < dataset->document.n_splits);
  const assay_tfds_split_info *info = &dataset->document.splits[split];
  return (assay_tfds_split){.name = info->name,
                            .n_examples = info->firsts[info->n_shards],
                            .n_shards = info->n_shards,
                            .size_bytes = info->size_bytes};
}

assay_status assay_tfds_find_split(const assay_tfds *dataset, const char *name, size_t *out,
                                   assay_error *err) {
  char names[256] = "";
  for (size_t i = 0; i < dataset->document.n_splits; i++) {
    const char *found = dataset->document.splits[i].name;
    if (strcmp(found, name) == 0) {
      *out = i;
      return ASSAY_OK;
    }
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s'%s'", i > 0 ? ", " : "", found);
  }
  return assay_fail(err, ASSAY_E_ARGUMENT, "'%s': no split '%s', there is %s", dataset->folder,
                    name, *names == '\0' ? "none" : names);
}

size_t assay_tfds_n_features(const assay_tfds *dataset) {
  return dataset->features.n;
}

const assay_tfds_feature *assay_tfds_feature_at(const assay_tfds *dataset, size_t i) {
  assert(i < dataset->features.n);
  return &dataset->features.items[i];
}

const assay_tfds_feature *assay_tfds_find_feature(const assay_tfds *dataset, const char *name) {
  for (size_t i = 0; i < dataset->features.n; i++) {
    if (strcmp(dataset->features.items[i].name, name) == 0) return &dataset->features.items[i];
  }
  return NULL;
}

/* ---- shards -------------------------------------------------------------------------------------
 */

uint64_t assay_tfds_shard_count(const assay_tfds *dataset, size_t split, size_t shard) {
  const assay_tfds_split_info *info = &dataset->document.splits[split];
  assert(shard < info->n_shards);
  return info->firsts[shard + 1] - info->firsts[shard];
}

assay_status assay_tfds_shard_path(const assay_tfds *dataset, size_t split, size_t shard,
                                   char **out_path, assay_error *err) {
  char *name;
  ASSAY_TRY(assay_tfds_shard_name(&dataset->document, split, shard, &name, err));
  char *path = assay_path_join(dataset->folder, name);
  assay_free(name);
  if (path == NULL) return assay_fail_memory(err, 0);
  *out_path = path;
  return ASSAY_OK;
}

/* Opens the reader at path and holds its number of records against the document's. */
static assay_status open_reader(const assay_tfds *dataset, const char *path, open_shard *shard,
                                assay_error *err) {
  uint64_t found, expected = assay_tfds_shard_count(dataset, shard->split, shard->shard);
  if (dataset->document.format == ASSAY_TFDS_ARRAY_RECORD) {
    ASSAY_TRY(assay_array_record_open(path, /*limits=*/NULL, &shard->array_record, err));
    found = assay_array_record_describe(shard->array_record).n_records;
  } else {
    ASSAY_TRY(assay_tfrecord_open(path, /*limits=*/NULL, &shard->tfrecord, err));
    found = assay_tfrecord_count(shard->tfrecord);
  }
  if (found == expected) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISMATCH,
                    "'%s' holds %" PRIu64 " records, by " INFO_FILE " %" PRIu64, path, found,
                    expected);
}

static void let_go(open_shard *shard) {
  if (shard->array_record != NULL) assay_array_record_trim(shard->array_record);
  if (shard->tfrecord != NULL) assay_tfrecord_trim(shard->tfrecord);
}

/* A slot for one more: free, or that of the oldest. */
static open_shard *take_slot(assay_tfds *dataset) {
  if (dataset->n_open < MAX_OPEN_SHARDS) return &dataset->open[dataset->n_open++];
  open_shard *slot = &dataset->open[dataset->next_slot];
  dataset->next_slot = (dataset->next_slot + 1) % MAX_OPEN_SHARDS;
  close_shard(slot);
  return slot;
}

static open_shard *find_open(assay_tfds *dataset, size_t split, size_t shard) {
  for (size_t i = 0; i < dataset->n_open; i++) {
    open_shard *slot = &dataset->open[i];
    bool is_open = slot->array_record != NULL || slot->tfrecord != NULL;
    if (is_open && slot->split == split && slot->shard == shard) return slot;
  }
  return NULL;
}

static assay_status need_shard(assay_tfds *dataset, size_t split, size_t shard, open_shard **out,
                               assay_error *err) {
  open_shard *slot = find_open(dataset, split, shard);
  if (slot == NULL) {
    open_shard opened = {.split = split, .shard = shard};
    char *path;
    ASSAY_TRY(assay_tfds_shard_path(dataset, split, shard, &path, err));
    assay_status st = open_reader(dataset, path, &opened, err);
    assay_free(path);
    if (st) {
      close_shard(&opened);
      return st;
    }
    slot = take_slot(dataset);
    *slot = opened;
  }
  if (dataset->last != NULL && dataset->last != slot) let_go(dataset->last);
  dataset->last = slot;
  *out = slot;
  return ASSAY_OK;
}

assay_status assay_tfds_check_shard(assay_tfds *dataset, size_t split, size_t shard,
                                    assay_error *err) {
  open_shard *slot;
  return need_shard(dataset, split, shard, &slot, err);
}

/* ---- examples -----------------------------------------------------------------------------------
 */

assay_status assay_tfds_locate(const assay_tfds *dataset, size_t split, uint64_t i,
                               assay_tfds_place *out, assay_error *err) {
  const assay_tfds_split_info *info = &dataset->document.splits[split];
  if (i >= info->firsts[info->n_shards])
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "'%s': no example %" PRIu64 " in split '%s', which has %" PRIu64,
                      dataset->folder, i, info->name, info->firsts[info->n_shards]);
  size_t low = 0, high = info->n_shards; /* firsts[low] <= i < firsts[high] */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (info->firsts[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  *out = (assay_tfds_place){.shard = low, .index = i - info->firsts[low]};
  return ASSAY_OK;
}

assay_status assay_tfds_record(assay_tfds *dataset, size_t split, uint64_t i, assay_span *out,
                               assay_error *err) {
  assay_tfds_place place;
  open_shard *slot;
  ASSAY_TRY(assay_tfds_locate(dataset, split, i, &place, err));
  ASSAY_TRY(need_shard(dataset, split, place.shard, &slot, err));
  return slot->array_record != NULL
             ? assay_array_record_get(slot->array_record, place.index, out, err)
             : assay_tfrecord_get(slot->tfrecord, place.index, out, err);
}

static assay_status add_array(const assay_tfds_feature *feature, const assay_example *example,
                              uint64_t *budget_bytes, assay_tensor_map *out, assay_error *err) {
  assay_tensor tensor = {0};
  bool is_there;
  ASSAY_TRY(assay_tfds_decode(feature, example, budget_bytes, &is_there, &tensor, err));
  if (!is_there) return ASSAY_OK;
  assay_status st = assay_tensor_map_add(out, feature->name, &tensor, err);
  if (st) assay_tensor_reset(&tensor);
  return st;
}

static assay_status read_named(const assay_tfds *dataset, const char *const *names, size_t n,
                               uint64_t *budget_bytes, assay_tensor_map *out, assay_error *err) {
  for (size_t i = 0; i < n; i++) {
    const assay_tfds_feature *feature = assay_tfds_find_feature(dataset, names[i]);
    if (feature == NULL)
      return assay_fail(err, ASSAY_E_ARGUMENT, "features.json has no feature '%s'", names[i]);
    if (feature->unsupported != NULL)
      return assay_fail(err, ASSAY_E_UNSUPPORTED, "feature '%s': %s", names[i],
                        feature->unsupported);
    if (feature->dtype == ASSAY_DTYPE_STRING)
      return assay_fail(err, ASSAY_E_UNSUPPORTED, "feature '%s' is text, no array", names[i]);
    ASSAY_TRY(add_array(feature, &dataset->example, budget_bytes, out, err));
  }
  return ASSAY_OK;
}

static assay_status read_all(const assay_tfds *dataset, uint64_t *budget_bytes,
                             assay_tensor_map *out, assay_error *err) {
  for (size_t i = 0; i < dataset->features.n; i++) {
    const assay_tfds_feature *feature = &dataset->features.items[i];
    bool is_array = feature->unsupported == NULL && feature->dtype != ASSAY_DTYPE_STRING;
    if (is_array) ASSAY_TRY(add_array(feature, &dataset->example, budget_bytes, out, err));
  }
  return ASSAY_OK;
}

assay_status assay_tfds_read(assay_tfds *dataset, size_t split, uint64_t i,
                             const char *const *names, size_t n, assay_tensor_map *out,
                             assay_error *err) {
  assay_span record;
  assay_tensor_map arrays = {0};
  uint64_t budget_bytes = ASSAY_TFDS_EXAMPLE_MAX_BYTES;
  ASSAY_TRY(assay_tfds_record(dataset, split, i, &record, err));
  assay_status st = assay_example_parse(record, &dataset->example, err);
  if (!st) {
    st = names != NULL ? read_named(dataset, names, n, &budget_bytes, &arrays, err)
                       : read_all(dataset, &budget_bytes, &arrays, err);
  }
  if (st) {
    assay_tensor_map_reset(&arrays);
    assay_error_in(err, "'%s': example %" PRIu64 " of split '%s'", dataset->folder, i,
                   dataset->document.splits[split].name);
    return st;
  }
  *out = arrays;
  return ASSAY_OK;
}
