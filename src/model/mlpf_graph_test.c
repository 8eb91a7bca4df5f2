/* The graphs of all variants: that they build, with which nodes and outputs. What they compute is
 * compared with the upstream model's outputs on a runtime by tests/models/, and tests/onnx_checker/
 * gives them to the ONNX checker: `mlpf_graph_test --write FOLDER [CONFIG.json]...` writes every
 * variant as a file for it, the presets and those configurations in full size. */
#include "model/mlpf_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "model/mlpf_params.h"
#include "onnx/expose.h"
#include "onnx/model_info.h"

#define STATIC_B 2
#define STATIC_N 24

/* ---- variants ---- */

typedef void change_fn(assay_mlpf_config *c);

static void none(assay_mlpf_config *c) {
  (void)c;
}
static void key_mask_all(assay_mlpf_config *c) {
  c->key_mask = ASSAY_MLPF_KEY_MASK_ALL;
}
static void key_mask_upstream(assay_mlpf_config *c) {
  c->key_mask = ASSAY_MLPF_KEY_MASK_UPSTREAM;
}
static void no_layers(assay_mlpf_config *c) {
  c->num_convs = 0;
}
static void no_layers_no_queries(assay_mlpf_config *c) {
  c->num_convs = 0;
  c->task_queries = false;
}
static void one_layer(assay_mlpf_config *c) {
  c->num_convs = 1;
}
static void concat(assay_mlpf_config *c) {
  c->representation = ASSAY_MLPF_CONCAT;
  c->num_convs = 3;
}
static void concat_one_layer(assay_mlpf_config *c) {
  c->representation = ASSAY_MLPF_CONCAT;
  c->num_convs = 1;
}
static void joint(assay_mlpf_config *c) {
  c->input_encoding = ASSAY_MLPF_JOINT;
}
static void split_backbone(assay_mlpf_config *c) {
  c->backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
}
static void split_concat_joint(assay_mlpf_config *c) {
  split_backbone(c);
  concat(c);
  joint(c);
}
static void no_queries(assay_mlpf_config *c) {
  c->task_queries = false;
}
static void relu(assay_mlpf_config *c) {
  c->activation = ASSAY_MLPF_RELU;
}
static void relu6(assay_mlpf_config *c) {
  c->activation = ASSAY_MLPF_RELU6;
}
static void leakyrelu(assay_mlpf_config *c) {
  c->activation = ASSAY_MLPF_LEAKYRELU;
}
static void gelu(assay_mlpf_config *c) {
  c->activation = ASSAY_MLPF_GELU;
}
static void all_targets(assay_mlpf_config *c, assay_mlpf_regression mode) {
  for (int i = 0; i < ASSAY_MLPF_N_TARGETS; i++) c->regression[i] = mode;
}
static void direct(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_DIRECT);
}
static void additive(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_ADDITIVE);
}
static void multiplicative(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_MULTIPLICATIVE);
}
static void direct_elemtype(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_DIRECT_ELEMTYPE);
}
static void direct_split(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT);
}
static void linear(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_LINEAR);
}
static void linear_elemtype(assay_mlpf_config *c) {
  all_targets(c, ASSAY_MLPF_LINEAR_ELEMTYPE);
}
static void no_types_needed(assay_mlpf_config *c) {
  joint(c);
  direct(c);
}
static void one_type(assay_mlpf_config *c) {
  c->n_elemtypes = 1;
}
static void six_features(assay_mlpf_config *c) {
  c->input_dim = 6;
}
static void odd_heads(assay_mlpf_config *c) {
  c->num_heads = 3;
  c->head_dim = 5;
  c->embedding_dim = 15;
}
static void no_final_norms(assay_mlpf_config *c) {
  c->use_pre_layernorm = false;
}
static void no_positions(assay_mlpf_config *c) {
  c->learned_positions = false;
}
static void one_hash(assay_mlpf_config *c) {
  c->n_hashes = 1;
}
static void blocks_of_one(assay_mlpf_config *c) {
  c->block_size = 1;
}
static void one_block(assay_mlpf_config *c) {
  c->block_size = STATIC_N;
}
static void native_phi(assay_mlpf_config *c) {
  c->phi = ASSAY_MLPF_PHI_NATIVE;
}

enum { BOTH, ATTENTION_ONLY, HEPTV2_ONLY };

#define VARIANT(name, which)                                                                       \
  { #name, name, which }
static const struct variant {
  const char *name;
  change_fn *change;
  int which;
} VARIANTS[] = {
    VARIANT(none, BOTH),
    VARIANT(key_mask_all, BOTH),
    VARIANT(key_mask_upstream, BOTH),
    VARIANT(no_layers, BOTH),
    VARIANT(no_layers_no_queries, BOTH),
    VARIANT(one_layer, BOTH),
    VARIANT(concat, BOTH),
    VARIANT(concat_one_layer, BOTH),
    VARIANT(joint, BOTH),
    VARIANT(split_backbone, BOTH),
    VARIANT(split_concat_joint, BOTH),
    VARIANT(no_queries, BOTH),
    VARIANT(relu, BOTH),
    VARIANT(relu6, BOTH),
    VARIANT(leakyrelu, BOTH),
    VARIANT(gelu, BOTH),
    VARIANT(direct, BOTH),
    VARIANT(additive, BOTH),
    VARIANT(multiplicative, BOTH),
    VARIANT(direct_elemtype, BOTH),
    VARIANT(direct_split, BOTH),
    VARIANT(linear, BOTH),
    VARIANT(linear_elemtype, BOTH),
    VARIANT(no_types_needed, BOTH),
    VARIANT(one_type, BOTH),
    VARIANT(six_features, BOTH),
    VARIANT(odd_heads, BOTH),
    VARIANT(no_final_norms, ATTENTION_ONLY),
    VARIANT(no_positions, HEPTV2_ONLY),
    VARIANT(one_hash, HEPTV2_ONLY),
    VARIANT(blocks_of_one, HEPTV2_ONLY),
    VARIANT(one_block, HEPTV2_ONLY),
    VARIANT(native_phi, HEPTV2_ONLY),
};
#define N_VARIANTS (sizeof VARIANTS / sizeof *VARIANTS)

/* ---- forms ---- */

#define F32 ASSAY_DTYPE_F32
#define F16 ASSAY_DTYPE_F16
#define FORM(name, attention, mask, encoder, layers, scores, heads)                                \
  {                                                                                                \
    name, {                                                                                        \
      ASSAY_MLPF_##attention, ASSAY_MLPF_MASK_##mask, encoder, layers, scores, layers, heads       \
    }                                                                                              \
  }
/* Those of the command line, and two that are not: everything in FP16, scores kept in FP32. */
static const struct form {
  const char *name;
  assay_mlpf_plan_config plan;
} FORMS[] = {
    FORM("decomposed-f16", DECOMPOSED, FLOAT, F32, F16, F16, F32),
    FORM("attention24-bool", ATTENTION24, BOOL, F32, F32, F32, F32),
    FORM("attention24-bool-f16", ATTENTION24, BOOL, F32, F16, F32, F32),
    FORM("attention24-float", ATTENTION24, FLOAT, F32, F32, F32, F32),
    FORM("attention24-float-f16", ATTENTION24, FLOAT, F32, F16, F32, F32),
    FORM("attention24-nonpad", ATTENTION24, NONPAD, F32, F32, F32, F32),
    FORM("attention24-nonpad-f16", ATTENTION24, NONPAD, F32, F16, F32, F32),
    FORM("mha", MHA, FLOAT, F32, F32, F32, F32),
    FORM("mha-f16", MHA, FLOAT, F32, F16, F32, F32),
    FORM("all-f16", DECOMPOSED, FLOAT, F16, F16, F16, F16),
    FORM("scores-f32", DECOMPOSED, FLOAT, F32, F16, F32, F32),
};
#define N_FORMS      (sizeof FORMS / sizeof *FORMS)
#define N_USER_FORMS (N_FORMS - 2) /* of the command line, beside the default */

static void check_ok(assay_status st, const assay_error *err, const char *what) {
  if (st) fail_msg("%s: %s: %s", what, assay_status_name(st), err->text);
}

/* Small: E=16, H=2, W=16 or 12, two layers; blocks of 4, two hashes. */
static assay_mlpf_config small_config(const char *arch, change_fn *change) {
  assay_error err = {0};
  assay_mlpf_config c;
  check_ok(assay_mlpf_config_init_preset(arch, "cld", &c, &err), &err, arch);
  c.num_convs = 2;
  c.num_heads = 2;
  c.head_dim = 8;
  c.embedding_dim = 16;
  c.width = 12;
  c.block_size = 4;
  c.n_hashes = 2;
  change(&c);
  check_ok(assay_mlpf_config_check(&c, &err), &err, arch);
  return c;
}

static assay_tensor_map seeded(const assay_mlpf_config *c) {
  assay_error err = {0};
  assay_tensor_map weights = {0};
  check_ok(assay_mlpf_seed_weights(c, 42, &weights, NULL, &err), &err, "weights");
  return weights;
}

static assay_graph *build(const assay_mlpf_config *c, const assay_mlpf_graph_options *options) {
  assay_error err = {0};
  assay_graph *graph = NULL;
  assay_tensor_map weights = seeded(c);
  check_ok(assay_mlpf_graph_build(c, &weights, options, &graph, &err), &err, "graph");
  assay_tensor_map_reset(&weights);
  return graph;
}

static assay_onnx_info *reread(const assay_graph *graph) {
  assay_error err = {0};
  assay_buf bytes = {0};
  assay_onnx_info *info = NULL;
  check_ok(assay_graph_serialize(graph, &bytes, &err), &err, "serialize");
  check_ok(assay_onnx_info_parse(bytes.data, bytes.size_bytes, &info, &err), &err, "parse");
  assay_buf_reset(&bytes);
  return info;
}

static const assay_mlpf_graph_options DYNAMIC,
    STATIC = {.static_b = STATIC_B, .static_n = STATIC_N};

/* ---- what is in them ---- */

static void check_dim(const assay_onnx_dim *dim, bool is_static, int64_t size, const char *symbol) {
  if (is_static) {
    assert_int_equal(dim->size, size);
    assert_null(dim->symbol);
  } else {
    assert_string_equal(dim->symbol, symbol);
  }
}

static void check_value(const assay_onnx_value_info *v, const char *name, bool is_static,
                        int64_t last) {
  assert_string_equal(v->name, name);
  assert_int_equal(v->dtype, ASSAY_DTYPE_F32);
  assert_int_equal(v->rank, last == 0 ? 2 : 3);
  check_dim(&v->dims[0], is_static, STATIC_B, "B");
  check_dim(&v->dims[1], is_static, STATIC_N, "N");
  if (last != 0) assert_int_equal(v->dims[2].size, last);
}

static void check_interface_of(const assay_graph *graph, const assay_mlpf_config *c, bool is_static,
                               int64_t opset, int64_t ir) {
  assay_onnx_info *info = reread(graph);
  size_t n = 0;
  const assay_onnx_value_info *in = assay_onnx_info_inputs(info, &n);
  assert_int_equal(n, 2);
  check_value(&in[0], "Xfeat_normed", is_static, c->input_dim);
  check_value(&in[1], "mask", is_static, 0);
  const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
  assert_int_equal(n, 4);
  check_value(&out[0], "bid", is_static, 2);
  check_value(&out[1], "id", is_static, c->num_classes);
  check_value(&out[2], "momentum", is_static, 5);
  check_value(&out[3], "pu", is_static, 2);
  assert_int_equal(assay_onnx_info_ir_version(info), ir);
  assert_int_equal(assay_onnx_info_opsets(info, &n)[0].version, opset);
  assay_onnx_info_close(info);
}

static void check_interface(const assay_graph *graph, const assay_mlpf_config *c, bool is_static) {
  check_interface_of(graph, c, is_static, 20, 9);
}

/* Attention operations and HEPTv2's merging of hashes each have one Softmax; each layer of HEPTv2
 * sorts once, and so do the ranks of all of them. */
static void check_operators(const assay_graph *graph, const assay_mlpf_config *c) {
  const int64_t stacks = c->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT ? 2 : 1;
  const int64_t sorts = c->arch == ASSAY_MLPF_HEPTV2 ? stacks * c->num_convs : 0;
  assert_int_equal(assay_graph_count_nodes(graph, "Softmax"),
                   assay_mlpf_config_attention_ops(c) + sorts);
  assert_int_equal(assay_graph_count_nodes(graph, "TopK"), sorts == 0 ? 0 : sorts + 1);
  assert_int_equal(assay_graph_count_nodes(graph, "ScatterElements"), sorts == 0 ? 0 : sorts + 1);
  assert_int_equal(assay_graph_count_nodes(graph, "Identity"), 0);
}

static void check_no_shape_plumbing(const assay_graph *graph, const char *name) {
  static const char *const OPS[] = {"Shape", "Expand", "Range", "Squeeze", "Ceil", "Slice"};
  for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) {
    size_t n = assay_graph_count_nodes(graph, OPS[i]);
    if (n != 0) fail_msg("%s: %zu of %s in a static graph", name, n, OPS[i]);
  }
}

static bool applies(const struct variant *v, const char *arch) {
  const bool is_attention = strcmp(arch, "attention") == 0;
  return v->which == BOTH || (v->which == ATTENTION_ONLY) == is_attention;
}

static const char *const ARCHS[] = {"attention", "heptv2"};

static void every_variant_has_the_interface_and_operators_it_should(void **state) {
  (void)state;
  for (size_t i = 0; i < 2 * N_VARIANTS; i++) {
    const struct variant *v = &VARIANTS[i / 2];
    if (!applies(v, ARCHS[i % 2])) continue;
    const assay_mlpf_config c = small_config(ARCHS[i % 2], v->change);
    assay_graph *dynamic = build(&c, &DYNAMIC), *fixed = build(&c, &STATIC);
    check_interface(dynamic, &c, /*is_static=*/false);
    check_interface(fixed, &c, /*is_static=*/true);
    check_operators(dynamic, &c);
    check_operators(fixed, &c);
    check_no_shape_plumbing(fixed, v->name);
    if (c.arch == ASSAY_MLPF_ATTENTION) check_no_shape_plumbing(dynamic, v->name);
    assay_graph_destroy(dynamic);
    assay_graph_destroy(fixed);
  }
}

/* The variants that attention's form and precision depend on. */
static bool concerns_forms(const struct variant *v) {
  static change_fn *const CHANGES[] = {
      none,  key_mask_all, key_mask_upstream, no_layers,  one_layer, concat,
      joint, relu6,        split_backbone,    no_queries, odd_heads, one_hash};
  for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++)
    if (v->change == CHANGES[i]) return true;
  return false;
}

/* Every attention operation is of the form that was asked for; inputs and outputs stay FP32. */
static void check_form(const struct form *form, const char *arch, const struct variant *v,
                       bool is_static) {
  const assay_mlpf_config c = small_config(arch, v->change);
  assay_mlpf_graph_options options = is_static ? STATIC : DYNAMIC;
  options.plan = &form->plan;
  assay_graph *graph = build(&c, &options);
  const bool is_24 = form->plan.attention == ASSAY_MLPF_ATTENTION24;
  const int64_t ops = assay_mlpf_config_attention_ops(&c);
  assert_int_equal(assay_mlpf_graph_attention_ops(graph), ops);
  assert_int_equal(assay_mlpf_graph_fused_attention_ops(graph),
                   form->plan.attention == ASSAY_MLPF_DECOMPOSED ? 0 : ops);
  assert_int_equal(assay_graph_count_nodes(graph, is_24 ? "MultiHeadAttention" : "Attention"), 0);
  check_interface_of(graph, &c, is_static, is_24 ? 24 : 20, is_24 ? 12 : 9);
  if (is_static || c.arch == ASSAY_MLPF_ATTENTION) check_no_shape_plumbing(graph, v->name);
  assay_graph_destroy(graph);
}

static void every_form_has_the_operators_it_should(void **state) {
  (void)state;
  for (size_t f = 0; f < N_FORMS; f++)
    for (size_t i = 0; i < 4 * N_VARIANTS; i++) {
      const struct variant *v = &VARIANTS[i / 4];
      if (!applies(v, ARCHS[i & 1]) || !concerns_forms(v)) continue;
      check_form(&FORMS[f], ARCHS[i & 1], v, (i & 2) != 0);
    }
}

/* Nodes of the seeded study's models, all and Casts alone: a graph that grows or shrinks shows
 * here. */
static void the_presets_have_so_many_nodes(void **state) {
  (void)state;
  static const struct {
    const char *arch, *preset, *form; /* NULL: the default */
    size_t n_dynamic, n_static, n_casts;
  } CASES[] = {
      {"attention", "cld", NULL, 247, 247, 1},
      {"attention", "cms", NULL, 319, 319, 1},
      {"heptv2", "cld", NULL, 499, 464, 14},
      {"heptv2", "cms", NULL, 571, 536, 14},
      {"attention", "cld", "decomposed-f16", 268, 268, 22},
      {"attention", "cld", "attention24-bool", 203, 200, 1},
      {"attention", "cld", "attention24-bool-f16", 215, 211, 13},
      {"attention", "cld", "attention24-float", 205, 202, 1},
      {"attention", "cld", "attention24-float-f16", 217, 213, 13},
      {"attention", "cld", "attention24-nonpad", 201, 198, 2},
      {"attention", "cld", "attention24-nonpad-f16", 213, 209, 14},
      {"attention", "cld", "mha", 205, 202, 1},
      {"attention", "cld", "mha-f16", 217, 213, 13},
      {"heptv2", "cld", "decomposed-f16", 534, 499, 46},
      {"heptv2", "cld", "attention24-bool", 485, 447, 14},
      {"heptv2", "cld", "attention24-bool-f16", 517, 478, 43},
      {"heptv2", "cld", "attention24-float", 486, 448, 14},
      {"heptv2", "cld", "attention24-float-f16", 518, 479, 43},
      {"heptv2", "cld", "attention24-nonpad", 486, 448, 15},
      {"heptv2", "cld", "attention24-nonpad-f16", 518, 479, 44},
      {"heptv2", "cld", "mha", 486, 448, 14},
      {"heptv2", "cld", "mha-f16", 518, 479, 43},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_error err = {0};
    assay_mlpf_config c;
    check_ok(assay_mlpf_config_init_preset(CASES[i].arch, CASES[i].preset, &c, &err), &err, "");
    assay_mlpf_graph_options symbolic = DYNAMIC, one_shape = {.static_b = 1, .static_n = 200};
    for (size_t f = 0; f < N_FORMS; f++)
      if (CASES[i].form != NULL && strcmp(FORMS[f].name, CASES[i].form) == 0)
        symbolic.plan = one_shape.plan = &FORMS[f].plan;
    assay_graph *dynamic = build(&c, &symbolic), *fixed = build(&c, &one_shape);
    const size_t n_dynamic = assay_graph_count_nodes(dynamic, NULL);
    const size_t n_static = assay_graph_count_nodes(fixed, NULL);
    const size_t n_casts = assay_graph_count_nodes(dynamic, "Cast");
    if (n_dynamic != CASES[i].n_dynamic || n_static != CASES[i].n_static ||
        n_casts != CASES[i].n_casts) {
      fail_msg("%s %s %s: %zu nodes dynamic (%zu Casts), %zu static, expected %zu (%zu) and %zu",
               CASES[i].arch, CASES[i].preset, CASES[i].form ? CASES[i].form : "default", n_dynamic,
               n_casts, n_static, CASES[i].n_dynamic, CASES[i].n_casts, CASES[i].n_static);
    }
    assay_graph_destroy(dynamic);
    assay_graph_destroy(fixed);
  }
}

static void permutations_become_outputs_when_asked_for(void **state) {
  (void)state;
  static const struct {
    change_fn *change;
    const char *names[4];
    size_t n;
  } CASES[] = {
      {none, {"perm_0", "perm_1"}, 2},
      {split_backbone, {"perm_id_0", "perm_id_1", "perm_reg_0", "perm_reg_1"}, 4},
      {no_layers, {NULL}, 0},
  };
  const assay_mlpf_graph_options options = {
      .static_b = STATIC_B, .static_n = STATIC_N, .expose_permutations = true};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    const assay_mlpf_config c = small_config("heptv2", CASES[i].change);
    assay_graph *graph = build(&c, &options);
    assay_onnx_info *info = reread(graph);
    size_t n = 0, found = 0;
    const assay_onnx_value_info *out = assay_onnx_info_outputs(info, &n);
    assert_int_equal(n, 4 + CASES[i].n);
    for (size_t k = 0; k < n; k++) {
      if (strncmp(out[k].name, "perm_", 5) != 0) continue;
      assert_string_equal(out[k].name, CASES[i].names[found++]);
      assert_int_equal(out[k].dtype, ASSAY_DTYPE_I64);
      assert_int_equal(out[k].dims[0].size, 4); /* NH * H */
      assert_int_equal(out[k].dims[1].size, STATIC_B);
      assert_int_equal(out[k].dims[2].size, STATIC_N);
    }
    assert_int_equal(found, CASES[i].n);
    assay_onnx_info_close(info);
    assay_graph_destroy(graph);
  }
  const assay_mlpf_config c = small_config("attention", none);
  assay_graph *graph = build(&c, &options);
  check_interface(graph, &c, /*is_static=*/true); /* nothing to expose: no error, no output */
  assay_graph_destroy(graph);
}

static void the_configuration_is_in_the_metadata(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    assay_error err = {0};
    assay_mlpf_config c = small_config(ARCHS[i], split_concat_joint), back;
    c.key_mask = ASSAY_MLPF_KEY_MASK_ALL;
    c.phi = ASSAY_MLPF_PHI_NATIVE;
    assay_graph *graph = build(&c, &DYNAMIC);
    assay_onnx_info *info = reread(graph);
    const char *text = assay_onnx_info_metadata_value(info, "assay.config");
    assay_json *tree = NULL;
    assert_non_null(text);
    check_ok(assay_json_parse(text, strlen(text), &tree, &err), &err, "metadata");
    check_ok(assay_mlpf_config_parse(tree, ARCHS[i], &back, &err), &err, "configuration");
    assert_memory_equal(back.regression, c.regression, sizeof c.regression);
    assert_int_equal(back.num_convs, c.num_convs);
    assert_int_equal(back.embedding_dim, c.embedding_dim);
    assert_int_equal(back.backbone_mode, c.backbone_mode);
    assert_int_equal(back.representation, c.representation);
    assert_int_equal(back.key_mask, c.key_mask);
    assert_int_equal(back.phi, c.phi);
    assert_string_equal(assay_onnx_info_metadata_value(info, "assay.key_mask"), "all");
    assert_string_equal(assay_onnx_info_metadata_value(info, "assay.phi"), "native");
    assay_json_destroy(tree);
    assay_onnx_info_close(info);
    assay_graph_destroy(graph);
  }
}

/* ---- named blocks ---- */

static void check_blocks(const assay_graph *graph, const char *const *names, size_t n) {
  assay_error err = {0};
  assay_buf bytes = {0}, copy = {0};
  assay_onnx_info *info = reread(graph);
  const char *text = assay_onnx_info_metadata_value(info, "assay.blocks");
  const char *values[64];
  assay_json *tree = NULL;
  assert_non_null(text);
  check_ok(assay_json_parse(text, strlen(text), &tree, &err), &err, "metadata");
  assert_int_equal(assay_json_len(tree), n);
  for (size_t i = 0; i < n; i++) {
    const assay_json *item = assay_json_at(tree, i);
    assert_string_equal(assay_json_string(assay_json_get(item, "block")), names[i]);
    values[i] = assay_json_string(assay_json_get(item, "value"));
  }
  check_ok(assay_graph_serialize(graph, &bytes, &err), &err, "serialize");
  check_ok(assay_onnx_expose(bytes.data, bytes.size_bytes, values, n, &copy, &err), &err, "expose");
  assay_buf_reset(&copy);
  assay_buf_reset(&bytes);
  assay_json_destroy(tree);
  assay_onnx_info_close(info);
}

/* In the order of the model, each a value of the graph. */
static void blocks_are_named_in_the_metadata(void **state) {
  (void)state;
  static const char *const ATTENTION[] = {"nn0",
                                          "backbone.0.attention",
                                          "backbone.0",
                                          "backbone.1.attention",
                                          "backbone.1",
                                          "classification_readout.attention",
                                          "classification_readout",
                                          "regression_readout.attention",
                                          "regression_readout",
                                          "classification_norm",
                                          "regression_norm",
                                          "nn_binary_particle",
                                          "nn_pid",
                                          "nn_pt",
                                          "nn_eta",
                                          "nn_sin_phi",
                                          "nn_cos_phi",
                                          "nn_energy"};
  static const char *const HEPTV2[] = {"_nn0_id",
                                       "_backbone_id.0.permutation",
                                       "_backbone_id.0.attention",
                                       "_backbone_id.0",
                                       "_backbone_id.1.permutation",
                                       "_backbone_id.1.attention",
                                       "_backbone_id.1",
                                       "_nn0_reg",
                                       "_backbone_reg.0.permutation",
                                       "_backbone_reg.0.attention",
                                       "_backbone_reg.0",
                                       "_backbone_reg.1.permutation",
                                       "_backbone_reg.1.attention",
                                       "_backbone_reg.1",
                                       "nn_binary_particle",
                                       "nn_pid",
                                       "nn_pt",
                                       "nn_eta",
                                       "nn_sin_phi",
                                       "nn_cos_phi",
                                       "nn_energy"};
  for (size_t f = 0; f <= N_FORMS; f++) {
    assay_mlpf_graph_options options = DYNAMIC;
    options.plan = f == N_FORMS ? NULL : &FORMS[f].plan;
    const assay_mlpf_config a = small_config("attention", none);
    const assay_mlpf_config h = small_config("heptv2", split_backbone);
    assay_graph *attention = build(&a, &options);
    check_blocks(attention, ATTENTION, sizeof ATTENTION / sizeof *ATTENTION);
    assay_graph_destroy(attention);
    options.expose_permutations = f % 2 == 0;
    assay_graph *heptv2 = build(&h, &options);
    check_blocks(heptv2, HEPTV2, sizeof HEPTV2 / sizeof *HEPTV2);
    assay_graph_destroy(heptv2);
  }
}

static void equal_models_give_equal_files(void **state) {
  (void)state;
  assay_error err = {0};
  const assay_mlpf_config c = small_config("heptv2", none);
  assay_buf bytes[2] = {{0}, {0}};
  for (int i = 0; i < 2; i++) {
    assay_graph *graph = build(&c, &DYNAMIC);
    check_ok(assay_graph_serialize(graph, &bytes[i], &err), &err, "serialize");
    assay_graph_destroy(graph);
  }
  assert_int_equal(bytes[0].size_bytes, bytes[1].size_bytes);
  assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size_bytes);
  assay_buf_reset(&bytes[0]);
  assay_buf_reset(&bytes[1]);
}

/* ---- what is refused ---- */

static void shapes_that_cannot_be_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *arch;
    int64_t b, n;
    const char *text; /* NULL: fine */
  } CASES[] = {
      {"heptv2", 1, 22, "N=22 is no multiple of the block size 4: pad to 24 elements"},
      {"heptv2", 1, 0, "both positive, or neither"},
      {"heptv2", 0, 24, "both positive, or neither"},
      {"attention", -1, 8, "both positive, or neither"},
      {"attention", 1, -8, "both positive, or neither"},
      {"attention", 1, 7, NULL},
      {"heptv2", 3, 4, NULL},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_error err = {0};
    assay_graph *graph = NULL;
    const assay_mlpf_config c = small_config(CASES[i].arch, none);
    const assay_mlpf_graph_options o = {.static_b = CASES[i].b, .static_n = CASES[i].n};
    assay_tensor_map weights = seeded(&c);
    assay_status st = assay_mlpf_graph_build(&c, &weights, &o, &graph, &err);
    assert_int_equal(st, CASES[i].text == NULL ? ASSAY_OK : ASSAY_E_ARGUMENT);
    if (CASES[i].text != NULL) {
      assert_null(graph);
      if (strstr(err.text, CASES[i].text) == NULL) fail_msg("'%s'", err.text);
    }
    assay_graph_destroy(graph);
    assay_tensor_map_reset(&weights);
  }
}

/* The weights of one layer more, or less, than the configuration says. */
static void weights_of_another_model_are_refused(void **state) {
  (void)state;
  for (int more = 0; more < 2; more++) {
    assay_error err = {0};
    assay_graph *graph = NULL;
    assay_mlpf_config c = small_config("attention", none);
    assay_tensor_map weights = seeded(&c);
    c.num_convs += more == 0 ? -1 : 1;
    assert_int_equal(assay_mlpf_graph_build(&c, &weights, &DYNAMIC, &graph, &err),
                     ASSAY_E_MISMATCH);
    assert_null(graph);
    if (strstr(err.text, more == 0 ? "backbone.1" : "backbone.2") == NULL) {
      fail_msg("'%s'", err.text);
    }
    assay_tensor_map_reset(&weights);
  }
}

static void regions_that_are_no_number_of_regions_are_refused(void **state) {
  (void)state;
  const float CASES[] = {0.0f, -1.0f, NAN, INFINITY, 1e-30f};
  for (size_t i = 0; i < 2 * sizeof CASES / sizeof *CASES; i++) {
    assay_error err = {0};
    assay_graph *graph = NULL;
    const assay_mlpf_config c = small_config("heptv2", none);
    assay_tensor_map weights = seeded(&c);
    assay_tensor_f32(assay_tensor_map_find(&weights, "backbone.1.regions"))[5] = CASES[i / 2];
    assert_int_equal(
        assay_mlpf_graph_build(&c, &weights, i % 2 == 0 ? &DYNAMIC : &STATIC, &graph, &err),
        ASSAY_E_MISMATCH);
    assert_null(graph);
    if (strstr(err.text, "'backbone.1.regions' holds") == NULL ||
        strstr(err.text, "at element 5") == NULL) {
      fail_msg("'%s'", err.text);
    }
    assay_tensor_map_reset(&weights);
  }
}

static void a_weight_that_float16_cannot_hold_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *arch, *name;
    float value;
    const char *text; /* NULL: fine */
  } CASES[] = {
      {"attention", "backbone.1.mha.in_proj_weight", 65536.0f,
       "weight 'backbone.1.mha.in_proj_weight' holds 65536 at element 5, and float16 ends at "
       "65504"},
      {"attention", "backbone.1.mha.out_proj.bias", -65505.0f, "holds -65505 at element 5"},
      {"attention", "backbone.1.mha.out_proj.bias", NAN, "at element 5"},
      {"attention", "backbone.1.mha.out_proj.bias", 65504.0f, NULL},
      {"attention", "regression_readout.mha.in_proj_bias", INFINITY, "holds inf at element 5"},
      {"attention", "backbone.1.seq.0.weight", 1e9f, NULL}, /* FP32 in this plan */
      {"heptv2", "backbone.0.w_k.weight", 1e9f, "weight 'backbone.0.w_k.weight' holds 1e+09"},
      {"heptv2", "backbone.0.norm1.weight", 1e9f, NULL},
      {"heptv2", "backbone.0.attn.out_linear.weight", 7e4f, "holds 70000 at element 5"},
  };
  const assay_mlpf_graph_options options = {.plan = &FORMS[0].plan};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    assay_error err = {0};
    assay_graph *graph = NULL;
    const assay_mlpf_config c = small_config(CASES[i].arch, none);
    assay_tensor_map weights = seeded(&c);
    assay_tensor_f32(assay_tensor_map_find(&weights, CASES[i].name))[5] = CASES[i].value;
    const assay_status st = assay_mlpf_graph_build(&c, &weights, &options, &graph, &err);
    assert_int_equal(st, CASES[i].text == NULL ? ASSAY_OK : ASSAY_E_UNSUPPORTED);
    if (CASES[i].text != NULL && strstr(err.text, CASES[i].text) == NULL)
      fail_msg("'%s': '%s'", CASES[i].text, err.text);
    assay_graph_destroy(graph);
    assay_tensor_map_reset(&weights);
  }
}

/* A query that no weight of its own overflows, but its projection does. */
static void a_folded_query_that_float16_cannot_hold_is_refused(void **state) {
  (void)state;
  assay_error err = {0};
  assay_graph *graph = NULL;
  const assay_mlpf_graph_options options = {.plan = &FORMS[0].plan};
  const assay_mlpf_config c = small_config("attention", none);
  assay_tensor_map weights = seeded(&c);
  assay_tensor *w = assay_tensor_map_find(&weights, "classification_readout.mha.in_proj_weight");
  for (size_t i = 0; i < 16; i++) assay_tensor_f32(w)[i] = i % 2 == 0 ? 6e4f : -6e4f;
  float *q = assay_tensor_f32(assay_tensor_map_find(&weights, "classification_query"));
  for (size_t i = 0; i < 16; i++) q[i] = i % 2 == 0 ? 1.0f : -1.0f;
  assert_int_equal(assay_mlpf_graph_build(&c, &weights, &options, &graph, &err),
                   ASSAY_E_UNSUPPORTED);
  if (strstr(err.text, "'q', made of weights, would be ") == NULL) fail_msg("'%s'", err.text);
  assay_tensor_map_reset(&weights);
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  for (size_t a = 0; a < 2; a++) {
    const assay_mlpf_config c = small_config(ARCHS[a], one_layer);
    assay_tensor_map weights = seeded(&c);
    int64_t n = 0;
    for (;; n += n < 300 ? 1 : 97) { /* each of the first, then a sample */
      assay_error err = {0};
      assay_graph *graph = NULL;
      assay_alloc_fail_after(n);
      assay_status st = assay_mlpf_graph_build(&c, &weights, &STATIC, &graph, &err);
      assay_alloc_fail_after(-1);
      assay_graph_destroy(graph);
      if (st == ASSAY_OK) break;
      if (st != ASSAY_E_MEMORY) fail_msg("allocation %lld: %s", (long long)n, err.text);
      assert_null(graph);
    }
    assert_true(n > 300);
    assay_tensor_map_reset(&weights);
  }
}

/* ---- files for the checker ---- */

/* form NULL: the default. */
static assay_status write_graph(const char *folder, const char *name, const assay_mlpf_config *c,
                                const assay_tensor_map *weights, const struct form *form,
                                assay_mlpf_graph_options options, assay_error *err) {
  assay_graph *graph = NULL;
  options.expose_permutations = true;
  if (form != NULL) options.plan = &form->plan;
  char *path =
      assay_format("%s/%s-%s%s%s.onnx", folder, name, options.static_b == 0 ? "dynamic" : "static",
                   form ? "-" : "", form ? form->name : "");
  assay_status st = path == NULL ? assay_fail_memory(err, 0)
                                 : assay_mlpf_graph_build(c, weights, &options, &graph, err);
  if (st == ASSAY_OK) st = assay_graph_save(graph, path, err);
  assay_free(path);
  assay_graph_destroy(graph);
  return st;
}

/* Dynamic and static, in the default form and the first n_forms of the others. */
static assay_status write_forms(const char *folder, const char *name, const assay_mlpf_config *c,
                                size_t n_forms, int64_t static_n, assay_error *err) {
  const assay_mlpf_graph_options fixed = {.static_b = STATIC_B, .static_n = static_n};
  assay_tensor_map weights = seeded(c);
  assay_status st = ASSAY_OK;
  for (size_t f = 0; st == ASSAY_OK && f <= n_forms; f++) {
    const struct form *form = f == 0 ? NULL : &FORMS[f - 1];
    st = write_graph(folder, name, c, &weights, form, DYNAMIC, err);
    if (st == ASSAY_OK) st = write_graph(folder, name, c, &weights, form, fixed, err);
  }
  assay_tensor_map_reset(&weights);
  return st;
}

/* Every small variant in the default form, and those that forms differ in, in every form. */
static assay_status write_variants(const char *folder, assay_error *err) {
  assay_status st = ASSAY_OK;
  for (size_t i = 0; st == ASSAY_OK && i < 2 * N_VARIANTS; i++) {
    const struct variant *v = &VARIANTS[i / 2];
    const char *arch = ARCHS[i & 1];
    if (!applies(v, arch)) continue;
    const assay_mlpf_config c = small_config(arch, v->change);
    char name[64];
    snprintf(name, sizeof name, "%s-%s", arch, v->name);
    st = write_forms(folder, name, &c, concerns_forms(v) ? N_FORMS : 0, STATIC_N, err);
  }
  return st;
}

static int64_t two_blocks(const assay_mlpf_config *c) {
  return c->arch == ASSAY_MLPF_HEPTV2 ? 2 * c->block_size : 200;
}

/* The presets, in their full size. */
static assay_status write_presets(const char *folder, assay_error *err) {
  static const char *const PRESETS[] = {"cld", "cms"};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; st == ASSAY_OK && i < 4; i++) {
    const char *arch = ARCHS[i & 1], *preset = PRESETS[i / 2];
    assay_mlpf_config c;
    char name[64];
    snprintf(name, sizeof name, "preset-%s-%s", arch, preset);
    st = assay_mlpf_config_init_preset(arch, preset, &c, err);
    if (st == ASSAY_OK) st = write_forms(folder, name, &c, N_USER_FORMS, two_blocks(&c), err);
  }
  return st;
}

/* The configuration of a training, as its users have it. */
static assay_status write_configured(const char *folder, const char *path, size_t number,
                                     assay_error *err) {
  assay_json *tree = NULL;
  assay_mlpf_config c;
  char name[64];
  snprintf(name, sizeof name, "config-%zu", number);
  assay_status st = assay_json_read(path, /*max_bytes=*/1 << 20, &tree, err);
  if (st == ASSAY_OK) st = assay_mlpf_config_parse(tree, /*arch=*/NULL, &c, err);
  if (st == ASSAY_OK) st = write_forms(folder, name, &c, N_USER_FORMS, two_blocks(&c), err);
  assay_json_destroy(tree);
  return st;
}

static int write_all(const char *folder, char **configs, size_t n_configs) {
  assay_error err = {0};
  assay_status st = write_variants(folder, &err);
  if (st == ASSAY_OK) st = write_presets(folder, &err);
  for (size_t i = 0; st == ASSAY_OK && i < n_configs; i++)
    st = write_configured(folder, configs[i], i, &err);
  if (st) fprintf(stderr, "%s\n", err.text);
  return st == ASSAY_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_variant_has_the_interface_and_operators_it_should),
      cmocka_unit_test(every_form_has_the_operators_it_should),
      cmocka_unit_test(the_presets_have_so_many_nodes),
      cmocka_unit_test(permutations_become_outputs_when_asked_for),
      cmocka_unit_test(the_configuration_is_in_the_metadata),
      cmocka_unit_test(blocks_are_named_in_the_metadata),
      cmocka_unit_test(equal_models_give_equal_files),
      cmocka_unit_test(shapes_that_cannot_be_are_refused),
      cmocka_unit_test(weights_of_another_model_are_refused),
      cmocka_unit_test(regions_that_are_no_number_of_regions_are_refused),
      cmocka_unit_test(a_weight_that_float16_cannot_hold_is_refused),
      cmocka_unit_test(a_folded_query_that_float16_cannot_hold_is_refused),
      cmocka_unit_test(running_out_of_memory_is_reported),
  };
  if (argc >= 3 && strcmp(argv[1], "--write") == 0)
    return write_all(argv[2], argv + 3, (size_t)argc - 3);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
