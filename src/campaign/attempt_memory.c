/* From the sampler's record to the memory of a result. The worker's marks are lines of a file that
 * it wrote, and so are read as from a stranger. */
#include "campaign/attempt_memory.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "campaign/worker.h"
#include "package/fields.h"
#include "package/npz.h"

#define LINE_MAX_BYTES 256

static void attach(void *sampler, int64_t pid) {
  assay_sampler_attach(sampler, pid);
}

assay_status assay_attempt_memory_begin(assay_child_spec *child, assay_sampler **out,
                                        assay_error *err) {
  ASSAY_TRY(assay_sampler_start(&(assay_sampler_spec){0}, out, err));
  child->started = attach;
  child->started_arg = *out;
  return ASSAY_OK;
}

/* --- marks ---------------------------------------------------------------------------------------
 */

/* The first of each counts. Without warm-ups, timing begins right after the first call. */
static void take_mark(assay_result_stage stage, int64_t time_ns, assay_mem_marks *marks) {
  int64_t *mark = NULL;
  if (stage == ASSAY_STAGE_SESSION) mark = &marks->session_ns;
  if (stage == ASSAY_STAGE_WARMUP || stage == ASSAY_STAGE_TIMING) mark = &marks->warm_ns;
  if (stage == ASSAY_STAGE_OUTPUTS) mark = &marks->end_ns;
  if (mark != NULL && *mark == 0) *mark = time_ns;
}

/* Lines "<stage> <ns>"; what is not one is passed over. */
static void read_marks(const char *folder, assay_mem_marks *out) {
  char line[LINE_MAX_BYTES], word[32];
  char *path = assay_path_join(folder, ASSAY_WORKER_PHASES_FILE);
  FILE *file =
      path != NULL && assay_path_kind_of(path) == ASSAY_PATH_FILE ? fopen(path, "re") : NULL;
  assay_free(path);
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL) {
    assay_result_stage stage;
    long long time_ns = 0;
    char end = '\0';
    if (sscanf(line, "%31s %18lld%c", word, &time_ns, &end) != 3 || end != '\n') continue;
    if (time_ns > 0 && assay_result_stage_of_name(word, &stage)) take_mark(stage, time_ns, out);
  }
  fclose(file);
}

/* --- the result ----------------------------------------------------------------------------------
 */

static assay_status copy(const char *text, char **out, assay_error *err) {
  *out = assay_fields_printable(text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
}

static assay_status fill_column(const assay_sampler_record *record, size_t i,
                                const assay_mem_marks *marks, int64_t high_water_bytes,
                                assay_result_memory_column *out, assay_error *err) {
  const assay_sampler_column *column = &record->columns[i];
  const assay_mem_target *target = &record->targets[column->target].target;
  assay_mem_figures figures;
  assay_mem_summarise(record->values, record->n_rows, record->n_columns, i, marks, &figures);
  out->n_values = figures.n_values;
  out->n_baseline = figures.n_baseline;
  out->n_first = figures.n_first;
  out->n_warm = figures.n_warm;
  out->baseline_bytes = figures.baseline_bytes;
  out->peak_first_bytes = figures.peak_first_bytes;
  out->peak_warm_bytes = figures.peak_warm_bytes;
  out->peak_bytes = figures.peak_bytes;
  /* The kernel's mark was last looked at before the end; a later sample may be above it. */
  if (figures.peak_bytes > high_water_bytes) high_water_bytes = figures.peak_bytes;
  if (high_water_bytes <= 0 || column->kind != ASSAY_SAMPLER_RSS)
    high_water_bytes = ASSAY_RESULT_NONE;
  out->high_water_bytes = high_water_bytes;
  ASSAY_TRY(copy(column->name, &out->name, err));
  if (!target->is_process) ASSAY_TRY(copy(target->key, &out->device, err));
  return column->reason[0] != '\0' ? copy(column->reason, &out->reason, err) : ASSAY_OK;
}

static assay_status fill_columns(const assay_sampler_record *record, const assay_mem_marks *marks,
                                 int64_t high_water_bytes, assay_result_memory *out,
                                 assay_error *err) {
  size_t n = record->n_columns - ASSAY_MEM_COLUMNS_MIN;
  out->columns = assay_alloc_array(n, sizeof *out->columns);
  if (out->columns == NULL) return assay_fail_memory(err, n * sizeof *out->columns);
  out->n_columns = n;
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(fill_column(record, ASSAY_MEM_COLUMNS_MIN + i, marks, high_water_bytes,
                          &out->columns[i], err));
  return ASSAY_OK;
}

static assay_status fill_activity(const assay_mem_activity *activity,
                                  assay_result_memory_activity *out, assay_error *err) {
  out->used_bytes = activity->used.bytes;
  out->busy_percent = activity->busy_percent;
  out->n_processes = activity->n_processes;
  out->is_whole = activity->is_whole;
  ASSAY_TRY(copy(assay_mem_idle_word(activity), &out->idle, err));
  ASSAY_TRY(copy(activity->used.reason, &out->used_reason, err));
  ASSAY_TRY(copy(activity->busy_reason, &out->busy_reason, err));
  ASSAY_TRY(copy(activity->processes_reason, &out->processes_reason, err));
  out->processes = assay_alloc_array(activity->n_listed, sizeof *out->processes);
  if (out->processes == NULL) return assay_fail_memory(err, sizeof *out->processes);
  out->n_listed = activity->n_listed;
  for (size_t i = 0; i < activity->n_listed; i++) {
    out->processes[i].pid = activity->processes[i].pid;
    out->processes[i].used_bytes = activity->processes[i].used_bytes;
    ASSAY_TRY(copy(activity->processes[i].name, &out->processes[i].name, err));
  }
  return ASSAY_OK;
}

static assay_status fill_device(const assay_sampler_target *from, assay_result_memory_device *out,
                                assay_error *err) {
  const assay_mem_target *target = &from->target;
  out->total_bytes = target->total_bytes;
  ASSAY_TRY(copy(target->key, &out->key, err));
  ASSAY_TRY(copy(target->source, &out->source, err));
  ASSAY_TRY(copy(target->name, &out->name, err));
  ASSAY_TRY(copy(target->uuid, &out->uuid, err));
  ASSAY_TRY(copy(target->driver, &out->driver, err));
  ASSAY_TRY(copy(target->meaning, &out->meaning, err));
  ASSAY_TRY(fill_activity(&from->before, &out->before, err));
  return fill_activity(&from->after, &out->after, err);
}

/* The targets are the worker and the devices. */
static assay_status fill_targets(const assay_sampler_record *record, assay_result_memory *out,
                                 assay_error *err) {
  size_t n = record->n_targets;
  out->devices = assay_alloc_array(n, sizeof *out->devices);
  if (out->devices == NULL) return assay_fail_memory(err, n * sizeof *out->devices);
  for (size_t i = 0; i < n; i++) {
    const assay_sampler_target *from = &record->targets[i];
    if (from->target.is_process) {
      out->rss_slack_bytes = from->target.slack_bytes;
      ASSAY_TRY(copy(from->target.meaning, &out->rss_meaning, err));
    } else {
      ASSAY_TRY(fill_device(from, &out->devices[out->n_devices++], err));
    }
  }
  return ASSAY_OK;
}

static assay_status fill_absent(const assay_sampler_record *record, assay_result_memory *out,
                                assay_error *err) {
  size_t n = record->n_absences;
  out->absent = assay_alloc_array(n, sizeof *out->absent);
  if (out->absent == NULL) return assay_fail_memory(err, n * sizeof *out->absent);
  out->n_absent = n;
  for (size_t i = 0; i < n; i++) {
    ASSAY_TRY(copy(record->absences[i].source, &out->absent[i].source, err));
    ASSAY_TRY(copy(record->absences[i].reason, &out->absent[i].reason, err));
  }
  return ASSAY_OK;
}

static assay_status fill(const assay_sampler_record *record, const assay_mem_marks *marks,
                         int64_t high_water_bytes, assay_result_memory *out, assay_error *err) {
  out->known = true;
  out->interval_ns = record->interval_ns;
  out->start_ns = record->start_ns;
  out->n_rows = (int64_t)record->n_rows;
  out->n_missed = record->n_missed;
  out->n_dropped = record->n_dropped;
  out->max_late_ns = record->max_late_ns;
  out->session_ns = marks->session_ns;
  out->warm_ns = marks->warm_ns;
  out->end_ns = marks->end_ns;
  if (record->high_water_bytes > high_water_bytes) high_water_bytes = record->high_water_bytes;
  ASSAY_TRY(fill_columns(record, marks, high_water_bytes, out, err));
  ASSAY_TRY(fill_targets(record, out, err));
  return fill_absent(record, out, err);
}

static assay_status write_rows(const assay_sampler_record *record, const char *folder,
                               assay_error *err) {
  assay_tensor view = {0};
  int64_t dims[] = {(int64_t)record->n_rows, (int64_t)record->n_columns};
  char *path = assay_path_join(folder, ASSAY_RESULT_MEMORY_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_status st =
      assay_tensor_init_view(&view, ASSAY_DTYPE_I64, /*rank=*/2, dims, record->values, err);
  if (st == ASSAY_OK) st = assay_npy_write(path, &view, err);
  assay_free(path);
  return st;
}

assay_status assay_attempt_memory_end(assay_sampler *sampler, const char *folder,
                                      int64_t high_water_bytes, assay_result_memory *out,
                                      assay_error *err) {
  assay_sampler_record record = {0};
  assay_mem_marks marks = {0};
  assay_sampler_stop(sampler, &record);
  read_marks(folder, &marks);
  assay_status st = write_rows(&record, folder, err);
  if (st == ASSAY_OK) st = fill(&record, &marks, high_water_bytes, out, err);
  assay_sampler_record_reset(&record);
  return st;
}

assay_status assay_attempt_memory_none(const char *reason, assay_result_memory *out,
                                       assay_error *err) {
  assay_result_memory_reset(out);
  out->known = true;
  out->rss_slack_bytes = ASSAY_RESULT_NONE;
  ASSAY_TRY(copy(reason, &out->reason, err));
  return copy("", &out->rss_meaning, err);
}

void assay_attempt_memory_drop(assay_sampler *sampler) {
  assay_sampler_record record = {0};
  if (sampler == NULL) return;
  assay_sampler_stop(sampler, &record);
  assay_sampler_record_reset(&record);
}
