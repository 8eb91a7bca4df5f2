/* WHAT=A|B: as typed, and as it changes a runtime. */
#include "campaign/vary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char *value_of(const assay_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, key) == 0) return settings->items[i].value;
  return "absent";
}

static void applied(const char *text, size_t side, assay_runtime_spec *out) {
  assay_vary vary = {0};
  assert_int_equal(assay_runtime_spec_parse("cpu", out, NULL), ASSAY_OK);
  assert_int_equal(assay_vary_parse(text, &vary, NULL), ASSAY_OK);
  assert_int_equal(assay_vary_apply(&vary, side, out, NULL), ASSAY_OK);
  assay_vary_reset(&vary);
}

static void changes_one_thing_and_names_the_side(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  applied("session:graph_optimization_level=0|99", 0, &spec);
  assert_int_equal(spec.graph_optimization_level, 0);
  assert_string_equal(spec.name, "a");
  assert_string_equal(spec.label, "cpu, session:graph_optimization_level=0");
  assay_runtime_spec_reset(&spec);
  applied("session:session.disable_prepacking=0|1", 1, &spec);
  assert_string_equal(value_of(&spec.config, "session.disable_prepacking"), "1");
  assert_string_equal(spec.name, "b");
  assay_runtime_spec_reset(&spec);
  applied("provider-option:sdpa_kernel=1|16", 1, &spec);
  assert_string_equal(value_of(&spec.options, "sdpa_kernel"), "16");
  assay_runtime_spec_reset(&spec);
  applied("library=/x.so|/y.so", 1, &spec);
  assert_string_equal(spec.library, "/y.so");
  assay_runtime_spec_reset(&spec);
  applied("session:memory_arena=true|false", 1, &spec);
  assert_true(spec.no_memory_arena);
  assay_runtime_spec_reset(&spec);
}

static void a_variable_may_be_empty_or_unset(void **state) {
  (void)state;
  assay_runtime_spec spec = {0};
  applied("env:MIGRAPHX_MLIR_USE_SPECIFIC_OPS=attention|!attention", 1, &spec);
  assert_string_equal(value_of(&spec.env, "MIGRAPHX_MLIR_USE_SPECIFIC_OPS"), "!attention");
  assay_runtime_spec_reset(&spec);
  applied("env:X=|(unset)", 0, &spec);
  assert_string_equal(value_of(&spec.env, "X"), "");
  assay_runtime_spec_reset(&spec);
  applied("env:X=|(unset)", 1, &spec);
  assert_null(value_of(&spec.env, "X"));
  assay_runtime_spec_reset(&spec);
}

static void refuses_values_that_a_session_does_not_take(void **state) {
  (void)state;
  static const char *const bad[] = {
      "session:graph_optimization_level=0|7",
      "session:intra_threads=1|0",
      "session:memory_arena=true|yes",
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assay_vary vary = {0};
    assay_runtime_spec spec = {0};
    assert_int_equal(assay_runtime_spec_parse("cpu", &spec, NULL), ASSAY_OK);
    assert_int_equal(assay_vary_parse(bad[i], &vary, NULL), ASSAY_OK);
    assert_int_equal(assay_vary_apply(&vary, 1, &spec, NULL), ASSAY_E_ARGUMENT);
    assay_vary_reset(&vary);
    assay_runtime_spec_reset(&spec);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_one_thing_and_names_the_side),
      cmocka_unit_test(a_variable_may_be_empty_or_unset),
      cmocka_unit_test(refuses_values_that_a_session_does_not_take),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
