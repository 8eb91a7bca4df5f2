/* Reading ONNX model files: what inspect, import and the run planner need to know. Never trusts a
 * length; recognises things that are not models (a Git LFS pointer, an HTML page, an empty file).
 *
 * Names and texts are lent as the file has them: a caller that shows one to a person makes it
 * printable. */
#ifndef ASSAY_ONNX_MODEL_INFO_H
#define ASSAY_ONNX_MODEL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

typedef struct assay_onnx_dim {
  int64_t size;       /* -1 when symbolic or unknown */
  const char *symbol; /* or NULL */
} assay_onnx_dim;

typedef struct assay_onnx_value_info {
  const char *name;
  assay_dtype dtype; /* NONE: not a tensor, or a type that assay has no name for */
  int rank;          /* -1 unknown */
  const assay_onnx_dim *dims;
} assay_onnx_value_info;

typedef struct assay_onnx_op_count {
  const char *domain; /* "" for the default one */
  const char *op;
  size_t n;
} assay_onnx_op_count;

typedef struct assay_onnx_pair {
  const char *key;
  const char *value;
} assay_onnx_pair;

typedef struct assay_onnx_opset {
  const char *domain; /* "" for the default one */
  int64_t version;
} assay_onnx_opset;

typedef struct assay_onnx_info assay_onnx_info; /* owns what the getters lend */

/* A model file. Errors: IO, FORMAT (what it is instead, or what contradicts itself), LIMIT (over 2
 * GiB, nested too deep, or much larger in memory than as a file), MEMORY. */
assay_status assay_onnx_info_open(const char *path, assay_onnx_info **out,
                                  assay_error *err) ASSAY_NODISCARD;

/* The same for the bytes of one; they may go once it returns. */
assay_status assay_onnx_info_parse(const void *bytes, size_t size_bytes, assay_onnx_info **out,
                                   assay_error *err) ASSAY_NODISCARD;
void assay_onnx_info_close(assay_onnx_info *info);

int64_t assay_onnx_info_ir_version(const assay_onnx_info *info);
const char *assay_onnx_info_producer(const assay_onnx_info *info);         /* "" if it says none */
const char *assay_onnx_info_producer_version(const assay_onnx_info *info); /* the same */
const char *assay_onnx_info_graph_name(const assay_onnx_info *info);       /* the same */
const assay_onnx_opset *assay_onnx_info_opsets(const assay_onnx_info *info, size_t *out_n);

/* The graph's inputs, without those that are initialisers too, and its outputs. */
const assay_onnx_value_info *assay_onnx_info_inputs(const assay_onnx_info *info, size_t *out_n);
const assay_onnx_value_info *assay_onnx_info_outputs(const assay_onnx_info *info, size_t *out_n);

/* Of the main graph and its subgraphs, not of local functions; ops sorted by domain and name. */
const assay_onnx_op_count *assay_onnx_info_ops(const assay_onnx_info *info, size_t *out_n);
size_t assay_onnx_info_n_nodes(const assay_onnx_info *info);
size_t assay_onnx_info_n_initializers(const assay_onnx_info *info);
uint64_t assay_onnx_info_initializer_bytes(const assay_onnx_info *info); /* external ones too */

/* The type that most bytes of them are of; NONE without any. */
assay_dtype assay_onnx_info_initializer_dtype(const assay_onnx_info *info);

const assay_onnx_pair *assay_onnx_info_metadata(const assay_onnx_info *info, size_t *out_n);
const char *assay_onnx_info_metadata_value(const assay_onnx_info *info,
                                           const char *key); /* or NULL */

/* Relative locations of external data files, unique, sorted, none leaving the model's folder. */
const char *const *assay_onnx_info_external_files(const assay_onnx_info *info, size_t *out_n);

#endif
