/* What the memory sampler costs, and how well it keeps its deadlines. See README.md.
 *
 *   bench_sampler ASSAY BUNDLE WORK_FOLDER ROUNDS WARMUP ITERATIONS
 *
 * The first part samples a process that sleeps. The second times the bundle's first case again and
 * again through whole campaigns of one run, with the sampler and without. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "campaign/campaign.h"
#include "measure/sampler.h"

#define ROUNDS_MAX 1000
#define IDLE_S     10
#define NOISE_MAX  0.05 /* above, the machine says nothing about a promise of this size */
#define NEGLIGIBLE 0.01

static void die(const char *what, const char *why) {
  fprintf(stderr, "bench_sampler: %s: %s\n", what, why);
  exit(3);
}

static int by_value(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* values are sorted. */
static double quantile(const double *values, size_t n, double p) {
  double at = p * (double)(n - 1);
  size_t i = (size_t)at;
  return i + 1 < n ? values[i] + (at - (double)i) * (values[i + 1] - values[i]) : values[n - 1];
}

/* --- deadlines -----------------------------------------------------------------------------------
 */

/* How late rows began after their deadlines, and how long reading them took. */
static void print_rows(const assay_sampler_record *r) {
  double *late_us = calloc(r->n_rows, sizeof *late_us),
         *read_us = calloc(r->n_rows, sizeof *read_us);
  if (late_us == NULL || read_us == NULL || r->n_rows == 0) die("rows", "none");
  for (size_t i = 0; i < r->n_rows; i++) {
    const int64_t *row = r->values + i * r->n_columns;
    late_us[i] = (double)((row[ASSAY_MEM_COLUMN_TIME] - r->start_ns) % r->interval_ns) * 1e-3;
    read_us[i] = (double)row[ASSAY_MEM_COLUMN_READ] * 1e-3;
  }
  qsort(late_us, r->n_rows, sizeof *late_us, by_value);
  qsort(read_us, r->n_rows, sizeof *read_us, by_value);
  double n = (double)r->n_rows + (double)r->n_missed;
  printf("deadlines: %.3f %% of %.0f kept (every %.0f ms), %" PRId64 " missed; "
         "late by p50 %.0f us, p99 %.0f us, at most %.1f ms\n",
         100 * (double)r->n_rows / n, n, (double)r->interval_ns * 1e-6, r->n_missed,
         quantile(late_us, r->n_rows, 0.5), quantile(late_us, r->n_rows, 0.99),
         (double)r->max_late_ns * 1e-6);
  printf("reading:   p50 %.1f us, p99 %.1f us for %zu columns (%zu devices): %.3f %% of a core\n",
         quantile(read_us, r->n_rows, 0.5), quantile(read_us, r->n_rows, 0.99), r->n_columns,
         r->n_targets - 1, quantile(read_us, r->n_rows, 0.5) * 1e5 / (double)r->interval_ns);
  free(late_us);
  free(read_us);
}

static void measure_deadlines(void) {
  assay_sampler *sampler = NULL;
  assay_sampler_record record = {0};
  assay_error err = {0};
  struct timespec t = {.tv_sec = IDLE_S};
  if (assay_sampler_start(&(assay_sampler_spec){0}, &sampler, &err)) die("sampler", err.text);
  assay_sampler_attach(sampler, getpid());
  nanosleep(&t, NULL);
  assay_sampler_stop(sampler, &record);
  print_rows(&record);
  assay_sampler_record_reset(&record);
}

/* --- cost ----------------------------------------------------------------------------------------
 */

typedef struct run {
  double p50_ns;
  int64_t n_rows, n_missed;
} run;

static void keep(void *arg, size_t i, const assay_result *result) {
  run *out = arg;
  (void)i;
  if (!result->timing.known) die("run", result->reason != NULL ? result->reason : "not timed");
  out->p50_ns = result->timing.stats.percentiles[0].value_ns;
  out->n_rows = result->memory.n_rows;
  out->n_missed = result->memory.n_missed;
}

typedef struct setting {
  const char *assay, *bundle, *folder;
  int64_t warmup, iterations;
} setting;

static run time_once(const setting *s, bool without) {
  static const char *const only[] = {"timing"};
  run out = {0};
  assay_campaign_summary summary;
  assay_error err = {0};
  assay_campaign_spec spec = {.package_path = s->folder,
                              .bundles = &s->bundle,
                              .n_bundles = 1,
                              .iterations = s->iterations,
                              .warmup = s->warmup,
                              .only = only,
                              .n_only = 1,
                              .worker_path = s->assay,
                              .no_memory = without,
                              .progress = {.run_end = keep, .arg = &out}};
  if (assay_folder_remove(s->folder, &err)) die(s->folder, err.text);
  if (assay_campaign_run(&spec, &summary, &err)) die(s->bundle, err.text);
  if (!(out.p50_ns > 0)) die(s->bundle, "no run was timed");
  return out;
}

/* ratios [n] of with over without, own [2n] of each against itself within a round: logarithms. */
static int judge(double *ratios, const double *own, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < 2 * n; i++) squares += own[i] * own[i];
  /* own is the difference of two measurements; a round's ratio has two on each side; and 1.25 is
   * the error of a median over that of a mean. */
  double noise = 2 * 1.25 * sqrt(squares / (double)(2 * n) / 2) / sqrt((double)n);
  qsort(ratios, n, sizeof *ratios, by_value);
  double ratio = exp(quantile(ratios, n, 0.5));
  printf("with over without: %.4f (%.4f to %.4f), noise %.4f\n", ratio, exp(ratios[0]),
         exp(ratios[n - 1]), noise);
  if (noise > NOISE_MAX) {
    printf("the machine is too busy to tell\n");
    return 0;
  }
  bool holds = fabs(ratio - 1) <= fmax(noise, NEGLIGIBLE);
  printf("%s\n", holds ? "no cost beyond noise" : "the sampler costs something");
  return holds ? 0 : 1;
}

/* A round is with, without, without, with. */
static int measure_cost(const setting *s, size_t n_rounds) {
  static double ratios[ROUNDS_MAX], own[2 * ROUNDS_MAX];
  int64_t n_rows = 0, n_missed = 0;
  for (size_t i = 0; i < n_rounds; i++) {
    run with[2], without[2];
    with[0] = time_once(s, /*without=*/false);
    without[0] = time_once(s, /*without=*/true);
    without[1] = time_once(s, /*without=*/true);
    with[1] = time_once(s, /*without=*/false);
    own[2 * i] = log(with[1].p50_ns / with[0].p50_ns);
    own[2 * i + 1] = log(without[1].p50_ns / without[0].p50_ns);
    ratios[i] =
        0.5 * (log(with[0].p50_ns / without[0].p50_ns) + log(with[1].p50_ns / without[1].p50_ns));
    for (int k = 0; k < 2; k++) n_rows += with[k].n_rows, n_missed += with[k].n_missed;
    printf("round %zu: p50 with %.3f %.3f ms, without %.3f %.3f ms\n", i + 1, with[0].p50_ns * 1e-6,
           with[1].p50_ns * 1e-6, without[0].p50_ns * 1e-6, without[1].p50_ns * 1e-6);
    fflush(stdout);
  }
  printf("deadlines beside the worker: %.3f %% of %" PRId64 " kept\n",
         100 * (double)n_rows / (double)(n_rows + n_missed), n_rows + n_missed);
  return judge(ratios, own, n_rounds);
}

int main(int argc, char **argv) {
  if (argc != 7) die("usage", "bench_sampler ASSAY BUNDLE WORK_FOLDER ROUNDS WARMUP ITERATIONS");
  setting s = {.assay = argv[1], .bundle = argv[2], .folder = argv[3]};
  long rounds = strtol(argv[4], NULL, 10);
  s.warmup = strtol(argv[5], NULL, 10);
  s.iterations = strtol(argv[6], NULL, 10);
  if (rounds < 1 || rounds > ROUNDS_MAX || s.iterations < 1) die("usage", "counts of at least 1");
  measure_deadlines();
  return measure_cost(&s, (size_t)rounds);
}
