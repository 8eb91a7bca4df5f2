/* Tests of sink.c: text from outside stays text in every format. */
#include "report/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef void (*put)(assay_sink *sink, const char *text);

typedef struct pair {
  put put;
  const char *text, *expected;
} pair;

static const pair pairs[] = {
    {assay_sink_html, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
    {assay_sink_html, "</script><script>alert(1)</script>",
     "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"},
    {assay_sink_html, "one\ntwo\ttab\x1b[2J\x7f", "one\\x0atwo\\x09tab\\x1b[2J\\x7f"},
    {assay_sink_html,
     "abc\xe2\x80\xae"
     "def\xe2\x80\x8b!",
     "abc\\u{202e}def\\u{200b}!"},
    {assay_sink_html, "bad \xff\xc0\x80 \xed\xa0\x80 end\xe2\x82",
     "bad \\xff\\xc0\\x80 \\xed\\xa0\\x80 end\\xe2\\x82"},
    {assay_sink_html, "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xce\xbc",
     "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xce\xbc"},
    {assay_sink_html, "\xc2\x85\xf3\xa0\x81\x81", "\\u{0085}\\u{e0041}"},
    {assay_sink_html, NULL, ""},
    {assay_sink_plain, "a<b> \x1b[31m\xe2\x80\xae", "a<b> \\x1b[31m\\u{202e}"},
    {assay_sink_csv, "plain-name_1.0", "plain-name_1.0"},
    {assay_sink_csv, "with,comma", "\"with,comma\""},
    {assay_sink_csv, "say \"hi\"", "\"say \"\"hi\"\"\""},
    {assay_sink_csv, "line\r\nbreak", "line\\x0d\\x0abreak"},
    {assay_sink_csv, "=1+1", "'=1+1"},
    {assay_sink_csv, "+1", "'+1"},
    {assay_sink_csv, "-1", "'-1"},
    {assay_sink_csv, "@SUM(A1)", "'@SUM(A1)"},
    {assay_sink_csv, "'=1", "''=1"},
    {assay_sink_csv, "  =1", "\"  '=1\""},
    {assay_sink_csv, "a;=cmd|x", "\"a;'=cmd|x\""},
    {assay_sink_csv,
     "\xef\xbc\x9d"
     "1",
     "'\xef\xbc\x9d"
     "1"},
    {assay_sink_csv, "\t=1", "\\x09=1"},
    {assay_sink_csv, "", ""},
    {assay_sink_markdown, "b1.n100, 3 of 4", "b1.n100, 3 of 4"},
    {assay_sink_markdown, "a|b", "`a\\|b`"},
    {assay_sink_markdown, "<script>*x*", "`<script>*x*`"},
    {assay_sink_markdown, "`tick``", "``` `tick`` ```"},
    {assay_sink_markdown, "@someone #1 https://x", "`@someone #1 https://x`"},
    {assay_sink_markdown, "www.example.com", "`www.example.com`"},
    {assay_sink_markdown, "line\nbreak", "`line\\x0abreak`"},
    {assay_sink_markdown, "-1", "`-1`"},
};

static void writes_text_from_outside_as_data(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    assay_sink sink = {0};
    pairs[i].put(&sink, pairs[i].text);
    assert_int_equal(sink.status, ASSAY_OK);
    assert_string_equal(assay_sink_text(&sink), pairs[i].expected);
    assay_sink_reset(&sink);
  }
}

static void counts_columns_of_a_terminal(void **state) {
  (void)state;
  assert_int_equal(assay_sink_plain_width("abc"), 3);
  assert_int_equal(assay_sink_plain_width("\xce\xbcs"), 2);
  assert_int_equal(assay_sink_plain_width("\n"), 4);
  assert_int_equal(assay_sink_plain_width(NULL), 0);
}

static void formats_texts_of_any_length(void **state) {
  (void)state;
  char longer[2001];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  assay_sink sink = {0};
  assay_sink_putf(&sink, "%d ", 7);
  assay_sink_putf(&sink, "%s|", longer);
  assay_sink_put(&sink, "end");
  assert_int_equal(strlen(assay_sink_text(&sink)), 2 + 2000 + 1 + 3);
  assert_string_equal(assay_sink_text(&sink) + 2002, "|end");
  assay_sink_reset(&sink);
}

static void says_once_that_it_failed(void **state) {
  (void)state;
  assay_sink sink = {.status = ASSAY_E_MEMORY};
  assay_error err = {0};
  assay_sink_put(&sink, "lost");
  assay_sink_putf(&sink, "%d", 1);
  assert_string_equal(assay_sink_text(&sink), "");
  assert_int_equal(assay_sink_check(&sink, &err), ASSAY_E_MEMORY);
  assert_non_null(strstr(err.text, "report"));
  assay_sink_reset(&sink);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_text_from_outside_as_data),
      cmocka_unit_test(counts_columns_of_a_terminal),
      cmocka_unit_test(formats_texts_of_any_length),
      cmocka_unit_test(says_once_that_it_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
