/* Tests of find_library.c: the order, with a program of our own in a folder that is laid out like
 * the project. */
#include "runtime/find_library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/test_folder.h"

static const char *self; /* path of this program */

/* Copies this program to <folder>/build/find and runs it there with "--find"; returns the first
 * line it prints, or "". */
static const char *found_from(test_folder *folder, const char *ort, const char *asked_for) {
  static char line[4096];
  char program[1024], out[1024], ort_setting[1024];
  snprintf(program, sizeof program, "%s/build/find", folder->path);
  snprintf(out, sizeof out, "%s", test_folder_file(folder, "out"));
  snprintf(ort_setting, sizeof ort_setting, ort != NULL ? "ASSAY_ORT=%s" : "ASSAY_ORT%s",
           ort != NULL ? ort : "");
  assert_int_equal(assay_file_copy(self, program, NULL), ASSAY_OK);
  assert_int_equal(chmod(program, 0755), 0);
  const char *argv[] = {program, "--find", asked_for, NULL};
  const char *env[] = {ort_setting, NULL};
  assay_child_spec spec = {.argv = argv, .env = env, .stdout_path = out};
  assay_child_result end;
  assert_int_equal(assay_child_run(&spec, &end, NULL), ASSAY_OK);
  assert_true(end.exited);
  FILE *file = fopen(out, "r");
  assert_non_null(file);
  line[0] = '\0';
  (void)!fgets(line, sizeof line, file);
  fclose(file);
  line[strcspn(line, "\n")] = '\0';
  return line;
}

static void touch(test_folder *folder, const char *name) {
  assert_int_equal(assay_file_write(test_folder_file(folder, name), "x", 1, NULL), ASSAY_OK);
}

static void lay_out(test_folder *folder) {
  test_folder_open(folder);
  assert_int_equal(assay_folder_create(test_folder_file(folder, "build"), NULL), ASSAY_OK);
  assert_int_equal(assay_folder_create(test_folder_file(folder, "deps/onnxruntime"), NULL),
                   ASSAY_OK);
}

static void what_was_asked_for_comes_first(void **state) {
  (void)state;
  test_folder folder;
  lay_out(&folder);
  touch(&folder, "deps/onnxruntime/libonnxruntime.so.1.32.0");
  assert_string_equal(found_from(&folder, "/chosen.so", "/asked.so"), "/asked.so");
  assert_string_equal(found_from(&folder, "/chosen.so", NULL), "/chosen.so");
  const char *deps = found_from(&folder, "", NULL); /* set but empty: as if it were not */
  assert_non_null(strstr(deps, "/build/../deps/onnxruntime/libonnxruntime.so.1.32.0"));
  test_folder_close(&folder);
}

static void the_newest_in_deps_is_taken(void **state) {
  (void)state;
  test_folder folder;
  lay_out(&folder);
  static const char *const names[] = {"libonnxruntime.so.1.9.0",
                                      "libonnxruntime.so.1.32.0",
                                      "libonnxruntime.so.1.4.12",
                                      "libonnxruntime.so.1.33.0.sha256",
                                      "libonnxruntime_providers_shared.so",
                                      "LICENSE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char name[128];
    snprintf(name, sizeof name, "deps/onnxruntime/%s", names[i]);
    touch(&folder, name);
  }
  const char *found = found_from(&folder, NULL, NULL);
  if (strstr(found, "/libonnxruntime.so.1.32.0") == NULL) fail_msg("'%s'", found);
  test_folder_close(&folder);
}

static void nowhere_says_what_to_do(void **state) {
  (void)state;
  test_folder folder;
  lay_out(&folder);
  const char *found = found_from(&folder, NULL, NULL);
  if (strstr(found, "libonnxruntime") == NULL || strstr(found, "no ONNX Runtime library") == NULL) {
    print_message("this machine has one: '%s'\n", found);
    assert_true(found[0] == '/');
  } else {
    assert_non_null(strstr(found, "MISSING: "));
    assert_non_null(strstr(found, "run 'make deps' or set ASSAY_ORT="));
  }
  test_folder_close(&folder);
}

static void each_library_is_listed_once(void **state) {
  (void)state;
  test_folder folder;
  test_folder_open(&folder);
  char link[1024];
  snprintf(link, sizeof link, "%s", test_folder_file(&folder, "link.so"));
  assert_int_equal(symlink(TEST_LIBRARY, link), 0);
  setenv("ASSAY_ORT", link, 1);
  assay_names names = {0};
  assert_int_equal(assay_find_libraries(&names, NULL), ASSAY_OK);
  assert_true(names.n >= 1);
  assert_string_equal(names.items[0], TEST_LIBRARY); /* the real path */
  for (size_t i = 0; i < names.n; ++i)
    for (size_t k = 0; k < i; ++k) assert_string_not_equal(names.items[i], names.items[k]);
  assay_names_reset(&names);
  unsetenv("ASSAY_ORT");
  test_folder_close(&folder);
}

/* The program that found_from runs. */
static int find_and_print(const char *asked_for) {
  char *path = NULL;
  assay_error err = {0};
  assay_status st = assay_find_library(asked_for, &path, &err);
  if (st)
    printf("%s: %s\n", assay_status_name(st), err.text);
  else
    puts(path);
  assay_free(path);
  return 0;
}

int main(int argc, char **argv) {
  if (argc >= 2 && strcmp(argv[1], "--find") == 0) return find_and_print(argv[2]);
  char *path = NULL;
  if (assay_child_self_path(&path, NULL)) return 1;
  self = path;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_asked_for_comes_first),
      cmocka_unit_test(the_newest_in_deps_is_taken),
      cmocka_unit_test(nowhere_says_what_to_do),
      cmocka_unit_test(each_library_is_listed_once),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  assay_free(path);
  return failed;
}
