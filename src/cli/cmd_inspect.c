/* assay inspect: says what a file or folder is and what is in it. Things are recognised by their
 * first bytes, never by their names; what is none of ours is named as far as it can be, so that a
 * person sees at once that a download failed or a file was mistaken for another. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zip.h"
#include "checkpoint/torch_file.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "dataset/array_record.h"
#include "dataset/tfrecord.h"
#include "package/npy.h"
#include "package/package.h"

#define COMMAND    "inspect"
#define HEAD_BYTES 1024 /* enough to recognise anything by */

typedef struct inspect_args {
  const char *path;
  bool json;
  bool has_event;       /* one example of a dataset */
  int64_t event;        /* its index in the split */
  const char *split;    /* or NULL */
  const char *save_npz; /* or NULL */
  bool no_values;       /* of a PyTorch file: structure alone */
} inspect_args;

enum { KEY_JSON = 0x100, KEY_EVENT, KEY_SPLIT, KEY_SAVE_NPZ, KEY_NO_VALUES };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "print one JSON document (schema assay/inspect/1)", 0},
    {"event", KEY_EVENT, "I", 0, "of a dataset: the arrays of event I, counted from 0", 0},
    {"split", KEY_SPLIT, "NAME", 0, "with --event: the split it is in (default test)", 0},
    {"save-npz", KEY_SAVE_NPZ, "FILE", 0,
     "of a PyTorch or safetensors file: write the tensors to FILE, those of a state dict under the "
     "names that assay export --weights reads",
     0},
    {"no-values", KEY_NO_VALUES, NULL, 0,
     "of a PyTorch file: names, types and shapes alone, at once however large it is; no value is "
     "read",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t parse(int key, char *value, struct argp_state *state) {
  inspect_args *args = state->input;
  assay_error err = {0};
  switch (key) {
  case KEY_JSON:
    args->json = true;
    return 0;
  case KEY_EVENT:
    args->has_event = true;
    if (assay_text_parse_int(value, "--event", /*low=*/0, INT64_MAX, &args->event, &err))
      return assay_cli_refuse(state, &err);
    return 0;
  case KEY_SPLIT:
    args->split = value;
    return 0;
  case KEY_SAVE_NPZ:
    args->save_npz = value;
    return 0;
  case KEY_NO_VALUES:
    args->no_values = true;
    return 0;
  case ARGP_KEY_ARG:
    return assay_cli_take_one(state, "path", value, &args->path);
  case ARGP_KEY_END:
    if (args->path == NULL) return assay_cli_usage(state, "which file or folder?");
    if (args->split != NULL && !args->has_event)
      return assay_cli_usage(state, "--split says which split --event counts in: give both");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "PATH",
    "Says what PATH is and what is in it: a bundle (and whether its files are the ones its "
    "manifest "
    "names), a package, an ONNX model, a .npy or .npz file, a JSON configuration of a model, a "
    "profile of "
    "ONNX Runtime, a PyTorch checkpoint, a pickle, a safetensors file (all three as data: nothing "
    "in them is run), a TFDS dataset (the folder of a version), an ArrayRecord or TFRecord file.\v"
    "Exit status: 0 described; 2 wrong usage, nothing there, damaged, or none of these (one line "
    "says what it "
    "looks like), or a bundle whose files are not as its manifest says (described all the "
    "same).\n\n"
    "Examples:\n"
    "  assay inspect --json demo/bundles/attention-cld\n"
    "  assay inspect --event 0 --split test data/cms_pf_ttbar/1/3.0.0\n"
    "  assay inspect --save-npz weights.npz checkpoints/checkpoint-100000.pth",
    NULL,
    NULL,
    NULL};

/* ---- recognising --------------------------------------------------------------------------------
 */

typedef assay_status (*describe_fn)(const char *path, assay_json_builder *json, assay_error *err);

/* Bytes that a file of another kind begins with. */
static const struct {
  const char *magic;
  size_t n;
  const char *what;
} other_rows[] = {
    {"\x7f"
     "ELF",
     4, "a program or shared library"},
    {"\x1f\x8b", 2, "gzip data: unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, "Zstandard data: unpack it first"},
    {"\xfd"
     "7zXZ",
     5, "xz data: unpack it first"},
    {"BZh", 3, "bzip2 data: unpack it first"},
    {"\xef\xbb\xbf", 3, "a text with a byte order mark: take it away"},
    {"\xff\xfe", 2, "a text in UTF-16: write it as UTF-8"},
    {"\xfe\xff", 2, "a text in UTF-16: write it as UTF-8"},
    {"\x89HDF\r\n", 6, "an HDF5 file"},
    {"\x89PNG", 4, "a PNG picture"},
    {"%PDF", 4, "a PDF document"},
    {"ORTM", 4, "a model in ONNX Runtime's own format"},
};

static const char *skip_space(const char *text) {
  return text + strspn(text, " \t\r\n");
}

static bool begins_folded(const char *text, const char *lower) {
  for (; *lower != '\0'; text++, lower++) {
    char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    if (c != *lower) return false;
  }
  return true;
}

static assay_status fail_looks(const char *path, const char *what, assay_error *err) {
  return assay_fail(err, ASSAY_E_UNSUPPORTED, "'%s' looks like %s", path, what);
}

/* "version https://git-lfs.github.com/spec/v1\noid sha256:…\nsize N\n"
 * Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md */
static assay_status fail_lfs(const char *path, const char *head, assay_error *err) {
  const char *size = strstr(head, "\nsize ");
  int n_digits = size == NULL ? 0 : (int)strspn(size + 6, "0123456789");
  return assay_fail(
      err, ASSAY_E_UNSUPPORTED,
      "'%s' is a Git LFS pointer to a file of %.*s bytes, not the file: fetch it with 'git lfs "
      "pull'",
      path, n_digits, size == NULL ? "" : size + 6);
}

/* Archives are told apart by what they hold. */
static assay_status recognise_zip(const char *path, describe_fn *out, assay_error *err) {
  assay_zip *zip = NULL;
  ASSAY_TRY(assay_zip_open(path, &zip, err));
  size_t n = assay_zip_count(zip), n_arrays = 0;
  bool is_torch = false;
  for (size_t i = 0; i < n; i++) {
    const char *name = assay_zip_at(zip, i)->name;
    n_arrays += assay_text_has_suffix(name, ".npy");
    is_torch =
        is_torch || strcmp(name, "data.pkl") == 0 || assay_text_has_suffix(name, "/data.pkl");
  }
  assay_zip_close(zip);
  if (is_torch || n_arrays > 0 || n == 0) {
    *out = is_torch ? inspect_torch : inspect_npz;
    return ASSAY_OK;
  }
  return fail_looks(path, "a zip archive without arrays", err);
}

/* What the checkpoint room reads, or says better than others why it does not; NULL for others. */
static describe_fn describe_checkpoint(const char *path, const assay_buf *head) {
  switch (assay_checkpoint_kind_of(head->data, head->size_bytes)) {
  case ASSAY_CHECKPOINT_LEGACY:
  case ASSAY_CHECKPOINT_TAR:
    return inspect_torch;
  case ASSAY_CHECKPOINT_PICKLE:
    return inspect_pickle;
  case ASSAY_CHECKPOINT_SAFETENSORS:
    return inspect_safetensors;
  case ASSAY_CHECKPOINT_ZIP:
  case ASSAY_CHECKPOINT_LFS_POINTER:
  case ASSAY_CHECKPOINT_OTHER:
    break;
  }
  /* protocols 0 and 1 have no magic */
  return assay_text_has_suffix(path, ".pkl") ? inspect_pickle : NULL;
}

/* Protobuf has no magic: a model is what can be read as one. Its first field is the IR version (tag
 * 8) with every writer that we know of; a file named .onnx is taken at its word, so that the reader
 * says what is wrong with it. */
static bool may_be_model(const char *path, const assay_buf *head) {
  return head->data[0] == 8 || assay_text_has_suffix(path, ".onnx");
}

static assay_status recognise_other(const char *path, const assay_buf *head, describe_fn *out,
                                    assay_error *err) {
  for (size_t i = 0; i < sizeof other_rows / sizeof *other_rows; i++) {
    bool fits = head->size_bytes >= other_rows[i].n &&
                memcmp(head->data, other_rows[i].magic, other_rows[i].n) == 0;
    if (fits) return fail_looks(path, other_rows[i].what, err);
  }
  *out = describe_checkpoint(path, head);
  if (*out != NULL) return ASSAY_OK;
  if (may_be_model(path, head)) {
    *out = inspect_model;
    return ASSAY_OK;
  }
  size_t n_text = strlen(assay_buf_text(head));
  bool is_text = n_text == head->size_bytes;
  for (size_t i = 0; i < n_text && is_text; i++) {
    is_text = head->data[i] >= 0x20 || strchr("\t\r\n\f", head->data[i]) != NULL;
  }
  return fail_looks(path,
                    is_text ? "a text, but none that inspect knows"
                            : "binary data of no kind that inspect knows",
                    err);
}

static assay_status recognise_file(const char *path, const assay_buf *head, describe_fn *out,
                                   assay_error *err) {
  const char *text = assay_buf_text(head);
  if (head->size_bytes == 0) return assay_fail(err, ASSAY_E_UNSUPPORTED, "'%s' is empty", path);
  if (assay_text_has_prefix(text, "version https://git-lfs")) return fail_lfs(path, text, err);
  if (assay_array_record_is_magic(head->data, head->size_bytes)) {
    *out = inspect_array_record;
    return ASSAY_OK;
  }
  if (assay_tfrecord_is_magic(head->data, head->size_bytes)) {
    *out = inspect_tfrecord;
    return ASSAY_OK;
  }
  if (assay_npy_is_magic(head->data, head->size_bytes)) {
    *out = inspect_npy;
    return ASSAY_OK;
  }
  if (assay_text_has_prefix(text, "PK\3\4") || assay_text_has_prefix(text, "PK\5\6")) {
    return recognise_zip(path, out, err);
  }
  const char *start = skip_space(text);
  if (begins_folded(start, "<!doctype html") || begins_folded(start, "<html")) {
    return fail_looks(path, "a web page: a download that went wrong?", err);
  }
  if (*start == '{' || *start == '[') {
    *out = *start == '{' ? inspect_json : inspect_profile;
    return ASSAY_OK;
  }
  return recognise_other(path, head, out, err);
}

static assay_status recognise_folder(const char *path, describe_fn *out, assay_error *err) {
  static const struct {
    const char *file;
    describe_fn describe;
  } rows[] = {{ASSAY_PACKAGE_FILE, inspect_package}, {"manifest.json", inspect_bundle}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *file = assay_path_join(path, rows[i].file);
    if (file == NULL) return assay_fail_memory(err, strlen(path));
    assay_path_kind kind = assay_path_kind_of(file);
    assay_free(file);
    if (kind != ASSAY_PATH_FILE) continue;
    *out = rows[i].describe;
    return ASSAY_OK;
  }
  if (inspect_is_dataset(path)) {
    *out = inspect_dataset;
    return ASSAY_OK;
  }
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "'%s' is a folder without manifest.json (a bundle has one), package.json (a "
                    "package has one) or dataset_info.json (a version of a TFDS dataset has one)",
                    path);
}

/* Keeps the first HEAD_BYTES, and then stops the reading with a failure that nobody sees. */
static assay_status keep_head(void *arg, const void *bytes, size_t size_bytes, assay_error *err) {
  assay_buf *head = arg;
  size_t n = size_bytes < HEAD_BYTES ? size_bytes : HEAD_BYTES;
  ASSAY_TRY(assay_buf_append(head, bytes, n, err));
  return ASSAY_E_LIMIT;
}

static assay_status recognise(const char *path, describe_fn *out, assay_error *err) {
  assay_path_kind kind = assay_path_kind_of(path);
  if (kind == ASSAY_PATH_NONE) return assay_fail(err, ASSAY_E_IO, "'%s' is not there", path);
  if (kind == ASSAY_PATH_FOLDER) return recognise_folder(path, out, err);
  assay_buf head = {0};
  assay_status st = assay_file_each(path, keep_head, &head, err);
  if (st == ASSAY_OK || st == ASSAY_E_LIMIT) st = recognise_file(path, &head, out, err);
  assay_buf_reset(&head);
  return st;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static assay_status describe_as(const inspect_args *args, describe_fn describe,
                                assay_json_builder *json, assay_error *err) {
  const bool has_tensors = describe == inspect_torch || describe == inspect_safetensors;
  if (args->save_npz != NULL && !has_tensors)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--save-npz is for PyTorch and safetensors files, '%s' is none", args->path);
  if (args->save_npz != NULL)
    ASSAY_TRY(inspect_save_npz(args->path, describe == inspect_torch, args->save_npz, err));
  if (args->no_values && describe != inspect_torch)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--no-values is for PyTorch files, '%s' is none",
                      args->path);
  if (args->no_values) return inspect_torch_structure(args->path, json, err);
  if (!args->has_event) return describe(args->path, json, err);
  if (describe != inspect_dataset)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--event is for datasets, '%s' is none", args->path);
  return inspect_example(args->path, args->split, (uint64_t)args->event, json, err);
}

static assay_status describe_as_json(const inspect_args *args, describe_fn describe,
                                     assay_error *err) {
  assay_json_builder *json = assay_json_builder_create();
  if (json == NULL) return assay_fail_memory(err, 0);
  assay_json_begin_object(json, NULL);
  assay_json_put_string(json, "schema", "assay/inspect/1");
  inspect_put_text(json, "path", args->path);
  assay_status st = describe_as(args, describe, json, err);
  if (st != ASSAY_OK && st != ASSAY_E_MISMATCH) {
    assay_json_builder_destroy(json);
    return st;
  }
  assay_json_end(json);
  const assay_status print_st = assay_cli_print_json(json, err);
  return st ? st : print_st;
}

int assay_cmd_inspect(int argc, char **argv) {
  inspect_args args = {0};
  assay_error err = {0};
  describe_fn describe = NULL;
  int exit_status = ASSAY_EXIT_DONE;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  assay_status st = recognise(args.path, &describe, &err);
  if (!st)
    st = args.json ? describe_as_json(&args, describe, &err)
                   : describe_as(&args, describe, /*json=*/NULL, &err);
  return st ? assay_cli_fail(COMMAND, &err) : ASSAY_EXIT_DONE;
}
