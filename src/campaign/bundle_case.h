/* The cases of a bundle that is being exported: which there are, and their inputs. Private to the
 * room. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_CASE_H
#define ASSAY_CAMPAIGN_BUNDLE_CASE_H

#include "campaign/bundle_export.h"
#include "model/feature_pool.h"

#define BUNDLE_N_HEADS 4
extern const char *const BUNDLE_HEADS[BUNDLE_N_HEADS]; /* bid, id, momentum, pu */

/* Last axis of a head. */
int64_t bundle_head_width(const assay_mlpf_config *config, size_t head);

typedef struct bundle_case {
  char name[128];
  const char *kind; /* "input", "sweep", "batch" */
  const char *path; /* of an input; NULL for those filled from the pool */
  int64_t b, n;     /* known from the start but for inputs */
} bundle_case;

typedef struct bundle_cases {
  bundle_case *items;
  size_t n;
  bool need_pool;
} bundle_cases;

/* All cases of the spec, defaults applied, names unique, sizes possible. Errors: ARGUMENT, MEMORY.
 */
assay_status bundle_cases_init(const assay_export_spec *spec, bundle_cases *out,
                               assay_error *err) ASSAY_NODISCARD;
void bundle_cases_reset(bundle_cases *cases);

/* The pool of the spec. Errors: those of assay_npz_read and of the pool. */
assay_status bundle_pool_init(const assay_export_spec *spec, assay_feature_pool *out,
                              assay_error *err) ASSAY_NODISCARD;

typedef struct bundle_inputs {
  assay_tensor x;        /* [B,N,F] f32 */
  assay_tensor mask;     /* [B,N] f32 of zeros and ones */
  assay_tensor_map user; /* brought references by head */
  int64_t b, n;
  char source[512]; /* where the rows came from */
} bundle_inputs;

/* Reads or fills a case's inputs and checks everything that the model demands of them. pool may be
 * NULL for a case with a path. Errors: FORMAT (the file's name, the array, the index), those of
 * assay_npz_read. */
assay_status bundle_inputs_init(const assay_export_spec *spec, const bundle_case *one,
                                const assay_feature_pool *pool, bundle_inputs *out,
                                assay_error *err) ASSAY_NODISCARD;
void bundle_inputs_reset(bundle_inputs *inputs);

#endif
