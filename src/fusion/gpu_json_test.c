/* Tests of gpu_json.c: the samples with one thing changed, cut and with each line lost. Damage of
 * other sorts is tried in fusion_test.c. */
#include "fusion/gpu_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"

#define PASS    ASSAY_FUSION_PASS
#define FAIL    ASSAY_FUSION_FAIL
#define UNKNOWN ASSAY_FUSION_UNKNOWN

#define FUSED "testdata/gpu_json/rocprofv3-7-results-2x3-mlir.json"

static assay_buf sample; /* two fused attention operations in each of three calls */

static int set_up(void **state) {
  (void)state;
  return assay_file_read(FUSED, 1 << 20, &sample, NULL) ? -1 : 0;
}

static int tear_down(void **state) {
  (void)state;
  assay_buf_reset(&sample);
  return 0;
}

static assay_fusion judge(const assay_buf *text, int64_t pid) {
  assay_fusion_source source = {.name = "x", .bytes = text->data, .size_bytes = text->size_bytes};
  assay_fusion_spec spec = {
      .sources = &source, .n_sources = 1, .expect_fused = 2, .n_calls = 3, .pid = pid};
  assay_fusion f = {0};
  assay_error err = {0};
  if (assay_fusion_judge(&spec, &f, &err)) fail_msg("%s", err.text);
  return f;
}

/* The sample with the n-th `from` (from 0) as `to`. */
static assay_buf changed(const char *from, int nth, const char *to) {
  assay_buf out = {0};
  const char *text = assay_buf_text(&sample), *at = strstr(text, from);
  for (int i = 0; i < nth && at != NULL; i++) at = strstr(at + 1, from);
  if (at == NULL) fail_msg("no '%s' in the sample", from);
  assert_int_equal(assay_buf_append(&out, text, (size_t)(at - text), NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&out, to, NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&out, at + strlen(from), NULL), ASSAY_OK);
  return out;
}

static void the_sample_with_one_thing_changed(void **state) {
  static const struct {
    const char *from;
    int nth;
    const char *to;
    int64_t pid;
    assay_fusion_verdict verdict;
    const char *reason;
  } rows[] = {
      {"", 0, "", 0, PASS, ""},
      {"", 0, " \n", 4242, PASS, ""},
      {"", 0, "", 4243, FAIL, "no kernel of that process"},
      {"\"summary\": [", 0, "\"summary\": [],\"more\": [", 0, PASS, ""},
      {"\"agents\": [", 0, "\"other\": [", 0, PASS, ""},
      {"\"buffer_records\": [", 0, "\"other\": [", 0, PASS, ""},
      {"\"mean\": 600.0", 0, "\"mean\": NaN", 0, PASS, ""},
      {"\"mean\": 600.0", 0, "\"mean\": -Infinity", 0, PASS, ""},
      {"\"mean\": 600.0", 0, "\"mean\": Nan", 0, UNKNOWN, "cut or damaged"},
      {"\"count\": 15", 0, "\"count\": 16", 0, UNKNOWN, "another number of dispatches"},
      {"\"pid\": 4242", 0, "\"pid\": \"4242\"", 0, UNKNOWN, "whose it is"},
      {"\"kernel_id\": 2,\n\"dispatch_id\": 3", 0, "\"kernel_id\": 1,\n\"dispatch_id\": 3", 0,
       UNKNOWN, "found 5 fused"},
      {"\"kernel_id\": 2,\n\"dispatch_id\": 3", 0, "\"kernel_id\": 9,\n\"dispatch_id\": 3", 0,
       UNKNOWN, "kernel that is not listed"},
      {"\"dispatch_id\": 3", 0, "\"dispatch_id\": 4", 0, UNKNOWN, "3 is not there"},
      {"\"dispatch_id\": 15", 0, "\"dispatch_id\": 17", 0, UNKNOWN, "is not there"},
      {"\"dispatch_id\": 3", 0, "\"dispatch_id\": 18446744073709551615", 0, UNKNOWN,
       "without its kernel, its number"},
      {"\"start_timestamp\": 5000", 0, "\"start_timestamp\": 500", 0, UNKNOWN, "outside the time"},
      {"\"end_timestamp\": 5600", 0, "\"end_timestamp\": 99999", 0, UNKNOWN, "outside the time"},
      {"\"end_timestamp\": 5600", 0, "\"end_timestamp\": 4999", 0, UNKNOWN, "a time that can be"},
      {"\"handle\": 2\n},\n\"queue_id\"", 0, "\"handle\": 1\n},\n\"queue_id\"", 0, UNKNOWN,
       "no GPU of this profile"},
      {"\"kind\": 4", 0, "\"kind\": 3", 0, UNKNOWN, "another kind"},
      {"\"kind\": 4", 0, "\"kind\": 40", 0, UNKNOWN, "another kind"},
      {"\"kernel_id\": 2", 0, "\"kernel_id\": 1", 0, UNKNOWN, "two kernels of one number"},
      {"\"kernel_name\": \"mlir_dot_add.kd\"", 0, "\"kernel_name\": \"mlir_dot.kd\"", 0, UNKNOWN,
       "under two names"},
      {"\"metadata\": {", 0, "\"metadata\": {\"pid\": 4242,", 0, UNKNOWN, "cut or damaged"},
      {"\"rocprofiler-sdk-tool\": [", 0, "\"rocprofiler-sdk-tool\": [{\"metadata\":{\"pid\":4}},",
       0, PASS, ""},
      {"\"rocprofiler-sdk-tool\": [", 0, "\"rocprofiler-sdk-tool\": [7,", 0, UNKNOWN,
       "whose it is"},
      {"\"kernel_dispatch\": [", 0, "\"kernel_dispatch\": [],\"x\": [", 0, FAIL, "no kernel"},
      {"\"kernel_dispatch\": [", 0, "\"kernel_dispatch\": [null,", 0, UNKNOWN,
       "without its kernel"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf text = changed(rows[i].from, rows[i].nth, rows[i].to);
    assay_fusion f = judge(&text, rows[i].pid);
    if (f.verdict != rows[i].verdict || strstr(f.reason, rows[i].reason) == NULL)
      fail_msg("row %zu, '%s': %s '%s', expected %s '%s'", i, rows[i].to,
               assay_fusion_verdict_name(f.verdict), f.reason,
               assay_fusion_verdict_name(rows[i].verdict), rows[i].reason);
    assay_fusion_reset(&f);
    assay_buf_reset(&text);
  }
}

static void names_kernels_and_the_process(void **state) {
  (void)state;
  assay_fusion f = judge(&sample, 0);
  assert_int_equal(f.sources[0].pid, 4242);
  assert_string_equal(f.sources[0].format, "JSON");
  assert_int_equal(f.n_fused, 6);
  assert_int_equal(f.n_kernels, 4);
  assert_string_equal(f.kernels[0].name, "__amd_rocclr_copyBuffer.kd");
  assert_int_equal(f.kernels[2].family, ASSAY_KERNEL_MLIR);
  assert_int_equal(f.kernels[2].n, 6);
  assert_int_equal(f.kernels[2].line, 3);
  assert_string_equal(f.kernels[3].name, "add_layer(float*, float*) [clone .kd]");
  assay_fusion_reset(&f);
}

/* Another run's process beside it, and its dispatches among ours. */
static void two_runs_in_one_file_are_unknown(void **state) {
  const char *text = assay_buf_text(&sample), *open = strchr(text, '['),
             *close = strrchr(text, ']');
  const size_t head = (size_t)(open + 1 - text), body = (size_t)(close - open - 1);
  (void)state;
  for (int same_pid = 0; same_pid < 2; same_pid++) {
    assay_buf both = {0};
    assert_int_equal(assay_buf_append(&both, text, head + body, NULL), ASSAY_OK);
    assert_int_equal(assay_buf_append_text(&both, ",", NULL), ASSAY_OK);
    size_t second = both.size_bytes;
    assert_int_equal(assay_buf_append(&both, open + 1, body, NULL), ASSAY_OK);
    assert_int_equal(assay_buf_append_text(&both, "]}\n", NULL), ASSAY_OK);
    if (!same_pid) memcpy(strstr((char *)both.data + second, "4242"), "4243", 4);
    assay_fusion f = judge(&both, 0);
    assert_int_equal(f.verdict, UNKNOWN);
    assay_fusion_reset(&f);
    f = judge(&both, 4242);
    assert_int_equal(f.verdict, same_pid ? UNKNOWN : PASS);
    assay_fusion_reset(&f);
    assay_buf_reset(&both);
  }
}

static void cut_anywhere_it_is_unknown(void **state) {
  (void)state;
  for (size_t n = 64; n + 2 < sample.size_bytes; n += n < sample.size_bytes - 200 ? 101 : 1) {
    assay_buf text = {0};
    assert_int_equal(assay_buf_append(&text, sample.data, n, NULL), ASSAY_OK);
    assay_fusion f = judge(&text, 0);
    if (f.verdict != UNKNOWN) fail_msg("cut at %zu: %s", n, f.reason);
    assay_fusion_reset(&f);
    assay_buf_reset(&text);
  }
}

/* Lines that nothing rests on may go; the count of dispatches and of fused ones must stay. */
static void a_lost_line_is_never_a_wrong_pass(void **state) {
  const char *text = assay_buf_text(&sample);
  (void)state;
  for (size_t from = 0, to; from < sample.size_bytes; from = to) {
    assay_buf less = {0};
    to = from + strcspn(text + from, "\n") + 1;
    assert_int_equal(assay_buf_append(&less, text, from, NULL), ASSAY_OK);
    assert_int_equal(assay_buf_append_text(&less, text + to, NULL), ASSAY_OK);
    assay_fusion f = judge(&less, 0);
    if (f.verdict == PASS && (f.n_fused != 6 || f.sources[0].pid != 4242))
      fail_msg("without '%.*s': a wrong pass", (int)(to - from - 1), text + from);
    assay_fusion_reset(&f);
    assay_buf_reset(&less);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sample_with_one_thing_changed),
      cmocka_unit_test(names_kernels_and_the_process),
      cmocka_unit_test(two_runs_in_one_file_are_unknown),
      cmocka_unit_test(cut_anywhere_it_is_unknown),
      cmocka_unit_test(a_lost_line_is_never_a_wrong_pass),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
