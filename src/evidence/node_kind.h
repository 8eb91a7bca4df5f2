/* What kind of node an executed node is, and how one is named to a person. */
#ifndef ASSAY_EVIDENCE_NODE_KIND_H
#define ASSAY_EVIDENCE_NODE_KIND_H

#include <stdbool.h>

#include "evidence/profile.h"

typedef enum assay_node_kind {
  ASSAY_NODE_COMPUTE,
  ASSAY_NODE_COPY,         /* between devices */
  ASSAY_NODE_CONTROL_FLOW, /* If, Loop, Scan: what runs is in their bodies */
} assay_node_kind;

assay_node_kind assay_node_kind_of(const char *op);

/* Whether it is a subgraph that a provider compiled. A provider names what it compiled after
 * itself, "<provider>_<operator>_<index>", and its operator as no operator is called: DNNL_17_0,
 * OpenVINO-EP-subgraph_1, MGXKernel_graph_main_5_0, TRTKernel_graph_main_5_0. XNNPACK's own Conv
 * has such a name and is still one operator. */
bool assay_node_is_compiled(const assay_profile_node *node);

/* Whether the model gives it no name: the profile then has "<operator>_<index>". */
bool assay_node_is_nameless(const assay_profile_node *node);

/* "MatMul '/fc1/MatMul' on CPUExecutionProvider" in printable characters, cut to so many bytes
 * (assay_free); NULL when memory is out. */
#define ASSAY_NODE_OFFENDER_BYTES 512
char *assay_node_offender(const char *op, const char *name, const char *provider) ASSAY_NODISCARD;

#endif
