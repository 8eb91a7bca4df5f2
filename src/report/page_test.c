/* Tests of page*.c: one well-formed file that asks for nothing, whatever names it holds. */
#include "report/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_folder.h"
#include "report/testpack.h"

static void build_page(const testpack_spec *spec, assay_sink *out) {
  test_folder folder;
  assay_view view;
  assay_error err = {0};
  assay_plots plots = {0};
  test_folder_open(&folder);
  const char *package = test_folder_file(&folder, "package");
  if (testpack_write(spec, package, &err) || assay_view_open(package, &view, &err)) {
    print_error("%s\n", err.text);
    fail();
  }
  assay_page_put(&view, &plots, out);
  assert_int_equal(assay_sink_check(out, &err), ASSAY_OK);
  assay_view_close(&view);
  test_folder_close(&folder);
}

static size_t count(const char *text, const char *word) {
  size_t n = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
  return n;
}

static bool is_void(const char *name) {
  return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0 || strcmp(name, "!DOCTYPE") == 0;
}

/* Every element that is opened is closed, in order; what is between <style> or <script> and its end
 * is skipped. */
static void check_nesting(const char *html) {
  char open[64][24];
  size_t depth = 0;
  for (const char *at = strchr(html, '<'); at; at = strchr(at, '<')) {
    char name[24] = "";
    bool end = at[1] == '/';
    assert_int_equal(sscanf(at + 1 + end, "%23[a-zA-Z0-9!]", name), 1);
    const char *close = at;
    for (bool quoted = false; *close && (quoted || *close != '>'); close++) quoted ^= *close == '"';
    assert_int_equal(*close, '>');
    at = close + 1;
    if (end) {
      assert_true(depth > 0);
      assert_string_equal(name, open[--depth]);
    } else if (!is_void(name)) {
      assert_true(depth < 64);
      (void)snprintf(open[depth++], sizeof open[0], "%s", name);
      if (strcmp(name, "script") == 0) at = strstr(at, "</script>");
      if (strcmp(name, "style") == 0) at = strstr(at, "</style>");
      assert_non_null(at);
    }
  }
  assert_int_equal(depth, 0);
}

static void check_ids(const char *html) {
  for (const char *at = strstr(html, " id=\""); at; at = strstr(at + 1, " id=\"")) {
    char id[80];
    (void)snprintf(id, sizeof id, "%.*s\"", (int)strcspn(at + 5, "\""), at + 5);
    char whole[96];
    (void)snprintf(whole, sizeof whole, " id=\"%s", id);
    assert_int_equal(count(html, whole), 1);
  }
}

static void check_links(const char *html) {
  for (const char *at = strstr(html, "href=\""); at; at = strstr(at + 1, "href=\"")) {
    const char *to = at + 6;
    bool inside = *to == '#' || strncmp(to, "../", 3) == 0 || strncmp(to, "table.", 6) == 0 ||
                  strncmp(to, "heads.csv", 9) == 0 || strncmp(to, "memory.csv", 10) == 0 ||
                  strncmp(to, "placement.csv", 13) == 0;
    assert_true(inside);
    if (*to != '#') continue;
    char id[96];
    (void)snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(to + 1, "\""), to + 1);
    if (count(html, id) != 1) fail_msg("a link leads nowhere: %s", id);
  }
}

static void is_one_well_formed_file_that_asks_for_nothing(void **state) {
  (void)state;
  static const testpack_spec specs[] = {
      {.n_runtimes = 2,
       .n_bundles = 1,
       .n_cases = 3,
       .brought = true,
       .events = true,
       .half = true,
       .device = true,
       .repeated = true,
       .loose = true},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 1, .zero_error = true},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 2, .huge_error = true},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3, .fault = TESTPACK_MISSING, .fault_every = 1},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3, .fault = TESTPACK_SHAPE, .fault_every = 2},
      {.n_runtimes = 1,
       .n_bundles = 2,
       .n_cases = 3,
       .fault = TESTPACK_TIMED_OUT,
       .fault_every = 2},
      {.n_runtimes = 1, .n_bundles = 1, .n_cases = 2, .unfinished = true},
      {.n_runtimes = 1,
       .n_bundles = 2,
       .n_cases = 4,
       .fault = TESTPACK_PLACEMENT,
       .fault_every = 2,
       .device = true,
       .hostile = true},
      {.n_runtimes = 1,
       .n_bundles = 2,
       .n_cases = 4,
       .fault = TESTPACK_NAN,
       .fault_every = 2,
       .no_samples = true,
       .hostile = true},
      {.n_runtimes = 1,
       .n_bundles = 2,
       .n_cases = 4,
       .fault = TESTPACK_CRASHED,
       .fault_every = 1,
       .hostile = true},
  };
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    assay_sink page = {0};
    build_page(&specs[i], &page);
    const char *html = assay_sink_text(&page);
    check_nesting(html);
    check_ids(html);
    check_links(html);
    assert_int_equal(count(html, "<script>"), 1);
    assert_int_equal(count(html, "</script>"), 1);
    assert_int_equal(count(html, "src="), specs[i].hostile ? count(html, "&lt;img src=x") : 0);
    assert_int_equal(count(html, "http:"), 0);
    assert_int_equal(count(html, "https:"), 0);
    assert_int_equal(count(html, "<img"), 0);
    assert_int_equal(count(html, "\xe2\x80\xae"), 0); /* the right-to-left override itself */
    if (specs[i].hostile) assert_true(count(html, "&lt;script&gt;alert(1)") > 0);
    assert_int_equal(count(html, "<caption>"), count(html, "<table"));
    assay_sink_reset(&page);
  }
}

static void says_the_verdict_first(void **state) {
  (void)state;
  assay_sink page = {0};
  const testpack_spec bad = {
      .n_runtimes = 1, .n_bundles = 1, .n_cases = 3, .fault = TESTPACK_NUMBERS, .fault_every = 2};
  build_page(&bad, &page);
  const char *html = assay_sink_text(&page);
  assert_non_null(strstr(html, "<title>NOT QUALIFIED: numbers 2: assay report</title>"));
  assert_non_null(strstr(html, "<h1 class=\"no\">NOT QUALIFIED: numbers 2</h1>"));
  assert_true(strstr(html, "id=\"failures\"") < strstr(html, "id=\"runs\""));
  assert_non_null(strstr(html, "random numbers from a seed"));
  assay_sink_reset(&page);
}

static void stays_small_for_a_usual_campaign(void **state) {
  (void)state;
  assay_sink page = {0};
  const testpack_spec usual = {.n_runtimes = 4, .n_bundles = 2, .n_cases = 7};
  build_page(&usual, &page);
  assert_true(page.buf.size_bytes < 1000000); /* plots come on top; 3 MB in all */
  assay_sink_reset(&page);
}

static void the_same_package_gives_the_same_bytes(void **state) {
  (void)state;
  assay_sink a = {0}, b = {0};
  const testpack_spec spec = {.n_runtimes = 1, .n_bundles = 1, .n_cases = 3, .hostile = true};
  build_page(&spec, &a);
  build_page(&spec, &b);
  assert_int_equal(a.buf.size_bytes, b.buf.size_bytes);
  assert_memory_equal(a.buf.data, b.buf.data, a.buf.size_bytes);
  assay_sink_reset(&a);
  assay_sink_reset(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_one_well_formed_file_that_asks_for_nothing),
      cmocka_unit_test(says_the_verdict_first),
      cmocka_unit_test(stays_small_for_a_usual_campaign),
      cmocka_unit_test(the_same_package_gives_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
