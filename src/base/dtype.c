/* Element types: sizes, names, and the two 16-bit floats by bits. */
#include "base/dtype.h"

#include <string.h>

typedef struct dtype_row {
  assay_dtype dtype;
  size_t size_bytes;
  const char *name; /* numpy's; "string" is ONNX's */
} dtype_row;

static const dtype_row dtype_rows[] = {
    {ASSAY_DTYPE_F32, 4, "float32"},      {ASSAY_DTYPE_U8, 1, "uint8"},
    {ASSAY_DTYPE_I8, 1, "int8"},          {ASSAY_DTYPE_U16, 2, "uint16"},
    {ASSAY_DTYPE_I16, 2, "int16"},        {ASSAY_DTYPE_I32, 4, "int32"},
    {ASSAY_DTYPE_I64, 8, "int64"},        {ASSAY_DTYPE_STRING, 0, "string"},
    {ASSAY_DTYPE_BOOL, 1, "bool"},        {ASSAY_DTYPE_F16, 2, "float16"},
    {ASSAY_DTYPE_F64, 8, "float64"},      {ASSAY_DTYPE_U32, 4, "uint32"},
    {ASSAY_DTYPE_U64, 8, "uint64"},       {ASSAY_DTYPE_C64, 8, "complex64"},
    {ASSAY_DTYPE_C128, 16, "complex128"}, {ASSAY_DTYPE_BF16, 2, "bfloat16"},
};
enum { N_DTYPE_ROWS = sizeof dtype_rows / sizeof dtype_rows[0] };

static const dtype_row *row_of(assay_dtype dtype) {
  for (size_t i = 0; i < N_DTYPE_ROWS; i++) {
    if (dtype_rows[i].dtype == dtype) return &dtype_rows[i];
  }
  return NULL;
}

size_t assay_dtype_size(assay_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  return row == NULL ? 0 : row->size_bytes;
}

const char *assay_dtype_name(assay_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  return row == NULL ? "unknown" : row->name;
}

assay_dtype assay_dtype_of_name(const char *name) {
  for (size_t i = 0; i < N_DTYPE_ROWS; i++) {
    if (strcmp(dtype_rows[i].name, name) == 0) return dtype_rows[i].dtype;
  }
  return ASSAY_DTYPE_NONE;
}

bool assay_dtype_is_float(assay_dtype dtype) {
  return dtype == ASSAY_DTYPE_F16 || dtype == ASSAY_DTYPE_BF16 || dtype == ASSAY_DTYPE_F32 ||
         dtype == ASSAY_DTYPE_F64;
}

bool assay_dtype_is_integer(assay_dtype dtype) {
  switch (dtype) {
  case ASSAY_DTYPE_U8:
  case ASSAY_DTYPE_I8:
  case ASSAY_DTYPE_U16:
  case ASSAY_DTYPE_I16:
  case ASSAY_DTYPE_U32:
  case ASSAY_DTYPE_I32:
  case ASSAY_DTYPE_U64:
  case ASSAY_DTYPE_I64:
  case ASSAY_DTYPE_BOOL:
    return true;
  default:
    return false;
  }
}

static float f32_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Half: 1 sign, 5 exponent (bias 15), 10 fraction bits. A NaN keeps its payload. */
float assay_f16_to_f32(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return f32_of_bits(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return f32_of_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
  /* Zero or subnormal: fraction * 2^-24, exact in FP32. */
  float magnitude = (float)fraction * 0x1p-24f;
  return f32_of_bits(sign | bits_of_f32(magnitude));
}

uint16_t assay_f16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { /* NaN: made quiet, upper payload bits kept */
    return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* >= 65520 rounds to infinity */
  if (magnitude >= 0x38800000u) {                                  /* >= 2^-14: normal */
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | ((rounded - 0x38000000u) >> 13));
  }
  if (magnitude < 0x33000000u) return (uint16_t)sign; /* < 2^-25 rounds to zero */
  /* Subnormal: significand * 2^(exponent-150) in units of 2^-24, to nearest even. */
  uint32_t shift = 126u - (magnitude >> 23); /* 14 … 24 */
  uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t kept = significand >> shift;
  uint32_t rest = significand & ((1u << shift) - 1u);
  uint32_t half = 1u << (shift - 1u);
  if (rest > half || (rest == half && (kept & 1u))) kept++;
  return (uint16_t)(sign | kept);
}

float assay_bf16_to_f32(uint16_t bits) {
  return f32_of_bits((uint32_t)bits << 16);
}

uint16_t assay_bf16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u); /* quiet NaN */
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
