/* Names as ONNX Runtime 1.16 to 1.32 gives them. */
#include "evidence/node_kind.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/text.h"

static bool is_one_of(const char *op, const char *const *ops, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (strcmp(op, ops[i]) == 0) return true;
  return false;
}

assay_node_kind assay_node_kind_of(const char *op) {
  static const char *const copies[] = {"MemcpyFromHost", "MemcpyToHost"};
  static const char *const control_flow[] = {"If", "Loop", "Scan"};
  if (is_one_of(op, copies, N_OF(copies))) return ASSAY_NODE_COPY;
  return is_one_of(op, control_flow, N_OF(control_flow)) ? ASSAY_NODE_CONTROL_FLOW
                                                         : ASSAY_NODE_COMPUTE;
}

bool assay_node_is_compiled(const assay_profile_node *node) {
  size_t n_provider = strlen(node->provider), n_op = strlen(node->op);
  const char *name = node->name;
  return strpbrk(node->op, "_-") != NULL && strncmp(name, node->provider, n_provider) == 0 &&
         name[n_provider] == '_' && strncmp(name + n_provider + 1, node->op, n_op) == 0 &&
         name[n_provider + 1 + n_op] == '_';
}

bool assay_node_is_nameless(const assay_profile_node *node) {
  size_t n = strlen(node->op);
  return strncmp(node->name, node->op, n) == 0 && node->name[n] == '_' &&
         strcmp(node->name + n + 1, node->index) == 0;
}

char *assay_node_offender(const char *op, const char *name, const char *provider) {
  enum { BYTES = ASSAY_NODE_OFFENDER_BYTES };
  char shown[BYTES / 2], text[BYTES], printable[BYTES];
  assay_text_printable(name, shown, sizeof shown);
  snprintf(text, sizeof text, "%.96s '%s' on %.96s", op, shown, provider);
  assay_text_printable(text, printable, sizeof printable);
  return assay_strdup(printable);
}
