/* Reading ONNX model files: what inspect, import and the run planner need to know. Never trusts a length;
 * recognises things that are not models (a Git LFS pointer, an HTML page, an empty file). */
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
  assay_dtype dtype;
  int rank; /* -1 unknown */
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
  const char *domain;
  int64_t version;
} assay_onnx_opset;

typedef struct assay_onnx_info assay_onnx_info; /* owns what the getters lend */

/* Errors: IO, FORMAT, LIMIT, MEMORY. */
assay_status assay_onnx_info_open(const char *path, assay_onnx_info **out, assay_error *err) ASSAY_NODISCARD;
void assay_onnx_info_close(assay_onnx_info *info);

int64_t assay_onnx_info_ir_version(const assay_onnx_info *info);
const char *assay_onnx_info_producer(const assay_onnx_info *info);
const char *assay_onnx_info_graph_name(const assay_onnx_info *info);
const assay_onnx_opset *assay_onnx_info_opsets(const assay_onnx_info *info, size_t *out_n);
const assay_onnx_value_info *assay_onnx_info_inputs(const assay_onnx_info *info, size_t *out_n); /* without initialisers */
const assay_onnx_value_info *assay_onnx_info_outputs(const assay_onnx_info *info, size_t *out_n);
const assay_onnx_op_count *assay_onnx_info_ops(const assay_onnx_info *info, size_t *out_n); /* sorted; main graph and subgraphs */
const assay_onnx_pair *assay_onnx_info_metadata(const assay_onnx_info *info, size_t *out_n);
size_t assay_onnx_info_n_nodes(const assay_onnx_info *info);
size_t assay_onnx_info_n_initializers(const assay_onnx_info *info);
uint64_t assay_onnx_info_initializer_bytes(const assay_onnx_info *info);
/* Relative locations of external data files, unique, sorted. */
const char *const *assay_onnx_info_external_files(const assay_onnx_info *info, size_t *out_n);

#endif
