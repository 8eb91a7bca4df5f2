/* Profiles and logs of real runtimes, read by both derivations: they must agree on every figure.
 * The files are those of evidence/testdata; each is also cut at many places and put beside the logs
 * of others, where both must doubt. */
#include "verify/verify_placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "evidence/placement.h"
#include "verify/verify_trace.h"

#define TESTDATA "../evidence/testdata/"

static test_folder folder; /* of all tests; main opens it */

static void put(const char *path, const assay_buf *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes->data, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

static assay_verdict verdict_of(assay_placement_verdict verdict) {
  return verdict == ASSAY_PLACEMENT_PASS   ? ASSAY_VERDICT_PASS
         : verdict == ASSAY_PLACEMENT_FAIL ? ASSAY_VERDICT_FAIL
                                           : ASSAY_VERDICT_UNKNOWN;
}

#define SAME(member)                                                                               \
  if ((int64_t)judged.member != derived.figures.member)                                            \
  fail_msg("%s: " #member ": %lld by the evidence, %lld derived", what, (long long)judged.member,  \
           (long long)derived.figures.member)

/* Judges the first n bytes of profile beside the first m of log, both ways. */
static assay_verdict compare(const char *what, const assay_buf *profile, size_t n,
                             const assay_buf *log, size_t m, const char *provider, size_t n_runs) {
  char profile_path[600], log_path[600];
  snprintf(profile_path, sizeof profile_path, "%s/profile.json", folder.path);
  snprintf(log_path, sizeof log_path, "%s/log.txt", folder.path);
  put(profile_path, profile, n);
  put(log_path, log, m);
  assay_placement_spec spec = {.profile_path = profile_path,
                               .log_path = log_path,
                               .provider = provider,
                               .n_runs = n_runs,
                               .max_copies = -1};
  assay_verify_policy policy = {.provider = provider, .n_runs = (int64_t)n_runs, .max_copies = -1};
  assay_placement judged = {0};
  assay_verify_placement derived = {0};
  assert_int_equal(assay_placement_judge(&spec, &judged, NULL), ASSAY_OK);
  assert_int_equal(
      assay_verify_placement_derive(&policy, profile->data, n, log->data, m, &derived, NULL),
      ASSAY_OK);
  if (verdict_of(judged.verdict) != derived.figures.verdict)
    fail_msg("%s: %s by the evidence (%s), %s derived (%s)", what,
             assay_placement_verdict_name(judged.verdict), judged.reason,
             assay_verdict_name(derived.figures.verdict),
             derived.doubt != NULL ? derived.doubt : "no doubt");
  SAME(n_compute);
  SAME(n_on_provider);
  SAME(n_compiled);
  SAME(n_copies);
  SAME(copied_bytes);
  SAME(n_control_flow);
  SAME(n_allowed);
  SAME(n_model_runs);
  SAME(log_agrees);
  SAME(repaired);
  assert_int_equal(judged.n_counts, derived.figures.n_counts);
  for (size_t i = 0; i < judged.n_counts; i++) {
    assert_string_equal(judged.counts[i].provider, derived.figures.counts[i].provider);
    assert_string_equal(judged.counts[i].op, derived.figures.counts[i].op);
    assert_int_equal(judged.counts[i].n_nodes, derived.figures.counts[i].n_nodes);
    assert_int_equal(judged.counts[i].n_events, derived.figures.counts[i].n_events);
    assert_int_equal(judged.counts[i].duration_us, derived.figures.counts[i].duration_us);
  }
  assert_int_equal(judged.n_offenders, derived.figures.n_offenders);
  for (size_t i = 0; i < judged.n_offenders; i++)
    assert_string_equal(judged.offenders[i], derived.figures.offenders[i]);
  assay_verdict verdict = derived.figures.verdict;
  assay_placement_reset(&judged);
  assay_verify_placement_reset(&derived);
  return verdict;
}

static size_t calls_in(const assay_buf *profile) {
  assay_verify_trace trace = {0};
  if (assay_verify_trace_parse(profile->data, profile->size_bytes, &trace, NULL)) return 1;
  size_t n = trace.n_model_runs;
  assay_verify_trace_reset(&trace);
  return n;
}

static const char *const providers[] = {"CPUExecutionProvider", "WebGpuExecutionProvider",
                                        "OpenVINOExecutionProvider"};

typedef void (*each_pair)(const char *what, const assay_buf *profile, const assay_buf *log);

/* Every profile beside every log. */
static void for_pairs(each_pair each) {
  assay_names profiles = {0}, logs = {0};
  assert_int_equal(assay_folder_list(TESTDATA "profile", &profiles, NULL), ASSAY_OK);
  assert_int_equal(assay_folder_list(TESTDATA "placement_log", &logs, NULL), ASSAY_OK);
  assert_true(profiles.n >= 10 && logs.n >= 8);
  for (size_t i = 0; i < profiles.n; i++)
    for (size_t k = 0; k < logs.n; k++) {
      char path[256], what[300];
      snprintf(path, sizeof path, TESTDATA "profile/%s", profiles.items[i]);
      assay_buf profile = test_file_read(path);
      snprintf(path, sizeof path, TESTDATA "placement_log/%s", logs.items[k]);
      assay_buf log = test_file_read(path);
      snprintf(what, sizeof what, "%s with %s", profiles.items[i], logs.items[k]);
      each(what, &profile, &log);
      assay_buf_reset(&profile);
      assay_buf_reset(&log);
    }
  assay_names_reset(&profiles);
  assay_names_reset(&logs);
}

static size_t n_passed;

static void compare_whole(const char *what, const assay_buf *profile, const assay_buf *log) {
  size_t n_runs = calls_in(profile);
  for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++)
    n_passed += compare(what, profile, profile->size_bytes, log, log->size_bytes, providers[i],
                        n_runs) == ASSAY_VERDICT_PASS;
  compare(what, profile, profile->size_bytes, log, log->size_bytes, providers[0], n_runs + 1);
}

static void agrees_on_every_profile_with_every_log(void **state) {
  (void)state;
  n_passed = 0;
  for_pairs(compare_whole);
  assert_true(n_passed >= 2); /* profiles beside their own logs */
}

static void agrees_on_profiles_cut_anywhere(void **state) {
  (void)state;
  assay_buf profile = test_file_read(TESTDATA "profile/cpu-1.32.0-mix17-3runs.json");
  assay_buf log = test_file_read(TESTDATA "placement_log/cpu-1.32.0-mix17-3runs.log");
  assert_int_equal(compare("whole", &profile, profile.size_bytes, &log, log.size_bytes,
                           "CPUExecutionProvider", 3),
                   ASSAY_VERDICT_PASS);
  for (size_t n = 0; n < profile.size_bytes - 2; n += n + 300 < profile.size_bytes ? 3001 : 17)
    assert_int_equal(compare("cut", &profile, n, &log, log.size_bytes, "CPUExecutionProvider", 3),
                     ASSAY_VERDICT_UNKNOWN);
  assay_buf_reset(&profile);
  assay_buf_reset(&log);
}

static void agrees_on_logs_cut_anywhere(void **state) {
  (void)state;
  assay_buf profile = test_file_read(TESTDATA "profile/dnnl-1.23.2-mix17.json");
  assay_buf log = test_file_read(TESTDATA "placement_log/dnnl-1.23.2-mix17.log");
  for (size_t m = 0; m <= log.size_bytes; m += 173)
    compare("cut log", &profile, profile.size_bytes, &log, m, "DnnlExecutionProvider",
            calls_in(&profile));
  assay_buf_reset(&profile);
  assay_buf_reset(&log);
}

/* A bit of many a byte flipped: nothing crashes, hangs or reads beyond the end. */
static void survives_flipped_bits(void **state) {
  (void)state;
  assay_buf profile = test_file_read(TESTDATA "profile/cpu-1.20.1-cf-2runs.json");
  assay_buf log = test_file_read(TESTDATA "placement_log/cpu-1.20.1-cf-2runs.log");
  assay_verify_policy policy = {.provider = "CPUExecutionProvider", .n_runs = 2, .max_copies = -1};
  for (size_t i = 0; i < profile.size_bytes; i += 97) {
    assay_verify_placement derived = {0};
    profile.data[i] ^= 4;
    assert_int_equal(assay_verify_placement_derive(&policy, profile.data, profile.size_bytes,
                                                   log.data, log.size_bytes, &derived, NULL),
                     ASSAY_OK);
    assay_verify_placement_reset(&derived);
    profile.data[i] ^= 4;
  }
  assay_buf_reset(&profile);
  assay_buf_reset(&log);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_on_every_profile_with_every_log),
      cmocka_unit_test(agrees_on_profiles_cut_anywhere),
      cmocka_unit_test(agrees_on_logs_cut_anywhere),
      cmocka_unit_test(survives_flipped_bits),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
