/* The .npy format, in memory. The header is a Python dict literal; of that language exactly the
 * grammar of npz.md section 1 is read here. Nothing is evaluated, and pickled objects are never
 * looked at. */
#include "package/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define MAGIC            "\x93NUMPY"
#define MAGIC_BYTES      6
#define HEADER_MAX_BYTES ((size_t)1 << 20) /* numpy's structured types reach 76 KB (npz.md) */
#define NESTING_MAX      32                /* of lists and tuples in a structured descr */
#define STRING_MAX       64                /* a key, or a descr that could name a type of ours */

/* ---- preamble -----------------------------------------------------------------------------------
 */

bool assay_npy_is_magic(const void *bytes, size_t size_bytes) {
  return size_bytes >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
}

assay_status assay_npy_header_size(const void *bytes, size_t size_bytes, size_t *out,
                                   assay_error *err) {
  const uint8_t *p = bytes;
  if (size_bytes == 0) return assay_fail(err, ASSAY_E_FORMAT, "the .npy file is empty");
  if (!assay_npy_is_magic(bytes, size_bytes)) {
    bool is_cut = size_bytes < MAGIC_BYTES && memcmp(bytes, MAGIC, size_bytes) == 0;
    return assay_fail(err, ASSAY_E_FORMAT, is_cut ? "truncated .npy header" : "not a .npy file");
  }
  if (size_bytes < MAGIC_BYTES + 2) return assay_fail(err, ASSAY_E_FORMAT, "truncated .npy header");
  int major = p[6], minor = p[7];
  if (major < 1 || major > 3 || minor != 0) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, ".npy version %d.%d: expected 1.0, 2.0 or 3.0",
                      major, minor);
  }
  size_t prefix = major == 1 ? 10 : 12;
  if (size_bytes < prefix) return assay_fail(err, ASSAY_E_FORMAT, "truncated .npy header");
  size_t text_bytes = (size_t)p[8] | (size_t)p[9] << 8;
  if (major > 1) text_bytes |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  if (text_bytes > HEADER_MAX_BYTES) {
    return assay_fail(err, ASSAY_E_LIMIT, "a .npy header of %zu bytes: the limit is %zu",
                      text_bytes, HEADER_MAX_BYTES);
  }
  *out = prefix + text_bytes;
  return ASSAY_OK;
}

/* ---- literals -----------------------------------------------------------------------------------
 */

typedef struct cursor {
  const uint8_t
      *text; /* borrowed: the whole header, preamble included, so that `at` is an offset */
  size_t end;
  size_t at;
} cursor;

static assay_status fail_at(const cursor *c, const char *expected, assay_error *err) {
  if (c->at >= c->end) {
    return assay_fail(err, ASSAY_E_FORMAT, ".npy header: expected %s at byte %zu, found its end",
                      expected, c->at);
  }
  char found[2] = {(char)c->text[c->at], '\0'};
  return assay_fail(err, ASSAY_E_FORMAT, ".npy header: expected %s at byte %zu, found '%s'",
                    expected, c->at, found);
}

/* The next character, or -1 at the end. */
static int peek(const cursor *c) {
  return c->at < c->end ? c->text[c->at] : -1;
}

static void skip_space(cursor *c) {
  for (int ch = peek(c); ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r'; ch = peek(c)) c->at++;
}

/* Takes the character if it is next, with the space before it. */
static bool take(cursor *c, char wanted) {
  skip_space(c);
  if (peek(c) != (unsigned char)wanted) return false;
  c->at++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  if (c->end - c->at < n || memcmp(c->text + c->at, word, n) != 0) return false;
  c->at += n;
  return true;
}

static int hex_value(int ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
  if (ch >= 'A' && ch <= 'F') return ch - 'A' + 10;
  return -1;
}

/* The n_digits of \xHH or \uHHHH, as a code point. */
static assay_status read_hex(cursor *c, int n_digits, uint32_t *out, assay_error *err) {
  uint32_t point = 0;
  for (int i = 0; i < n_digits; i++) {
    int value = hex_value(peek(c));
    if (value < 0) return fail_at(c, "a hexadecimal digit", err);
    point = point * 16 + (uint32_t)value;
    c->at++;
  }
  *out = point;
  return ASSAY_OK;
}

/* The character after a backslash. */
static assay_status read_escape(cursor *c, uint32_t *out, assay_error *err) {
  int ch = peek(c);
  switch (ch) {
  case '\\':
  case '\'':
  case '"':
    *out = (uint32_t)ch;
    break;
  case 'n':
    *out = '\n';
    break;
  case 't':
    *out = '\t';
    break;
  case 'x':
    c->at++;
    return read_hex(c, 2, out, err);
  case 'u':
    c->at++;
    return read_hex(c, 4, out, err);
  default:
    return fail_at(c, "one of \\ ' \" n t x u after a backslash", err);
  }
  c->at++;
  return ASSAY_OK;
}

/* A string in either kind of quotes. Characters that are no ASCII become '?' in out and what does
 * not fit is dropped: no key and no type that we know has either. */
static assay_status read_string(cursor *c, char out[STRING_MAX], assay_error *err) {
  skip_space(c);
  int quote = peek(c);
  if (quote != '\'' && quote != '"') return fail_at(c, "a string", err);
  c->at++;
  size_t n = 0;
  for (int ch = peek(c); ch != quote; ch = peek(c)) {
    uint32_t point = (uint32_t)ch;
    if (ch < 0 || ch == '\n') return fail_at(c, "the end of a string", err);
    c->at++;
    if (ch == '\\') ASSAY_TRY(read_escape(c, &point, err));
    if (n < STRING_MAX - 1) out[n++] = point > 0 && point < 0x80 ? (char)point : '?';
  }
  c->at++;
  out[n] = '\0';
  return ASSAY_OK;
}

/* A decimal integer in [0, 2^63), with the "L" that Python 2 wrote behind long ones. */
static assay_status read_int(cursor *c, int64_t *out, assay_error *err) {
  skip_space(c);
  if (peek(c) == '-') return fail_at(c, "a dimension of 0 or more", err);
  if (peek(c) < '0' || peek(c) > '9') return fail_at(c, "an integer", err);
  bool leads_with_zero = peek(c) == '0';
  int64_t value = 0;
  size_t start = c->at;
  for (int ch = peek(c); ch >= '0' && ch <= '9'; ch = peek(c)) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, ch - '0', &value)) {
      c->at = start;
      return fail_at(c, "an integer below 2^63", err);
    }
    c->at++;
  }
  if (leads_with_zero && c->at > start + 1) {
    c->at = start;
    return fail_at(c, "an integer without leading zeros", err);
  }
  if (peek(c) == 'L') c->at++;
  *out = value;
  return ASSAY_OK;
}

/* Any string, integer, list or tuple: what a structured type is made of. Only skipped. */
static assay_status skip_value(cursor *c, int nesting, assay_error *err) {
  skip_space(c);
  int ch = peek(c);
  if (ch == '\'' || ch == '"') {
    char ignored[STRING_MAX];
    return read_string(c, ignored, err);
  }
  if (ch != '[' && ch != '(') {
    int64_t ignored;
    return read_int(c, &ignored, err);
  }
  if (nesting >= NESTING_MAX) return fail_at(c, "a type that is not nested so deep", err);
  char close = ch == '[' ? ']' : ')';
  c->at++;
  while (!take(c, close)) {
    ASSAY_TRY(skip_value(c, nesting + 1, err));
    if (take(c, ',')) continue;
    if (!take(c, close)) return fail_at(c, "',' or the end of a list", err);
    break;
  }
  return ASSAY_OK;
}

/* ---- types --------------------------------------------------------------------------------------
 */

typedef struct kind_row {
  const char *kind; /* letter and size */
  assay_dtype dtype;
} kind_row;

/* Without byte order. Letters alone and numpy's names are aliases that numpy takes, too. */
static const kind_row kind_rows[] = {
    {"b1", ASSAY_DTYPE_BOOL}, {"?", ASSAY_DTYPE_BOOL}, {"i1", ASSAY_DTYPE_I8},
    {"u1", ASSAY_DTYPE_U8},   {"i2", ASSAY_DTYPE_I16}, {"u2", ASSAY_DTYPE_U16},
    {"i4", ASSAY_DTYPE_I32},  {"u4", ASSAY_DTYPE_U32}, {"i8", ASSAY_DTYPE_I64},
    {"u8", ASSAY_DTYPE_U64},  {"f2", ASSAY_DTYPE_F16}, {"f4", ASSAY_DTYPE_F32},
    {"f8", ASSAY_DTYPE_F64},  {"c8", ASSAY_DTYPE_C64}, {"c16", ASSAY_DTYPE_C128},
    {"e", ASSAY_DTYPE_F16},   {"f", ASSAY_DTYPE_F32},  {"d", ASSAY_DTYPE_F64},
};

/* Letters of types that numpy has and assay does not hold, with what to say of them. */
static const struct {
  char letter;
  const char *refusal;
} refused_rows[] = {
    {'O', "pickled Python objects, which are never read: save the array with a number type"},
    {'U', "strings"},
    {'S', "byte strings"},
    {'a', "byte strings"},
    {'V', "raw bytes (numpy saves bfloat16 so): save the array as float32"},
    {'M', "dates: save the array as int64"},
    {'m', "time differences: save the array as int64"},
    {'f', "long double, which is not the same on all machines: save the array as float64"},
    {'c', "complex long double, which is not the same on all machines: save it as complex128"},
};

static const char *refusal_of(char letter) {
  for (size_t i = 0; i < sizeof refused_rows / sizeof refused_rows[0]; i++) {
    if (refused_rows[i].letter == letter) return refused_rows[i].refusal;
  }
  return "a type that assay does not know";
}

static assay_dtype dtype_of_kind(const char *kind) {
  for (size_t i = 0; i < sizeof kind_rows / sizeof kind_rows[0]; i++) {
    if (strcmp(kind_rows[i].kind, kind) == 0) return kind_rows[i].dtype;
  }
  assay_dtype named = assay_dtype_of_name(kind);
  return named == ASSAY_DTYPE_BF16 ? ASSAY_DTYPE_NONE : named;
}

static void set_type(assay_npy_header *header, const char *descr) {
  snprintf(header->descr, sizeof header->descr, "%.*s", (int)sizeof header->descr - 1, descr);
  bool has_order = descr[0] != '\0' && strchr("<>|=", descr[0]) != NULL;
  const char *kind = has_order ? descr + 1 : descr;
  header->is_big_endian = descr[0] == '>';
  header->dtype = dtype_of_kind(kind);
  if (assay_dtype_size(header->dtype) == 0) {
    header->dtype = ASSAY_DTYPE_NONE;
    header->refusal = refusal_of(kind[0]);
  }
}

/* ---- the dict -----------------------------------------------------------------------------------
 */

static assay_status read_descr(cursor *c, assay_npy_header *header, assay_error *err) {
  skip_space(c);
  if (peek(c) != '[') {
    char descr[STRING_MAX];
    ASSAY_TRY(read_string(c, descr, err));
    set_type(header, descr);
    return ASSAY_OK;
  }
  size_t start = c->at;
  ASSAY_TRY(skip_value(c, /*nesting=*/0, err));
  size_t n = c->at - start;
  if (n > sizeof header->descr - 1) n = sizeof header->descr - 1;
  for (size_t i = 0; i < n; i++) {
    uint8_t ch = c->text[start + i];
    header->descr[i] = ch >= 0x20 && ch < 0x7f ? (char)ch : '?';
  }
  header->refusal = "a structured type: save each field as an array of its own";
  return ASSAY_OK;
}

static assay_status read_order(cursor *c, assay_npy_header *header, assay_error *err) {
  skip_space(c);
  if (take_word(c, "True"))
    header->is_fortran_order = true;
  else if (!take_word(c, "False"))
    return fail_at(c, "True or False", err);
  return ASSAY_OK;
}

/* "()" | "(n,)" | "(n, m …[,])"; "(n)" is a number in Python and no shape. */
static assay_status read_shape(cursor *c, assay_npy_header *header, assay_error *err) {
  if (!take(c, '(')) return fail_at(c, "a shape in parentheses", err);
  while (!take(c, ')')) {
    if (header->rank == ASSAY_TENSOR_RANK_MAX) {
      return assay_fail(err, ASSAY_E_FORMAT, ".npy header: more than %d dimensions",
                        ASSAY_TENSOR_RANK_MAX);
    }
    ASSAY_TRY(read_int(c, &header->dims[header->rank++], err));
    if (take(c, ',')) continue;
    if (header->rank < 2 || !take(c, ')')) return fail_at(c, "',' in the shape", err);
    break;
  }
  return ASSAY_OK;
}

enum { KEY_DESCR, KEY_ORDER, KEY_SHAPE, N_KEYS };

static assay_status read_pair(cursor *c, assay_npy_header *header, bool seen[N_KEYS],
                              assay_error *err) {
  static const char *const keys[N_KEYS] = {"descr", "fortran_order", "shape"};
  char key[STRING_MAX];
  ASSAY_TRY(read_string(c, key, err));
  int which = 0;
  while (which < N_KEYS && strcmp(keys[which], key) != 0) which++;
  if (which == N_KEYS) {
    return assay_fail(err, ASSAY_E_FORMAT, ".npy header: unknown key '%s'", key);
  }
  if (seen[which]) return assay_fail(err, ASSAY_E_FORMAT, ".npy header: two keys '%s'", key);
  seen[which] = true;
  if (!take(c, ':')) return fail_at(c, "':'", err);
  if (which == KEY_DESCR) return read_descr(c, header, err);
  if (which == KEY_ORDER) return read_order(c, header, err);
  return read_shape(c, header, err);
}

static assay_status read_dict(cursor *c, assay_npy_header *header, assay_error *err) {
  bool seen[N_KEYS] = {false};
  if (!take(c, '{')) return fail_at(c, "'{'", err);
  while (!take(c, '}')) {
    ASSAY_TRY(read_pair(c, header, seen, err));
    if (take(c, ',')) continue;
    if (!take(c, '}')) return fail_at(c, "',' or '}'", err);
    break;
  }
  skip_space(c);
  if (c->at != c->end) return fail_at(c, "nothing behind '}'", err);
  if (!seen[KEY_DESCR] || !seen[KEY_ORDER] || !seen[KEY_SHAPE]) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      ".npy header: expected the keys 'descr', 'fortran_order' and 'shape'");
  }
  return ASSAY_OK;
}

/* ---- headers ------------------------------------------------------------------------------------
 */

static assay_status count_elems(assay_npy_header *header, assay_error *err) {
  ASSAY_TRY(assay_shape_count(header->dims, header->rank, &header->n_elems, err));
  if (assay_size_mul(header->n_elems, assay_dtype_size(header->dtype), &header->data_bytes)) {
    return ASSAY_OK;
  }
  return assay_fail(err, ASSAY_E_LIMIT, "%zu elements of type '%s' are too many", header->n_elems,
                    header->descr);
}

assay_status assay_npy_header_parse(const void *bytes, size_t size_bytes, assay_npy_header *out,
                                    assay_error *err) {
  assay_npy_header header = {0};
  ASSAY_TRY(assay_npy_header_size(bytes, size_bytes, &header.header_bytes, err));
  if (header.header_bytes > size_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "truncated: the .npy header takes %zu bytes, found %zu",
                      header.header_bytes, size_bytes);
  }
  const uint8_t *text = bytes;
  int major = text[6];
  size_t start = major == 1 ? 10 : 12;
  if (major == 3 && !assay_text_is_utf8((const char *)text + start, header.header_bytes - start)) {
    return assay_fail(err, ASSAY_E_FORMAT, ".npy header of version 3 is not UTF-8");
  }
  cursor c = {.text = text, .end = header.header_bytes, .at = start};
  ASSAY_TRY(read_dict(&c, &header, err));
  ASSAY_TRY(count_elems(&header, err));
  *out = header;
  return ASSAY_OK;
}

assay_status assay_npy_tensor_init(const assay_npy_header *header, uint64_t max_bytes,
                                   assay_tensor *out, assay_error *err) {
  if (header->dtype == ASSAY_DTYPE_NONE) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "type '%s': %s", header->descr, header->refusal);
  }
  if (header->data_bytes > max_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "an array of %zu bytes: the limit is %llu",
                      header->data_bytes, (unsigned long long)max_bytes);
  }
  return assay_tensor_init(out, header->dtype, header->rank, header->dims, err);
}

/* ---- elements -----------------------------------------------------------------------------------
 */

/* Reverses each unit of unit_bytes (2, 4 or 8). */
static void swap_units(uint8_t *data, size_t size_bytes, size_t unit_bytes) {
  for (size_t at = 0; at < size_bytes; at += unit_bytes) {
    for (size_t low = 0, high = unit_bytes - 1; low < high; low++, high--) {
      uint8_t byte = data[at + low];
      data[at + low] = data[at + high];
      data[at + high] = byte;
    }
  }
}

/* Real and imaginary part are swapped each by itself. */
static size_t unit_bytes_of(assay_dtype dtype) {
  bool is_complex = dtype == ASSAY_DTYPE_C64 || dtype == ASSAY_DTYPE_C128;
  return assay_dtype_size(dtype) / (is_complex ? 2 : 1);
}

/* Column-major from, row-major to: walks the output in order with an odometer over its indices and
 * keeps the input's offset i0 + n0*(i1 + n1*(…)) up to date. */
static void transpose(const assay_tensor *shape, const uint8_t *from, uint8_t *to) {
  size_t elem_bytes = assay_dtype_size(shape->dtype);
  size_t stride[ASSAY_TENSOR_RANK_MAX]; /* elements of `from` between neighbours along an axis */
  int64_t index[ASSAY_TENSOR_RANK_MAX] = {0};
  size_t step = 1;
  for (int axis = 0; axis < shape->rank; axis++) {
    stride[axis] = step;
    step *= (size_t)shape->dims[axis];
  }
  size_t offset = 0;
  for (size_t i = 0; i < shape->n_elems; i++) {
    memcpy(to + i * elem_bytes, from + offset * elem_bytes, elem_bytes);
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
      offset += stride[axis];
      if (++index[axis] < shape->dims[axis]) break;
      offset -= stride[axis] * (size_t)shape->dims[axis];
      index[axis] = 0;
    }
  }
}

static assay_status to_row_major(assay_tensor *tensor, assay_error *err) {
  uint8_t *rows = assay_alloc(tensor->size_bytes);
  if (rows == NULL) return assay_fail_memory(err, tensor->size_bytes);
  transpose(tensor, tensor->data, rows);
  assay_free(tensor->data);
  tensor->data = rows;
  return ASSAY_OK;
}

static assay_status check_bools(const assay_tensor *tensor, assay_error *err) {
  const uint8_t *data = tensor->data;
  for (size_t i = 0; i < tensor->n_elems; i++) {
    if (data[i] > 1) {
      return assay_fail(err, ASSAY_E_FORMAT, "element %zu of a bool array is %u: expected 0 or 1",
                        i, data[i]);
    }
  }
  return ASSAY_OK;
}

assay_status assay_npy_normalise(const assay_npy_header *header, assay_tensor *tensor,
                                 assay_error *err) {
  if (tensor->size_bytes == 0) return ASSAY_OK;
  if (tensor->dtype == ASSAY_DTYPE_BOOL) ASSAY_TRY(check_bools(tensor, err));
  size_t unit_bytes = unit_bytes_of(tensor->dtype);
  if (header->is_big_endian && unit_bytes > 1) {
    swap_units(tensor->data, tensor->size_bytes, unit_bytes);
  }
  if (header->is_fortran_order && tensor->rank > 1) return to_row_major(tensor, err);
  return ASSAY_OK;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

#define HEADER_ALIGN  64 /* numpy's ARRAY_ALIGN */
#define GROWTH_DIGITS 21 /* numpy's GROWTH_AXIS_MAX_DIGITS: room to rewrite the first dimension */

static const char *descr_of(assay_dtype dtype) {
  switch (dtype) {
  case ASSAY_DTYPE_BOOL:
    return "|b1";
  case ASSAY_DTYPE_I8:
    return "|i1";
  case ASSAY_DTYPE_U8:
    return "|u1";
  case ASSAY_DTYPE_I16:
    return "<i2";
  case ASSAY_DTYPE_U16:
    return "<u2";
  case ASSAY_DTYPE_I32:
    return "<i4";
  case ASSAY_DTYPE_U32:
    return "<u4";
  case ASSAY_DTYPE_I64:
    return "<i8";
  case ASSAY_DTYPE_U64:
    return "<u8";
  case ASSAY_DTYPE_F16:
    return "<f2";
  case ASSAY_DTYPE_F32:
    return "<f4";
  case ASSAY_DTYPE_F64:
    return "<f8";
  case ASSAY_DTYPE_C64:
    return "<c8";
  case ASSAY_DTYPE_C128:
    return "<c16";
  default:
    return NULL;
  }
}

/* The dict and its room for growth, as numpy's _write_array_header makes them. */
static assay_status append_dict(const assay_tensor *tensor, const char *descr, assay_buf *text,
                                assay_error *err) {
  ASSAY_TRY(
      assay_buf_appendf(text, err, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr));
  for (int i = 0; i < tensor->rank; i++) {
    const char *before = i == 0 ? "" : ", ";
    ASSAY_TRY(assay_buf_appendf(text, err, "%s%lld", before, (long long)tensor->dims[i]));
  }
  ASSAY_TRY(assay_buf_append_text(text, tensor->rank == 1 ? ",), }" : "), }", err));
  if (tensor->rank == 0) return ASSAY_OK;
  int n_digits = snprintf(NULL, 0, "%lld", (long long)tensor->dims[0]);
  return assay_buf_appendf(text, err, "%*s", GROWTH_DIGITS - n_digits, "");
}

/* Padding is one to 64 spaces, then LF (numpy's _wrap_header). 64 dimensions of 19 digits take 1.4
 * KB, so version 1 always does. */
static assay_status append_wrapped(const assay_buf *text, assay_buf *out, assay_error *err) {
  size_t used = 10 + text->size_bytes + 1;
  size_t padding = HEADER_ALIGN - used % HEADER_ALIGN;
  size_t text_bytes = text->size_bytes + padding + 1;
  uint8_t prefix[10] = MAGIC "\x01";
  prefix[8] = (uint8_t)(text_bytes & 0xff);
  prefix[9] = (uint8_t)(text_bytes >> 8);
  ASSAY_TRY(assay_buf_append(out, prefix, sizeof prefix, err));
  ASSAY_TRY(assay_buf_append(out, text->data, text->size_bytes, err));
  return assay_buf_appendf(out, err, "%*s\n", (int)padding, "");
}

assay_status assay_npy_header_append(const assay_tensor *tensor, assay_buf *out, assay_error *err) {
  const char *descr = descr_of(tensor->dtype);
  if (descr == NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, ".npy has no type for %s",
                      assay_dtype_name(tensor->dtype));
  }
  assay_buf text = {0};
  assay_status st = append_dict(tensor, descr, &text, err);
  if (!st) st = append_wrapped(&text, out, err);
  assay_buf_reset(&text);
  return st;
}
