/* A package as reports see it: one row for each case on each runtime, with everything that its
 * planned runs say or fail to say; the rows of one model on one runtime as a group; and what keeps
 * the whole from being qualified. Works from the package's files alone and runs nothing.
 *
 * Nothing is invented here: a figure that no result holds is absent (NULL, a false `has_…`), never
 * zero. */
#ifndef ASSAY_REPORT_CAMPAIGN_VIEW_H
#define ASSAY_REPORT_CAMPAIGN_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"
#include "package/manifest.h"
#include "package/package.h"
#include "package/pairs.h"
#include "package/reference_kind.h"
#include "package/result.h"

/* One head of one case, evaluated in the export's own precision by one arithmetic. */
typedef struct assay_view_precision {
  const assay_result_comparison *runtime; /* against it; NULL: not compared */
  bool has_error;                         /* it and the FP64 reference are in the case file */
  double rmse; /* of the one against the other: what the precision must cost */
} assay_view_precision;

/* One head of one case: how far the runtime is from each reference, and the FP32 reference from the
 * FP64 one. */
typedef struct assay_view_head {
  const char *name;
  const char *kind; /* "regression", "classes", …; "" when nothing says so */
  const assay_result_comparison
      *f32; /* borrowed from the row's timing result; NULL: not compared */
  const assay_result_comparison *f64;
  const assay_result_comparison *user;
  bool has_reference_error; /* both references are in the case file */
  double reference_max_abs; /* max |ref.f32 - ref.f64| at valid positions */
  assay_view_precision precision[ASSAY_N_PRECISION_KINDS];
} assay_view_head;

typedef enum assay_view_mode {
  ASSAY_VIEW_TIMING,
  ASSAY_VIEW_PLACEMENT,
  ASSAY_VIEW_N_MODES
} assay_view_mode;

/* One raw file of a run, as the package's checksum tree has it. */
typedef struct assay_view_file {
  char *path;      /* relative to the package */
  char sha256[65]; /* "" when the file is not there */
} assay_view_file;

/* What one mode of one row left behind. */
typedef struct assay_view_run {
  bool planned;
  assay_result result;    /* status MISSING when there is none */
  assay_view_file *files; /* result.json first */
  size_t n_files;
} assay_view_run;

typedef struct assay_view_row {
  const char *runtime, *bundle, *case_name; /* borrowed from the view's package */
  const assay_manifest *manifest;           /* of the bundle; NULL when it could not be read */
  const assay_manifest_case *manifest_case; /* NULL when the manifest does not list the case */
  const char *inputs; /* "controlled": a sweep or a batch; "events": real ones, of a data set;
                         "brought": whatever else a user brought */
  char coverage[96]; /* "193 of 193": the model's nodes on the provider; "" when nobody judged it */
  const char *precision;     /* of the model: its dtype, and what its plan computes in another one;
                                NULL when unknown */
  int64_t n_valid;           /* valid elements of all events; -1: unknown or no mask */
  int64_t n_denormal_inputs; /* elements of the case's inputs; -1: unknown */
  assay_view_run runs[ASSAY_VIEW_N_MODES];
  assay_view_head *heads;
  size_t n_heads;
  const assay_result_comparison *worst; /* largest multiple of its tolerance; unlike shapes, types
                                           and classes count as worse; NULL: nothing was compared */
  bool has_f32, has_f64, has_user, has_reference_error;
  double max_abs_f32, max_abs_f64, max_abs_user; /* over heads, each against its reference */
  double reference_max_abs;                      /* over heads, FP32 reference against FP64 */
  char *device_reason;                           /* why no device's memory was read, or NULL */
  bool passed;      /* every planned run passed and nothing contradicts it */
  size_t n_reasons; /* entries of the view's reasons that are about this row */
  size_t group;     /* index into the view's groups */
} assay_view_row;

/* The rows of one bundle on one runtime, controlled inputs, events and brought ones apart: what may
 * be summed up. */
typedef struct assay_view_group {
  const char *runtime, *bundle;
  const char *inputs;          /* as of its rows */
  const char *dtype;           /* of the model; NULL when unknown */
  const char *precision;       /* as of its rows */
  const char *library_version; /* of the first run that opened a library; NULL: none did */
  const char *provider;        /* NULL when no run says so */
  size_t n_rows, n_passed;
  const assay_view_row *first;
  const assay_view_row *worst;   /* row with the worst comparison; NULL: nothing was compared */
  const assay_view_row *fastest; /* smallest and largest p50; NULL: nothing was timed */
  const assay_view_row *slowest;
} assay_view_group;

/* Why a package is not qualified, in the order of the last line. */
#define ASSAY_VIEW_TOPIC_LIST(X)                                                                   \
  X(NUMBERS, "numbers")     /* outputs are not within tolerance, or were not compared */           \
  X(PLACEMENT, "placement") /* nodes elsewhere, or no proof that they are not */                   \
  X(KERNELS, "kernels")     /* other kernels than required, or no proof of those */                \
  X(TIMING, "timing")       /* no timing, or an unusable one */                                    \
  X(OPTIONS, "options")     /* timing and placement ran with different options */                  \
  X(EVIDENCE, "evidence")   /* files contradict each other or cannot be read */                    \
  X(FAILED, "failed")       /* a run ended with a reason */                                        \
  X(CRASHED, "crashed")                                                                            \
  X(TIMED_OUT, "timed out")                                                                        \
  X(INCOMPLETE, "incomplete") /* a run is done but did not leave all that it must */               \
  X(MISSING, "missing")       /* planned, or demanded by the bundle, and not there */              \
  X(UNFINISHED, "unfinished") /* the campaign itself */

typedef enum assay_view_topic {
#define ASSAY_VIEW_TOPIC_ENUM(name, word) ASSAY_TOPIC_##name,
  ASSAY_VIEW_TOPIC_LIST(ASSAY_VIEW_TOPIC_ENUM)
#undef ASSAY_VIEW_TOPIC_ENUM
      ASSAY_N_TOPICS
} assay_view_topic;

const char *assay_view_topic_word(assay_view_topic topic);

typedef struct assay_view_reason {
  assay_view_topic topic;
  size_t row;           /* SIZE_MAX: about the package */
  assay_view_mode mode; /* of a row's reason */
  char *text;           /* one line for a person; text from outside in it is raw */
} assay_view_reason;

typedef struct assay_view {
  assay_package package;
  char *path;     /* of the package, as given */
  char *evidence; /* address of the package from the report's folder; NULL: the one it lies in */
  assay_manifest *manifests; /* [package.n_bundles]; those not in has_manifest are empty */
  bool *has_manifest;
  char **precisions;   /* [package.n_bundles] or NULL each */
  assay_json *machine; /* contents of the machine file, or NULL */
  assay_view_row *rows;
  size_t n_rows;
  assay_view_group *groups;
  size_t n_groups;
  assay_view_reason *reasons; /* by topic, then row */
  size_t n_reasons;
  size_t topics[ASSAY_N_TOPICS]; /* reasons by topic */
  size_t n_runs, n_runs_done; /* planned runs (a row has one or two), and those with status DONE */
  bool qualified;
  bool has_pairs; /* made by 'assay compare' */
  assay_pairs pairs;
} assay_view;

/* Errors: IO, FORMAT (package.json), LIMIT, MEMORY. Anything wrong below package.json is a reason.
 */
assay_status assay_view_open(const char *package_path, assay_view *out,
                             assay_error *err) ASSAY_NODISCARD;
void assay_view_close(assay_view *view);

/* "QUALIFIED" or "NOT QUALIFIED: numbers 14, missing 2"; never longer than 512 bytes. */
void assay_view_verdict(const assay_view *view, char *out, size_t out_bytes);

/* Comparisons of a head (NULL: of all) were made, and of no element: no position is valid. */
bool assay_view_is_padding_only(const assay_view_row *row, const char *head);

/* The comparison that a head is judged by: FP32 where there is one; NULL when there is none. */
const assay_result_comparison *assay_view_main_comparison(const assay_view_head *head);

/* A verdict of a row for a person: "pass", "fail", "unknown", "missing", "failed", …, "not
 * planned"; of numbers also "padding": they pass, and no head has a valid position. */
const char *assay_view_numbers_word(const assay_view_row *row);
const char *assay_view_placement_word(const assay_view_row *row);
const char *assay_view_timing_word(const assay_view_row *row);

/* The row's timing figures, or NULL when nothing was timed. */
const assay_result_timing *assay_view_timing(const assay_view_row *row);
/* The row's placement, or NULL when there is none. */
const assay_result_placement *assay_view_placement(const assay_view_row *row);
/* The first of the row's results that opened a library, or NULL. */
const assay_result *assay_view_library(const assay_view_row *row);
/* The row's first reason, or NULL. */
const assay_view_reason *assay_view_row_reason(const assay_view *view, const assay_view_row *row);

/* What the row's timing run says of memory, or NULL when it was not asked or did not come so far.
 */
const assay_result_memory *assay_view_memory(const assay_view_row *row);
/* Its column of the process's resident memory, or NULL. */
const assay_result_memory_column *assay_view_rss(const assay_view_row *row);
/* Its column of the device whose used memory rose most, or NULL when no device was read. */
const assay_result_memory_column *assay_view_device(const assay_view_row *row);
/* "sampled", "unavailable" or "not sampled"; NULL when there is no result. */
const char *assay_view_memory_word(const assay_view_row *row);
/* Why there is no figure of the process, or NULL. */
const char *assay_view_memory_reason(const assay_view_row *row);
/* Fills in row->device_reason. Errors: MEMORY. */
assay_status assay_view_load_device_reason(assay_view_row *row, assay_error *err) ASSAY_NODISCARD;
/* The processes of a repeated timing, or NULL when it was not repeated. */
const assay_result_processes *assay_view_processes(const assay_view_row *row);

/* "controlled inputs", "brought inputs", "events". */
const char *assay_view_inputs_words(const char *inputs);

/* Two groups may share a table or a figure: same inputs, same precision. */
bool assay_view_groups_match(const assay_view_group *a, const assay_view_group *b);

#define ASSAY_VIEW_MEMORY_CLOCKS 2 /* columns before the first of bytes: time_ns and read_ns */

/* Every row of the timing run's memory.npy, int64 [n, ASSAY_VIEW_MEMORY_CLOCKS + columns]. The
 * caller resets *out. Errors: IO, FORMAT, MEMORY. */
assay_status assay_view_memory_rows(const assay_view *view, const assay_view_row *row,
                                    assay_tensor *out, assay_error *err) ASSAY_NODISCARD;

/* Every sample of the row's timing, in the order taken: *out [*out_n] ns, released with assay_free.
 * Errors: IO, FORMAT (not int64 of one axis), MEMORY. */
assay_status assay_view_samples(const assay_view *view, const assay_view_row *row, int64_t **out,
                                size_t *out_n, assay_error *err) ASSAY_NODISCARD;

/* "[0,17,2]" for flat index `index` of a tensor of shape text "[1,100,3]"; the flat number when the
 * shape does not say; "" when index is negative. */
void assay_view_index_text(const char *shape, int64_t index, char *out, size_t out_bytes);

#endif
