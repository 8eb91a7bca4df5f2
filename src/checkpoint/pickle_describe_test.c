#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "checkpoint/pickle_describe.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

/* A numpy scalar's pickle up to its bytes. */
#define SCALAR(code) "cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(V" code "\nI00\nI01\ntR"

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
      {BYTES(SCALAR("i8") "C\10\1\0\0\0\0\0\0\x40tR."), "4611686018427387905 (numpy <i8)"},
      {BYTES(SCALAR("u8") "C\10\xff\xff\xff\xff\xff\xff\xff\xfftR."),
       "18446744073709551615 (numpy <u8)"},
      {BYTES(SCALAR("u4") "C\4\xff\xff\xff\xfftR."), "4294967295 (numpy <u4)"},
      {BYTES(SCALAR("b1") "C\1\1tR."), "True (numpy <b1)"},
      {BYTES(SCALAR("c8") "C\10\0\0\x80\x3f\0\0\0\xc0tR."), "1-2j (numpy <c8)"},
      {BYTES(SCALAR("c16") "C\20\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\x40tR."), "1.5+2j (numpy <c16)"},
      {BYTES(
           "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\0tU\1btR(K\1(K\2K\3tcnumpy\n"
           "dtype\n(U\2f4I00\nI01\ntRI00\nU\0tb."),
       "numpy array <f4 [2,3]"},
      {BYTES("cnumpy.core.multiarray\n_reconstruct\n)R."), "numpy array"},
      {BYTES("X\3\0\0\0a\0b."), "'a\\x00b'"},
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

/* What is not shown is said, so that no beginning passes for the whole. */
static void long_texts_and_integers_end_in_dots(void **state) {
  (void)state;
  char digits[600], line[1024];
  memset(digits, '7', sizeof digits - 1);
  digits[sizeof digits - 1] = '\0';
  for (size_t i = 0; i < 2; i++) {
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    char bytes[1024], wanted[1024];
    int n = i == 0 ? snprintf(bytes, sizeof bytes, "L%sL\n.", digits)
                   : snprintf(bytes, sizeof bytes, "V%s\n.", digits);
    if (assay_pickle_parse(bytes, (size_t)n, NULL, &pickle, &err)) fail_msg("%s", err.text);
    assay_pickle_describe(assay_pickle_root(pickle), line, sizeof line);
    snprintf(wanted, sizeof wanted, i == 0 ? "%.400s..." : "'%.400s'...", digits);
    assert_string_equal(line, wanted);
    assay_pickle_destroy(pickle);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_described),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(long_texts_and_integers_end_in_dots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
