/* The sampling thread. Deadlines are start + k * interval on CLOCK_MONOTONIC, so that a late row
 * does not move those after it; one that is past when the thread comes to it is missed, and
 * counted. */
#include "measure/sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "measure/clock.h"

#define FIRST_ROWS 4096 /* 41 s at 10 ms */

struct assay_sampler {
  assay_mem *mem;
  assay_sampler_record record; /* the thread's while it runs */
  size_t room_rows;            /* allocated */
  size_t max_rows;
  int64_t n_taken; /* rows, dropped ones too */
  atomic_bool stops;
  atomic_llong pid; /* 0 before attach */
  pthread_t thread;
};

/* --- rows ----------------------------------------------------------------------------------------
 */

static int64_t *next_row(assay_sampler *s) {
  assay_sampler_record *r = &s->record;
  size_t row_bytes = r->n_columns * sizeof *r->values;
  if (r->n_rows == s->room_rows && s->room_rows < s->max_rows) {
    size_t room = s->room_rows <= s->max_rows / 2 ? 2 * s->room_rows : s->max_rows;
    void *block = r->values;
    if (assay_resize(&block, s->room_rows * row_bytes, room * row_bytes, /*err=*/NULL)) return NULL;
    r->values = block;
    s->room_rows = room;
  }
  return r->n_rows < s->room_rows ? r->values + r->n_rows * r->n_columns : NULL;
}

static void read_column(assay_sampler *s, const assay_sampler_column *column,
                        assay_mem_reading *out) {
  long long pid = atomic_load(&s->pid);
  if (column->kind != ASSAY_SAMPLER_OF_PROCESS)
    assay_mem_used(s->mem, column->target, out);
  else if (pid != 0)
    assay_mem_of_process(s->mem, column->target, pid, out);
  else
    assay_mem_say_none(out, "no process was started yet");
}

/* The mark only rises, and vanishes with the process. */
static void look_at_high_water(assay_sampler *s) {
  assay_mem_reading mark;
  for (size_t i = 0; i < s->record.n_targets; i++) {
    if (!s->record.targets[i].target.is_process) continue;
    assay_mem_high_water(s->mem, i, &mark);
    if (mark.bytes > s->record.high_water_bytes) s->record.high_water_bytes = mark.bytes;
  }
}

static void take_row(assay_sampler *s, int64_t time_ns) {
  assay_sampler_record *r = &s->record;
  int64_t *row = next_row(s);
  bool is_slow = s->n_taken++ % ASSAY_SAMPLER_SLOW_EVERY == 0;
  if (row == NULL) {
    r->n_dropped++;
    return;
  }
  row[ASSAY_MEM_COLUMN_TIME] = time_ns;
  for (size_t i = ASSAY_MEM_COLUMNS_MIN; i < r->n_columns; i++) {
    assay_sampler_column *column = &r->columns[i];
    assay_mem_reading reading;
    row[i] = ASSAY_MEM_NONE;
    if (column->kind == ASSAY_SAMPLER_OF_PROCESS && !is_slow) continue;
    read_column(s, column, &reading);
    row[i] = reading.bytes;
    if (reading.bytes == ASSAY_MEM_NONE)
      memcpy(column->reason, reading.reason, sizeof reading.reason);
  }
  row[ASSAY_MEM_COLUMN_READ] = assay_clock_now_ns() - time_ns;
  r->n_rows++;
  if (is_slow) look_at_high_water(s);
}

/* --- the thread ----------------------------------------------------------------------------------
 */

static void sleep_until(int64_t due_ns) {
  struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000),
                         .tv_nsec = (long)(due_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) != 0) continue; /* EINTR */
}

static void *run(void *arg) {
  assay_sampler *s = arg;
  assay_sampler_record *r = &s->record;
  int64_t k = 0;
  do { /* one row at least */
    int64_t due_ns = r->start_ns + k * r->interval_ns;
    sleep_until(due_ns);
    int64_t now_ns = assay_clock_now_ns();
    if (now_ns - due_ns > r->max_late_ns) r->max_late_ns = now_ns - due_ns;
    take_row(s, now_ns);
    k = (assay_clock_now_ns() - r->start_ns) / r->interval_ns + 1;
  } while (!atomic_load(&s->stops));
  return NULL;
}

/* The thread must not take signals that the campaign wants to hear. */
static int start_thread(assay_sampler *s) {
  sigset_t all, before;
  sigfillset(&all);
  int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
  if (rc != 0) return rc;
  rc = pthread_create(&s->thread, /*attributes=*/NULL, run, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return rc;
}

/* --- start and end -------------------------------------------------------------------------------
 */

static void add_column(assay_sampler_record *r, assay_sampler_kind kind, const char *name,
                       size_t target) {
  assay_sampler_column *column = &r->columns[r->n_columns++];
  column->kind = kind;
  column->target = target;
  if (kind == ASSAY_SAMPLER_DEVICE || kind == ASSAY_SAMPLER_OF_PROCESS)
    snprintf(column->name, sizeof column->name, "%s@%.46s", name, r->targets[target].target.key);
  else
    snprintf(column->name, sizeof column->name, "%s", name);
}

static void add_columns(assay_sampler *s) {
  assay_sampler_record *r = &s->record;
  add_column(r, ASSAY_SAMPLER_TIME, "time_ns", 0);
  add_column(r, ASSAY_SAMPLER_READ, "read_ns", 0);
  for (size_t i = 0; i < r->n_targets; i++) {
    bool is_process = r->targets[i].target.is_process;
    add_column(r, is_process ? ASSAY_SAMPLER_RSS : ASSAY_SAMPLER_DEVICE,
               is_process ? "rss_bytes" : "used_bytes", i);
    if (assay_mem_tells_processes(s->mem, i))
      add_column(r, ASSAY_SAMPLER_OF_PROCESS, "worker_bytes", i);
  }
}

static assay_status make_record(assay_sampler *s, assay_error *err) {
  assay_sampler_record *r = &s->record;
  size_t n = assay_mem_n_targets(s->mem), n_absences = assay_mem_n_absences(s->mem);
  r->targets = assay_alloc_array(n, sizeof *r->targets);
  r->absences = assay_alloc_array(n_absences, sizeof *r->absences);
  r->columns = assay_alloc_array(ASSAY_MEM_COLUMNS_MIN + 2 * n, sizeof *r->columns);
  if (r->targets == NULL || r->absences == NULL || r->columns == NULL)
    return assay_fail_memory(err, n * sizeof *r->targets);
  r->n_targets = n;
  r->n_absences = n_absences;
  for (size_t i = 0; i < n_absences; i++) r->absences[i] = *assay_mem_absence_at(s->mem, i);
  for (size_t i = 0; i < n; i++) r->targets[i].target = *assay_mem_target_at(s->mem, i);
  add_columns(s);
  s->room_rows = s->max_rows < FIRST_ROWS ? s->max_rows : FIRST_ROWS;
  r->values = assay_alloc_array(s->room_rows * r->n_columns, sizeof *r->values);
  return r->values != NULL ? ASSAY_OK : assay_fail_memory(err, s->room_rows * sizeof *r->values);
}

static void destroy(assay_sampler *s) {
  if (s == NULL) return;
  assay_mem_close(s->mem);
  assay_sampler_record_reset(&s->record);
  assay_free(s);
}

static assay_status begin(assay_sampler *s, const assay_sampler_spec *spec, assay_error *err) {
  assay_sampler_record *r = &s->record;
  r->interval_ns = spec->interval_ns > 0 ? spec->interval_ns : ASSAY_SAMPLER_INTERVAL_NS;
  r->high_water_bytes = ASSAY_MEM_NONE;
  s->max_rows = spec->max_rows > 0 ? spec->max_rows : ASSAY_SAMPLER_ROWS_MAX;
  ASSAY_TRY(assay_mem_open(spec->config, &s->mem, err));
  ASSAY_TRY(make_record(s, err));
  for (size_t i = 0; i < r->n_targets; i++)
    if (!r->targets[i].target.is_process) assay_mem_activity_of(s->mem, i, &r->targets[i].before);
  r->start_ns = assay_clock_now_ns();
  int rc = start_thread(s);
  return rc == 0 ? ASSAY_OK : assay_fail_errno(err, ASSAY_E_IO, rc, "no thread for the sampler");
}

assay_status assay_sampler_start(const assay_sampler_spec *spec, assay_sampler **out,
                                 assay_error *err) {
  if (spec->interval_ns < 0)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "sampling interval: expected at least 1 ns, found %lld",
                      (long long)spec->interval_ns);
  assay_sampler *s = assay_alloc(sizeof *s);
  if (s == NULL) return assay_fail_memory(err, sizeof *s);
  atomic_init(&s->stops, false);
  atomic_init(&s->pid, 0);
  assay_status st = begin(s, spec, err);
  if (st) {
    destroy(s);
    return st;
  }
  *out = s;
  return ASSAY_OK;
}

void assay_sampler_attach(assay_sampler *sampler, int64_t pid) {
  assay_mem_attach(sampler->mem, pid);
  atomic_store(&sampler->pid, pid);
}

void assay_sampler_stop(assay_sampler *s, assay_sampler_record *out) {
  assay_sampler_record *r = &s->record;
  atomic_store(&s->stops, true);
  pthread_join(s->thread, NULL);
  for (size_t i = 0; i < r->n_targets; i++)
    if (!r->targets[i].target.is_process) assay_mem_activity_of(s->mem, i, &r->targets[i].after);
  r->n_missed = assay_mem_missed(r->values, r->n_rows, r->n_columns, r->start_ns, r->interval_ns);
  *out = *r;
  *r = (assay_sampler_record){0};
  destroy(s);
}

void assay_sampler_record_reset(assay_sampler_record *record) {
  assay_free(record->columns);
  assay_free(record->values);
  assay_free(record->targets);
  assay_free(record->absences);
  *record = (assay_sampler_record){0};
}
