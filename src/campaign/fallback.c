/* Names of nodes that fall back to the CPU, from the placements that a verbose session logs. */
#include "campaign/fallback.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "evidence/placement_log.h"

#define NO_FALLBACK  "session.disable_cpu_ep_fallback"
#define CPU_PROVIDER "CPUExecutionProvider"
#define NAME_BYTES   128

bool assay_fallback_was_refused(const char *words) {
  return strstr(words, "fallback to CPU EP has been explicitly disabled") != NULL;
}

static assay_status open_permitted(assay_ort *ort, const assay_ort_session_spec *refused,
                                   assay_error *err) {
  assay_ort_session_spec spec = *refused;
  assay_ort_session *session = NULL;
  size_t n = 0;
  assay_ort_pair *config = assay_alloc_array(refused->n_config + 1, sizeof *config);
  if (config == NULL) return assay_fail_memory(err, sizeof *config);
  for (size_t i = 0; i < refused->n_config; i++)
    if (strcmp(refused->config[i].key, NO_FALLBACK) != 0) config[n++] = refused->config[i];
  config[n++] = (assay_ort_pair){NO_FALLBACK, "0"};
  spec.config = config;
  spec.n_config = n;
  spec.profile_prefix = NULL;
  assay_status st = assay_ort_session_open(ort, &spec, &session, err);
  assay_ort_session_close(session);
  assay_free(config);
  return st;
}

static assay_status say(const assay_placement_log *log, char *out, size_t out_bytes,
                        assay_error *err) {
  size_t n_all = 0, n_cpu = assay_placement_log_count(log, CPU_PROVIDER), n_said = 0;
  for (size_t i = 0; i < log->n_counts; i++) n_all += log->counts[i].n_nodes;
  if (n_cpu == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "the runtime's log places no node on the CPU");
  snprintf(out, out_bytes, "%zu of %zu nodes would run on " CPU_PROVIDER, n_cpu, n_all);
  for (size_t i = 0; i < log->n_nodes; i++) {
    const assay_placed_node *node = &log->nodes[i];
    char name[NAME_BYTES], one[2 * NAME_BYTES];
    if (strcmp(node->provider, CPU_PROVIDER) != 0) continue;
    assay_text_printable(node->name, name, sizeof name);
    snprintf(one, sizeof one, "%s %.64s '%s'", n_said == 0 ? ":" : ",", node->op, name);
    size_t used = strlen(out);
    if (used + strlen(one) + 32 > out_bytes) break;
    snprintf(out + used, out_bytes - used, "%s", one);
    n_said++;
  }
  size_t used = strlen(out);
  if (n_said > 0 && n_said < n_cpu)
    snprintf(out + used, out_bytes - used, " and %zu more", n_cpu - n_said);
  return ASSAY_OK;
}

assay_status assay_fallback_name(assay_ort *ort, const assay_ort_session_spec *spec,
                                 const char *log_path, char *out, size_t out_bytes,
                                 assay_error *err) {
  assay_placement_log log = {0};
  ASSAY_TRY(open_permitted(ort, spec, err));
  ASSAY_TRY(assay_placement_log_read(log_path, &log, err));
  assay_status st = say(&log, out, out_bytes, err);
  assay_placement_log_reset(&log);
  return st;
}
