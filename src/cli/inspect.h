/* What the parts of `assay inspect` share: one describer for each kind of thing, and the printing
 * they have in common.
 *
 * A describer collects all it shows before it shows any of it. With a builder it puts the members
 * of the document (schema, path and the object around them are its caller's); without one it prints
 * for a person on stdout. MISMATCH is the one failure after which what was shown stands. */
#ifndef ASSAY_CLI_INSPECT_H
#define ASSAY_CLI_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"

assay_status inspect_bundle(const char *path, assay_json_builder *json,
                            assay_error *err) ASSAY_NODISCARD;
assay_status inspect_package(const char *path, assay_json_builder *json,
                             assay_error *err) ASSAY_NODISCARD;
assay_status inspect_model(const char *path, assay_json_builder *json,
                           assay_error *err) ASSAY_NODISCARD;
assay_status inspect_npy(const char *path, assay_json_builder *json,
                         assay_error *err) ASSAY_NODISCARD;
assay_status inspect_npz(const char *path, assay_json_builder *json,
                         assay_error *err) ASSAY_NODISCARD;

/* A JSON document: a configuration of a model, or a file of a bundle or package (then what to give
 * instead).
 */
assay_status inspect_json(const char *path, assay_json_builder *json,
                          assay_error *err) ASSAY_NODISCARD;
/* A JSON array: a profile of ONNX Runtime. */
assay_status inspect_profile(const char *path, assay_json_builder *json,
                             assay_error *err) ASSAY_NODISCARD;

/* The folder of a TFDS dataset's version. Shards that are missing or wrong are MISMATCH. */
assay_status inspect_dataset(const char *path, assay_json_builder *json,
                             assay_error *err) ASSAY_NODISCARD;
bool inspect_is_dataset(const char *folder);
/* Its example `index` of that split ("test" for NULL). */
assay_status inspect_example(const char *path, const char *split, uint64_t index,
                             assay_json_builder *json, assay_error *err) ASSAY_NODISCARD;
/* One ArrayRecord file, all of its hashes checked; one TFRecord file, all of its CRCs. */
assay_status inspect_array_record(const char *path, assay_json_builder *json,
                                  assay_error *err) ASSAY_NODISCARD;
assay_status inspect_tfrecord(const char *path, assay_json_builder *json,
                              assay_error *err) ASSAY_NODISCARD;

/* A file of torch.save, a pickle (of a configuration, or of anything), a safetensors file: read as
 * data, nothing in them is run. */
assay_status inspect_torch(const char *path, assay_json_builder *json,
                           assay_error *err) ASSAY_NODISCARD;
/* The same of its structure alone: no value of a tensor is read. */
assay_status inspect_torch_structure(const char *path, assay_json_builder *json,
                                     assay_error *err) ASSAY_NODISCARD;
assay_status inspect_pickle(const char *path, assay_json_builder *json,
                            assay_error *err) ASSAY_NODISCARD;
assay_status inspect_safetensors(const char *path, assay_json_builder *json,
                                 assay_error *err) ASSAY_NODISCARD;
/* Writes the tensors of the first or the last of these as .npz: the state dict under the model's
 * own names, or without one all tensors under their paths. */
assay_status inspect_save_npz(const char *path, bool is_torch, const char *npz_path,
                              assay_error *err) ASSAY_NODISCARD;

/* ---- what arrays hold ---- */

typedef struct inspect_values {
  size_t n_nan, n_pos_inf, n_neg_inf;
  bool has_range;        /* some value is finite */
  double min, max, mean; /* of the finite ones */
  union {
    int64_t i;
    uint64_t u;
  } exact_min, exact_max; /* of int64 and uint64 alone, of which doubles hold 53 bits */
} inspect_values;

void inspect_measure(const assay_tensor *tensor, inspect_values *out);
/* As object "values". */
void inspect_put_values(assay_json_builder *json, assay_dtype dtype, const inspect_values *values);

/* ---- printing ---- */

#define INSPECT_TEXT_BYTES 512

/* text made safe for a terminal, in out, which is also returned; "" for NULL. */
const char *inspect_safe(const char *text, char out[INSPECT_TEXT_BYTES]);

/* "24 bytes", "2.75 MB" (of 10^6). */
const char *inspect_size(uint64_t size_bytes, char out[INSPECT_TEXT_BYTES]);

/* As assay_json_put_string; a text that is not UTF-8 goes in with \xNN. */
void inspect_put_text(assay_json_builder *json, const char *key, const char *text);

/* "attention, cld: 3 layers, width 128, 8 heads of 16, …" */
const char *inspect_config_line(const assay_mlpf_config *config, char out[INSPECT_TEXT_BYTES]);

/* Rows of cells, printed in columns that line up; a column of numbers is put flush right. Cells are
 * added row by row and made safe on the way. */
typedef struct inspect_table {
  size_t n_cols;
  char **cells; /* owned */
  size_t n, cap;
  bool failed; /* memory was out: printing says so */
} inspect_table;

void inspect_table_add(inspect_table *table, const char *format, ...) ASSAY_PRINTF(2, 3);
/* label: in front of the first row, indented; later rows stand below. Resets the table. */
void inspect_table_print(inspect_table *table, const char *label);
void inspect_table_reset(inspect_table *table);

/* Four cells: least, greatest, mean, what is not finite. */
void inspect_table_add_values(inspect_table *table, assay_dtype dtype,
                              const inspect_values *values);

/* "  label       text" */
void inspect_line(const char *label, const char *format, ...) ASSAY_PRINTF(2, 3);

#endif
