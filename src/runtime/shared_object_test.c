/* Tests of shared_object.c: a library that is right, cut at every byte of its head and at many
 * beyond, and other files. */
#include "runtime/shared_object.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"

static char folder[] = "/tmp/assay-shared-object-XXXXXX";
static char path[sizeof folder + 16];
static assay_buf library; /* bytes of TEST_LIBRARY, a shared library of the build */

static int set_up(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/x.so", folder);
  return assay_file_read(TEST_LIBRARY, (size_t)1 << 24, &library, NULL) ? -1 : 0;
}

static int tear_down(void **state) {
  (void)state;
  assay_buf_reset(&library);
  return assay_folder_remove(folder, NULL) ? -1 : 0;
}

static assay_status check_bytes(const void *bytes, size_t size_bytes, assay_error *err) {
  remove(path); /* a new file: neither this nor truncating the old one may wait for the disk */
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
  assert_int_equal(fclose(file), 0);
  *err = (assay_error){0};
  return assay_shared_object_check(path, err);
}

static void accepts_a_shared_library(void **state) {
  (void)state;
  assay_error err;
  assert_int_equal(check_bytes(library.data, library.size_bytes, &err), ASSAY_OK);
}

/* A cut library is refused, or (cut behind all segments) loads without harm. */
static void a_cut_library_never_reaches_the_loader(void **state) {
  (void)state;
  assay_error err;
  for (size_t n = 0; n < library.size_bytes; n += n < 1024 ? 1 : 331) {
    assay_status st = check_bytes(library.data, n, &err);
    if (st) {
      assert_int_equal(st, ASSAY_E_MISSING);
      assert_non_null(strstr(err.text, path));
    } else {
      void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (handle != NULL) dlclose(handle);
    }
  }
}

static void other_files_are_named_for_what_they_are_not(void **state) {
  (void)state;
  assay_error err;
  const struct {
    const char *bytes;
    size_t n;
    const char *part;
  } cases[] = {
      {"", 0, "the file is empty"},
      {"version https://git-lfs.github.com/spec/v1\n", 43, "it does not begin as an ELF file"},
      {"\177ELF", 4, "it ends within the ELF header"},
      {"\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
       "\0\0\0"
       "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
       64, "not 64-bit little-endian ELF"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assert_int_equal(check_bytes(cases[i].bytes, cases[i].n, &err), ASSAY_E_MISSING);
    if (strstr(err.text, cases[i].part) == NULL) fail_msg("row %zu: '%s'", i, err.text);
  }
  assert_int_equal(assay_shared_object_check("/nowhere/x.so", &(assay_error){0}), ASSAY_E_MISSING);
  assert_int_equal(assay_shared_object_check(folder, &(assay_error){0}), ASSAY_E_MISSING);
}

static void another_machine_is_named(void **state) {
  (void)state;
  assay_error err;
  uint8_t machine = library.data[18];
  library.data[18] = 2; /* SPARC */
  library.data[19] = 0;
  assert_int_equal(check_bytes(library.data, library.size_bytes, &err), ASSAY_E_MISSING);
  assert_non_null(strstr(err.text, "built for another machine (ELF machine 2)"));
  library.data[18] = machine;
}

/* Each byte of headers and segment table set to 0xff: never past the file. */
static void damaged_headers_are_survived(void **state) {
  (void)state;
  assay_error err;
  for (size_t i = 0; i < 64 + 56 * 12 && i < library.size_bytes; ++i) {
    uint8_t kept = library.data[i];
    library.data[i] = 0xff;
    (void)!check_bytes(library.data, library.size_bytes, &err);
    library.data[i] = kept;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_a_shared_library),
      cmocka_unit_test(a_cut_library_never_reaches_the_loader),
      cmocka_unit_test(other_files_are_named_for_what_they_are_not),
      cmocka_unit_test(another_machine_is_named),
      cmocka_unit_test(damaged_headers_are_survived),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
