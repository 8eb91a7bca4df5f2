/* The cases of a bundle that is being exported: which there are, and their inputs. Private to the
 * room. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_CASE_H
#define ASSAY_CAMPAIGN_BUNDLE_CASE_H

#include "campaign/bundle_events.h"
#include "campaign/bundle_export.h"
#include "model/feature_pool.h"

#define BUNDLE_N_HEADS 4
extern const char *const BUNDLE_HEADS[BUNDLE_N_HEADS]; /* bid, id, momentum, pu */

/* Last axis of a head. */
int64_t bundle_head_width(const assay_mlpf_config *config, size_t head);

typedef struct bundle_case {
  char name[128];
  const char *kind;     /* "input", "sweep", "batch", "event" */
  const char *path;     /* of an input; NULL for others */
  bundle_event *events; /* [b] of an event or a batch of them; NULL for others; owned */
  int64_t b, n;         /* known from the start but for inputs; n not for events */
} bundle_case;

typedef struct bundle_cases {
  bundle_case *items;
  size_t n, cap;
  bundle_datasets datasets;
  bool need_pool;
} bundle_cases;

/* The first n bytes of text in the characters that names of cases and bundles may have. */
void bundle_name_of(const char *text, size_t n, char *out, size_t out_bytes);

/* All cases of the spec, defaults applied, names unique, sizes possible. Errors: ARGUMENT, MEMORY,
 * and of datasets as bundle_events.h says.
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
  char source[512];   /* where the rows came from */
  assay_json *origin; /* of events: the same for programs; or NULL */
  bundle_event_counts counts;
} bundle_inputs;

/* Reads or fills case i's inputs and checks everything that the model demands of them. pool may be
 * NULL for a case that does not take rows from it. Errors: FORMAT (the file's name, the array, the
 * index), those of assay_npz_read and of bundle_events_fill. */
assay_status bundle_inputs_init(const assay_export_spec *spec, const bundle_cases *cases, size_t i,
                                const assay_feature_pool *pool, bundle_inputs *out,
                                assay_error *err) ASSAY_NODISCARD;
void bundle_inputs_reset(bundle_inputs *inputs);

#endif
