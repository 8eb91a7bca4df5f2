/* The checksum tree and the index that holds it: every kind of change to a folder is named. */
#include "package/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/test_folder.h"
#include "package/package.h"

static test_folder folder;

static void put(const char *name, const char *text) {
  char *path = assay_path_join(folder.path, name);
  char *parent = assay_strndup(path, (size_t)(assay_path_name(path) - path));
  assert_int_equal(assay_folder_create(parent, NULL), ASSAY_OK);
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
  assay_free(path);
  assay_free(parent);
}

static void drop(const char *name) {
  char *path = assay_path_join(folder.path, name);
  assert_int_equal(unlink(path), 0);
  assay_free(path);
}

static int make_folder(void **state) {
  (void)state;
  test_folder_open(&folder);
  put("b.txt", "bee");
  put("a/z.txt", "");
  put("a/b/c.txt", "sea");
  put("a.txt", "ay");
  put("package.json", "{}");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  test_folder_close(&folder);
  return 0;
}

static const char *const skip[] = {"package.json"};

static void scan(assay_tree *out) {
  assay_error err = {0};
  if (assay_tree_scan(folder.path, skip, N_OF(skip), out, &err)) fail_msg("%s", err.text);
}

static void lists_every_file_in_order(void **state) {
  (void)state;
  static const char *const want[] = {"a.txt", "a/b/c.txt", "a/z.txt", "b.txt"};
  assay_tree tree = {0};
  scan(&tree);
  assert_int_equal(tree.n, N_OF(want));
  for (size_t i = 0; i < tree.n; i++) assert_string_equal(tree.entries[i].file, want[i]);
  assert_int_equal(tree.entries[1].size_bytes, 3);
  /* SHA-256 of nothing, as everybody has it */
  assert_string_equal(tree.entries[2].sha256,
                      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_ptr_equal(assay_tree_find(&tree, "a/z.txt"), &tree.entries[2]);
  assert_null(assay_tree_find(&tree, "a/y.txt"));
  assay_tree_reset(&tree);
}

typedef struct seen {
  char text[512];
} seen;

static void see(void *arg, assay_tree_change change, const char *file, const char *detail) {
  static const char *const words[] = {"changed", "gone", "extra"};
  seen *s = arg;
  size_t n = strlen(s->text);
  assert_true(detail[0] != '\0');
  snprintf(s->text + n, sizeof s->text - n, "%s %s;", words[change], file);
}

static void check_changes(const assay_tree *tree, const char *want) {
  seen s = {0};
  size_t n = 0;
  assay_error err = {0};
  if (assay_tree_verify(tree, folder.path, skip, N_OF(skip), see, &s, &n, &err))
    fail_msg("%s", err.text);
  assert_string_equal(s.text, want);
}

static void names_every_kind_of_change(void **state) {
  (void)state;
  assay_tree tree = {0};
  scan(&tree);
  check_changes(&tree, "");
  put("b.txt", "bef");
  check_changes(&tree, "changed b.txt;");
  put("b.txt", "beef");
  check_changes(&tree, "changed b.txt;");
  put("a/new.txt", "x");
  check_changes(&tree, "extra a/new.txt;changed b.txt;");
  drop("a/new.txt");
  drop("a.txt");
  put("b.txt", "bee");
  check_changes(&tree, "gone a.txt;");
  put("a.txt", "sea"); /* two swapped */
  put("a/b/c.txt", "ay");
  check_changes(&tree, "changed a.txt;changed a/b/c.txt;");
  put("a.txt", "ay");
  put("a/b/c.txt", "sea");
  char *link = assay_path_join(folder.path, "link");
  assert_int_equal(symlink("b.txt", link), 0);
  check_changes(&tree, "extra link;");
  assert_int_equal(unlink(link), 0);
  drop("b.txt");
  char *path = assay_path_join(folder.path, "b.txt");
  assert_int_equal(symlink("a.txt", path), 0);
  check_changes(&tree, "changed b.txt;");
  assert_int_equal(unlink(path), 0);
  put("b.txt", "bee");
  check_changes(&tree, "");
  assay_free(link);
  assay_free(path);
  assay_tree_reset(&tree);
}

static void a_link_is_not_listed(void **state) {
  (void)state;
  assay_tree tree = {0};
  assay_error err = {0};
  char *link = assay_path_join(folder.path, "link");
  assert_int_equal(symlink("b.txt", link), 0);
  assert_int_equal(assay_tree_scan(folder.path, skip, N_OF(skip), &tree, &err), ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "link"));
  assert_int_equal(unlink(link), 0);
  assay_free(link);
}

static void the_digest_covers_names_sizes_and_bytes(void **state) {
  (void)state;
  assay_tree tree = {0};
  char first[65], second[65];
  scan(&tree);
  assert_int_equal(assay_tree_sha256(&tree, first, NULL), ASSAY_OK);
  tree.entries[0].size_bytes++;
  assert_int_equal(assay_tree_sha256(&tree, second, NULL), ASSAY_OK);
  assert_string_not_equal(first, second);
  tree.entries[0].size_bytes--;
  tree.entries[0].file[0] = 'A';
  assert_int_equal(assay_tree_sha256(&tree, second, NULL), ASSAY_OK);
  assert_string_not_equal(first, second);
  assay_tree_reset(&tree);
}

static void one_folder_is_replaced_and_the_rest_stays(void **state) {
  (void)state;
  assay_tree tree = {0}, below = {0};
  scan(&tree);
  put("a/b/d.txt", "new");
  char *path = assay_path_join(folder.path, "a");
  assert_int_equal(assay_tree_scan(path, NULL, 0, &below, NULL), ASSAY_OK);
  put("b.txt", "changed meanwhile");
  assert_int_equal(assay_tree_replace(&tree, "a", &below, NULL), ASSAY_OK);
  check_changes(&tree, "changed b.txt;");
  assert_int_equal(tree.n, 5);
  put("b.txt", "bee");
  drop("a/b/d.txt");
  assay_free(path);
  assay_tree_reset(&tree);
  assay_tree_reset(&below);
}

static void fill_index(assay_package *p) {
  *p = (assay_package){.tool_version = assay_strdup("0"),
                       .started_at = "2026-01-31T12:00:00.000Z",
                       .finished_at = "2026-01-31T12:00:01.000Z",
                       .iterations = 100};
  memset(p->tool_sha256, 'a', 64);
  p->runs = assay_alloc(sizeof *p->runs);
  p->n_runs = 1;
  p->runs[0] = (assay_package_run){.runtime = assay_strdup("cpu"),
                                   .bundle = assay_strdup("b"),
                                   .case_name = assay_strdup("c"),
                                   .folder = assay_strdup("runs/cpu/b/c/timing")};
  scan(&p->files);
  assert_int_equal(assay_tree_sha256(&p->files, p->tree_sha256, NULL), ASSAY_OK);
}

static void an_index_reads_as_it_was_written(void **state) {
  (void)state;
  assay_package p = {0}, again = {0};
  assay_error err = {0};
  fill_index(&p);
  if (assay_package_write(&p, folder.path, &err)) fail_msg("%s", err.text);
  if (assay_package_read(folder.path, &again, &err)) fail_msg("%s", err.text);
  assert_string_equal(again.tree_sha256, p.tree_sha256);
  assert_int_equal(again.files.n, 4);
  assert_string_equal(again.runs[0].folder, "runs/cpu/b/c/timing");
  check_changes(&again.files, "");
  assay_result result = {0};
  assert_int_equal(assay_package_result(&again, folder.path, 0, &result, NULL), ASSAY_OK);
  assert_int_equal(result.status, ASSAY_RESULT_MISSING);
  assay_result_reset(&result);
  assay_package_reset(&p);
  assay_package_reset(&again);
}

static void sealing_one_folder_blesses_nothing_else(void **state) {
  (void)state;
  assay_package p = {0};
  put("report/table.csv", "1");
  put("b.txt", "tampered");
  assert_int_equal(assay_package_seal(folder.path, "report", NULL), ASSAY_OK);
  assert_int_equal(assay_package_read(folder.path, &p, NULL), ASSAY_OK);
  check_changes(&p.files, "changed b.txt;");
  assert_int_equal(assay_package_seal(folder.path, "../report", NULL), ASSAY_E_ARGUMENT);
  assay_package_reset(&p);
}

static void an_index_with_a_changed_line_is_refused(void **state) {
  (void)state;
  static const char *const finds[] = {"\"size_bytes\": 3", "e3b0c442", "a/z.txt", "timing", "cpu"};
  static const char *const withs[] = {"\"size_bytes\": 4", "e3b0c443", "a/y.txt", "tuning", "c/u"};
  char *path = assay_path_join(folder.path, "package.json");
  assay_buf good = {0};
  assert_int_equal(assay_file_read(path, 1 << 20, &good, NULL), ASSAY_OK);
  for (size_t i = 0; i < N_OF(finds); i++) {
    assay_package p = {0};
    const char *text = assay_buf_text(&good), *at = strstr(text, finds[i]);
    assert_non_null(at);
    char *bad = assay_format("%.*s%s%s", (int)(at - text), text, withs[i], at + strlen(finds[i]));
    put("package.json", bad);
    if (assay_package_read(folder.path, &p, NULL) != ASSAY_E_FORMAT)
      fail_msg("'%s' was read", withs[i]);
    assay_free(bad);
  }
  assay_buf_reset(&good);
  assay_free(path);
}

/* Every byte of it counts, those of its own digest and the last new line included: the last 100 are
 * tried, and some of those before. */
static void an_index_knows_its_own_bytes(void **state) {
  (void)state;
  assay_package p = {0};
  assay_error err = {0};
  char *path = assay_path_join(folder.path, "package.json");
  assay_buf good = {0};
  fill_index(&p);
  assert_int_equal(assay_package_write(&p, folder.path, NULL), ASSAY_OK);
  if (assay_package_check(folder.path, &err)) fail_msg("%s", err.text);
  assert_int_equal(assay_file_read(path, 1 << 20, &good, NULL), ASSAY_OK);
  for (size_t i = 0; i < good.size_bytes; i += i + 100 < good.size_bytes ? 17 : 1) {
    good.data[i] ^= 1;
    put("package.json", assay_buf_text(&good));
    if (assay_package_check(folder.path, NULL) != ASSAY_E_MISMATCH)
      fail_msg("byte %zu was missed", i);
    good.data[i] ^= 1;
  }
  char *edited = strstr((char *)good.data, "\"iterations\": 100");
  assert_non_null(edited);
  edited[strlen("\"iterations\": ")] = '9'; /* well-formed, so that it is read */
  put("package.json", assay_buf_text(&good));
  put("report/table.csv", "2");
  assert_int_equal(assay_package_seal(folder.path, "report", &err), ASSAY_E_MISMATCH);
  assert_non_null(strstr(err.text, "package.json"));
  assay_buf_reset(&good);
  assay_free(path);
  assay_package_reset(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_every_file_in_order),
      cmocka_unit_test(names_every_kind_of_change),
      cmocka_unit_test(a_link_is_not_listed),
      cmocka_unit_test(the_digest_covers_names_sizes_and_bytes),
      cmocka_unit_test(one_folder_is_replaced_and_the_rest_stays),
      cmocka_unit_test(an_index_reads_as_it_was_written),
      cmocka_unit_test(sealing_one_folder_blesses_nothing_else),
      cmocka_unit_test(an_index_with_a_changed_line_is_refused),
      cmocka_unit_test(an_index_knows_its_own_bytes),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
