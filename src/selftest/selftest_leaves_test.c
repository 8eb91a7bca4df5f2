/* Nothing that a package publishes can be changed unnoticed: every value of every result and table,
 * one at a time, becomes another, the package is sealed again so that all sums are right, and
 * verification must say so. What it cannot know is listed here, by name. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "selftest/selftest_folders.h"
#include "selftest/selftest_scene.h"
#include "verify/verify.h"

static selftest_folders folders;
static selftest_scene scene;

static void must(void) {
  if (selftest_failed(&scene)) fail_msg("%s", scene.err.text);
}

static int make_package(void **state) {
  (void)state;
  char root[256];
  assay_error err = {0};
  if (selftest_folders_open(&folders, &err)) fail_msg("%s", err.text);
  snprintf(root, sizeof root, "%s/scene", folders.root);
  selftest_scene_init(&scene, root, folders.script);
  if (assay_folder_create(root, &err)) fail_msg("%s", err.text);
  /* the sections of packages in half precision, too */
  static const char *const kinds[] = {"same", "sums", "stored"};
  for (size_t i = 0; i < N_OF(kinds); i++) {
    char name[32];
    selftest_refer(&scene, kinds[i], "bid");
    snprintf(name, sizeof name, "ref.%s.bid", kinds[i]);
    assay_tensor *reference = selftest_array(&scene, name);
    if (reference != NULL) selftest_set(reference, 2 + i, 0.25 * (double)(i + 1));
  }
  selftest_make(&scene);
  must();
  return 0;
}

static int remove_package(void **state) {
  (void)state;
  selftest_scene_reset(&scene);
  selftest_folders_close(&folders);
  return 0;
}

static size_t count_problems(void) {
  assay_verify_report report = {0};
  assay_error err = {0};
  if (assay_verify_package(scene.package, /*n_jobs=*/1, &report, &err)) return 1; /* refused */
  size_t n = report.n_problems;
  assay_verify_report_reset(&report);
  return n;
}

static assay_buf read_file(const char *file) {
  char *path = selftest_path(&scene, file);
  assay_buf text = test_file_read(path);
  assay_free(path);
  return text;
}

static void write_file(const char *file, const void *bytes, size_t n) {
  char *path = selftest_path(&scene, file);
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(bytes, 1, n, stream), n);
  assert_int_equal(fclose(stream), 0);
  assay_free(path);
}

/* A piece of text [at, at + n) becomes `with`; sealed, asked, and put back. */
static bool is_noticed(const char *file, const assay_buf *text, size_t at, size_t n,
                       const char *with) {
  assay_buf changed = {0};
  assert_int_equal(assay_buf_append(&changed, text->data, at, NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append_text(&changed, with, NULL), ASSAY_OK);
  assert_int_equal(assay_buf_append(&changed, text->data + at + n, text->size_bytes - at - n, NULL),
                   ASSAY_OK);
  write_file(file, changed.data, changed.size_bytes);
  selftest_edit_index(&scene, NULL);
  must();
  size_t n_problems = count_problems();
  write_file(file, text->data, text->size_bytes);
  assay_buf_reset(&changed);
  return n_problems > 0;
}

/* Another value of the same kind: of a number, a word or a text without its quotes. */
static void other_value(const char *value, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%s", value);
  if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
    snprintf(out, out_bytes, "%s", value[0] == 't' ? "false" : "true");
    return;
  }
  for (char *c = out; *c != '\0'; c++) {
    if (*c == 'e' && isdigit((unsigned char)out[0])) break; /* an exponent */
    if (!isalnum((unsigned char)*c)) continue;
    if (*c == '0' && (c[1] == '.' || isdigit((unsigned char)c[1]))) continue;
    *c = *c == '9' ? '8' : *c == 'f' ? 'e' : *c == 'z' ? 'y' : (char)(*c + 1);
    return;
  }
  snprintf(out, out_bytes, "%s1", value);
}

typedef struct tally {
  size_t n, n_missed;
  const char *const *known; /* names whose values cannot be derived; NULL ends */
} tally;

static void take(tally *t, const char *file, const char *name, const char *value, bool noticed) {
  t->n++;
  if (noticed) return;
  for (size_t i = 0; t->known[i] != NULL; i++)
    if (strcmp(t->known[i], name) == 0) return;
  t->n_missed++;
  print_message("%s: %s: '%s' was changed, and nothing said so\n", file, name, value);
}

/* --- JSON ----------------------------------------------------------------------------------------
 */

/* Every scalar value; the key before it is its name. */
static void change_json(const char *file, tally *t) {
  assay_buf text = read_file(file);
  const char *start = assay_buf_text(&text);
  char key[128] = "";
  for (const char *c = start; *c != '\0';) {
    if (*c != '"' && *c != '-' && !isdigit((unsigned char)*c) && !isalpha((unsigned char)*c)) {
      c++;
      continue;
    }
    bool quoted = *c == '"';
    const char *value = c + quoted;
    size_t n = quoted ? strcspn(value, "\"") : strcspn(value, ",\n ]}");
    const char *behind = value + n + quoted;
    c = behind;
    if (quoted && *behind == ':') {
      snprintf(key, sizeof key, "%.*s", (int)n, value);
      continue;
    }
    char found[512], other[520];
    snprintf(found, sizeof found, "%.*s", (int)n, value);
    if (strcmp(found, "null") == 0 || n == 0) continue;
    other_value(found, other, sizeof other);
    take(t, file, key, found, is_noticed(file, &text, (size_t)(value - start), n, other));
  }
  selftest_edit_index(&scene, NULL);
  assay_buf_reset(&text);
}

/* What the campaign saw and wrote down once, with no file behind it: how long the process took and
 * how large it was, the hour, and how its memory was looked at. */
static const char *const recorded[] = {"elapsed_ns",       "max_rss_bytes", "started_at",
                                       "n_dropped",        "max_late_ns",   "rss_meaning",
                                       "rss_slack_bytes",  "name",          "reason",
                                       "high_water_bytes", "source",        NULL};

static void no_value_of_a_result_can_be_changed(void **state) {
  (void)state;
  tally t = {.known = recorded};
  char *report = selftest_path(&scene, "report");
  assert_int_equal(assay_folder_remove(report, NULL), ASSAY_OK); /* it would tell, too */
  assay_free(report);
  selftest_edit_index(&scene, NULL);
  must();
  assert_int_equal(count_problems(), 0);
  change_json(SELFTEST_TIMING "result.json", &t);
  change_json(SELFTEST_PLACEMENT "result.json", &t);
  selftest_reseal(&scene, /*with_report=*/true);
  must();
  assert_int_equal(count_problems(), 0);
  print_message("%zu values, %zu missed\n", t.n, t.n_missed);
  assert_true(t.n > 200);
  assert_int_equal(t.n_missed, 0);
}

static const char *const of_the_report[] = {"schema", NULL};

static void no_value_of_a_json_table_can_be_changed(void **state) {
  (void)state;
  tally t = {.known = of_the_report};
  change_json("report/table.json", &t);
  print_message("%zu values, %zu missed\n", t.n, t.n_missed);
  assert_true(t.n > 80);
  assert_int_equal(t.n_missed, 0);
}

/* --- CSV -----------------------------------------------------------------------------------------
 */

/* Every cell, the header's included; cells here hold no quotes but around shapes. */
static void change_csv(const char *file, tally *t) {
  assay_buf text = read_file(file);
  const char *start = assay_buf_text(&text);
  for (const char *c = start; *c != '\0';) {
    bool quoted = *c == '"';
    const char *value = c + quoted;
    size_t n = quoted ? strcspn(value, "\"") : strcspn(value, ",\r");
    c = value + n + quoted;
    c += *c == '\r' ? 2 : 1;
    char found[512], other[520];
    snprintf(found, sizeof found, "%.*s", (int)n, value);
    other_value(found, other, sizeof other);
    take(t, file, found, found, is_noticed(file, &text, (size_t)(value - start), n, other));
  }
  selftest_edit_index(&scene, NULL);
  assay_buf_reset(&text);
}

static void no_cell_of_a_csv_table_can_be_changed(void **state) {
  (void)state;
  static const char *const nothing[] = {NULL};
  tally t = {.known = nothing};
  change_csv("report/table.csv", &t);
  change_csv("report/heads.csv", &t);
  change_csv("report/memory.csv", &t);
  change_csv("report/placement.csv", &t);
  print_message("%zu cells, %zu missed\n", t.n, t.n_missed);
  assert_true(t.n > 300);
  assert_int_equal(t.n_missed, 0);
}

/* --- Markdown and the page -----------------------------------------------------------------------
 */

/* The next number at or behind *at, its first digit: a digit before which no letter stands. */
static const char *next_number(const char *at, const char *end) {
  for (; at < end; at++)
    if (isdigit((unsigned char)*at) && !isalnum((unsigned char)at[-1]) && at[-1] != '.' &&
        at[-1] != '-' && at[-1] != '_')
      return at;
  return NULL;
}

/* Numbers in words that every page has: no figures of the package. */
static bool is_of_our_words(const char *found) {
  static const char *const ends[] = {" ns, 95", "brackets are 95", "Lag‑1",
                                     "(type 7", "-free, 95",       "lie more than 3"};
  size_t n = strlen(found);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (n >= strlen(ends[i]) && strcmp(found + n - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

/* Every number from `from` to `to`: its first digit that is not zero, or its last. */
static void change_numbers(const char *file, const assay_buf *text, const char *from,
                           const char *to, tally *t) {
  const char *start = assay_buf_text(text);
  for (const char *at = next_number(from, to); at != NULL; at = next_number(at, to)) {
    size_t n = strspn(at, "0123456789."), k = 0;
    while (n > 1 && at[n - 1] == '.') n--;
    while (k + 1 < n && (at[k] == '0' || at[k] == '.')) k++;
    char found[128], other[2] = {at[k] == '9' ? '3' : (char)(at[k] + 1), '\0'};
    const char *line = at;
    while (line > start && line[-1] != '\n' && at - line < 60) line--;
    snprintf(found, sizeof found, "%.*s", (int)(at - line) + (int)n, line);
    if (!is_of_our_words(found))
      take(t, file, found, found, is_noticed(file, text, (size_t)(at - start) + k, 1, other));
    at += n;
  }
  selftest_edit_index(&scene, NULL);
}

static void no_number_of_the_markdown_table_can_be_changed(void **state) {
  (void)state;
  static const char *const nothing[] = {NULL};
  tally t = {.known = nothing};
  assay_buf text = read_file("report/table.md");
  const char *start = assay_buf_text(&text);
  change_numbers("report/table.md", &text, start + 1, start + text.size_bytes, &t);
  print_message("%zu numbers, %zu missed\n", t.n, t.n_missed);
  assert_true(t.n > 10); /* less where memory could not be read */
  assert_int_equal(t.n_missed, 0);
  assay_buf_reset(&text);
}

static void no_number_of_the_page_can_be_changed(void **state) {
  (void)state;
  static const char *const nothing[] = {NULL};
  tally t = {.known = nothing};
  assay_buf text = read_file("report/report.html");
  const char *at = strstr(assay_buf_text(&text), "<header>");
  const char *end = strstr(at, "</main>");
  while (at < end) { /* between drawings and tags; titles of cells count */
    const char *tag = strchr(at, '<');
    change_numbers("report/report.html", &text, at, tag, &t);
    const char *close = strchr(tag, '>'), *title = strstr(tag, " title=\"");
    if (title != NULL && title < close)
      change_numbers("report/report.html", &text, title, close, &t);
    at = close + 1;
    if (strncmp(tag, "<svg", 4) == 0) at = strstr(tag, "</svg>");
  }
  print_message("%zu numbers, %zu missed\n", t.n, t.n_missed);
  assert_true(t.n > 100);
  assert_int_equal(t.n_missed, 0);
  assay_buf_reset(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_value_of_a_result_can_be_changed),
      cmocka_unit_test(no_value_of_a_json_table_can_be_changed),
      cmocka_unit_test(no_cell_of_a_csv_table_can_be_changed),
      cmocka_unit_test(no_number_of_the_markdown_table_can_be_changed),
      cmocka_unit_test(no_number_of_the_page_can_be_changed),
  };
  return cmocka_run_group_tests(tests, make_package, remove_package);
}
