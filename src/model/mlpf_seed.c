/* The seeded initialisation of an MLPF model: what torch.manual_seed(seed); MLPF(config) leaves in
 * its state_dict, bit for bit, and where it leaves the generator.
 *
 * Source: models.md C.3 (distributions) and C.4 (order of draws), checked against tensors of
 * torch 1.13 and 2.14. Dimension letters as in mlpf_params.c. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/tensor.h"
#include "base/text.h"
#include "model/mlpf_params.h"
#include "model/torch_rng.h"

typedef struct seeder {
  torch_rng rng;
  const assay_mlpf_config *config;
  assay_tensor_map *weights; /* every tensor of the table, zeroed; norms' weights 1 */
} seeder;

/* The tensor "<prefix><suffix>" of the table; the draws below and the table are two lists of the
 * same names. */
static assay_tensor *find(seeder *s, const char *prefix, const char *suffix) {
  char name[128];
  snprintf(name, sizeof name, "%s%s", prefix, suffix);
  assay_tensor *tensor = assay_tensor_map_find(s->weights, name);
  assert(tensor != NULL);
  return tensor;
}

static void draw_uniform(seeder *s, const char *prefix, const char *suffix, double bound) {
  const assay_tensor *tensor = find(s, prefix, suffix);
  torch_rng_uniform(&s->rng, -bound, bound, assay_tensor_f32(tensor), tensor->n_elems);
}

/* torch's kaiming_uniform_(a=sqrt(5)), each step in double as Python takes it: about
 * 1/sqrt(fan_in). */
static double kaiming_bound(int64_t fan_in) {
  const double slope = sqrt(5.0);
  const double gain = sqrt(2.0 / (1.0 + slope * slope));
  return sqrt(3.0) * (gain / sqrt((double)fan_in));
}

/* The weight alone, [out, in] */
static void draw_matrix(seeder *s, const char *prefix, const char *suffix) {
  draw_uniform(s, prefix, suffix, kaiming_bound(find(s, prefix, suffix)->dims[1]));
}

/* "<prefix><part>.weight", then ".bias" */
static void draw_linear(seeder *s, const char *prefix, const char *part) {
  char name[96];
  snprintf(name, sizeof name, "%s%s", prefix, part);
  draw_matrix(s, name, ".weight");
  draw_uniform(s, name, ".bias", 1.0 / sqrt((double)find(s, name, ".weight")->dims[1]));
}

static void draw_mlp3(seeder *s, const char *prefix) {
  draw_linear(s, prefix, ".0");
  draw_linear(s, prefix, ".4");
}

/* The base class makes an out_proj of its own first, which is replaced: its draws are lost. */
static void draw_mha(seeder *s, const char *prefix) {
  const assay_tensor *in_proj = find(s, prefix, ".mha.in_proj_weight");
  const size_t dim = (size_t)in_proj->dims[1];
  torch_rng_discard(&s->rng, dim * dim + dim);
  const double fan = (double)(in_proj->dims[0] + in_proj->dims[1]);
  draw_uniform(s, prefix, ".mha.in_proj_weight", sqrt(3.0) * sqrt(2.0 / fan)); /* xavier_uniform_ */
  draw_linear(s, prefix, ".mha.out_proj");
}

static void draw_attention_layer(seeder *s, const char *prefix) {
  draw_mha(s, prefix);
  draw_linear(s, prefix, ".seq.0");
  draw_linear(s, prefix, ".seq.2");
}

static void draw_hash(seeder *s, const char *prefix, const char *part) {
  char name[96];
  snprintf(name, sizeof name, "%s%s", prefix, part);
  const assay_tensor *alpha = find(s, name, ".alpha"), *beta = find(s, name, ".beta");
  torch_rng_normal(&s->rng, assay_tensor_f32(alpha), alpha->n_elems);
  torch_rng_uniform(&s->rng, 0.0, 1.0, assay_tensor_f32(beta), beta->n_elems);
}

/* Region counts [NH, 2, H] along eta and phi: two draws, scaled so that their product is
 * num_regions, rounded to thirds. Drawn head by head, hash by hash. */
static void draw_regions(seeder *s, const char *prefix) {
  const assay_mlpf_config *config = s->config;
  float *regions = assay_tensor_f32(find(s, prefix, ".regions"));
  const float n_regions = (float)config->num_regions;
  const double low = 2.0, high = 2.0 * sqrt((double)config->num_regions) - 2.0;
  for (int64_t h = 0; h < config->num_heads; h++) {
    for (int64_t c = 0; c < config->n_hashes; c++) {
      float v[2];
      for (int a = 0; a < 2; a++)
        v[a] = (float)((double)torch_rng_rand(&s->rng) * (high - low) + low);
      const float product = v[0] * v[1];
      const float scale = sqrtf((1.0f / product) * n_regions);
      for (int a = 0; a < 2; a++) {
        const float scaled = scale * v[a];
        regions[(c * 2 + a) * config->num_heads + h] = nearbyintf(scaled * 3.0f) / 3.0f;
      }
    }
  }
}

static void draw_heptv2_layer(seeder *s, const char *prefix) {
  draw_linear(s, prefix, ".attn.out_linear");
  draw_hash(s, prefix, ".attn.e2lsh");
  draw_hash(s, prefix, ".attn.e2lsh_new");
  draw_matrix(s, prefix, ".w_q.weight");
  draw_matrix(s, prefix, ".w_k.weight");
  draw_matrix(s, prefix, ".w_v.weight");
  draw_linear(s, prefix, ".w_rpe");
  if (s->config->learned_positions) {
    draw_linear(s, prefix, ".pe_func.position_embedding_head.0");
    draw_linear(s, prefix, ".pe_func.position_embedding_head.3");
  }
  draw_regions(s, prefix);
  draw_matrix(s, prefix, ".ff.gate_proj.weight");
  draw_matrix(s, prefix, ".ff.up_proj.weight");
  draw_matrix(s, prefix, ".ff.down_proj.weight");
}

static void draw_stack(seeder *s, const char *name) {
  for (int64_t layer = 0; layer < s->config->num_convs; layer++) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.%lld", name, (long long)layer);
    if (s->config->arch == ASSAY_MLPF_HEPTV2)
      draw_heptv2_layer(s, prefix);
    else
      draw_attention_layer(s, prefix);
  }
}

/* trunc_normal_(std=0.02): sqrt(2)*0.02*erfinv(u) with u uniform in (-1, 1), clamped to +-2. */
static void draw_query(seeder *s, const char *name) {
  const assay_tensor *query = find(s, name, "");
  float *q = assay_tensor_f32(query);
  const float scale = (float)(0.02 * sqrt(2.0));
  torch_rng_uniform(&s->rng, -1.0, 1.0, q, query->n_elems);
  for (size_t i = 0; i < query->n_elems; i++)
    q[i] = fminf(fmaxf(torch_erfinv(q[i]) * scale + 0.0f, -2.0f), 2.0f);
}

static void draw_readout(seeder *s, const char *prefix) {
  draw_mha(s, prefix);
  draw_linear(s, prefix, ".ffn.0");
  draw_linear(s, prefix, ".ffn.2");
}

static void draw_regression(seeder *s, assay_mlpf_target target) {
  const assay_mlpf_regression mode = s->config->regression[target];
  const char *name = assay_mlpf_target_name(target);
  char prefix[64];
  if (mode == ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT) {
    for (int64_t i = 0; i < s->config->n_elemtypes; i++) {
      snprintf(prefix, sizeof prefix, "nn_%s.nn.%lld", name, (long long)i);
      draw_mlp3(s, prefix);
    }
  } else if (mode == ASSAY_MLPF_LINEAR_ELEMTYPE) {
    for (int i = 1; i <= 2; i++) {
      snprintf(prefix, sizeof prefix, "nn_%s.nn%d", name, i);
      draw_mlp3(s, prefix);
    }
  } else {
    snprintf(prefix, sizeof prefix, "nn_%s.nn", name);
    draw_mlp3(s, prefix);
  }
}

/* C.4, top to bottom. */
static void draw_all(seeder *s) {
  if (s->config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT) {
    draw_mlp3(s, "_nn0_id");
    draw_mlp3(s, "_nn0_reg");
    draw_stack(s, "_backbone_id");
    draw_stack(s, "_backbone_reg");
  } else {
    draw_mlp3(s, "nn0");
    draw_stack(s, "backbone");
  }
  if (s->config->task_queries) {
    draw_query(s, "classification_query");
    draw_query(s, "regression_query");
    draw_readout(s, "classification_readout");
    draw_readout(s, "regression_readout");
  }
  draw_mlp3(s, "nn_binary_particle");
  draw_mlp3(s, "nn_pid");
  for (int target = 0; target < ASSAY_MLPF_N_TARGETS; target++)
    draw_regression(s, (assay_mlpf_target)target);
}

/* Every tensor of the table, zeroed, and the weights of norms 1: they are the rank-1 tensors named
 * so. */
static assay_status make_tensors(const assay_mlpf_params *params, assay_tensor_map *weights,
                                 assay_error *err) {
  for (size_t i = 0; i < params->n; i++) {
    const assay_mlpf_param *param = &params->items[i];
    assay_tensor tensor = {0};
    ASSAY_TRY(assay_tensor_init(&tensor, ASSAY_DTYPE_F32, param->rank, param->dims, err));
    if (param->rank == 1 && assay_text_has_suffix(param->name, "weight"))
      for (size_t k = 0; k < tensor.n_elems; k++) assay_tensor_f32(&tensor)[k] = 1.0f;
    const assay_status st = assay_tensor_map_add(weights, param->name, &tensor, err);
    if (st) {
      assay_tensor_reset(&tensor);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status assay_mlpf_seed_weights(const assay_mlpf_config *config, uint64_t seed,
                                     assay_tensor_map *out, float *out_next_rand,
                                     assay_error *err) {
  assay_mlpf_params params = {0};
  assay_tensor_map weights = {0};
  seeder s = {.config = config, .weights = &weights};
  ASSAY_TRY(assay_mlpf_params_init(config, &params, err));
  const assay_status st = make_tensors(&params, &weights, err);
  assay_mlpf_params_reset(&params);
  if (st) {
    assay_tensor_map_reset(&weights);
    return st;
  }
  torch_rng_init(&s.rng, seed);
  draw_all(&s);
  if (out_next_rand != NULL) *out_next_rand = torch_rng_rand(&s.rng);
  assay_tensor_map_reset(out);
  *out = weights;
  return ASSAY_OK;
}
