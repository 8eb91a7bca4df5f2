/* Tests of file.c: bounded reads, writes that are whole or not there, folders, names. */
#include "base/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"

static int open_folder(void **state) {
  test_folder *folder = malloc(sizeof *folder);
  test_folder_open(folder);
  *state = folder;
  return 0;
}

static int close_folder(void **state) {
  test_folder_close(*state);
  free(*state);
  return 0;
}

static void a_file_is_read_as_it_was_written(void **state) {
  static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
  const char *path = test_folder_file(*state, "a");
  for (size_t i = 0; i < N_OF(sizes); i++) {
    uint8_t *bytes = assay_alloc(sizes[i]);
    for (size_t k = 0; k < sizes[i]; k++) bytes[k] = (uint8_t)(k * 7 + i);
    assert_int_equal(assay_file_write(path, bytes, sizes[i], NULL), ASSAY_OK);
    assay_buf buf = {0};
    assert_int_equal(assay_buf_append_text(&buf, "old", NULL), ASSAY_OK);
    assert_int_equal(assay_file_read(path, 200000, &buf, NULL), ASSAY_OK);
    assert_int_equal(buf.size_bytes, sizes[i]);
    if (sizes[i] > 0) assert_memory_equal(buf.data, bytes, sizes[i]);
    assert_int_equal(buf.data[sizes[i]], 0);
    assay_file_map map = {0};
    assert_int_equal(assay_file_map_open(path, &map, NULL), ASSAY_OK);
    assert_int_equal(map.size_bytes, sizes[i]);
    assert_true((map.data == NULL) == (sizes[i] == 0));
    if (sizes[i] > 0) assert_memory_equal(map.data, bytes, sizes[i]);
    assay_file_map_close(&map);
    assay_buf_reset(&buf);
    assay_free(bytes);
  }
  assert_int_equal(test_folder_count(*state), 1);
}

static void a_read_stops_at_its_limit(void **state) {
  const char *path = test_folder_file(*state, "a");
  assert_int_equal(assay_file_write(path, "abcdef", 6, NULL), ASSAY_OK);
  assay_buf buf = {0};
  assay_error err = {0};
  assert_int_equal(assay_file_read(path, 5, &buf, &err), ASSAY_E_LIMIT);
  assert_non_null(strstr(err.text, "has 6 bytes: the limit is 5"));
  assert_null(buf.data);
  assert_int_equal(assay_file_read(path, 6, &buf, NULL), ASSAY_OK);
  assay_buf_reset(&buf);
  /* Files of /proc have no size, and bytes all the same. */
  assert_int_equal(assay_file_read("/proc/self/status", 1000000, &buf, NULL), ASSAY_OK);
  assert_true(buf.size_bytes > 100);
  err = (assay_error){0};
  assert_int_equal(assay_file_read("/proc/self/status", 100, &buf, &err), ASSAY_E_LIMIT);
  assay_buf_reset(&buf);
}

static void what_is_no_file_is_named(void **state) {
  test_folder *folder = *state;
  char fifo[1024];
  snprintf(fifo, sizeof fifo, "%s/fifo", folder->path);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  const struct {
    const char *path, *words;
  } rows[] = {{folder->path, "is a folder: expected a regular file"},
              {fifo, "is neither a file nor a folder"},
              {"/dev/zero", "is neither a file nor a folder"},
              {"/nowhere/x", "No such file or directory"}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf buf = {0};
    assay_file_map map = {0};
    assay_error err = {0}, map_err = {0};
    assert_int_equal(assay_file_read(rows[i].path, 100, &buf, &err), ASSAY_E_IO);
    assert_int_equal(assay_file_map_open(rows[i].path, &map, &map_err), ASSAY_E_IO);
    if (strstr(err.text, rows[i].words) == NULL) fail_msg("%s", err.text);
    assert_string_equal(err.text, map_err.text);
  }
}

static void an_unfinished_write_leaves_what_was_there(void **state) {
  const char *path = test_folder_file(*state, "a");
  assert_int_equal(assay_file_write(path, "old", 3, NULL), ASSAY_OK);
  assay_file_writer *writer = NULL;
  assert_int_equal(assay_file_writer_open(path, &writer, NULL), ASSAY_OK);
  assert_int_equal(assay_file_writer_append(writer, "new", 3, NULL), ASSAY_OK);
  assert_int_equal(test_folder_count(*state), 2);
  assay_file_writer_close(writer);
  assert_int_equal(test_folder_count(*state), 1);
  assay_buf buf = {0};
  assert_int_equal(assay_file_read(path, 100, &buf, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&buf), "old");
  assay_buf_reset(&buf);
  assay_file_writer_close(NULL);
}

/* A file-size limit stands for a full disk: the system refuses in the middle of a write. */
static void a_refused_write_leaves_nothing(void **state) {
  const char *path = test_folder_file(*state, "a");
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 100000;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  uint8_t *bytes = assay_alloc(300000);
  assay_error err = {0};
  assay_status st = assay_file_write(path, bytes, 300000, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assay_free(bytes);
  assert_int_equal(st, ASSAY_E_DISK);
  assert_non_null(strstr(err.text, "File too large"));
  assert_int_equal(test_folder_count(*state), 0);
}

static void targets_that_are_no_files_are_refused(void **state) {
  test_folder *folder = *state;
  char slash[1024];
  snprintf(slash, sizeof slash, "%s/", folder->path);
  const struct {
    const char *path, *words;
  } rows[] = {{folder->path, "a folder is there"},
              {"/dev/null", "something that is no regular file is there"},
              {slash, "is no name for a file"},
              {"/nowhere/x", "No such file or directory"}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_error err = {0};
    assert_int_equal(assay_file_write(rows[i].path, "x", 1, &err), ASSAY_E_IO);
    if (strstr(err.text, rows[i].words) == NULL) fail_msg("%s", err.text);
  }
}

static void a_write_survives_running_out_of_memory(void **state) {
  char path[1024];
  snprintf(path, sizeof path, "%s", test_folder_file(*state, "a"));
  for (int n = 0; n < 20; n++) {
    assay_alloc_fail_after(n);
    assay_error err = {0};
    assay_status st = assay_file_write(path, "x", 1, &err);
    assay_alloc_fail_after(-1);
    if (st == ASSAY_OK) {
      assert_in_range(n, 3, 6);
      return;
    }
    assert_int_equal(st, ASSAY_E_MEMORY);
  }
  fail();
}

static void copies_are_equal(void **state) {
  test_folder *folder = *state;
  char from[1024], to[1024];
  snprintf(from, sizeof from, "%s/from", folder->path);
  snprintf(to, sizeof to, "%s/to", folder->path);
  assert_int_equal(assay_file_write(from, "abc", 3, NULL), ASSAY_OK);
  assert_int_equal(assay_file_copy(from, to, NULL), ASSAY_OK);
  assay_buf buf = {0};
  assert_int_equal(assay_file_read(to, 100, &buf, NULL), ASSAY_OK);
  assert_string_equal(assay_buf_text(&buf), "abc");
  assay_buf_reset(&buf);
  assert_int_equal(assay_file_copy("/nowhere/x", to, NULL), ASSAY_E_IO);
  assert_int_equal(test_folder_count(folder), 2);
}

static void folders_are_made_listed_and_removed(void **state) {
  test_folder *folder = *state;
  char deep[1024], link[1024], outside[1024], base[1024];
  snprintf(base, sizeof base, "%s/x", folder->path);
  snprintf(deep, sizeof deep, "%s/x//y/z/", folder->path);
  snprintf(outside, sizeof outside, "%s/outside", folder->path);
  snprintf(link, sizeof link, "%s/x/y/link", folder->path);
  assert_int_equal(assay_folder_create(deep, NULL), ASSAY_OK);
  assert_int_equal(assay_folder_create(deep, NULL), ASSAY_OK);
  assert_int_equal(assay_path_kind_of(deep), ASSAY_PATH_FOLDER);
  assert_int_equal(assay_folder_create(outside, NULL), ASSAY_OK);
  assert_int_equal(assay_file_write(test_folder_file(folder, "outside/kept"), "x", 1, NULL),
                   ASSAY_OK);
  assert_int_equal(symlink(outside, link), 0);
  static const char *const names[] = {"x/b", "x/a", "x/.c", "x/y/z/d"};
  for (size_t i = 0; i < N_OF(names); i++) {
    assert_int_equal(assay_file_write(test_folder_file(folder, names[i]), "x", 1, NULL), ASSAY_OK);
  }
  assay_names list = {0};
  assert_int_equal(assay_folder_list(base, &list, NULL), ASSAY_OK);
  assert_int_equal(list.n, 4);
  assert_string_equal(list.items[0], ".c");
  assert_string_equal(list.items[1], "a");
  assert_string_equal(list.items[2], "b");
  assert_string_equal(list.items[3], "y");
  assay_names_reset(&list);
  assay_error err = {0};
  assert_int_equal(assay_folder_create(test_folder_file(folder, "x/a"), &err), ASSAY_E_IO);
  assert_non_null(strstr(err.text, "a file of that name is there"));
  assert_int_equal(assay_folder_remove(base, NULL), ASSAY_OK);
  assert_int_equal(assay_path_kind_of(base), ASSAY_PATH_NONE);
  assert_int_equal(assay_path_kind_of(test_folder_file(folder, "outside/kept")), ASSAY_PATH_FILE);
  assert_int_equal(assay_folder_remove(base, NULL), ASSAY_OK);
  assert_int_equal(assay_folder_list(base, &list, NULL), ASSAY_E_IO);
}

static void paths_are_joined(void **state) {
  (void)state;
  static const struct {
    const char *folder, *name, *joined;
  } rows[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"},
              {"a", "/b", "/b"}, {"", "b", "b"},     {"a/b", "c/d", "a/b/c/d"}};
  for (size_t i = 0; i < N_OF(rows); i++) {
    char *joined = assay_path_join(rows[i].folder, rows[i].name);
    assert_string_equal(joined, rows[i].joined);
    assay_free(joined);
  }
  assert_string_equal(assay_path_name("a/b/c.npz"), "c.npz");
  assert_string_equal(assay_path_name("c.npz"), "c.npz");
}

static void names_that_leave_are_seen(void **state) {
  (void)state;
  static const char *const inside[] = {"a",     "a/b", "..a",         "a..",
                                       "a/...", ".a",  "caf\xc3\xa9", "a b"};
  static const char *const outside[] = {"",       "/a",   "..",   "../a", "a/..",
                                        "a/../b", ".",    "./a",  "a//b", "a/",
                                        "a\\b",   "a\nb", "\x7f", "\xff", "a/./b"};
  for (size_t i = 0; i < N_OF(inside); i++) {
    if (!assay_path_is_inside(inside[i])) fail_msg("'%s'", inside[i]);
  }
  for (size_t i = 0; i < N_OF(outside); i++) {
    if (assay_path_is_inside(outside[i])) fail_msg("'%s'", outside[i]);
  }
  char name[1026];
  memset(name, 'x', sizeof name);
  name[1025] = '\0';
  assert_false(assay_path_is_inside(name));
  name[1024] = '\0';
  assert_true(assay_path_is_inside(name));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)
  const struct CMUnitTest tests[] = {
      TEST(a_file_is_read_as_it_was_written),
      TEST(a_read_stops_at_its_limit),
      TEST(what_is_no_file_is_named),
      TEST(an_unfinished_write_leaves_what_was_there),
      TEST(a_refused_write_leaves_nothing),
      TEST(targets_that_are_no_files_are_refused),
      TEST(a_write_survives_running_out_of_memory),
      TEST(copies_are_equal),
      TEST(folders_are_made_listed_and_removed),
      cmocka_unit_test(paths_are_joined),
      cmocka_unit_test(names_that_leave_are_seen),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
