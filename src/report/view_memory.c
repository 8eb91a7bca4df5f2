/* What a row says of memory and of the processes of a repeated timing. Which device stands for a
 * row in tables of one line a row is decided here; memory.csv has all of them. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/npz.h"
#include "report/campaign_view.h"
#include "report/sink.h"

const assay_result_memory *assay_view_memory(const assay_view_row *row) {
  const assay_result_memory *memory = &row->runs[ASSAY_VIEW_TIMING].result.memory;
  return memory->known ? memory : NULL;
}

const assay_result_memory_column *assay_view_rss(const assay_view_row *row) {
  const assay_result_memory *memory = assay_view_memory(row);
  return memory ? assay_result_memory_find(memory, "rss_bytes") : NULL;
}

static bool is_device_wide(const assay_result_memory_column *column) {
  static const char prefix[] = "used_bytes@";
  return strncmp(column->name, prefix, sizeof prefix - 1) == 0;
}

/* By how much the device's used memory rose; less than any rise when it is not known. */
static int64_t rise_of(const assay_result_memory_column *column) {
  int64_t rise = 0;
  return assay_result_memory_above(column, column->peak_bytes, &rise) ? rise : INT64_MIN;
}

const assay_result_memory_column *assay_view_device(const assay_view_row *row) {
  const assay_result_memory *memory = assay_view_memory(row);
  const assay_result_memory_column *best = NULL;
  for (size_t i = 0; memory && i < memory->n_columns; i++) {
    const assay_result_memory_column *column = &memory->columns[i];
    if (is_device_wide(column) && (best == NULL || rise_of(column) > rise_of(best))) best = column;
  }
  return best;
}

const char *assay_view_memory_word(const assay_view_row *row) {
  const assay_result_memory *memory = assay_view_memory(row);
  const assay_result_memory_column *rss = assay_view_rss(row);
  if (row->runs[ASSAY_VIEW_TIMING].result.status == ASSAY_RESULT_MISSING) return NULL;
  if (memory == NULL) return "not sampled";
  return rss && rss->n_values > 0 ? "sampled" : "unavailable";
}

const char *assay_view_memory_reason(const assay_view_row *row) {
  const assay_result_memory *memory = assay_view_memory(row);
  const assay_result_memory_column *rss = assay_view_rss(row);
  if (memory == NULL) return NULL;
  if (memory->reason) return memory->reason;
  return rss && rss->n_values == 0 ? rss->reason : NULL;
}

assay_status assay_view_load_device_reason(assay_view_row *row, assay_error *err) {
  const assay_result_memory *memory = assay_view_memory(row);
  const assay_result_memory_column *device = assay_view_device(row);
  assay_sink text = {0};
  if (memory == NULL || memory->reason) return ASSAY_OK;
  if (device && device->n_values == 0 && device->reason) assay_sink_put(&text, device->reason);
  for (size_t i = 0; device == NULL && i < memory->n_absent; i++)
    assay_sink_putf(&text, "%s%s: %s", i ? "; " : "", memory->absent[i].source,
                    memory->absent[i].reason);
  assay_status st = assay_sink_check(&text, err);
  if (st == ASSAY_OK && text.buf.size_bytes) {
    row->device_reason = assay_strdup(assay_sink_text(&text));
    if (row->device_reason == NULL) st = assay_fail_memory(err, text.buf.size_bytes);
  }
  assay_sink_reset(&text);
  return st;
}

const assay_result_processes *assay_view_processes(const assay_view_row *row) {
  const assay_result_processes *processes = &row->runs[ASSAY_VIEW_TIMING].result.processes;
  return processes->known ? processes : NULL;
}

assay_status assay_view_memory_rows(const assay_view *view, const assay_view_row *row,
                                    assay_tensor *out, assay_error *err) {
  const assay_result_memory *memory = assay_view_memory(row);
  char *folder =
      assay_result_folder(row->runtime, row->bundle, row->case_name, ASSAY_RESULT_TIMING);
  char *path =
      folder ? assay_format("%s/%s/%s", view->path, folder, ASSAY_RESULT_MEMORY_FILE) : NULL;
  assay_tensor rows = {0};
  assay_status st =
      path ? assay_npy_read(path, NULL, &rows, err) : assay_fail_memory(err, strlen(view->path));
  if (st == ASSAY_OK && (memory == NULL || rows.dtype != ASSAY_DTYPE_I64 || rows.rank != 2 ||
                         rows.dims[1] != (int64_t)memory->n_columns + ASSAY_VIEW_MEMORY_CLOCKS))
    st = assay_fail(err, ASSAY_E_FORMAT, "'%s': expected int64 samples of the result's columns",
                    path);
  assay_free(path);
  assay_free(folder);
  if (st) {
    assay_tensor_reset(&rows);
    return st;
  }
  *out = rows;
  return ASSAY_OK;
}
