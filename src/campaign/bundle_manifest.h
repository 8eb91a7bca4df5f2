/* Fills in the manifest of a bundle that is being exported. Private to the room. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_MANIFEST_H
#define ASSAY_CAMPAIGN_BUNDLE_MANIFEST_H

#include "campaign/bundle_case.h"
#include "campaign/bundle_export.h"
#include "package/manifest.h"
#include "reference/ref_mlpf.h"

/* What the evaluator did for one case. */
typedef struct bundle_times {
  int64_t f32_ns, f64_ns;
} bundle_times;

/* Name, model (but its file), inputs, heads, weights; room for n_cases cases. The spec has its
 * plan; `result` holds the name and what is known of the weights. On failure *out holds what was
 * made; release it either way. */
assay_status bundle_manifest_init(const assay_export_spec *spec, const assay_export_result *result,
                                  size_t n_cases, assay_manifest *out,
                                  assay_error *err) ASSAY_NODISCARD;

/* Name of the output with the permutations of layer l of the evaluator's perm (id layers, then reg
 * layers for a split backbone): "perm_0", "perm_id_0", … */
void bundle_perm_name(const assay_mlpf_config *config, int64_t l, char *out, size_t out_bytes);

/* Case i. `file`, `model` (file NULL with symbolic shapes) and the inputs' origin are moved in. */
assay_status bundle_manifest_set_case(assay_manifest *manifest, size_t i, const bundle_case *one,
                                      bundle_inputs *inputs, const assay_ref_margins *margins,
                                      assay_manifest_file *file, assay_manifest_file *model,
                                      assay_error *err) ASSAY_NODISCARD;

/* Of a head: the default, or what was asked for. */
double bundle_tolerance_of(const assay_export_tolerance *tolerances, size_t n, const char *head,
                           bool relative);

/* The "reference" object, once all cases are there. */
assay_status bundle_manifest_set_reference(const assay_export_spec *spec, const bundle_times *times,
                                           assay_manifest *manifest,
                                           assay_error *err) ASSAY_NODISCARD;

assay_status bundle_manifest_add_note(assay_manifest *manifest, const char *text,
                                      assay_error *err) ASSAY_NODISCARD;

#endif
