/* Tests of npy.c and npz.c: files that numpy wrote (testdata/npz/README.md), headers of every right
 * and wrong form, hostile archives, and writing byte for byte as numpy does. */
#include "package/npz.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/test_folder.h"
#include "base/zip.h"
#include "package/npy.h"

#define DATA "testdata/npz/"

typedef struct fixture {
  test_folder folder;
  char path[1024];
} fixture;

static int open_fixture(void **state) {
  fixture *f = malloc(sizeof *f);
  test_folder_open(&f->folder);
  snprintf(f->path, sizeof f->path, "%s/a", f->folder.path);
  *state = f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  test_folder_close(&f->folder);
  free(f);
  return 0;
}

static const char *data_path(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, DATA "%s", name);
  return path;
}

static void expect(assay_status found, const assay_error *err, assay_status status,
                   const char *words, const char *what) {
  if (found == status && strstr(err->text, words) != NULL) return;
  fail_msg("%s: expected %s with '%s', found %s: %s", what, assay_status_name(status), words,
           assay_status_name(found), err->text);
}

/* ---- files of numpy -----------------------------------------------------------------------------
 */

/* Element i is start + i * step. */
typedef struct sample {
  const char *file;
  assay_dtype dtype;
  int rank;
  int64_t dims[12];
  double start, step;
  bool comes_back; /* what we write of it is the same bytes: row-major, little-endian, version 1 */
} sample;

static const sample samples[] = {
    {"c_f4.npy", ASSAY_DTYPE_F32, 2, {2, 3}, 0, 1, true},
    {"f_f4.npy", ASSAY_DTYPE_F32, 2, {2, 3}, 0, 1, false},
    {"be_f8.npy", ASSAY_DTYPE_F64, 2, {2, 3}, 0, 1, false},
    {"f2.npy", ASSAY_DTYPE_F16, 2, {2, 3}, 0, 1, true},
    {"i1.npy", ASSAY_DTYPE_I8, 2, {2, 3}, 0, 1, true},
    {"u1.npy", ASSAY_DTYPE_U8, 2, {2, 3}, 0, 1, true},
    {"u2.npy", ASSAY_DTYPE_U16, 2, {2, 3}, 0, 1, false},
    {"i8.npy", ASSAY_DTYPE_I64, 2, {2, 3}, 0, 1, true},
    {"v1.npy", ASSAY_DTYPE_F32, 2, {2, 3}, 0, 1, true},
    {"v2.npy", ASSAY_DTYPE_F32, 2, {2, 3}, 0, 1, false},
    {"v3.npy", ASSAY_DTYPE_F32, 2, {2, 3}, 0, 1, false},
    {"scalar.npy", ASSAY_DTYPE_F64, 0, {0}, 3.5, 0, true},
    {"onebyone.npy", ASSAY_DTYPE_F64, 2, {1, 1}, 1, 0, true},
    {"one_d_F.npy", ASSAY_DTYPE_I64, 1, {3}, 0, 1, true},
    {"noncontig.npy", ASSAY_DTYPE_I64, 1, {5}, 0, 2, true},
    {"empty.npy", ASSAY_DTYPE_F64, 1, {0}, 0, 0, true},
    {"empty2.npy", ASSAY_DTYPE_F32, 2, {0, 5}, 0, 0, true},
    {"big_rank.npy", ASSAY_DTYPE_F32, 12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0, true},
    {"f3_i2.npy", ASSAY_DTYPE_I16, 3, {2, 3, 4}, -12, 1, false},
};

static void assert_sample(const sample *s, const assay_tensor *t) {
  assert_int_equal(t->dtype, s->dtype);
  assert_int_equal(t->rank, s->rank);
  for (int i = 0; i < s->rank; i++) assert_int_equal(t->dims[i], s->dims[i]);
  for (size_t i = 0; i < t->n_elems; i++) {
    double expected = s->start + (double)i * s->step, found = assay_tensor_get_real(t, i);
    if (found != expected) fail_msg("%s: element %zu is %g, not %g", s->file, i, found, expected);
  }
}

static void numpys_arrays_are_read_and_written_the_same(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    assay_tensor t = {0};
    assay_error err = {0};
    if (assay_npy_read(data_path(samples[i].file), NULL, &t, &err)) fail_msg("%s", err.text);
    assert_sample(&samples[i], &t);
    assert_int_equal(assay_npy_write(f->path, &t, NULL), ASSAY_OK);
    assay_buf theirs = test_file_read(data_path(samples[i].file)), ours = test_file_read(f->path);
    bool same = theirs.size_bytes == ours.size_bytes &&
                memcmp(theirs.data, ours.data, ours.size_bytes) == 0;
    if (same != samples[i].comes_back)
      fail_msg("%s: written %s", samples[i].file, same ? "same" : "other");
    assay_tensor again = {0};
    assert_int_equal(assay_npy_read(f->path, NULL, &again, NULL), ASSAY_OK);
    assert_sample(&samples[i], &again);
    assay_tensor_reset(&again);
    assay_tensor_reset(&t);
    assay_buf_reset(&theirs);
    assay_buf_reset(&ours);
  }
}

static void bools_and_complex_numbers_are_read(void **state) {
  fixture *f = *state;
  assay_tensor t = {0};
  assert_int_equal(assay_npy_read(DATA "b1.npy", NULL, &t, NULL), ASSAY_OK);
  assert_int_equal(t.dtype, ASSAY_DTYPE_BOOL);
  assert_memory_equal(t.data, "\0\0\0\1\1\1", 6);
  assay_tensor_reset(&t);
  assert_int_equal(assay_npy_read(DATA "f3_c8_be.npy", NULL, &t, NULL), ASSAY_OK);
  assert_int_equal(t.dtype, ASSAY_DTYPE_C64);
  const float *parts = t.data;
  for (size_t i = 0; i < 24; i++) {
    assert_true(parts[2 * i] == (float)i && parts[2 * i + 1] == (float)(100 + i));
  }
  assay_tensor_reset(&t);
  static const char *const files[] = {"b1.npy", "c8.npy", "c16.npy"};
  for (size_t i = 0; i < N_OF(files); i++) {
    assert_int_equal(assay_npy_read(data_path(files[i]), NULL, &t, NULL), ASSAY_OK);
    assert_int_equal(assay_npy_write(f->path, &t, NULL), ASSAY_OK);
    assay_buf theirs = test_file_read(data_path(files[i])), ours = test_file_read(f->path);
    assert_int_equal(theirs.size_bytes, ours.size_bytes);
    assert_memory_equal(theirs.data, ours.data, ours.size_bytes);
    assay_tensor_reset(&t);
    assay_buf_reset(&theirs);
    assay_buf_reset(&ours);
  }
}

static void types_that_are_not_held_are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *file, *descr, *words;
  } rows[] = {
      {"S.npy", "|S3", "'|S3': byte strings"},
      {"U.npy", "<U3", "'<U3': strings"},
      {"dt64.npy", "<M8[D]", "'<M8[D]': dates"},
      {"longdouble.npy", "<f16", "'<f16': long double"},
      {"obj.npy", "|O", "'|O': pickled Python objects, which are never read"},
      {"struct.npy", "[('x', '<i4'), ('y', '<f8')]", "a structured type"},
      {"struct_sub.npy", "[('x', '<i4', (2,)), ('y', '<f8", "a structured type"},
      {"void.npy", "|V5", "'|V5': raw bytes (numpy saves bfloat16 so)"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_tensor t = {0};
    assay_error err = {0};
    assay_status st = assay_npy_read(data_path(rows[i].file), NULL, &t, &err);
    expect(st, &err, ASSAY_E_UNSUPPORTED, rows[i].words, rows[i].file);
    assay_npz_entry_info *list = NULL;
    size_t n = 0;
    assert_int_equal(assay_npz_list(data_path(rows[i].file), &list, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 1);
    assert_string_equal(list[0].descr, rows[i].descr);
    assert_int_equal(list[0].dtype, ASSAY_DTYPE_NONE);
    assay_npz_list_destroy(list, n);
  }
}

static const char *const archives[] = {
    "stored.npz",    "positional.npz",        "deflate.npz",
    "none.npz",      "stored_np22_py313.npz", "deflate_np22_py313.npz",
    "fortran_be.npz"};

static void numpys_archives_are_read(void **state) {
  (void)state;
  static const struct {
    const char *file;
    size_t n;
    const char *name;
    assay_dtype dtype;
    size_t n_elems;
    double first, last;
  } rows[] = {
      {"stored.npz", 3, "x", ASSAY_DTYPE_F32, 6, 0, 5},
      {"stored.npz", 3, "y", ASSAY_DTYPE_I64, 3, 0, 2},
      {"stored.npz", 3, "a/b", ASSAY_DTYPE_F64, 1, 1, 1},
      {"stored_np22_py313.npz", 3, "a/b", ASSAY_DTYPE_F64, 1, 1, 1},
      {"positional.npz", 2, "arr_1", ASSAY_DTYPE_F32, 6, 0, 5},
      {"deflate.npz", 2, "x", ASSAY_DTYPE_F32, 6, 0, 5},
      {"deflate_np22_py313.npz", 2, "z", ASSAY_DTYPE_F64, 1000, 0, 0},
      {"fortran_be.npz", 2, "f", ASSAY_DTYPE_F32, 24, -12, 11},
      {"fortran_be.npz", 2, "caf\xc3\xa9", ASSAY_DTYPE_BOOL, 2, 1, 0},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_tensor_map map = {0};
    assay_error err = {0};
    if (assay_npz_read(data_path(rows[i].file), NULL, &map, &err)) fail_msg("%s", err.text);
    assert_int_equal(map.n, rows[i].n);
    const assay_tensor *t = assay_tensor_map_find(&map, rows[i].name);
    assert_non_null(t);
    assert_int_equal(t->dtype, rows[i].dtype);
    assert_int_equal(t->n_elems, rows[i].n_elems);
    assert_true(assay_tensor_get_real(t, 0) == rows[i].first);
    assert_true(assay_tensor_get_real(t, t->n_elems - 1) == rows[i].last);
    assay_tensor_map_reset(&map);
  }
  assay_tensor_map map = {0};
  assert_int_equal(assay_npz_read(DATA "none.npz", NULL, &map, NULL), ASSAY_OK);
  assert_int_equal(map.n, 0);
  assay_tensor_map_reset(&map);
}

static void an_archive_is_listed_from_its_headers(void **state) {
  (void)state;
  assay_npz_entry_info *list = NULL;
  size_t n = 0;
  assert_int_equal(assay_npz_list(DATA "fortran_be.npz", &list, &n, NULL), ASSAY_OK);
  assert_int_equal(n, 2);
  assert_string_equal(list[0].name, "f");
  assert_string_equal(list[0].descr, ">f4");
  assert_true(list[0].fortran_order && !list[0].compressed);
  assert_int_equal(list[0].rank, 3);
  assert_int_equal(list[0].dims[2], 4);
  assert_int_equal(list[0].size_bytes, 96);
  assay_npz_list_destroy(list, n);
  assert_int_equal(assay_npz_list(DATA "deflate.npz", &list, &n, NULL), ASSAY_OK);
  assert_true(list[1].compressed);
  assay_npz_list_destroy(list, n);
  assert_int_equal(assay_npz_list(DATA "none.npz", &list, &n, NULL), ASSAY_OK);
  assert_int_equal(n, 0);
  assay_npz_list_destroy(list, n);
  assay_npz_list_destroy(NULL, 0);
}

static void one_array_is_read_by_its_name(void **state) {
  (void)state;
  assay_tensor t = {0};
  assay_error err = {0};
  assert_int_equal(assay_npz_read_array(DATA "stored.npz", "a/b", NULL, &t, NULL), ASSAY_OK);
  assert_int_equal(t.dtype, ASSAY_DTYPE_F64);
  assay_tensor_reset(&t);
  expect(assay_npz_read_array(DATA "stored.npz", "a/b.npy", NULL, &t, &err), &err, ASSAY_E_ARGUMENT,
         "no array is named 'a/b.npy'", "name");
}

static void bytes_behind_a_bare_array_are_counted(void **state) {
  fixture *f = *state;
  assay_buf bytes = test_file_read(DATA "c_f4.npy");
  assert_int_equal(assay_buf_append_text(&bytes, "extra", NULL), ASSAY_OK);
  assert_int_equal(assay_file_write(f->path, bytes.data, bytes.size_bytes, NULL), ASSAY_OK);
  assay_buf_reset(&bytes);
  assay_tensor t = {0};
  assay_npz_entry_info *list = NULL;
  size_t n = 0;
  assert_int_equal(assay_npy_read(f->path, NULL, &t, NULL), ASSAY_OK);
  assert_int_equal(assay_npz_list(f->path, &list, &n, NULL), ASSAY_OK);
  assert_int_equal(list[0].extra_bytes, 5);
  assay_tensor_reset(&t);
  assay_npz_list_destroy(list, n);
}

static void the_other_kind_of_file_is_named(void **state) {
  (void)state;
  assay_tensor t = {0};
  assay_tensor_map map = {0};
  assay_error err = {0};
  expect(assay_npz_read(DATA "c_f4.npy", NULL, &map, &err), &err, ASSAY_E_FORMAT,
         "a .npy file, whose array has no name: expected a .npz archive; save it with numpy.savez",
         "npz");
  err = (assay_error){0};
  expect(assay_npy_read(DATA "stored.npz", NULL, &t, &err), &err, ASSAY_E_FORMAT,
         "a .npz archive: expected a .npy file", "npy");
  err = (assay_error){0};
  expect(assay_npz_read(DATA "README.md", NULL, &map, &err), &err, ASSAY_E_FORMAT,
         "not a zip archive", "text");
  err = (assay_error){0};
  expect(assay_npy_read(DATA "README.md", NULL, &t, &err), &err, ASSAY_E_FORMAT, "not a .npy file",
         "text");
  err = (assay_error){0};
  expect(assay_npz_read("testdata", NULL, &map, &err), &err, ASSAY_E_IO, "is a folder", "folder");
}

/* ---- headers ------------------------------------------------------------------------------------
 */

/* A version 1 file: this header text, then n_data bytes of value 1. */
static assay_buf make_npy(const char *text, size_t n_data) {
  assay_buf out = {0};
  size_t n = strlen(text);
  uint8_t prefix[10] = "\x93NUMPY\x01";
  prefix[8] = (uint8_t)(n & 0xff);
  prefix[9] = (uint8_t)(n >> 8);
  assert_int_equal(assay_buf_append(&out, prefix, 10, NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&out, text, NULL), ASSAY_OK);
  for (size_t i = 0; i < n_data; i++)
    assert_int_equal(assay_buf_append(&out, "\1", 1, NULL), ASSAY_OK);
  return out;
}

static void headers_need_not_look_as_numpys_do(void **state) {
  (void)state;
  static const struct {
    const char *text;
    assay_dtype dtype;
    int rank;
  } rows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", ASSAY_DTYPE_F32, 2},
      {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}", ASSAY_DTYPE_F32, 2},
      {"{'shape': (6,), 'fortran_order': True, 'descr': \"<f4\"}  \n", ASSAY_DTYPE_F32, 1},
      {" \t{ 'shape' : ( 2L , 3 , ) , 'descr' : 'f4' , 'fortran_order' : True , } \r\n",
       ASSAY_DTYPE_F32, 2},
      {"{'descr': '=f4', 'fortran_order': False, 'shape': (6,)}", ASSAY_DTYPE_F32, 1},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}", ASSAY_DTYPE_F32, 1},
      {"{'descr': 'f', 'fortran_order': False, 'shape': (6,)}", ASSAY_DTYPE_F32, 1},
      {"{'descr': 'float32', 'fortran_order': False, 'shape': (6,)}", ASSAY_DTYPE_F32, 1},
      {"{'descr': '<\\x66\\u0034', 'fortran_order': False, 'shape': (6,)}", ASSAY_DTYPE_F32, 1},
      {"{'descr': '?', 'fortran_order': False, 'shape': (24,)}", ASSAY_DTYPE_BOOL, 1},
      {"{'descr': '>b1', 'fortran_order': False, 'shape': (24,)}", ASSAY_DTYPE_BOOL, 1},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", ASSAY_DTYPE_C64, 1},
      {"{'descr': '<u4', 'fortran_order': False, 'shape': (0, 5)}", ASSAY_DTYPE_U32, 2},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", ASSAY_DTYPE_F64, 0},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf bytes = make_npy(rows[i].text, 24);
    assay_tensor t = {0};
    assay_error err = {0};
    if (assay_npy_parse(bytes.data, bytes.size_bytes, "x", &t, &err))
      fail_msg("%s: %s", rows[i].text, err.text);
    assert_int_equal(t.dtype, rows[i].dtype);
    assert_int_equal(t.rank, rows[i].rank);
    assay_tensor_reset(&t);
    assay_buf_reset(&bytes);
  }
}

#define DICT(descr, order, shape)                                                                  \
  "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"

static const struct {
  const char *text;
  assay_status status;
  const char *words;
} wrong_headers[] = {
    {"", ASSAY_E_FORMAT, "expected '{' at byte 10, found its end"},
    {"[]", ASSAY_E_FORMAT, "expected '{' at byte 10, found '['"},
    {"{}", ASSAY_E_FORMAT, "expected the keys 'descr', 'fortran_order' and 'shape'"},
    {"{'descr': '<f4', 'shape': (2,)}", ASSAY_E_FORMAT, "expected the keys"},
    {"{'descr': '<f4', 'shape': (2,), 'shape': (3,), 'fortran_order': False}", ASSAY_E_FORMAT,
     "two keys 'shape'"},
    {"{'x': 1, 'descr': '<f4'}", ASSAY_E_FORMAT, "unknown key 'x'"},
    {DICT("'<f4'", "False", "(2,)") " x", ASSAY_E_FORMAT, "nothing behind '}'"},
    {"{'descr' '<f4'}", ASSAY_E_FORMAT, "expected ':'"},
    {"{'descr': '<f4' 'fortran_order': False}", ASSAY_E_FORMAT, "expected ',' or '}'"},
    {"{,}", ASSAY_E_FORMAT, "expected a string"},
    {DICT("b'<f4'", "False", "(2,)"), ASSAY_E_FORMAT, "expected a string"},
    {DICT("'<' 'f4'", "False", "(2,)"), ASSAY_E_FORMAT, "expected ',' or '}'"},
    {DICT("'<f4", "False", "(2,)"), ASSAY_E_FORMAT, "',' or '}'"},
    {"{'descr': '<f4", ASSAY_E_FORMAT, "expected the end of a string"},
    {DICT("'\\q'", "False", "(2,)"), ASSAY_E_FORMAT, "after a backslash"},
    {DICT("'\\x4'", "False", "(2,)"), ASSAY_E_FORMAT, "expected a hexadecimal digit"},
    {DICT("'<f4'", "0", "(2,)"), ASSAY_E_FORMAT, "expected True or False"},
    {DICT("'<f4'", "false", "(2,)"), ASSAY_E_FORMAT, "expected True or False"},
    {DICT("'<f4'", "False", "(2)"), ASSAY_E_FORMAT, "expected ',' in the shape"},
    {DICT("'<f4'", "False", "[2]"), ASSAY_E_FORMAT, "expected a shape in parentheses"},
    {DICT("'<f4'", "False", "2"), ASSAY_E_FORMAT, "expected a shape in parentheses"},
    {DICT("'<f4'", "False", "(,)"), ASSAY_E_FORMAT, "expected an integer"},
    {DICT("'<f4'", "False", "(2,,3)"), ASSAY_E_FORMAT, "expected an integer"},
    {DICT("'<f4'", "False", "(2 3)"), ASSAY_E_FORMAT, "expected ',' in the shape"},
    {DICT("'<f4'", "False", "(-2,)"), ASSAY_E_FORMAT, "expected a dimension of 0 or more"},
    {DICT("'<f4'", "False", "(+2,)"), ASSAY_E_FORMAT, "expected an integer"},
    {DICT("'<f4'", "False", "(1_0,)"), ASSAY_E_FORMAT, "',' in the shape"},
    {DICT("'<f4'", "False", "(0x2,)"), ASSAY_E_FORMAT, "',' in the shape"},
    {DICT("'<f4'", "False", "(02,)"), ASSAY_E_FORMAT, "leading zeros"},
    {DICT("'<f4'", "False", "(2.0,)"), ASSAY_E_FORMAT, "',' in the shape"},
    {DICT("'<f4'", "False", "(9223372036854775808,)"), ASSAY_E_FORMAT, "an integer below 2^63"},
    {DICT("'<f4'", "False", "(9223372036854775807,)"), ASSAY_E_LIMIT, "too many"},
    {DICT("'<f4'", "False", "(4294967296, 4294967296)"), ASSAY_E_LIMIT, "too many elements"},
    {DICT("'<f4'", "False", "(0, 4294967296, 4294967296)"), ASSAY_E_FORMAT, ""},
    {DICT("'<f4'", "False", "(0, 4611686018427387904)"), ASSAY_E_LIMIT, "too many elements"},
    {DICT("'<f4'", "False", "(7,)"), ASSAY_E_FORMAT,
     "truncated: expected 28 bytes of data, found 24"},
    {DICT("'<f4'", "False", "(2, 3"), ASSAY_E_FORMAT, "',' in the shape"},
    {DICT("'<x4'", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "'<x4': a type that assay does not know"},
    {DICT("''", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "'': a type that assay does not know"},
    {DICT("'<f16'", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "long double"},
    {DICT("'bfloat16'", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "'bfloat16'"},
    {DICT("'string'", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "'string'"},
    {DICT("'|O'", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "pickled"},
    {DICT("[('a', '<f4')]", "False", "(2,)"), ASSAY_E_UNSUPPORTED, "structured"},
    {DICT("[('a', '<f4'", "False", "(2,)"), ASSAY_E_FORMAT, "',' or the end of a list"},
    {DICT("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "False", "(2,)"), ASSAY_E_FORMAT, "nested"},
    {DICT("'?'", "False", "(23,)"), ASSAY_E_FORMAT, ""},
};

static void wrong_headers_are_refused_with_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(wrong_headers); i++) {
    assay_buf bytes = make_npy(wrong_headers[i].text, 24);
    bytes.data[bytes.size_bytes - 2] = 2; /* no bool */
    assay_tensor t = {0};
    assay_error err = {0};
    assay_status st = assay_npy_parse(bytes.data, bytes.size_bytes, "x", &t, &err);
    bool is_empty = strstr(wrong_headers[i].text, "(0, 4294967296, 4294967296)") != NULL;
    if (is_empty) { /* dimensions up to 2^40 beside a 0 are believed */
      assert_int_equal(st, ASSAY_OK);
    } else {
      expect(st, &err, wrong_headers[i].status, wrong_headers[i].words, wrong_headers[i].text);
    }
    assert_null(t.data);
    assay_buf_reset(&bytes);
  }
}

static void many_dimensions_are_read_up_to_numpys_limit(void **state) {
  (void)state;
  for (int rank = 64; rank <= 65; rank++) {
    char text[512] = "{'descr': '|u1', 'fortran_order': True, 'shape': (";
    for (int i = 0; i < rank; i++) strcat(text, "1,");
    strcat(text, ")}");
    assay_buf bytes = make_npy(text, 1);
    assay_tensor t = {0};
    assay_error err = {0};
    assay_status st = assay_npy_parse(bytes.data, bytes.size_bytes, "x", &t, &err);
    if (rank == 64)
      assert_int_equal(st, ASSAY_OK);
    else
      expect(st, &err, ASSAY_E_FORMAT, "more than 64 dimensions", "65");
    assay_tensor_reset(&t);
    assay_buf_reset(&bytes);
  }
}

static void preambles_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    assay_status status;
    const char *words;
  } rows[] = {
      {"", 0, ASSAY_E_FORMAT, "'x': the .npy file is empty"},
      {"\x93NUM", 4, ASSAY_E_FORMAT, "truncated .npy header"},
      {"\x93NUMPY", 6, ASSAY_E_FORMAT, "truncated .npy header"},
      {"\x93NUMPY\1\0\1", 9, ASSAY_E_FORMAT, "truncated .npy header"},
      {"\x93NUMPY\2\0\1\0\0", 11, ASSAY_E_FORMAT, "truncated .npy header"},
      {"\x93NUMPY\1\1\0\0", 10, ASSAY_E_UNSUPPORTED, ".npy version 1.1: expected 1.0, 2.0 or 3.0"},
      {"\x93NUMPY\4\0\0\0\0\0", 12, ASSAY_E_UNSUPPORTED, ".npy version 4.0"},
      {"\x93NUMPY\0\0\0\0\0\0", 12, ASSAY_E_UNSUPPORTED, ".npy version 0.0"},
      {"\x93NUMPY\1\0\xff\xff", 10, ASSAY_E_FORMAT, "takes 65545 bytes, found 10"},
      {"\x93NUMPY\2\0\0\0\x10\0", 12, ASSAY_E_FORMAT, "takes 1048588 bytes, found 12"},
      {"\x93NUMPY\2\0\1\0\x10\0", 12, ASSAY_E_LIMIT, "a .npy header of 1048577 bytes"},
      {"\x93NUMPY\3\0\1\0\0\0\xff", 13, ASSAY_E_FORMAT, "not UTF-8"},
      {"NUMPY", 5, ASSAY_E_FORMAT, "not a .npy file"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_tensor t = {0};
    assay_error err = {0};
    assay_status st = assay_npy_parse(rows[i].bytes, rows[i].n, "x", &t, &err);
    expect(st, &err, rows[i].status, rows[i].words, rows[i].words);
  }
}

/* ---- hostile files ------------------------------------------------------------------------------
 */

static void an_array_cut_anywhere_is_refused(void **state) {
  (void)state;
  assay_names names = {0};
  assert_int_equal(assay_folder_list("testdata/npz", &names, NULL), ASSAY_OK);
  size_t n_files = 0;
  for (size_t i = 0; i < names.n; i++) {
    if (strstr(names.items[i], ".npy") == NULL) continue;
    assay_buf bytes = test_file_read(data_path(names.items[i]));
    for (size_t n = 0; n < bytes.size_bytes; n++) {
      /* In a block of its own size, so that a sanitizer sees a byte too far. */
      uint8_t *cut = malloc(n + 1);
      memcpy(cut, bytes.data, n);
      cut = realloc(cut, n ? n : 1);
      assay_tensor t = {0};
      assay_error err = {0};
      assay_status st = assay_npy_parse(cut, n, "x", &t, &err);
      free(cut);
      bool right = st == ASSAY_E_FORMAT || (st == ASSAY_E_UNSUPPORTED && n > 64);
      if (!right)
        fail_msg("%s cut at %zu: %s: %s", names.items[i], n, assay_status_name(st), err.text);
    }
    assay_buf_reset(&bytes);
    n_files++;
  }
  assay_names_reset(&names);
  assert_true(n_files > 25);
}

static void an_archive_cut_anywhere_is_refused(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < N_OF(archives); i++) {
    assay_buf bytes = test_file_read(data_path(archives[i]));
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    for (size_t n = 0; n < bytes.size_bytes; n++) {
      assay_tensor_map map = {0};
      assay_error err = {0};
      assay_status st = assay_npz_read(f->path, NULL, &map, &err);
      if (st != ASSAY_E_FORMAT)
        fail_msg("%s cut at %zu: %s: %s", archives[i], n, assay_status_name(st), err.text);
      assert_int_equal(map.n, 0);
      assert_int_equal(fwrite(bytes.data + n, 1, 1, file), 1);
      assert_int_equal(fflush(file), 0);
    }
    fclose(file);
    assay_buf_reset(&bytes);
  }
}

/* Data are under the CRC and so every changed byte of them is seen; of the rest nothing may do
 * harm. */
static void any_changed_byte_of_an_archive_is_refused_or_harmless(void **state) {
  fixture *f = *state;
  for (size_t i = 0; i < N_OF(archives); i++) {
    assay_buf bytes = test_file_read(data_path(archives[i]));
    for (size_t at = 0; at < bytes.size_bytes; at++) {
      bytes.data[at] ^= 0x55;
      FILE *file = fopen(f->path, "wb");
      assert_int_equal(fwrite(bytes.data, 1, bytes.size_bytes, file), bytes.size_bytes);
      fclose(file);
      bytes.data[at] ^= 0x55;
      assay_tensor_map map = {0};
      assay_error err = {0};
      assay_status st = assay_npz_read(f->path, NULL, &map, &err);
      bool known = st == ASSAY_OK || st == ASSAY_E_FORMAT || st == ASSAY_E_UNSUPPORTED ||
                   st == ASSAY_E_LIMIT;
      if (!known) fail_msg("%s byte %zu: %s", archives[i], at, err.text);
      assay_tensor_map_reset(&map);
    }
    assay_buf_reset(&bytes);
  }
}

/* An archive whose one member is these bytes. */
static void write_member(const char *path, const char *name, const assay_buf *bytes) {
  assay_zip_writer *writer = NULL;
  assert_int_equal(assay_zip_writer_open(path, &writer, NULL), ASSAY_OK);
  assert_int_equal(
      assay_zip_writer_add(writer, name, bytes->data, bytes->size_bytes, NULL, 0, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_writer_commit(writer, NULL), ASSAY_OK);
  assay_zip_writer_close(writer);
}

static void hostile_members_are_refused(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text;
    size_t n_data;
    assay_status status;
    const char *words;
  } rows[] = {
      {DICT("'<f4'", "False", "(2,)"), 7, ASSAY_E_FORMAT, "array 'x': truncated: expected"},
      {DICT("'<f4'", "False", "(2,)"), 9, ASSAY_E_FORMAT,
       "array 'x': bytes behind the array: expected"},
      {DICT("'<f4'", "False", "(1099511627776,)"), 8, ASSAY_E_FORMAT, "array 'x': truncated"},
      {DICT("'<f8'", "False", "(2305843009213693952,)"), 8, ASSAY_E_LIMIT, "array 'x': "},
      {DICT("'|O'", "False", "(2,)"), 8, ASSAY_E_UNSUPPORTED, "array 'x': type '|O': pickled"},
      {DICT("'<f4'", "False", "(-1,)"), 8, ASSAY_E_FORMAT,
       "array 'x': .npy header: expected a dimension"},
      {"", 0, ASSAY_E_FORMAT, "array 'x': .npy header"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf bytes = make_npy(rows[i].text, rows[i].n_data);
    write_member(f->path, "x.npy", &bytes);
    assay_tensor_map map = {0};
    assay_error err = {0};
    expect(assay_npz_read(f->path, NULL, &map, &err), &err, rows[i].status, rows[i].words,
           rows[i].text);
    assert_int_equal(map.n, 0);
    assay_buf_reset(&bytes);
  }
  assay_buf not_npy = {0};
  assert_int_equal(assay_buf_append_text(&not_npy, "hello", NULL), ASSAY_OK);
  assay_tensor_map map = {0};
  assay_error err = {0};
  write_member(f->path, "readme.txt", &not_npy); /* no array: ignored, as by numpy */
  assert_int_equal(assay_npz_read(f->path, NULL, &map, NULL), ASSAY_OK);
  assert_int_equal(map.n, 0);
  assay_tensor_map_reset(&map);
  write_member(f->path, "x.npy", &not_npy);
  expect(assay_npz_read(f->path, NULL, &map, &err), &err, ASSAY_E_FORMAT,
         "array 'x': not a .npy file", "text");
  assay_buf_reset(&not_npy);
}

static void a_long_header_is_read_in_an_archive(void **state) {
  fixture *f = *state;
  char text[3000];
  snprintf(text, sizeof text, "%s%*s", DICT("'|u1'", "False", "(3,)"), 2000, "\n");
  assay_buf bytes = make_npy(text, 3);
  write_member(f->path, "x.npy", &bytes);
  assay_tensor_map map = {0};
  assert_int_equal(assay_npz_read(f->path, NULL, &map, NULL), ASSAY_OK);
  assert_memory_equal(assay_tensor_map_find(&map, "x")->data, "\1\1\1", 3);
  assay_tensor_map_reset(&map);
  assay_buf_reset(&bytes);
}

static void limits_hold_before_anything_is_allocated(void **state) {
  (void)state;
  assay_tensor_map map = {0};
  assay_tensor t = {0};
  assay_error err = {0};
  assay_npz_limits small = {.max_array_bytes = 7999};
  expect(assay_npz_read(DATA "deflate.npz", &small, &map, &err), &err, ASSAY_E_LIMIT,
         "array 'z': an array of 8000 bytes: the limit is 7999", "array");
  err = (assay_error){0};
  small = (assay_npz_limits){.max_total_bytes = 8023};
  expect(assay_npz_read(DATA "deflate.npz", &small, &map, &err), &err, ASSAY_E_LIMIT,
         "array 'z': arrays of more than 8023 bytes in all", "total");
  small.max_total_bytes = 8024;
  assert_int_equal(assay_npz_read(DATA "deflate.npz", &small, &map, NULL), ASSAY_OK);
  assay_tensor_map_reset(&map);
  small = (assay_npz_limits){.max_array_bytes = 23};
  err = (assay_error){0};
  expect(assay_npy_read(DATA "c_f4.npy", &small, &t, &err), &err, ASSAY_E_LIMIT, "24 bytes", "npy");
}

/* ---- memory -------------------------------------------------------------------------------------
 */

static assay_status read_npz(const char *path, const char *other, assay_error *err) {
  (void)other;
  assay_tensor_map map = {0};
  assay_status st = assay_npz_read(path, NULL, &map, err);
  assay_tensor_map_reset(&map);
  return st;
}

static assay_status read_npy(const char *path, const char *other, assay_error *err) {
  (void)other;
  assay_tensor t = {0};
  assay_status st = assay_npy_read(path, NULL, &t, err);
  assay_tensor_reset(&t);
  return st;
}

static assay_status list_npz(const char *path, const char *other, assay_error *err) {
  (void)other;
  assay_npz_entry_info *list = NULL;
  size_t n = 0;
  assay_status st = assay_npz_list(path, &list, &n, err);
  assay_npz_list_destroy(list, n);
  return st;
}

static assay_status copy_npz(const char *path, const char *other, assay_error *err) {
  assay_tensor_map map = {0};
  assay_status st = assay_npz_read(path, NULL, &map, err);
  if (!st) st = assay_npz_write(other, &map, err);
  assay_tensor_map_reset(&map);
  return st;
}

static assay_status copy_npy(const char *path, const char *other, assay_error *err) {
  assay_tensor t = {0};
  assay_status st = assay_npy_read(path, NULL, &t, err);
  if (!st) st = assay_npy_write(other, &t, err);
  assay_tensor_reset(&t);
  return st;
}

static void running_out_of_memory_is_said_at_each_step(void **state) {
  fixture *f = *state;
  static const struct {
    const char *file;
    assay_status (*call)(const char *path, const char *other, assay_error *err);
  } rows[] = {{"stored.npz", read_npz}, {"deflate.npz", read_npz}, {"fortran_be.npz", read_npz},
              {"f3_i2.npy", read_npy},  {"stored.npz", list_npz},  {"c_f4.npy", list_npz},
              {"stored.npz", copy_npz}, {"c_f4.npy", copy_npy}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_status st = ASSAY_E_MEMORY;
    int n = 0;
    for (; n < 500 && st; n++) {
      assay_error err = {0};
      assay_alloc_fail_after(n);
      st = rows[i].call(data_path(rows[i].file), f->path, &err);
      assay_alloc_fail_after(-1);
      if (st && st != ASSAY_E_MEMORY) fail_msg("%s step %d: %s", rows[i].file, n, err.text);
      if (st) assert_int_equal(test_folder_count(&f->folder), 0);
    }
    if (st) fail_msg("%s: never succeeded", rows[i].file);
    assert_true(n > 2);
    assert_int_equal(assay_folder_remove(f->path, NULL), ASSAY_OK); /* the copy, if one was made */
  }
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void archives_come_back_and_are_the_same_each_time(void **state) {
  fixture *f = *state;
  char other[1024];
  snprintf(other, sizeof other, "%s/b", f->folder.path);
  for (size_t i = 0; i < N_OF(archives); i++) {
    assay_tensor_map map = {0}, back = {0};
    assert_int_equal(assay_npz_read(data_path(archives[i]), NULL, &map, NULL), ASSAY_OK);
    assert_int_equal(assay_npz_write(f->path, &map, NULL), ASSAY_OK);
    assert_int_equal(assay_npz_write(other, &map, NULL), ASSAY_OK);
    assay_buf a = test_file_read(f->path), b = test_file_read(other);
    assert_int_equal(a.size_bytes, b.size_bytes);
    assert_memory_equal(a.data, b.data, a.size_bytes);
    assert_int_equal(assay_npz_read(f->path, NULL, &back, NULL), ASSAY_OK);
    assert_int_equal(back.n, map.n);
    for (size_t k = 0; k < map.n; k++) {
      const assay_tensor *t = &map.items[k].tensor, *u = &back.items[k].tensor;
      assert_string_equal(map.items[k].name, back.items[k].name);
      assert_int_equal(t->dtype, u->dtype);
      assert_true(assay_tensor_same_shape(t, u));
      assert_memory_equal(t->data, u->data, t->size_bytes);
    }
    assay_buf_reset(&a);
    assay_buf_reset(&b);
    assay_tensor_map_reset(&map);
    assay_tensor_map_reset(&back);
  }
}

/* The members of stored.npz as numpy wrote them are in our copy, byte for byte. */
static void members_are_the_bytes_that_numpy_writes(void **state) {
  fixture *f = *state;
  assay_tensor_map map = {0};
  assert_int_equal(assay_npz_read(DATA "stored.npz", NULL, &map, NULL), ASSAY_OK);
  assert_int_equal(assay_npz_write(f->path, &map, NULL), ASSAY_OK);
  assay_tensor_map_reset(&map);
  assay_zip *theirs = NULL, *ours = NULL;
  assert_int_equal(assay_zip_open(DATA "stored.npz", &theirs, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_open(f->path, &ours, NULL), ASSAY_OK);
  assert_int_equal(assay_zip_count(ours), assay_zip_count(theirs));
  for (size_t i = 0; i < assay_zip_count(ours); i++) {
    uint8_t a[512], b[512];
    assert_int_equal(assay_zip_at(ours, i)->size_bytes, assay_zip_at(theirs, i)->size_bytes);
    assert_int_equal(assay_zip_read(ours, i, a, NULL), ASSAY_OK);
    assert_int_equal(assay_zip_read(theirs, i, b, NULL), ASSAY_OK);
    assert_memory_equal(a, b, assay_zip_at(ours, i)->size_bytes);
  }
  assay_zip_close(ours);
  assay_zip_close(theirs);
}

static void what_cannot_be_written_leaves_nothing(void **state) {
  fixture *f = *state;
  assay_tensor t = {0};
  assay_error err = {0};
  assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_BF16, 0, NULL, NULL), ASSAY_OK);
  expect(assay_npy_write(f->path, &t, &err), &err, ASSAY_E_UNSUPPORTED, "no type for bfloat16",
         "bf16");
  assay_tensor_reset(&t);
  static const char *const names[] = {"../x", "a\\b", "/x"};
  for (size_t i = 0; i < N_OF(names); i++) {
    assay_tensor_map map = {0};
    err = (assay_error){0};
    assert_int_equal(assay_tensor_init(&t, ASSAY_DTYPE_F32, 0, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&map, names[i], &t, NULL), ASSAY_OK);
    expect(assay_npz_write(f->path, &map, &err), &err, ASSAY_E_ARGUMENT, names[i], names[i]);
    assay_tensor_map_reset(&map);
  }
  assert_int_equal(test_folder_count(&f->folder), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
  const struct CMUnitTest tests[] = {
      TEST(numpys_arrays_are_read_and_written_the_same),
      TEST(bools_and_complex_numbers_are_read),
      TEST(types_that_are_not_held_are_refused_by_name),
      TEST(numpys_archives_are_read),
      TEST(an_archive_is_listed_from_its_headers),
      TEST(one_array_is_read_by_its_name),
      TEST(bytes_behind_a_bare_array_are_counted),
      TEST(the_other_kind_of_file_is_named),
      TEST(headers_need_not_look_as_numpys_do),
      TEST(wrong_headers_are_refused_with_their_place),
      TEST(many_dimensions_are_read_up_to_numpys_limit),
      TEST(preambles_are_checked),
      TEST(an_array_cut_anywhere_is_refused),
      TEST(an_archive_cut_anywhere_is_refused),
      TEST(any_changed_byte_of_an_archive_is_refused_or_harmless),
      TEST(hostile_members_are_refused),
      TEST(a_long_header_is_read_in_an_archive),
      TEST(limits_hold_before_anything_is_allocated),
      TEST(running_out_of_memory_is_said_at_each_step),
      TEST(archives_come_back_and_are_the_same_each_time),
      TEST(members_are_the_bytes_that_numpy_writes),
      TEST(what_cannot_be_written_leaves_nothing),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
