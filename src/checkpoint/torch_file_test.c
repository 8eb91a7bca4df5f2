/* The sample files of PyTorch 1.13 and 2.6 against what PyTorch 2.6 loaded from them (golden.json:
 * structure and first values) and against an independent reader (tensors.json: SHA-256 of every
 * tensor); then files that are odd, damaged or hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/numpy_value.h"
#include "checkpoint/scratch_file.h"
#include "checkpoint/torch_file.h"

#define FOLDER "testdata/torch/"

static assay_torch_file *open_file(const char *path) {
  assay_torch_file *file = NULL;
  assay_error err = {0};
  assay_status st = assay_torch_file_open(path, &file, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  return file;
}

static assay_json *read_json(const char *path) {
  assay_json *json = NULL;
  assay_error err = {0};
  if (assay_json_read(path, 1 << 22, &json, &err)) fail_msg("%s", err.text);
  return json;
}

/* ---- golden.json
 * --------------------------------------------------------------------------------- */

typedef struct check {
  const char *file;
  assay_torch_file *torch;
  size_t n_tensors, n_others;
} check;

static double real_of_text(const char *text) {
  if (strcmp(text, "True") == 0) return 1;
  if (strcmp(text, "False") == 0) return 0;
  return strtod(text, NULL);
}

/* "(1+2j)" or "1.5" of element i. */
static bool equals_value(const assay_tensor *tensor, size_t i, const char *text) {
  double parts[2] = {0, 0};
  if (tensor->dtype == ASSAY_DTYPE_C64) {
    parts[0] = (double)((const float *)tensor->data)[2 * i];
    parts[1] = (double)((const float *)tensor->data)[2 * i + 1];
  } else if (tensor->dtype == ASSAY_DTYPE_C128) {
    memcpy(parts, (const double *)tensor->data + 2 * i, sizeof parts);
  } else {
    return assay_tensor_get_real(tensor, i) == real_of_text(text);
  }
  if (*text == '(') text++;
  char *end;
  double re = strtod(text, &end), im = strtod(end, NULL);
  if (*end == 'j') im = re, re = 0;
  return parts[0] == re && parts[1] == im;
}

static void check_numbers(const check *c, const char *what, const assay_json *expected,
                          const int64_t *found, int n) {
  if (assay_json_len(expected) != (size_t)n) fail_msg("%s: %d %ss", c->file, n, what);
  for (int i = 0; i < n; i++) {
    int64_t wanted = assay_json_int(assay_json_at(expected, (size_t)i));
    if (found[i] != wanted) fail_msg("%s: %s %d is %lld", c->file, what, i, (long long)found[i]);
  }
}

static void check_tensor(check *c, const assay_json *gold, const assay_pickle_value *value) {
  size_t i = 0;
  assay_tensor tensor;
  assay_error err = {0};
  if (!assay_torch_file_find(c->torch, value, &i)) fail_msg("%s: a tensor expected", c->file);
  const assay_torch_tensor *t = assay_torch_file_at(c->torch, i);
  const char *dtype = assay_json_string(assay_json_get(gold, "dtype"));
  if (strcmp(dtype + strlen("torch."), t->dtype_name) != 0)
    fail_msg("%s: %s", t->path, t->dtype_name);
  check_numbers(c, "dimension", assay_json_get(gold, "shape"), t->dims, t->rank);
  check_numbers(c, "stride", assay_json_get(gold, "stride"), t->strides, t->rank);
  assert_int_equal(t->offset, assay_json_int(assay_json_get(gold, "offset")));
  assert_int_equal(t->requires_grad, assay_json_bool(assay_json_get(gold, "requires_grad")));
  c->n_tensors++;
  assay_status st = assay_torch_file_read(c->torch, i, &tensor, &err);
  if (t->dtype == ASSAY_DTYPE_NONE) { /* float8: known by name, not read */
    assert_int_equal(st, ASSAY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, t->dtype_name));
    return;
  }
  if (st) fail_msg("%s: %s", c->file, err.text);
  const assay_json *values = assay_json_get(gold, "values");
  for (size_t k = 0; k < assay_json_len(values); k++) {
    const char *text = assay_json_string(assay_json_at(values, k));
    if (!equals_value(&tensor, k, text)) {
      fail_msg("%s '%s' value %zu: expected %s, found %.17g", c->file, t->path, k, text,
               assay_tensor_get_real(&tensor, k));
    }
  }
  assay_tensor_reset(&tensor);
}

/* np.float64(2.5), np.True_: the number in it. */
static bool equals_numpy(const assay_pickle_value *value, const char *text) {
  assay_tensor tensor;
  if (!assay_numpy_is_scalar(value) || assay_numpy_read(value, &tensor, NULL)) return false;
  const char *paren = strchr(text, '(');
  double wanted = paren == NULL ? (double)(strcmp(text, "np.True_") == 0) : strtod(paren + 1, NULL);
  bool same = assay_tensor_get_real(&tensor, 0) == wanted;
  assay_tensor_reset(&tensor);
  return same;
}

/* Values that are no tensors, against Python's repr of them. */
static bool equals_repr(const assay_pickle_value *value, const char *text) {
  size_t n = strlen(text);
  char global[256];
  switch ((assay_pickle_kind)value->kind) {
  case ASSAY_PICKLE_NONE:
    return strcmp(text, "None") == 0;
  case ASSAY_PICKLE_BOOL:
    return strcmp(text, value->boolean ? "True" : "False") == 0;
  case ASSAY_PICKLE_INT:
    return value->integer == strtoll(text, NULL, 10);
  case ASSAY_PICKLE_BIGINT:
    return strcmp(text, value->text.data) == 0;
  case ASSAY_PICKLE_REAL:
    return value->real == strtod(text, NULL);
  case ASSAY_PICKLE_COMPLEX:
    return strcmp(text, "(1+2j)") == 0 && value->complex.im == 2;
  case ASSAY_PICKLE_TEXT:
    return value->text.size_bytes == n - 2 && memcmp(text + 1, value->text.data, n - 2) == 0;
  case ASSAY_PICKLE_BYTES:
    return value->text.size_bytes == n - 3 && memcmp(text + 2, value->text.data, n - 3) == 0;
  case ASSAY_PICKLE_SET:
    if (value->items.at[0]->integer != 1) return false;
    return value->items.n == (strcmp(text, "{1, 2}") == 0 ? 2 : 1);
  case ASSAY_PICKLE_GLOBAL:
    snprintf(global, sizeof global, "%s.%s", value->global.module, value->global.name);
    return strcmp(global, text) == 0;
  case ASSAY_PICKLE_CALL:
    if (assay_text_has_prefix(text, "np.")) return equals_numpy(value, text);
    if (assay_text_has_prefix(text, "array(")) return assay_numpy_is_array(value);
    return assay_text_has_prefix(text, "device(") && assay_pickle_is_call(value, "torch", "device");
  default:
    return false;
  }
}

static void check_value(check *c, const assay_json *gold, const assay_pickle_value *value);

static void check_dict(check *c, const assay_json *gold, const assay_pickle_value *value) {
  assert_int_equal(value->kind, ASSAY_PICKLE_DICT);
  if (value->pairs.n != assay_json_len(gold)) fail_msg("%s: %zu keys", c->file, value->pairs.n);
  for (size_t i = 0; i < value->pairs.n; i++) {
    const assay_pickle_value *key = value->pairs.at[i].key;
    const char *wanted = assay_json_key_at(gold, i);
    char digits[32];
    if (key->kind == ASSAY_PICKLE_INT) {
      snprintf(digits, sizeof digits, "%lld", (long long)key->integer);
      assert_string_equal(digits, wanted);
    } else if (!assay_pickle_is_text(key, wanted)) {
      fail_msg("%s: key %zu is not '%s'", c->file, i, wanted);
    }
    check_value(c, assay_json_value_at(gold, i), value->pairs.at[i].value);
  }
}

static void check_value(check *c, const assay_json *gold, const assay_pickle_value *value) {
  const assay_json *tensor = assay_json_get(gold, "tensor");
  const assay_json *unsupported = assay_json_get(gold, "unsupported");
  size_t i;
  if (tensor != NULL) {
    check_tensor(c, tensor, value);
  } else if (unsupported != NULL) {
    assert_true(assay_torch_file_find(c->torch, value, &i));
    assert_non_null(assay_torch_file_at(c->torch, i)->unsupported);
  } else if (assay_json_kind_of(gold) == ASSAY_JSON_OBJECT) {
    check_dict(c, gold, value);
  } else if (assay_json_kind_of(gold) == ASSAY_JSON_ARRAY) {
    assert_true(value->kind == ASSAY_PICKLE_LIST || value->kind == ASSAY_PICKLE_TUPLE);
    assert_int_equal(value->items.n, assay_json_len(gold));
    for (size_t k = 0; k < value->items.n; k++) {
      check_value(c, assay_json_at(gold, k), value->items.at[k]);
    }
  } else {
    const char *text = assay_json_string(gold);
    if (!equals_repr(value, text)) fail_msg("%s: '%s' expected", c->file, text);
    c->n_others++;
  }
}

/* Files whose golden text is the repr of an object that only PyTorch's source explains. */
static bool is_opaque(const char *name) {
  return strstr(name, "full_module") != NULL || strstr(name, "storage_only") != NULL ||
         strstr(name, "untyped_storage") != NULL;
}

static void samples_equal_what_pytorch_loaded(void **state) {
  (void)state;
  assay_json *golden = read_json(FOLDER "golden.json");
  check total = {0};
  size_t n_files = 0, n_refused = 0;
  for (size_t i = 0; i < assay_json_len(golden); i++) {
    const char *name = assay_json_key_at(golden, i);
    const assay_json *gold = assay_json_value_at(golden, i);
    char path[256];
    snprintf(path, sizeof path, FOLDER "%s", name);
    if (assay_json_get(gold, "error") != NULL) { /* PyTorch cannot load it either */
      assay_torch_file *file = NULL;
      assay_error err = {0};
      assert_int_equal(assay_torch_file_open(path, &file, &err), ASSAY_E_UNSUPPORTED);
      assert_non_null(strstr(err.text, "protocol 0"));
      n_refused++;
      continue;
    }
    check c = {.file = name, .torch = open_file(path)};
    if (!is_opaque(name)) check_value(&c, gold, assay_torch_file_root(c.torch));
    assay_torch_file_close(c.torch);
    total.n_tensors += c.n_tensors;
    total.n_others += c.n_others;
    n_files++;
  }
  assay_json_destroy(golden);
  assert_int_equal(n_files, 50);
  assert_int_equal(n_refused, 2);
  assert_int_equal(total.n_tensors, 248);
  assert_int_equal(total.n_others, 188);
}

/* ---- tensors.json
 * -------------------------------------------------------------------------------- */

static void check_hash(assay_torch_file *file, size_t i, const assay_json *expected) {
  const assay_torch_tensor *t = assay_torch_file_at(file, i);
  const assay_json *one = assay_json_get(expected, t->path);
  char hex[65];
  assay_error err = {0};
  if (one == NULL) fail_msg("'%s' is not expected", t->path);
  assert_string_equal(t->dtype_name, assay_json_string(assay_json_get(one, "dtype")));
  if (t->dtype == ASSAY_DTYPE_NONE) return;
  for (int view = 0; view < 2; view++) {
    assay_tensor tensor;
    assay_status st = view ? assay_torch_file_view(file, i, &tensor, &err)
                           : assay_torch_file_read(file, i, &tensor, &err);
    if (st) fail_msg("%s", err.text);
    assert_int_equal(assay_sha256_bytes(tensor.data, tensor.size_bytes, hex, NULL), ASSAY_OK);
    if (strcmp(hex, assay_json_string(assay_json_get(one, "sha256"))) != 0) {
      fail_msg("'%s' (%s) differs: %s", t->path, view ? "view" : "read", hex);
    }
    assay_tensor_reset(&tensor);
  }
}

/* How many tensors the files of a listing hold; each is compared. */
static size_t check_hashes(const char *listing) {
  assay_json *expected = read_json(listing);
  size_t n = 0;
  for (size_t i = 0; i < assay_json_len(expected); i++) {
    char path[256];
    snprintf(path, sizeof path, FOLDER "%s", assay_json_key_at(expected, i));
    const assay_json *tensors = assay_json_value_at(expected, i);
    assay_torch_file *file = open_file(path);
    if (assay_torch_file_count(file) != assay_json_len(tensors)) {
      fail_msg("%s: %zu tensors, %zu expected", path, assay_torch_file_count(file),
               assay_json_len(tensors));
    }
    for (size_t k = 0; k < assay_torch_file_count(file); k++, n++) check_hash(file, k, tensors);
    assay_torch_file_close(file);
  }
  assay_json_destroy(expected);
  return n;
}

static void every_tensor_is_equal_bit_for_bit(void **state) {
  (void)state;
  assert_int_equal(check_hashes(FOLDER "tensors.json"), 675);
  assert_int_equal(check_hashes(FOLDER "tensors_v2.15.json"), 150);
}

/* ---- what else the samples say
 * -------------------------------------------------------------------- */

static const assay_torch_tensor *by_path(const assay_torch_file *file, const char *path) {
  for (size_t i = 0; i < assay_torch_file_count(file); i++) {
    const assay_torch_tensor *t = assay_torch_file_at(file, i);
    if (strcmp(t->path, path) == 0) return t;
  }
  fail_msg("no tensor '%s'", path);
  return NULL;
}

static void shared_storages_keep_their_aliases(void **state) {
  (void)state;
  assay_torch_file *file = open_file(FOLDER "v2.6/shared_storage.pth");
  assert_int_equal(assay_torch_file_count(file), 3); /* "same" is the object "full" */
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(assay_torch_file_at(file, i)->alias_of, 0);
    assert_string_equal(assay_torch_file_at(file, i)->storage_key, "0");
    assert_int_equal(assay_torch_file_at(file, i)->storage_bytes, 40);
  }
  assert_int_equal(assay_torch_file_info(file)->n_storages, 1);
  assay_torch_file_close(file);
  file = open_file(FOLDER "v1.13/state_dict.pth"); /* l3.weight is tied to l2.weight */
  assert_int_equal(by_path(file, "l3.weight")->alias_of, by_path(file, "l2.weight")->alias_of);
  assert_int_not_equal(by_path(file, "l3.bias")->alias_of, by_path(file, "l2.bias")->alias_of);
  assay_torch_file_close(file);
}

static void parameters_are_known(void **state) {
  (void)state;
  assay_torch_file *file = open_file(FOLDER "v2.6/params.pth");
  assert_true(by_path(file, "p")->is_parameter);
  assert_true(by_path(file, "p")->requires_grad);
  assert_true(by_path(file, "nograd")->is_parameter);
  assert_false(by_path(file, "nograd")->requires_grad);
  assay_torch_file_close(file);
  file = open_file(FOLDER "v2.6/conj_neg.pth");
  assert_true(by_path(file, "c")->is_conjugated);
  assert_true(by_path(file, "n")->is_negated);
  assay_torch_file_close(file);
}

static void info_says_what_the_container_is(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool is_legacy, no_checksums, has_id;
    int protocol, version;
  } rows[] = {
      {"v1.13/contig_f32.pth", false, false, false, 2, 3},
      {"v2.6/contig_f32.pth", false, false, true, 2, 3},
      {"v2.6/nocrc.pth", false, true, true, 2, 3},
      {"v2.6/proto5.pth", false, false, true, 5, 3},
      {"v1.13/legacy_small.pth", true, false, false, 2, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char path[256];
    snprintf(path, sizeof path, FOLDER "%s", rows[i].name);
    assay_torch_file *file = open_file(path);
    const assay_torch_info *info = assay_torch_file_info(file);
    assert_int_equal(info->is_legacy, rows[i].is_legacy);
    assert_int_equal(info->no_checksums, rows[i].no_checksums);
    assert_int_equal(info->serialization_id != NULL, rows[i].has_id);
    assert_int_equal(info->protocol, rows[i].protocol);
    assert_int_equal(info->format_version, rows[i].version);
    assert_int_equal(info->n_unused_storages, 0);
    assay_torch_file_close(file);
  }
}

static void bare_storages_are_vectors(void **state) {
  (void)state;
  assay_torch_file *file = open_file(FOLDER "v2.6/storage_only.pth");
  assay_tensor tensor;
  assert_int_equal(assay_torch_file_count(file), 1);
  assert_true(assay_torch_file_at(file, 0)->is_storage);
  assert_int_equal(assay_torch_file_read(file, 0, &tensor, NULL), ASSAY_OK);
  assert_int_equal(tensor.n_elems, 2);
  assert_true(assay_tensor_f32(&tensor)[0] == 1.0f && assay_tensor_f32(&tensor)[1] == 2.0f);
  assay_tensor_reset(&tensor);
  assay_torch_file_close(file);
  file = open_file(FOLDER "v2.6/untyped_storage.pth");
  assert_int_equal(assay_torch_file_read(file, 0, &tensor, NULL), ASSAY_OK);
  assert_int_equal(tensor.dtype, ASSAY_DTYPE_U8);
  assert_memory_equal(tensor.data, "\0\0\x80\x3f\0\0\0\x40", 8);
  assay_tensor_reset(&tensor);
  assay_torch_file_close(file);
}

static void unsupported_tensors_say_why(void **state) {
  (void)state;
  static const struct {
    const char *path, *part;
  } rows[] = {
      {FOLDER "v1.13/quantized.pth", "quantized"},
      {FOLDER "v2.6/sparse_coo.pth", "sparse"},
      {FOLDER "v2.6/meta.pth", "meta tensor"},
      {FOLDER "v2.6/u16u32u64.pth", "float8_e4m3fn"},
      {"testdata/odd/state_set.pth", "state is set afterwards"},
      {"testdata/odd/bool_of_2.pth", "bool 2 is stored as 2"},
      {"testdata/odd/negated_int.pth", "a negated tensor of int8"},
      {"testdata/odd/expanded_2_60.pth",
       "an expanded tensor of 1152921504606846976 elements from a storage of 16 bytes"},
      {"testdata/odd/claims_2_gib.pth",
       "the tensors of the file take 2147483648 bytes from storages of 16: the limit is"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_torch_file *file = open_file(rows[i].path);
    bool found = false;
    for (size_t k = 0; k < assay_torch_file_count(file); k++) {
      assay_tensor tensor;
      assay_error err = {0};
      assay_status st = assay_torch_file_view(file, k, &tensor, &err);
      if (st == ASSAY_OK)
        assay_tensor_reset(&tensor);
      else
        found |= strstr(err.text, rows[i].part) != NULL;
    }
    if (!found) fail_msg("%s: no '%s'", rows[i].path, rows[i].part);
    assay_torch_file_close(file);
  }
}

/* An archive of one deflated entry that claims 1 GiB and a byte, which its 1.1 MB can just hold; it
 * is refused before any of them is looked at. */
static void a_deflated_storage_has_a_limit(void **state) {
  (void)state;
  enum { PACKED = 1100000 };
  static const char name[] = "a/data/0", pickle[] = "\x80\x02N.";
  static uint8_t bytes[PACKED + 1024];
  static const struct {
    const char *name;
    uint32_t packed, size;
    uint8_t method;
  } rows[] = {{"a/data.pkl", 4, 4, 0}, {"a/version", 2, 2, 0}, {name, PACKED, (1u << 30) + 1, 8}};
  uint8_t central[256] = {0}, end[22] = {'P', 'K', 5, 6, 0, 0, 0, 0, 3, 0, 3};
  size_t at = 0, n_central = 0;
  for (size_t i = 0; i < 3; i++) {
    const size_t n_name = strlen(rows[i].name), begin = at;
    uint8_t local[30] = {'P', 'K', 3, 4}, entry[46] = {'P', 'K', 1, 2};
    local[8] = entry[10] = rows[i].method;
    local[26] = entry[28] = (uint8_t)n_name;
    memcpy(local + 18, &rows[i].packed, 4);
    memcpy(local + 22, &rows[i].size, 4);
    memcpy(entry + 20, &rows[i].packed, 4);
    memcpy(entry + 24, &rows[i].size, 4);
    memcpy(entry + 42, &begin, 4);
    memcpy(bytes + at, local, sizeof local);
    memcpy(bytes + at + sizeof local, rows[i].name, n_name);
    at += sizeof local + n_name;
    if (i < 2) memcpy(bytes + at, i == 0 ? pickle : "3\n", rows[i].packed);
    at += rows[i].packed;
    memcpy(central + n_central, entry, sizeof entry);
    memcpy(central + n_central + sizeof entry, rows[i].name, n_name);
    n_central += sizeof entry + n_name;
  }
  memcpy(end + 12, &n_central, 4);
  memcpy(end + 16, &at, 4);
  memcpy(bytes + at, central, n_central);
  memcpy(bytes + at + n_central, end, sizeof end);
  scratch_file scratch = {0};
  assay_torch_file *file = NULL;
  assay_error err = {0};
  const char *path = scratch_file_put(&scratch, bytes, at + n_central + sizeof end);
  assert_int_equal(assay_torch_file_open(path, &file, &err), ASSAY_E_LIMIT);
  if (strstr(err.text, "unpacks to 1073741825 bytes") == NULL) fail_msg("%s", err.text);
  scratch_file_close(&scratch);
}

/* ---- the walk
 * ------------------------------------------------------------------------------------ */

typedef struct seen {
  size_t n, n_tensors, n_repeated, n_left; /* n_left: visits until it fails, or 0 */
  char last[256];
} seen;

static assay_status see(void *arg, const assay_torch_node *node, assay_error *err) {
  seen *s = arg;
  s->n++;
  s->n_tensors += node->tensor != NULL && !node->is_repeated;
  s->n_repeated += node->is_repeated;
  snprintf(s->last, sizeof s->last, "%s", node->path);
  if (s->n == s->n_left) return assay_fail(err, ASSAY_E_LIMIT, "enough");
  return ASSAY_OK;
}

static void the_walk_meets_every_place_once(void **state) {
  (void)state;
  static const struct {
    const char *path;
    size_t n, n_tensors, n_repeated;
    const char *last;
  } rows[] = {
      {FOLDER "v2.6/contig_f32.pth", 2, 1, 0, "a"},
      {FOLDER "v2.6/shared_storage.pth", 5, 3, 1, "same"},
      {"testdata/odd/cycle.pth", 3, 1, 1, "self"},
      {"testdata/odd/system.pth", 5, 1, 0, "x/args/0"},
      {FOLDER "v2.6/bare_tensor.pth", 1, 1, 0, ""},
      {FOLDER "v2.15/numpy.pth", 29, 1, 0, "rec"},
      {FOLDER "v2.6/nested.pth", 49, 0, 0, "ctr/b"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    seen s = {0};
    assay_torch_file *file = open_file(rows[i].path);
    assert_int_equal(assay_torch_file_each(file, see, &s, NULL), ASSAY_OK);
    if (s.n != rows[i].n || s.n_tensors != rows[i].n_tensors ||
        s.n_repeated != rows[i].n_repeated) {
      fail_msg("%s: %zu places, %zu tensors, %zu repeated", rows[i].path, s.n, s.n_tensors,
               s.n_repeated);
    }
    assert_string_equal(s.last, rows[i].last);
    assay_torch_file_close(file);
  }
}

static void the_walk_stops_where_it_is_told(void **state) {
  (void)state;
  seen s = {.n_left = 3};
  assay_error err = {0};
  assay_torch_file *file = open_file(FOLDER "v2.6/full_module.pth");
  assert_int_equal(assay_torch_file_each(file, see, &s, &err), ASSAY_E_LIMIT);
  assert_int_equal(s.n, 3);
  assert_string_equal(err.text, "enough");
  assay_torch_file_close(file);
}

static void tensors_inside_of_pickled_modules_are_found(void **state) {
  (void)state;
  assay_torch_file *file = open_file(FOLDER "v1.13/full_module.pth");
  assert_int_equal(assay_torch_file_count(file), 2);
  assert_true(by_path(file, "_modules/0/_parameters/weight")->is_parameter);
  assay_torch_file_close(file);
}

static void values_that_were_not_saved_are_refused_as_such(void **state) {
  (void)state;
  assay_torch_file *file = open_file(FOLDER "v2.15/skip_data.pth");
  assay_tensor tensor = {0};
  assay_error err = {0};
  assert_int_equal(assay_torch_file_read(file, 0, &tensor, &err), ASSAY_E_FORMAT);
  if (strstr(err.text, "saved without values (skip_data)") == NULL) fail_msg("%s", err.text);
  assay_torch_file_close(file);
}

/* ---- odd files
 * ----------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  assay_status status;
  const char *part;
} odd[] = {
    {"byteorder_big", ASSAY_E_UNSUPPORTED, "written on a big-endian machine"},
    {"byteorder_odd", ASSAY_E_FORMAT, "byteorder 'middle'"},
    {"torchscript", ASSAY_E_UNSUPPORTED, "TorchScript"},
    {"two_pickles", ASSAY_E_FORMAT, "one entry 'data.pkl' expected in the zip archive, found 2"},
    {"no_version", ASSAY_E_UNSUPPORTED, "container version ''"},
    {"version_99", ASSAY_E_UNSUPPORTED, "container version '99'"},
    {"short_storage", ASSAY_E_FORMAT,
     "4 elements of 4 bytes by the pickle, and 12 bytes in the file"},
    {"long_storage", ASSAY_E_FORMAT, "and 20 bytes in the file"},
    {"no_storage", ASSAY_E_FORMAT, "storage '0' is not in the file"},
    {"bad_key", ASSAY_E_FORMAT, "a persistent id that is not ('storage'"},
    {"unknown_class", ASSAY_E_UNSUPPORTED, "unknown class 'torch.FancyStorage'"},
    {"class_twice", ASSAY_E_FORMAT, "storage '0' is named twice"},
    {"view_of_storage", ASSAY_E_UNSUPPORTED, "a view of another one"},
    {"past_the_end", ASSAY_E_FORMAT,
     "its last element lies outside of storage '0', which has room for 4"},
    {"offset_past_the_end", ASSAY_E_FORMAT, "lies outside"},
    {"negative_offset", ASSAY_E_FORMAT, "without the arguments"},
    {"negative_stride", ASSAY_E_FORMAT, "stride 0 is not an integer of 0 or more"},
    {"negative_size", ASSAY_E_FORMAT, "dimension 0 is not an integer of 0 or more"},
    {"rank_mismatch", ASSAY_E_FORMAT, "2 dimensions and 1 strides"},
    {"rank_65", ASSAY_E_FORMAT, "65 dimensions"},
    {"stride_overflow", ASSAY_E_FORMAT, "lies outside"},
    {"shape_overflow", ASSAY_E_LIMIT, "too many elements"},
    {"odd_arguments", ASSAY_E_FORMAT, "_rebuild_tensor_v2 without the arguments"},
    {"parameter_of_itself", ASSAY_E_FORMAT, "rebuilt from more than 16"},
    {"trailing", ASSAY_E_FORMAT, "1 bytes follow the pickle's end"},
    {"legacy_big", ASSAY_E_UNSUPPORTED, "written on a big-endian machine"},
    {"legacy_version", ASSAY_E_UNSUPPORTED, "legacy protocol version 1001 expected"},
    {"legacy_unused", ASSAY_E_FORMAT, "storage '1' is in the file, and nothing refers to it"},
    {"legacy_missing", ASSAY_E_FORMAT, "storage '0' is not in the file"},
    {"legacy_twice", ASSAY_E_FORMAT, "storage '0' is there twice"},
    {"legacy_length", ASSAY_E_FORMAT, "says 3 elements, the pickle 4"},
    {"legacy_tail", ASSAY_E_FORMAT, "1 bytes follow the last storage"},
};

static void odd_files_are_refused_by_name(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    char path[256];
    assay_torch_file *file = NULL;
    assay_error err = {0};
    snprintf(path, sizeof path, "testdata/odd/%s.pth", odd[i].name);
    assay_status st = assay_torch_file_open(path, &file, &err);
    if (st == ASSAY_OK) assay_torch_file_close(file);
    if (st != odd[i].status || strstr(err.text, odd[i].part) == NULL ||
        strstr(err.text, odd[i].name) == NULL) {
      fail_msg("%s: expected %s with '%s', found %s: %s", odd[i].name,
               assay_status_name(odd[i].status), odd[i].part, assay_status_name(st), err.text);
    }
  }
}

static void deflated_entries_are_read(void **state) {
  (void)state;
  assay_torch_file *file = open_file("testdata/odd/deflated.pth");
  static const float w[] = {1, 3, 2, 4};
  for (int again = 0; again < 2; again++) {
    assay_tensor tensor;
    assert_int_equal(assay_torch_file_view(file, 0, &tensor, NULL), ASSAY_OK);
    assert_memory_equal(tensor.data, w, sizeof w);
    assay_tensor_reset(&tensor);
    assert_int_equal(assay_torch_file_view(file, 1, &tensor, NULL), ASSAY_OK);
    for (int i = 0; i < 64; i++) assert_true(assay_tensor_f32(&tensor)[i] == (float)i);
    assay_tensor_reset(&tensor);
  }
  assay_torch_file_close(file);
}

static void plain_odd_files_are_read(void **state) {
  (void)state;
  static const char *const names[] = {
      "testdata/odd/good.pth",          "testdata/odd/no_folder.pth",    "testdata/odd/legacy.pth",
      "testdata/odd/legacy_module.pth", "testdata/odd/repeated_key.pth", "testdata/odd/newer.pth"};
  static const float w[] = {1, 2, 3, 4};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assay_tensor tensor;
    assay_torch_file *file = open_file(names[i]);
    assert_int_equal(assay_torch_file_count(file), 1);
    assert_int_equal(assay_torch_file_view(file, 0, &tensor, NULL), ASSAY_OK);
    assert_memory_equal(tensor.data, w, sizeof w);
    assay_tensor_reset(&tensor);
    assay_torch_file_close(file);
  }
}

static void nothing_in_a_file_is_run(void **state) {
  (void)state;
  assay_torch_file *file = open_file("testdata/odd/system.pth");
  const assay_pickle_value *x = assay_pickle_get(assay_torch_file_root(file), "x");
  assert_true(assay_pickle_is_call(x, "os", "system"));
  assert_int_not_equal(access("/tmp/assay_was_here", F_OK), 0);
  assay_torch_file_close(file);
}

static void kinds_are_told_by_their_first_bytes(void **state) {
  (void)state;
  static char tar[512];
  memcpy(tar + 257, "ustar", 5);
  static const struct {
    const char *bytes;
    size_t n;
    assay_checkpoint_kind kind;
    assay_status status;
    const char *part;
  } rows[] = {
      {"", 0, ASSAY_CHECKPOINT_OTHER, ASSAY_E_FORMAT, "not a file of torch.save"},
      {"hello", 5, ASSAY_CHECKPOINT_OTHER, ASSAY_E_FORMAT, "not a file of torch.save"},
      {tar, 512, ASSAY_CHECKPOINT_TAR, ASSAY_E_UNSUPPORTED, "tar checkpoint"},
      {"\x80\x04}.", 4, ASSAY_CHECKPOINT_PICKLE, ASSAY_E_UNSUPPORTED, "a bare pickle"},
      {"\2\0\0\0\0\0\0\0{}", 10, ASSAY_CHECKPOINT_SAFETENSORS, ASSAY_E_UNSUPPORTED, "safetensors"},
      {"version https://git-lfs.github.com/spec/v1\n", 43, ASSAY_CHECKPOINT_LFS_POINTER,
       ASSAY_E_UNSUPPORTED, "Git LFS pointer"},
      {"PK\3\4", 4, ASSAY_CHECKPOINT_ZIP, ASSAY_E_FORMAT, "zip"},
      {"\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15, ASSAY_CHECKPOINT_LEGACY,
       ASSAY_E_FORMAT, "from byte 15"},
      {"L119547037146038801333356L\n.", 28, ASSAY_CHECKPOINT_LEGACY, ASSAY_E_FORMAT,
       "from byte 28"},
  };
  scratch_file scratch = {0};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_torch_file *file = NULL;
    assay_error err = {0};
    assert_int_equal(assay_checkpoint_kind_of(rows[i].bytes, rows[i].n), rows[i].kind);
    const char *path = scratch_file_put(&scratch, rows[i].bytes, rows[i].n);
    assay_status st = assay_torch_file_open(path, &file, &err);
    if (st != rows[i].status || strstr(err.text, rows[i].part) == NULL) {
      fail_msg("row %zu: %s %s", i, assay_status_name(st), err.text);
    }
  }
  scratch_file_close(&scratch);
}

/* ---- damage
 * -------------------------------------------------------------------------------------- */

static assay_status open_and_read_all(const char *path, assay_error *err) {
  assay_torch_file *file = NULL;
  ASSAY_TRY(assay_torch_file_open(path, &file, err));
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < assay_torch_file_count(file) && !st; i++) {
    assay_tensor tensor;
    st = assay_torch_file_read(file, i, &tensor, err);
    if (!st) assay_tensor_reset(&tensor);
  }
  assay_torch_file_close(file);
  return st;
}

static void files_cut_at_every_byte_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {FOLDER "v2.6/contig_f32.pth", FOLDER "v1.13/strided_view.pth",
                                      FOLDER "v2.6/legacy_small.pth", "testdata/odd/deflated.pth"};
  scratch_file scratch = {0};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    assay_buf bytes = {0};
    assert_int_equal(assay_file_read(names[k], 1 << 20, &bytes, NULL), ASSAY_OK);
    for (size_t n = 0; n < bytes.size_bytes; n++) {
      assay_error err = {0};
      assay_status st = open_and_read_all(scratch_file_put(&scratch, bytes.data, n), &err);
      bool too_short = n < 14 && st == ASSAY_E_UNSUPPORTED; /* to tell from a bare pickle */
      if (st != ASSAY_E_FORMAT && !too_short) {
        fail_msg("%s cut at %zu: %s %s", names[k], n, assay_status_name(st), err.text);
      }
    }
    assay_buf_reset(&bytes);
  }
  scratch_file_close(&scratch);
}

/* A byte that is flipped anywhere is noticed, or is one that nobody reads: names and padding of
 * local headers, dates, the data descriptors. No flip may change a value. */
static void flipped_bytes_never_change_a_value(void **state) {
  (void)state;
  static const float a[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  assay_buf bytes = {0};
  scratch_file scratch = {0};
  size_t n_noticed = 0;
  assert_int_equal(assay_file_read(FOLDER "v2.6/contig_f32.pth", 1 << 20, &bytes, NULL), ASSAY_OK);
  for (size_t at = 0; at < bytes.size_bytes; at++) {
    assay_torch_file *file = NULL;
    assay_tensor tensor = {0};
    bytes.data[at] ^= 0x11;
    const char *path = scratch_file_put(&scratch, bytes.data, bytes.size_bytes);
    assay_status st = assay_torch_file_open(path, &file, NULL);
    if (!st && assay_torch_file_count(file) == 1)
      st = assay_torch_file_read(file, 0, &tensor, NULL);
    if (st)
      n_noticed++;
    else if (tensor.size_bytes != sizeof a || memcmp(tensor.data, a, sizeof a) != 0) {
      fail_msg("a flip at byte %zu changed values", at);
    }
    assay_tensor_reset(&tensor);
    assay_torch_file_close(file);
    bytes.data[at] ^= 0x11;
  }
  assert_true(n_noticed > 600);
  assay_buf_reset(&bytes);
  scratch_file_close(&scratch);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  static const char *const names[] = {FOLDER "v2.6/particleflow_like_checkpoint.pth",
                                      FOLDER "v1.13/legacy_small.pth", "testdata/odd/deflated.pth"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    for (int64_t n = 0;; n++) {
      assay_alloc_fail_after(n);
      assay_status st = open_and_read_all(names[k], NULL);
      assay_alloc_fail_after(-1);
      if (st == ASSAY_OK) break;
      if (st != ASSAY_E_MEMORY)
        fail_msg("%s at %lld: %s", names[k], (long long)n, assay_status_name(st));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_equal_what_pytorch_loaded),
      cmocka_unit_test(every_tensor_is_equal_bit_for_bit),
      cmocka_unit_test(shared_storages_keep_their_aliases),
      cmocka_unit_test(parameters_are_known),
      cmocka_unit_test(info_says_what_the_container_is),
      cmocka_unit_test(bare_storages_are_vectors),
      cmocka_unit_test(unsupported_tensors_say_why),
      cmocka_unit_test(a_deflated_storage_has_a_limit),
      cmocka_unit_test(the_walk_meets_every_place_once),
      cmocka_unit_test(the_walk_stops_where_it_is_told),
      cmocka_unit_test(tensors_inside_of_pickled_modules_are_found),
      cmocka_unit_test(values_that_were_not_saved_are_refused_as_such),
      cmocka_unit_test(odd_files_are_refused_by_name),
      cmocka_unit_test(deflated_entries_are_read),
      cmocka_unit_test(plain_odd_files_are_read),
      cmocka_unit_test(nothing_in_a_file_is_run),
      cmocka_unit_test(kinds_are_told_by_their_first_bytes),
      cmocka_unit_test(files_cut_at_every_byte_are_refused),
      cmocka_unit_test(flipped_bytes_never_change_a_value),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
