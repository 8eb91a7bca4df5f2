/* Reads and writes the memory of a run: the format stands in result_memory.h. */
#include "package/result_memory.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "package/fields.h"

/* --- tables --------------------------------------------------------------------------------------
 */

/* An integer >= 0, or NONE: null. */
typedef struct figure {
  const char *key;
  size_t offset;
} figure;

#define FIGURE(type, member)                                                                       \
  { #member, offsetof(type, member) }

static const assay_field memory_fields[] = {
    ASSAY_FIELD(assay_result_memory, reason, STRING_OR_NULL),
    ASSAY_FIELD(assay_result_memory, interval_ns, COUNT),
    ASSAY_FIELD(assay_result_memory, start_ns, COUNT),
    ASSAY_FIELD(assay_result_memory, n_rows, COUNT),
    ASSAY_FIELD(assay_result_memory, n_missed, COUNT),
    ASSAY_FIELD(assay_result_memory, n_dropped, COUNT),
    ASSAY_FIELD(assay_result_memory, max_late_ns, COUNT),
    ASSAY_FIELD(assay_result_memory, rss_meaning, STRING),
};
static const figure memory_figures[] = {FIGURE(assay_result_memory, rss_slack_bytes)};
static const char *const memory_others[] = {"session_ns",      "warm_ns", "end_ns",  "peak_rule",
                                            "rss_slack_bytes", "columns", "devices", "absent"};

static const assay_field column_fields[] = {
    ASSAY_FIELD(assay_result_memory_column, name, STRING),
    ASSAY_FIELD(assay_result_memory_column, device, STRING_OR_NULL),
    ASSAY_FIELD(assay_result_memory_column, reason, STRING_OR_NULL),
    ASSAY_FIELD(assay_result_memory_column, n_values, COUNT),
    ASSAY_FIELD(assay_result_memory_column, n_baseline, COUNT),
    ASSAY_FIELD(assay_result_memory_column, n_first, COUNT),
    ASSAY_FIELD(assay_result_memory_column, n_warm, COUNT),
};
static const figure column_figures[] = {
    FIGURE(assay_result_memory_column, baseline_bytes),
    FIGURE(assay_result_memory_column, peak_first_bytes),
    FIGURE(assay_result_memory_column, peak_warm_bytes),
    FIGURE(assay_result_memory_column, peak_bytes),
    FIGURE(assay_result_memory_column, high_water_bytes),
};
/* Differences that the file has and the struct has not. */
static const figure column_peaks[] = {
    {"first_above_bytes", offsetof(assay_result_memory_column, peak_first_bytes)},
    {"warm_above_bytes", offsetof(assay_result_memory_column, peak_warm_bytes)},
    {"peak_above_bytes", offsetof(assay_result_memory_column, peak_bytes)},
};
static const char *const column_others[] = {
    "baseline_bytes",   "peak_first_bytes",  "peak_warm_bytes",  "peak_bytes",
    "high_water_bytes", "first_above_bytes", "warm_above_bytes", "peak_above_bytes"};

static const assay_field process_fields[] = {
    ASSAY_FIELD(assay_result_memory_process, pid, COUNT),
    ASSAY_FIELD(assay_result_memory_process, name, STRING),
};
static const figure process_figures[] = {FIGURE(assay_result_memory_process, used_bytes)};
static const char *const process_others[] = {"used_bytes"};

static const assay_field activity_fields[] = {
    ASSAY_FIELD(assay_result_memory_activity, is_whole, BOOL),
    ASSAY_FIELD(assay_result_memory_activity, idle, STRING),
    ASSAY_FIELD(assay_result_memory_activity, used_reason, STRING),
    ASSAY_FIELD(assay_result_memory_activity, busy_reason, STRING),
    ASSAY_FIELD(assay_result_memory_activity, processes_reason, STRING),
};
static const figure activity_figures[] = {
    FIGURE(assay_result_memory_activity, used_bytes),
    FIGURE(assay_result_memory_activity, busy_percent),
    FIGURE(assay_result_memory_activity, n_processes),
};
static const char *const activity_others[] = {"used_bytes", "busy_percent", "n_processes",
                                              "processes"};

static const assay_field device_fields[] = {
    ASSAY_FIELD(assay_result_memory_device, key, STRING),
    ASSAY_FIELD(assay_result_memory_device, source, STRING),
    ASSAY_FIELD(assay_result_memory_device, name, STRING),
    ASSAY_FIELD(assay_result_memory_device, uuid, STRING),
    ASSAY_FIELD(assay_result_memory_device, driver, STRING),
    ASSAY_FIELD(assay_result_memory_device, meaning, STRING),
};
static const figure device_figures[] = {FIGURE(assay_result_memory_device, total_bytes)};
static const char *const device_others[] = {"total_bytes", "before", "after"};

static const assay_field absence_fields[] = {
    ASSAY_FIELD(assay_result_memory_absence, source, STRING),
    ASSAY_FIELD(assay_result_memory_absence, reason, STRING),
};

static int64_t value_at(const void *in, size_t offset) {
  int64_t value;
  memcpy(&value, (const char *)in + offset, sizeof value);
  return value;
}

/* --- reading -------------------------------------------------------------------------------------
 */

static assay_status read_figures(const assay_json *object, const figure *figures, size_t n,
                                 void *out, assay_error *err) {
  for (size_t i = 0; i < n; i++) {
    int64_t value = ASSAY_RESULT_NONE;
    if (!assay_fields_is_null(object, figures[i].key))
      ASSAY_TRY(assay_fields_count(object, figures[i].key, &value, err));
    memcpy((char *)out + figures[i].offset, &value, sizeof value);
  }
  return ASSAY_OK;
}

/* A mark of the worker: > 0, or null. */
static assay_status read_mark(const assay_json *object, const char *key, int64_t *out,
                              assay_error *err) {
  *out = 0;
  return assay_fields_is_null(object, key)
             ? ASSAY_OK
             : assay_json_need_int(object, key, 1, INT64_MAX, out, err);
}

/* The differences follow from what was read already; one that does not is an altered file. */
static assay_status check_above(const assay_json *item, const assay_result_memory_column *column,
                                assay_error *err) {
  for (size_t i = 0; i < N_OF(column_peaks); i++) {
    const char *key = column_peaks[i].key;
    int64_t expected = 0, found = 0;
    bool has =
        assay_result_memory_above(column, value_at(column, column_peaks[i].offset), &expected);
    if (!assay_fields_is_null(item, key))
      ASSAY_TRY(assay_json_need_int(item, key, INT64_MIN, INT64_MAX, &found, err));
    if (has == assay_fields_is_null(item, key) || (has && found != expected))
      return assay_fail(err, ASSAY_E_FORMAT, "'%s' is not the peak less the baseline", key);
  }
  return ASSAY_OK;
}

static assay_status read_column(const assay_json *item, void *out, assay_error *err) {
  ASSAY_TRY(assay_fields_read(item, column_fields, N_OF(column_fields), column_others,
                              N_OF(column_others), out, err));
  ASSAY_TRY(read_figures(item, column_figures, N_OF(column_figures), out, err));
  return check_above(item, out, err);
}

static assay_status read_process(const assay_json *item, void *out, assay_error *err) {
  ASSAY_TRY(assay_fields_read(item, process_fields, N_OF(process_fields), process_others,
                              N_OF(process_others), out, err));
  return read_figures(item, process_figures, N_OF(process_figures), out, err);
}

static assay_status read_activity(const assay_json *device, const char *key,
                                  assay_result_memory_activity *out, assay_error *err) {
  const assay_json *object = NULL;
  void *list = NULL;
  ASSAY_TRY(assay_json_need_object(device, key, &object, err));
  ASSAY_TRY(assay_fields_read(object, activity_fields, N_OF(activity_fields), activity_others,
                              N_OF(activity_others), out, err));
  ASSAY_TRY(read_figures(object, activity_figures, N_OF(activity_figures), out, err));
  if (strcmp(out->idle, "yes") != 0 && strcmp(out->idle, "no") != 0 &&
      strcmp(out->idle, "unknown") != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'idle': expected yes, no or unknown, found '%s'",
                      out->idle);
  assay_status st = assay_fields_list_by(object, "processes", read_process, sizeof *out->processes,
                                         &list, &out->n_listed, err);
  out->processes = list;
  return st;
}

static assay_status read_device(const assay_json *item, void *out, assay_error *err) {
  assay_result_memory_device *device = out;
  ASSAY_TRY(assay_fields_read(item, device_fields, N_OF(device_fields), device_others,
                              N_OF(device_others), device, err));
  ASSAY_TRY(read_figures(item, device_figures, N_OF(device_figures), device, err));
  ASSAY_TRY(read_activity(item, "before", &device->before, err));
  return read_activity(item, "after", &device->after, err);
}

static bool has_device(const assay_result_memory *memory, const char *key) {
  for (size_t i = 0; i < memory->n_devices; i++)
    if (strcmp(memory->devices[i].key, key) == 0) return true;
  return false;
}

static assay_status read_lists(const assay_json *object, assay_result_memory *out,
                               assay_error *err) {
  void *columns = NULL, *devices = NULL, *absent = NULL;
  assay_status st = assay_fields_list_by(object, "columns", read_column, sizeof *out->columns,
                                         &columns, &out->n_columns, err);
  out->columns = columns;
  ASSAY_TRY(st);
  st = assay_fields_list_by(object, "devices", read_device, sizeof *out->devices, &devices,
                            &out->n_devices, err);
  out->devices = devices;
  ASSAY_TRY(st);
  st = assay_fields_list(object, "absent", absence_fields, N_OF(absence_fields),
                         sizeof *out->absent, &absent, &out->n_absent, err);
  out->absent = absent;
  ASSAY_TRY(st);
  for (size_t i = 0; i < out->n_columns; i++) {
    const char *device = out->columns[i].device;
    if (device != NULL && !has_device(out, device))
      return assay_fail(err, ASSAY_E_FORMAT, "columns[%zu]: no device '%s'", i, device);
  }
  return ASSAY_OK;
}

static assay_status read_object(const assay_json *object, assay_result_memory *out,
                                assay_error *err) {
  const char *rule = NULL;
  ASSAY_TRY(assay_fields_read(object, memory_fields, N_OF(memory_fields), memory_others,
                              N_OF(memory_others), out, err));
  ASSAY_TRY(read_figures(object, memory_figures, N_OF(memory_figures), out, err));
  ASSAY_TRY(read_mark(object, "session_ns", &out->session_ns, err));
  ASSAY_TRY(read_mark(object, "warm_ns", &out->warm_ns, err));
  ASSAY_TRY(read_mark(object, "end_ns", &out->end_ns, err));
  ASSAY_TRY(assay_json_need_string(object, "peak_rule", &rule, err));
  if (strcmp(rule, ASSAY_RESULT_PEAK_RULE) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "'peak_rule': expected '%s', found '%s'",
                      ASSAY_RESULT_PEAK_RULE, rule);
  if (out->interval_ns == 0 && out->reason == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "'interval_ns': expected at least 1, found 0");
  return read_lists(object, out, err);
}

assay_status assay_result_memory_read(const assay_json *root, assay_result_memory *out,
                                      assay_error *err) {
  const assay_json *object = NULL;
  if (assay_fields_is_null(root, "memory")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "memory", &object, err));
  out->known = true;
  assay_status st = read_object(object, out, err);
  if (st) assay_error_in(err, "memory");
  return st;
}

/* --- writing -------------------------------------------------------------------------------------
 */

static void put_or_null(assay_json_builder *b, const char *key, bool has, int64_t value) {
  if (has)
    assay_json_put_int(b, key, value);
  else
    assay_json_put_null(b, key);
}

static void put_figures(const figure *figures, size_t n, const void *in, assay_json_builder *b) {
  for (size_t i = 0; i < n; i++) {
    int64_t value = value_at(in, figures[i].offset);
    put_or_null(b, figures[i].key, value != ASSAY_RESULT_NONE, value);
  }
}

static void put_column(const assay_result_memory_column *column, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_fields_put(column_fields, N_OF(column_fields), column, b);
  put_figures(column_figures, N_OF(column_figures), column, b);
  for (size_t i = 0; i < N_OF(column_peaks); i++) {
    int64_t above = 0;
    bool has = assay_result_memory_above(column, value_at(column, column_peaks[i].offset), &above);
    put_or_null(b, column_peaks[i].key, has, above);
  }
  assay_json_end(b);
}

static void put_activity(const assay_result_memory_activity *activity, const char *key,
                         assay_json_builder *b) {
  assay_json_begin_object(b, key);
  put_figures(activity_figures, N_OF(activity_figures), activity, b);
  assay_fields_put(activity_fields, N_OF(activity_fields), activity, b);
  assay_json_begin_array(b, "processes");
  for (size_t i = 0; i < activity->n_listed; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(process_fields, N_OF(process_fields), &activity->processes[i], b);
    put_figures(process_figures, N_OF(process_figures), &activity->processes[i], b);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
}

static void put_device(const assay_result_memory_device *device, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_fields_put(device_fields, N_OF(device_fields), device, b);
  put_figures(device_figures, N_OF(device_figures), device, b);
  put_activity(&device->before, "before", b);
  put_activity(&device->after, "after", b);
  assay_json_end(b);
}

static void put_object(const assay_result_memory *memory, assay_json_builder *b) {
  assay_json_begin_object(b, "memory");
  assay_fields_put(memory_fields, N_OF(memory_fields), memory, b);
  put_figures(memory_figures, N_OF(memory_figures), memory, b);
  put_or_null(b, "session_ns", memory->session_ns > 0, memory->session_ns);
  put_or_null(b, "warm_ns", memory->warm_ns > 0, memory->warm_ns);
  put_or_null(b, "end_ns", memory->end_ns > 0, memory->end_ns);
  assay_json_put_string(b, "peak_rule", ASSAY_RESULT_PEAK_RULE);
  assay_json_begin_array(b, "columns");
  for (size_t i = 0; i < memory->n_columns; i++) put_column(&memory->columns[i], b);
  assay_json_end(b);
  assay_json_begin_array(b, "devices");
  for (size_t i = 0; i < memory->n_devices; i++) put_device(&memory->devices[i], b);
  assay_json_end(b);
  assay_fields_put_list(b, "absent", absence_fields, N_OF(absence_fields), memory->absent,
                        sizeof *memory->absent, memory->n_absent);
  assay_json_end(b);
}

void assay_result_memory_put(const assay_result_memory *memory, assay_json_builder *b) {
  if (memory->known)
    put_object(memory, b);
  else
    assay_json_put_null(b, "memory");
}

/* --- the rest ------------------------------------------------------------------------------------
 */

static void reset_activity(assay_result_memory_activity *activity) {
  assay_fields_reset(activity_fields, N_OF(activity_fields), activity);
  for (size_t i = 0; i < activity->n_listed; i++)
    assay_fields_reset(process_fields, N_OF(process_fields), &activity->processes[i]);
  assay_free(activity->processes);
}

void assay_result_memory_reset(assay_result_memory *memory) {
  assay_fields_reset(memory_fields, N_OF(memory_fields), memory);
  for (size_t i = 0; i < memory->n_columns; i++)
    assay_fields_reset(column_fields, N_OF(column_fields), &memory->columns[i]);
  for (size_t i = 0; i < memory->n_devices; i++) {
    assay_fields_reset(device_fields, N_OF(device_fields), &memory->devices[i]);
    reset_activity(&memory->devices[i].before);
    reset_activity(&memory->devices[i].after);
  }
  for (size_t i = 0; i < memory->n_absent; i++)
    assay_fields_reset(absence_fields, N_OF(absence_fields), &memory->absent[i]);
  assay_free(memory->columns);
  assay_free(memory->devices);
  assay_free(memory->absent);
  *memory = (assay_result_memory){0};
}

const assay_result_memory_column *assay_result_memory_find(const assay_result_memory *memory,
                                                           const char *name) {
  for (size_t i = 0; i < memory->n_columns; i++)
    if (strcmp(memory->columns[i].name, name) == 0) return &memory->columns[i];
  return NULL;
}

bool assay_result_memory_above(const assay_result_memory_column *column, int64_t peak_bytes,
                               int64_t *out) {
  if (peak_bytes < 0 || column->baseline_bytes < 0) return false;
  *out = peak_bytes - column->baseline_bytes;
  return true;
}
