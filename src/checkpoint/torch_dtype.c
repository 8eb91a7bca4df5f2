/* The element types of PyTorch. Source: ../shared/specs/torch_checkpoint.md section 5. */
#include <string.h>

#include "checkpoint/torch_parts.h"

#define NO_TYPE   "assay has no such type"
#define QUANTIZED "quantized"

static const torch_dtype rows[] = {
    {"float32", "FloatStorage", ASSAY_DTYPE_F32, 4, NULL},
    {"float64", "DoubleStorage", ASSAY_DTYPE_F64, 8, NULL},
    {"float16", "HalfStorage", ASSAY_DTYPE_F16, 2, NULL},
    {"bfloat16", "BFloat16Storage", ASSAY_DTYPE_BF16, 2, NULL},
    {"int64", "LongStorage", ASSAY_DTYPE_I64, 8, NULL},
    {"int32", "IntStorage", ASSAY_DTYPE_I32, 4, NULL},
    {"int16", "ShortStorage", ASSAY_DTYPE_I16, 2, NULL},
    {"int8", "CharStorage", ASSAY_DTYPE_I8, 1, NULL},
    {"uint8", "ByteStorage", ASSAY_DTYPE_U8, 1, NULL},
    {"uint8", "UntypedStorage", ASSAY_DTYPE_U8, 1, NULL},
    {"uint8", "_UntypedStorage", ASSAY_DTYPE_U8, 1, NULL},
    {"bool", "BoolStorage", ASSAY_DTYPE_BOOL, 1, NULL},
    {"complex64", "ComplexFloatStorage", ASSAY_DTYPE_C64, 8, NULL},
    {"complex128", "ComplexDoubleStorage", ASSAY_DTYPE_C128, 16, NULL},
    {"uint16", NULL, ASSAY_DTYPE_U16, 2, NULL},
    {"uint32", NULL, ASSAY_DTYPE_U32, 4, NULL},
    {"uint64", NULL, ASSAY_DTYPE_U64, 8, NULL},
    {"float8_e4m3fn", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"float8_e5m2", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"float8_e4m3fnuz", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"float8_e5m2fnuz", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"float8_e8m0fnu", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"complex32", NULL, ASSAY_DTYPE_NONE, 4, NO_TYPE},
    {"bcomplex32", NULL, ASSAY_DTYPE_NONE, 4, NO_TYPE},
    {"float4_e2m1fn_x2", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"bits16", NULL, ASSAY_DTYPE_NONE, 2, NO_TYPE},
    {"bits8", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"bits4x2", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"bits2x4", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"bits1x8", NULL, ASSAY_DTYPE_NONE, 1, NO_TYPE},
    {"qint8", "QInt8Storage", ASSAY_DTYPE_NONE, 1, QUANTIZED},
    {"quint8", "QUInt8Storage", ASSAY_DTYPE_NONE, 1, QUANTIZED},
    {"qint32", "QInt32Storage", ASSAY_DTYPE_NONE, 4, QUANTIZED},
    {"quint4x2", "QUInt4x2Storage", ASSAY_DTYPE_NONE, 1, QUANTIZED},
    {"quint2x4", "QUInt2x4Storage", ASSAY_DTYPE_NONE, 1, QUANTIZED},
};

const torch_dtype *torch_dtype_of_name(const char *name) {
  static const char *const others[][2] = {{"half", "float16"},     {"float", "float32"},
                                          {"double", "float64"},   {"long", "int64"},
                                          {"int", "int32"},        {"short", "int16"},
                                          {"cfloat", "complex64"}, {"cdouble", "complex128"}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strcmp(others[i][0], name) == 0) name = others[i][1];
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

const torch_dtype *torch_dtype_of_storage(const char *class_name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].storage != NULL && strcmp(rows[i].storage, class_name) == 0) return &rows[i];
  }
  return NULL;
}
