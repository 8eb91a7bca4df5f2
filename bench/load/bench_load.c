/* Our side of the benchmark of loading: reads checkpoints and datasets when told to, by the calls
 * that `assay inspect` and `assay export` make. One command a line on stdin, one line of answer
 * each: nanoseconds by the clock, nanoseconds of processor time, and a result. The other sides
 * answer the same commands.
 *
 *   list FILE             opens a checkpoint, goes through names, types and shapes, closes it:
 *                         how many bytes the tensors have
 *   read FILE             every tensor into memory of its own, all kept until the end: their bytes
 *   hash FILE             SHA-256 of every tensor, one at a time: digest of the digests
 *   raw N FILE...         N records at random from each file: their bytes
 *   raws FILE...          all records in order: their bytes
 *   event N FOLDER        N examples of the split train at random, as arrays: their bytes
 *   events FOLDER         all examples in order, as arrays: their bytes
 *   check FOLDER          SHA-256 of all arrays of all examples, digest of the digests
 *   tfrecord FILE         all records in order, as lists of values by name: their bytes
 *   memory                peak resident bytes of this process
 *
 * The words of a command are separated by single spaces; names of files have none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "checkpoint/torch_file.h"
#include "dataset/array_record.h"
#include "dataset/example.h"
#include "dataset/tfds.h"
#include "dataset/tfrecord.h"

#define LINE_BYTES 4096
#define WORDS_MAX  64

static void stop(const char *what, const assay_error *err) {
  fprintf(stderr, "bench_load: %s: %s\n", what, err->text);
  exit(4);
}

static int64_t now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The high-water mark of resident memory in bytes; -1 where the system does not say. */
static long peak_bytes(void) {
  char line[256];
  long kib = -1;
  FILE *status = fopen("/proc/self/status", "r");
  if (status == NULL) return -1;
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, /*end=*/NULL, /*base=*/10);
  }
  fclose(status);
  return kib < 0 ? -1 : kib * 1024;
}

/* The sequence of indices that all sides draw: x = x * 6364136223846793005 + 1442695040888963407
 * mod 2^64 from 1, of which the upper 31 bits count. Source: D. Knuth, MMIX. */
static uint64_t next_index(uint64_t *state, uint64_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (*state >> 33) % n;
}

/* ---- checkpoints --------------------------------------------------------------------------------
 */

static assay_torch_file *open_checkpoint(const char *path) {
  assay_torch_file *file = NULL;
  assay_error err = {0};
  if (assay_torch_file_open(path, &file, &err)) stop(path, &err);
  return file;
}

static uint64_t do_list(const char *path) {
  assay_torch_file *file = open_checkpoint(path);
  uint64_t n_bytes = 0;
  for (size_t i = 0; i < assay_torch_file_count(file); i++) {
    const assay_torch_tensor *t = assay_torch_file_at(file, i);
    if (t->path[0] != '\0') n_bytes += t->n_elems * assay_dtype_size(t->dtype);
  }
  assay_torch_file_close(file);
  return n_bytes;
}

static uint64_t do_read(const char *path) {
  assay_torch_file *file = open_checkpoint(path);
  const size_t n = assay_torch_file_count(file);
  assay_tensor *tensors = calloc(n, sizeof *tensors);
  assay_error err = {0};
  uint64_t n_bytes = 0;
  if (tensors == NULL) abort();
  for (size_t i = 0; i < n; i++) {
    if (assay_torch_file_read(file, i, &tensors[i], &err)) stop(path, &err);
    n_bytes += tensors[i].size_bytes;
  }
  for (size_t i = 0; i < n; i++) assay_tensor_reset(&tensors[i]);
  free(tensors);
  assay_torch_file_close(file);
  return n_bytes;
}

static void add_digest(assay_sha256 *all, const assay_tensor *tensor) {
  char digest[ASSAY_SHA256_HEX_BYTES];
  assay_error err = {0};
  if (assay_sha256_bytes(tensor->data, tensor->size_bytes, digest, &err) ||
      assay_sha256_update(all, digest, strlen(digest), &err))
    stop("SHA-256", &err);
}

static void do_hash(const char *path, char out[ASSAY_SHA256_HEX_BYTES]) {
  assay_torch_file *file = open_checkpoint(path);
  assay_sha256 *all = NULL;
  assay_error err = {0};
  if (assay_sha256_create(&all, &err)) stop("SHA-256", &err);
  for (size_t i = 0; i < assay_torch_file_count(file); i++) {
    assay_tensor tensor;
    if (assay_torch_file_view(file, i, &tensor, &err)) stop(path, &err);
    add_digest(all, &tensor);
    assay_tensor_reset(&tensor);
  }
  if (assay_sha256_finish(all, out, &err)) stop("SHA-256", &err);
  assay_sha256_destroy(all);
  assay_torch_file_close(file);
}

/* ---- records ------------------------------------------------------------------------------------
 */

/* Touches a byte of every page, so that a record that was not copied is in memory too. */
static uint64_t touch(assay_span bytes) {
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < bytes.size_bytes; i += 4096) sum = (uint8_t)(sum + bytes.data[i]);
  return bytes.size_bytes;
}

/* n records at random; all in order for n == 0. */
static uint64_t do_raw(const char *path, uint64_t n) {
  assay_array_record *file = NULL;
  assay_error err = {0};
  uint64_t n_bytes = 0, state = 1;
  if (assay_array_record_open(path, /*limits=*/NULL, &file, &err)) stop(path, &err);
  const uint64_t n_records = assay_array_record_describe(file).n_records;
  for (uint64_t i = 0; i < (n == 0 ? n_records : n); i++) {
    assay_span record;
    uint64_t at = n == 0 ? i : next_index(&state, n_records);
    if (assay_array_record_get(file, at, &record, &err)) stop(path, &err);
    n_bytes += touch(record);
  }
  assay_array_record_close(file);
  return n_bytes;
}

static uint64_t do_tfrecord(const char *path) {
  assay_tfrecord *file = NULL;
  assay_example example = {0};
  assay_error err = {0};
  uint64_t n_bytes = 0;
  if (assay_tfrecord_open(path, /*limits=*/NULL, &file, &err)) stop(path, &err);
  const uint64_t n_records = assay_tfrecord_count(file);
  for (uint64_t i = 0; i < n_records; i++) {
    assay_span record;
    if (assay_tfrecord_get(file, i, &record, &err) || assay_example_parse(record, &example, &err))
      stop(path, &err);
    for (size_t k = 0; k < example.n; k++) {
      const assay_example_feature *feature = &example.features[k];
      float *values = malloc(feature->n_values * sizeof *values + 1);
      if (values == NULL) abort();
      assay_example_floats(feature, values);
      n_bytes += feature->n_values * sizeof *values;
      free(values);
    }
  }
  assay_example_reset(&example);
  assay_tfrecord_close(file);
  return n_bytes;
}

/* ---- events -------------------------------------------------------------------------------------
 */

static uint64_t read_event(assay_tfds *dataset, size_t split, uint64_t i, assay_sha256 *all) {
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  uint64_t n_bytes = 0;
  if (assay_tfds_read(dataset, split, i, /*names=*/NULL, /*n=*/0, &arrays, &err))
    stop("event", &err);
  for (size_t k = 0; k < arrays.n; k++) {
    n_bytes += arrays.items[k].tensor.size_bytes;
    if (all != NULL) add_digest(all, &arrays.items[k].tensor);
  }
  assay_tensor_map_reset(&arrays);
  return n_bytes;
}

/* n examples at random; all in order for n == 0. */
static uint64_t do_events(const char *folder, uint64_t n, assay_sha256 *all) {
  assay_tfds *dataset = NULL;
  assay_error err = {0};
  size_t split = 0;
  uint64_t n_bytes = 0, state = 1;
  if (assay_tfds_open(folder, &dataset, &err) ||
      assay_tfds_find_split(dataset, "train", &split, &err))
    stop(folder, &err);
  const uint64_t n_examples = assay_tfds_split_at(dataset, split).n_examples;
  for (uint64_t i = 0; i < (n == 0 ? n_examples : n); i++)
    n_bytes += read_event(dataset, split, n == 0 ? i : next_index(&state, n_examples), all);
  assay_tfds_close(dataset);
  return n_bytes;
}

/* ---- commands -----------------------------------------------------------------------------------
 */

static uint64_t bytes_of(const char *command, char *words[WORDS_MAX], size_t n_words) {
  const char *path = words[n_words - 1];
  const bool is_random = strcmp(command, "raw") == 0 || strcmp(command, "event") == 0;
  const uint64_t n = is_random && n_words > 1 ? strtoull(words[1], /*end=*/NULL, 10) : 0;
  uint64_t n_bytes = 0;
  if (strcmp(command, "memory") == 0) return (uint64_t)peak_bytes();
  if (strcmp(command, "list") == 0) return do_list(path);
  if (strcmp(command, "read") == 0) return do_read(path);
  if (strcmp(command, "tfrecord") == 0) return do_tfrecord(path);
  if (strcmp(command, "event") == 0 || strcmp(command, "events") == 0)
    return do_events(path, n, /*all=*/NULL);
  if (strcmp(command, "raw") != 0 && strcmp(command, "raws") != 0) {
    fprintf(stderr, "bench_load: unknown command '%s'\n", command);
    exit(2);
  }
  for (size_t i = is_random ? 2 : 1; i < n_words; i++) n_bytes += do_raw(words[i], n);
  return n_bytes;
}

static void do_check(const char *folder, char out[ASSAY_SHA256_HEX_BYTES]) {
  assay_sha256 *all = NULL;
  assay_error err = {0};
  if (assay_sha256_create(&all, &err)) stop("SHA-256", &err);
  do_events(folder, /*n=*/0, all);
  if (assay_sha256_finish(all, out, &err)) stop("SHA-256", &err);
  assay_sha256_destroy(all);
}

static void run(char *words[WORDS_MAX], size_t n_words) {
  char result[ASSAY_SHA256_HEX_BYTES];
  const int64_t start_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (strcmp(words[0], "hash") == 0)
    do_hash(words[n_words - 1], result);
  else if (strcmp(words[0], "check") == 0)
    do_check(words[n_words - 1], result);
  else
    snprintf(result, sizeof result, "%llu", (unsigned long long)bytes_of(words[0], words, n_words));
  printf("%lld %lld %s\n", (long long)(now_ns(CLOCK_MONOTONIC) - start_ns),
         (long long)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns), result);
}

int main(void) {
  char line[LINE_BYTES];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char *words[WORDS_MAX], *rest = NULL;
    size_t n_words = 0;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL && n_words < WORDS_MAX;
         word = strtok_r(NULL, " \n", &rest))
      words[n_words++] = word;
    if (n_words == 0) continue;
    run(words, n_words);
    fflush(stdout);
  }
  return 0;
}
