/* Bundles: a folder with model.onnx, manifest.json and cases/<case>.npz, and the manifest's
 * contents. Schema assay/manifest/1.
 *
 * {
 *   "schema": "assay/manifest/1",
 *   "name": "attention-cld",                    letters, digits, '.', '_', '-', '+', '@'
 *   "tool": {"name": "assay", "version": "0.1.0"},
 *   "model": {
 *     "file": "model.onnx", "sha256": "…", "size_bytes": 1,
 *     "external": [{"file": "…", "sha256": "…", "size_bytes": 1}],
 *     "opset": 20, "ir_version": 9, "dtype": "float32",
 *     "attention": "decomposed",                or null: not said (imported models)
 *     "shapes": "dynamic" | "static", "attention_ops": 5, "fused_attention_ops": 0,
 *     "plan": {"attention": "decomposed", …},   absent for imported models and in older manifests
 *     "architecture": "attention", "config": {…}  (absent for imported models)
 *   },
 *   "weights": {"origin": "seed", "seed": 42, "sha256": "…", "n_tensors": 130,
 *               "n_values": 688018},
 *                                               or null; further members describe the origin
 *   "inputs":  [{"name": "Xfeat_normed", "dtype": "float32", "dims": ["B", "N", 17]}, …],
 *   "mask_input": "mask",                       or null: every position is valid
 *   "heads":   [{"name": "bid", "kind": "classes", "dtype": "float32", "dims": ["B","N",2],
 *                "atol": 1e-3, "rtol": 3e-3}, …],
 *   "reference": {"origin": "evaluator" | "user", "precision": ["float32", "float64"],
 *                 "libraries": "…"},            origin is required, the rest describes
 *   "cases": [{"name": "b1-n100", "file": "cases/b1-n100.npz", "sha256": "…", "size_bytes": 1,
 *              "kind": "sweep" | "batch" | "input" | "event", "source": "pool 'builtin' …",
 *              "b": 1, "n": 100, "valid": [90],  valid: null without a mask
 *              "model_file": "models/….onnx", "model_sha256": "…", "model_size_bytes": 1,
 *                                   (static exports: one graph per shape; absent otherwise)
 *              "margins": {"key_ulp": …} or null,
 *              "origin": {…} or null}],          events: data set, split, index, shard, hashes
 *   "notes": ["…"]
 * }
 *
 * Static exports hold one graph per shape under models/<b>x<n>.onnx; "model.file" is then the
 * first of them and each case names its own. */
#ifndef ASSAY_PACKAGE_MANIFEST_H
#define ASSAY_PACKAGE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/json.h"
#include "base/status.h"

typedef enum assay_head_kind {
  ASSAY_HEAD_REGRESSION,
  ASSAY_HEAD_CLASSES,  /* the last axis is compared by argmax too */
  ASSAY_HEAD_CONSTANT, /* must equal its reference exactly */
  ASSAY_HEAD_INTEGER,  /* exact unless asked otherwise */
} assay_head_kind;

const char *assay_head_kind_name(assay_head_kind kind);

typedef struct assay_manifest_dim {
  int64_t size; /* when symbol is empty */
  char symbol[64];
} assay_manifest_dim;

typedef struct assay_manifest_tensor {
  char *name;
  assay_dtype dtype;
  int rank;
  assay_manifest_dim dims[8];
  /* heads only */
  assay_head_kind kind;
  double atol, rtol;
} assay_manifest_tensor;

typedef struct assay_manifest_file {
  char *file; /* relative to the bundle, inside it */
  char sha256[65];
  uint64_t size_bytes;
} assay_manifest_file;

typedef struct assay_manifest_case {
  char *name;
  assay_manifest_file file;
  char *kind;                /* "sweep", "batch", "input", "event" */
  char *source;              /* where the rows came from, for a person */
  int64_t b, n;              /* padded shape; 0 when the model has no such axes */
  int64_t *valid;            /* [b] counts of valid elements; NULL when there is no mask */
  assay_manifest_file model; /* static exports: this shape's graph; file NULL otherwise */
  assay_json *margins;       /* or NULL */
  assay_json *origin;        /* of kind "event": where each event lies; or NULL */
} assay_manifest_case;

typedef struct assay_manifest {
  char *name;
  char *tool_version;
  assay_manifest_file model;
  assay_manifest_file *external;
  size_t n_external;
  int64_t opset, ir_version;
  char *dtype, *attention, *shapes, *architecture; /* attention, architecture: may be NULL */
  int64_t attention_ops, fused_attention_ops;
  assay_json *plan;    /* which block computes in what; deep copy, or NULL */
  assay_json *config;  /* deep copy, or NULL */
  assay_json *weights; /* origin, sha256 …; or NULL */
  assay_manifest_tensor *inputs;
  size_t n_inputs;
  char *mask_input; /* or NULL */
  assay_manifest_tensor *heads;
  size_t n_heads;
  assay_json *reference; /* deep copy */
  assay_manifest_case *cases;
  size_t n_cases;
  char **notes;
  size_t n_notes;
} assay_manifest;

#define ASSAY_DEFAULT_ATOL 1e-3
#define ASSAY_DEFAULT_RTOL 3e-3

/* Strict: unknown keys, unsafe names, duplicate cases or heads are refused. *out is written only on
 * success. Errors: IO, FORMAT, UNSUPPORTED (another version of the schema), LIMIT, MEMORY. */
assay_status assay_manifest_read(const char *bundle_path, assay_manifest *out,
                                 assay_error *err) ASSAY_NODISCARD;
assay_status assay_manifest_write(const assay_manifest *manifest, const char *bundle_path,
                                  assay_error *err) ASSAY_NODISCARD;
void assay_manifest_reset(assay_manifest *manifest);

const assay_manifest_tensor *assay_manifest_head(const assay_manifest *manifest, const char *name);

/* Checks one listed file of the bundle against its size and SHA-256. Errors: IO, MISMATCH. */
assay_status assay_manifest_file_check(const char *bundle_path, const assay_manifest_file *file,
                                       assay_error *err) ASSAY_NODISCARD;

#endif
