/* Tests of dtype.c: names and sizes, and the 16-bit floats at every value. */
#include "base/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void names_and_sizes_are_numpys(void **state) {
  (void)state;
  static const struct {
    int value; /* of ONNX TensorProto.DataType */
    const char *name;
    size_t size_bytes;
  } rows[] = {{1, "float32", 4}, {2, "uint8", 1},      {3, "int8", 1},         {4, "uint16", 2},
              {5, "int16", 2},   {6, "int32", 4},      {7, "int64", 8},        {8, "string", 0},
              {9, "bool", 1},    {10, "float16", 2},   {11, "float64", 8},     {12, "uint32", 4},
              {13, "uint64", 8}, {14, "complex64", 8}, {15, "complex128", 16}, {16, "bfloat16", 2}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assay_dtype dtype = (assay_dtype)rows[i].value;
    assert_string_equal(assay_dtype_name(dtype), rows[i].name);
    assert_int_equal(assay_dtype_size(dtype), rows[i].size_bytes);
    assert_int_equal(assay_dtype_of_name(rows[i].name), dtype);
  }
  assert_int_equal(assay_dtype_of_name("float"), ASSAY_DTYPE_NONE);
  assert_string_equal(assay_dtype_name((assay_dtype)99), "unknown");
  assert_int_equal(assay_dtype_size(ASSAY_DTYPE_NONE), 0);
  assert_true(assay_dtype_is_float(ASSAY_DTYPE_BF16) && !assay_dtype_is_float(ASSAY_DTYPE_I8));
  assert_true(assay_dtype_is_integer(ASSAY_DTYPE_BOOL) && !assay_dtype_is_integer(ASSAY_DTYPE_C64));
}

/* The value of a half by its definition, in double, independent of the code under test. */
static double half_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) magnitude = fraction ? (double)NAN : HUGE_VAL;
  return bits & 0x8000 ? -magnitude : magnitude;
}

static void every_half_goes_to_f32_and_back(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    float value = assay_f16_to_f32((uint16_t)bits);
    double expected = half_value((uint16_t)bits);
    if (isnan(expected)) {
      assert_true(isnan(value));
      assert_true(isnan(assay_f16_to_f32(assay_f16_of_f32(value))));
      continue;
    }
    if ((double)value != expected || !signbit(value) != !signbit(expected) ||
        assay_f16_of_f32(value) != bits) {
      fail_msg("half %04x: %a, expected %a", bits, (double)value, expected);
    }
  }
}

/* Between neighbouring halves the midpoint goes to the even one, and a step to either side to the
 * nearer. */
static void f32_rounds_to_the_nearest_even_half(void **state) {
  (void)state;
  for (uint32_t low = 0; low < 0x7bff; low++) {
    uint32_t high = low + 1;
    float middle = (float)((half_value((uint16_t)low) + half_value((uint16_t)high)) / 2);
    uint32_t even = low % 2 == 0 ? low : high;
    uint16_t at = assay_f16_of_f32(middle), below = assay_f16_of_f32(nextafterf(middle, 0.0f)),
             above = assay_f16_of_f32(nextafterf(middle, INFINITY)),
             negative = assay_f16_of_f32(-middle);
    if (at != even || below != low || above != high || negative != (even | 0x8000)) {
      fail_msg("around %04x: %04x %04x %04x %04x", low, below, at, above, negative);
    }
  }
  assert_int_equal(assay_f16_of_f32(65519.996f), 0x7bff);
  assert_int_equal(assay_f16_of_f32(65520.0f), 0x7c00); /* halfway beyond the largest */
  assert_int_equal(assay_f16_of_f32(HUGE_VALF), 0x7c00);
  assert_int_equal(assay_f16_of_f32(-1e30f), 0xfc00);
  assert_int_equal(assay_f16_of_f32(-1e-30f), 0x8000);
}

static void bfloat16_rounds_to_nearest_even(void **state) {
  (void)state;
  static const struct {
    float value;
    uint16_t bits;
  } rows[] = {{0.0f, 0},           {-0.0f, 0x8000},     {1.0f, 0x3f80},
              {0x1.01p0f, 0x3f80}, {0x1.03p0f, 0x3f82}, {0x1.010002p0f, 0x3f81},
              {3.4e38f, 0x7f80},   {-HUGE_VALF, 0xff80}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(assay_bf16_of_f32(rows[i].value), rows[i].bits);
  }
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    float value = assay_bf16_to_f32((uint16_t)bits);
    if (isnan(value))
      assert_true(isnan(assay_bf16_to_f32(assay_bf16_of_f32(value))));
    else
      assert_int_equal(assay_bf16_of_f32(value), bits);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_sizes_are_numpys),
      cmocka_unit_test(every_half_goes_to_f32_and_back),
      cmocka_unit_test(f32_rounds_to_the_nearest_even_half),
      cmocka_unit_test(bfloat16_rounds_to_nearest_even),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
