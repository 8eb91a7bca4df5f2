/* Element types of arrays. The values are those of ONNX TensorProto.DataType, which ONNX Runtime's
 * C API shares, so no table is needed to go from one to the other. */
#ifndef ASSAY_BASE_DTYPE_H
#define ASSAY_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum assay_dtype {
  ASSAY_DTYPE_NONE = 0,
  ASSAY_DTYPE_F32 = 1,
  ASSAY_DTYPE_U8 = 2,
  ASSAY_DTYPE_I8 = 3,
  ASSAY_DTYPE_U16 = 4,
  ASSAY_DTYPE_I16 = 5,
  ASSAY_DTYPE_I32 = 6,
  ASSAY_DTYPE_I64 = 7,
  ASSAY_DTYPE_STRING = 8, /* known by name, never held */
  ASSAY_DTYPE_BOOL = 9,   /* one byte, 0 or 1 */
  ASSAY_DTYPE_F16 = 10,
  ASSAY_DTYPE_F64 = 11,
  ASSAY_DTYPE_U32 = 12,
  ASSAY_DTYPE_U64 = 13,
  ASSAY_DTYPE_C64 = 14,
  ASSAY_DTYPE_C128 = 15,
  ASSAY_DTYPE_BF16 = 16,
} assay_dtype;

/* Bytes of one element; 0 for NONE and STRING and anything unknown. */
size_t assay_dtype_size(assay_dtype dtype);

/* "float32", "int64", "bool", "bfloat16", …: numpy's names; "unknown" otherwise. */
const char *assay_dtype_name(assay_dtype dtype);

/* The dtype of that name, or ASSAY_DTYPE_NONE. */
assay_dtype assay_dtype_of_name(const char *name);

bool assay_dtype_is_float(assay_dtype dtype);   /* F16, BF16, F32, F64 */
bool assay_dtype_is_integer(assay_dtype dtype); /* signed and unsigned, and BOOL */

/* IEEE half and bfloat16, by bits: to FP32 exactly, from FP32 round to nearest even. */
float assay_f16_to_f32(uint16_t bits);
uint16_t assay_f16_of_f32(float value);
float assay_bf16_to_f32(uint16_t bits);
uint16_t assay_bf16_of_f32(float value);

#endif
