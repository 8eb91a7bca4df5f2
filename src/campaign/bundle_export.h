/* Makes a bundle of an MLPF model: the graph, cases with their references, the manifest.
 *
 * The graph comes from model/mlpf_graph, the references from reference/ref_mlpf; this file only
 * brings the two together with inputs. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_EXPORT_H
#define ASSAY_CAMPAIGN_BUNDLE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_plan_config.h"

/* A tolerance other than the default; one that names a head wins over one for all heads, a later
 * one over an earlier one. */
typedef struct assay_export_tolerance {
  const char *head; /* "bid", "id", "momentum"; NULL: all of them */
  bool relative;    /* rtol, else atol */
  double value;     /* finite, >= 0 */
} assay_export_tolerance;

/* All pointers are borrowed. Zero and NULL mean the defaults; config must be set. */
typedef struct assay_export_spec {
  const char *name; /* of the bundle; NULL: from architecture, data set and seed */
  assay_mlpf_config config;
  uint64_t seed;                   /* of the weights, unless they are given */
  const assay_tensor_map *weights; /* or NULL: seeded */
  const char *weights_name;        /* of given ones, in the bundle's default name; may be NULL */
  const assay_json *weights_about; /* what the manifest says of given ones: an object with "origin"
                                      (bundle_weights.h); NULL: {"origin": "given"} */
  const assay_mlpf_plan_config *plan; /* precision and form of attention; NULL: FP32, decomposed */
  bool static_shapes;        /* one graph for each shape, instead of one with symbolic B and N */
  bool permutations;         /* HEPTv2: the graph also gives its hash permutations, as heads */
  const char *const *inputs; /* case files */
  size_t n_inputs;
  const int64_t *sweep; /* padded lengths of cases with one event */
  size_t n_sweep;
  const int64_t *batches; /* events of cases of batch_n elements */
  size_t n_batches;
  int64_t batch_n;             /* 0: ASSAY_EXPORT_BATCH_N */
  const char *const *datasets; /* NAME/CONFIG:VERSION, or folders of a version */
  size_t n_datasets;
  const char *data_dir;  /* that NAMEs are looked up in; may be NULL for folders */
  const char *split;     /* NULL: ASSAY_EXPORT_SPLIT */
  const int64_t *events; /* of each dataset; NULL: the first two */
  size_t n_events;
  int64_t pad_to;   /* padded length of events; 0: the least that holds them */
  const char *pool; /* file with rows for sweep and batches; NULL: the built-in pool */
  const assay_export_tolerance *tolerances;
  size_t n_tolerances;
  int threads; /* of the evaluator; 0: 1 */
  bool force;  /* replace a bundle that is there */
  /* Called between steps; may be NULL. step is a text such as "case b1-n100: float64 reference". */
  void (*progress)(void *arg, const char *step, size_t done, size_t total);
  void *progress_arg;
  /* Asked now and then, also while references are evaluated; true stops with STOPPED. May be NULL.
   */
  bool (*cancelled)(void *arg);
  void *cancelled_arg;
} assay_export_spec;

#define ASSAY_EXPORT_BATCH_N 1000

#define ASSAY_EXPORT_SPLIT "test"

/* The cases that a bundle gets when none are asked for: with both models, the fourteen controlled
 * cases. */
extern const int64_t ASSAY_EXPORT_DEFAULT_SWEEP[5];   /* 100, 500, 1000, 2000, 4000 */
extern const int64_t ASSAY_EXPORT_DEFAULT_BATCHES[2]; /* 2, 4 */

typedef struct assay_export_result {
  char name[128];
  char model_sha256[65];   /* of the model file; of the first one with static shapes */
  char weights_sha256[65]; /* models.md G */
  char weights_sha256_no_queries[65];
  size_t n_tensors, n_values; /* of the weights */
  size_t n_cases, n_graphs;
  int64_t attention_ops, fused_attention_ops; /* counted in the graph */
  uint64_t size_bytes;                        /* of all graphs and cases */
  int64_t reference_ns, elapsed_ns;
} assay_export_result;

/* Writes the bundle to the folder `path`: built beside it under a temporary name, synced, renamed,
 * so that it is there whole or not at all. Nothing there or an empty folder are fine; a bundle is
 * replaced only with `force`; anything else is never touched. What a killed export left of its own
 * beside `path` is removed. `out` may be NULL.
 *
 * A case file holds Xfeat_normed [B,N,F] float32 and mask [B,N] float32 of zeros and ones, and may
 * hold references under the names of heads, float32 or float64, which become ref.user.<head>;
 * nothing else.
 *
 * Each dataset gives one case for each event; several give one more, with the first of these events
 * of each dataset as a batch. Rows of element type 0 are removed, the others are as stored
 * (model/mlpf_event.h); no row is cut or repeated.
 *
 * Errors: ARGUMENT (spec, sizes, what is at path; a plan that would change nothing; valid elements
 * after padding where the plan's mask is a count), FORMAT (case files, pool), MISMATCH (weights),
 * IO, LIMIT, MISSING (memory for the references), STOPPED, MEMORY, and those of the graph builder
 * and the evaluator. */
assay_status assay_bundle_export(const assay_export_spec *spec, const char *path,
                                 assay_export_result *out, assay_error *err) ASSAY_NODISCARD;

#endif
