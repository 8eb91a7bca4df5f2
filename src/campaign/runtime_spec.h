/* A runtime as users name it: a library, a provider and how to run. Either a built-in name ("cpu",
 * "cpu@/path/to/libonnxruntime.so") or a JSON file:
 *
 * {
 *   "schema": "assay/runtime/1",                 may be absent
 *   "library": "/path/to/libonnxruntime.so",     absent: $ASSAY_ORT, deps/ beside the program,
 * system "provider": "cuda",                          short or full name; required "plugin":
 * "/path/to/libprovider.so",         brings the provider (ONNX Runtime 1.22 or newer); absent: the
 * library has it. With one, the provider may have any name "plugin_sha256": "…", absent: whatever
 * is there; given: it must be this "options": {"device_id": "0"},               provider options:
 * strings, numbers or booleans "session": {"intra_threads": 1, "inter_threads": 1,
 * "graph_optimization_level": 99, "memory_arena": true, "config": {"key": "value"}, "free_dims":
 * {"N": 100}}, "env": {"NVIDIA_TF32_OVERRIDE": "0", "LD_PRELOAD": null},     null: unset
 *   "placement_policy": {"allowed_cpu_ops": ["Shape"], "max_copies": null}
 * }
 *
 * Every member but the provider may be absent. Unknown ones are refused. */
#ifndef ASSAY_CAMPAIGN_RUNTIME_SPEC_H
#define ASSAY_CAMPAIGN_RUNTIME_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "campaign/settings.h"

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_runtime_spec {
  char *name;             /* of the folder under runs/; unique in a campaign */
  char *label;            /* what the user typed */
  char *library;          /* path, or NULL: to be found */
  char *provider;         /* full name */
  char *plugin;           /* path, or NULL */
  char plugin_sha256[65]; /* "" without one, or where it cannot be read */
  assay_settings options;
  int intra_threads, inter_threads; /* 0: not said */
  int graph_optimization_level;     /* -1: not said */
  bool no_memory_arena;
  assay_settings config, free_dims;
  assay_settings env;
  char **allowed_cpu_ops;
  size_t n_allowed_cpu_ops;
  int64_t max_copies; /* -1: any */
} assay_runtime_spec;

/* text: "cpu", "cpu@/path/to/lib.so", "a100.json", or "a100" when a100.json is there. The name is
 * the part before '@' or the file's without .json; the campaign makes it unique.
 * Errors: ARGUMENT (unknown provider: the nearest is named), IO, FORMAT, MISMATCH (plug-in),
 * MEMORY.
 */
assay_status assay_runtime_spec_parse(const char *text, assay_runtime_spec *out,
                                      assay_error *err) ASSAY_NODISCARD;

/* The same from the JSON of a file; name and label are the caller's to set. Relative library paths
 * are taken from `folder`. */
assay_status assay_runtime_spec_of_json(const assay_json *root, const char *folder,
                                        assay_runtime_spec *out, assay_error *err) ASSAY_NODISCARD;

void assay_runtime_spec_reset(assay_runtime_spec *spec);

/* The resolved runtime, with every member, in a fixed order: what is hashed and kept in the
 * package. Keys of options, config, free_dims and env are sorted. */
void assay_runtime_spec_put(const assay_runtime_spec *spec, assay_json_builder *b, const char *key);

/* SHA-256 of that as compact JSON with "library" and "plugin" null: they count by their contents,
 * not by their paths. *out_json (may be NULL), with the path, is released with assay_json_destroy.
 */
assay_status assay_runtime_spec_sha256(const assay_runtime_spec *spec, char out_hex[65],
                                       assay_json **out_json, assay_error *err) ASSAY_NODISCARD;

#endif
