/* Reads and writes the "processes" member of result.json. The format stands in the header. */
#include "package/result_processes.h"

#include "base/alloc.h"
#include "base/array.h"
#include "package/fields.h"

#define PROCESSES(member, kind) ASSAY_FIELD(assay_result_processes, member, kind)
static const assay_field processes_fields[] = {
    PROCESSES(n, COUNT),         PROCESSES(outputs_identical, BOOL), PROCESSES(p50_min_ns, REAL),
    PROCESSES(p50_max_ns, REAL), PROCESSES(p50_spread, REAL),
};
#undef PROCESSES
static const char *const processes_others[] = {"others"};

#define OTHER(member, kind) ASSAY_FIELD(assay_result_other, member, kind)
static const assay_field other_fields[] = {
    OTHER(folder, NAME),
    OTHER(session_create_ns, COUNT),
    OTHER(first_run_ns, COUNT),
    OTHER(elapsed_ns, COUNT),
    OTHER(max_rss_bytes, COUNT),
    OTHER(min_ns, COUNT),
    OTHER(max_ns, COUNT),
    OTHER(p50_ns, REAL),
    OTHER(outputs_identical, BOOL),
    OTHER(outputs_sha256, SHA256),
};
#undef OTHER

static assay_status read_others(const assay_json *object, assay_result_processes *out,
                                assay_error *err) {
  const assay_json *array = NULL;
  void *list = NULL;
  ASSAY_TRY(assay_json_need_array(object, "others", &array, err));
  const size_t n = assay_json_len(array);
  if (out->n < 2 || (uint64_t)out->n - 1 != n)
    return assay_fail(err, ASSAY_E_FORMAT, "'others': expected one less than 'n' (%lld), found %zu",
                      (long long)out->n, n);
  const assay_status st = assay_fields_list(object, "others", other_fields, N_OF(other_fields),
                                            sizeof *out->others, &list, &out->n_others, err);
  out->others = list;
  return st;
}

assay_status assay_result_processes_read(const assay_json *root, assay_result_processes *out,
                                         assay_error *err) {
  const assay_json *value = NULL;
  if (assay_fields_is_null(root, "processes")) return ASSAY_OK;
  ASSAY_TRY(assay_json_need_object(root, "processes", &value, err));
  out->known = true;
  assay_status st = assay_fields_read(value, processes_fields, N_OF(processes_fields),
                                      processes_others, N_OF(processes_others), out, err);
  if (st == ASSAY_OK) st = read_others(value, out, err);
  if (st) assay_error_in(err, "'processes'");
  return st;
}

void assay_result_processes_put(const assay_result_processes *processes, assay_json_builder *b) {
  if (!processes->known) {
    assay_json_put_null(b, "processes");
    return;
  }
  assay_json_begin_object(b, "processes");
  assay_fields_put(processes_fields, N_OF(processes_fields), processes, b);
  assay_fields_put_list(b, "others", other_fields, N_OF(other_fields), processes->others,
                        sizeof *processes->others, processes->n_others);
  assay_json_end(b);
}

void assay_result_processes_reset(assay_result_processes *processes) {
  for (size_t i = 0; i < processes->n_others; i++)
    assay_fields_reset(other_fields, N_OF(other_fields), &processes->others[i]);
  assay_free(processes->others);
  *processes = (assay_result_processes){0};
}
