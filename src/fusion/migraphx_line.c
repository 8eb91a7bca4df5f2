#include "fusion/migraphx_line.h"

#include <string.h>

#define FLAT_MIN  256
#define WIDTH_MAX 4096 /* of a feed-forward layer, the widest there is in a model of ours */

/* "{1, 8, 64, 64}" at *at, at most RANK_MAX numbers; *at goes behind it. */
static bool parse_list(assay_text_span text, size_t *at, int64_t *out, int *out_n) {
  size_t close = assay_span_find(text, "}", *at);
  *out_n = 0;
  if (*at >= text.n || text.text[*at] != '{' || close == text.n) return false;
  for (size_t from = *at + 1; from < close;) {
    size_t to = assay_span_find(assay_span_cut(text, 0, close), ",", from);
    if (*out_n == ASSAY_MIGRAPHX_RANK_MAX) return false;
    if (!assay_span_int(assay_span_trim(assay_span_cut(text, from, to)), &out[(*out_n)++]))
      return false;
    from = to + 1;
  }
  *at = close + 1;
  return true;
}

static bool skip(assay_text_span text, size_t *at, const char *words) {
  if (!assay_span_begins(assay_span_cut(text, *at, text.n), words)) return false;
  *at += strlen(words);
  return true;
}

/* Only ", target_id=N" may stand behind a shape. */
static bool is_behind_shape(assay_text_span rest) {
  int64_t target;
  if (rest.n == 0) return true;
  return assay_span_begins(rest, ", target_id=") &&
         assay_span_int(assay_span_cut(rest, strlen(", target_id="), rest.n), &target);
}

/* A tuple "[…]" or "dynamic, …" is taken as it is: nothing here asks for more. */
static bool is_other_shape(assay_text_span text) {
  if (assay_span_begins(text, "dynamic, ")) return assay_span_ends(text, "}");
  size_t close = assay_span_find_last(text, "]");
  return text.n > 0 && text.text[0] == '[' && close < text.n &&
         is_behind_shape(assay_span_cut(text, close + 1, text.n));
}

/* "TYPE, {lens}, {strides}" at *at; *at goes behind it. */
static bool parse_tensor(assay_text_span text, size_t *at, assay_migraphx_shape *out) {
  size_t comma = assay_span_find(text, ",", *at);
  int n_strides = 0;
  *out = (assay_migraphx_shape){0};
  assay_text_span type = assay_span_cut(text, *at, comma);
  if (!assay_span_ends(type, "_type")) return false;
  *at = comma;
  if (!skip(text, at, ", ") || !parse_list(text, at, out->lens, &out->rank)) return false;
  if (!skip(text, at, ", ") || !parse_list(text, at, out->strides, &n_strides)) return false;
  out->type = type;
  return n_strides == out->rank;
}

static bool parse_shape(assay_text_span text, assay_migraphx_shape *out) {
  size_t at = 0;
  *out = (assay_migraphx_shape){0};
  if (is_other_shape(text)) {
    if (text.text[0] == '[') out->parts = assay_span_cut(text, 1, assay_span_find_last(text, "]"));
    return true;
  }
  return parse_tensor(text, &at, out) && is_behind_shape(assay_span_cut(text, at, text.n));
}

bool assay_migraphx_shape_part(const assay_migraphx_shape *tuple, size_t *at,
                               assay_migraphx_shape *out) {
  const assay_text_span text = tuple->parts;
  while (*at < text.n && strchr(", []", text.text[*at]) != NULL) ++*at;
  return *at < text.n && parse_tensor(text, at, out);
}

/* Behind the bracket that closes the one at `at`; n without one. */
static size_t behind_brackets(assay_text_span text, size_t at) {
  size_t depth = 0;
  for (; at < text.n; at++) {
    char c = text.text[at];
    if (c == '[' || c == '{') depth++;
    if ((c == ']' || c == '}') && --depth == 0) return at + 1;
  }
  return text.n;
}

/* OP, OP[…], OP(…), OP[…](…), OP[…](…), [modules], @literal{…}. */
static void parse_call(assay_text_span call, assay_migraphx_instr *out) {
  size_t at = 0;
  if (assay_span_begins(call, "@param:")) { /* names of parameters hold anything */
    out->op = call;
    return;
  }
  while (at < call.n && strchr("[({", call.text[at]) == NULL) at++;
  out->op = assay_span_cut(call, 0, at);
  if (at < call.n && call.text[at] == '[') {
    size_t behind = behind_brackets(call, at);
    out->attributes = assay_span_cut(call, at + 1, behind > at + 1 ? behind - 1 : behind);
    at = behind;
  }
  if (at < call.n && call.text[at] == '(') {
    size_t close = assay_span_find_last(call, ")");
    out->arguments = assay_span_cut(call, at + 1, close);
  }
}

bool assay_migraphx_instr_parse(assay_log_line line, assay_migraphx_instr *out) {
  assay_text_span text = line.text;
  size_t equals = assay_span_find(text, " = ", 0);
  *out = (assay_migraphx_instr){.line = line.number};
  if (!line.is_ended || equals == 0 || equals == text.n) return false;
  out->name = assay_span_cut(text, 0, equals);
  assay_text_span right = assay_span_cut(text, equals + 3, text.n);
  if (assay_span_begins(right, "@return")) {
    parse_call(right, out);
    return assay_span_ends(right, ")");
  }
  size_t arrow = assay_span_find_last(right, " -> ");
  if (arrow == right.n) return false;
  parse_call(assay_span_cut(right, 0, arrow), out);
  return out->op.n > 0 && parse_shape(assay_span_cut(right, arrow + 4, right.n), &out->shape);
}

bool assay_migraphx_argument(const assay_migraphx_instr *instr, size_t *at, assay_text_span *out) {
  if (*at >= instr->arguments.n) return false;
  size_t to = assay_span_find(instr->arguments, ",", *at);
  *out = assay_span_trim(assay_span_cut(instr->arguments, *at, to));
  *at = to + 1;
  return true;
}

assay_text_span assay_migraphx_attribute(const assay_migraphx_instr *instr, const char *key) {
  assay_text_span text = instr->attributes;
  size_t m = strlen(key);
  for (size_t at = 0; at < text.n;) {
    size_t to = at;
    for (size_t depth = 0; to < text.n && (depth > 0 || text.text[to] != ','); to++) {
      char c = text.text[to];
      if (c == '{' || c == '[') depth++;
      if ((c == '}' || c == ']') && depth > 0) depth--;
    }
    assay_text_span one = assay_span_cut(text, at, to);
    if (assay_span_begins(one, key) && one.n > m && one.text[m] == '=')
      return assay_span_cut(one, m + 1, one.n);
    at = to + 1;
  }
  return (assay_text_span){0};
}

bool assay_migraphx_is_floating(assay_text_span type) {
  return assay_span_is(type, "float_type") || assay_span_is(type, "half_type") ||
         assay_span_is(type, "double_type") || assay_span_begins(type, "bf16") ||
         assay_span_begins(type, "fp8");
}

bool assay_migraphx_is_integer(assay_text_span type) {
  return assay_span_begins(type, "int") || assay_span_begins(type, "uint");
}

/* How many axes that end before `end`, ones among them, make up n; 0: none do. */
static int axes_of(const assay_migraphx_shape *shape, int end, int64_t n) {
  int64_t product = 1;
  for (int axis = end - 1; axis >= 0; axis--) {
    const int64_t len = shape->lens[axis];
    if (len <= 0 || len > n / product) return 0;
    product *= len;
    if (product == n) return end - axis;
  }
  return 0;
}

/* From FLAT_MIN on n * n is no model's width: a multiple of it in one axis is all scores of some
 * heads, and so is [k * n, n] alone where k * n is no width either. */
static bool is_flat_square_of(const assay_migraphx_shape *shape, int64_t n) {
  const int rank = shape->rank;
  int64_t n_rows = 1;
  if (n < FLAT_MIN || n > INT32_MAX) return false;
  for (int axis = 0; axis < rank; axis++)
    if (shape->lens[axis] > 0 && shape->lens[axis] % (n * n) == 0) return true;
  for (int axis = 0; axis < rank - 1; axis++) {
    if (shape->lens[axis] > 1 && n_rows > 1) return false;
    if (shape->lens[axis] != 1) n_rows = shape->lens[axis];
  }
  return rank > 1 && shape->lens[rank - 1] == n && n_rows > WIDTH_MAX && n_rows % n == 0;
}

/* [.., N, N], where axes of one, and an axis that was split, change nothing; two axes of N in
 * another layout; or both as one axis. */
static bool is_square_of(const assay_migraphx_shape *shape, int64_t n) {
  const int rank = shape->rank;
  const int n_last = n > 1 ? axes_of(shape, rank, n) : 0;
  int n_axes = 0;
  if (n_last > 0 && axes_of(shape, rank - n_last, n) > 0) return true;
  for (int axis = 0; axis < rank; axis++) n_axes += n > 1 && shape->lens[axis] == n;
  return n_axes > 1 || is_flat_square_of(shape, n);
}

bool assay_migraphx_has_elems(const assay_migraphx_shape *shape, int64_t n) {
  for (int axis = 0; axis < shape->rank; axis++)
    if (shape->lens[axis] % n == 0 || axes_of(shape, axis + 1, n) > 0) return true;
  return false;
}

bool assay_migraphx_is_square(const assay_migraphx_shape *shape, int64_t n) {
  const int rank = shape->rank;
  if (n > 0 && !is_square_of(shape, n)) return false;
  if (n <= 0 &&
      (rank < 2 || shape->lens[rank - 1] != shape->lens[rank - 2] || shape->lens[rank - 1] < 2))
    return false;
  for (int axis = 0; axis < rank; axis++)
    if (shape->strides[axis] == 0 && shape->lens[axis] > 1) return false;
  return true;
}
