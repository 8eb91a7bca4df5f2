/* Comparisons derived by verify's own path against those of measure/compare.c, on thousands of
 * small arrays of every type with values that are easy to get wrong. */
#include "verify/verify_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "measure/compare.h"

#define B     2
#define N     5
#define K     3
#define ELEMS ((size_t)B * N * K)

typedef struct dice {
  uint64_t seed;
} dice;

static unsigned roll(dice *d, unsigned below) {
  d->seed = d->seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(d->seed >> 33) % below;
}

/* Values that classes, signs and roundings depend on. */
static double draw(dice *d, bool odd) {
  static const double values[] = {0,      -0.0, 1,      1.0005,  -1,       1e-40, 1e30, 65504,
                                  -65520, 1e-3, 2.5e-8, 0x1p-14, 0x1p-126, 3,     7,    1000};
  if (odd && roll(d, 12) == 0) {
    static const double rest[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    return rest[roll(d, 3)];
  }
  return values[roll(d, sizeof values / sizeof values[0])];
}

static void set(assay_tensor *t, size_t i, double value) {
  bool finite = isfinite(value);
  switch (t->dtype) {
  case ASSAY_DTYPE_F32:
    ((float *)t->data)[i] = (float)value;
    return;
  case ASSAY_DTYPE_F64:
    ((double *)t->data)[i] = value;
    return;
  case ASSAY_DTYPE_F16:
    ((uint16_t *)t->data)[i] = assay_f16_of_f32((float)value);
    return;
  case ASSAY_DTYPE_BF16:
    ((uint16_t *)t->data)[i] = assay_bf16_of_f32((float)value);
    return;
  case ASSAY_DTYPE_I64:
    ((int64_t *)t->data)[i] = finite && fabs(value) < 1e18 ? (int64_t)value : INT64_MIN;
    return;
  case ASSAY_DTYPE_U64:
    ((uint64_t *)t->data)[i] = finite && fabs(value) < 1e18 ? (uint64_t)fabs(value) : UINT64_MAX;
    return;
  case ASSAY_DTYPE_I32:
    ((int32_t *)t->data)[i] = finite && fabs(value) < 1e9 ? (int32_t)value : INT32_MIN;
    return;
  default:
    ((uint8_t *)t->data)[i] = value != 0;
  }
}

/* One head "y" [B,N,K] of a case, with a mask or without. */
typedef struct scene {
  assay_package package;
  assay_package_tolerance tolerance;
  assay_manifest manifest;
  assay_manifest_tensor head;
  assay_tensor_map arrays, outputs;
  float valid[B * N];
  char mask_name[8], architecture[8], head_name[4];
} scene;

static assay_tensor *add(assay_tensor_map *map, const char *name, assay_dtype dtype, int rank,
                         const int64_t *dims) {
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, dtype, rank, dims, NULL), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(map, name, &t, NULL), ASSAY_OK);
  return assay_tensor_map_find(map, name);
}

static void close_scene(scene *s) {
  assay_tensor_map_reset(&s->arrays);
  assay_tensor_map_reset(&s->outputs);
}

static void open_scene(scene *s, dice *d, assay_dtype got_dtype, assay_dtype want_dtype) {
  static const int64_t dims[] = {B, N, K};
  *s = (scene){.mask_name = "mask", .architecture = "toy", .head_name = "y"};
  s->head = (assay_manifest_tensor){.name = s->head_name, .atol = 1e-3, .rtol = 3e-3};
  bool is_float = assay_dtype_is_float(got_dtype);
  s->head.kind = roll(d, 4) == 0          ? ASSAY_HEAD_CONSTANT
                 : is_float && roll(d, 2) ? ASSAY_HEAD_CLASSES
                                          : ASSAY_HEAD_REGRESSION;
  s->manifest.heads = &s->head;
  s->manifest.n_heads = 1;
  if (roll(d, 3)) s->manifest.mask_input = s->mask_name;
  if (roll(d, 2)) s->manifest.architecture = s->architecture;
  if (roll(d, 4) == 0) {
    s->tolerance = (assay_package_tolerance){.has_atol = true, .atol = 0.5};
    s->package.tolerances = &s->tolerance;
    s->package.n_tolerances = 1;
  }
  assay_tensor *mask = add(&s->arrays, "mask", ASSAY_DTYPE_F32, 2, dims);
  for (size_t i = 0; i < (size_t)B * N; i++)
    s->valid[i] = ((float *)mask->data)[i] = roll(d, 4) ? 1.0f : 0.0f;
  assay_tensor *got = add(&s->outputs, "y", got_dtype, 3, dims);
  assay_tensor *want = add(&s->arrays, "ref.user.y", want_dtype, 3, dims);
  bool odd = roll(d, 3) == 0, near = roll(d, 2) == 0;
  for (size_t i = 0; i < ELEMS; i++) {
    double value = draw(d, odd);
    set(want, i, value);
    set(got, i, near && roll(d, 8) ? value : draw(d, odd));
    if (near && is_float && roll(d, 4) == 0) set(got, i, value * (1 + 1e-3 * roll(d, 5)));
    bool padding = s->manifest.mask_input != NULL && s->valid[i / K] == 0;
    if (padding && roll(d, 10)) set(got, i, 0);
  }
}

static void widen(const assay_tensor *want, assay_tensor *out) {
  assert_int_equal(assay_tensor_init(out, ASSAY_DTYPE_F64, want->rank, want->dims, NULL), ASSAY_OK);
  for (size_t i = 0; i < want->n_elems; i++)
    assay_tensor_f64(out)[i] = assay_tensor_get_real(want, i);
}

static assay_compare_result published(scene *s) {
  const assay_tensor *got = assay_tensor_map_find(&s->outputs, "y");
  const assay_tensor *want = assay_tensor_map_find(&s->arrays, "ref.user.y");
  assay_tensor wide = {0};
  assay_compare_result r = {0};
  assay_error err = {0};
  bool masked = s->manifest.mask_input != NULL, asked = s->package.n_tolerances > 0;
  bool narrow = got->dtype == ASSAY_DTYPE_F16 || got->dtype == ASSAY_DTYPE_BF16;
  assay_compare_spec spec = {.atol = asked ? 0.5 : 1e-3,
                             .rtol = 3e-3,
                             .classes = s->head.kind == ASSAY_HEAD_CLASSES,
                             .exact = s->head.kind == ASSAY_HEAD_CONSTANT,
                             .tolerant_integers = asked,
                             .valid = masked ? s->valid : NULL,
                             .n_positions = masked ? (size_t)B * N : 0,
                             .zero_at_padding = masked && s->manifest.architecture != NULL};
  if (narrow && want->dtype == ASSAY_DTYPE_F32) widen(want, &wide);
  if (assay_compare_run(&spec, got, wide.data != NULL ? &wide : want, &r, &err))
    fail_msg("%s", err.text);
  assay_tensor_reset(&wide);
  return r;
}

static assay_result_point point_of(assay_compare_point p) {
  return (assay_result_point){p.index, p.got, p.want};
}

/* As campaign/judge.c fills it in. */
static void fill(const assay_compare_result *r, assay_result_comparison *out) {
#define COUNT(member) out->member = (int64_t)r->member
#define REAL(member)  out->member = r->member
#define POINT(member) out->member = point_of(r->member)
  out->passed = r->passed;
  snprintf(out->reason, sizeof out->reason, "%s", r->reason);
  REAL(same_shape);
  REAL(same_dtype);
  COUNT(n_compared);
  COUNT(n_finite_pairs);
  COUNT(n_class_mismatch);
  POINT(first_class_mismatch);
  COUNT(n_nonfinite_got);
  COUNT(n_nonfinite_want);
  COUNT(n_nan_got);
  COUNT(n_nan_want);
  COUNT(n_denormal_got);
  COUNT(n_denormal_want);
  REAL(max_abs);
  POINT(max_abs_at);
  REAL(mae);
  REAL(rmse);
  REAL(rel_l2);
  REAL(max_tol_multiple);
  POINT(max_tol_at);
  COUNT(n_over);
  REAL(needed_atol);
  REAL(needed_rtol);
  COUNT(n_argmax);
  COUNT(n_argmax_changed);
  COUNT(n_argmax_changed_over);
  REAL(argmax_changed_max_margin);
  COUNT(n_padding);
  COUNT(n_padding_not_zero);
  POINT(first_padding_not_zero);
  REAL(padding_max_abs);
#undef COUNT
#undef REAL
#undef POINT
}

static void compare(scene *s, const char *what) {
  const assay_compare_result r = published(s);
  const assay_tensor *got = assay_tensor_map_find(&s->outputs, "y");
  char head[] = "y", reference[] = "user", kind[32], reason[256];
  snprintf(kind, sizeof kind, "%s", assay_head_kind_name(s->head.kind));
  assay_result_comparison c = {.head = head,
                               .reference = reference,
                               .kind = kind,
                               .gate = true,
                               .atol = s->package.n_tolerances > 0 ? 0.5 : 1e-3,
                               .rtol = 3e-3};
  assay_shape_text(got->dims, got->rank, c.shape, sizeof c.shape);
  snprintf(c.dtype, sizeof c.dtype, "%s", assay_dtype_name(got->dtype));
  fill(&r, &c);
  snprintf(reason, sizeof reason, "head 'y' against user: %s", c.reason);
  assay_result result = {.comparisons = &c,
                         .n_comparisons = 1,
                         .numbers = c.passed ? ASSAY_VERDICT_PASS : ASSAY_VERDICT_FAIL,
                         .numbers_reason = c.passed ? NULL : reason};
  assay_verify_numbers derived = {0};
  assay_verify_findings findings;
  assay_verify_findings_init(&findings);
  assay_verify_place at = {.findings = &findings, .file = "result.json"};
  assert_int_equal(assay_verify_numbers_derive(&s->package, &s->manifest, &s->arrays, &s->outputs,
                                               &derived, NULL),
                   ASSAY_OK);
  assay_verify_numbers_check(&at, &result, &derived);
  if (findings.n > 0)
    fail_msg("%s: %s: derived %s, published %s (%s)", what, findings.problems[0].what,
             findings.problems[0].expected, findings.problems[0].found, c.reason);
  assert_true(findings.n_figures > 40 || !c.same_dtype);
  assay_verify_findings_destroy(&findings);
  assay_verify_numbers_reset(&derived);
}

static void agrees_on_arrays_of_every_type(void **state) {
  (void)state;
  static const struct {
    assay_dtype got, want;
  } types[] = {{ASSAY_DTYPE_F32, ASSAY_DTYPE_F32}, {ASSAY_DTYPE_F32, ASSAY_DTYPE_F64},
               {ASSAY_DTYPE_F64, ASSAY_DTYPE_F64}, {ASSAY_DTYPE_F16, ASSAY_DTYPE_F32},
               {ASSAY_DTYPE_F16, ASSAY_DTYPE_F16}, {ASSAY_DTYPE_BF16, ASSAY_DTYPE_F64},
               {ASSAY_DTYPE_I64, ASSAY_DTYPE_I64}, {ASSAY_DTYPE_U64, ASSAY_DTYPE_U64},
               {ASSAY_DTYPE_I32, ASSAY_DTYPE_I32}, {ASSAY_DTYPE_BOOL, ASSAY_DTYPE_BOOL},
               {ASSAY_DTYPE_F32, ASSAY_DTYPE_I64}, {ASSAY_DTYPE_F64, ASSAY_DTYPE_F32}};
  dice d = {.seed = 7};
  for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
    for (int i = 0; i < 400; i++) {
      scene s;
      char what[64];
      snprintf(what, sizeof what, "%s against %s, %d", assay_dtype_name(types[k].got),
               assay_dtype_name(types[k].want), i);
      open_scene(&s, &d, types[k].got, types[k].want);
      compare(&s, what);
      close_scene(&s);
    }
}

/* Nothing of one figure can be changed without being noticed: the smallest step of each. */
static void notices_one_step_of_every_exact_figure(void **state) {
  (void)state;
  dice d = {.seed = 11};
  scene s;
  open_scene(&s, &d, ASSAY_DTYPE_F32, ASSAY_DTYPE_F32);
  const assay_compare_result r = published(&s);
  assay_verify_numbers derived = {0};
  assert_int_equal(
      assay_verify_numbers_derive(&s.package, &s.manifest, &s.arrays, &s.outputs, &derived, NULL),
      ASSAY_OK);
  char head[] = "y", reference[] = "user", kind[32];
  snprintf(kind, sizeof kind, "%s", assay_head_kind_name(s.head.kind));
  assay_result_comparison right = derived.comparisons[0].figures;
  right.head = head;
  right.reference = reference;
  right.kind = kind;
  fill(&r, &right);
#define STEP(member, change)                                                                       \
  do {                                                                                             \
    assay_result_comparison c = right;                                                             \
    assay_result result = {.comparisons = &c, .n_comparisons = 1, .numbers = derived.verdict};     \
    assay_verify_findings findings;                                                                \
    assay_verify_findings_init(&findings);                                                         \
    assay_verify_place at = {.findings = &findings, .file = "result.json"};                        \
    c.member = change(c.member);                                                                   \
    assay_verify_numbers_check(&at, &result, &derived);                                            \
    bool noticed = false;                                                                          \
    for (size_t i = 0; i < findings.n; i++)                                                        \
      noticed = noticed || strstr(findings.problems[i].what, "]." #member) != NULL;                \
    if (!noticed) fail_msg(#member " was changed, and nothing said so");                           \
    assay_verify_findings_destroy(&findings);                                                      \
  } while (0)
#define NEXT(x)  ((x) + 1)
#define ABOVE(x) (isinf(x) ? 1 : nextafter((x), HUGE_VAL))
#define MORE(x)  ((x) == 0 ? 1e-12 : isinf(x) ? 1 : (x) * (1 + 1e-13))
#define NOT(x)   (!(x))
  STEP(n_compared, NEXT);
  STEP(n_finite_pairs, NEXT);
  STEP(n_class_mismatch, NEXT);
  STEP(first_class_mismatch.index, NEXT);
  STEP(n_nonfinite_got, NEXT);
  STEP(n_nonfinite_want, NEXT);
  STEP(n_nan_got, NEXT);
  STEP(n_nan_want, NEXT);
  STEP(n_denormal_got, NEXT);
  STEP(n_denormal_want, NEXT);
  STEP(n_over, NEXT);
  STEP(n_argmax, NEXT);
  STEP(n_argmax_changed, NEXT);
  STEP(n_argmax_changed_over, NEXT);
  STEP(n_padding, NEXT);
  STEP(n_padding_not_zero, NEXT);
  STEP(first_padding_not_zero.index, NEXT);
  STEP(max_abs_at.index, NEXT);
  STEP(max_abs_at.got, ABOVE);
  STEP(max_abs_at.want, ABOVE);
  STEP(max_tol_at.index, NEXT);
  STEP(max_abs, ABOVE);
  STEP(max_tol_multiple, ABOVE);
  STEP(atol, ABOVE);
  STEP(rtol, ABOVE);
  STEP(argmax_changed_max_margin, MORE);
  STEP(padding_max_abs, MORE);
  STEP(mae, MORE);
  STEP(rmse, MORE);
  STEP(rel_l2, MORE);
  STEP(needed_atol, MORE);
  STEP(needed_rtol, MORE);
  STEP(passed, NOT);
  STEP(gate, NOT);
  STEP(same_shape, NOT);
  STEP(same_dtype, NOT);
  assay_verify_numbers_reset(&derived);
  close_scene(&s);
}

static void shapes_are_never_broadcast(void **state) {
  (void)state;
  static const int64_t row[] = {5}, column[] = {5, 1};
  scene s = {.head_name = "y"};
  s.head = (assay_manifest_tensor){.name = s.head_name};
  s.manifest.heads = &s.head;
  s.manifest.n_heads = 1;
  add(&s.arrays, "ref.f32.y", ASSAY_DTYPE_F32, 1, row);
  add(&s.outputs, "y", ASSAY_DTYPE_F32, 2, column);
  assay_verify_numbers derived = {0};
  assert_int_equal(
      assay_verify_numbers_derive(&s.package, &s.manifest, &s.arrays, &s.outputs, &derived, NULL),
      ASSAY_OK);
  assert_int_equal(derived.verdict, ASSAY_VERDICT_FAIL);
  assert_false(derived.comparisons[0].figures.same_shape);
  assay_verify_numbers_reset(&derived);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_on_arrays_of_every_type),
      cmocka_unit_test(notices_one_step_of_every_exact_figure),
      cmocka_unit_test(shapes_are_never_broadcast),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
