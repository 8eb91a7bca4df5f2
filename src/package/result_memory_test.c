/* The memory of a run: what is written reads the same, and what is wrong is refused. */
#include "package/result_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"

#define NONE ASSAY_RESULT_NONE

static void fill_activity(assay_result_memory_activity *activity, const char *idle) {
  *activity = (assay_result_memory_activity){
      .used_bytes = 5,
      .busy_percent = NONE,
      .n_processes = 2,
      .is_whole = true,
      .idle = assay_strdup(idle),
      .used_reason = assay_strdup(""),
      .busy_reason = assay_strdup("why \"not\""),
      .processes_reason = assay_strdup(""),
      .processes = assay_alloc_array(2, sizeof *activity->processes),
      .n_listed = 2,
  };
  activity->processes[0] = (assay_result_memory_process){41, 4096, assay_strdup("train")};
  activity->processes[1] = (assay_result_memory_process){42, NONE, assay_strdup("")};
}

/* Every member set, with and without what may be absent. */
static void fill(assay_result_memory *m) {
  *m = (assay_result_memory){.known = true,
                             .interval_ns = 10000000,
                             .start_ns = 123456789,
                             .n_rows = 7,
                             .n_missed = 1,
                             .n_dropped = 2,
                             .max_late_ns = 99,
                             .session_ns = 200000000,
                             .warm_ns = 300000000,
                             .rss_meaning = assay_strdup("pages"),
                             .rss_slack_bytes = NONE,
                             .n_columns = 2,
                             .n_devices = 1,
                             .n_absent = 1};
  m->columns = assay_alloc_array(2, sizeof *m->columns);
  m->columns[0] = (assay_result_memory_column){.name = assay_strdup("rss_bytes"),
                                               .reason = assay_strdup("it ended"),
                                               .n_values = 6,
                                               .n_baseline = 1,
                                               .n_first = 2,
                                               .baseline_bytes = 1000,
                                               .peak_first_bytes = 900, /* below it */
                                               .peak_warm_bytes = NONE,
                                               .peak_bytes = INT64_MAX,
                                               .high_water_bytes = 0};
  m->columns[1] = (assay_result_memory_column){.name = assay_strdup("used_bytes@0000:c1:00.0"),
                                               .device = assay_strdup("0000:c1:00.0"),
                                               .baseline_bytes = NONE,
                                               .peak_first_bytes = 7,
                                               .peak_warm_bytes = NONE,
                                               .peak_bytes = 7,
                                               .high_water_bytes = NONE};
  m->devices = assay_alloc_array(1, sizeof *m->devices);
  m->devices[0] = (assay_result_memory_device){.key = assay_strdup("0000:c1:00.0"),
                                               .source = assay_strdup("nvml"),
                                               .name = assay_strdup("H"),
                                               .uuid = assay_strdup(""),
                                               .driver = assay_strdup("570"),
                                               .meaning = assay_strdup("v2"),
                                               .total_bytes = 100};
  fill_activity(&m->devices[0].before, "no");
  fill_activity(&m->devices[0].after, "unknown");
  m->absent = assay_alloc_array(1, sizeof *m->absent);
  m->absent[0] = (assay_result_memory_absence){assay_strdup("amd"), assay_strdup("none here")};
}

/* As JSON text, in an object of its own. */
static void write_text(const assay_result_memory *m, assay_buf *out) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_result_memory_put(m, b);
  assay_json_end(b);
  assert_int_equal(assay_json_builder_finish(b, out, NULL), ASSAY_OK);
  assay_json_builder_destroy(b);
}

static assay_status read_text(const char *text, assay_result_memory *out, assay_error *err) {
  assay_json *root = NULL;
  ASSAY_TRY(assay_json_parse(text, strlen(text), &root, err));
  assay_status st = assay_result_memory_read(root, out, err);
  assay_json_destroy(root);
  return st;
}

static void what_is_written_reads_the_same(void **state) {
  assay_result_memory written = {0}, read = {0};
  assay_buf first = {0}, second = {0};
  assay_error err = {0};
  (void)state;
  fill(&written);
  write_text(&written, &first);
  if (read_text(assay_buf_text(&first), &read, &err)) fail_msg("%s", err.text);
  write_text(&read, &second);
  assert_string_equal(assay_buf_text(&second), assay_buf_text(&first));
  assert_int_equal(read.columns[0].peak_warm_bytes, NONE);
  assert_int_equal(read.columns[0].high_water_bytes, 0);
  assert_int_equal(read.end_ns, 0);
  assert_int_equal(read.devices[0].before.processes[1].used_bytes, NONE);
  assert_ptr_equal(assay_result_memory_find(&read, "rss_bytes"), &read.columns[0]);
  assert_null(assay_result_memory_find(&read, "vram"));
  int64_t above = 0;
  assert_true(assay_result_memory_above(&read.columns[0], 900, &above));
  assert_int_equal(above, -100);
  assert_false(assay_result_memory_above(&read.columns[1], 7, &above));
  assay_buf_reset(&first);
  assay_buf_reset(&second);
  assay_result_memory_reset(&written);
  assay_result_memory_reset(&read);
}

static void nothing_sampled_is_null(void **state) {
  assay_result_memory none = {0};
  assay_buf text = {0};
  (void)state;
  write_text(&none, &text);
  assert_string_equal(assay_buf_text(&text), "{\n  \"memory\": null\n}\n");
  assert_int_equal(read_text(assay_buf_text(&text), &none, NULL), ASSAY_OK);
  assert_false(none.known);
  assay_buf_reset(&text);
}

/* The text with the first `from` replaced. */
static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  return assay_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void what_is_wrong_is_refused_by_name(void **state) {
  const struct {
    const char *from, *to, *words;
  } rows[] = {
      {"\"n_missed\": 1", "\"n_missed\": -1", "n_missed"},
      {"\"n_missed\": 1", "\"n_missed\": null", "n_missed"},
      {"\"n_missed\": 1,", "", "n_missed"},
      {"\"n_missed\": 1", "\"n_missed\": 1, \"surprise\": 1", "surprise"},
      {"\"interval_ns\": 10000000", "\"interval_ns\": 0", "interval_ns"},
      {"\"session_ns\": 200000000", "\"session_ns\": 0", "session_ns"},
      {"a lower bound", "exact", "peak_rule"},
      {"\"rss_slack_bytes\": null", "\"rss_slack_bytes\": -1", "rss_slack_bytes"},
      {"\"baseline_bytes\": 1000", "\"baseline_bytes\": 1001", "first_above_bytes"},
      {"\"first_above_bytes\": -100", "\"first_above_bytes\": null", "first_above_bytes"},
      {"\"warm_above_bytes\": null", "\"warm_above_bytes\": 1", "warm_above_bytes"},
      {"\"device\": \"0000:c1:00.0\"", "\"device\": \"0000:c2:00.0\"", "no device '0000:c2:00.0'"},
      {"\"idle\": \"no\"", "\"idle\": \"maybe\"", "expected yes, no or unknown"},
      {"\"busy_percent\": null", "\"busy_percent\": \"0\"", "busy_percent"},
      {"\"pid\": 41", "\"pid\": -41", "devices[0]: processes[0]"},
      {"\"reason\": \"none here\"", "\"reason\": 1", "absent[0]"},
  };
  assay_result_memory m = {0};
  assay_buf text = {0};
  (void)state;
  fill(&m);
  write_text(&m, &text);
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_result_memory read = {0};
    assay_error err = {0};
    char *wrong = replaced(assay_buf_text(&text), rows[i].from, rows[i].to);
    assay_status st = read_text(wrong, &read, &err);
    if (st != ASSAY_E_FORMAT || strstr(err.text, rows[i].words) == NULL)
      fail_msg("row %zu: %s: %s", i, assay_status_name(st), err.text);
    assay_result_memory_reset(&read);
    assay_free(wrong);
  }
  assay_buf_reset(&text);
  assay_result_memory_reset(&m);
}

static void out_of_memory_at_any_step_is_said(void **state) {
  assay_result_memory m = {0};
  assay_buf text = {0};
  assay_status st = ASSAY_E_MEMORY;
  int64_t n = 0;
  (void)state;
  fill(&m);
  write_text(&m, &text);
  for (; st == ASSAY_E_MEMORY; n++) {
    assay_result_memory read = {0};
    assay_json *root = NULL;
    assert_int_equal(assay_json_parse(assay_buf_text(&text), text.size_bytes, &root, NULL),
                     ASSAY_OK);
    assay_alloc_fail_after(n);
    st = assay_result_memory_read(root, &read, NULL);
    assay_alloc_fail_after(-1);
    assay_result_memory_reset(&read);
    assay_json_destroy(root);
  }
  assert_int_equal(st, ASSAY_OK);
  assert_true(n > 20);
  assay_buf_reset(&text);
  assay_result_memory_reset(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_the_same),
      cmocka_unit_test(nothing_sampled_is_null),
      cmocka_unit_test(what_is_wrong_is_refused_by_name),
      cmocka_unit_test(out_of_memory_at_any_step_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
