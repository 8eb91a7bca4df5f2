#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "checkpoint/pickle_describe.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static void values_are_described(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *line;
  } rows[] = {
      {BYTES("N."), "None"},
      {BYTES("I01\n."), "True"},
      {BYTES("I00\n."), "False"},
      {BYTES("K\7."), "7"},
      {BYTES("L99999999999999999999L\n."), "99999999999999999999"},
      {BYTES("F0.1\n."), "0.1"},
      {BYTES("F0.30000000000000004\n."), "0.30000000000000004"},
      {BYTES("Fnan\n."), "nan"},
      {BYTES("F-inf\n."), "-inf"},
      {BYTES("cbuiltins\ncomplex\n(K\1F-2\ntR."), "1-2j"},
      {BYTES("U\3a\x1b"
             "b."),
       "'a\\x1bb'"},
      {BYTES("C\3abc."), "bytes of 3"},
      {BYTES("]."), "list of 0"},
      {BYTES("(NNt."), "tuple of 2"},
      {BYTES("}NNs."), "dict of 1"},
      {BYTES("ccollections\nOrderedDict\n)RNNs."), "OrderedDict of 1"},
      {BYTES("ctorch\nSize\n((K\1K\2ttR."), "Size of 2"},
      {BYTES("\x8f."), "set of 0"},
      {BYTES("ctorch\nfloat32\n."), "torch.float32"},
      {BYTES("ctorch\ndevice\n(U\4cudaK\1tR."), "cuda:1"},
      {BYTES("ctorch\ndevice\n(U\3cputR."), "cpu"},
      {BYTES("cmlpf.conf\nActivation\n(U\3elutR."), "elu"},
      {BYTES("cos\nsystem\n(U\2lstR."), "object of os.system"},
      {BYTES("cm\nf\n)R)R."), "object"},
      {BYTES("NQ."), "persistent id"},
      {BYTES("cnumpy\ndtype\n(U\2f8I00\nI01\ntR."), "<f8"},
      {BYTES("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n("
             "U\2f8I00\nI01\ntRC\10\0\0\0\0\0\0\4\x40tR."),
       "2.5 (numpy <f8)"},
      {BYTES("cnumpy.core.multiarray\nscalar\n)R."), "? (numpy ?)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    char line[128];
    if (assay_pickle_parse(rows[i].bytes, rows[i].n, NULL, &pickle, &err)) fail_msg("%s", err.text);
    assay_pickle_describe(assay_pickle_root(pickle), line, sizeof line);
    if (strcmp(line, rows[i].line) != 0) fail_msg("expected %s, found %s", rows[i].line, line);
    assay_pickle_destroy(pickle);
  }
}

static void long_texts_are_cut(void **state) {
  (void)state;
  assay_pickle *pickle = NULL;
  char line[16];
  assert_int_equal(assay_pickle_parse(BYTES("U\x20"
                                            "01234567890123456789012345678901."),
                                      NULL, &pickle, NULL),
                   ASSAY_OK);
  assay_pickle_describe(assay_pickle_root(pickle), line, sizeof line);
  assert_int_equal(strlen(line), 15);
  assert_string_equal(line + 12, "...");
  assay_pickle_destroy(pickle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_described),
      cmocka_unit_test(long_texts_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
