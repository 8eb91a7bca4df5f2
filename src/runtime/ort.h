/* ONNX Runtime, opened at run time: library, environment, session on one provider, calls. Each Ort*
 * type stays behind this header. One process opens one library (its environment is a process
 * singleton). */
#ifndef ASSAY_RUNTIME_ORT_H
#define ASSAY_RUNTIME_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"

typedef struct assay_ort assay_ort;                 /* an open library with its environment */
typedef struct assay_ort_session assay_ort_session; /* a loaded model */

/* Called from the runtime's own threads; must be thread-safe. severity 0 verbose … 4 fatal. */
typedef void (*assay_ort_log)(void *arg, int severity, const char *category, const char *id,
                              const char *location, const char *message);

typedef struct assay_ort_options {
  assay_ort_log log; /* NULL: dropped */
  void *log_arg;
  int log_severity; /* least severity passed on */
} assay_ort_options;

/* Opens the library and its environment; sets ORT_DISABLE_TELEMETRY=1 first. A path without a slash
 * is a file in the working folder or else a name that the loader looks up. Once opened the library
 * stays mapped until the process ends. Errors: MISSING (no such file, cut, not loadable, not ONNX
 * Runtime: the loader's words), UNSUPPORTED (older than 1.16), IO, RUNTIME, MEMORY. */
assay_status assay_ort_open(const char *library_path, const assay_ort_options *options,
                            assay_ort **out, assay_error *err) ASSAY_NODISCARD;
void assay_ort_close(assay_ort *ort);

/* Loads libraries, in this order and for everybody's symbols, before ONNX Runtime is opened: where
 * its providers look for others by name only. They stay mapped. Errors: MISSING (no such file, cut,
 * or the loader's words). */
assay_status assay_ort_preload(const char *const *paths, size_t n,
                               assay_error *err) ASSAY_NODISCARD;

const char *assay_ort_version(const assay_ort *ort);    /* "1.32.0" */
const char *assay_ort_build_info(const assay_ort *ort); /* "" when not given */
const char *assay_ort_path(const assay_ort *ort);       /* real path of the mapped file */
uint32_t
assay_ort_api_level(const assay_ort *ort); /* version of the C API that assay speaks with it */

/* Providers compiled in (a list, not a capability): full names such as "CPUExecutionProvider". */
size_t assay_ort_n_providers(const assay_ort *ort);
const char *assay_ort_provider(const assay_ort *ort, size_t i);

typedef struct assay_ort_pair {
  const char *key;
  const char *value;
} assay_ort_pair;

typedef struct assay_ort_session_spec {
  const char *model_path;
  /* Short or full name: "cpu", "CUDA", "CPUExecutionProvider" …; NULL means "cpu". */
  const char *provider;
  const char *plugin_path; /* library that brings it as a plug-in (ORT 1.22 or newer), or NULL */
  const assay_ort_pair *provider_options;
  size_t n_provider_options;
  int intra_threads, inter_threads; /* 0 means 1 */
  int graph_optimization_level;     /* 0, 1, 2, 99 (3 from ORT 1.23); -1 means 99 */
  const assay_ort_pair *config;     /* session configuration entries */
  size_t n_config;
  const assay_ort_pair *free_dims; /* name, decimal size */
  size_t n_free_dims;
  const char *profile_prefix; /* NULL: no profiling */
  const char *optimized_path; /* the model as optimised is written there; NULL: nowhere */
  bool verbose;               /* session log severity 0: placement lines */
  bool record_assignment;     /* keep what assay_ort_session_each_assigned tells; before ORT 1.24
                                 there is none, and this does nothing */
  bool no_memory_arena;
  bool deterministic; /* deterministic kernels where there are such (ORT 1.17 or newer) */
} assay_ort_session_spec;

/* Fallback to another provider is refused: for a provider other than the CPU the session option
 * session.disable_cpu_ep_fallback is set unless config sets it. Execution is sequential. All of
 * spec is read before it returns, and nothing of it is kept. Errors: ARGUMENT (unusable or repeated
 * options), MISSING (the provider is not in this library or cannot initialise), RUNTIME (the model
 * was refused, such as for an opset newer than the library: its version and the runtime's words),
 * UNSUPPORTED (more than 8 dimensions), IO (no such model), MEMORY. */
assay_status assay_ort_session_open(assay_ort *ort, const assay_ort_session_spec *spec,
                                    assay_ort_session **out, assay_error *err) ASSAY_NODISCARD;
void assay_ort_session_close(assay_ort_session *session);

typedef struct assay_ort_value_info {
  const char *name;
  assay_dtype dtype; /* NONE when it is not a tensor of a type that assay knows */
  int rank;
  int64_t dims[8];      /* -1: symbolic */
} assay_ort_value_info; /* the session's, until it is closed */
size_t assay_ort_session_n_inputs(const assay_ort_session *session);
const assay_ort_value_info *assay_ort_session_input(const assay_ort_session *session, size_t i);
size_t assay_ort_session_n_outputs(const assay_ort_session *session);
const assay_ort_value_info *assay_ort_session_output(const assay_ort_session *session, size_t i);

/* Puts the session options that change what is executed (threads, level, config, free dimensions,
 * provider and its options; not profiling or logging), in a fixed order: what rule 3 hashes. */
void assay_ort_session_put_options(const assay_ort_session_spec *spec, assay_json_builder *b,
                                   const char *key);

/* Binds inputs once by name; then each call runs them synchronously, outputs allocated by the
 * runtime (those of the run before are released first where that was not done). The inputs' memory
 * is borrowed: it must not change or go until the next bind or close. Errors of bind: ARGUMENT
 * (missing, extra, wrong type or shape: wanted and offered named), RUNTIME, MEMORY; of run:
 * ARGUMENT (nothing bound), RUNTIME. */
assay_status assay_ort_session_bind(assay_ort_session *session, const assay_tensor_map *inputs,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_ort_session_run(assay_ort_session *session, assay_error *err) ASSAY_NODISCARD;
void assay_ort_session_release_outputs(assay_ort_session *session); /* of the last run */

/* Copies the outputs of the last run, by name, to host memory; *out is empty or the caller's to add
 * to. Errors: ARGUMENT (no run, or a name taken), UNSUPPORTED (not a tensor, a type that assay does
 * not hold, not in host memory), RUNTIME, MEMORY. */
assay_status assay_ort_session_copy_outputs(const assay_ort_session *session, assay_tensor_map *out,
                                            assay_error *err) ASSAY_NODISCARD;

/* Ends profiling; *out_path (assay_free) is where the runtime says the profile is. Errors: RUNTIME
 * (also when profiling was not on), MISSING (no file there), MEMORY. */
assay_status assay_ort_session_end_profiling(assay_ort_session *session, char **out_path,
                                             assay_error *err) ASSAY_NODISCARD;

/* One node as it was when the runtime divided the graph among providers: after its basic
 * optimisations, before its own fusions, without copies. Texts are the session's. */
typedef struct assay_ort_assigned {
  size_t part; /* nodes that a provider took together, and may compile into one, share a number */
  const char *provider, *domain, *op;
  const char *name; /* "" for a node without one */
} assay_ort_assigned;
typedef assay_status (*assay_ort_assigned_fn)(void *arg, const assay_ort_assigned *node,
                                              assay_error *err);

/* Hands each node to `each`, part by part; stops at the first failure of each and returns it.
 * Runtimes leave nodes out (those that a provider took in its own layout, for one): what is not
 * told is not known. Errors: UNSUPPORTED (older than 1.24), RUNTIME (also when it was not
 * recorded). */
assay_status assay_ort_session_each_assigned(const assay_ort_session *session,
                                             assay_ort_assigned_fn each, void *arg,
                                             assay_error *err) ASSAY_NODISCARD;

/* "CPUExecutionProvider" for "cpu", "CPU" …; NULL for a name that no ORT knows. */
const char *assay_ort_provider_full_name(const char *name);

/* Whether the provider (either name) takes an option of that key: false where it has none or would
 * overlook it without a word. Others are left to the library, which refuses them. */
bool assay_ort_provider_takes(const char *provider, const char *option_key);

#endif
