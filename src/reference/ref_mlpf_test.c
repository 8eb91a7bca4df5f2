/* The evaluator as a whole. Its numbers against PyTorch's are checked by tests/models/gold_test.c;
 * here: the table of models.md section G, equalities between configurations that must compute the
 * same, edges of tiles and masks, threads, and refused inputs. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/mlpf_config.h"
#include "model/mlpf_params.h"
#include "reference/ref_mlpf.h"
#include "reference/test_model.h"

static assay_ref_outputs evaluate(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                  assay_dtype dtype, const event_batch *batch, int threads) {
  assay_ref_outputs out = {0};
  assay_error err = {0};
  const assay_ref_options options = {.threads = threads};
  check_ok(
      assay_ref_mlpf_run(config, weights, dtype, &batch->x, &batch->mask, &options, &out, &err),
      &err);
  return out;
}

/* Largest difference over the four heads; NaN anywhere fails. */
static void check_same(const char *what, const assay_ref_outputs *got,
                       const assay_ref_outputs *want, double tolerance) {
  for (size_t h = 0; h < 4; h++) {
    const assay_tensor *a = head(got, head_names[h]), *b = head(want, head_names[h]);
    assert_int_equal(a->n_elems, b->n_elems);
    for (size_t i = 0; i < a->n_elems; i++) {
      double left = assay_tensor_get_real(a, i), right = assay_tensor_get_real(b, i);
      double allowed = tolerance * fmax(1, fabs(right));
      if (fabs(left - right) <= allowed) continue;
      fail_msg("%s: %s[%zu]: got %.17g, expected %.17g: differs by %.3g, allowed %.3g", what,
               head_names[h], i, left, right, fabs(left - right), allowed);
    }
  }
}

/* ---- models.md section G ---- */

enum { BOTH_MASKS = -1, NO_QUERIES = 1 };

typedef struct g_row {
  const char *arch, *preset;
  int no_queries;
  int key_mask; /* assay_mlpf_key_mask, or BOTH_MASKS */
  int event, element;
  double bid[2], id[3], momentum[5];
} g_row;

static const g_row g_rows[] = {
    {"attention",
     "cld",
     0,
     BOTH_MASKS,
     0,
     0,
     {-0.04254114, -0.38335481},
     {0.19830008, -0.66421525, -0.83670161},
     {0.01285869, 0.08188853, 0.21691120, -0.28596106, -0.24627985}},
    {"attention",
     "cld",
     0,
     BOTH_MASKS,
     0,
     137,
     {-0.41745346, -0.32850089},
     {-0.01224551, -1.30747143, -0.45665098},
     {-0.02096156, -0.21680735, -0.00587949, -0.40228235, -0.16842678}},
    {"attention",
     "cld",
     0,
     ASSAY_MLPF_KEY_MASK_UPSTREAM,
     1,
     149,
     {-0.81643131, -0.20320567},
     {0.26420233, -1.57697989, 0.10700798},
     {0.19295490, 0.85042852, -0.21833661, -0.91690771, -0.42869369}},
    {"attention",
     "cld",
     0,
     ASSAY_MLPF_KEY_MASK_ALL,
     1,
     149,
     {-0.78743416, -0.12028635},
     {0.37322141, -1.47511984, -0.02833485},
     {0.28253599, 0.72785757, -0.06231233, -0.99144205, -0.41969766}},
    {"attention",
     "cld",
     NO_QUERIES,
     BOTH_MASKS,
     0,
     0,
     {-0.00621844, -0.23988362},
     {-0.14568071, -0.73153703, -0.20852956},
     {-0.57852655, 0.62926643, 0.24877629, 0.89571487, -1.11681770}},
    {"attention",
     "cld",
     NO_QUERIES,
     ASSAY_MLPF_KEY_MASK_ALL,
     1,
     149,
     {-0.37619628, 1.23356632},
     {-0.19792037, -0.61672991, 0.12417467},
     {0.42509744, -1.33525512, 0.46212080, -0.39103341, 0.18754826}},
    {"heptv2",
     "cld",
     0,
     BOTH_MASKS,
     0,
     0,
     {0.21796069, 0.16188120},
     {0.16883398, 0.62225571, 0.26598183},
     {-0.47493645, -0.95600446, 1.03122841, 0.84190794, -0.79869224}},
    {"heptv2",
     "cld",
     0,
     BOTH_MASKS,
     0,
     137,
     {0.59401517, 0.33559052},
     {0.30052315, -0.13983384, -0.11755100},
     {0.04848605, -0.87914188, 0.83560759, 0.08056377, 1.04819652}},
    {"heptv2",
     "cld",
     0,
     ASSAY_MLPF_KEY_MASK_UPSTREAM,
     1,
     149,
     {0.61432741, 0.01144877},
     {0.36973961, 0.26270914, 0.07975775},
     {0.20727891, -3.88063272, 0.14451955, -0.80692718, 3.57560484}},
    {"heptv2",
     "cld",
     0,
     ASSAY_MLPF_KEY_MASK_ALL,
     1,
     149,
     {0.89080578, 0.04054069},
     {0.65250120, 0.00783725, -0.19747789},
     {-0.10700423, -3.13891577, 0.59902395, -0.51552583, 2.58762637}},
    {"attention",
     "cms",
     0,
     BOTH_MASKS,
     0,
     0,
     {-0.10744489, 0.09098198},
     {-0.30436849, 0.21969150, -0.19404518},
     {0.10719450, 0.29121398, -0.27631039, -1.03153970, -0.22897031}},
    {"attention",
     "cms",
     0,
     ASSAY_MLPF_KEY_MASK_ALL,
     1,
     149,
     {0.75900823, -0.18282809},
     {0.14973616, 0.18278643, 0.31704922},
     {0.07305926, 1.03628317, -0.10908877, -1.66648941, -0.23961670}},
    {"heptv2",
     "cms",
     0,
     BOTH_MASKS,
     0,
     0,
     {0.08642007, -0.43767610},
     {-0.77601594, 0.32533841, 0.41485605},
     {-0.20523675, 1.97630876, -1.23412561, -0.53060443, 1.19912714}},
    {"heptv2",
     "cms",
     0,
     ASSAY_MLPF_KEY_MASK_UPSTREAM,
     1,
     149,
     {0.45900373, -0.79549138},
     {-0.34776895, 0.01015780, 0.07066328},
     {0.56749271, 0.77219670, -0.19361898, -0.75588213, 0.29260342}},
};

/* Sums of absolute values over the whole tensors of both events, same source. */
static const struct g_sum {
  const char *arch, *preset;
  int no_queries, key_mask;
  double sums[3]; /* bid, id, momentum */
} g_sums[] = {
    {"attention", "cld", 0, ASSAY_MLPF_KEY_MASK_UPSTREAM, {262.493284, 924.081369, 778.133847}},
    {"attention", "cld", 0, ASSAY_MLPF_KEY_MASK_ALL, {247.104543, 922.302778, 777.918608}},
    {"attention", "cld", NO_QUERIES, ASSAY_MLPF_KEY_MASK_ALL, {445.656670, 883.940204, 980.517277}},
    {"heptv2", "cld", 0, ASSAY_MLPF_KEY_MASK_UPSTREAM, {250.559633, 705.242725, 1126.973977}},
    {"heptv2", "cld", 0, ASSAY_MLPF_KEY_MASK_ALL, {259.227283, 709.287443, 1132.174857}},
    {"attention", "cms", 0, ASSAY_MLPF_KEY_MASK_ALL, {261.537171, 1586.909186, 1081.081701}},
    {"heptv2", "cms", 0, ASSAY_MLPF_KEY_MASK_UPSTREAM, {335.267276, 1590.320168, 1075.922960}},
};

static void check_values(const char *what, const assay_tensor *tensor, int64_t row,
                         const double *want, int64_t n, double tolerance) {
  int64_t width = tensor->dims[2];
  for (int64_t i = 0; i < n; i++) {
    double got = assay_tensor_get_real(tensor, (size_t)(row * width + i));
    if (fabs(got - want[i]) <= tolerance) continue;
    fail_msg("%s, row %lld, output %lld: got %.10f, expected %.8f", what, (long long)row,
             (long long)i, got, want[i]);
  }
}

static void check_sums(const struct g_sum *sum, const assay_ref_outputs *outputs,
                       double tolerance) {
  for (size_t h = 0; h < 3; h++) {
    const assay_tensor *tensor = head(outputs, head_names[h]);
    double total = 0;
    for (size_t i = 0; i < tensor->n_elems; i++) total += fabs(assay_tensor_get_real(tensor, i));
    if (fabs(total - sum->sums[h]) <= tolerance) continue;
    fail_msg("%s %s: sum of |%s|: got %.7f, expected %.6f", sum->arch, sum->preset, head_names[h],
             total, sum->sums[h]);
  }
}

/* One of the table's models with its weights and batch. */
typedef struct g_model {
  const char *arch, *preset;
  int no_queries;
  assay_mlpf_config config;
  assay_tensor_map weights;
  event_batch batch;
} g_model;

static bool is_of(const g_model *model, const char *arch, const char *name, int no_queries,
                  int key_mask) {
  return strcmp(arch, model->arch) == 0 && strcmp(name, model->preset) == 0 &&
         no_queries == model->no_queries &&
         (key_mask == BOTH_MASKS || key_mask == (int)model->config.key_mask);
}

/* FP64: 8 decimals, queries that differ by an ulp of FP32 from the table's, and for the strict phi
 * 1.3e-8. FP32: models.md section E gives 4e-6. A sum has 2000 terms of 1e-8. */
static void check_g(const g_model *model, assay_dtype dtype) {
  assay_ref_outputs outputs =
      evaluate(&model->config, &model->weights, dtype, &model->batch, /*threads=*/1);
  double tolerance = dtype == ASSAY_DTYPE_F64 ? 1e-7 : 5e-6;
  for (size_t i = 0; i < sizeof g_rows / sizeof g_rows[0]; i++) {
    const g_row *row = &g_rows[i];
    if (!is_of(model, row->arch, row->preset, row->no_queries, row->key_mask)) continue;
    int64_t at = row->event * 200 + row->element;
    check_values("bid", head(&outputs, "bid"), at, row->bid, 2, tolerance);
    check_values("id", head(&outputs, "id"), at, row->id, 3, tolerance);
    check_values("momentum", head(&outputs, "momentum"), at, row->momentum, 5, tolerance);
  }
  for (size_t i = 0; i < sizeof g_sums / sizeof g_sums[0]; i++) {
    const struct g_sum *sum = &g_sums[i];
    if (!is_of(model, sum->arch, sum->preset, sum->no_queries, sum->key_mask)) continue;
    check_sums(sum, &outputs, dtype == ASSAY_DTYPE_F64 ? 2e-5 : 2e-3);
  }
  assay_ref_outputs_reset(&outputs);
}

static void agrees_with_the_published_table(void **state) {
  (void)state;
  g_model models[] = {{.arch = "attention", .preset = "cld"},
                      {.arch = "attention", .preset = "cld", .no_queries = NO_QUERIES},
                      {.arch = "heptv2", .preset = "cld"},
                      {.arch = "attention", .preset = "cms"},
                      {.arch = "heptv2", .preset = "cms"}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    g_model *model = &models[i];
    model->config = preset(model->arch, model->preset);
    model->config.task_queries = !model->no_queries;
    model->weights = seeded(&model->config, 42);
    model->batch = make_batch(&model->config, 2, 200, (int64_t[]){200, 150});
    for (int mask = 0; mask < 2; mask++) {
      model->config.key_mask = mask ? ASSAY_MLPF_KEY_MASK_UPSTREAM : ASSAY_MLPF_KEY_MASK_ALL;
      model->config.phi = ASSAY_MLPF_PHI_NATIVE; /* attention has no use for phi */
      check_g(model, ASSAY_DTYPE_F64);
      model->config.phi = ASSAY_MLPF_PHI_STRICT;
      if (model->arch[0] == 'h') check_g(model, ASSAY_DTYPE_F64);
      check_g(model, ASSAY_DTYPE_F32);
    }
    free_batch(&model->batch);
    assay_tensor_map_reset(&model->weights);
  }
}

/* ---- configurations that must compute the same ---- */

/* Adds `from`'s tensor under another name, reshaped by taking rows [first, first + rows) where rows
 * > 0. */
static void add_as(assay_tensor_map *map, const char *name, const assay_tensor *from, int64_t first,
                   int64_t rows) {
  assay_error err = {0};
  assay_tensor copy = {0};
  int64_t dims[2] = {rows > 0 ? rows : from->dims[0], from->rank > 1 ? from->dims[1] : 1};
  if (rows > 0) {
    check_ok(assay_tensor_init(&copy, ASSAY_DTYPE_F32, from->rank, dims, &err), &err);
    memcpy(copy.data, (const float *)from->data + first * dims[1], copy.size_bytes);
  } else {
    check_ok(assay_tensor_copy(&copy, from, &err), &err);
  }
  check_ok(assay_tensor_map_add(map, name, &copy, &err), &err);
}

/* A copy of the map in which names starting with `from` start with `to` instead. */
static void add_renamed(assay_tensor_map *map, const assay_tensor_map *weights, const char *from,
                        const char *to) {
  for (size_t i = 0; i < weights->n; i++) {
    char name[256];
    const char *old = weights->items[i].name;
    if (strncmp(old, from, strlen(from)) != 0) continue;
    snprintf(name, sizeof name, "%s%s", to, old + strlen(from));
    if (assay_tensor_map_find(map, name) == NULL) {
      add_as(map, name, &weights->items[i].tensor, 0, 0);
    }
  }
}

static void compare(const char *what, const assay_mlpf_config *a, const assay_tensor_map *a_weights,
                    const assay_mlpf_config *b, const assay_tensor_map *b_weights,
                    const event_batch *batch, double tolerance) {
  assay_ref_outputs left = evaluate(a, a_weights, ASSAY_DTYPE_F64, batch, /*threads=*/1);
  assay_ref_outputs right = evaluate(b, b_weights, ASSAY_DTYPE_F64, batch, /*threads=*/1);
  check_same(what, &left, &right, tolerance);
  assay_ref_outputs_reset(&left);
  assay_ref_outputs_reset(&right);
}

static const char *const archs[] = {"attention", "heptv2"};

static void a_split_backbone_of_equal_halves_is_a_shared_one(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    assay_mlpf_config shared = small(archs[i]), split;
    assay_tensor_map weights = seeded(&shared, 1), halves = {0};
    split = shared;
    split.backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
    add_renamed(&halves, &weights, "nn0.", "_nn0_id.");
    add_renamed(&halves, &weights, "nn0.", "_nn0_reg.");
    add_renamed(&halves, &weights, "backbone.", "_backbone_id.");
    add_renamed(&halves, &weights, "backbone.", "_backbone_reg.");
    add_renamed(&halves, &weights, "", "");
    event_batch batch = make_batch(&shared, 2, 60, (int64_t[]){60, 31});
    compare("split", &split, &halves, &shared, &weights, &batch, 0);
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
    assay_tensor_map_reset(&halves);
  }
}

/* With one element type there is nothing to select; products of other shapes may round otherwise.
 */
static void a_split_encoding_of_one_type_is_a_joint_one(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    assay_mlpf_config joint = small(archs[i]), split;
    joint.n_elemtypes = 1;
    joint.input_encoding = ASSAY_MLPF_JOINT;
    split = joint;
    split.input_encoding = ASSAY_MLPF_SPLIT;
    assay_tensor_map weights = seeded(&joint, 1);
    event_batch batch = make_batch(&joint, 2, 60, (int64_t[]){60, 31});
    compare("encoding", &split, &weights, &joint, &weights, &batch, 1e-14);
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

static void concat_of_one_layer_is_the_last_one(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    for (int64_t layers = 0; layers < 2; layers++) {
      assay_mlpf_config last = small(archs[i]), concat;
      last.num_convs = layers;
      last.task_queries = true;
      assay_tensor_map weights = seeded(&last, 1);
      concat = last;
      concat.representation = ASSAY_MLPF_CONCAT;
      event_batch batch = make_batch(&last, 2, 60, (int64_t[]){60, 31});
      compare("concat", &concat, &weights, &last, &weights, &batch, 0);
      free_batch(&batch);
      assay_tensor_map_reset(&weights);
    }
  }
}

/* Heads that ignore the first layer's half see what heads of the last layer see. */
static void concat_puts_the_layers_in_order(void **state) {
  (void)state;
  assay_mlpf_config last = small("heptv2"), concat;
  assay_tensor_map weights = seeded(&last, 1), wider = {0};
  assay_error err = {0};
  concat = last;
  concat.representation = ASSAY_MLPF_CONCAT;
  int64_t e = last.embedding_dim;
  for (size_t i = 0; i < weights.n; i++) {
    const char *name = weights.items[i].name;
    const assay_tensor *tensor = &weights.items[i].tensor;
    bool head_input = strncmp(name, "nn_", 3) == 0 && strlen(name) > 9 &&
                      strcmp(name + strlen(name) - 9, ".0.weight") == 0 && tensor->rank == 2;
    if (!head_input || tensor->dims[1] != e) continue;
    assay_tensor wide = {0};
    int64_t rows = tensor->dims[0];
    check_ok(assay_tensor_init(&wide, ASSAY_DTYPE_F32, 2, (int64_t[]){rows, 2 * e}, &err), &err);
    for (int64_t r = 0; r < rows; r++) {
      memcpy((float *)wide.data + r * 2 * e + e, (const float *)tensor->data + r * e,
             (size_t)e * sizeof(float));
    }
    check_ok(assay_tensor_map_add(&wider, name, &wide, &err), &err);
  }
  add_renamed(&wider, &weights, "", "");
  event_batch batch = make_batch(&last, 1, 60, (int64_t[]){50});
  compare("concat", &concat, &wider, &last, &weights, &batch, 1e-13);
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
  assay_tensor_map_reset(&wider);
}

/* pt of each mode from the outputs of simpler ones on the same networks: table (35) of models.md.
 * The head has T = 2 outputs; `direct` on one row of it gives that output. */
static void regression_modes_follow_their_table(void **state) {
  (void)state;
  assay_mlpf_config base = small("attention"), c;
  base.regression[ASSAY_MLPF_PT] = ASSAY_MLPF_LINEAR_ELEMTYPE;
  assay_tensor_map weights = seeded(&base, 3); /* nn_pt.nn1 and nn_pt.nn2, each to T */
  event_batch batch = make_batch(&base, 1, 50, (int64_t[]){45});
  enum { N = 50, T = 2 };
  double z[2][T][N], got[7][N]; /* networks nn1 and nn2, outputs, rows; values by mode */
  for (int part = 0; part < 2; part++) {
    for (int type = 0; type < T; type++) {
      assay_tensor_map one = {0};
      const char *from = part ? "nn_pt.nn2." : "nn_pt.nn1.";
      char name[64];
      for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%s4.%s", from, k ? "bias" : "weight");
        const assay_tensor *rows = assay_tensor_map_find(&weights, name);
        add_as(&one, k ? "nn_pt.nn.4.bias" : "nn_pt.nn.4.weight", rows, type, 1);
      }
      add_renamed(&one, &weights, from, "nn_pt.nn.");
      add_renamed(&one, &weights, "", "");
      c = base;
      c.regression[ASSAY_MLPF_PT] = ASSAY_MLPF_DIRECT;
      assay_ref_outputs out = evaluate(&c, &one, ASSAY_DTYPE_F64, &batch, /*threads=*/1);
      for (int i = 0; i < N; i++)
        z[part][type][i] = assay_tensor_f64(head(&out, "momentum"))[i * 5];
      assay_ref_outputs_reset(&out);
      assay_tensor_map_reset(&one);
    }
  }
  for (int mode = 0; mode < 7; mode++) {
    assay_tensor_map map = {0};
    bool one_output = mode == ASSAY_MLPF_DIRECT || mode == ASSAY_MLPF_ADDITIVE ||
                      mode == ASSAY_MLPF_MULTIPLICATIVE;
    for (int k = 0; k < 2; k++) {
      const char *last = k ? "bias" : "weight";
      char name[64];
      snprintf(name, sizeof name, "nn_pt.nn1.4.%s", last);
      const assay_tensor *rows = assay_tensor_map_find(&weights, name);
      snprintf(name, sizeof name, "nn_pt.nn.4.%s", last);
      if (one_output) add_as(&map, name, rows, 0, 1);
      for (int type = 0; type < T; type++) { /* direct-elemtype-split: output `type` of nn1 */
        snprintf(name, sizeof name, "nn_pt.nn.%d.4.%s", type, last);
        add_as(&map, name, rows, type, 1);
      }
    }
    add_renamed(&map, &weights, "nn_pt.nn1.", "nn_pt.nn.");
    add_renamed(&map, &weights, "nn_pt.nn1.", "nn_pt.nn.0.");
    add_renamed(&map, &weights, "nn_pt.nn1.", "nn_pt.nn.1.");
    add_renamed(&map, &weights, "", "");
    c = base;
    c.regression[ASSAY_MLPF_PT] = (assay_mlpf_regression)mode;
    assay_ref_outputs out = evaluate(&c, &map, ASSAY_DTYPE_F64, &batch, /*threads=*/1);
    for (int i = 0; i < N; i++) got[mode][i] = assay_tensor_f64(head(&out, "momentum"))[i * 5];
    assay_ref_outputs_reset(&out);
    assay_tensor_map_reset(&map);
  }
  for (int i = 0; i < N; i++) {
    const float *x = assay_tensor_f32(&batch.x) + i * base.input_dim;
    bool valid = assay_tensor_f32(&batch.mask)[i] > 0;
    int type = x[0] == (float)base.elemtypes[0] ? 0 : 1;
    double o = (double)x[1];
    const double expected[7] = {
        [ASSAY_MLPF_DIRECT] = z[0][0][i],
        [ASSAY_MLPF_ADDITIVE] = o + z[0][0][i],
        [ASSAY_MLPF_MULTIPLICATIVE] = o * z[0][0][i],
        [ASSAY_MLPF_DIRECT_ELEMTYPE] = z[0][type][i],
        [ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT] = z[0][type][i],
        [ASSAY_MLPF_LINEAR] = o * z[0][0][i] + z[0][1][i],
        [ASSAY_MLPF_LINEAR_ELEMTYPE] = o * z[0][type][i] + z[1][type][i],
    };
    for (int mode = 0; mode < 7; mode++) {
      double want = valid ? expected[mode] : 0;
      if (fabs(got[mode][i] - want) <= 1e-13 * fmax(1, fabs(want))) continue;
      fail_msg("%s, row %d: got %.17g, expected %.17g",
               assay_mlpf_regression_name((assay_mlpf_regression)mode), i, got[mode][i], want);
    }
  }
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

/* Nothing here exceeds 6, so ReLU and ReLU6 agree. */
static void every_activation_reaches_the_outputs(void **state) {
  (void)state;
  double first[5];
  for (int act = 0; act < 5; act++) {
    assay_mlpf_config config = small("heptv2");
    config.activation = (assay_mlpf_activation)act;
    assay_tensor_map weights = seeded(&config, 1);
    event_batch batch = make_batch(&config, 1, 20, (int64_t[]){20});
    assay_ref_outputs out = evaluate(&config, &weights, ASSAY_DTYPE_F64, &batch, /*threads=*/1);
    first[act] = assay_tensor_get_real(head(&out, "bid"), 0);
    for (int other = 0; other < act; other++) {
      bool alike = act == ASSAY_MLPF_RELU6 && other == ASSAY_MLPF_RELU;
      assert_true((first[act] == first[other]) == alike);
    }
    assay_ref_outputs_reset(&out);
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

/* ---- masks, edges, threads ---- */

static void check_padding_is_positive_zero(const assay_ref_outputs *out, const event_batch *batch) {
  for (size_t h = 0; h < 4; h++) {
    const assay_tensor *tensor = head(out, head_names[h]);
    int64_t width = tensor->dims[2];
    for (size_t i = 0; i < tensor->n_elems; i++) {
      double value = assay_tensor_get_real(tensor, i);
      assert_true(isfinite(value));
      if (assay_tensor_f32(&batch->mask)[(int64_t)i / width] > 0) continue;
      assert_true(value == 0 && !signbit(value));
    }
  }
}

/* Event 0 has holes, event 1 is empty. */
static event_batch make_holes(const assay_mlpf_config *config, int64_t n) {
  event_batch batch = make_batch(config, 2, n, (int64_t[]){n, 0});
  for (int64_t i = 0; i < n; i += 3) {
    memset(assay_tensor_f32(&batch.x) + i * config->input_dim, 0,
           (size_t)config->input_dim * sizeof(float));
    assay_tensor_f32(&batch.mask)[i] = 0.0F;
  }
  return batch;
}

static void what_stands_in_masked_rows_changes_nothing(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    assay_mlpf_config config = small(archs[i / 2]);
    config.task_queries = true;
    config.key_mask = i % 2 ? ASSAY_MLPF_KEY_MASK_ALL : ASSAY_MLPF_KEY_MASK_UPSTREAM;
    assay_tensor_map weights = seeded(&config, 5);
    event_batch clean = make_holes(&config, 60), dirty = make_holes(&config, 60);
    const float garbage[] = {NAN, -0.0F, INFINITY, 1e30F, -1.0F};
    for (size_t k = 0; k < dirty.x.n_elems; k++) {
      bool valid = assay_tensor_f32(&dirty.mask)[(int64_t)k / config.input_dim] > 0;
      if (!valid) assay_tensor_f32(&dirty.x)[k] = garbage[k % 5];
    }
    for (int bits = 0; bits < 2; bits++) {
      assay_dtype dtype = bits ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
      assay_ref_outputs a = evaluate(&config, &weights, dtype, &clean, /*threads=*/1);
      assay_ref_outputs b = evaluate(&config, &weights, dtype, &dirty, /*threads=*/1);
      check_padding_is_positive_zero(&a, &clean);
      check_same("garbage at padding", &b, &a, 0);
      assay_ref_outputs_reset(&a);
      assay_ref_outputs_reset(&b);
    }
    free_batch(&clean);
    free_batch(&dirty);
    assay_tensor_map_reset(&weights);
  }
}

/* Attention with all keys masked does not see how much padding there is (models.md B.4, M1). */
static void masked_attention_does_not_depend_on_padding(void **state) {
  (void)state;
  assay_mlpf_config config = small("attention");
  config.task_queries = true;
  config.key_mask = ASSAY_MLPF_KEY_MASK_ALL;
  assay_tensor_map weights = seeded(&config, 5);
  event_batch tight = make_batch(&config, 1, 40, (int64_t[]){40});
  event_batch padded = make_batch(&config, 1, 333, (int64_t[]){40});
  assay_ref_outputs a = evaluate(&config, &weights, ASSAY_DTYPE_F64, &tight, /*threads=*/1);
  assay_ref_outputs b = evaluate(&config, &weights, ASSAY_DTYPE_F64, &padded, /*threads=*/1);
  for (size_t h = 0; h < 3; h++) {
    const assay_tensor *left = head(&a, head_names[h]), *right = head(&b, head_names[h]);
    for (size_t i = 0; i < left->n_elems; i++) {
      assert_true(fabs(assay_tensor_f64(left)[i] - assay_tensor_f64(right)[i]) <= 1e-13);
    }
  }
  assay_ref_outputs_reset(&a);
  assay_ref_outputs_reset(&b);
  free_batch(&tight);
  free_batch(&padded);
  assay_tensor_map_reset(&weights);
}

/* 1, around the panels of 16 keys and the blocks of 64 and 256, around the tile of 256 rows. FP32
 * within 2e-5 of FP64: models.md section E gives 4e-6 for values of order one. */
static void any_number_of_elements_will_do(void **state) {
  (void)state;
  const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 513};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    for (int k = 0; k < 2; k++) {
      assay_mlpf_config config = small(archs[k]);
      config.task_queries = true;
      config.block_size = lengths[i] % 64 == 0 ? 64 : lengths[i];
      assay_tensor_map weights = seeded(&config, 5);
      event_batch batch = make_batch(&config, 1, lengths[i], &lengths[i]);
      assay_ref_outputs a = evaluate(&config, &weights, ASSAY_DTYPE_F32, &batch, /*threads=*/1);
      assay_ref_outputs b = evaluate(&config, &weights, ASSAY_DTYPE_F64, &batch, /*threads=*/1);
      check_same("FP32 and FP64", &a, &b, 2e-5);
      assay_ref_outputs_reset(&a);
      assay_ref_outputs_reset(&b);
      free_batch(&batch);
      assay_tensor_map_reset(&weights);
    }
  }
}

static void heads_of_any_size_will_do(void **state) {
  (void)state;
  const int64_t sizes[][2] = {{1, 24}, {3, 5}, {8, 4}, {2, 40}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int k = 0; k < 2; k++) {
      assay_mlpf_config config = small(archs[k]);
      config.num_heads = sizes[i][0];
      config.head_dim = sizes[i][1];
      config.embedding_dim = config.num_heads * config.head_dim;
      config.task_queries = true;
      config.learned_positions = i % 2 == 0;
      config.use_pre_layernorm = i % 2 == 0;
      assay_tensor_map weights = seeded(&config, 5);
      event_batch batch = make_batch(&config, 1, 60, (int64_t[]){55});
      assay_ref_outputs a = evaluate(&config, &weights, ASSAY_DTYPE_F32, &batch, /*threads=*/1);
      assay_ref_outputs b = evaluate(&config, &weights, ASSAY_DTYPE_F64, &batch, /*threads=*/1);
      check_same("FP32 and FP64", &a, &b, 2e-5);
      assay_ref_outputs_reset(&a);
      assay_ref_outputs_reset(&b);
      free_batch(&batch);
      assay_tensor_map_reset(&weights);
    }
  }
}

static void the_number_of_threads_changes_no_bit(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    assay_mlpf_config config = small(archs[k]);
    config.task_queries = true;
    config.backbone_mode = ASSAY_MLPF_BACKBONE_SHARED;
    assay_tensor_map weights = seeded(&config, 5);
    event_batch batch = make_batch(&config, 2, 600, (int64_t[]){600, 411});
    for (int bits = 0; bits < 2; bits++) {
      assay_dtype dtype = bits ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
      assay_ref_outputs one = evaluate(&config, &weights, dtype, &batch, /*threads=*/1);
      for (int threads = 2; threads <= 3; threads++) {
        assay_ref_outputs more = evaluate(&config, &weights, dtype, &batch, threads);
        for (size_t h = 0; h < 4; h++) {
          const assay_tensor *a = head(&one, head_names[h]), *b = head(&more, head_names[h]);
          assert_memory_equal(a->data, b->data, a->size_bytes);
        }
        assert_int_equal(one.perm.size_bytes, more.perm.size_bytes);
        if (one.perm.size_bytes > 0) {
          assert_memory_equal(one.perm.data, more.perm.data, one.perm.size_bytes);
        }
        assert_memory_equal(&one.margins, &more.margins, sizeof one.margins);
        assay_ref_outputs_reset(&more);
      }
      assay_ref_outputs_reset(&one);
    }
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

/* Every permutation is one, and buckets are those of the keys: both precisions hash alike. */
static void permutations_are_the_same_in_both_precisions(void **state) {
  (void)state;
  assay_mlpf_config config = small("heptv2");
  config.backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
  assay_tensor_map weights = seeded(&config, 9);
  event_batch batch = make_batch(&config, 2, 100, (int64_t[]){100, 70});
  assay_ref_outputs a = evaluate(&config, &weights, ASSAY_DTYPE_F32, &batch, /*threads=*/1);
  assay_ref_outputs b = evaluate(&config, &weights, ASSAY_DTYPE_F64, &batch, /*threads=*/2);
  const int64_t dims[] = {4, config.n_hashes, config.num_heads, 2, 100};
  assert_int_equal(a.perm.rank, 5);
  assert_int_equal(a.perm.dtype, ASSAY_DTYPE_I32);
  for (int i = 0; i < 5; i++) assert_int_equal(a.perm.dims[i], dims[i]);
  assert_memory_equal(a.perm.data, b.perm.data, a.perm.size_bytes);
  const int32_t *perm = a.perm.data;
  for (size_t row = 0; row < a.perm.n_elems / 100; row++, perm += 100) {
    int seen[100] = {0};
    int64_t n_valid = row % 2 == 0 ? 100 : 70;
    for (int i = 0; i < 100; i++) {
      assert_in_range(perm[i], 0, 99);
      assert_int_equal(seen[perm[i]]++, 0);
      if (i >= n_valid) assert_int_equal(perm[i], i); /* padding last, in order */
    }
  }
  assert_true(a.margins.present);
  assert_true(a.margins.key_ulp < INT64_MAX);
  assert_in_range(a.margins.key_layer, 0, 3);
  assay_ref_outputs_reset(&a);
  assay_ref_outputs_reset(&b);
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

static void attention_has_no_permutations_and_no_margins(void **state) {
  (void)state;
  assay_mlpf_config config = small("attention");
  assay_tensor_map weights = seeded(&config, 9);
  event_batch batch = make_batch(&config, 1, 20, (int64_t[]){20});
  assay_ref_outputs out = evaluate(&config, &weights, ASSAY_DTYPE_F32, &batch, /*threads=*/0);
  assert_false(out.margins.present);
  assert_int_equal(out.margins.key_ulp, INT64_MAX);
  assert_int_equal(out.perm.dtype, ASSAY_DTYPE_NONE);
  assay_ref_outputs_reset(&out);
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

/* ---- refusals ---- */

static void check_refused(const assay_mlpf_config *config, const assay_tensor_map *weights,
                          assay_dtype dtype, const event_batch *batch, const char *part) {
  assay_error err = {0};
  assay_ref_outputs out = {0};
  assay_status st =
      assay_ref_mlpf_run(config, weights, dtype, &batch->x, &batch->mask, NULL, &out, &err);
  assert_int_equal(st, ASSAY_E_ARGUMENT);
  if (strstr(err.text, part) == NULL) fail_msg("expected '%s' in: %s", part, err.text);
  assert_int_equal(out.heads.n, 0);
}

static void refuses_inputs_by_name_and_index(void **state) {
  (void)state;
  assay_mlpf_config config = small("heptv2");
  assay_tensor_map weights = seeded(&config, 1);
  const int64_t valid[] = {40, 13};
  event_batch batch = make_batch(&config, 2, 40, valid), other;
  float *x = assay_tensor_f32(&batch.x), *mask = assay_tensor_f32(&batch.mask);
  const float bad_masks[] = {0.5F, -1.0F, 2.0F, NAN, INFINITY};
  for (size_t i = 0; i < 5; i++) {
    mask[40 + 2] = bad_masks[i];
    check_refused(&config, &weights, ASSAY_DTYPE_F32, &batch, "at [1,2]");
  }
  mask[40 + 2] = 1.0F;
  const float bad_features[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 3; i++) {
    float *at = x + 7 * config.input_dim + 3, kept = *at;
    *at = bad_features[i];
    check_refused(&config, &weights, ASSAY_DTYPE_F64, &batch, "at [0,7,3]");
    *at = kept;
  }
  check_refused(&config, &weights, ASSAY_DTYPE_F16, &batch, "float16");

  other = make_batch(&config, 1, 41, valid);
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &other, "multiple of the block size 20");
  free_batch(&other);

  other = (event_batch){.x = batch.mask, .mask = batch.mask};
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &other, "expected float32 [B,N,17]");
  other = (event_batch){.x = batch.x, .mask = batch.x};
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &other, "expected float32 [2,40]");
  other = batch;
  other.x.dtype = ASSAY_DTYPE_I32;
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &other, "found int32");
  other = batch;
  other.x.dims[0] = 0;
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &other, "at least one event");
  assay_mlpf_config wrong = config;
  wrong.num_heads = 7; /* does not divide E */
  wrong.head_dim = 0;
  assay_error err = {0};
  assay_ref_outputs out = {0};
  assert_int_not_equal(assay_ref_mlpf_run(&wrong, &weights, ASSAY_DTYPE_F32, &batch.x, &batch.mask,
                                          NULL, &out, &err),
                       ASSAY_OK);
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

static void refuses_weights_by_name(void **state) {
  (void)state;
  assay_mlpf_config config = small("heptv2"), deeper;
  assay_tensor_map weights = seeded(&config, 1);
  event_batch batch = make_batch(&config, 1, 20, (int64_t[]){20});
  deeper = config;
  deeper.num_convs = 3;
  check_refused(&deeper, &weights, ASSAY_DTYPE_F32, &batch, "'backbone.2.");
  assay_mlpf_config more_classes = config;
  more_classes.num_classes = 7;
  check_refused(&more_classes, &weights, ASSAY_DTYPE_F64, &batch,
                "'nn_pid.4.weight': expected float32 [7,48], found float32 [6,48]");
  float *regions = assay_tensor_f32(assay_tensor_map_find(&weights, "backbone.1.regions"));
  const float bad[] = {0.0F, -1.0F, NAN, INFINITY};
  for (size_t i = 0; i < 4; i++) {
    float kept = regions[5];
    regions[5] = bad[i];
    check_refused(&config, &weights, ASSAY_DTYPE_F32, &batch, "'backbone.1.regions' element 5");
    regions[5] = kept;
  }
  assay_tensor_f32(assay_tensor_map_find(&weights, "backbone.0.attn.e2lsh_new.alpha"))[2] = NAN;
  check_refused(&config, &weights, ASSAY_DTYPE_F32, &batch, "element 2: expected a finite value");
  free_batch(&batch);
  assay_tensor_map_reset(&weights);
}

static void reports_memory_running_out_at_each_allocation(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    assay_mlpf_config config = small(archs[k]);
    config.task_queries = true;
    config.representation = ASSAY_MLPF_CONCAT;
    assay_tensor_map weights = seeded(&config, 1);
    event_batch batch = make_batch(&config, 1, 20, (int64_t[]){20});
    assay_status st = ASSAY_E_MEMORY;
    int64_t n = 0;
    for (; st != ASSAY_OK && n < 10000; n++) {
      assay_error err = {0};
      assay_ref_outputs out = {0};
      assay_alloc_fail_after(n);
      st = assay_ref_mlpf_run(&config, &weights, ASSAY_DTYPE_F64, &batch.x, &batch.mask, NULL, &out,
                              &err);
      assay_alloc_fail_after(-1);
      if (st) assert_int_equal(st, ASSAY_E_MEMORY);
      assay_ref_outputs_reset(&out);
    }
    assert_int_equal(st, ASSAY_OK);
    assert_true(n > 20);
    free_batch(&batch);
    assay_tensor_map_reset(&weights);
  }
}

static void describes_what_runs_underneath(void **state) {
  (void)state;
  char text[128];
  assay_ref_describe(text, sizeof text);
  assert_true(strlen(text) > 5);
  assert_non_null(strchr(text, ','));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_the_published_table),
      cmocka_unit_test(a_split_backbone_of_equal_halves_is_a_shared_one),
      cmocka_unit_test(a_split_encoding_of_one_type_is_a_joint_one),
      cmocka_unit_test(concat_of_one_layer_is_the_last_one),
      cmocka_unit_test(concat_puts_the_layers_in_order),
      cmocka_unit_test(regression_modes_follow_their_table),
      cmocka_unit_test(every_activation_reaches_the_outputs),
      cmocka_unit_test(what_stands_in_masked_rows_changes_nothing),
      cmocka_unit_test(masked_attention_does_not_depend_on_padding),
      cmocka_unit_test(any_number_of_elements_will_do),
      cmocka_unit_test(heads_of_any_size_will_do),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
      cmocka_unit_test(permutations_are_the_same_in_both_precisions),
      cmocka_unit_test(attention_has_no_permutations_and_no_margins),
      cmocka_unit_test(refuses_inputs_by_name_and_index),
      cmocka_unit_test(refuses_weights_by_name),
      cmocka_unit_test(reports_memory_running_out_at_each_allocation),
      cmocka_unit_test(describes_what_runs_underneath),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
