/* Layers that both architectures use. Source: models.md B.0, D.1. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "model/mlpf_build.h"

#define LAYER_NORM_EPSILON 1e-5f
#define RMS_NORM_EPSILON   1e-6f

static float scaled(float value, double row, float col) {
  return (float)((double)value * row * (double)col);
}

/* The transposed, scaled weight [n_in, n_out] into out. */
static void transpose_weight(const assay_build_affine *a, float *out) {
  for (int64_t o = 0; o < a->n_out; o++) {
    double row = a->row_factor == NULL ? 1.0 : a->row_factor[o];
    for (int64_t i = 0; i < a->n_in; i++) {
      float col = a->col_factor == NULL ? 1.0f : a->col_factor[i];
      out[i * a->n_out + o] = scaled(a->weight[o * a->n_in + i], row, col);
    }
  }
}

static void scale_bias(const assay_build_affine *a, float *out) {
  for (int64_t o = 0; o < a->n_out; o++) {
    out[o] = scaled(a->bias[o], a->row_factor == NULL ? 1.0 : a->row_factor[o], 1.0f);
  }
}

static assay_value add_bias(assay_build *b, assay_value x, const assay_build_affine *a) {
  float *data = assay_build_scratch(b, a->n_out, sizeof *data);
  if (data == NULL) return (assay_value){NULL};
  scale_bias(a, data);
  assay_value bias = assay_build_initializer(b, "bias", 1, &a->n_out, data);
  assay_free(data);
  return assay_build_op2(b, "Add", "Add", x, bias);
}

assay_value assay_build_add_affine(assay_build *b, const char *scope, assay_value x,
                                   const assay_build_affine *a) {
  if (a->weight == NULL) return (assay_value){NULL}; /* the graph failed when it was looked up */
  float *data = assay_build_scratch(b, a->n_in * a->n_out, sizeof *data);
  if (data == NULL) return (assay_value){NULL};
  transpose_weight(a, data);
  assay_graph_push_scope(b->graph, scope);
  assay_value weight =
      assay_build_initializer(b, "weight", 2, (const int64_t[]){a->n_in, a->n_out}, data);
  assay_free(data);
  assay_value y = assay_build_op2(b, "MatMul", "MatMul", x, weight);
  if (a->bias != NULL) y = add_bias(b, y, a);
  assay_graph_pop_scope(b->graph);
  return y;
}

assay_value assay_build_linear(assay_build *b, const char *scope, assay_value x, const char *name,
                               int64_t n_in, int64_t n_out, bool has_bias) {
  assay_build_name weight = assay_build_name_of("%s.weight", name);
  assay_build_name bias = assay_build_name_of("%s.bias", name);
  return assay_build_add_affine(
      b, scope, x,
      &(assay_build_affine){.weight = assay_build_weight(b, weight.text),
                            .bias = has_bias ? assay_build_weight(b, bias.text) : NULL,
                            .n_out = n_out,
                            .n_in = n_in});
}

assay_value assay_build_activation(assay_build *b, const char *label, assay_value x) {
  assay_graph *g = b->graph;
  switch (b->config->activation) {
  case ASSAY_MLPF_ELU:
    return assay_graph_op(g, "Elu", label, &x, 1, (assay_attr[]){ASSAY_ATTR_F("alpha", 1.0f)}, 1);
  case ASSAY_MLPF_RELU:
    return assay_build_op1(b, "Relu", label, x);
  case ASSAY_MLPF_RELU6: {
    assay_value low = assay_build_constant(b, 0.0f);
    assay_value high = assay_build_constant(b, 6.0f);
    assay_value inputs[] = {x, low, high};
    return assay_graph_op(g, "Clip", label, inputs, 3, NULL, 0);
  }
  case ASSAY_MLPF_LEAKYRELU:
    return assay_graph_op(g, "LeakyRelu", label, &x, 1,
                          (assay_attr[]){ASSAY_ATTR_F("alpha", 0.01f)}, 1);
  case ASSAY_MLPF_GELU:
    return assay_graph_op(g, "Gelu", label, &x, 1,
                          (assay_attr[]){ASSAY_ATTR_S("approximate", "none")}, 1);
  }
  assay_graph_fail(g, ASSAY_E_INTERNAL, "activation %d", (int)b->config->activation);
  return (assay_value){NULL};
}

assay_value assay_build_silu(assay_build *b, const char *scope, assay_value x) {
  assay_graph_push_scope(b->graph, scope);
  assay_value y = assay_build_op2(b, "Mul", "Mul", x, assay_build_op1(b, "Sigmoid", "Sigmoid", x));
  assay_graph_pop_scope(b->graph);
  return y;
}

assay_value assay_build_layer_norm(assay_build *b, const char *scope, assay_value x,
                                   const char *name, int64_t n) {
  assay_build_name weight = assay_build_name_of("%s.weight", name);
  assay_build_name bias = assay_build_name_of("%s.bias", name);
  const float *gamma = assay_build_weight(b, weight.text);
  const float *beta = assay_build_weight(b, bias.text);
  if (gamma == NULL || beta == NULL) return (assay_value){NULL};
  assay_graph *g = b->graph;
  assay_graph_push_scope(g, scope);
  assay_value weight_init = assay_build_initializer(b, "weight", 1, &n, gamma);
  assay_value bias_init = assay_build_initializer(b, "bias", 1, &n, beta);
  assay_value inputs[] = {x, weight_init, bias_init};
  assay_attr attrs[] = {ASSAY_ATTR_I("axis", -1), ASSAY_ATTR_F("epsilon", LAYER_NORM_EPSILON),
                        ASSAY_ATTR_I("stash_type", 1)};
  assay_value y =
      assay_graph_op(g, "LayerNormalization", "LayerNormalization", inputs, 3, attrs, 3);
  assay_graph_pop_scope(g);
  return y;
}

assay_value assay_build_rms_normalize(assay_build *b, const char *scope, assay_value x) {
  assay_graph_push_scope(b->graph, scope);
  assay_value square = assay_build_op2(b, "Mul", "square", x, x);
  assay_value mean = assay_build_reduce(b, "ReduceMean", "mean", square, /*axis=*/-1,
                                        /*keep_dim=*/true);
  assay_value floored =
      assay_build_op2(b, "Add", "epsilon", mean, assay_build_f32(b, RMS_NORM_EPSILON));
  assay_value y = assay_build_op2(b, "Div", "Div", x, assay_build_op1(b, "Sqrt", "Sqrt", floored));
  assay_graph_pop_scope(b->graph);
  return y;
}

assay_value assay_build_mlp3(assay_build *b, const char *scope, assay_value x, const char *name,
                             int64_t n_in, int64_t n_out) {
  const int64_t width = b->config->width;
  assay_graph_push_scope(b->graph, scope);
  x = assay_build_linear(b, "0", x, assay_build_name_of("%s.0", name).text, n_in, width,
                         /*has_bias=*/true);
  x = assay_build_activation(b, "1", x);
  x = assay_build_layer_norm(b, "2", x, assay_build_name_of("%s.2", name).text, width);
  x = assay_build_linear(b, "4", x, assay_build_name_of("%s.4", name).text, width, n_out,
                         /*has_bias=*/true);
  assay_graph_pop_scope(b->graph);
  return x;
}

assay_value assay_build_feed_forward(assay_build *b, assay_value x, const char *norm,
                                     const char *sequence, const char *name, int64_t n) {
  const int64_t width = b->config->width;
  const char *norm_scope = strrchr(norm, '.') == NULL ? norm : strrchr(norm, '.') + 1;
  assay_value z = assay_build_layer_norm(b, norm_scope, x, norm, n);
  assay_graph_push_scope(b->graph, sequence);
  z = assay_build_linear(b, "0", z, assay_build_name_of("%s.0", name).text, n, width,
                         /*has_bias=*/true);
  z = assay_build_activation(b, "1", z);
  z = assay_build_linear(b, "2", z, assay_build_name_of("%s.2", name).text, width, n,
                         /*has_bias=*/true);
  z = assay_build_activation(b, "3", z);
  z = assay_build_op2(b, "Add", "residual", x, z);
  assay_graph_pop_scope(b->graph);
  return z;
}
