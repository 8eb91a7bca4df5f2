/* Naming nodes that would run on the CPU, on a library that opens any session
 * (runtime/testdata/fake_ort.c) and a log that is there already. */
#include "campaign/fallback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_folder.h"

#define LINE "[0|onnxruntime||session_state.cc:1 VerifyEachNodeIsAssignedToAnEp] "

static test_folder folder;

static int set_up(void **state) {
  (void)state;
  test_folder_open(&folder);
  return setenv("FAKE_ORT_PROVIDERS", "WebGpuExecutionProvider,CPUExecutionProvider", 1);
}

static int tear_down(void **state) {
  (void)state;
  test_folder_close(&folder);
  return 0;
}

static void knows_the_runtimes_words(void **state) {
  (void)state;
  assert_true(assay_fallback_was_refused(
      "This session contains graph nodes that are assigned to the default CPU EP, but fallback to "
      "CPU EP has been explicitly disabled by the user."));
  assert_false(assay_fallback_was_refused("Protobuf parsing failed."));
}

static void names_the_nodes_as_far_as_they_fit(void **state) {
  (void)state;
  static const struct {
    const char *log, *said; /* part of the error where it begins with '!' */
    size_t out_bytes;
  } cases[] = {
      {LINE "Node placements\n" LINE
            " Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1\n" LINE
            "  MatMul (m)\n" LINE
            " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2\n" LINE
            "  Attention (a)\n" LINE "  Elu (e/1)\n",
       "2 of 3 nodes would run on CPUExecutionProvider: Attention 'a', Elu 'e/1'", 512},
      {LINE "Node placements\n" LINE
            " Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 1\n" LINE
            "  MatMul (m)\n" LINE
            " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2\n" LINE
            "  Attention (a)\n" LINE "  Elu (e/1)\n",
       "2 of 3 nodes would run on CPUExecutionProvider: Attention 'a' and 1 more", 96},
      {LINE "Node placements\n" LINE
            " All nodes placed on [CPUExecutionProvider]. Number of nodes: 4\n",
       "4 of 4 nodes would run on CPUExecutionProvider", 512},
      {LINE "Node placements\n" LINE
            " All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 4\n",
       "!places no node on the CPU", 512},
      {"nothing\n", "!places no node on the CPU", 512},
  };
  char model[1024], log[1024];
  assay_ort *ort = NULL;
  snprintf(model, sizeof model, "%s", test_folder_file(&folder, "model.onnx"));
  snprintf(log, sizeof log, "%s", test_folder_file(&folder, "log.txt"));
  assert_int_equal(assay_file_write(model, "x", 1, NULL), ASSAY_OK);
  assert_int_equal(assay_ort_open(TEST_LIBRARY, NULL, &ort, NULL), ASSAY_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[512] = "";
    assay_error err = {0};
    assay_ort_session_spec spec = {.model_path = model, .provider = "webgpu", .verbose = true};
    assert_int_equal(assay_file_write(log, cases[i].log, strlen(cases[i].log), NULL), ASSAY_OK);
    assay_status st = assay_fallback_name(ort, &spec, log, out, cases[i].out_bytes, &err);
    bool failing = cases[i].said[0] == '!';
    if (failing ? st != ASSAY_E_FORMAT || strstr(err.text, cases[i].said + 1) == NULL
                : st != ASSAY_OK || strcmp(out, cases[i].said) != 0)
      fail_msg("row %zu: '%s' %s", i, out, err.text);
  }
  assay_ort_close(ort);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_the_runtimes_words),
      cmocka_unit_test(names_the_nodes_as_far_as_they_fit),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
