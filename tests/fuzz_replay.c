/* Replays a fuzzer's corpus as an ordinary test, without a fuzzer: hands every file of the folders
 * and every file named on the command line to LLVMFuzzerTestOneInput. Linked with one
 * <name>_fuzz.c. */
#include <stdint.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX_BYTES ((size_t)64 << 20)

static size_t n_replayed;

static assay_status replay_file(const char *path, assay_error *err) {
  assay_buf bytes = {0};
  ASSAY_TRY(assay_file_read(path, INPUT_MAX_BYTES, &bytes, err));
  LLVMFuzzerTestOneInput(bytes.data, bytes.size_bytes);
  n_replayed++;
  assay_buf_reset(&bytes);
  return ASSAY_OK;
}

static assay_status replay_folder(const char *path, assay_error *err) {
  assay_names names = {0};
  assay_status st = assay_folder_list(path, &names, err);
  for (size_t i = 0; i < names.n && !st; i++) {
    char *file = assay_path_join(path, names.items[i]);
    if (file == NULL)
      st = assay_fail_memory(err, 0);
    else if (assay_path_kind_of(file) == ASSAY_PATH_FILE)
      st = replay_file(file, err);
    assay_free(file);
  }
  assay_names_reset(&names);
  return st;
}

int main(int argc, char **argv) {
  LLVMFuzzerTestOneInput(NULL, 0);
  for (int i = 1; i < argc; i++) {
    assay_error err = {0};
    bool is_folder = assay_path_kind_of(argv[i]) == ASSAY_PATH_FOLDER;
    if (is_folder ? replay_folder(argv[i], &err) : replay_file(argv[i], &err)) {
      fprintf(stderr, "fuzz_replay: %s\n", err.text);
      return 1;
    }
  }
  printf("%zu inputs replayed\n", n_replayed);
  return n_replayed > 0 ? 0 : 1; /* a corpus that is not there is no test */
}
