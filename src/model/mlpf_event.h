/* An event of a dataset as input rows of a model: which columns and rows are taken, and what of the
 * training's own loader is done. Nothing is normalised: rows are as stored.
 *
 * Of what the loader does with X (PFDataset.TFDSDataSource.__getitem__ of jpata/particleflow, main
 * 7e8a7104), this does: zero columns up to the configured input_dim; sorting by pt where the
 * configuration says so (sort_data). It removes elements of type 0, which the loader keeps and
 * masks. It does not compute the pt of CMS elements of type 10, which are stored without one.
 * Source: tfds.md section 7. */
#ifndef ASSAY_MODEL_MLPF_EVENT_H
#define ASSAY_MODEL_MLPF_EVENT_H

#include <stdint.h>

#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"

#define ASSAY_MLPF_EVENT_FEATURE "X" /* what datasets call the rows */

/* All zeroes is a valid empty one. */
typedef struct assay_mlpf_event {
  assay_tensor rows;       /* [M,F] f32 */
  int64_t n_removed;       /* rows of element type 0 */
  int64_t n_added_columns; /* zeroes up to F */
  int64_t n_without_pt;    /* rows whose pt the loader would have computed */
} assay_mlpf_event;

/* x        [N,K] f32, as stored, K at most input_dim
 * dataset  its name ("cms_pf_ttbar"), whose beginning is the detector
 * Errors: FORMAT (shape or type; more columns than the model has; another detector's). */
assay_status assay_mlpf_event_init(const assay_mlpf_config *config, const char *dataset,
                                   const assay_tensor *x, assay_mlpf_event *out,
                                   assay_error *err) ASSAY_NODISCARD;
void assay_mlpf_event_reset(assay_mlpf_event *event);

/* The least padded length for n elements (at least 1): a multiple of HEPTv2's block size and of the
 * configuration's pad_to_multiple_elements. n is at most 2^31. */
int64_t assay_mlpf_padded_length(const assay_mlpf_config *config, int64_t n);

#endif
