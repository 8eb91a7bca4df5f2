#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/stop.h"
#include "measure/loop.h"
#include "package/fields.h"

#define REDRAW_NS       INT64_C(200000000)
#define BAR_CELLS       20
#define LINE_BYTES      ASSAY_PROGRESS_LINE_BYTES
#define DEFAULT_COLUMNS 80

static int columns(void) {
  struct winsize size;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return DEFAULT_COLUMNS;
  return size.ws_col < LINE_BYTES ? size.ws_col : LINE_BYTES - 1;
}

static void clear_bar(assay_progress *t) {
  if (t->bar_is_shown) fputs("\r\033[K", stderr);
  t->bar_is_shown = false;
}

/* "1:02:03" or "2:03". */
static void duration_text(int64_t ns, char *out, size_t out_bytes) {
  int64_t s = (ns + 500000000) / 1000000000;
  if (s >= 3600)
    snprintf(out, out_bytes, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60),
             (int)(s % 60));
  else
    snprintf(out, out_bytes, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* From the mean of what was made so far; -1: nothing to go by. Timing and placement alternate, so
 * half of what is left is of each. */
static int64_t left_ns(const assay_progress *t) {
  double mean = 0;
  size_t n_known = 0;
  for (size_t i = 0; i < 2; i++) {
    if (t->n_made[i] == 0) continue;
    mean += (double)t->spent_ns[i] / (double)t->n_made[i];
    n_known++;
  }
  if (n_known == 0) return -1;
  double left = mean / (double)n_known * (double)(t->n_runs - t->n_done);
  double on = (double)(assay_clock_now_ns() - t->run_start_ns);
  return left > on ? (int64_t)(left - on) : 0;
}

static void draw_bar(assay_progress *t) {
  char line[LINE_BYTES + 128], bar[BAR_CELLS + 1], left[32] = "?", spent[32];
  size_t full = t->n_runs > 0 ? t->n_done * BAR_CELLS / t->n_runs : 0;
  memset(bar, '.', BAR_CELLS);
  memset(bar, '#', full < BAR_CELLS ? full : BAR_CELLS);
  bar[BAR_CELLS] = '\0';
  int64_t ns = left_ns(t);
  if (ns >= 0) duration_text(ns, left, sizeof left);
  duration_text(assay_clock_now_ns() - t->start_ns, spent, sizeof spent);
  snprintf(line, sizeof line, "[%s] %zu/%zu  %s, %s left  %s", bar, t->n_done, t->n_runs, spent,
           left, t->name);
  fprintf(stderr, "\r%.*s\033[K", columns() - 1, line);
  fflush(stderr);
  t->bar_is_shown = true;
  t->drawn_ns = assay_clock_now_ns();
}

static void on_begin(void *arg, size_t n_runs, size_t n_reused) {
  assay_progress *t = arg;
  t->n_runs = n_runs;
  t->n_done = n_reused;
  t->start_ns = t->run_start_ns = assay_clock_now_ns();
  if (n_reused > 0)
    fprintf(stderr, "%zu of %zu runs are done and kept\n", n_reused, n_runs);
  else
    fprintf(stderr, "%zu runs\n", n_runs);
}

static void on_run_begin(void *arg, size_t i, const assay_package_run *run) {
  assay_progress *t = arg;
  (void)i;
  snprintf(t->name, sizeof t->name, "%s %s %s %s", run->runtime, run->bundle, run->case_name,
           assay_result_mode_name(run->mode));
  t->mode = run->mode;
  t->run_start_ns = assay_clock_now_ns();
  if (t->on_terminal) draw_bar(t);
}

/* What one finished run has to say, in a few words. */
static void outcome_text(const assay_result *result, char *out, size_t out_bytes) {
  if (result->status != ASSAY_RESULT_DONE)
    snprintf(out, out_bytes, "%s: %s", assay_result_status_name(result->status),
             result->reason != NULL ? result->reason : "");
  else if (result->placed == ASSAY_VERDICT_PASS && !assay_result_kernels_passed(&result->kernels))
    snprintf(out, out_bytes, "kernels %s: %s", result->kernels.verdict, result->kernels.reason);
  else if (result->mode == ASSAY_RESULT_PLACEMENT)
    snprintf(out, out_bytes, "placement %s%s%s", assay_verdict_name(result->placed),
             result->placed == ASSAY_VERDICT_PASS ? "" : ": ", result->placement.reason);
  else
    snprintf(out, out_bytes, "p50 %.3f ms, numbers %s%s%s",
             result->timing.stats.percentiles[0].value_ns * 1e-6,
             assay_verdict_name(result->numbers), result->numbers_reason != NULL ? ": " : "",
             result->numbers_reason != NULL ? result->numbers_reason : "");
}

static void on_run_end(void *arg, size_t i, const assay_result *result) {
  assay_progress *t = arg;
  char text[ASSAY_ERROR_TEXT_BYTES + LINE_BYTES];
  (void)i;
  t->n_done++;
  t->n_made[t->mode]++;
  t->spent_ns[t->mode] += assay_clock_now_ns() - t->run_start_ns;
  if (t->on_terminal && assay_result_passed(result)) {
    draw_bar(t);
    return;
  }
  clear_bar(t); /* what does not pass stays to be read */
  outcome_text(result, text, sizeof text);
  fprintf(stderr, "[%zu/%zu] %s: %s\n", t->n_done, t->n_runs, t->name, text);
}

static void on_note(void *arg, const char *text) {
  clear_bar(arg);
  fprintf(stderr, "note: %s\n", text);
}

static void on_tick(void *arg) {
  assay_progress *t = arg;
  if (t->on_terminal && assay_clock_now_ns() - t->drawn_ns > REDRAW_NS) draw_bar(t);
}

assay_campaign_progress assay_progress_begin(assay_progress *t) {
  t->on_terminal = isatty(STDERR_FILENO);
  assay_stop_catch();
  return (assay_campaign_progress){.begin = on_begin,
                                   .run_begin = on_run_begin,
                                   .run_end = on_run_end,
                                   .note = on_note,
                                   .tick = on_tick,
                                   .cancelled = assay_stop_asked,
                                   .arg = t};
}

void assay_progress_end(assay_progress *t) {
  clear_bar(t);
}

/* --- stopped by a signal --- */

/* As a shell takes it: plain, or in single quotes. */
static void print_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_@%+=:,./-";
  char *shown = assay_fields_printable(word);
  if (shown == NULL) return;
  bool is_plain = shown[0] != '\0' && shown[strspn(shown, plain)] == '\0';
  fputs(is_plain ? " " : " '", stderr);
  for (const char *at = shown; *at != '\0'; at++) {
    if (*at == '\'')
      fputs("'\\''", stderr);
    else
      fputc(*at, stderr);
  }
  if (!is_plain) fputc('\'', stderr);
  assay_free(shown);
}

int assay_progress_say_stopped(const char *command, const char *package, int argc, char **argv) {
  char stopped[128];
  assay_stop_text(stopped, sizeof stopped);
  fprintf(stderr, "assay %s: %s; what is done is kept in '%s', and the same line goes on: assay",
          command, stopped, package);
  for (int i = 0; i < argc; i++) print_word(argv[i]);
  fputc('\n', stderr);
  return assay_stop_exit_status();
}
