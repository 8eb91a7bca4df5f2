/* A runtime as users name it: a library, a provider and how to run. One of
 *
 *   a100.json, or a100 when a100.json is here       a runtime file
 *   webgpu, when `make providers` left deps/runtimes/webgpu.json beside the program
 *   cuda-flash                                      a built-in one (runtime_builtin.h)
 *   tensorrt                                        a provider's name, short or full
 *   any of the last three with @/path/to/libonnxruntime.so behind it
 *
 * looked for in this order. The format of a runtime file, schema assay/runtime/1, stands with an
 * example in runtimes/README.md. Every member but the provider may be absent; unknown ones are
 * refused, and so is what could have no effect. */
#ifndef ASSAY_CAMPAIGN_RUNTIME_SPEC_H
#define ASSAY_CAMPAIGN_RUNTIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "campaign/settings.h"

/* What must be shown of a run beyond its numbers and its placement, as bits. */
typedef enum assay_runtime_evidence {
  ASSAY_RUNTIME_FLASH_ATTENTION = 1, /* dispatch lines: attention ran in flash kernels */
  ASSAY_RUNTIME_FUSED_ATTENTION = 2, /* compiled programs: as many fused as the manifest has */
  ASSAY_RUNTIME_INTEGER_TENSORS = 4, /* compiled programs: integers are still integers */
} assay_runtime_evidence;

/* "flash_attention", …; NULL for a bit that is none. */
const char *assay_runtime_evidence_name(assay_runtime_evidence bit);

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_runtime_spec {
  char *name;             /* of the folder under runs/; unique in a campaign */
  char *label;            /* what the user typed */
  char *library;          /* path, or NULL: to be found */
  char *provider;         /* full name */
  char *plugin;           /* path, or NULL */
  char plugin_sha256[65]; /* "" without one, or where it cannot be read */
  char **preload;         /* paths of libraries to load ahead, or NULL */
  char **preload_sha256;  /* [n_preload]; "" where one cannot be read */
  size_t n_preload;
  assay_settings options;
  int intra_threads, inter_threads; /* 0: not said */
  int graph_optimization_level;     /* -1: not said */
  bool no_memory_arena;
  bool deterministic; /* deterministic kernels where there are such */
  bool is_static;     /* every free dimension is fixed to the case's */
  bool caches_kept;   /* compiled programs of earlier runs may be used: not from nothing */
  assay_settings config, free_dims;
  assay_settings env;           /* set before the library is loaded; value NULL: unset */
  assay_settings placement_env; /* in placement runs only: tracing */
  unsigned required_evidence;   /* of assay_runtime_evidence */
  char **allowed_cpu_ops;
  size_t n_allowed_cpu_ops;
  int64_t max_copies; /* -1: any */
} assay_runtime_spec;

/* text as above. The name is the part before '@', or the file's without .json; the campaign makes
 * it unique. Errors: ARGUMENT (unknown: the nearest is named; without effect), IO, FORMAT, MISMATCH
 * (plug-in), MEMORY. */
assay_status assay_runtime_spec_parse(const char *text, assay_runtime_spec *out,
                                      assay_error *err) ASSAY_NODISCARD;

/* The same from the JSON of a file; name and label are the caller's to set. Relative library paths
 * are taken from `folder`. */
assay_status assay_runtime_spec_of_json(const assay_json *root, const char *folder,
                                        assay_runtime_spec *out, assay_error *err) ASSAY_NODISCARD;

/* What a file is refused for that fits the format: options that the provider would not see,
 * tracing in timed runs, variables named twice. For a runtime that was changed since it was read.
 * Errors: ARGUMENT. */
assay_status assay_runtime_spec_check(const assay_runtime_spec *spec,
                                      assay_error *err) ASSAY_NODISCARD;

/* Whether runs start from empty caches: providers that compile, unless the runtime keeps them. */
bool assay_runtime_spec_wants_cache(const assay_runtime_spec *spec);

/* The variables that a run's process is started with: those of env, in a placement run those of
 * placement_env, and, unless cache_folder is NULL, those that make libraries keep what they compile
 * there, where env does not say otherwise. *out is empty. Errors: MEMORY. */
assay_status assay_runtime_spec_env(const assay_runtime_spec *spec, bool is_placement,
                                    const char *cache_folder, assay_settings *out,
                                    assay_error *err) ASSAY_NODISCARD;

void assay_runtime_spec_reset(assay_runtime_spec *spec);

/* The resolved runtime, with every member, in a fixed order: what is hashed and kept in the
 * package. Keys of options, config, free_dims and env are sorted. */
void assay_runtime_spec_put(const assay_runtime_spec *spec, assay_json_builder *b, const char *key);

/* SHA-256 of that as compact JSON with "library", "preload" and "plugin" null: they count by their
 * contents, not by their paths. *out_json (may be NULL), with the paths, is released with
 * assay_json_destroy. */
assay_status assay_runtime_spec_sha256(const assay_runtime_spec *spec, char out_hex[65],
                                       assay_json **out_json, assay_error *err) ASSAY_NODISCARD;

#endif
