/* Any bytes as a .npz archive: refused in one line, or listed and read the same way. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "package/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The calls take a path: one file, unlinked at once and written anew for each input. */
static const char *write_input(const uint8_t *data, size_t size) {
  static int fd = -1;
  static char path[64];
  if (fd < 0) {
    char name[] = "/tmp/npz-fuzz-XXXXXX";
    fd = mkstemp(name);
    if (fd < 0 || unlink(name) != 0) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) abort();
  if (size > 0 && write(fd, data, size) != (ssize_t)size) abort();
  return path;
}

static void check_line(const assay_error *err) {
  if (err->status == ASSAY_OK || strpbrk(err->text, "\n\r") != NULL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = write_input(data, size);
  const assay_npz_limits limits = {.max_array_bytes = 1 << 20, .max_total_bytes = 4 << 20};
  assay_npz_entry_info *list = NULL;
  size_t n = 0;
  assay_error list_err = {0}, err = {0};
  assay_tensor_map map = {0};
  assay_status list_st = assay_npz_list(path, &list, &n, &list_err);
  assay_status st = assay_npz_read(path, &limits, &map, &err);
  if (list_st) check_line(&list_err);
  if (st)
    check_line(&err);
  else if (list_st || n != map.n)
    abort(); /* what can be read can be listed */
  for (size_t i = 0; i < map.n; i++) {
    if (strcmp(list[i].name, map.items[i].name) != 0) abort();
    if (list[i].size_bytes != map.items[i].tensor.size_bytes) abort();
  }
  assay_npz_list_destroy(list, n);
  assay_tensor_map_reset(&map);
  return 0;
}
