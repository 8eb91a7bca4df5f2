/* assay's p50 over that of a bare C loop on the same session options: a fresh process each,
 * alternated bare, assay, assay, bare in every round of one run, so that a machine that changes
 * speed changes both. Beside each ratio stands what the noise alone does: the same loop against
 * itself.
 *
 *   bench_harness ASSAY BARE_LOOP LIBRARY MODEL CASE.npz FOLDER ROUNDS WARMUP ITERATIONS
 *
 * Exit status 0 when the median ratio is within the noise, 1 when not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "measure/stats.h"
#include "package/npz.h"

enum { ROUNDS_MAX = 100 };

/* Below this a difference is not looked into (1 %), and noise above this is too much to tell
 * anything (5 %). */
static const double tolerated = 0.01, too_noisy = 0.05;

typedef struct setting {
  const char *assay, *bare, *library, *model, *inputs, *folder, *warmup, *iterations;
} setting;

static void die(const char *what, const char *why) {
  fprintf(stderr, "bench_harness: %s: %s\n", what, why);
  exit(3);
}

/* Runs argv to its end, stdout to path. */
static void run(const char *const *argv, const char *path) {
  assay_child_spec spec = {.argv = argv, .stdout_path = path};
  assay_child_result end;
  assay_error err = {0};
  if (assay_child_run(&spec, &end, &err)) die(argv[0], err.text);
  if (!end.exited || end.exit_code != 0) die(argv[0], "did not end well");
}

static double bare_p50(const setting *s) {
  char path[4096];
  snprintf(path, sizeof path, "%s/bare.txt", s->folder);
  const char *argv[] = {s->bare, s->library, s->model, s->inputs, s->warmup, s->iterations, NULL};
  run(argv, path);
  assay_buf text = {0};
  assay_error err = {0};
  if (assay_file_read(path, 64, &text, &err)) die(path, err.text);
  double p50 = strtod(assay_buf_text(&text), NULL);
  assay_buf_reset(&text);
  if (!(p50 > 0)) die(path, "holds no time");
  return p50;
}

static double assay_p50(const setting *s) {
  char folder[4096], samples[4200], log[4200];
  snprintf(folder, sizeof folder, "%s/worker", s->folder);
  snprintf(samples, sizeof samples, "%s/samples.npy", folder);
  snprintf(log, sizeof log, "%s/worker.txt", s->folder);
  assay_error err = {0};
  if (assay_folder_remove(folder, &err)) die(folder, err.text);
  const char *argv[] = {s->assay,       "worker",      "--library", s->library, "--model",
                        s->model,       "--inputs",    s->inputs,   "--warmup", s->warmup,
                        "--iterations", s->iterations, "--out",     folder,     NULL};
  run(argv, log);
  assay_tensor times = {0};
  assay_stats stats;
  if (assay_npy_read(samples, NULL, &times, &err)) die(samples, err.text);
  if (assay_stats_run(assay_tensor_i64(&times), times.n_elems, &stats, &err))
    die(samples, err.text);
  assay_tensor_reset(&times);
  return stats.percentiles[0].value_ns;
}

static int compare_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *x, size_t n) {
  qsort(x, n, sizeof *x, compare_double);
  return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Twice the standard error that the median ratio of n rounds would have if both loops were the
 * same. A time of spread s (of its logarithm) gives self-ratios of spread sqrt(2) s, ratios of two
 * geometric means of two of spread s, and a median of n of those an error of 1.25 s / sqrt(n). */
static double noise_of(const double *self_ratios, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < 2 * n; ++i) squares += log(self_ratios[i]) * log(self_ratios[i]);
  double s = sqrt(squares / (double)(2 * n) / 2);
  return 2 * 1.25 * s / sqrt((double)n);
}

int main(int argc, char **argv) {
  if (argc != 10) die("usage", "see the head of bench_harness.c");
  setting s = {.assay = argv[1],
               .bare = argv[2],
               .library = argv[3],
               .model = argv[4],
               .inputs = argv[5],
               .folder = argv[6],
               .warmup = argv[8],
               .iterations = argv[9]};
  size_t n = strtoul(argv[7], NULL, 10);
  if (n == 0 || n > ROUNDS_MAX) die("ROUNDS", "expected 1 to 100");
  double ratios[ROUNDS_MAX], noise[2 * ROUNDS_MAX];
  printf("round   bare p50   assay p50   ratio   bare/bare  assay/assay\n");
  for (size_t i = 0; i < n; ++i) {
    double bare_1 = bare_p50(&s), assay_1 = assay_p50(&s);
    double assay_2 = assay_p50(&s), bare_2 = bare_p50(&s);
    ratios[i] = sqrt(assay_1 * assay_2 / (bare_1 * bare_2));
    noise[2 * i] = bare_2 / bare_1;
    noise[2 * i + 1] = assay_2 / assay_1;
    printf("%5zu  %8.1f us %8.1f us  %.4f    %.4f     %.4f\n", i + 1, sqrt(bare_1 * bare_2) / 1e3,
           sqrt(assay_1 * assay_2) / 1e3, ratios[i], noise[2 * i], noise[2 * i + 1]);
    fflush(stdout);
  }
  double middle = median(ratios, n); /* sorts */
  double reach = noise_of(noise, n);
  bool within = fabs(log(middle)) <= fmax(reach, tolerated);
  printf("ratio %.4f (%.4f to %.4f over %zu rounds), noise %.4f: %s\n", middle, ratios[0],
         ratios[n - 1], n, reach,
         !within             ? "NOT within noise"
         : reach > too_noisy ? "within noise, but the machine is too noisy to tell"
                             : "within noise");
  return within ? 0 : 1;
}
