/* Events of datasets as cases. Which columns and rows a model takes is model/mlpf_event's to say;
 * this file finds the events, pads them, and writes down where they came from.
 *
 * Dimension letters: B events of a case, M rows of one, N padded length, F features. */
#include "campaign/bundle_events.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "model/mlpf_event.h"

/* --- datasets
 * ---------------------------------------------------------------------------------------- */

static assay_status open_tfds(const assay_export_spec *spec, const char *name, assay_tfds **out,
                              assay_error *err) {
  if (assay_tfds_is_folder(name)) return assay_tfds_open(name, out, err);
  if (spec->data_dir == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "it is no folder of a dataset; give --data-dir, the folder that holds "
                      "NAME/CONFIG/VERSION");
  char *folder = NULL;
  ASSAY_TRY(assay_tfds_find(spec->data_dir, name, &folder, err));
  const assay_status st = assay_tfds_open(folder, out, err);
  assay_free(folder);
  return st;
}

static assay_status check_feature(const assay_tfds *tfds, assay_error *err) {
  const assay_tfds_feature *x = assay_tfds_find_feature(tfds, ASSAY_MLPF_EVENT_FEATURE);
  if (x == NULL)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "there is no feature '%s'; expected the elements of an event under that name",
                      ASSAY_MLPF_EVENT_FEATURE);
  if (x->unsupported != NULL)
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "feature '%s': %s", ASSAY_MLPF_EVENT_FEATURE,
                      x->unsupported);
  return ASSAY_OK;
}

static assay_status check_events(const assay_export_spec *spec, const bundle_dataset *one,
                                 assay_error *err) {
  const assay_tfds_split split = assay_tfds_split_at(one->tfds, one->split);
  for (size_t i = 0; i < spec->n_events; i++)
    if (spec->events[i] < 0 || (uint64_t)spec->events[i] >= split.n_examples)
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "there is no event %lld in split '%s', which has %llu, counted from 0",
                        (long long)spec->events[i], split.name,
                        (unsigned long long)split.n_examples);
  return ASSAY_OK;
}

static void take_names(bundle_dataset *one) {
  const assay_tfds_info info = assay_tfds_describe(one->tfds);
  const bool config = info.config[0] != '\0';
  snprintf(one->label, sizeof one->label, "%.60s%s%.30s", info.name, config ? "-" : "",
           info.config);
  snprintf(one->title, sizeof one->title, "%.80s%s%.40s:%.30s", info.name, config ? "/" : "",
           info.config, info.version);
}

static assay_status open_dataset(const assay_export_spec *spec, const char *name,
                                 bundle_dataset *out, assay_error *err) {
  ASSAY_TRY(open_tfds(spec, name, &out->tfds, err));
  take_names(out);
  ASSAY_TRY(check_feature(out->tfds, err));
  ASSAY_TRY(assay_tfds_find_split(out->tfds, spec->split, &out->split, err));
  return check_events(spec, out, err);
}

/* Two versions of one dataset are told apart by theirs. */
static void make_labels_unique(bundle_datasets *datasets) {
  for (size_t i = 0; i < datasets->n; i++)
    for (size_t k = 0; k < i; k++) {
      bundle_dataset *both[] = {&datasets->items[i], &datasets->items[k]};
      if (strcmp(both[0]->label, both[1]->label) != 0) continue;
      for (int j = 0; j < 2; j++) {
        const size_t used = strlen(both[j]->label);
        snprintf(both[j]->label + used, sizeof both[j]->label - used, "-%.30s",
                 assay_tfds_describe(both[j]->tfds).version);
      }
    }
}

static assay_status check_data_dir(const assay_export_spec *spec, assay_error *err) {
  bool used = spec->data_dir == NULL;
  for (size_t i = 0; i < spec->n_datasets && !used; i++)
    used = !assay_tfds_is_folder(spec->datasets[i]);
  if (used || spec->n_datasets == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "the folder of datasets '%s' has no effect: every dataset is given as a folder "
                    "of its own",
                    spec->data_dir);
}

assay_status bundle_datasets_open(const assay_export_spec *spec, bundle_datasets *out,
                                  assay_error *err) {
  bundle_datasets datasets = {0};
  ASSAY_TRY(check_data_dir(spec, err));
  if (spec->n_datasets > 0) {
    datasets.items = assay_alloc_array(spec->n_datasets, sizeof *datasets.items);
    if (datasets.items == NULL)
      return assay_fail_memory(err, spec->n_datasets * sizeof *datasets.items);
  }
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < spec->n_datasets && st == ASSAY_OK; i++) {
    datasets.n++;
    st = open_dataset(spec, spec->datasets[i], &datasets.items[i], err);
    if (st) assay_error_in(err, "dataset '%s'", spec->datasets[i]);
  }
  if (st) {
    bundle_datasets_close(&datasets);
    return st;
  }
  make_labels_unique(&datasets);
  *out = datasets;
  return ASSAY_OK;
}

void bundle_datasets_close(bundle_datasets *datasets) {
  for (size_t i = 0; i < datasets->n; i++) assay_tfds_close(datasets->items[i].tfds);
  assay_free(datasets->items);
  *datasets = (bundle_datasets){0};
}

/* --- events
 * ------------------------------------------------------------------------------------------ */

typedef struct filled {
  const assay_export_spec *spec;
  assay_mlpf_event *rows; /* [B] */
  size_t n;
} filled;

static assay_status read_event(const assay_export_spec *spec, const bundle_dataset *dataset,
                               int64_t index, assay_mlpf_event *out, assay_error *err) {
  static const char *const NAMES[] = {ASSAY_MLPF_EVENT_FEATURE};
  assay_tensor_map arrays = {0};
  assay_status st =
      assay_tfds_read(dataset->tfds, dataset->split, (uint64_t)index, NAMES, 1, &arrays, err);
  if (st == ASSAY_OK) {
    const assay_tensor *x = assay_tensor_map_find(&arrays, ASSAY_MLPF_EVENT_FEATURE);
    st = x != NULL ? assay_mlpf_event_init(&spec->config, assay_tfds_describe(dataset->tfds).name,
                                           x, out, err)
                   : assay_fail(err, ASSAY_E_FORMAT, "its record lacks feature '%s'",
                                ASSAY_MLPF_EVENT_FEATURE);
  }
  assay_tensor_map_reset(&arrays);
  if (st) assay_error_in(err, "dataset '%s', event %lld", dataset->title, (long long)index);
  return st;
}

/* N: asked for, or the least that holds the longest event. */
static assay_status choose_length(const filled *f, int64_t *out, assay_error *err) {
  int64_t longest = 0;
  for (size_t i = 0; i < f->n; i++)
    if (f->rows[i].rows.dims[0] > longest) longest = f->rows[i].rows.dims[0];
  const int64_t least = assay_mlpf_padded_length(&f->spec->config, longest);
  *out = f->spec->pad_to > 0 ? f->spec->pad_to : least;
  if (*out >= longest) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "an event has %lld elements, which --pad-to %lld would cut; give at least %lld",
                    (long long)longest, (long long)*out, (long long)least);
}

static assay_status pad(const filled *f, assay_tensor *out_x, assay_tensor *out_mask,
                        assay_error *err) {
  int64_t n = 0;
  ASSAY_TRY(choose_length(f, &n, err));
  const int64_t dims[] = {(int64_t)f->n, n, f->spec->config.input_dim};
  ASSAY_TRY(assay_tensor_init(out_x, ASSAY_DTYPE_F32, 3, dims, err));
  ASSAY_TRY(assay_tensor_init(out_mask, ASSAY_DTYPE_F32, 2, dims, err));
  for (size_t e = 0; e < f->n; e++) {
    const assay_tensor *rows = &f->rows[e].rows;
    const size_t start = e * (size_t)n;
    if (rows->size_bytes > 0)
      memcpy(assay_tensor_f32(out_x) + start * (size_t)dims[2], rows->data, rows->size_bytes);
    for (size_t i = 0; i < (size_t)rows->dims[0]; i++) assay_tensor_f32(out_mask)[start + i] = 1.0f;
  }
  return ASSAY_OK;
}

/* --- where they came from
 * ---------------------------------------------------------------------------- */

static assay_status put_event(assay_json_builder *b, const bundle_dataset *dataset, int64_t index,
                              const assay_mlpf_event *event, assay_error *err) {
  const assay_tfds_info info = assay_tfds_describe(dataset->tfds);
  assay_tfds_place place = {0};
  assay_span record = {0};
  char *shard = NULL, sha256[ASSAY_SHA256_HEX_BYTES];
  ASSAY_TRY(assay_tfds_locate(dataset->tfds, dataset->split, (uint64_t)index, &place, err));
  ASSAY_TRY(assay_tfds_record(dataset->tfds, dataset->split, (uint64_t)index, &record, err));
  ASSAY_TRY(assay_sha256_bytes(record.data, record.size_bytes, sha256, err));
  ASSAY_TRY(assay_tfds_shard_path(dataset->tfds, dataset->split, place.shard, &shard, err));
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "dataset", info.name);
  assay_json_put_string(b, "config", info.config);
  assay_json_put_string(b, "version", info.version);
  assay_json_put_string(b, "split", assay_tfds_split_at(dataset->tfds, dataset->split).name);
  assay_json_put_int(b, "index", index);
  assay_json_put_string(b, "shard", assay_path_name(shard));
  assay_json_put_int(b, "index_in_shard", (int64_t)place.index);
  assay_json_put_string(b, "record_sha256", sha256);
  assay_json_put_string(b, "dataset_info_sha256", info.info_sha256);
  assay_json_put_string(b, "features_sha256", info.features_sha256);
  assay_json_put_string(b, "metadata_sha256",
                        info.metadata_sha256[0] != '\0' ? info.metadata_sha256 : NULL);
  assay_json_put_int(b, "rows", event->rows.dims[0] + event->n_removed);
  assay_json_put_int(b, "rows_kept", event->rows.dims[0]);
  assay_json_put_int(b, "rows_removed", event->n_removed);
  assay_json_put_int(b, "rows_without_pt", event->n_without_pt);
  assay_json_put_int(b, "columns_added", event->n_added_columns);
  assay_json_end(b);
  assay_free(shard);
  return ASSAY_OK;
}

static assay_status make_origin(const bundle_datasets *datasets, const bundle_event *events,
                                const filled *f, assay_json **out, assay_error *err) {
  assay_buf text = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_status st = ASSAY_OK;
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_bool(b, "sorted", f->spec->config.sort_data);
  assay_json_begin_array(b, "events");
  for (size_t i = 0; i < f->n && st == ASSAY_OK; i++)
    st = put_event(b, &datasets->items[events[i].dataset], events[i].index, &f->rows[i], err);
  assay_json_end(b);
  assay_json_end(b);
  if (st == ASSAY_OK) st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

static void describe(const bundle_datasets *datasets, const bundle_event *events, const filled *f,
                     char *out, size_t out_bytes) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < f->n && used + 1 < out_bytes; i++) {
    const bundle_dataset *dataset = &datasets->items[events[i].dataset];
    const int64_t kept = f->rows[i].rows.dims[0];
    const int k = snprintf(
        out + used, out_bytes - used, "%s%s %s[%lld]: %lld of %lld rows", i ? "; " : "",
        dataset->title, assay_tfds_split_at(dataset->tfds, dataset->split).name,
        (long long)events[i].index, (long long)kept, (long long)(kept + f->rows[i].n_removed));
    used += k > 0 ? (size_t)k : 0;
  }
}

static assay_status fill(const bundle_datasets *datasets, const bundle_event *events, filled *f,
                         assay_tensor *out_x, assay_tensor *out_mask, assay_json **out_origin,
                         bundle_event_counts *counts, assay_error *err) {
  for (size_t i = 0; i < f->n; i++) {
    assay_mlpf_event *event = &f->rows[i];
    ASSAY_TRY(
        read_event(f->spec, &datasets->items[events[i].dataset], events[i].index, event, err));
    counts->n_removed += event->n_removed;
    counts->n_without_pt += event->n_without_pt;
    counts->n_added_columns += event->n_added_columns;
  }
  ASSAY_TRY(pad(f, out_x, out_mask, err));
  return make_origin(datasets, events, f, out_origin, err);
}

assay_status bundle_events_fill(const assay_export_spec *spec, const bundle_datasets *datasets,
                                const bundle_event *events, size_t n, assay_tensor *out_x,
                                assay_tensor *out_mask, char *source, size_t source_bytes,
                                assay_json **out_origin, bundle_event_counts *counts,
                                assay_error *err) {
  filled f = {.spec = spec, .rows = assay_alloc_array(n, sizeof *f.rows), .n = n};
  if (f.rows == NULL) return assay_fail_memory(err, n * sizeof *f.rows);
  const assay_status st = fill(datasets, events, &f, out_x, out_mask, out_origin, counts, err);
  if (st == ASSAY_OK) describe(datasets, events, &f, source, source_bytes);
  for (size_t i = 0; i < n; i++) assay_mlpf_event_reset(&f.rows[i]);
  assay_free(f.rows);
  return st;
}
