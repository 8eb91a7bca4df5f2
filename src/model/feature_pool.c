/* Rows that look like detector elements, without a data set: what they imitate is said at each
 * recipe.
 *
 * Columns (models.md A.2): 0 element type, 1 pt, 2 eta, 3 sin phi, 4 cos phi, 5 energy, 6… others.
 * Element types: CMS 1 track, 4 ECAL, 5 HCAL, 6 GSF track, 8 HF electromagnetic, 9 HF hadronic, 10
 * supercluster, 11 HO; CLD and CLIC 1 track, 2 cluster (ELEM_TYPES of mlpf/conf.py and CMSSW's
 * PFBlockElement.h). */
#include "model/feature_pool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* --- random numbers
 * ---------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood 2014), started at 1: small, and the same everywhere. */
typedef struct splitmix {
  uint64_t state;
} splitmix;

static uint64_t next_bits(splitmix *rng) {
  uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* [0, 1), 53 bits */
static double next_unit(splitmix *rng) {
  return (double)(next_bits(rng) >> 11) * 0x1p-53;
}

/* [-1, 1) */
static double next_symmetric(splitmix *rng) {
  return 2.0 * next_unit(rng) - 1.0;
}

/* --- recipes
 * ----------------------------------------------------------------------------------------- */

typedef struct element_recipe {
  int64_t type;
  double fraction;          /* of all elements, before normalisation */
  double eta_low, eta_high; /* |eta| */
  double pt_low;            /* GeV, where the spectrum starts */
  double mass;              /* GeV */
} element_recipe;

/* Shares and acceptances of a ttbar event with pile-up, roughly. */
static const element_recipe CMS_ELEMENTS[] = {
    {1, 0.42, 0.0, 2.5, 0.5, 0.13957}, {4, 0.24, 0.0, 3.0, 0.3, 0.0},
    {5, 0.12, 0.0, 3.0, 0.8, 0.13957}, {6, 0.02, 0.0, 2.5, 2.0, 0.000511},
    {8, 0.08, 3.0, 5.0, 0.4, 0.0},     {9, 0.07, 3.0, 5.0, 0.5, 0.13957},
    {10, 0.03, 0.0, 3.0, 2.0, 0.0},    {11, 0.02, 0.0, 1.3, 1.0, 0.13957}};

static const element_recipe LEPTON_COLLIDER_ELEMENTS[] = {{1, 0.45, 0.0, 2.9, 0.3, 0.13957},
                                                          {2, 0.55, 0.0, 3.5, 0.2, 0.0}};

/* A type that neither table knows. */
static const element_recipe OTHER_ELEMENT = {0, 0.1, 0.0, 3.0, 0.5, 0.13957};

static element_recipe recipe_of(const assay_mlpf_config *config, int64_t type) {
  const bool cms = config->n_elemtypes > 2;
  const element_recipe *table = cms ? CMS_ELEMENTS : LEPTON_COLLIDER_ELEMENTS;
  const size_t n = cms ? N_OF(CMS_ELEMENTS) : N_OF(LEPTON_COLLIDER_ELEMENTS);
  for (size_t i = 0; i < n; i++)
    if (table[i].type == type) return table[i];
  element_recipe other = OTHER_ELEMENT;
  other.type = type;
  return other;
}

static element_recipe draw_recipe(splitmix *rng, const assay_mlpf_config *config) {
  double total = 0.0;
  for (int64_t t = 0; t < config->n_elemtypes; t++)
    total += recipe_of(config, config->elemtypes[t]).fraction;
  double u = next_unit(rng) * total;
  for (int64_t t = 0; t + 1 < config->n_elemtypes; t++) {
    const element_recipe recipe = recipe_of(config, config->elemtypes[t]);
    if (u < recipe.fraction) return recipe;
    u -= recipe.fraction;
  }
  return recipe_of(config, config->elemtypes[config->n_elemtypes - 1]);
}

/* exp(x), |x| <= 6, by its series at x/16 and four squarings: relative error below 1e-14, and the
 * same bits everywhere. */
static double exp_small(double x) {
  const double y = x / 16.0;
  double sum = 1.0;
  for (int k = 16; k >= 1; k--) sum = 1.0 + sum * y / k;
  for (int i = 0; i < 4; i++) sum *= sum;
  return sum;
}

/* dN/dpt ~ pt^(-7/3) above low: pt = low * v^(-3/4) with v uniform, by square roots alone. */
static double draw_pt(splitmix *rng, double low, double high) {
  for (;;) {
    const double v = 1.0 - next_unit(rng), root = sqrt(v);
    const double pt = low / (root * sqrt(root));
    if (pt <= high) return pt;
  }
}

/* A direction uniform in phi, from a point in the unit disc. */
static void draw_direction(splitmix *rng, double *out_sin, double *out_cos) {
  double x, y, r2;
  do {
    x = next_symmetric(rng);
    y = next_symmetric(rng);
    r2 = x * x + y * y;
  } while (r2 >= 1.0 || r2 < 0.01);
  const double r = sqrt(r2);
  *out_sin = y / r;
  *out_cos = x / r;
}

/* Columns 6 and on: most are small, of either sign in even columns and not negative in odd ones; a
 * quarter of them do not exist for an element type and are exactly 0 for all its elements, as in
 * real tables. */
static float draw_other(splitmix *rng, int64_t type, int64_t column) {
  const double u = next_symmetric(rng);
  splitmix exists = {(uint64_t)type * 1009 + (uint64_t)column};
  if (next_bits(&exists) % 4 == 0) return 0.0f;
  const double value = 2.0 * u * u * u;
  return (float)(column % 2 ? fabs(value) : value);
}

static void draw_row(splitmix *rng, const assay_mlpf_config *config, float *row) {
  const element_recipe recipe = draw_recipe(rng, config);
  const double size = recipe.eta_low + (recipe.eta_high - recipe.eta_low) * next_unit(rng);
  const double eta = next_bits(rng) >> 63 ? -size : size;
  const double growth = exp_small(size), cosh_eta = 0.5 * (growth + 1.0 / growth);
  const double limit = 500.0 / cosh_eta;
  const double pt = draw_pt(rng, recipe.pt_low, limit < 300.0 ? limit : 300.0);
  const double p = pt * cosh_eta;
  double sine, cosine;
  draw_direction(rng, &sine, &cosine);
  row[0] = (float)recipe.type;
  row[1] = (float)pt;
  row[2] = (float)eta;
  row[3] = (float)sine;
  row[4] = (float)cosine;
  row[5] = (float)sqrt(p * p + recipe.mass * recipe.mass);
  for (int64_t f = 6; f < config->input_dim; f++) row[f] = draw_other(rng, recipe.type, f);
}

assay_status assay_feature_pool_init_builtin(const assay_mlpf_config *config,
                                             assay_feature_pool *out, assay_error *err) {
  assay_feature_pool pool = {0};
  const int64_t dims[] = {ASSAY_POOL_BUILTIN_ROWS, config->input_dim};
  ASSAY_TRY(assay_tensor_init(&pool.rows, ASSAY_DTYPE_F32, 2, dims, err));
  splitmix rng = {1};
  for (int64_t i = 0; i < dims[0]; i++)
    draw_row(&rng, config, assay_tensor_f32(&pool.rows) + i * config->input_dim);
  snprintf(pool.source, sizeof pool.source,
           "pool 'builtin': %d synthetic rows that look like detector elements (SplitMix64 from 1)",
           ASSAY_POOL_BUILTIN_ROWS);
  const assay_status st =
      assay_sha256_bytes(pool.rows.data, pool.rows.size_bytes, pool.sha256, err);
  if (st) {
    assay_feature_pool_reset(&pool);
    return st;
  }
  *out = pool;
  return ASSAY_OK;
}

/* --- rows of a file
 * ---------------------------------------------------------------------------------- */

static assay_status check_rows(const assay_mlpf_config *config, const assay_tensor *x,
                               assay_error *err) {
  char shape[256];
  assay_shape_text(x->dims, x->rank, shape, sizeof shape);
  if (x->dtype != ASSAY_DTYPE_F32)
    return assay_fail(err, ASSAY_E_FORMAT, "array 'X' is %s; expected float32",
                      assay_dtype_name(x->dtype));
  if (x->rank != 2 || x->dims[1] != config->input_dim || x->dims[0] < 1)
    return assay_fail(err, ASSAY_E_FORMAT,
                      "array 'X' has shape %s; expected [M,%lld] with M at least 1", shape,
                      (long long)config->input_dim);
  const float *values = assay_tensor_f32(x);
  for (size_t i = 0; i < x->n_elems; i++) {
    const size_t row = i / (size_t)x->dims[1], column = i % (size_t)x->dims[1];
    if (!isfinite(values[i]))
      return assay_fail(err, ASSAY_E_FORMAT, "X[%zu,%zu] is %g; expected finite values", row,
                        column, (double)values[i]);
    if (column == 0 && values[i] == 0.0f)
      return assay_fail(err, ASSAY_E_FORMAT,
                        "X[%zu,0] is 0, the element type that marks padding; leave such rows out",
                        row);
  }
  return ASSAY_OK;
}

assay_status assay_feature_pool_init_rows(const assay_mlpf_config *config, const assay_tensor *x,
                                          const char *name, assay_feature_pool *out,
                                          assay_error *err) {
  assay_feature_pool pool = {0};
  ASSAY_TRY(check_rows(config, x, err));
  ASSAY_TRY(assay_tensor_copy(&pool.rows, x, err));
  snprintf(pool.source, sizeof pool.source, "pool '%.200s': %lld rows", name,
           (long long)x->dims[0]);
  const assay_status st =
      assay_sha256_bytes(pool.rows.data, pool.rows.size_bytes, pool.sha256, err);
  if (st) {
    assay_feature_pool_reset(&pool);
    return st;
  }
  *out = pool;
  return ASSAY_OK;
}

void assay_feature_pool_reset(assay_feature_pool *pool) {
  if (pool == NULL) return;
  assay_tensor_reset(&pool->rows);
  *pool = (assay_feature_pool){0};
}

/* --- batches
 * ----------------------------------------------------------------------------------------- */

int64_t assay_feature_pool_valid(int64_t n) {
  return n - n / 10;
}

static void fill_event(const assay_feature_pool *pool, int64_t event, int64_t n, float *x,
                       float *mask) {
  const int64_t m = pool->rows.dims[0], f = pool->rows.dims[1];
  const int64_t first = event % m * (ASSAY_POOL_EVENT_STRIDE % m) % m;
  const float *rows = assay_tensor_f32(&pool->rows);
  for (int64_t i = 0; i < assay_feature_pool_valid(n); i++) {
    memcpy(x + i * f, rows + (first + i) % m * f, (size_t)f * sizeof *x);
    mask[i] = 1.0f;
  }
}

assay_status assay_feature_pool_fill(const assay_feature_pool *pool, int64_t b, int64_t n,
                                     assay_tensor *out_x, assay_tensor *out_mask,
                                     assay_error *err) {
  if (b < 1 || n < 1)
    return assay_fail(err, ASSAY_E_ARGUMENT, "a batch of %lld events of %lld elements is empty",
                      (long long)b, (long long)n);
  const int64_t f = pool->rows.dims[1], dims[] = {b, n, f};
  assay_tensor x = {0}, mask = {0};
  ASSAY_TRY(assay_tensor_init(&x, ASSAY_DTYPE_F32, 3, dims, err));
  const assay_status st = assay_tensor_init(&mask, ASSAY_DTYPE_F32, 2, dims, err);
  if (st) {
    assay_tensor_reset(&x);
    return st;
  }
  for (int64_t e = 0; e < b; e++)
    fill_event(pool, e, n, assay_tensor_f32(&x) + e * n * f, assay_tensor_f32(&mask) + e * n);
  *out_x = x;
  *out_mask = mask;
  return ASSAY_OK;
}
