/* Tensors in files of their own (TensorProto): input_N.pb and output_N.pb of ONNX's test_data_set_N
 * folders. Never trusts a length; nothing outside of the file is opened.
 * Source: onnx.proto, TensorProto; onnx/docs/OnnxBackendTest.md. */
#ifndef ASSAY_ONNX_TENSOR_FILE_H
#define ASSAY_ONNX_TENSOR_FILE_H

#include <stddef.h>

#include "base/status.h"
#include "base/tensor.h"

/* The tensor that the bytes are; they may go once it returns. out_name ("" where it has none; as
 * the file has it, not made printable) is released with assay_free. Errors: FORMAT (no tensor, or
 * one that contradicts itself), UNSUPPORTED (strings, types that assay has no name for, data in
 * another file), LIMIT, MEMORY. */
assay_status assay_onnx_tensor_parse(const void *bytes, size_t size_bytes, char **out_name,
                                     assay_tensor *out, assay_error *err) ASSAY_NODISCARD;

/* The same for a file. Errors: IO besides. */
assay_status assay_onnx_tensor_read(const char *path, char **out_name, assay_tensor *out,
                                    assay_error *err) ASSAY_NODISCARD;

#endif
