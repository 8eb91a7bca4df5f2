/* Figures of memory by phase. Each is found by a walk of its own over the rows: a phase is a span
 * of time, a row is the span that its reading took, and the two touch or do not. */
#include "verify/verify_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/npz.h"

#define PHASES_MAX_BYTES ((size_t)1 << 20)
#define N_CLOCKS         2 /* time_ns and read_ns, before the columns of bytes */

/* From the one to before the other, CLOCK_MONOTONIC ns; to is INT64_MAX where no mark ends it. */
typedef struct span {
  int64_t from, to;
} span;

/* memory.npy. */
typedef struct rows {
  const int64_t *values; /* [n, width] */
  size_t n, width;
} rows;

/* --- marks ---------------------------------------------------------------------------------------
 */

/* Time of the first whole line that begins with the word and a space, or 0. */
static int64_t mark_of(const char *text, const char *word) {
  size_t n_word = strlen(word);
  for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    if (strncmp(line, word, n_word) != 0 || line[n_word] != ' ') continue;
    char *stop = NULL;
    long long time_ns = strtoll(line + n_word + 1, &stop, 10);
    if (stop == end && time_ns > 0) return time_ns;
  }
  return 0;
}

static assay_status check_marks(const assay_verify_place *at, const char *folder,
                                const assay_result_memory *found, assay_error *err) {
  assay_buf text = {0};
  char *path = assay_path_join(folder, "phases.txt");
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_status st = assay_path_kind_of(path) == ASSAY_PATH_FILE
                        ? assay_file_read(path, PHASES_MAX_BYTES, &text, NULL)
                        : ASSAY_OK;
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail_memory(err, PHASES_MAX_BYTES);
  const char *lines = assay_buf_text(&text);
  int64_t warmup = mark_of(lines, "warmup"), timing = mark_of(lines, "timing");
  assay_verify_int(at, "session_ns", found->session_ns, mark_of(lines, "session"));
  assay_verify_int(at, "warm_ns", found->warm_ns, warmup > 0 ? warmup : timing);
  assay_verify_int(at, "end_ns", found->end_ns, mark_of(lines, "outputs"));
  assay_buf_reset(&text);
  return ASSAY_OK;
}

/* --- columns -------------------------------------------------------------------------------------
 */

static bool touches(const int64_t *row, span phase) {
  return row[0] < phase.to && row[0] + row[1] >= phase.from;
}

/* Largest value of the rows that touch the phase, and how many have one. */
static int64_t peak_in(const rows *r, size_t column, span phase, int64_t *out_n) {
  int64_t peak = ASSAY_RESULT_NONE;
  *out_n = 0;
  for (size_t i = 0; i < r->n; i++) {
    const int64_t *row = r->values + i * r->width;
    if (row[column] < 0 || !touches(row, phase)) continue;
    ++*out_n;
    if (row[column] > peak) peak = row[column];
  }
  return peak;
}

/* The last value of a row that was read whole before the mark. */
static int64_t last_before(const rows *r, size_t column, int64_t mark_ns, int64_t *out_n) {
  int64_t last = ASSAY_RESULT_NONE;
  *out_n = 0;
  for (size_t i = r->n; i-- > 0;) {
    const int64_t *row = r->values + i * r->width;
    if (row[column] < 0 || row[0] + row[1] >= mark_ns) continue;
    if (last == ASSAY_RESULT_NONE) last = row[column];
    ++*out_n;
  }
  return last;
}

static int64_t or_never(int64_t mark_ns) {
  return mark_ns > 0 ? mark_ns : INT64_MAX;
}

static assay_verify_memory_column derive_column(const rows *r, size_t i,
                                                const assay_result_memory *marks) {
  int64_t session = or_never(marks->session_ns), warm = or_never(marks->warm_ns);
  size_t column = N_CLOCKS + i;
  assay_verify_memory_column c;
  c.baseline_bytes = last_before(r, column, session, &c.n_baseline);
  c.peak_first_bytes = peak_in(r, column, (span){session, warm}, &c.n_first);
  c.peak_warm_bytes = peak_in(r, column, (span){warm, or_never(marks->end_ns)}, &c.n_warm);
  c.peak_bytes = peak_in(r, column, (span){0, INT64_MAX}, &c.n_values);
  return c;
}

static void check_column(const assay_verify_place *above, size_t i,
                         const assay_result_memory_column *found,
                         const assay_verify_memory_column *derived) {
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200scolumns[%zu].", above->within, i);
  assay_verify_int(&at, "baseline_bytes", found->baseline_bytes, derived->baseline_bytes);
  assay_verify_int(&at, "peak_first_bytes", found->peak_first_bytes, derived->peak_first_bytes);
  assay_verify_int(&at, "peak_warm_bytes", found->peak_warm_bytes, derived->peak_warm_bytes);
  assay_verify_int(&at, "peak_bytes", found->peak_bytes, derived->peak_bytes);
  assay_verify_int(&at, "n_baseline", found->n_baseline, derived->n_baseline);
  assay_verify_int(&at, "n_first", found->n_first, derived->n_first);
  assay_verify_int(&at, "n_warm", found->n_warm, derived->n_warm);
  assay_verify_int(&at, "n_values", found->n_values, derived->n_values);
  if (strcmp(found->name, "rss_bytes") == 0)
    assay_verify_holds(&at, "high_water_bytes", found->high_water_bytes >= derived->peak_bytes,
                       "at least the largest sample", "less");
}

/* --- deadlines -----------------------------------------------------------------------------------
 */

/* Deadlines up to the last row's, less those that have a row, and so many are returned. Rows are in
 * the order of time. */
static int64_t check_deadlines(const assay_verify_place *at, const rows *r,
                               const assay_result_memory *found) {
  int64_t last = -1, n_kept = 0, longest_ns = 0;
  for (size_t i = 0; i < r->n; i++) {
    int64_t since_ns = r->values[i * r->width] - found->start_ns;
    int64_t k = since_ns / found->interval_ns, late_ns = since_ns % found->interval_ns;
    n_kept += k > last;
    if (k > last) last = k;
    if (late_ns > longest_ns) longest_ns = late_ns;
  }
  assay_verify_int(at, "n_missed", found->n_missed, last + 1 - n_kept);
  assay_verify_holds(at, "max_late_ns", found->max_late_ns >= longest_ns,
                     "at least the distance of each row from the deadline before it", "less");
  return last + 1 - n_kept;
}

/* Times that can be calculated with: from the start on, rising, and with their readings below 2^62.
 */
static bool are_times(const rows *r, int64_t start_ns) {
  const int64_t most = INT64_C(1) << 61;
  int64_t before_ns = start_ns;
  for (size_t i = 0; i < r->n; i++) {
    const int64_t *row = r->values + i * r->width;
    if (row[0] < before_ns || row[0] > most || row[1] < 0 || row[1] > most) return false;
    before_ns = row[0];
  }
  return true;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static assay_status check_rows(const assay_verify_place *at, const assay_tensor *samples,
                               const assay_result_memory *found, assay_verify_memory *out,
                               assay_error *err) {
  size_t width = N_CLOCKS + found->n_columns;
  bool fits =
      samples->dtype == ASSAY_DTYPE_I64 && samples->rank == 2 && samples->dims[1] == (int64_t)width;
  assay_verify_holds(at, "columns", fits, "int64 samples of so many columns", "others");
  if (!fits) return ASSAY_OK;
  rows r = {.values = samples->data, .n = (size_t)samples->dims[0], .width = width};
  assay_verify_int(at, "n_rows", found->n_rows, samples->dims[0]);
  bool ordered = are_times(&r, found->start_ns);
  assay_verify_holds(at, "start_ns", ordered, "times of rows that rise from there", "others");
  if (!ordered) return ASSAY_OK;
  out->columns = assay_alloc_array(found->n_columns + 1, sizeof *out->columns);
  if (out->columns == NULL) return assay_fail_memory(err, found->n_columns * sizeof *out->columns);
  out->n_rows = samples->dims[0];
  out->n_missed = check_deadlines(at, &r, found);
  for (; out->n_columns < found->n_columns; out->n_columns++) {
    size_t i = out->n_columns;
    out->columns[i] = derive_column(&r, i, found);
    check_column(at, i, &found->columns[i], &out->columns[i]);
  }
  out->derived = true;
  return ASSAY_OK;
}

static assay_status check_samples(const assay_verify_place *at, const char *folder,
                                  const assay_result_memory *found, assay_verify_memory *out,
                                  assay_error *err) {
  assay_tensor samples = {0};
  assay_error why = {0};
  char *path = assay_path_join(folder, ASSAY_RESULT_MEMORY_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_status st = assay_npy_read(path, /*limits=*/NULL, &samples, &why);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  assay_verify_holds(at, ASSAY_RESULT_MEMORY_FILE, st == ASSAY_OK, "readable samples", why.text);
  st = st == ASSAY_OK ? check_rows(at, &samples, found, out, err) : ASSAY_OK;
  assay_tensor_reset(&samples);
  return st;
}

assay_status assay_verify_memory_check(const assay_verify_place *above, const char *folder,
                                       const assay_result *found, assay_verify_memory *out,
                                       assay_error *err) {
  const assay_result_memory *memory = &found->memory;
  assay_verify_place at = *above;
  snprintf(at.within, sizeof at.within, "%.200smemory.", above->within);
  assay_verify_holds(&at, "", !memory->known || found->mode == ASSAY_RESULT_TIMING,
                     "none in placement mode", "one");
  if (!memory->known) return ASSAY_OK;
  if (memory->reason != NULL) {
    assay_verify_int(&at, "n_rows", memory->n_rows, 0);
    assay_verify_int(&at, "columns (their number)", (int64_t)memory->n_columns, 0);
    out->derived = true;
    return ASSAY_OK;
  }
  ASSAY_TRY(check_marks(&at, folder, memory, err));
  return check_samples(&at, folder, memory, out, err);
}

void assay_verify_memory_reset(assay_verify_memory *memory) {
  assay_free(memory->columns);
  *memory = (assay_verify_memory){0};
}
