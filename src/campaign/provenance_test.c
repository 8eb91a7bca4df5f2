/* Digests that are remembered while a file is the same one, and libraries that share a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/test_folder.h"
#include "campaign/candidates.h"
#include "package/fields.h"

static test_folder folder; /* of all tests; main opens it */

static char *write_file(const char *name, const char *text) {
  char *path = assay_path_join(folder.path, name);
  char *parent = assay_strndup(path, (size_t)(assay_path_name(path) - path));
  assert_int_equal(assay_folder_create(parent, NULL), ASSAY_OK);
  assert_int_equal(assay_file_write(path, text, strlen(text), NULL), ASSAY_OK);
  assay_free(parent);
  return path;
}

static assay_digest digest_of(assay_digests *digests, const char *path) {
  assay_digest digest = {0};
  assay_error err = {0};
  if (assay_digests_of(digests, path, &digest, &err)) fail_msg("%s", err.text);
  return digest;
}

static void fresh_files_are_hashed_again(void **state) {
  (void)state;
  assay_digests *digests = NULL;
  char *store = assay_path_join(folder.path, "digests.json"), *path = write_file("fresh", "one");
  assert_int_equal(assay_digests_open(store, &digests, NULL), ASSAY_OK);
  assay_digest before = digest_of(digests, path);
  assay_free(write_file("fresh", "two")); /* of the same size, in the same moment */
  assay_digest after = digest_of(digests, path);
  assert_string_not_equal(before.sha256, after.sha256);
  assert_int_equal(assay_digests_save(digests, NULL), ASSAY_OK);
  assert_int_equal(assay_path_kind_of(store), ASSAY_PATH_NONE); /* nothing was worth keeping */
  assay_digests_close(digests);
  assay_free(store);
  assay_free(path);
}

/* A file of the system's own has not changed for long. */
static void settled_files_are_remembered(void **state) {
  (void)state;
  static const char *const candidates[] = {"/bin/sh", "/usr/bin/env"};
  char *store = assay_path_join(folder.path, "digests.json");
  for (size_t i = 0; i < 2; i++) {
    assay_digests *digests = NULL;
    char sha256[65];
    assert_int_equal(assay_sha256_file(candidates[i], sha256, NULL, NULL), ASSAY_OK);
    assert_int_equal(assay_digests_open(store, &digests, NULL), ASSAY_OK);
    assert_string_equal(digest_of(digests, candidates[i]).sha256, sha256);
    assert_int_equal(assay_digests_save(digests, NULL), ASSAY_OK);
    assay_digests_close(digests);
  }
  assay_buf text = {0};
  assert_int_equal(assay_file_read(store, 1 << 20, &text, NULL), ASSAY_OK);
  for (size_t i = 0; i < 2; i++) assert_non_null(strstr(assay_buf_text(&text), candidates[i]));
  /* What is remembered is believed, as long as the file is the same one. */
  char *digit = strstr(assay_buf_text(&text), "\"sha256\": \"") + 11;
  *digit = *digit == '0' ? '1' : '0';
  assert_int_equal(assay_file_write(store, text.data, text.size_bytes, NULL), ASSAY_OK);
  assay_digests *digests = NULL;
  assert_int_equal(assay_digests_open(store, &digests, NULL), ASSAY_OK);
  assert_int_equal(digest_of(digests, candidates[0]).sha256[0], *digit);
  assay_digests_close(digests);
  assay_buf_reset(&text);
  assay_free(store);
}

static void a_damaged_store_is_as_good_as_none(void **state) {
  (void)state;
  char *store = write_file("digests.json", "{\"schema\": \"assay/digests/1\", \"files\": [{}]}");
  assay_digests *digests = NULL;
  assert_int_equal(assay_digests_open(store, &digests, NULL), ASSAY_OK);
  assert_int_equal(strlen(digest_of(digests, "/bin/sh").sha256), 64);
  assay_digest digest;
  assert_int_equal(assay_digests_of(digests, folder.path, &digest, NULL), ASSAY_E_IO);
  assert_int_equal(assay_digests_of(digests, "/nowhere", &digest, NULL), ASSAY_E_IO);
  assay_digests_close(digests);
  assay_free(store);
}

/* --- libraries of one name -----------------------------------------------------------------------
 */

static assay_machine_library library(assay_digests *digests, const char *path, const char *soname) {
  assay_machine_library one = {.path = assay_strdup(path)};
  memcpy(one.sha256, digest_of(digests, path).sha256, sizeof one.sha256);
  snprintf(one.soname, sizeof one.soname, "%s", soname);
  return one;
}

static void two_of_one_name_are_said(void **state) {
  (void)state;
  assay_digests *digests = NULL;
  assert_int_equal(assay_digests_open(NULL, &digests, NULL), ASSAY_OK);
  char *a = write_file("a/libx.so.1.2", "contents"), *b = write_file("b/libx.so.1", "others");
  char *c = write_file("c/libx.so.1", "contents"), *d = write_file("a/liby.so", "y");
  assay_machine_library items[] = {library(digests, a, "libx.so.1"), library(digests, d, "liby.so"),
                                   library(digests, c, "libx.so.1")};
  assay_machine_libraries mapped = {items, 2};
  char *search_path = assay_format("%s/nowhere:%s/c:%s/b", folder.path, folder.path, folder.path);
  char **lines = NULL;
  size_t n = 0;
  /* The copy in c has the same contents; the one in b has not. */
  assert_int_equal(assay_candidates_find(&mapped, search_path, digests, &lines, &n, NULL),
                   ASSAY_OK);
  assert_int_equal(n, 1);
  assert_non_null(strstr(lines[0], "two candidates of libx.so.1"));
  assert_non_null(strstr(lines[0], b));
  assay_fields_strings_destroy(lines, n);
  /* Without a search path nothing is in reach; the same file twice is no second candidate. */
  mapped.n = 3;
  assert_int_equal(assay_candidates_find(&mapped, NULL, digests, &lines, &n, NULL), ASSAY_OK);
  assert_int_equal(n, 0);
  assay_fields_strings_destroy(lines, n);
  items[2].sha256[0] ^= 1;
  assert_int_equal(assay_candidates_find(&mapped, NULL, digests, &lines, &n, NULL), ASSAY_OK);
  assert_true(n >= 1);
  assert_non_null(strstr(lines[0], "two libraries of one name (libx.so.1) are mapped"));
  assay_fields_strings_destroy(lines, n);
  for (size_t i = 0; i < 3; i++) assay_free(items[i].path);
  assay_free(search_path);
  assay_free(a), assay_free(b), assay_free(c), assay_free(d);
  assay_digests_close(digests);
}

static void this_process_maps_what_has_build_ids(void **state) {
  (void)state;
  assay_digests *digests = NULL;
  assay_machine_libraries mapped = {0};
  assert_int_equal(assay_digests_open(NULL, &digests, NULL), ASSAY_OK);
  assert_int_equal(assay_machine_mapped(digests, &mapped, NULL), ASSAY_OK);
  assert_true(mapped.n > 1);
  size_t n_named = 0, n_hashed = 0;
  for (size_t i = 0; i < mapped.n; i++) {
    n_named += mapped.items[i].soname[0] != '\0';
    n_hashed += strlen(mapped.items[i].sha256) == 64;
  }
  assert_true(n_named > 0);
  assert_int_equal(n_hashed, mapped.n);
  assay_machine_libraries_reset(&mapped);
  assay_digests_close(digests);
}

/* --- the record of the machine -------------------------------------------------------------------
 */

static const char *text_at(const assay_json *root, const char *object, const char *key) {
  const char *text = assay_json_string(assay_json_get(assay_json_get(root, object), key));
  if (text == NULL) fail_msg("'%s' has no text '%s'", object, key);
  return text;
}

static void the_record_says_what_the_tool_is_made_of(void **state) {
  (void)state;
  char *name = NULL;
  assay_json *root = NULL;
  assay_error err = {0};
  if (assay_machine_write(folder.path, &name, &err)) fail_msg("%s", err.text);
  char *path = assay_path_join(folder.path, name);
  assert_int_equal(assay_json_read(path, 1 << 20, &root, NULL), ASSAY_OK);
  assert_int_equal(strlen(text_at(root, "tool", "source_sha256")), 64);
  const char *revision = text_at(root, "tool", "revision");
  assert_true(strlen(revision) == 40 || strcmp(revision, "unavailable") == 0);
  const char *state_of_tree = text_at(root, "tool", "working_tree");
  assert_true(strcmp(state_of_tree, "clean") == 0 || strcmp(state_of_tree, "dirty") == 0 ||
              strcmp(state_of_tree, "unavailable") == 0);
  assert_true(strchr(text_at(root, "tool", "compiler"), ' ') != NULL);
  assert_null(strchr(text_at(root, "tool", "flags"), '/'));
  static const char *const passing[] = {"affinity",       "load_average",      "governor",
                                        "cgroup_cpu_max", "cgroup_memory_max", "no_turbo"};
  for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
    assert_true(text_at(root, "when_recorded", passing[i])[0] != '\0');
  assay_json_destroy(root);
  assay_free(path);
  assay_free(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fresh_files_are_hashed_again),
      cmocka_unit_test(settled_files_are_remembered),
      cmocka_unit_test(a_damaged_store_is_as_good_as_none),
      cmocka_unit_test(two_of_one_name_are_said),
      cmocka_unit_test(this_process_maps_what_has_build_ids),
      cmocka_unit_test(the_record_says_what_the_tool_is_made_of),
  };
  test_folder_open(&folder);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
