#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "base/file.h"
#include "checkpoint/pickle_globals.h"

static void judges_globals_by_name(void **state) {
  (void)state;
  static const struct {
    const char *module, *name;
    assay_pickle_safety safety;
  } rows[] = {
      {"collections", "OrderedDict", ASSAY_PICKLE_KNOWN},
      {"torch._utils", "_rebuild_tensor_v2", ASSAY_PICKLE_KNOWN},
      {"torch", "FloatStorage", ASSAY_PICKLE_KNOWN},
      {"torch.storage", "UntypedStorage", ASSAY_PICKLE_KNOWN},
      {"torch", "float8_e4m3fn", ASSAY_PICKLE_KNOWN},
      {"numpy._core.multiarray", "scalar", ASSAY_PICKLE_KNOWN},
      {"numpy.core.multiarray", "_reconstruct", ASSAY_PICKLE_KNOWN},
      {"__builtin__", "set", ASSAY_PICKLE_KNOWN},
      {"_codecs", "encode", ASSAY_PICKLE_KNOWN},
      {"mlpf.conf", "MLPFConfig", ASSAY_PICKLE_KNOWN},
      {"torch.nn.modules.linear", "Linear", ASSAY_PICKLE_UNKNOWN},
      {"my_project.model", "Net", ASSAY_PICKLE_UNKNOWN},
      {"collections", "OrderedDictionary", ASSAY_PICKLE_UNKNOWN},
      {"os", "system", ASSAY_PICKLE_DANGEROUS},
      {"posix", "system", ASSAY_PICKLE_DANGEROUS},
      {"nt", "system", ASSAY_PICKLE_DANGEROUS},
      {"builtins", "eval", ASSAY_PICKLE_DANGEROUS},
      {"builtins", "exec", ASSAY_PICKLE_DANGEROUS},
      {"__builtin__", "__import__", ASSAY_PICKLE_DANGEROUS},
      {"subprocess", "Popen", ASSAY_PICKLE_DANGEROUS},
      {"socket", "socket", ASSAY_PICKLE_DANGEROUS},
      {"runpy", "run_path", ASSAY_PICKLE_DANGEROUS},
      {"_codecs", "decode", ASSAY_PICKLE_DANGEROUS},
      {"urllib.request", "urlopen", ASSAY_PICKLE_DANGEROUS},
      {"torch.hub", "load", ASSAY_PICKLE_DANGEROUS},
      {"argparse", "Namespace", ASSAY_PICKLE_KNOWN},
      {"types", "SimpleNamespace", ASSAY_PICKLE_KNOWN},
      {"types", "CodeType", ASSAY_PICKLE_DANGEROUS},
      {"numpy", "memmap", ASSAY_PICKLE_DANGEROUS},
      {"numpy", "fromfile", ASSAY_PICKLE_DANGEROUS},
      {"torch.serialization", "_get_layout", ASSAY_PICKLE_KNOWN},
      {"torch.serialization", "save", ASSAY_PICKLE_DANGEROUS},
      {"torch.fx.graph_module", "reduce_graph_module", ASSAY_PICKLE_DANGEROUS},
      {"torch._ops", "load_library", ASSAY_PICKLE_DANGEROUS},
      {"torch.storage", "_load_from_bytes", ASSAY_PICKLE_DANGEROUS},
      {"site", "addsitedir", ASSAY_PICKLE_DANGEROUS},
      {"pip", "main", ASSAY_PICKLE_DANGEROUS},
      {"pip._internal.cli", "main", ASSAY_PICKLE_DANGEROUS},
      {"pipeline.model", "Stage", ASSAY_PICKLE_UNKNOWN}, /* of somebody's own */
      {"selection", "Cuts", ASSAY_PICKLE_UNKNOWN},
      {"test.model", "Net", ASSAY_PICKLE_UNKNOWN},
      {"multiprocessing.pool", "Pool", ASSAY_PICKLE_DANGEROUS},
      {"http.client", "HTTPConnection", ASSAY_PICKLE_DANGEROUS},
      {"urllib2", "urlopen", ASSAY_PICKLE_DANGEROUS},
      {"logging", "FileHandler", ASSAY_PICKLE_DANGEROUS},
      {"logging", "getLogger", ASSAY_PICKLE_UNKNOWN},
      {"itertools", "imap", ASSAY_PICKLE_DANGEROUS},
      {"itertools", "count", ASSAY_PICKLE_UNKNOWN},
      {"mlpf.conf", "os.system", ASSAY_PICKLE_DANGEROUS},
      {"collections", "OrderedDict.fromkeys", ASSAY_PICKLE_DANGEROUS},
      {"my_project.train", "Trainer.Mode", ASSAY_PICKLE_UNKNOWN}, /* a class in a class */
      {"my_project.train", "Trainer.os.system", ASSAY_PICKLE_DANGEROUS},
      {"my_project.train", "Trainer.", ASSAY_PICKLE_DANGEROUS},
      {"my_project.train", ".Trainer", ASSAY_PICKLE_DANGEROUS},
      {"subprocess", "Popen.Mode", ASSAY_PICKLE_DANGEROUS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_pickle_safety found = assay_pickle_safety_of(rows[i].module, rows[i].name);
    if (found != rows[i].safety) {
      fail_msg("%s.%s: expected %d, found %d", rows[i].module, rows[i].name, rows[i].safety, found);
    }
  }
}

static void open_pickle(const char *path, assay_pickle **out) {
  assay_buf bytes = {0};
  assay_error err = {0};
  assay_status st = assay_file_read(path, 1 << 20, &bytes, &err);
  if (!st) st = assay_pickle_parse(bytes.data, bytes.size_bytes, NULL, out, &err);
  if (st) fail_msg("%s", err.text);
  assay_buf_reset(&bytes);
}

static const assay_pickle_global_use *find(const assay_pickle_globals *globals, const char *name) {
  for (size_t i = 0; i < globals->n; i++) {
    if (strcmp(globals->items[i].name, name) == 0) return &globals->items[i];
  }
  fail_msg("'%s' is not listed", name);
  return NULL;
}

static void lists_what_a_harmful_pickle_names(void **state) {
  (void)state;
  assay_pickle *pickle = NULL;
  assay_pickle_globals globals = {0};
  open_pickle("testdata/odd/eval.pkl", &pickle);
  assert_int_equal(assay_pickle_globals_init(pickle, &globals, NULL), ASSAY_OK);
  assert_int_equal(globals.n, 4);
  assert_int_equal(find(&globals, "eval")->safety, ASSAY_PICKLE_DANGEROUS);
  assert_int_equal(find(&globals, "getattr")->safety, ASSAY_PICKLE_DANGEROUS);
  assert_int_equal(find(&globals, "os.system")->safety, ASSAY_PICKLE_DANGEROUS);
  assert_int_equal(find(&globals, "nothing")->n, 1);
  assay_pickle_globals_reset(&globals);
  assay_pickle_destroy(pickle);
}

static void getattr_of_an_enum_member_is_harmless(void **state) {
  (void)state;
  assay_pickle *pickle = NULL;
  assay_pickle_globals globals = {0};
  open_pickle("testdata/odd/members.pkl", &pickle);
  assert_int_equal(assay_pickle_globals_init(pickle, &globals, NULL), ASSAY_OK);
  assert_int_equal(find(&globals, "getattr")->safety, ASSAY_PICKLE_KNOWN);
  assert_int_equal(find(&globals, "getattr")->n, 2);
  for (size_t i = 0; i < globals.n; i++) {
    assert_int_equal(globals.items[i].safety, ASSAY_PICKLE_KNOWN);
  }
  assay_pickle_globals_reset(&globals);
  assay_pickle_destroy(pickle);
}

/* Paths and torch's types are known, and have methods that write files: named by getattr they are
 * nothing yet, called they are. */
static void getattr_of_what_is_called_is_dangerous(void **state) {
  (void)state;
#define TOUCH "cbuiltins\ngetattr\n(cpathlib\nPosixPath\nVtouch\ntR"
  static const struct {
    const char *bytes;
    assay_pickle_safety safety;
  } rows[] = {
      {TOUCH ".", ASSAY_PICKLE_KNOWN},
      {TOUCH "(Vx\ntR.", ASSAY_PICKLE_DANGEROUS},
      {TOUCH ")\x81.", ASSAY_PICKLE_DANGEROUS},
      {TOUCH "VX\nVY\ns.", ASSAY_PICKLE_DANGEROUS},
      {"ctorch._tensor\n_rebuild_from_type_v2\n(" TOUCH "ctorch\nTensor\n(tNtR.",
       ASSAY_PICKLE_DANGEROUS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_pickle *pickle = NULL;
    assay_pickle_globals globals = {0};
    assay_error err = {0};
    if (assay_pickle_parse(rows[i].bytes, strlen(rows[i].bytes), NULL, &pickle, &err))
      fail_msg("%zu: %s", i, err.text);
    assert_int_equal(assay_pickle_globals_init(pickle, &globals, NULL), ASSAY_OK);
    if (find(&globals, "getattr")->safety != rows[i].safety) fail_msg("row %zu", i);
    assay_pickle_globals_reset(&globals);
    assay_pickle_destroy(pickle);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(judges_globals_by_name),
      cmocka_unit_test(lists_what_a_harmful_pickle_names),
      cmocka_unit_test(getattr_of_an_enum_member_is_harmless),
      cmocka_unit_test(getattr_of_what_is_called_is_dangerous),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
