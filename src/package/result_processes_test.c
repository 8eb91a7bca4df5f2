/* A timing that was repeated: what is written reads the same, and what is wrong is refused. */
#include "package/result_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"

static void fill(assay_result_processes *p) {
  *p = (assay_result_processes){.known = true,
                                .n = 3,
                                .outputs_identical = true,
                                .p50_min_ns = 1000.5,
                                .p50_max_ns = 1100,
                                .p50_spread = 0.0994502748625687,
                                .others = assay_alloc_array(2, sizeof *p->others),
                                .n_others = 2};
  for (size_t i = 0; i < 2; i++) {
    p->others[i] = (assay_result_other){.folder = assay_format("process-%zu", i + 2),
                                        .session_create_ns = 5,
                                        .first_run_ns = 6,
                                        .elapsed_ns = 7,
                                        .max_rss_bytes = 8,
                                        .min_ns = 900,
                                        .max_ns = 1200,
                                        .p50_ns = 1100,
                                        .outputs_identical = i == 0};
    memset(p->others[i].outputs_sha256, 'a', 64);
  }
}

static void write_text(const assay_result_processes *p, assay_buf *out) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_result_processes_put(p, b);
  assay_json_end(b);
  assert_int_equal(assay_json_builder_finish(b, out, NULL), ASSAY_OK);
  assay_json_builder_destroy(b);
}

static assay_status read_text(const char *text, assay_result_processes *out, assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_parse(text, strlen(text), &root, err));
  assay_status st = assay_result_processes_read(root, out, err);
  assay_json_destroy(root);
  return st;
}

static void check_round(const assay_result_processes *written) {
  assay_result_processes read = {0};
  assay_buf first = {0}, second = {0};
  assay_error err = {0};
  write_text(written, &first);
  if (read_text(assay_buf_text(&first), &read, &err)) fail_msg("%s", err.text);
  write_text(&read, &second);
  assert_string_equal(assay_buf_text(&second), assay_buf_text(&first));
  assay_result_processes_reset(&read);
  assay_buf_reset(&first);
  assay_buf_reset(&second);
}

static void what_is_written_reads_the_same(void **state) {
  (void)state;
  assay_result_processes p = {0};
  check_round(&p);
  fill(&p);
  check_round(&p);
  assay_result_processes_reset(&p);
}

static void what_is_wrong_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"{}", "'processes'"},
      {"{\"processes\": 3}", "'processes'"},
      {"{\"processes\": {}}", "'n'"},
      {"{\"processes\": {\"n\": 2, \"outputs_identical\": true, \"p50_min_ns\": 1, \"p50_max_ns\": "
       "1, \"p50_spread\": 0, \"others\": []}}",
       "one less than 'n'"},
      {"{\"processes\": {\"n\": 1, \"outputs_identical\": true, \"p50_min_ns\": 1, \"p50_max_ns\": "
       "1, \"p50_spread\": 0, \"others\": []}}",
       "one less than 'n'"},
      {"{\"processes\": {\"n\": 2, \"outputs_identical\": true, \"p50_min_ns\": 1, \"p50_max_ns\": "
       "1, \"p50_spread\": 0, \"others\": [{\"folder\": \"../x\"}]}}",
       "others[0]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assay_result_processes p = {0};
    assay_error err = {0};
    assay_status st = read_text(cases[i].text, &p, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, cases[i].part) == NULL)
      fail_msg("%s: %s: %s", cases[i].text, assay_status_name(st), err.text);
    assay_result_processes_reset(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_the_same),
      cmocka_unit_test(what_is_wrong_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
