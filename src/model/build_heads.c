/* Heads, energy, and outputs that are exactly +0 at padding. Source: models.md B.8, B.9, D.1. */
#include <float.h>

#include "model/mlpf_build.h"

/* ---- regression (35) ---- */

/* A block's raw output; what becomes of it is FP32 (D.6). */
static assay_value raw(assay_build *b, const char *label, assay_value x) {
  return assay_build_convert(b, label, x, b->plan->heads, ASSAY_DTYPE_F32);
}

/* x is of the heads' type, and so is what comes out. */
static assay_value mlp(assay_build *b, assay_value x, const char *label, const char *name,
                       int64_t n_out) {
  const assay_dtype outside = assay_build_enter(b, b->plan->heads);
  x = assay_build_mlp3(b, label, x, name, assay_mlpf_config_repr_dim(b->config), n_out);
  b->dtype = outside;
  return x;
}

static assay_value head(assay_build *b, assay_value x, const char *label, const char *name,
                        int64_t n_out) {
  return raw(b, assay_build_name_of("%s/raw", label).text, mlp(b, x, label, name, n_out));
}

/* One small MLP an element type, and the value of the element's own type. */
static assay_value split_by_type(assay_build *b, assay_value x, const char *name) {
  assay_value parts[ASSAY_MLPF_ELEMTYPES_MAX];
  const size_t n_types = (size_t)b->config->n_elemtypes;
  for (size_t i = 0; i < n_types; i++) {
    const assay_build_name label = assay_build_name_of("nn.%zu", i);
    parts[i] = mlp(b, x, label.text, assay_build_name_of("%s.nn.%zu", name, i).text, 1);
  }
  assay_value all = n_types == 1 ? parts[0] : assay_build_concat(b, "Concat", parts, n_types, 2);
  return assay_build_select_type(b, "select_type", raw(b, "raw", all));
}

/* reference * z0 + z1 */
static assay_value linear_of(assay_build *b, assay_value reference, assay_value z0,
                             assay_value z1) {
  return assay_build_op2(b, "Add", "offset", assay_build_op2(b, "Mul", "slope", reference, z0), z1);
}

static assay_value linear_by_type(assay_build *b, assay_value x, const char *name,
                                  assay_value reference) {
  const int64_t n_types = b->config->n_elemtypes;
  assay_value z0 = head(b, x, "nn1", assay_build_name_of("%s.nn1", name).text, n_types);
  assay_value z1 = head(b, x, "nn2", assay_build_name_of("%s.nn2", name).text, n_types);
  z0 = assay_build_select_type(b, "nn1/select_type", z0);
  z1 = assay_build_select_type(b, "nn2/select_type", z1);
  return linear_of(b, reference, z0, z1);
}

/* One target [B,N,1] of x [B,N,D]; reference [B,N,1] is the input's column for it. */
static assay_value regress(assay_build *b, assay_value x, const char *name,
                           assay_mlpf_regression mode, assay_value reference) {
  const assay_build_name nn = assay_build_name_of("%s.nn", name);
  switch (mode) {
  case ASSAY_MLPF_DIRECT:
    return head(b, x, "nn", nn.text, 1);
  case ASSAY_MLPF_ADDITIVE:
    return assay_build_op2(b, "Add", "offset", reference, head(b, x, "nn", nn.text, 1));
  case ASSAY_MLPF_MULTIPLICATIVE:
    return assay_build_op2(b, "Mul", "slope", reference, head(b, x, "nn", nn.text, 1));
  case ASSAY_MLPF_DIRECT_ELEMTYPE:
    return assay_build_select_type(b, "select_type",
                                   head(b, x, "nn", nn.text, b->config->n_elemtypes));
  case ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT:
    return split_by_type(b, x, name);
  case ASSAY_MLPF_LINEAR: {
    assay_value z[2] = {{NULL}, {NULL}};
    assay_build_split(b, "Split", head(b, x, "nn", nn.text, 2), /*axis=*/2, (const int64_t[]){1, 1},
                      2, z);
    return linear_of(b, reference, z[0], z[1]);
  }
  case ASSAY_MLPF_LINEAR_ELEMTYPE:
    return linear_by_type(b, x, name, reference);
  }
  assay_graph_fail(b->graph, ASSAY_E_INTERNAL, "regression mode %d", (int)mode);
  return (assay_value){NULL};
}

static void regress_all(assay_build *b, assay_value x, assay_value out[ASSAY_MLPF_N_TARGETS]) {
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) {
    const assay_build_name name =
        assay_build_name_of("nn_%s", assay_mlpf_target_name((assay_mlpf_target)i));
    assay_graph_push_scope(b->graph, name.text);
    out[i] = regress(b, x, name.text, b->config->regression[i], b->columns[i + 1]);
    assay_graph_pop_scope(b->graph);
    assay_build_name_block(b, name.text, out[i]);
  }
}

/* ---- energy (36) ---- */

/* |x| <= FLT_MAX: false for NaN and both infinities. */
static assay_value is_finite(assay_build *b, assay_value x) {
  assay_value magnitude = assay_build_op1(b, "Abs", "Abs", x);
  return assay_build_op2(b, "LessOrEqual", "is_finite", magnitude, assay_build_f32(b, FLT_MAX));
}

/* log(E/X5) from the pt and eta outputs, plus what the energy head adds, at least 0. The
 * multiplication with the mask is left to the outputs' selection; 0/0 at padding is caught as any
 * NaN is. */
static assay_value energy(assay_build *b, assay_value log_pt, assay_value eta,
                          assay_value correction) {
  assay_graph_push_scope(b->graph, "energy");
  assay_value exp_pt = assay_build_op1(b, "Exp", "exp_pt", log_pt);
  assay_value pt = assay_build_op2(b, "Mul", "pt", exp_pt, b->columns[1]);
  assay_value rising = assay_build_op1(b, "Exp", "exp_eta", eta);
  assay_value falling =
      assay_build_op1(b, "Exp", "exp_minus_eta", assay_build_op1(b, "Neg", "minus_eta", eta));
  assay_value sinh2 = assay_build_op2(b, "Sub", "twice_sinh_eta", rising, falling);
  assay_value twice_pz = assay_build_op2(b, "Mul", "twice_pz", pt, sinh2);
  assay_value pz = assay_build_op2(b, "Mul", "pz", twice_pz, assay_build_f32(b, 0.5f));
  assay_value pt2 = assay_build_op2(b, "Mul", "pt_squared", pt, pt);
  assay_value pz2 = assay_build_op2(b, "Mul", "pz_squared", pz, pz);
  assay_value square = assay_build_op2(b, "Add", "p_squared", pt2, pz2);
  assay_value p = assay_build_op1(b, "Sqrt", "p", square);
  assay_value ratio = assay_build_op2(b, "Div", "ratio", p, b->columns[5]);
  assay_value log_ratio = assay_build_op1(b, "Log", "log_ratio", ratio);
  assay_value finite = is_finite(b, log_ratio);
  finite = assay_build_where(b, "finite_or_zero", finite, log_ratio, assay_build_f32(b, 0.0f));
  assay_value added = assay_build_op1(b, "Relu", "Relu", correction);
  assay_value sum = assay_build_op2(b, "Add", "Add", finite, added);
  assay_graph_pop_scope(b->graph);
  return sum;
}

/* ---- outputs (37), (38) ---- */

static void add_output(assay_build *b, assay_value value, int64_t n) {
  const bool is_static = assay_build_is_static(b);
  const assay_graph_dim dims[] = {
      {b->static_b, is_static ? NULL : "B"}, {b->static_n, is_static ? NULL : "N"}, {n, NULL}};
  assay_graph_add_output(b->graph, value, ASSAY_DTYPE_F32, 3, dims);
}

/* One selection for all heads, which are then cut apart: +0 where the element is padding or the
 * value not finite. A select, since a product would leave -0 and let NaN through. */
static void select_outputs(assay_build *b, const assay_value *parts, size_t n_parts) {
  static const char *const NAMES[] = {"bid", "id", "momentum"};
  const int64_t sizes[] = {2, b->config->num_classes, ASSAY_MLPF_N_TARGETS};
  assay_value outs[3] = {{NULL}, {NULL}, {NULL}};
  assay_value all = assay_build_concat(b, "Concat", parts, n_parts, /*axis=*/2);
  assay_value keep = assay_build_op2(b, "And", "keep", b->valid3, is_finite(b, all));
  all = assay_build_where(b, "select", keep, all, assay_build_f32(b, 0.0f));
  assay_value inputs[] = {all, assay_graph_const_i64s(b->graph, sizes, 3)};
  assay_graph_add_node_named(b->graph, "Split", "Split", NAMES, inputs, 2,
                             (assay_attr[]){ASSAY_ATTR_I("axis", 2)}, 1, outs, 3);
  for (int i = 0; i < 3; i++) add_output(b, outs[i], sizes[i]);
}

/* Zeroes of the right shape, dynamic or not. */
static void add_pu(assay_build *b) {
  static const float ZEROES[2];
  assay_value zeroes = assay_graph_add_initializer(b->graph, "zeroes", ASSAY_DTYPE_F32, 3,
                                                   (const int64_t[]){1, 1, 2}, ZEROES);
  assay_value inputs[] = {b->mask3, zeroes};
  add_output(b, assay_graph_op_named(b->graph, "Mul", "pu", "pu", inputs, 2, NULL, 0), 2);
}

void assay_build_heads(assay_build *b, assay_value classification, assay_value regression) {
  assay_value targets[ASSAY_MLPF_N_TARGETS];
  const bool is_one = classification.name == regression.name;
  classification = assay_build_convert(b, "to_heads", classification, b->dtype, b->plan->heads);
  regression = is_one ? classification
                      : assay_build_convert(b, "to_heads", regression, b->dtype, b->plan->heads);
  assay_value bid = head(b, classification, "nn_binary_particle", "nn_binary_particle", 2);
  assay_build_name_block(b, "nn_binary_particle", bid);
  assay_value id = head(b, classification, "nn_pid", "nn_pid", b->config->num_classes);
  assay_build_name_block(b, "nn_pid", id);
  regress_all(b, regression, targets);
  assay_value e =
      energy(b, targets[ASSAY_MLPF_PT], targets[ASSAY_MLPF_ETA], targets[ASSAY_MLPF_ENERGY]);
  const assay_value parts[] = {bid,
                               id,
                               targets[ASSAY_MLPF_PT],
                               targets[ASSAY_MLPF_ETA],
                               targets[ASSAY_MLPF_SIN_PHI],
                               targets[ASSAY_MLPF_COS_PHI],
                               e};
  assay_graph_push_scope(b->graph, "outputs");
  select_outputs(b, parts, sizeof parts / sizeof *parts);
  add_pu(b);
  assay_graph_pop_scope(b->graph);
}
