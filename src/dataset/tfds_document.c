/* dataset_info.json: name, version, file format, splits; and the names of shard files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "dataset/tfds_parts.h"

#define DEFAULT_TEMPLATE "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
#define MAX_SPLITS       1024
#define EXAMPLES_MAX     (INT64_C(1) << 53) /* what JSON numbers hold exactly */
#define INDEX_DIGITS_MIN 5

const char *assay_tfds_format_name(assay_tfds_format format) {
  return format == ASSAY_TFDS_ARRAY_RECORD ? "array_record" : "tfrecord";
}

assay_status assay_tfds_read_int(const assay_json *value, const char *what, int64_t low,
                                 int64_t high, int64_t *out, assay_error *err) {
  const char *text = assay_json_string(value);
  if (text != NULL) {
    assay_error words = {0};
    if (assay_text_parse_int(text, what, low, high, out, &words) == ASSAY_OK) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_FORMAT, "%s", words.text);
  }
  assay_json_kind kind = value == NULL ? ASSAY_JSON_NULL : assay_json_kind_of(value);
  int64_t number = assay_json_int(value);
  if (kind != ASSAY_JSON_INT)
    return assay_fail(err, ASSAY_E_FORMAT, "%s: expected an integer, found %s", what,
                      assay_json_kind_name(kind));
  if (number < low || number > high)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "%s: expected %" PRId64 " to %" PRId64 ", found %" PRId64, what, low, high,
                      number);
  *out = number;
  return ASSAY_OK;
}

/* Text of an optional member; absent and null give the fallback, "" too where it is not wanted. */
static assay_status read_text(const assay_json *object, const char *key, const char *fallback,
                              char **out, assay_error *err) {
  const assay_json *value = assay_json_get(object, key);
  const char *text = fallback;
  if (value != NULL && assay_json_kind_of(value) != ASSAY_JSON_NULL)
    ASSAY_TRY(assay_json_need_string(object, key, &text, err));
  *out = assay_strdup(*text == '\0' ? fallback : text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text));
}

/* ---- splits -------------------------------------------------------------------------------------
 */

static assay_status read_lengths(const assay_json *lengths, assay_tfds_split_info *split,
                                 assay_error *err) {
  size_t n = assay_json_len(lengths);
  if (n > ASSAY_TFDS_MAX_SHARDS)
    return assay_fail(err, ASSAY_E_LIMIT, "%zu shards, assay reads %zu", n, ASSAY_TFDS_MAX_SHARDS);
  split->firsts = assay_alloc_array(n + 1, sizeof *split->firsts);
  if (split->firsts == NULL) return assay_fail_memory(err, (n + 1) * sizeof *split->firsts);
  split->n_shards = n;
  for (size_t k = 0; k < n; k++) {
    int64_t length, left = EXAMPLES_MAX - (int64_t)split->firsts[k];
    assay_status st = assay_tfds_read_int(assay_json_at(lengths, k), "shardLengths", /*low=*/0,
                                          left, &length, err);
    if (st) {
      assay_error_in(err, "shard %zu", k);
      return st;
    }
    split->firsts[k + 1] = split->firsts[k] + (uint64_t)length;
  }
  return ASSAY_OK;
}

static assay_status read_split(const assay_json *value, assay_tfds_split_info *split,
                               assay_error *err) {
  const char *name;
  ASSAY_TRY(assay_json_need_string(value, "name", &name, err));
  split->name = assay_strdup(name);
  if (split->name == NULL) return assay_fail_memory(err, strlen(name));
  ASSAY_TRY(read_text(value, "filepathTemplate", DEFAULT_TEMPLATE, &split->path_template, err));
  split->size_bytes = -1;
  const assay_json *size = assay_json_get(value, "numBytes");
  if (size != NULL)
    ASSAY_TRY(assay_tfds_read_int(size, "numBytes", /*low=*/0, INT64_MAX, &split->size_bytes, err));
  const assay_json *lengths = NULL;
  if (assay_json_get(value, "shardLengths") != NULL)
    ASSAY_TRY(assay_json_need_array(value, "shardLengths", &lengths, err));
  else if (assay_json_get(value, "numShards") != NULL)
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "numShards without shardLengths, as old versions of TFDS wrote it: how many "
                      "examples a shard holds is not known");
  return read_lengths(lengths, split, err);
}

static assay_status check_unique(const assay_tfds_document *document, size_t i, assay_error *err) {
  for (size_t k = 0; k < i; k++) {
    if (strcmp(document->splits[k].name, document->splits[i].name) == 0)
      return assay_fail(err, ASSAY_E_FORMAT, "'%s' is there twice", document->splits[i].name);
  }
  return ASSAY_OK;
}

static assay_status read_splits(const assay_json *root, assay_tfds_document *document,
                                assay_error *err) {
  const assay_json *splits;
  ASSAY_TRY(assay_json_need_array(root, "splits", &splits, err));
  size_t n = assay_json_len(splits);
  if (n > MAX_SPLITS)
    return assay_fail(err, ASSAY_E_LIMIT, "%zu splits, assay reads %d", n, MAX_SPLITS);
  document->splits = assay_alloc_array(n, sizeof *document->splits);
  if (document->splits == NULL) return assay_fail_memory(err, n * sizeof *document->splits);
  document->n_splits = n;
  for (size_t i = 0; i < n; i++) {
    assay_status st = read_split(assay_json_at(splits, i), &document->splits[i], err);
    if (!st) st = check_unique(document, i, err);
    if (st) {
      assay_error_in(err, "splits[%zu]", i);
      return st;
    }
  }
  return ASSAY_OK;
}

/* ---- the document -------------------------------------------------------------------------------
 */

static assay_status read_format(const assay_json *root, assay_tfds_format *out, assay_error *err) {
  char *text;
  ASSAY_TRY(read_text(root, "fileFormat", "tfrecord", &text, err));
  assay_status st = ASSAY_OK;
  if (strcmp(text, "array_record") == 0)
    *out = ASSAY_TFDS_ARRAY_RECORD;
  else if (strcmp(text, "tfrecord") == 0)
    *out = ASSAY_TFDS_TFRECORD;
  else
    st = assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "fileFormat '%s', assay reads array_record and tfrecord: have TFDS convert it "
                    "(tfds convert_format)",
                    text);
  assay_free(text);
  return st;
}

static assay_status read_document(const assay_json *root, assay_tfds_document *document,
                                  assay_error *err) {
  const char *name, *version;
  if (assay_json_kind_of(root) != ASSAY_JSON_OBJECT)
    return assay_fail(err, ASSAY_E_FORMAT, "expected an object, found %s",
                      assay_json_kind_name(assay_json_kind_of(root)));
  ASSAY_TRY(assay_json_need_string(root, "name", &name, err));
  ASSAY_TRY(assay_json_need_string(root, "version", &version, err));
  document->name = assay_strdup(name);
  document->version = assay_strdup(version);
  if (document->name == NULL || document->version == NULL) return assay_fail_memory(err, 0);
  ASSAY_TRY(read_text(root, "configName", "", &document->config, err));
  ASSAY_TRY(read_format(root, &document->format, err));
  return read_splits(root, document, err);
}

assay_status assay_tfds_document_parse(const assay_json *root, assay_tfds_document *out,
                                       assay_error *err) {
  assay_tfds_document document = {0};
  assay_status st = read_document(root, &document, err);
  if (!st)
    *out = document;
  else
    assay_tfds_document_reset(&document);
  return st;
}

void assay_tfds_document_reset(assay_tfds_document *document) {
  for (size_t i = 0; i < document->n_splits; i++) {
    assay_free(document->splits[i].name);
    assay_free(document->splits[i].path_template);
    assay_free(document->splits[i].firsts);
  }
  assay_free(document->splits);
  assay_free(document->name);
  assay_free(document->config);
  assay_free(document->version);
  *document = (assay_tfds_document){0};
}

/* ---- shard names --------------------------------------------------------------------------------
 */

typedef struct shard_words {
  const char *dataset, *split, *format;
  size_t index, n_shards;
  int digits; /* of index and number */
} shard_words;

static int count_digits(size_t n) {
  int digits = 1;
  for (; n >= 10; n /= 10) digits++;
  return digits < INDEX_DIGITS_MIN ? INDEX_DIGITS_MIN : digits;
}

/* What stands for a placeholder; name is what is between the braces. */
static assay_status put_placeholder(const shard_words *w, const char *name, size_t n_name,
                                    assay_buf *out, assay_error *err) {
#define IS(word) (n_name == strlen(word) && memcmp(name, word, n_name) == 0)
  if (IS("DATASET")) return assay_buf_append_text(out, w->dataset, err);
  if (IS("SPLIT")) return assay_buf_append_text(out, w->split, err);
  if (IS("FILEFORMAT")) return assay_buf_append_text(out, w->format, err);
  if (IS("SHARD_INDEX")) return assay_buf_appendf(out, err, "%0*zu", w->digits, w->index);
  if (IS("NUM_SHARDS")) return assay_buf_appendf(out, err, "%0*zu", w->digits, w->n_shards);
  if (IS("SHARD_X_OF_Y"))
    return assay_buf_appendf(out, err, "%0*zu-of-%0*zu", w->digits, w->index, w->digits,
                             w->n_shards);
#undef IS
  return assay_fail(err, ASSAY_E_FORMAT, "unknown placeholder '{%.*s}'",
                    (int)(n_name < 64 ? n_name : 64), name);
}

static assay_status expand(const char *text, const shard_words *w, assay_buf *out,
                           assay_error *err) {
  while (*text != '\0') {
    size_t n_plain = strcspn(text, "{}");
    ASSAY_TRY(assay_buf_append(out, text, n_plain, err));
    text += n_plain;
    if (*text == '\0') break;
    size_t n_name = strcspn(text + 1, "{}");
    if (*text == '}' || text[1 + n_name] != '}')
      return assay_fail(err, ASSAY_E_FORMAT, "a brace without its other");
    ASSAY_TRY(put_placeholder(w, text + 1, n_name, out, err));
    text += n_name + 2;
  }
  return ASSAY_OK;
}

assay_status assay_tfds_shard_name(const assay_tfds_document *document, size_t split, size_t k,
                                   char **out, assay_error *err) {
  const assay_tfds_split_info *info = &document->splits[split];
  const shard_words words = {
      .dataset = document->name,
      .split = info->name,
      .format = assay_tfds_format_name(document->format),
      .index = k,
      .n_shards = info->n_shards,
      .digits = count_digits(info->n_shards),
  };
  assay_buf name = {.max_bytes = 65536};
  char *copy = NULL;
  assay_status st = expand(info->path_template, &words, &name, err);
  if (!st && !assay_path_is_inside(assay_buf_text(&name)))
    st = assay_fail(err, ASSAY_E_FORMAT, "it gives '%s', which is no name inside the folder",
                    assay_buf_text(&name));
  if (!st) {
    copy = assay_strdup(assay_buf_text(&name));
    if (copy == NULL) st = assay_fail_memory(err, name.size_bytes);
  }
  assay_buf_reset(&name);
  if (st)
    assay_error_in(err, "split '%s': filepathTemplate '%s'", info->name, info->path_template);
  else
    *out = copy;
  return st;
}
