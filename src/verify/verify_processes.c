/* The processes of a repeated timing. The first is the run itself; every other one has a folder. */
#include "verify/verify_processes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/npz.h"

#define FACTS_MAX_BYTES ((size_t)16 << 20)

/* One check at work. */
typedef struct processes {
  const assay_verify_scene *scene;
  const assay_verify_run *run;
  const char *folder;
  double low_ns, high_ns; /* of the medians so far */
  bool identical;
} processes;

/* The digest of a file below the run, as the package lists it; "" when it does not. */
static const char *listed(const processes *p, const char *folder, const char *file) {
  char *name = folder[0] != '\0' ? assay_format("%s/%s/%s", p->run->planned->folder, folder, file)
                                 : assay_format("%s/%s", p->run->planned->folder, file);
  const assay_tree_entry *entry = name != NULL ? assay_tree_find(p->scene->sums, name) : NULL;
  assay_free(name);
  return entry != NULL ? entry->sha256 : "";
}

static char *path_of(const processes *p, const char *folder, const char *file) {
  return assay_format("%s/%s/%s", p->folder, folder, file);
}

static bool are_times(const assay_tensor *samples, int64_t n) {
  if (samples->dtype != ASSAY_DTYPE_I64 || samples->rank != 1 || samples->dims[0] != n || n < 1)
    return false;
  for (int64_t i = 0; i < n; i++)
    if (assay_tensor_i64(samples)[i] <= 0) return false;
  return true;
}

static assay_status check_samples(processes *p, const assay_verify_place *at,
                                  const assay_result_other *found, assay_error *err) {
  assay_tensor samples = {0};
  assay_verify_stats derived = {0};
  assay_error why = {0};
  char *path = path_of(p, found->folder, "samples.npy");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_npy_read(path, /*limits=*/NULL, &samples, &why);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  bool right = st == ASSAY_OK && are_times(&samples, p->scene->package->iterations);
  assay_verify_holds(at, "samples.npy", right, "as many times above zero as iterations",
                     st ? why.text : "other samples");
  st = right
           ? assay_verify_timing_derive(assay_tensor_i64(&samples), samples.n_elems, &derived, err)
           : ASSAY_OK;
  assay_tensor_reset(&samples);
  if (st || !right) return st;
  double p50_ns = derived.stats.percentiles[0].value_ns;
  assay_verify_int(at, "min_ns", found->min_ns, derived.stats.min_ns);
  assay_verify_int(at, "max_ns", found->max_ns, derived.stats.max_ns);
  assay_verify_real(at, "p50_ns", found->p50_ns, p50_ns, assay_verify_ulps(p50_ns, 2));
  if (p50_ns < p->low_ns) p->low_ns = p50_ns;
  if (p50_ns > p->high_ns) p->high_ns = p50_ns;
  return ASSAY_OK;
}

static const char *word(const assay_json *facts, const char *key) {
  const char *text = assay_json_string(assay_json_get(facts, key));
  return text != NULL ? text : "";
}

/* What the worker wrote: it finished, with the graph and the options of the first one. */
static assay_status check_facts(const processes *p, const assay_verify_place *at,
                                const assay_result_other *found, assay_error *err) {
  const assay_result_keys *keys = &p->run->found.keys;
  assay_json *facts = NULL;
  assay_error why = {0};
  char *path = path_of(p, found->folder, "worker.json");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = assay_json_read(path, FACTS_MAX_BYTES, &facts, &why);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  assay_verify_holds(at, "worker.json", st == ASSAY_OK, "readable evidence", why.text);
  if (st) return ASSAY_OK;
  assay_verify_holds(at, "worker.json", assay_json_bool(assay_json_get(facts, "finished")),
                     "a worker that finished", "one that did not");
  assay_verify_text(at, "options_sha256", word(facts, "options_sha256"), keys->options_sha256);
  assay_verify_text(at, "model_sha256", word(facts, "model_sha256"),
                    assay_result_executed(&p->run->found));
  assay_verify_int(at, "session_create_ns", found->session_create_ns,
                   assay_json_int(assay_json_get(facts, "session_create_ns")));
  assay_verify_int(at, "first_run_ns", found->first_run_ns,
                   assay_json_int(assay_json_get(facts, "first_run_ns")));
  assay_verify_bool(at, "outputs_identical", found->outputs_identical,
                    assay_json_bool(assay_json_get(facts, "outputs_identical")));
  assay_json_destroy(facts);
  return ASSAY_OK;
}

/* Outputs of its own must be within tolerance as those of the first are. */
static assay_status check_numbers(const processes *p, const assay_verify_place *at,
                                  const assay_result_other *found, assay_error *err) {
  const assay_verify_run *run = p->run;
  assay_tensor_map arrays = {0}, outputs = {0};
  assay_verify_numbers derived = {0};
  assay_error why = {0};
  char *path = path_of(p, found->folder, "outputs.npz");
  if (path == NULL) return assay_fail_memory(err, 256);
  size_t bundle = assay_verify_run_bundle(p->scene->package, run->planned->bundle);
  assay_status st = assay_verify_run_arrays(p->scene, bundle, run->manifest_case, &arrays, &why);
  if (st == ASSAY_OK) st = assay_npz_read(path, /*limits=*/NULL, &outputs, &why);
  if (st == ASSAY_OK)
    st = assay_verify_numbers_derive(p->scene->package, run->manifest, &arrays, &outputs, &derived,
                                     &why);
  bool passed = st == ASSAY_OK && !derived.failed && derived.verdict == ASSAY_VERDICT_PASS;
  assay_verify_numbers_reset(&derived);
  assay_tensor_map_reset(&arrays);
  assay_tensor_map_reset(&outputs);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  assay_verify_holds(at, "outputs.npz", passed, "outputs within tolerance, or a failed run",
                     st ? why.text : "others");
  return ASSAY_OK;
}

static assay_status check_outputs(processes *p, const assay_verify_place *at,
                                  const assay_result_other *found, assay_error *err) {
  const char *first = listed(p, "", "outputs.npz"), *own = listed(p, found->folder, "outputs.npz");
  bool is_own = own[0] != '\0';
  assay_verify_text(at, "outputs_sha256", found->outputs_sha256, is_own ? own : first);
  if (!is_own) return ASSAY_OK;
  p->identical = p->identical && strcmp(own, first) == 0;
  bool first_passed = p->run->has_numbers && p->run->numbers.verdict == ASSAY_VERDICT_PASS;
  return first_passed ? check_numbers(p, at, found, err) : ASSAY_OK;
}

static assay_status check_other(processes *p, const assay_verify_place *whole, size_t i,
                                assay_error *err) {
  const assay_result_other *found = &p->run->found.processes.others[i];
  assay_verify_place at = *whole;
  char folder[32];
  snprintf(at.within, sizeof at.within, "processes.others[%zu].", i);
  snprintf(folder, sizeof folder, "process-%zu", i + 2);
  assay_verify_text(&at, "folder", found->folder, folder);
  if (strcmp(found->folder, folder) != 0) return ASSAY_OK;
  ASSAY_TRY(check_samples(p, &at, found, err));
  ASSAY_TRY(check_facts(p, &at, found, err));
  return check_outputs(p, &at, found, err);
}

assay_status assay_verify_processes_check(const assay_verify_scene *scene, assay_verify_run *run,
                                          const assay_verify_place *at, const char *folder,
                                          assay_error *err) {
  const assay_result_processes *found = &run->found.processes;
  bool expected = run->planned->mode == ASSAY_RESULT_TIMING &&
                  run->found.status == ASSAY_RESULT_DONE && scene->package->processes > 1;
  double first_ns = run->stats.stats.percentiles[0].value_ns;
  processes p = {.scene = scene,
                 .run = run,
                 .folder = folder,
                 .low_ns = first_ns,
                 .high_ns = first_ns,
                 .identical = true};
  assay_verify_bool(at, "processes (whether there are more)", found->known, expected);
  if (!found->known || !expected || !run->has_stats) return ASSAY_OK;
  assay_verify_int(at, "processes.n", found->n, scene->package->processes);
  for (size_t i = 0; i < found->n_others; i++) ASSAY_TRY(check_other(&p, at, i, err));
  double spread = (p.high_ns - p.low_ns) / p.low_ns;
  run->spread = (assay_verify_spread){.derived = true,
                                      .n = scene->package->processes,
                                      .p50_min_ns = p.low_ns,
                                      .p50_max_ns = p.high_ns,
                                      .p50_spread = spread,
                                      .spread_bound = assay_verify_ulps(p.high_ns / p.low_ns, 8),
                                      .identical = p.identical};
  assay_verify_bool(at, "processes.outputs_identical", found->outputs_identical, p.identical);
  assay_verify_real(at, "processes.p50_min_ns", found->p50_min_ns, p.low_ns,
                    assay_verify_ulps(p.low_ns, 2));
  assay_verify_real(at, "processes.p50_max_ns", found->p50_max_ns, p.high_ns,
                    assay_verify_ulps(p.high_ns, 2));
  /* A median that is two units off moves the ratio by as much again, and small ones by more. */
  assay_verify_real(at, "processes.p50_spread", found->p50_spread, spread,
                    run->spread.spread_bound);
  return ASSAY_OK;
}
