/* The ONNX graph of an MLPF configuration: entry, encoder, backbone, representation, readouts,
 * heads. Source: models.md sections B and D; the parts are in mlpf_build.h. */
#include "model/mlpf_graph.h"

#include "base/alloc.h"
#include "base/json.h"
#include "model/mlpf_build.h"
#include "model/mlpf_params.h"

#define OPSET             20
#define OPSET_ATTENTION24 24

/* ---- backbone and representation ---- */

static assay_value build_layer(assay_build *b, const char *backbone, int64_t layer, assay_value x,
                               assay_value x0) {
  return b->config->arch == ASSAY_MLPF_ATTENTION
             ? assay_build_attention_layer(b, backbone, layer, x, x0)
             : assay_build_heptv2_layer(b, backbone, layer, x);
}

/* Representation (31) of the last layer, or of all of them side by side. */
static assay_value build_stack(assay_build *b, const char *encoder, const char *backbone) {
  const assay_mlpf_config *c = b->config;
  const bool concat = c->representation == ASSAY_MLPF_CONCAT && c->num_convs > 1;
  assay_value x0 = assay_build_encoder(b, encoder), x = x0;
  assay_build_name_block(b, encoder, x0);
  assay_value *layers = assay_build_scratch(b, c->num_convs + 1, sizeof *layers);
  if (layers == NULL) return x;
  for (int64_t i = 0; i < c->num_convs; i++) {
    x = build_layer(b, backbone, i, x, x0);
    layers[i] = x;
  }
  if (concat) {
    assay_graph_push_scope(b->graph, backbone);
    x = assay_build_concat(b, "concat", layers, (size_t)c->num_convs, /*axis=*/2);
    assay_graph_pop_scope(b->graph);
  }
  assay_free(layers);
  return x;
}

/* (33) */
static assay_value final_norm(assay_build *b, const char *name, assay_value x) {
  const assay_mlpf_config *c = b->config;
  if (c->arch != ASSAY_MLPF_ATTENTION || !c->use_pre_layernorm) return x;
  x = assay_build_layer_norm(b, name, x, name, assay_mlpf_config_repr_dim(c));
  assay_build_name_block(b, name, x);
  return x;
}

static void build_model(assay_build *b) {
  const assay_mlpf_config *c = b->config;
  assay_value classification, regression;
  assay_build_entry(b);
  if (c->arch == ASSAY_MLPF_HEPTV2 && c->num_convs > 0) assay_build_start_sorting(b);
  if (c->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) {
    classification = build_stack(b, "_nn0_id", "_backbone_id");
    regression = build_stack(b, "_nn0_reg", "_backbone_reg");
  } else {
    classification = regression = build_stack(b, "nn0", "backbone");
  }
  if (c->task_queries) {
    classification = assay_build_readout(b, "classification", classification);
    regression = assay_build_readout(b, "regression", regression);
  }
  classification = final_norm(b, "classification_norm", classification);
  regression = final_norm(b, "regression_norm", regression);
  assay_build_heads(b, classification, regression);
}

/* ---- checks, metadata ---- */

static assay_status check_options(const assay_mlpf_config *config,
                                  const assay_mlpf_graph_options *options, assay_error *err) {
  const int64_t n = options->static_n, bs = config->block_size;
  if (options->static_b < 0 || n < 0 || (options->static_b == 0) != (n == 0)) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "static shape B=%lld, N=%lld: expected both positive, or neither given",
                      (long long)options->static_b, (long long)n);
  }
  if (config->arch == ASSAY_MLPF_HEPTV2 && n % bs != 0) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "N=%lld is no multiple of the block size %lld: pad to %lld elements",
                      (long long)n, (long long)bs, (long long)((n / bs + 1) * bs));
  }
  return ASSAY_OK;
}

static assay_status check_weights(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                  assay_error *err) {
  assay_mlpf_params params = {0};
  assay_status st = assay_mlpf_params_init(config, &params, err);
  if (!st) st = assay_mlpf_params_check(&params, weights, err);
  assay_mlpf_params_reset(&params);
  return st;
}

/* What a builder holds as metadata `key`. */
static assay_status put_json(assay_graph *graph, const char *key, assay_json_builder *json,
                             assay_error *err) {
  assay_buf text = {0};
  const assay_status st = assay_json_builder_finish(json, &text, err);
  if (!st) assay_graph_put_metadata(graph, key, assay_buf_text(&text));
  assay_buf_reset(&text);
  return st;
}

static assay_status put_config(const assay_mlpf_config *config, assay_graph *graph,
                               assay_error *err) {
  assay_json_builder *json = assay_json_builder_create();
  assay_mlpf_config_put(config, json, /*key=*/NULL);
  const assay_status st = put_json(graph, "assay.config", json, err);
  assay_json_builder_destroy(json);
  if (st) return st;
  assay_graph_put_metadata(graph, "assay.key_mask", assay_mlpf_key_mask_name(config->key_mask));
  assay_graph_put_metadata(graph, "assay.phi", assay_mlpf_phi_name(config->phi));
  return ASSAY_OK;
}

static bool is_default(const assay_mlpf_plan_config *plan) {
  return assay_mlpf_plan_config_is_f32(plan) && plan->attention == ASSAY_MLPF_DECOMPOSED;
}

static assay_status put_plan(const assay_mlpf_plan_config *plan, assay_graph *graph,
                             assay_error *err) {
  assay_json_builder *json = assay_json_builder_create();
  assay_mlpf_plan_config_put(plan, json, /*key=*/NULL);
  const assay_status st = put_json(graph, "assay.plan", json, err);
  assay_json_builder_destroy(json);
  return st;
}

/* The model's nodes and metadata; blocks is an empty builder. */
static assay_status fill(assay_build *build, assay_error *err) {
  assay_graph *graph = build->graph;
  assay_json_begin_array(build->blocks, /*key=*/NULL);
  build_model(build);
  assay_json_end(build->blocks);
  ASSAY_TRY(assay_graph_status(graph, err));
  ASSAY_TRY(put_config(build->config, graph, err));
  if (!is_default(build->plan)) ASSAY_TRY(put_plan(build->plan, graph, err));
  ASSAY_TRY(put_json(graph, "assay.blocks", build->blocks, err));
  return assay_graph_status(graph, err);
}

assay_status assay_mlpf_graph_build(const assay_mlpf_config *config,
                                    const assay_tensor_map *weights,
                                    const assay_mlpf_graph_options *options, assay_graph **out,
                                    assay_error *err) {
  assay_graph *graph = NULL;
  assay_mlpf_plan_config plan;
  ASSAY_TRY(assay_mlpf_plan_config_init(ASSAY_DTYPE_F32, ASSAY_MLPF_DECOMPOSED, &plan, err));
  if (options->plan != NULL) plan = *options->plan;
  ASSAY_TRY(assay_mlpf_plan_config_check(&plan, err));
  ASSAY_TRY(check_options(config, options, err));
  ASSAY_TRY(check_weights(config, weights, err));
  const char *name = config->arch == ASSAY_MLPF_ATTENTION ? "mlpf_attention" : "mlpf_heptv2";
  const int64_t opset = plan.attention == ASSAY_MLPF_ATTENTION24 ? OPSET_ATTENTION24 : OPSET;
  ASSAY_TRY(assay_graph_create(name, opset, &graph, err));
  assay_build build = {.config = config,
                       .plan = &plan,
                       .weights = weights,
                       .graph = graph,
                       .static_b = options->static_b,
                       .static_n = options->static_n,
                       .expose_permutations = options->expose_permutations,
                       .dtype = ASSAY_DTYPE_F32,
                       .blocks = assay_json_builder_create()};
  const assay_status st = fill(&build, err);
  assay_json_builder_destroy(build.blocks);
  if (st) {
    assay_graph_destroy(graph);
    return st;
  }
  *out = graph;
  return ASSAY_OK;
}

int64_t assay_mlpf_graph_fused_attention_ops(const assay_graph *graph) {
  return (int64_t)(assay_graph_count_nodes(graph, "Attention") +
                   assay_graph_count_nodes(graph, "MultiHeadAttention"));
}

int64_t assay_mlpf_graph_attention_ops(const assay_graph *graph) {
  return (int64_t)assay_graph_count_feeding(graph, "Softmax", "MatMul") +
         assay_mlpf_graph_fused_attention_ops(graph);
}
