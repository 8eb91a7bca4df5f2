/* The operators that graphs are built of: since which opset, and how many inputs and outputs. */
#ifndef ASSAY_ONNX_OPS_H
#define ASSAY_ONNX_OPS_H

#include <stddef.h>
#include <stdint.h>

#define ASSAY_OPS_MANY SIZE_MAX /* any number */

typedef struct assay_op {
  const char *name;
  int64_t since; /* first opset of the default domain with this form */
  int64_t last;  /* last one; 0: still so */
  size_t min_inputs, max_inputs;
  size_t min_outputs, max_outputs;
  const char *domain; /* NULL: the default one; others are at version 1, whatever the opset */
} assay_op;

/* The oldest and newest opset that graphs are built for. */
#define ASSAY_OPS_OPSET_MIN 18
#define ASSAY_OPS_OPSET_MAX 24

/* The operator's row for an opset, or NULL: not in the table, or not in this form. */
const assay_op *assay_op_find(const char *name, int64_t opset);

/* The IR version that goes with an opset; 0 for one outside MIN to MAX. */
int64_t assay_op_ir_version(int64_t opset);

#endif
