/* The pickle machine: every opcode, every refusal, and what hostile pickles cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/pickle.h"

/* A literal with its length, zero bytes included. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static assay_pickle *parse(const void *bytes, size_t n) {
  assay_pickle *pickle = NULL;
  assay_error err = {0};
  assay_status st = assay_pickle_parse(bytes, n, /*limits=*/NULL, &pickle, &err);
  if (st) fail_msg("%s: %s", assay_status_name(st), err.text);
  return pickle;
}

static void expect_failure(const void *bytes, size_t n, const assay_pickle_limits *limits,
                           assay_status status, const char *part) {
  assay_pickle *pickle = NULL;
  assay_error err = {0};
  assay_status st = assay_pickle_parse(bytes, n, limits, &pickle, &err);
  if (st == ASSAY_OK) assay_pickle_destroy(pickle);
  if (st != status || strstr(err.text, part) == NULL) {
    fail_msg("expected %s with '%s', found %s: %s", assay_status_name(status), part,
             assay_status_name(st), err.text);
  }
}

/* ---- a small text for values
 * ---------------------------------------------------------------------- */

typedef struct out {
  char text[4096];
  size_t n;
} out;

static void put(out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(out *o, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(o->text + o->n, sizeof o->text - o->n, format, args);
  va_end(args);
  o->n += (size_t)n;
  assert_true(o->n < sizeof o->text);
}

static void show(out *o, const assay_pickle_value *v, int depth);

static void show_items(out *o, const assay_pickle_items *items, int depth) {
  for (size_t i = 0; i < items->n; i++) {
    if (i > 0) put(o, ",");
    show(o, items->at[i], depth);
  }
}

static void show_pairs(out *o, const assay_pickle_pairs *pairs, int depth) {
  for (size_t i = 0; i < pairs->n; i++) {
    if (i > 0) put(o, ",");
    show(o, pairs->at[i].key, depth);
    put(o, ":");
    show(o, pairs->at[i].value, depth);
  }
}

static void show_bytes(out *o, const assay_pickle_text *text, char quote) {
  put(o, "%c", quote);
  for (size_t i = 0; i < text->size_bytes; i++) {
    unsigned byte = (uint8_t)text->data[i];
    if (byte >= 0x20 && byte < 0x7f)
      put(o, "%c", (int)byte);
    else
      put(o, "\\x%02x", byte);
  }
  put(o, "%c", quote);
}

static void show_call(out *o, const assay_pickle_call *call, int depth) {
  put(o, call->is_instance ? "new " : "call ");
  show(o, call->callable, depth);
  show(o, call->args, depth);
  if (call->kwargs != NULL) show(o, call->kwargs, depth);
  if (call->items.n > 0) {
    put(o, "+[");
    show_items(o, &call->items, depth);
    put(o, "]");
  }
  if (call->pairs.n > 0) {
    put(o, "+{");
    show_pairs(o, &call->pairs, depth);
    put(o, "}");
  }
  if (call->state != NULL) {
    put(o, "<-");
    show(o, call->state, depth);
  }
}

/* Texts in '', bytes in ``, tuples in (), sets in <>, globals as @module.name, persistent ids as #.
 */
static void show(out *o, const assay_pickle_value *v, int depth) {
  if (depth > 8) {
    put(o, "...");
    return;
  }
  depth++;
  switch ((assay_pickle_kind)v->kind) {
  case ASSAY_PICKLE_NONE:
    put(o, "None");
    break;
  case ASSAY_PICKLE_BOOL:
    put(o, v->boolean ? "True" : "False");
    break;
  case ASSAY_PICKLE_INT:
    put(o, "%lld", (long long)v->integer);
    break;
  case ASSAY_PICKLE_BIGINT:
    put(o, "%sL", v->text.data);
    break;
  case ASSAY_PICKLE_REAL:
    put(o, "%gr", v->real);
    break;
  case ASSAY_PICKLE_COMPLEX:
    put(o, "%g%+gj", v->complex.re, v->complex.im);
    break;
  case ASSAY_PICKLE_TEXT:
    show_bytes(o, &v->text, '\'');
    break;
  case ASSAY_PICKLE_BYTES:
    show_bytes(o, &v->text, '`');
    break;
  case ASSAY_PICKLE_TUPLE:
    put(o, "(");
    show_items(o, &v->items, depth);
    put(o, ")");
    break;
  case ASSAY_PICKLE_LIST:
    put(o, "[");
    show_items(o, &v->items, depth);
    put(o, "]");
    break;
  case ASSAY_PICKLE_SET:
    put(o, "<");
    show_items(o, &v->items, depth);
    put(o, ">");
    break;
  case ASSAY_PICKLE_DICT:
    put(o, "{");
    show_pairs(o, &v->pairs, depth);
    put(o, "}");
    break;
  case ASSAY_PICKLE_GLOBAL:
    put(o, "@%s.%s", v->global.module, v->global.name);
    break;
  case ASSAY_PICKLE_CALL:
    show_call(o, v->call, depth);
    break;
  case ASSAY_PICKLE_PERSISTENT:
    put(o, "#");
    show(o, v->persistent, depth);
    break;
  }
}

/* ---- what pickles say
 * ------------------------------------------------------------------------------ */

typedef struct row {
  const char *name, *bytes;
  size_t n;
  const char *shown;
} row;

/* Most were made with Python's pickle module, protocol by protocol; the rest by hand from
 * pickletools.py. */
static const row good[] = {
    {"NONE", BYTES("N."), "None"},
    {"NEWTRUE", BYTES("\x80\x02\x88."), "True"},
    {"NEWFALSE", BYTES("\x80\x02\x89."), "False"},
    {"INT true", BYTES("I01\n."), "True"},
    {"INT false", BYTES("I00\n."), "False"},
    {"INT", BYTES("I-12\n."), "-12"},
    {"INT plus", BYTES("I+12\n."), "12"},
    {"INT 64 bits", BYTES("I9223372036854775807\n."), "9223372036854775807"},
    {"INT least", BYTES("I-9223372036854775808\n."), "-9223372036854775808"},
    {"INT beyond", BYTES("I9223372036854775808\n."), "9223372036854775808L"},
    {"LONG", BYTES("L5L\n."), "5"},
    {"LONG bare", BYTES("L-5\n."), "-5"},
    {"LONG beyond", BYTES("L-99999999999999999999L\n."), "-99999999999999999999L"},
    {"LONG zeroes", BYTES("L000000000000000000000000000007L\n."), "7"},
    {"BININT", BYTES("J\xff\xff\xff\xff."), "-1"},
    {"BININT1", BYTES("K\xff."), "255"},
    {"BININT2", BYTES("M\xff\xff."), "65535"},
    {"LONG1 zero", BYTES("\x80\x02\x8a\x00."), "0"},
    {"LONG1", BYTES("\x80\x02\x8a\x01\xff."), "-1"},
    {"LONG1 padded", BYTES("\x80\x02\x8a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff."), "-2"},
    {"LONG1 8 bytes", BYTES("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."),
     "-9223372036854775808"},
    {"LONG1 9 bytes", BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."),
     "9223372036854775808L"},
    {"LONG1 -2^64", BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff."),
     "-18446744073709551616L"},
    {"LONG1 2^100", BYTES("\x80\x02\x8a\x0d\0\0\0\0\0\0\0\0\0\0\0\0\x10."),
     "1267650600228229401496703205376L"},
    {"LONG1 10^18 in groups of nine",
     BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."), "18446744073709551616L"},
    {"LONG4", BYTES("\x80\x02\x8b\x02\x00\x00\x00\x00\x01."), "256"},
    {"FLOAT", BYTES("F1.5\n."), "1.5r"},
    {"FLOAT exponent", BYTES("F1e-08\n."), "1e-08r"},
    {"FLOAT inf", BYTES("Finf\n."), "infr"},
    {"FLOAT -inf", BYTES("F-inf\n."), "-infr"},
    {"FLOAT nan", BYTES("Fnan\n."), "nanr"},
    {"BINFLOAT", BYTES("G\xbf\xf8\0\0\0\0\0\0."), "-1.5r"},
    {"STRING", BYTES("S'a\\n\\x41\\'\\101\\\\'\n."), "'a\\x0aA'A\\'"},
    {"STRING double", BYTES("S\"it's\"\n."), "'it's'"},
    {"STRING bytes", BYTES("S'\\xff'\n."), "`\\xff`"},
    {"STRING no escape", BYTES("S'\\q'\n."), "'\\q'"},
    {"BINSTRING", BYTES("T\x02\0\0\0ab."), "'ab'"},
    {"BINSTRING bytes", BYTES("T\x01\0\0\0\xff."), "`\\xff`"},
    {"SHORT_BINSTRING",
     BYTES("U\x02"
           "ab."),
     "'ab'"},
    {"UNICODE", BYTES("Vh\\u00e9\\U0001f600\xe9\n."),
     "'h\\xc3\\xa9\\xf0\\x9f\\x98\\x80\\xc3\\xa9'"},
    {"UNICODE backslash", BYTES("Va\\u005cu0041\n."), "'a\\u0041'"},
    {"UNICODE pair", BYTES("Va\\\\u0041\n."), "'a\\\\u0041'"},
    {"UNICODE last", BYTES("Va\\\n."), "'a\\'"},
    {"BINUNICODE", BYTES("X\x02\0\0\0\xc3\xa9."), "'\\xc3\\xa9'"},
    {"BINUNICODE zero", BYTES("X\x03\0\0\0a\0b."), "'a\\x00b'"},
    {"BINUNICODE surrogate", BYTES("X\x03\0\0\0\xed\xa0\x80."), "'\\xed\\xa0\\x80'"},
    {"SHORT_BINUNICODE", BYTES("\x80\x04\x8c\x01z."), "'z'"},
    {"BINUNICODE8", BYTES("\x80\x04\x8d\x01\0\0\0\0\0\0\0z."), "'z'"},
    {"BINBYTES",
     BYTES("\x80\x03"
           "B\x01\0\0\0\xff."),
     "`\\xff`"},
    {"SHORT_BINBYTES",
     BYTES("\x80\x03"
           "C\x01\x80."),
     "`\\x80`"},
    {"BINBYTES8", BYTES("\x80\x04\x8e\x01\0\0\0\0\0\0\0\x80."), "`\\x80`"},
    {"BYTEARRAY8", BYTES("\x80\x05\x96\x01\0\0\0\0\0\0\0\x80."), "`\\x80`"},
    {"EMPTY_LIST", BYTES("]."), "[]"},
    {"LIST", BYTES("(K\x01K\x02l."), "[1,2]"},
    {"APPEND",
     BYTES("]K\x01"
           "aK\x02"
           "a."),
     "[1,2]"},
    {"APPENDS",
     BYTES("](K\x01K\x02"
           "e."),
     "[1,2]"},
    {"EMPTY_TUPLE", BYTES(")."), "()"},
    {"TUPLE", BYTES("(K\x01K\x02t."), "(1,2)"},
    {"TUPLE1", BYTES("\x80\x02K\x01\x85."), "(1)"},
    {"TUPLE2", BYTES("\x80\x02K\x01K\x02\x86."), "(1,2)"},
    {"TUPLE3", BYTES("\x80\x02K\x01K\x02K\x03\x87."), "(1,2,3)"},
    {"EMPTY_DICT", BYTES("}."), "{}"},
    {"DICT",
     BYTES("(K\x01K\x02"
           "d."),
     "{1:2}"},
    {"SETITEM", BYTES("}K\x01K\x02s."), "{1:2}"},
    {"SETITEMS", BYTES("}(K\x01K\x02K\x03K\x04u."), "{1:2,3:4}"},
    {"EMPTY_SET", BYTES("\x80\x04\x8f."), "<>"},
    {"ADDITEMS", BYTES("\x80\x04\x8f(K\x01K\x02\x90."), "<1,2>"},
    {"FROZENSET", BYTES("\x80\x04(K\x01\x91."), "<1>"},
    {"POP",
     BYTES("K\x01K\x02"
           "0."),
     "1"},
    {"POP of a mark", BYTES("K\x01(0."), "1"},
    {"POP_MARK",
     BYTES("K\x01(K\x02K\x03"
           "1."),
     "1"},
    {"DUP",
     BYTES("]K\x01"
           "2\x86"
           "a."),
     "[(1,1)]"},
    {"PUT GET", BYTES("K\x07p0\n0g0\n."), "7"},
    {"BINPUT BINGET",
     BYTES("K\x07q\x01"
           "0h\x01."),
     "7"},
    {"LONG_BINPUT", BYTES("K\x07r\x02\0\0\0000j\x02\0\0\0."), "7"},
    {"MEMOIZE",
     BYTES("\x80\x04K\x07\x94K\x08\x94"
           "00h\x01."),
     "8"},
    {"MEMOIZE counts entries",
     BYTES("\x80\x04K\x07q\x05K\x08\x94"
           "00h\x01."),
     "8"},
    {"PUT twice",
     BYTES("K\x07q\0K\x08q\0"
           "00h\0."),
     "8"},
    {"aliases change together",
     BYTES("]q\0h\0\x86q\x01"
           "0h\0K\x01"
           "a0h\x01."),
     "([1],[1])"},
    {"GLOBAL", BYTES("cm.n\nx.y\n."), "@m.n.x.y"},
    {"STACK_GLOBAL", BYTES("\x80\x04\x8c\x01m\x8c\x01x\x93."), "@m.x"},
    {"REDUCE", BYTES("cos\nsystem\nX\x02\0\0\0ls\x85R."), "call @os.system('ls')"},
    {"REDUCE of a call", BYTES("cm\nf\n)R)R."), "call call @m.f()()"},
    {"NEWOBJ",
     BYTES("\x80\x02"
           "cm\nC\n)\x81}K\x01K\x02sb."),
     "new @m.C()<-{1:2}"},
    {"NEWOBJ_EX",
     BYTES("\x80\x04"
           "cm\nC\n)}X\x01\0\0\0kK\x02s\x92."),
     "new @m.C(){'k':2}"},
    {"INST", BYTES("(K\x01im\nC\n."), "new @m.C(1)"},
    {"OBJ", BYTES("(cm\nC\nK\x01o."), "new @m.C(1)"},
    {"items of an object",
     BYTES("\x80\x02"
           "cm\nL\n)\x81(K\x01K\x02"
           "eK\x03K\x04s."),
     "new @m.L()+[1,2]+{3:4}"},
    {"BINPERSID", BYTES("K\x05Q."), "#5"},
    {"FRAME", BYTES("\x80\x04\x95\x02\0\0\0\0\0\0\0N."), "None"},
    /* lowered calls */
    {"OrderedDict",
     BYTES("\x80\x02"
           "ccollections\nOrderedDict\n)RK\x01K\x02s."),
     "{1:2}"},
    {"OrderedDict of pairs",
     BYTES("ccollections\nOrderedDict\n(](](K\x01K\x02"
           "e](K\x03K\x04"
           "eetRK\x05K\x06s."),
     "{1:2,3:4,5:6}"},
    {"defaultdict", BYTES("ccollections\ndefaultdict\n(c__builtin__\nlist\ntRK\x01]s."), "{1:[]}"},
    {"Counter", BYTES("ccollections\nCounter\n(}K\x01K\x02stR."), "{1:2}"},
    {"set",
     BYTES("c__builtin__\nset\n(](K\x01K\x02"
           "etR."),
     "<1,2>"},
    {"frozenset", BYTES("cbuiltins\nfrozenset\n)R."), "<>"},
    {"complex", BYTES("c__builtin__\ncomplex\n(K\x01G\xbf\xf8\0\0\0\0\0\0tR."), "1-1.5j"},
    {"encode", BYTES("c_codecs\nencode\n(X\x05\0\0\0a\xc2\x80\xc3\xbfX\x06\0\0\0latin1tR."),
     "`a\\x80\\xff`"},
    {"bytes", BYTES("c__builtin__\nbytes\n)R."), "``"},
    {"bytearray",
     BYTES("cbuiltins\nbytearray\n("
           "C\x01xtR."),
     "`x`"},
    {"Size", BYTES("ctorch\nSize\n((K\x03K\x04ttR."), "(3,4)"},
    {"no pairs, no dict",
     BYTES("ccollections\nOrderedDict\n(](K\x01"
           "etR."),
     "call @collections.OrderedDict([1])"},
    {"another codec", BYTES("c_codecs\nencode\n(X\x01\0\0\0aX\x05\0\0\0utf-8tR."),
     "call @_codecs.encode('a','utf-8')"},
    /* keys */
    {"a repeated key", BYTES("}(K\x01K\x02K\x03K\x04K\x01K\x05u."), "{1:5,3:4}"},
    {"1, 1.0 and True", BYTES("}(K\x01K\x02G\x3f\xf0\0\0\0\0\0\0K\x03\x88K\x04u."), "{1:4}"},
    {"repeated text",
     BYTES("}(X\x01\0\0\0aK\x01U\x01"
           "aK\x02X\x01\0\0\0bK\x03u."),
     "{'a':2,'b':3}"},
    {"text is not bytes",
     BYTES("}(X\x01\0\0\0aK\x01"
           "C\x01"
           "aK\x02u."),
     "{'a':1,`a`:2}"},
    {"repeated tuple", BYTES("}(K\x01K\x02\x86K\x01K\x01K\x02\x86K\x02u."), "{(1,2):2}"},
    {"lists are themselves", BYTES("}(]K\x01]K\x02u."), "{[]:1,[]:2}"},
    {"nan is not itself",
     BYTES("}(Fnan\nK\x01"
           "Fnan\nK\x02u."),
     "{nanr:1,nanr:2}"},
    {"a set folds, its list does not",
     BYTES("]q\0(K\x01K\x01K\x02"
           "e0c__builtin__\nset\n(h\0tRh\0\x86."),
     "(<1,2>,[1,1,2])"},
};

static void reads_every_opcode(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    out o = {0};
    assay_pickle *pickle = parse(good[i].bytes, good[i].n);
    show(&o, assay_pickle_root(pickle), 0);
    if (strcmp(o.text, good[i].shown) != 0) {
      fail_msg("%s: expected %s, found %s", good[i].name, good[i].shown, o.text);
    }
    assay_pickle_destroy(pickle);
  }
}

static void knows_exactly_the_68_opcodes(void **state) {
  (void)state;
  size_t n = 0;
  for (int byte = 0; byte < 256; byte++) n += assay_pickle_opcode_name((uint8_t)byte) != NULL;
  assert_int_equal(n, 68);
}

/* Each good pickle cut at every byte is refused, never read past its end. */
static void refuses_every_cut(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    for (size_t n = 0; n < good[i].n; n++) {
      assay_pickle *pickle = NULL;
      char *copy = assay_alloc_plain(n); /* its own block, so that an overread is seen */
      memcpy(copy, good[i].bytes, n);
      assay_status st = assay_pickle_parse(copy, n, NULL, &pickle, NULL);
      if (st != ASSAY_E_FORMAT) {
        fail_msg("%s cut at %zu: %s", good[i].name, n, assay_status_name(st));
      }
      assay_free(copy);
    }
  }
}

static const struct {
  const char *bytes;
  size_t n;
  assay_status status;
  const char *part;
} bad[] = {
    {BYTES(""), ASSAY_E_FORMAT, "without STOP"},
    {BYTES("."), ASSAY_E_FORMAT, "exactly one value expected on the stack, found 0"},
    {BYTES("NN."), ASSAY_E_FORMAT, "found 2"},
    {BYTES("N(."), ASSAY_E_FORMAT, "a mark is still open"},
    {BYTES("N.N"), ASSAY_E_FORMAT, "1 bytes follow the pickle's end at byte 2"},
    {BYTES("\xff."), ASSAY_E_FORMAT, "byte 0: 0xff is no pickle opcode"},
    {BYTES("N\x99."), ASSAY_E_FORMAT, "byte 1: 0x99 is no pickle opcode"},
    {BYTES("N\x80\x02."), ASSAY_E_FORMAT, "byte 1, opcode PROTO: it may only come first"},
    {BYTES("\x80\x06N."), ASSAY_E_UNSUPPORTED, "protocol 6"},
    {BYTES("\x80\x04\x95\x09\0\0\0\0\0\0\0N."), ASSAY_E_FORMAT, "frame of 9 bytes, 2 are left"},
    {BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), ASSAY_E_FORMAT, "FRAME"},
    {BYTES("0."), ASSAY_E_FORMAT, "opcode POP: 1 values expected on the stack, found 0"},
    {BYTES("1."), ASSAY_E_FORMAT, "opcode POP_MARK: no open mark"},
    {BYTES("2."), ASSAY_E_FORMAT, "opcode DUP"},
    {BYTES("N(2."), ASSAY_E_FORMAT, "opcode DUP: 1 values expected on the stack, found 0"},
    {BYTES("I\n."), ASSAY_E_FORMAT, "a decimal integer expected"},
    {BYTES("I1x\n."), ASSAY_E_FORMAT, "a decimal integer expected"},
    {BYTES("I1"), ASSAY_E_FORMAT, "truncated"},
    {BYTES("LL\n."), ASSAY_E_FORMAT, "a decimal integer expected"},
    {BYTES("J\0\0"), ASSAY_E_FORMAT, "4 bytes expected, 2 are left"},
    {BYTES("\x8b\xff\xff\xff\xff."), ASSAY_E_FORMAT, "a negative length, -1"},
    {BYTES("\x8b\xff\xff\xff\x7f."), ASSAY_E_FORMAT, "2147483647 bytes expected, 1 are left"},
    {BYTES("F\n."), ASSAY_E_FORMAT, "a decimal number expected"},
    {BYTES("F0x1p3\n."), ASSAY_E_FORMAT, "found '0x1p3'"},
    {BYTES("F1e999\n."), ASSAY_E_FORMAT, "a decimal number expected"},
    {BYTES("Sab\n."), ASSAY_E_FORMAT, "a quoted string expected"},
    {BYTES("S'\n."), ASSAY_E_FORMAT, "a quoted string expected"},
    {BYTES("S'a\"\n."), ASSAY_E_FORMAT, "a quoted string expected"},
    {BYTES("T\xff\xff\xff\xff."), ASSAY_E_FORMAT, "4294967295 bytes expected"},
    {BYTES("V\\u00g0\n."), ASSAY_E_FORMAT, "\\u expects 4 hexadecimal digits"},
    {BYTES("V\\U00110000\n."), ASSAY_E_FORMAT, "\\U expects 8 hexadecimal digits"},
    {BYTES("X\x01\0\0\0\xff."), ASSAY_E_FORMAT, "text that is not UTF-8"},
    {BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), ASSAY_E_FORMAT, "18446744073709551615 bytes"},
    {BYTES("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f."), ASSAY_E_FORMAT, "9223372036854775807 bytes"},
    {BYTES("\x97."), ASSAY_E_UNSUPPORTED, "NEXT_BUFFER: a buffer kept outside"},
    {BYTES("N\x98."), ASSAY_E_UNSUPPORTED, "READONLY_BUFFER"},
    {BYTES("l."), ASSAY_E_FORMAT, "opcode LIST: no open mark"},
    {BYTES("Na."), ASSAY_E_FORMAT, "opcode APPEND: 2 values expected"},
    {BYTES("NNa."), ASSAY_E_FORMAT, "a list expected to append to, found None"},
    {BYTES(")Na."), ASSAY_E_FORMAT, "found a tuple"},
    {BYTES("(Ne."), ASSAY_E_FORMAT, "opcode APPENDS: 1 values expected"},
    {BYTES("}(Ne."), ASSAY_E_FORMAT, "found a dict"},
    {BYTES("(N(a."), ASSAY_E_FORMAT, "opcode APPEND: 2 values expected on the stack, found 0"},
    {BYTES("(K\x01"
           "d."),
     ASSAY_E_FORMAT, "1 values for keys and values"},
    {BYTES("}(K\x01u."), ASSAY_E_FORMAT, "1 values for keys and values"},
    {BYTES("]K\x01K\x02s."), ASSAY_E_FORMAT, "a dict expected to set items in, found a list"},
    {BYTES("](K\x01\x90."), ASSAY_E_FORMAT, "a set expected to add to"},
    {BYTES("\x85."), ASSAY_E_FORMAT, "opcode TUPLE1: 1 values expected"},
    {BYTES("N\x87."), ASSAY_E_FORMAT, "opcode TUPLE3: 3 values expected on the stack, found 1"},
    {BYTES("h\0."), ASSAY_E_FORMAT, "memo entry 0 was never put"},
    {BYTES("j\xff\xff\xff\xff."), ASSAY_E_FORMAT, "memo entry 4294967295 was never put"},
    {BYTES("Nr\xff\xff\xff\xff."), ASSAY_E_LIMIT, "memo index 4294967295 in a pickle of 7 bytes"},
    {BYTES("Np99999999999999999999\n."), ASSAY_E_FORMAT, "a memo index expected in decimal"},
    {BYTES("Np-1\n."), ASSAY_E_FORMAT, "a memo index expected in decimal"},
    {BYTES("q\0."), ASSAY_E_FORMAT, "opcode BINPUT: 1 values expected"},
    {BYTES("\x94."), ASSAY_E_FORMAT, "opcode MEMOIZE"},
    {BYTES("cos\nsys"), ASSAY_E_FORMAT, "truncated"},
    {BYTES("c\xff\nx\n."), ASSAY_E_FORMAT, "a global whose name is not text"},
    {BYTES("K\x01\x8c\x01x\x93."), ASSAY_E_FORMAT, "a global's module expected to be a text"},
    {BYTES("cm\nf\nNR."), ASSAY_E_FORMAT, "the arguments expected to be a tuple, found None"},
    {BYTES("N)R."), ASSAY_E_FORMAT, "something to call expected, found None"},
    {BYTES(")R."), ASSAY_E_FORMAT, "opcode REDUCE"},
    {BYTES("cm\nC\n))\x92."), ASSAY_E_FORMAT, "the named arguments expected to be a dict"},
    {BYTES("(o."), ASSAY_E_FORMAT, "no class behind the mark"},
    {BYTES("(K\x01o."), ASSAY_E_FORMAT, "something to call expected"},
    {BYTES("}Nb."), ASSAY_E_FORMAT, "an object expected to give a state to, found a dict"},
    {BYTES("cm\nC\nNb."), ASSAY_E_FORMAT, "found a global"},
    {BYTES("cm\nC\n)RNbNb."), ASSAY_E_UNSUPPORTED, "a second state for one object"},
    {BYTES("P0\n."), ASSAY_E_UNSUPPORTED, "persistent id as text (protocol 0)"},
    {BYTES("\x82\x01."), ASSAY_E_UNSUPPORTED, "EXT1: code 1 of the writer's extension registry"},
    {BYTES("\x83\x01\x02."), ASSAY_E_UNSUPPORTED, "EXT2"},
    {BYTES("\x84\x01\x02\x03\x04."), ASSAY_E_UNSUPPORTED, "EXT4"},
    {BYTES("c_codecs\nencode\n(X\x02\0\0\0\xc4\x80X\x06\0\0\0latin1tR."), ASSAY_E_FORMAT,
     "a character beyond it"},
};

static void refuses_by_name_and_offset(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    expect_failure(bad[i].bytes, bad[i].n, /*limits=*/NULL, bad[i].status, bad[i].part);
  }
}

static void keeps_attributes_of_an_ordered_dict_beside_its_entries(void **state) {
  (void)state;
  static const char bytes[] =
      "ccollections\nOrderedDict\n)RX\x01\0\0\0wK\x01s}X\x09\0\0\0_metadataK\x02sb.";
  assay_pickle *pickle = parse(BYTES(bytes));
  const assay_pickle_value *root = assay_pickle_root(pickle);
  assert_int_equal(root->kind, ASSAY_PICKLE_DICT);
  assert_int_equal(root->pairs.n, 1);
  assert_non_null(assay_pickle_get(root, "w"));
  assert_null(assay_pickle_get(root, "_metadata"));
  assert_true(assay_pickle_is_call(root, "collections", "OrderedDict"));
  assert_non_null(assay_pickle_get(root->call->state, "_metadata"));
  assay_pickle_destroy(pickle);
}

static void reads_reals_bit_for_bit(void **state) {
  (void)state;
  assay_pickle *pickle =
      parse(BYTES("(G\x80\0\0\0\0\0\0\0G\x7f\xf8\0\0\0\0\0\x01G\0\0\0\0\0\0\0\x01t."));
  const assay_pickle_items *items = &assay_pickle_root(pickle)->items;
  assert_true(items->at[0]->real == 0.0 && signbit(items->at[0]->real));
  uint64_t bits;
  memcpy(&bits, &items->at[1]->real, 8);
  assert_true(bits == 0x7ff8000000000001u);
  assert_true(items->at[2]->real == 0x1p-1074);
  assay_pickle_destroy(pickle);
}

static void says_where_a_pickle_ended(void **state) {
  (void)state;
  assay_pickle_limits limits = {.allow_trailing = true};
  assay_pickle *pickle = NULL;
  assert_int_equal(assay_pickle_parse("\x80\x02N.more", 8, &limits, &pickle, NULL), ASSAY_OK);
  assert_int_equal(assay_pickle_used_bytes(pickle), 4);
  assert_int_equal(assay_pickle_protocol(pickle), 2);
  assay_pickle_destroy(pickle);
}

static void knows_values_that_contain_themselves(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    bool cyclic;
  } rows[] = {
      {BYTES("]q\0h\0"
             "a."),
       true},
      {BYTES("}q\0K\x01h\0s."), true},
      {BYTES("]q\0]h\0"
             "aa."),
       true},
      {BYTES("cm\nC\n)Rq\0}K\x01h\0sb."), true},
      {BYTES("]q\0]h\0"
             "ah\0"
             "a0h\0."),
       false},
      {BYTES("]q\0h\0\x86."), false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_pickle_limits limits = {.allow_trailing = true};
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    if (assay_pickle_parse(rows[i].bytes, rows[i].n, &limits, &pickle, &err)) continue;
    if (assay_pickle_is_cyclic(pickle) != rows[i].cyclic) fail_msg("row %zu", i);
    assay_pickle_destroy(pickle);
  }
}

static void knows_old_and_new_module_names(void **state) {
  (void)state;
  static const struct {
    const char *written, *known;
    bool same;
  } rows[] = {
      {"builtins", "builtins", true},
      {"__builtin__", "builtins", true},
      {"copy_reg", "copyreg", true},
      {"numpy._core.multiarray", "numpy.core.multiarray", true},
      {"numpy.core.multiarray", "numpy.core.multiarray", true},
      {"numpy._core.multiarray", "numpy.core.numeric", false},
      {"torch.tensor", "torch._tensor", true},
      {"__builtin__x", "builtins", false},
      {"builtins", "__builtin__", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(assay_pickle_same_module(rows[i].written, rows[i].known), rows[i].same);
  }
}

/* ---- hostile pickles
 * -------------------------------------------------------------------------------- */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Builds head, then n times unit, then tail. */
static void build(assay_buf *buf, const char *head, size_t n_head, size_t n, const char *unit,
                  size_t n_unit, const char *tail, size_t n_tail) {
  assay_status st = assay_buf_append(buf, head, n_head, NULL);
  for (size_t i = 0; i < n && !st; i++) st = assay_buf_append(buf, unit, n_unit, NULL);
  if (!st) st = assay_buf_append(buf, tail, n_tail, NULL);
  assert_int_equal(st, ASSAY_OK);
}

typedef struct bomb {
  const char *name;
  const char *head;
  size_t n_head;
  size_t n; /* times both units */
  const char *unit;
  size_t n_unit;
  const char *unit_after; /* n times, behind the first n */
  size_t n_unit_after;
  const char *tail;
  size_t n_tail;
  assay_status status; /* OK: it may be read */
  const char *part;
} bomb;

#define DEEP "nested deeper than 1000"

static const bomb bombs[] = {
    {"nested lists", BYTES("]"), 100000, BYTES("]"), BYTES("a"), BYTES("."), ASSAY_E_LIMIT, DEEP},
    {"nested tuples", BYTES(")"), 100000, BYTES("\x85"), BYTES(""), BYTES("."), ASSAY_E_LIMIT,
     DEEP},
    {"a list around the last one", BYTES("]q\0"), 100000,
     BYTES("0]h\0"
           "aq\0"),
     BYTES(""), BYTES("."), ASSAY_E_LIMIT, DEEP},
    {"marks", BYTES(""), 100000, BYTES("("), BYTES("1"), BYTES("N."), ASSAY_E_LIMIT,
     "more than 10000 open marks"},
    {"stack", BYTES(""), 1100000, BYTES("N"), BYTES("0"), BYTES("."), ASSAY_E_LIMIT,
     "more than 1000000 values on the stack"},
    {"billions of laughs", BYTES("]q\0"), 400, BYTES("0](h\0h\0h\0h\0h\0h\0h\0h\0h\0h\0eq\0"),
     BYTES(""), BYTES("."), ASSAY_OK, ""},
    {"a list appended to itself", BYTES("]q\0"), 200000,
     BYTES("h\0"
           "a"),
     BYTES(""), BYTES("."), ASSAY_OK, ""},
    {"DUP and APPENDS", BYTES("](N"), 500000, BYTES("2"), BYTES(""), BYTES("e."), ASSAY_OK, ""},
    {"repeated keys", BYTES("}("), 100000, BYTES("X\1\0\0\0kN"), BYTES(""), BYTES("u."), ASSAY_OK,
     ""},
    {"calls of calls", BYTES("cm\nf\n"), 100000, BYTES(")R"), BYTES(""), BYTES("."), ASSAY_E_LIMIT,
     DEEP},
    {"persistent ids of persistent ids", BYTES("N"), 100000, BYTES("Q"), BYTES(""), BYTES("."),
     ASSAY_E_LIMIT, DEEP},
    {"memo entries", BYTES("\x80\x04N"), 200000, BYTES("\x94"), BYTES(""), BYTES("."), ASSAY_OK,
     ""},
    {"sets of one list", BYTES("]q\0(K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1K\1e0]("), 50000,
     BYTES("cbuiltins\nset\n(h\0tR"), BYTES(""), BYTES("e."), ASSAY_OK, ""},
    {"long integers", BYTES("("), 50000, BYTES("\x8a\x10\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"),
     BYTES(""), BYTES("t."), ASSAY_OK, ""},
    {"lists of one byte each", BYTES("("), 900000, BYTES("]"), BYTES(""), BYTES("t."), ASSAY_OK,
     ""},
};

static void bombs_cost_bounded_time_and_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
    const bomb *b = &bombs[i];
    assay_buf bytes = {0};
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    build(&bytes, b->head, b->n_head, b->n, b->unit, b->n_unit, "", 0);
    build(&bytes, "", 0, b->n, b->unit_after, b->n_unit_after, b->tail, b->n_tail);
    double start = seconds();
    assay_status st = assay_pickle_parse(bytes.data, bytes.size_bytes, NULL, &pickle, &err);
    double took = seconds() - start;
    if (st == ASSAY_OK) assay_pickle_destroy(pickle);
    assay_buf_reset(&bytes);
    if (st != b->status || strstr(err.text, b->part) == NULL) {
      fail_msg("%s: expected %s with '%s', found %s: %s", b->name, assay_status_name(b->status),
               b->part, assay_status_name(st), err.text);
    }
    if (took > 5.0) fail_msg("%s: %.1f s", b->name, took);
  }
}

/* A list of n, then m calls of a constructor on it: the looks at the shared list are counted. */
static void sharing_does_not_make_time_quadratic(void **state) {
  (void)state;
  static const struct {
    const char *call;
    size_t n_call;
  } rows[] = {
      {BYTES("cbuiltins\nset\np9\n0g9\n")},
      {BYTES("cbuiltins\ntuple\np9\n0g9\n")},
      {BYTES("ccollections\nOrderedDict\np9\n0g9\n")},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assay_buf bytes = {0};
    assay_pickle *pickle = NULL;
    assay_error err = {0};
    build(&bytes, BYTES("]p0\n("), 100000, BYTES("N"), BYTES("e0"));
    build(&bytes, rows[i].call, rows[i].n_call, 100000, BYTES("g9\n(g0\ntR0"), BYTES("."));
    double start = seconds();
    assay_status st = assay_pickle_parse(bytes.data, bytes.size_bytes, NULL, &pickle, &err);
    double took = seconds() - start;
    if (st == ASSAY_OK) assay_pickle_destroy(pickle);
    assay_buf_reset(&bytes);
    if (st != ASSAY_E_LIMIT) fail_msg("row %zu: %s %s", i, assay_status_name(st), err.text);
    if (took > 5.0) fail_msg("row %zu: %.1f s", i, took);
  }
}

/* Two equal texts of 100 kB as keys of 20000 dicts: compared once, not 20000 times. */
static void equal_long_keys_are_compared_once(void **state) {
  (void)state;
  assay_buf bytes = {0};
  build(&bytes, BYTES("X\xa0\x86\1\0"), 100000, BYTES("k"), BYTES("q\0000"));
  build(&bytes, BYTES("X\xa0\x86\1\0"), 100000, BYTES("k"), BYTES("q\0010("));
  build(&bytes, "", 0, 20000, BYTES("}h\0Nsh\1Ns"), BYTES("t."));
  double start = seconds();
  assay_pickle *pickle = parse(bytes.data, bytes.size_bytes);
  if (seconds() - start > 5.0) fail_msg("%.1f s", seconds() - start);
  assert_int_equal(assay_pickle_repeated_keys(pickle), 20000);
  assay_pickle_destroy(pickle);
  assay_buf_reset(&bytes);
}

static void limits_are_the_callers(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    assay_pickle_limits limits;
    const char *part;
  } rows[] = {
      {BYTES("NNN000N."), {.max_input_bytes = 7}, "a pickle of 8 bytes: the limit is 7"},
      {BYTES("](K\1K\2e."), {.max_values = 2}, "more than 2 values"},
      {BYTES("X\x09\0\0\0abcdefghi."), {.max_value_bytes = 60}, "more than the limit of 60 bytes"},
      {BYTES("(NNNt."), {.max_stack = 2}, "more than 2 values on the stack"},
      {BYTES("((N11N."), {.max_marks = 1}, "more than 1 open marks"},
      {BYTES("Nq\0q\1q\2."), {.max_memo = 2}, "more than 2 memo entries"},
      {BYTES("]]]aa."), {.max_depth = 2}, "nested deeper than 2"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    expect_failure(rows[i].bytes, rows[i].n, &rows[i].limits, ASSAY_E_LIMIT, rows[i].part);
  }
}

static void long_numbers_have_limits(void **state) {
  (void)state;
  assay_buf bytes = {0};
  build(&bytes, BYTES("I"), 4299, BYTES("9"), BYTES("\n."));
  assay_pickle *pickle = parse(bytes.data, bytes.size_bytes);
  assert_int_equal(assay_pickle_root(pickle)->text.size_bytes, 4299);
  assay_pickle_destroy(pickle);
  assay_buf_reset(&bytes);
  build(&bytes, BYTES("I"), 4300, BYTES("9"), BYTES("\n."));
  expect_failure(bytes.data, bytes.size_bytes, NULL, ASSAY_E_LIMIT, "an integer of 4300 digits");
  assay_buf_reset(&bytes);
  build(&bytes, BYTES("\x8b\xa4\x06\0\0"), 1700, BYTES("\x7f"), BYTES(".")); /* 1700 bytes */
  pickle = parse(bytes.data, bytes.size_bytes);
  assert_int_equal(assay_pickle_root(pickle)->text.size_bytes, 4094);
  assay_pickle_destroy(pickle);
  assay_buf_reset(&bytes);
  build(&bytes, BYTES("\x8b\xa5\x06\0\0"), 1701, BYTES("\x7f"), BYTES("."));
  expect_failure(bytes.data, bytes.size_bytes, NULL, ASSAY_E_LIMIT, "an integer of 1701 bytes");
  assay_buf_reset(&bytes);
  build(&bytes, BYTES("I"), 70000, BYTES("9"), BYTES("\n."));
  expect_failure(bytes.data, bytes.size_bytes, NULL, ASSAY_E_LIMIT, "a line longer than 65536");
  assay_buf_reset(&bytes);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  assay_buf bytes = {0};
  assert_int_equal(assay_file_read("testdata/config/model_kwargs_p2.pkl", 1 << 20, &bytes, NULL),
                   0);
  for (int64_t n = 0;; n++) {
    assay_pickle *pickle = NULL;
    assay_alloc_fail_after(n);
    assay_status st = assay_pickle_parse(bytes.data, bytes.size_bytes, NULL, &pickle, NULL);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assay_pickle_destroy(pickle);
      assert_true(n > 4);
      break;
    }
    assert_int_equal(st, ASSAY_E_MEMORY);
  }
  assay_buf_reset(&bytes);
}

static void refuses_a_real_file_cut_at_every_byte(void **state) {
  (void)state;
  static const char *const names[] = {"testdata/config/model_kwargs_p2.pkl",
                                      "testdata/config/model_kwargs.pkl"};
  for (size_t k = 0; k < 2; k++) {
    assay_buf bytes = {0};
    assert_int_equal(assay_file_read(names[k], 1 << 20, &bytes, NULL), 0);
    for (size_t n = 0; n < bytes.size_bytes; n++) {
      assay_pickle *pickle = NULL;
      char *copy = assay_alloc_plain(n);
      memcpy(copy, bytes.data, n);
      assert_int_equal(assay_pickle_parse(copy, n, NULL, &pickle, NULL), ASSAY_E_FORMAT);
      assay_free(copy);
    }
    assay_buf_reset(&bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_opcode),
      cmocka_unit_test(knows_exactly_the_68_opcodes),
      cmocka_unit_test(refuses_every_cut),
      cmocka_unit_test(refuses_by_name_and_offset),
      cmocka_unit_test(keeps_attributes_of_an_ordered_dict_beside_its_entries),
      cmocka_unit_test(reads_reals_bit_for_bit),
      cmocka_unit_test(says_where_a_pickle_ended),
      cmocka_unit_test(knows_values_that_contain_themselves),
      cmocka_unit_test(knows_old_and_new_module_names),
      cmocka_unit_test(bombs_cost_bounded_time_and_memory),
      cmocka_unit_test(sharing_does_not_make_time_quadratic),
      cmocka_unit_test(equal_long_keys_are_compared_once),
      cmocka_unit_test(limits_are_the_callers),
      cmocka_unit_test(long_numbers_have_limits),
      cmocka_unit_test(survives_every_failing_allocation),
      cmocka_unit_test(refuses_a_real_file_cut_at_every_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
