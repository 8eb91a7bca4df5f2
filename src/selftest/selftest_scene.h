/* One small campaign: a bundle, the evidence that its worker will leave, and the package that comes
 * of it. A case changes what it is about before the campaign is run, or the package afterwards. */
#ifndef ASSAY_SELFTEST_SELFTEST_SCENE_H
#define ASSAY_SELFTEST_SELFTEST_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "base/tensor.h"
#include "campaign/runtime_spec.h"
#include "package/manifest.h"
#include "package/package.h"
#include "package/pairs.h"
#include "package/result.h"

#define SELFTEST_B     1 /* events of the case */
#define SELFTEST_N     8 /* elements of an event */
#define SELFTEST_VALID 6 /* of them; the rest is padding */

/* Folders of the runs in the package. */
#define SELFTEST_TIMING    "runs/gpu/toy/c/timing/"
#define SELFTEST_PLACEMENT "runs/gpu/toy/c/placement/"

#define SELFTEST_CPU  "CPUExecutionProvider"
#define SELFTEST_CUDA "CUDAExecutionProvider" /* the provider that is asked for */

#define SELFTEST_SAMPLES   20
#define SELFTEST_RUNS      3 /* profiled calls */
#define SELFTEST_NODES_MAX 8
#define SELFTEST_HEADS_MAX 4

/* A node as the profile has it, or as the log has it. */
typedef struct selftest_node {
  const char *op, *name, *provider;
  bool not_in_last_call; /* of the profile */
} selftest_node;

/* What a scene is made of; the folder's own paths first. The first failure stays in err, and later
 * calls do nothing: a case need not look. */
typedef struct selftest_scene {
  char root[256], script[256];
  char bundle[288], package[288], evidence[288], library[288], plugin[288], runtime[288];
  assay_error err;

  /* the bundle */
  assay_tensor_map arrays; /* inputs and references, as the case file has them */
  assay_manifest_tensor heads[SELFTEST_HEADS_MAX];
  size_t n_heads;
  bool has_mask;
  bool is_ours;       /* exported by assay: padding must be zero */
  const char *policy; /* placement policy, as JSON */
  bool has_plugin;    /* the provider comes from a library of its own */
  int64_t fused_ops;  /* attention operations, all of them fused */

  /* the campaign: of one runtime, or of two */
  const char *required; /* evidence beyond placement: "flash_attention"; NULL: none */
  const char *vary; /* what differs between sides "a" and "b", which are paired; NULL: nothing */
  /* Changes a side in something of which the pairs say nothing; NULL: nothing. */
  assay_status (*also)(size_t side, assay_runtime_spec *runtime, assay_error *err);
  bool has_file; /* made from a campaign file, of the runtimes "gpu" and "gpu2" */

  /* timing evidence */
  assay_tensor_map outputs;
  int64_t samples[SELFTEST_SAMPLES];
  size_t n_samples;
  bool float_samples;

  /* placement evidence */
  selftest_node nodes[SELFTEST_NODES_MAX], placed[SELFTEST_NODES_MAX];
  size_t n_nodes, n_placed;
  size_t n_calls;
  assay_buf profile, log; /* made from the nodes by selftest_trace; changed as text after */
  bool has_trace;

  /* what the worker says, and does */
  bool not_finished;
  const char *reason;
  bool other_library, other_options, other_graph, other_plugin;
  const char *without[4];                   /* files that it does not leave */
  const char *timing_ends, *placement_ends; /* shell: "kill -SEGV $$"; NULL: well */
  const char *talk;                         /* on standard output of the placement run; or NULL */
  int64_t timeout_ns;
  const char *skip; /* runs that are not made; NULL: none */
} selftest_scene;

/* A scene in which nothing is wrong; root is a folder of its own. */
void selftest_scene_init(selftest_scene *s, const char *root, const char *script);
void selftest_scene_reset(selftest_scene *s);

/* Profile and log from the nodes, for cases that change the text. */
void selftest_trace(selftest_scene *s);

/* Runs the campaign and writes the report. */
void selftest_make(selftest_scene *s);

/* A copy of base's package, in s's root. */
void selftest_copy(selftest_scene *s, const selftest_scene *base);

/* --- for cases -----------------------------------------------------------------------------------
 */

bool selftest_failed(const selftest_scene *s);
void selftest_take(selftest_scene *s, assay_status st, const assay_error *err);

float *selftest_f32(selftest_scene *s, const char *array); /* of the case file */
float *selftest_out(selftest_scene *s, const char *head);  /* of the outputs */

/* A head "y" [n] that is the only one, without a mask: each element `want` in the one reference and
 * `got` in the outputs. */
typedef struct selftest_head {
  assay_head_kind kind;
  const char *reference; /* "f32", "f64", "user" */
  assay_dtype want_dtype, got_dtype;
  int64_t n;
  double want, got;
} selftest_head;
void selftest_only_head(selftest_scene *s, const selftest_head *head);
assay_tensor *selftest_output(selftest_scene *s, const char *head);
assay_tensor *selftest_array(selftest_scene *s, const char *array);
/* A reference of that kind which says as "f32" does. */
void selftest_refer(selftest_scene *s, const char *kind, const char *head);
void selftest_set(assay_tensor *tensor, size_t i, double value);
void selftest_drop(assay_tensor_map *map, const char *name);
void selftest_reshape(assay_tensor *tensor, int rank, const int64_t *dims);

/* The first place of find in the buffer becomes with. */
void selftest_replace(selftest_scene *s, assay_buf *text, const char *find, const char *with);

/* The same in a file of the package, which keeps its length when the two do. */
void selftest_edit(selftest_scene *s, const char *file, const char *find, const char *with);

void selftest_edit_result(selftest_scene *s, assay_result_mode mode,
                          void (*change)(assay_result *result));
void selftest_edit_pairs(selftest_scene *s, void (*change)(assay_pairs *pairs));

/* The package merged with a copy of itself. */
void selftest_merge(selftest_scene *s);
char *selftest_path(selftest_scene *s, const char *file); /* of the package; assay_free */

/* A file or a folder of the package. */
void selftest_remove(selftest_scene *s, const char *file);

/* Makes the package agree with itself again, as somebody would who wants an edited one to look
 * whole: the files of each result, the tree, and package.json; with_report: the report too. */
void selftest_reseal(selftest_scene *s, bool with_report);

/* Edits the index and writes it again, sealed. */
void selftest_edit_index(selftest_scene *s, void (*change)(assay_package *package));

#endif
