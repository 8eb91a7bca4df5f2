/* Outputs that are wrong, against references that are right, and the other way round. Most are the
 * table of results that other tools let pass; the names are those of the tools and rules. */
#include <math.h>
#include <stdio.h>

#include "selftest/selftest_cases.h"

#define FRESH(spoil_function, reason_words)                                                        \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_GATE,                         \
  .topic = ASSAY_TOPIC_NUMBERS, .words = (reason_words)
#define PASSES(spoil_function)                                                                     \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_PASSES

/* Every reference of the head gets the value at element i. */
static void refer(selftest_scene *s, const char *head, size_t i, double value) {
  static const char *const references[] = {"f32", "f64"};
  for (size_t k = 0; k < 2; k++) {
    char name[64];
    snprintf(name, sizeof name, "ref.%s.%s", references[k], head);
    assay_tensor *t = selftest_array(s, name);
    if (t != NULL) selftest_set(t, i, value);
  }
}

static void give(selftest_scene *s, const char *head, size_t i, double value) {
  assay_tensor *t = selftest_output(s, head);
  if (t != NULL) selftest_set(t, i, value);
}

/* --- classes of elements -------------------------------------------------------------------------
 */

static void all_nan(selftest_scene *s) {
  for (size_t i = 0; i < SELFTEST_VALID * 3; i++) give(s, "momentum", i, (double)NAN);
}
static void one_nan(selftest_scene *s) {
  give(s, "momentum", 7, (double)NAN);
}
static void zero_for_infinity(selftest_scene *s) {
  refer(s, "momentum", 3, HUGE_VAL);
  give(s, "momentum", 3, 0);
}
static void other_infinity(selftest_scene *s) {
  refer(s, "momentum", 3, HUGE_VAL);
  give(s, "momentum", 3, -HUGE_VAL);
}
static void infinity_for_a_number(selftest_scene *s) {
  give(s, "momentum", 3, HUGE_VAL);
}
static void nan_on_both_sides(selftest_scene *s) {
  for (size_t i = 0; i < SELFTEST_VALID * 3; i++) {
    refer(s, "momentum", i, (double)NAN);
    give(s, "momentum", i, (double)NAN);
  }
}
static void half_overflows(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F16,
                                         .n = 4,
                                         .want = 65520,
                                         .got = 65520});
}

/* --- sets of heads -------------------------------------------------------------------------------
 */

static void head_missing(selftest_scene *s) {
  selftest_drop(&s->outputs, "bid");
}
static void head_missing_unreferenced(selftest_scene *s) {
  head_missing(s);
  selftest_drop(&s->arrays, "ref.f32.bid");
  selftest_drop(&s->arrays, "ref.f64.bid");
}
static void head_without_reference(selftest_scene *s) {
  selftest_drop(&s->arrays, "ref.f32.bid");
  selftest_drop(&s->arrays, "ref.f64.bid");
}
/* The export's own precision says what of an error it must cost, and gates nothing. */
static void same_precision_alone(selftest_scene *s) {
  selftest_refer(s, "same", "bid");
  head_without_reference(s);
}
static void same_precision_differs(selftest_scene *s) {
  selftest_refer(s, "same", "bid");
  assay_tensor *t = selftest_array(s, "ref.same.bid");
  if (t != NULL) selftest_set(t, 2, 100);
}
static void head_of_nobody(selftest_scene *s) {
  const int64_t dims[] = {4};
  assay_tensor extra = {0};
  assay_error err = {0};
  selftest_take(s, assay_tensor_init(&extra, ASSAY_DTYPE_F32, 1, dims, &err), &err);
  if (!selftest_failed(s))
    selftest_take(s, assay_tensor_map_add(&s->outputs, "surprise", &extra, &err), &err);
  assay_tensor_reset(&extra);
}
static void second_reference_differs(selftest_scene *s) {
  assay_tensor *t = selftest_array(s, "ref.f64.bid");
  if (t != NULL) selftest_set(t, 2, 100);
}

/* --- shapes and types ----------------------------------------------------------------------------
 */

static void three_for_one(selftest_scene *s) {
  assay_tensor *t = selftest_output(s, "momentum");
  if (t != NULL) selftest_reshape(t, 3, (const int64_t[]){3, SELFTEST_N, 1});
}
static void column_for_a_row(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = 5,
                                         .want = 1,
                                         .got = 1});
  assay_tensor *t = selftest_output(s, "y");
  if (t != NULL) selftest_reshape(t, 2, (const int64_t[]){5, 1});
}
static void no_samples(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = 0});
}
static void everything_masked(selftest_scene *s) {
  assay_tensor *mask = selftest_array(s, "mask");
  for (size_t i = 0; mask != NULL && i < SELFTEST_N; i++) selftest_set(mask, i, 0);
  for (size_t i = 0; i < SELFTEST_VALID * 3; i++) give(s, "momentum", i, 0);
  for (size_t i = 0; i < SELFTEST_VALID * 2; i++) give(s, "bid", i, 0);
}
static void everything_masked_but_garbage(selftest_scene *s) {
  everything_masked(s);
  give(s, "momentum", 4, 1);
}
static void everything_masked_of_others(selftest_scene *s) {
  everything_masked(s);
  s->is_ours = false;
}
static void integers_for_floats(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_I64,
                                         .n = 4,
                                         .want = 3,
                                         .got = 3});
}
static void double_for_float(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F64,
                                         .n = 4,
                                         .want = 3,
                                         .got = 3});
}

/* --- types that comparers skip -------------------------------------------------------------------
 */

static void integers(selftest_scene *s, assay_dtype dtype, double want, double got) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_INTEGER,
                                         .reference = "user",
                                         .want_dtype = dtype,
                                         .got_dtype = dtype,
                                         .n = 4,
                                         .want = want,
                                         .got = want});
  give(s, "y", 1, got);
}
static void int_min(selftest_scene *s) {
  integers(s, ASSAY_DTYPE_I32, 0, -2147483648.0);
}
static void int64_off_by_one(selftest_scene *s) {
  integers(s, ASSAY_DTYPE_I64, 5, 6);
}
/* 2^53 and 2^53 + 1 are one number in double. */
static void int64_beyond_double(selftest_scene *s) {
  integers(s, ASSAY_DTYPE_I64, 0x1p53, 0x1p53);
  assay_tensor *t = selftest_output(s, "y");
  if (t != NULL) assay_tensor_i64(t)[1] += 1;
}
static void bool_flipped(selftest_scene *s) {
  integers(s, ASSAY_DTYPE_BOOL, 1, 0);
}
static void half_off(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F16,
                                         .n = 4,
                                         .want = 1,
                                         .got = 1});
  give(s, "y", 2, 1.25);
}

/* --- distances -----------------------------------------------------------------------------------
 */

#define MILLION 1000000

static void one_in_a_million(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = MILLION,
                                         .want = 1,
                                         .got = 1});
  give(s, "y", MILLION - 2, 6);
}
static void one_large_and_exact(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_REGRESSION,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = 1000,
                                         .want = 1,
                                         .got = 2});
  assay_tensor *want = selftest_array(s, "ref.f32.y");
  if (want != NULL) selftest_set(want, 999, 1e6);
  give(s, "y", 999, 1e6);
}
static void constant_off_by_a_bit(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_CONSTANT,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = 4,
                                         .want = 1,
                                         .got = 1});
  give(s, "y", 3, (double)nextafterf(1, 2));
}
static void constant_of_another_sign(selftest_scene *s) {
  selftest_only_head(s, &(selftest_head){.kind = ASSAY_HEAD_CONSTANT,
                                         .reference = "f32",
                                         .want_dtype = ASSAY_DTYPE_F32,
                                         .got_dtype = ASSAY_DTYPE_F32,
                                         .n = 4,
                                         .want = 0,
                                         .got = 0});
  give(s, "y", 3, -0.0);
}
static void just_over(selftest_scene *s) {
  refer(s, "momentum", 0, 1);
  give(s, "momentum", 0, 1.0041);
}
/* Two limits that are alternatives refuse it; a sum of both, as everywhere else, does not. */
static void just_within(selftest_scene *s) {
  refer(s, "momentum", 0, 1);
  give(s, "momentum", 0, 1.0039);
}

/* --- classes of a head ---------------------------------------------------------------------------
 */

static void class_changes(selftest_scene *s) {
  refer(s, "bid", 0, 1000.0);
  refer(s, "bid", 1, 1020.0);
  give(s, "bid", 0, 1020.0);
  give(s, "bid", 1, 1000.0);
}
/* Both scores are within their tolerance, and the other one is ahead now: a tie, not an error. */
static void class_ties(selftest_scene *s) {
  refer(s, "bid", 0, 1.0);
  refer(s, "bid", 1, 1.001);
  give(s, "bid", 0, 1.001);
  give(s, "bid", 1, 1.0);
}

/* --- padding -------------------------------------------------------------------------------------
 */

static void garbage_at_padding(selftest_scene *s) {
  give(s, "momentum", SELFTEST_VALID * 3 + 1, 1e-30);
}
static void minus_zero_at_padding(selftest_scene *s) {
  give(s, "momentum", SELFTEST_VALID * 3 + 1, -0.0);
}
static void nan_at_padding(selftest_scene *s) {
  give(s, "momentum", SELFTEST_VALID * 3 + 1, (double)NAN);
}
/* A graph from elsewhere promises nothing about padding. */
static void padding_of_others(selftest_scene *s) {
  s->is_ours = false;
  give(s, "momentum", SELFTEST_VALID * 3 + 1, 17);
}

const selftest_case selftest_number_cases[] = {
    {"control: outputs within tolerance, every node in place", "", PASSES(NULL)},
    {"control: 1.0039 against 1 at 1e-3 and 3e-3", "Polygraphy refuses it", PASSES(just_within)},
    {"control: a class changes between scores that tie", "", PASSES(class_ties)},
    {"control: padding of a graph that promises nothing", "", PASSES(padding_of_others)},
    {"control: a reference in the export's own precision is off", "",
     PASSES(same_precision_differs)},
    {"a whole head is NaN", "trtexec, all five rules", FRESH(all_nan, "NaN or infinite")},
    {"one NaN among good values", "tests written with '<'", FRESH(one_nan, "1 of 18 elements")},
    {"0 where infinity is expected", "older ORT comparer",
     FRESH(zero_for_infinity, "NaN or infinite on one side")},
    {"-infinity where +infinity is expected", "", FRESH(other_infinity, "on one side only")},
    {"infinity where a number is expected", "", FRESH(infinity_for_a_number, "on one side only")},
    {"half precision overflows to infinity", "", FRESH(half_overflows, "on one side only")},
    {"NaN throughout on both sides", "", FRESH(nan_on_both_sides, "NaN on both sides")},
    {"a head is missing", "Polygraphy", FRESH(head_missing, "gave no such output")},
    {"a head is missing that nothing refers to", "",
     FRESH(head_missing_unreferenced, "head 'bid': the runtime gave no such output")},
    {"a head is never compared", "particleflow, MIGraphX accuracy_checker",
     FRESH(head_without_reference, "no reference for it")},
    {"a head is compared with the export's own precision alone", "",
     FRESH(same_precision_alone, "head 'bid': the case holds no reference for it")},
    {"an output that the manifest does not know", "",
     FRESH(head_of_nobody, "not among the manifest's heads")},
    {"right by one reference, wrong by the other", "",
     FRESH(second_reference_differs, "against f64")},
    {"three samples against one", "Polygraphy", FRESH(three_for_one, "shape is")},
    {"a column against a row", "numpy, by broadcasting", FRESH(column_for_a_row, "shape is")},
    {"no samples at all", "Polygraphy", FRESH(no_samples, "no valid element")},
    {"every position is masked", "", FRESH(everything_masked, "nothing was compared")},
    {"every position is masked, and padding is not zero", "",
     FRESH(everything_masked_but_garbage, "not +0")},
    {"every position is masked, of a graph that promises nothing", "",
     FRESH(everything_masked_of_others, "no valid element")},
    {"integers where floats are expected", "Polygraphy", FRESH(integers_for_floats, "type is")},
    {"float64 where float32 is expected", "", FRESH(double_for_float, "type is")},
    {"the smallest int32 against 0", "Polygraphy", FRESH(int_min, "not equal")},
    {"int64 wrong by one", "trtexec", FRESH(int64_off_by_one, "not equal")},
    {"int64 wrong by one beyond 2^53", "comparers that convert",
     FRESH(int64_beyond_double, "not equal")},
    {"a bool flipped", "trtexec", FRESH(bool_flipped, "not equal")},
    {"float16 off by a quarter", "", FRESH(half_off, "over tolerance")},
    {"one element wrong by 5 among a million", "Polygraphy, trtexec by their means",
     FRESH(one_in_a_million, "1 of 1000000 elements over tolerance")},
    {"999 of 1000 wrong, one large and exact", "MIGraphX by its RMS",
     FRESH(one_large_and_exact, "999 of 1000 elements over tolerance")},
    {"a constant wrong by one bit", "", FRESH(constant_off_by_a_bit, "not equal")},
    {"a constant zero of another sign", "", FRESH(constant_of_another_sign, "another sign")},
    {"one element just over its tolerance", "", FRESH(just_over, "1 of 18 elements over")},
    {"a class changes by more than the tolerance", "", FRESH(class_changes, "head 'bid'")},
    {"garbage at padding", "", FRESH(garbage_at_padding, "not +0")},
    {"-0 at padding", "", FRESH(minus_zero_at_padding, "not +0")},
    {"NaN at padding", "", FRESH(nan_at_padding, "not +0")},
};
const size_t selftest_n_number_cases = sizeof selftest_number_cases / sizeof *selftest_number_cases;
