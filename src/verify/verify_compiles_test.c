/* Tests of verify_compiles.c: it counts what evidence/compiles.h counts, by a path of its own, in
 * logs of every order of lines. */
#include "verify/verify_compiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "evidence/compiles.h"

static const char *const lines[] = {
    "[1|assay|worker|stage] session\n",
    "[1|assay|worker|stage] first_run\n",
    "[1|assay|worker|stage] timing\n",
    "[1|assay|worker|stage] load_library\n",
    "[2|onnxruntime|assay|x.cc:1 f] Model Compile: Begin\n",
    "[1|onnxruntime|assay|x.cc:1 f] [OpenVINO-EP] Loaded model to the plugin\n",
    "[2|x|y|z] Model Compile: Begin Model Compile: Begin\n",
    "[1|assay|worker|stage] first_run too\n",
    "\n",
};

static void assert_agreement(const char *log, size_t n, const char *provider, bool placement) {
  char *exact = malloc(n > 0 ? n : 1); /* of this size, so that a sanitiser sees the end */
  assay_compiles want;
  assert_non_null(exact);
  if (n > 0) memcpy(exact, log, n);
  assay_compiles_parse(exact, n, provider, placement, &want);
  assay_result_compiles got = assay_verify_compiles_derive(
      provider, placement ? ASSAY_RESULT_PLACEMENT : ASSAY_RESULT_TIMING, exact, n);
  if (got.known != want.visible || got.session != (int64_t)want.n_session ||
      got.first != (int64_t)want.n_first || got.later != (int64_t)want.n_later)
    fail_msg("derived %d %lld %lld %lld, judged %d %zu %zu %zu of: %.*s", got.known,
             (long long)got.session, (long long)got.first, (long long)got.later, want.visible,
             want.n_session, want.n_first, want.n_later, (int)n, log);
  free(exact);
}

static void logs_of_any_order_are_counted_alike(void **state) {
  (void)state;
  static const char *const providers[] = {"MIGraphXExecutionProvider", "OpenVINOExecutionProvider",
                                          "CPUExecutionProvider"};
  unsigned seed = 7;
  for (size_t i = 0; i < 3000; i++) {
    char log[1024] = "";
    for (int k = 0; k < 8; k++) {
      seed = seed * 1103515245u + 12345u;
      strcat(log, lines[(seed >> 16) % N_OF(lines)]);
    }
    seed = seed * 1103515245u + 12345u;
    size_t n = strlen(log) - (i % 2 ? (seed >> 16) % 60 : 0);
    assert_agreement(log, n, providers[i % N_OF(providers)], (seed >> 9) % 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(logs_of_any_order_are_counted_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
