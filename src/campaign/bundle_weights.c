/* Reads configurations and weights for an export, and says in the manifest's terms what they were.
 */
#include "campaign/bundle_weights.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zip.h"
#include "campaign/bundle_case.h"
#include "checkpoint/pickle_globals.h"
#include "checkpoint/pickle_json.h"
#include "checkpoint/state_dict.h"
#include "checkpoint/torch_file.h"
#include "package/npz.h"

#define CONFIG_MAX_BYTES ((size_t)16 << 20)
#define WEIGHTS_MAX_BYTES                                                                          \
  ((uint64_t)16 << 30) /* the largest table is 8 GiB of float32 (mlpf_params.c) */

/* --- kinds of files
 * ------------------------------------------------------------------------------------ */

static assay_status kind_of(const char *path, assay_checkpoint_kind *out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  *out = assay_checkpoint_kind_of(map.data, map.size_bytes);
  assay_file_map_close(&map);
  return ASSAY_OK;
}

/* --- configuration
 * ----------------------------------------------------------------------------------- */

/* JSON begins with a brace; a pickle of protocol 2 or later with the byte 0x80. */
static bool is_pickle(const assay_buf *bytes, const char *path) {
  if (bytes->size_bytes > 0 && bytes->data[0] == 0x80) return true;
  const char *text = assay_buf_text(bytes);
  return assay_text_has_suffix(path, ".pkl") && text[strspn(text, " \t\r\n")] != '{';
}

/* A pickle is read as data, so that nothing in it can do harm here; but what names the means to is
 * no file of a training, and whoever sent it should not be trusted with the rest. */
static assay_status refuse_dangerous(const assay_pickle *pickle, assay_error *err) {
  assay_pickle_globals globals = {0};
  assay_status st = assay_pickle_globals_init(pickle, &globals, err);
  for (size_t i = 0; i < globals.n && st == ASSAY_OK; i++) {
    const assay_pickle_global_use *use = &globals.items[i];
    if (use->safety == ASSAY_PICKLE_DANGEROUS)
      st = assay_fail(
          err, ASSAY_E_UNSUPPORTED,
          "its pickle names '%s.%s', which can do harm where the file is unpickled (here "
          "nothing was run); no training needs it: do not trust this file",
          use->module, use->name);
  }
  assay_pickle_globals_reset(&globals);
  return st;
}

static assay_status check_pickle(const assay_buf *bytes, assay_error *err) {
  assay_pickle *pickle = NULL;
  ASSAY_TRY(assay_pickle_parse(bytes->data, bytes->size_bytes, /*limits=*/NULL, &pickle, err));
  const assay_status st = refuse_dangerous(pickle, err);
  assay_pickle_destroy(pickle);
  return st;
}

/* What of the fields that came late to configurations is not there. The flat form before them has
 * no model, and says by itself what its models were. */
static void note_lacks(const assay_json *tree, assay_bundle_config *out) {
  const assay_json *model = assay_json_get(tree, "model");
  if (model == NULL) return;
  out->lacks_backbone_mode = assay_json_get(assay_json_get(model, "backbone"), "mode") == NULL;
  out->lacks_task_queries = assay_json_get(model, "task_queries") == NULL;
}

static assay_status parse_config(const assay_buf *bytes, const char *path, const char *arch,
                                 assay_bundle_config *out, assay_error *err) {
  assay_buf text = {0};
  assay_json *tree = NULL;
  assay_status st = ASSAY_OK;
  if (is_pickle(bytes, path)) {
    st = check_pickle(bytes, err);
    if (st == ASSAY_OK) st = assay_config_pickle_decode(bytes->data, bytes->size_bytes, &text, err);
    if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, &tree, err);
  } else {
    st = assay_json_parse(bytes->data, bytes->size_bytes, &tree, err);
  }
  if (st == ASSAY_OK) st = assay_mlpf_config_parse(tree, arch, &out->config, err);
  if (st == ASSAY_OK) note_lacks(tree, out);
  assay_json_destroy(tree);
  assay_buf_reset(&text);
  return st;
}

/* Weights in the place of the configuration beside them. */
static assay_status refuse_weights(const char *path, assay_error *err) {
  assay_checkpoint_kind kind = ASSAY_CHECKPOINT_OTHER;
  ASSAY_TRY(kind_of(path, &kind, err));
  if (kind != ASSAY_CHECKPOINT_ZIP && kind != ASSAY_CHECKPOINT_LEGACY &&
      kind != ASSAY_CHECKPOINT_SAFETENSORS)
    return ASSAY_OK;
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "configuration '%s': this is a file of arrays; trainings leave their "
                    "configuration as model_kwargs.pkl and hyperparameters.json",
                    path);
}

assay_status assay_bundle_config_read(const char *path, const char *arch, assay_bundle_config *out,
                                      assay_error *err) {
  assay_bundle_config config = {0};
  assay_buf bytes = {0};
  ASSAY_TRY(refuse_weights(path, err));
  assay_status st = assay_file_read(path, CONFIG_MAX_BYTES, &bytes, err);
  if (st) return st;
  st = parse_config(&bytes, path, arch, &config, err);
  if (st)
    assay_error_in(err, "configuration '%s'", path);
  else
    st = assay_sha256_bytes(bytes.data, bytes.size_bytes, config.sha256, err);
  assay_buf_reset(&bytes);
  if (st) return st;
  assay_text_printable(assay_path_name(path), config.file, sizeof config.file);
  *out = config;
  return ASSAY_OK;
}

/* --- reading
 * ----------------------------------------------------------------------------------------- */

/* An archive of NumPy arrays, as against one of torch.save. */
static assay_status is_npz(const char *path, bool *out, assay_error *err) {
  assay_zip *zip = NULL;
  ASSAY_TRY(assay_zip_open(path, &zip, err));
  bool arrays = false, torch = false;
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    const char *name = assay_zip_at(zip, i)->name;
    arrays = arrays || assay_text_has_suffix(name, ".npy");
    torch = torch || assay_text_has_suffix(name, "data.pkl");
  }
  assay_zip_close(zip);
  *out = arrays && !torch;
  return ASSAY_OK;
}

static assay_status read_npz(const char *path, assay_state_dict *out, assay_error *err) {
  const assay_npz_limits limits = {.max_total_bytes = WEIGHTS_MAX_BYTES};
  assay_tensor_map arrays = {0};
  ASSAY_TRY(assay_npz_read(path, &limits, &arrays, err));
  const assay_status st = assay_state_dict_of_map(&arrays, out, err);
  assay_tensor_map_reset(&arrays);
  return st;
}

static assay_status read_torch(const char *path, assay_state_dict *out, assay_error *err) {
  assay_torch_file *file = NULL;
  ASSAY_TRY(assay_torch_file_open(path, &file, err));
  assay_status st = refuse_dangerous(assay_torch_file_pickle(file), err);
  if (st == ASSAY_OK) st = assay_state_dict_of_torch(file, out, err);
  assay_torch_file_close(file);
  if (st) assay_error_in(err, "checkpoint '%s'", path);
  return st;
}

/* The state dict of a file of any of the kinds; out_origin is what the manifest calls it. */
static assay_status read_dict(const char *path, assay_state_dict *out, const char **out_origin,
                              assay_error *err) {
  assay_checkpoint_kind kind = ASSAY_CHECKPOINT_OTHER;
  bool npz = false;
  ASSAY_TRY(kind_of(path, &kind, err));
  if (kind == ASSAY_CHECKPOINT_ZIP) {
    /* what is no sound archive is the checkpoint reader's to explain */
    if (is_npz(path, &npz, /*err=*/NULL)) npz = false;
  }
  *out_origin = npz ? "npz" : kind == ASSAY_CHECKPOINT_SAFETENSORS ? "safetensors" : "checkpoint";
  if (npz) return read_npz(path, out, err);
  if (kind == ASSAY_CHECKPOINT_SAFETENSORS) return assay_state_dict_read(path, out, err);
  return read_torch(path, out, err);
}

/* --- what the manifest says
 * -------------------------------------------------------------------------- */

static void put_names(assay_json_builder *b, const char *key, char *const *names, size_t n) {
  assay_json_begin_array(b, key);
  for (size_t i = 0; i < n; i++) assay_json_put_string(b, /*key=*/NULL, names[i]);
  assay_json_end(b);
}

static void put_about(assay_json_builder *b, const char *path, const char *origin,
                      const char *sha256, const assay_state_dict *dict,
                      const assay_bundle_config *file) {
  char name[256];
  assay_text_printable(assay_path_name(path), name, sizeof name);
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "origin", origin);
  assay_json_put_string(b, "file", name);
  assay_json_put_string(b, "file_sha256", sha256);
  assay_json_put_string(b, "found_at", dict->found_at);
  assay_json_put_string(b, "stripped_prefix", dict->stripped);
  put_names(b, "dropped", dict->dropped, dict->n_dropped);
  assay_json_begin_array(b, "renamed");
  for (size_t i = 0; i < dict->n_renamed; i++) {
    assay_json_begin_object(b, /*key=*/NULL);
    assay_json_put_string(b, "from", dict->renamed[i].from);
    assay_json_put_string(b, "to", dict->renamed[i].to);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_put_string(b, "config_file", file != NULL ? file->file : NULL);
  assay_json_put_string(b, "config_sha256", file != NULL ? file->sha256 : NULL);
  assay_json_begin_array(b, "told_by_names");
  if (file != NULL && file->lacks_backbone_mode)
    assay_json_put_string(b, /*key=*/NULL, "model.backbone.mode");
  if (file != NULL && file->lacks_task_queries)
    assay_json_put_string(b, /*key=*/NULL, "model.task_queries");
  assay_json_end(b);
  assay_json_end(b);
}

static assay_status make_about(const char *path, const char *origin, const assay_state_dict *dict,
                               const assay_bundle_config *file, assay_json **out,
                               assay_error *err) {
  char sha256[ASSAY_SHA256_HEX_BYTES];
  assay_buf text = {0};
  ASSAY_TRY(assay_sha256_file(path, sha256, /*out_size_bytes=*/NULL, err));
  assay_json_builder *b = assay_json_builder_create();
  put_about(b, path, origin, sha256, dict, file);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_buf_reset(&text);
  assay_json_builder_destroy(b);
  return st;
}

/* "checkpoint-500" of "runs/1/checkpoint-500.pth" */
static void name_of(const char *path, char *out, size_t out_bytes) {
  const char *last = assay_path_name(path);
  const char *dot = strrchr(last, '.');
  bundle_name_of(last, dot != NULL && dot != last ? (size_t)(dot - last) : strlen(last), out,
                 out_bytes);
}

/* --- what names tell
 * --------------------------------------------------------------------------------- */

static assay_status take_told(const assay_bundle_config *file, const assay_tensor_map *weights,
                              assay_mlpf_config *config, assay_error *err) {
  assay_mlpf_facts told;
  if (file == NULL) return ASSAY_OK;
  assay_mlpf_facts_of_weights(weights, &told);
  if (file->lacks_backbone_mode && told.value[ASSAY_MLPF_FACT_BACKBONE] >= 0)
    config->backbone_mode = (assay_mlpf_backbone)told.value[ASSAY_MLPF_FACT_BACKBONE];
  if (file->lacks_task_queries && told.value[ASSAY_MLPF_FACT_TASK_QUERIES] >= 0)
    config->task_queries = told.value[ASSAY_MLPF_FACT_TASK_QUERIES] != 0;
  return assay_mlpf_config_check(config, err);
}

/* --- the whole
 * --------------------------------------------------------------------------------------- */

static assay_status fail_different(const char *path, const assay_state_dict *dict,
                                   const assay_bundle_config *file, const assay_mlpf_differences *d,
                                   assay_error *err) {
  return assay_fail(err, ASSAY_E_MISMATCH, "'%s'%s%s does not fit the configuration%s%s%s: %s%s%s",
                    path, dict->found_at[0] ? ", " : "", dict->found_at, file ? " '" : "",
                    file ? file->file : "", file ? "'" : "", d->summary, d->cause[0] ? "; " : "",
                    d->cause);
}

assay_status assay_bundle_weights_read(const char *path, assay_mlpf_config *config,
                                       const assay_bundle_config *file, assay_bundle_weights *out,
                                       assay_mlpf_differences *differences, assay_error *err) {
  assay_bundle_weights weights = {0};
  assay_state_dict dict = {0};
  const char *origin = NULL;
  ASSAY_TRY(read_dict(path, &dict, &origin, err));
  assay_status st = take_told(file, &dict.tensors, config, err);
  if (st == ASSAY_OK) st = assay_mlpf_compare(config, &dict.tensors, differences, err);
  if (st == ASSAY_OK && differences->n > 0)
    st = fail_different(path, &dict, file, differences, err);
  if (st == ASSAY_OK) st = make_about(path, origin, &dict, file, &weights.about, err);
  if (st == ASSAY_OK) {
    name_of(path, weights.name, sizeof weights.name);
    weights.tensors = dict.tensors;
    dict.tensors = (assay_tensor_map){0};
    *out = weights;
  }
  assay_state_dict_reset(&dict);
  return st;
}

void assay_bundle_weights_reset(assay_bundle_weights *weights) {
  assay_tensor_map_reset(&weights->tensors);
  assay_json_destroy(weights->about);
  *weights = (assay_bundle_weights){0};
}
