/* Tests of caches.c: what goes where, and what is in it. */
#include "campaign/caches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/test_folder.h"

static test_folder folder; /* of all tests; main opens it */

static void set(assay_settings *settings, const char *key, const char *value) {
  assert_int_equal(assay_settings_set(settings, key, value, NULL), ASSAY_OK);
}

static const char *value_of(const assay_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->n; i++)
    if (strcmp(settings->items[i].key, key) == 0) return settings->items[i].value;
  return NULL;
}

static void each_case_has_folders_of_its_own(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool kept;
    const char *key, *want;
  } cases[] = {
      {"migraphx_model_cache_dir", true, "case-a", "/named/case-a"},
      {"migraphx_model_cache_dir", true, "case-b", "/named/case-b"},
      {"migraphx_model_cache_dir", false, "case-a", "/fresh/migraphx_model_cache_dir"},
      {"ORT_MIGRAPHX_MODEL_CACHE_PATH", true, "case-a", "/named/case-a"},
      {"ORT_MIGRAPHX_MODEL_CACHE_PATH", false, "case-a", "/fresh/ORT_MIGRAPHX_MODEL_CACHE_PATH"},
      {"cache_dir", false, "case-a", "/fresh/cache_dir"},
      {"trt_engine_cache_path", true, "case-a", "/named/case-a"},
      {"device_type", true, "case-a", "/named"},
      {"device_type", false, "case-a", "/named"},
  };
  for (size_t i = 0; i < N_OF(cases); i++) {
    const assay_runtime_spec runtime = {.caches_kept = cases[i].kept};
    assay_settings settings = {0};
    set(&settings, cases[i].name, "/named");
    assert_int_equal(assay_caches_place(&runtime, "/fresh", cases[i].key, &settings, NULL),
                     ASSAY_OK);
    assert_string_equal(value_of(&settings, cases[i].name), cases[i].want);
    assay_settings_reset(&settings);
  }
}

/* Nothing, and unset, name no folder. */
static void what_names_nothing_is_left_alone(void **state) {
  (void)state;
  assay_runtime_spec runtime = {0};
  set(&runtime.options, "cache_dir", "");
  set(&runtime.env, "ORT_MIGRAPHX_MODEL_CACHE_PATH", NULL);
  assert_false(assay_caches_are_named(&runtime));
  assert_int_equal(assay_caches_place(&runtime, "/fresh", "key", &runtime.options, NULL), ASSAY_OK);
  assert_string_equal(value_of(&runtime.options, "cache_dir"), "");
  set(&runtime.options, "cache_dir", "here");
  assert_true(assay_caches_are_named(&runtime));
  assay_settings_reset(&runtime.options);
  assay_settings_reset(&runtime.env);
}

static void what_is_in_them_is_counted_before_and_after(void **state) {
  (void)state;
  assay_settings options = {0};
  assay_result_caches caches = {0};
  char place[1024], below[1100];
  snprintf(place, sizeof place, "%s", test_folder_file(&folder, "cache"));
  snprintf(below, sizeof below, "%s/below", place);
  set(&options, "cache_dir", place);
  set(&options, "device_type", "CPU");
  assert_int_equal(assay_caches_make(&options, NULL), ASSAY_OK);
  assert_int_equal(assay_caches_before(&options, &caches, NULL), ASSAY_OK);
  assert_int_equal(caches.n, 1);
  assert_string_equal(caches.items[0].name, "cache_dir");
  assert_string_equal(assay_result_caches_word(&caches), "cold");
  assert_int_equal(assay_folder_create(below, NULL), ASSAY_OK);
  snprintf(below, sizeof below, "%s/below/program.blob", place);
  assert_int_equal(assay_file_write(below, "1234567", 7, NULL), ASSAY_OK);
  assay_caches_after(&options, &caches);
  assert_int_equal(caches.items[0].n_files_before, 0);
  assert_int_equal(caches.items[0].n_files_after, 1);
  assert_int_equal(caches.items[0].bytes_after, 7);
  assay_result_caches_reset(&caches);

  assert_int_equal(assay_caches_before(&options, &caches, NULL), ASSAY_OK);
  assert_int_equal(caches.items[0].bytes_before, 7);
  assert_string_equal(assay_result_caches_word(&caches), "warm");
  assay_result_caches_reset(&caches);
  assay_settings_reset(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_case_has_folders_of_its_own),
      cmocka_unit_test(what_names_nothing_is_left_alone),
      cmocka_unit_test(what_is_in_them_is_counted_before_and_after),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
