/* One line of text about a pickled value. */
#include "checkpoint/pickle_describe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "checkpoint/numpy_value.h"
#include "checkpoint/pickle_json.h"

#define LINE_BYTES       512
#define TEXT_BYTES_SHOWN 400 /* of text and of long integers */
#define RANK_SHOWN       8

typedef assay_pickle_value value;

static void print_real(double real, char *out, size_t out_bytes) {
  if (isnan(real))
    snprintf(out, out_bytes, "nan");
  else if (isinf(real))
    snprintf(out, out_bytes, real > 0 ? "inf" : "-inf");
  else {
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(out, out_bytes, "%.*g", digits, real);
      if (strtod(out, NULL) == real) return;
    }
  }
}

/* "dict of 3", or by the name of the class that was called. */
static void print_container(const value *item, const char *plain, size_t n, char *out,
                            size_t out_bytes) {
  const value *callable = item->call == NULL ? NULL : item->call->callable;
  bool is_named = callable != NULL && callable->kind == ASSAY_PICKLE_GLOBAL;
  snprintf(out, out_bytes, "%.100s of %zu", is_named ? callable->global.name : plain, n);
}

static void describe(const value *item, char line[LINE_BYTES]);

/* The value as a plain one is described, and its dtype. */
static void print_numpy_scalar(const value *item, char *out, size_t out_bytes) {
  assay_numpy_dtype dtype = {.code = "?"};
  value scalar;
  char digits[ASSAY_NUMPY_DIGITS_BYTES], number[LINE_BYTES] = "?";
  if (item->call->args->items.n > 0)
    (void)assay_numpy_is_dtype(item->call->args->items.at[0], &dtype);
  if (assay_numpy_scalar_value(item, &scalar, digits)) describe(&scalar, number);
  snprintf(out, out_bytes, "%.200s (numpy %s)", number, dtype.code);
}

static void print_numpy_array(const value *item, char *out, size_t out_bytes) {
  assay_numpy_dtype dtype;
  int64_t dims[ASSAY_TENSOR_RANK_MAX];
  int rank;
  char shape[LINE_BYTES / 2];
  if (assay_numpy_shape(item, &dtype, &rank, dims, /*err=*/NULL) || rank > RANK_SHOWN) {
    snprintf(out, out_bytes, "numpy array");
    return;
  }
  assay_shape_text(dims, rank, shape, sizeof shape);
  snprintf(out, out_bytes, "numpy array %s %s", dtype.code, shape);
}

static void print_device(const value *item, char *out, size_t out_bytes) {
  const assay_pickle_items *args = &item->call->args->items;
  bool has_index = args->n == 2 && args->at[1]->kind == ASSAY_PICKLE_INT;
  if (args->n == 0 || args->at[0]->kind != ASSAY_PICKLE_TEXT) {
    snprintf(out, out_bytes, "object of torch.device");
  } else if (has_index) {
    snprintf(out, out_bytes, "%.100s:%lld", args->at[0]->text.data,
             (long long)args->at[1]->integer);
  } else {
    snprintf(out, out_bytes, "%.100s", args->at[0]->text.data);
  }
}

static void print_call(const value *item, char *out, size_t out_bytes) {
  char buf[128];
  assay_numpy_dtype dtype;
  const value *callable = item->call->callable;
  const char *member = assay_pickle_enum_text(item, buf, sizeof buf);
  if (member != NULL)
    snprintf(out, out_bytes, "%.200s", member);
  else if (assay_numpy_is_dtype(item, &dtype))
    snprintf(out, out_bytes, "%s", dtype.code);
  else if (assay_numpy_is_scalar(item))
    print_numpy_scalar(item, out, out_bytes);
  else if (assay_numpy_is_array(item))
    print_numpy_array(item, out, out_bytes);
  else if (assay_pickle_is_call(item, "torch", "device"))
    print_device(item, out, out_bytes);
  else if (callable->kind == ASSAY_PICKLE_GLOBAL) {
    snprintf(out, out_bytes, "object of %.200s.%.200s", callable->global.module,
             callable->global.name);
  } else {
    snprintf(out, out_bytes, "object");
  }
}

static void print_complex(const value *item, char *out, size_t out_bytes) {
  char re[64], im[64];
  print_real(item->complex.re, re, sizeof re);
  print_real(item->complex.im, im, sizeof im);
  snprintf(out, out_bytes, "%s%s%sj", re, im[0] == '-' ? "" : "+", im);
}

/* The first bytes between two quotes (or none), zeroes spelt out, and "..." behind them where there
 * are more. */
static void print_text(const assay_pickle_text *text, const char *quote, char line[LINE_BYTES]) {
  char shown[TEXT_BYTES_SHOWN + 4];
  size_t at = 0, i = 0;
  for (; i < text->size_bytes && at < TEXT_BYTES_SHOWN; i++) {
    if (text->data[i] == '\0')
      at += (size_t)snprintf(shown + at, sizeof shown - at, "\\x00");
    else
      shown[at++] = text->data[i];
  }
  shown[at] = '\0';
  snprintf(line, LINE_BYTES, "%s%s%s%s", quote, shown, quote, i < text->size_bytes ? "..." : "");
}

static void describe(const value *item, char line[LINE_BYTES]) {
  switch ((assay_pickle_kind)item->kind) {
  case ASSAY_PICKLE_NONE:
    snprintf(line, LINE_BYTES, "None");
    break;
  case ASSAY_PICKLE_BOOL:
    snprintf(line, LINE_BYTES, item->boolean ? "True" : "False");
    break;
  case ASSAY_PICKLE_INT:
    snprintf(line, LINE_BYTES, "%lld", (long long)item->integer);
    break;
  case ASSAY_PICKLE_BIGINT:
    print_text(&item->text, "", line);
    break;
  case ASSAY_PICKLE_REAL:
    print_real(item->real, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_COMPLEX:
    print_complex(item, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_TEXT:
    print_text(&item->text, "'", line);
    break;
  case ASSAY_PICKLE_BYTES:
    snprintf(line, LINE_BYTES, "bytes of %zu", item->text.size_bytes);
    break;
  case ASSAY_PICKLE_TUPLE:
    print_container(item, "tuple", item->items.n, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_LIST:
    print_container(item, "list", item->items.n, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_SET:
    print_container(item, "set", item->items.n, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_DICT:
    print_container(item, "dict", item->pairs.n, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_GLOBAL:
    snprintf(line, LINE_BYTES, "%.200s.%.200s", item->global.module, item->global.name);
    break;
  case ASSAY_PICKLE_CALL:
    print_call(item, line, LINE_BYTES);
    break;
  case ASSAY_PICKLE_PERSISTENT:
    snprintf(line, LINE_BYTES, "persistent id");
    break;
  }
}

void assay_pickle_describe(const value *item, char *out, size_t out_bytes) {
  char line[LINE_BYTES];
  describe(item, line);
  assay_text_printable(line, out, out_bytes);
}
