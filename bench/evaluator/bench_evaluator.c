/* The evaluator's side of the benchmark: makes a model and an event, hands both to the other side
 * as files, and evaluates when told to.
 *
 *   bench_evaluator MODEL N FOLDER [--threads T]
 *
 * MODEL is attention or heptv2 (preset cld, seed 42); the event has N rows of the built-in pool,
 * all valid. FOLDER receives weights.npz and case.npz. Then one command a line on stdin, one line
 * of answer each:
 *
 *   f32 K | f64 K   evaluates K times; answers with K times in nanoseconds
 *
 *   save NAME       writes the last outputs to FOLDER/NAME; answers "saved"
 *
 *   memory          answers with bytes resident before the first evaluation, and at most
 *
 *   about           answers with the libraries underneath */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/feature_pool.h"
#include "model/mlpf_params.h"
#include "package/npz.h"
#include "reference/ref_mlpf.h"

typedef struct bench {
  const char *folder;
  assay_mlpf_config config;
  assay_tensor_map weights;
  assay_tensor x, mask; /* [1, N, F], [1, N] */
  assay_ref_options options;
  assay_ref_outputs outputs; /* of the last evaluation */
  long rss_before;           /* bytes */
} bench;

static void stop(const char *what, const assay_error *err) {
  fprintf(stderr, "bench_evaluator: %s: %s\n", what, err->text);
  exit(4);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* VmRSS or VmHWM of this process in bytes; -1 where the system does not say. */
static long own_memory(const char *field) {
  char line[256];
  long kib = -1;
  FILE *status = fopen("/proc/self/status", "r");
  size_t n = strlen(field);
  if (status == NULL) return -1;
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, field, n) == 0) kib = strtol(line + n + 1, /*end=*/NULL, /*base=*/10);
  }
  fclose(status);
  return kib < 0 ? -1 : kib * 1024;
}

static void write_map(const bench *b, const char *name, const assay_tensor_map *map) {
  char path[4096];
  assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s", b->folder, name);
  if (assay_npz_write(path, map, &err)) stop("writing", &err);
}

/* N valid rows: a batch of twice the length has more than N before its padding. */
static void make_event(bench *b, int64_t n) {
  assay_error err = {0};
  assay_feature_pool pool = {0};
  assay_tensor x = {0}, mask = {0};
  if (assay_feature_pool_init_builtin(&b->config, &pool, &err)) stop("pool", &err);
  if (assay_feature_pool_fill(&pool, /*b=*/1, 2 * n, &x, &mask, &err)) stop("pool", &err);
  if (assay_tensor_init(&b->x, ASSAY_DTYPE_F32, 3, (int64_t[]){1, n, b->config.input_dim}, &err) ||
      assay_tensor_init(&b->mask, ASSAY_DTYPE_F32, 2, (int64_t[]){1, n}, &err)) {
    stop("event", &err);
  }
  memcpy(b->x.data, x.data, b->x.size_bytes);
  memcpy(b->mask.data, mask.data, b->mask.size_bytes);
  assay_tensor_reset(&x);
  assay_tensor_reset(&mask);
  assay_feature_pool_reset(&pool);
}

static void add_copy(assay_tensor_map *map, const char *name, const assay_tensor *tensor) {
  assay_error err = {0};
  assay_tensor copy = {0};
  if (assay_tensor_copy(&copy, tensor, &err) || assay_tensor_map_add(map, name, &copy, &err)) {
    stop(name, &err);
  }
}

static void prepare(bench *b, const char *model, int64_t n) {
  assay_error err = {0};
  if (assay_mlpf_config_init_preset(model, "cld", &b->config, &err)) stop("configuration", &err);
  if (assay_mlpf_seed_weights(&b->config, /*seed=*/42, &b->weights, /*next=*/NULL, &err)) {
    stop("weights", &err);
  }
  make_event(b, n);
  assay_tensor_map inputs = {0};
  add_copy(&inputs, "Xfeat_normed", &b->x);
  add_copy(&inputs, "mask", &b->mask);
  write_map(b, "weights.npz", &b->weights);
  write_map(b, "case.npz", &inputs);
  assay_tensor_map_reset(&inputs);
  b->rss_before = own_memory("VmRSS");
}

static void evaluate(bench *b, assay_dtype dtype, long times) {
  for (long i = 0; i < times; i++) {
    assay_error err = {0};
    assay_ref_outputs_reset(&b->outputs);
    int64_t start_ns = now_ns();
    if (assay_ref_mlpf_run(&b->config, &b->weights, dtype, &b->x, &b->mask, &b->options,
                           &b->outputs, &err)) {
      stop("evaluation", &err);
    }
    printf("%s%lld", i > 0 ? " " : "", (long long)(now_ns() - start_ns));
  }
  putchar('\n');
}

static void save(bench *b, const char *name) {
  assay_tensor_map map = {0};
  for (size_t i = 0; i < b->outputs.heads.n; i++) {
    add_copy(&map, b->outputs.heads.items[i].name, &b->outputs.heads.items[i].tensor);
  }
  write_map(b, name, &map);
  assay_tensor_map_reset(&map);
  puts("saved");
}

static void obey(bench *b, const char *command, const char *argument) {
  char text[256];
  long times = strtol(argument, /*end=*/NULL, /*base=*/10);
  if (strcmp(command, "f32") == 0) {
    evaluate(b, ASSAY_DTYPE_F32, times);
  } else if (strcmp(command, "f64") == 0) {
    evaluate(b, ASSAY_DTYPE_F64, times);
  } else if (strcmp(command, "save") == 0) {
    save(b, argument);
  } else if (strcmp(command, "memory") == 0) {
    printf("%ld %ld\n", b->rss_before, own_memory("VmHWM"));
  } else if (strcmp(command, "about") == 0) {
    assay_ref_describe(text, sizeof text);
    puts(text);
  } else {
    fprintf(stderr, "bench_evaluator: unknown command '%s'\n", command);
    exit(2);
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  bench b = {0};
  char line[256], command[64], argument[160];
  if (argc != 4 && !(argc == 6 && strcmp(argv[4], "--threads") == 0)) {
    fputs("usage: bench_evaluator attention|heptv2 N FOLDER [--threads T]\n", stderr);
    return 2;
  }
  b.folder = argv[3];
  if (argc == 6) b.options.threads = (int)strtol(argv[5], /*end=*/NULL, /*base=*/10);
  prepare(&b, argv[1], strtol(argv[2], /*end=*/NULL, /*base=*/10));
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    argument[0] = '\0';
    if (sscanf(line, "%63s %159s", command, argument) >= 1) obey(&b, command, argument);
  }
  assay_ref_outputs_reset(&b.outputs);
  assay_tensor_reset(&b.x);
  assay_tensor_reset(&b.mask);
  assay_tensor_map_reset(&b.weights);
  return 0;
}
