/* Which elements share a HEPTv2 bucket: azimuth, ranks, regions, hash keys, bucket order, and the
 * rows at which tables are read. Source: models.md B.5 (14), B.6, D.5 steps 1 to 5; numbers in
 * brackets are its equations.
 *
 * Every step that decides anything is FP32 in the order of the text, as Mul, Add and so on and
 * never as MatMul (whose kernels fuse), or int64; TopK with sorted=1 is a stable ascending argsort
 * by its definition. Nothing depends on the layers' x, so what is common to all layers is built
 * once. */
#include <math.h>

#include "base/alloc.h"
#include "model/mlpf_build.h"

#define PI_F32      3.14159265358979323846f
#define HALF_PI_F32 1.57079632679489661923f

#define REGIONS_MIN 0.01f
#define REGIONS_MAX 1e6f

/* ---- azimuth ---- */

/* |y| and |x| taken together: the octant that the polynomial is evaluated in, and how to get back.
 */
static assay_value octant_ratio(assay_build *b, assay_value abs_y, assay_value abs_x) {
  assay_value larger =
      assay_graph_op(b->graph, "Max", "larger", (assay_value[]){abs_x, abs_y}, 2, NULL, 0);
  assay_value smaller =
      assay_graph_op(b->graph, "Min", "smaller", (assay_value[]){abs_x, abs_y}, 2, NULL, 0);
  assay_value zero = assay_build_f32(b, 0.0f);
  assay_value ratio = assay_build_op2(b, "Div", "ratio", smaller, larger);
  assay_value is_somewhere = assay_build_op2(b, "Greater", "is_off_origin", larger, zero);
  return assay_build_where(b, "ratio_or_zero", is_somewhere, ratio, zero);
}

/* arctan of q in [0,1]: q + (q s) p(s), s = q q, within 2.7e-7. */
static assay_value arctan_unit(assay_build *b, assay_value q) {
  static const double COEFFICIENTS[] = {
      -0.0016024120850488544, 0.010025539435446262, -0.02944633550941944,
      0.056127164512872696,   -0.08289748430252075, 0.1091027483344078,
      -0.1425546258687973,    0.19997620582580566,  -0.3333326280117035}; /* FP32 values */
  assay_value s = assay_build_op2(b, "Mul", "s", q, q);
  assay_value p = assay_build_f32(b, (float)COEFFICIENTS[0]);
  for (size_t i = 1; i < sizeof COEFFICIENTS / sizeof *COEFFICIENTS; i++) {
    p = assay_build_op2(b, "Mul", "horner_mul", p, s);
    p = assay_build_op2(b, "Add", "horner_add", p, assay_build_f32(b, (float)COEFFICIENTS[i]));
  }
  assay_value qs = assay_build_op2(b, "Mul", "qs", q, s);
  return assay_build_op2(b, "Add", "arctan", q, assay_build_op2(b, "Mul", "qs_p", qs, p));
}

/* atan2(y, x) by IEEE operations alone: the same bits on every runtime that does not fuse them. */
static assay_value phi_strict(assay_build *b, assay_value y, assay_value x) {
  assay_value zero = assay_build_f32(b, 0.0f);
  assay_value abs_y = assay_build_op1(b, "Abs", "abs_y", y);
  assay_value abs_x = assay_build_op1(b, "Abs", "abs_x", x);
  assay_value r = arctan_unit(b, octant_ratio(b, abs_y, abs_x));
  assay_value is_steep = assay_build_op2(b, "Greater", "is_steep", abs_y, abs_x);
  assay_value other =
      assay_build_op2(b, "Sub", "half_pi_minus", assay_build_f32(b, HALF_PI_F32), r);
  r = assay_build_where(b, "steep", is_steep, other, r);
  assay_value is_left = assay_build_op2(b, "Less", "is_left", x, zero);
  other = assay_build_op2(b, "Sub", "pi_minus", assay_build_f32(b, PI_F32), r);
  r = assay_build_where(b, "left", is_left, other, r);
  assay_value is_lower = assay_build_op2(b, "Less", "is_lower", y, zero);
  return assay_build_where(b, "lower", is_lower, assay_build_op1(b, "Neg", "minus", r), r);
}

/* True where the sign bit is set, of -0 too. */
static assay_value is_negative(assay_build *b, const char *label, assay_value x) {
  assay_graph_push_scope(b->graph, label);
  assay_value reciprocal = assay_build_op1(b, "Reciprocal", "Reciprocal", x);
  assay_value is = assay_build_op2(b, "Less", "Less", reciprocal, assay_build_f32(b, 0.0f));
  assay_graph_pop_scope(b->graph);
  return is;
}

/* atan2(y, x) by the runtime's Atan: arctan(y/x), and pi with the sign of y added left of the axis;
 * at the origin arctan counts as 0. Signed zeroes are those of IEEE atan2. */
static assay_value phi_native(assay_build *b, assay_value y, assay_value x) {
  assay_value zero = assay_build_f32(b, 0.0f);
  assay_value arctan = assay_build_op1(b, "Atan", "Atan", assay_build_op2(b, "Div", "slope", y, x));
  assay_value abs_y = assay_build_op1(b, "Abs", "abs_y", y);
  assay_value abs_x = assay_build_op1(b, "Abs", "abs_x", x);
  assay_value extent = assay_build_op2(b, "Add", "extent", abs_y, abs_x);
  assay_value is_off_origin = assay_build_op2(b, "Greater", "is_off_origin", extent, zero);
  arctan = assay_build_where(b, "arctan_or_zero", is_off_origin, arctan, zero);
  assay_value minus_pi = assay_build_f32(b, -PI_F32);
  assay_value pi = assay_build_f32(b, PI_F32);
  assay_value turn = assay_build_where(b, "signed_pi", is_negative(b, "is_lower", y), minus_pi, pi);
  assay_value turned = assay_build_op2(b, "Add", "turned", arctan, turn);
  return assay_build_where(b, "left", is_negative(b, "is_left", x), turned, arctan);
}

/* ---- what all layers share ---- */

/* places[n] = value(n) as an int64 initialiser. */
typedef int64_t index_fn(const assay_build *b, int64_t i);
static assay_value index_constant(assay_build *b, const char *name, int rank, const int64_t *dims,
                                  index_fn *value) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  int64_t *data = assay_build_scratch(b, n, sizeof *data);
  if (data == NULL) return (assay_value){NULL};
  for (int64_t i = 0; i < n; i++) data[i] = value(b, i);
  assay_value out = assay_graph_add_initializer(b->graph, name, ASSAY_DTYPE_I64, rank, dims, data);
  assay_free(data);
  return out;
}

static int64_t n_sorts(const assay_build *b) {
  return b->config->n_hashes * b->config->num_heads;
}

static int64_t own_index(const assay_build *b, int64_t i) {
  (void)b;
  return i;
}
static int64_t index_in_event(const assay_build *b, int64_t i) {
  return i % b->static_n;
}
static int64_t head_of_sort(const assay_build *b, int64_t i) {
  return i % b->config->num_heads;
}
static int64_t static_table_row(const assay_build *b, int64_t i) { /* of [B,J] */
  return i / n_sorts(b) * b->static_n * b->config->num_heads + head_of_sort(b, i % n_sorts(b));
}

/* Index tables of a static shape are constants; a graph for all shapes computes them once. */
typedef struct index_tables {
  assay_value place;      /* [N] i64: 0, 1, … ; empty unless the key mask needs it */
  assay_value rank_place; /* [B,2,N] i64: 0, 1, … along N */
} index_tables;

static void static_tables(assay_build *b, index_tables *out) {
  assay_build_sorting *s = &b->sorting;
  const int64_t n = b->static_n, n_b = b->static_b, j = n_sorts(b);
  s->n_elems = assay_graph_const_i64s(b->graph, &n, 1);
  s->table_row = index_constant(b, "table_row", 3, (const int64_t[]){n_b, j, 1}, static_table_row);
  s->bucket_row = index_constant(b, "bucket_row", 3, (const int64_t[]){n_b, j, n}, own_index);
  out->rank_place =
      index_constant(b, "rank_place", 3, (const int64_t[]){n_b, 2, n}, index_in_event);
  out->place = b->config->key_mask == ASSAY_MLPF_KEY_MASK_ALL
                   ? index_constant(b, "place", 1, &n, index_in_event)
                   : (assay_value){NULL};
}

/* Dimension `axis` of the mask [B,N], as [1]. */
static assay_value size_of(assay_build *b, const char *label, int64_t axis) {
  return assay_graph_op(b->graph, "Shape", label, &b->mask, 1,
                        (assay_attr[]){ASSAY_ATTR_I("start", axis), ASSAY_ATTR_I("end", axis + 1)},
                        2);
}

/* 0, 1, … n-1 of n [1]. */
static assay_value count_up(assay_build *b, const char *label, assay_value n) {
  assay_graph *g = b->graph;
  assay_graph_push_scope(g, label);
  assay_value limit = assay_build_op1(b, "Squeeze", "Squeeze", n);
  assay_value start = assay_graph_const_i64(g, 0);
  assay_value step = assay_graph_const_i64(g, 1);
  assay_value inputs[] = {start, limit, step};
  assay_value out = assay_graph_op(g, "Range", "Range", inputs, 3, NULL, 0);
  assay_graph_pop_scope(g);
  return out;
}

static void dynamic_tables(assay_build *b, index_tables *out) {
  assay_build_sorting *s = &b->sorting;
  const int64_t j = n_sorts(b);
  const int64_t column[] = {j, 1};
  s->n_elems = size_of(b, "n_elems", 1);
  s->n_elems_f32 = assay_build_cast(b, "n_elems_f32", s->n_elems, ASSAY_DTYPE_F32);
  out->place = count_up(b, "place", s->n_elems);
  assay_value event = count_up(b, "event", size_of(b, "n_events", 0));
  event = assay_build_unsqueeze(b, "event3", event, (const int64_t[]){1, 2}, 2);
  /* rows of the events before: b N */
  assay_value before = assay_build_op2(b, "Mul", "rows_before", event, s->n_elems);
  /* b N H + h */
  assay_value h = assay_graph_const_i64(b->graph, b->config->num_heads);
  assay_value heads = index_constant(b, "head_of_sort", 2, column, head_of_sort);
  s->table_row = assay_build_op2(b, "Add", "table_row",
                                 assay_build_op2(b, "Mul", "table_rows_before", before, h), heads);
  /* (b J + j) N + p */
  assay_value sorts = index_constant(b, "sort", 2, column, own_index);
  assay_value events_before =
      assay_build_op2(b, "Mul", "bucket_rows_before", before, assay_graph_const_i64(b->graph, j));
  assay_value sorts_before = assay_build_op2(b, "Mul", "sort_rows_before", sorts, s->n_elems);
  assay_value first = assay_build_op2(b, "Add", "bucket_row0", events_before, sorts_before);
  s->bucket_row = assay_build_op2(b, "Add", "bucket_row", first, out->place);
}

/* coords transposed, with one row each for eta and phi: [B,2,N]. */
static assay_value coordinate_rows(assay_build *b) {
  assay_build_sorting *s = &b->sorting;
  assay_value eta = b->columns[2], y = b->columns[3], x = b->columns[4];
  assay_value rows[2] = {{NULL}, {NULL}};
  assay_graph_push_scope(b->graph, "phi");
  assay_value phi =
      b->config->phi == ASSAY_MLPF_PHI_STRICT ? phi_strict(b, y, x) : phi_native(b, y, x);
  assay_graph_pop_scope(b->graph);
  s->coords = assay_build_concat(b, "coords", (const assay_value[]){eta, phi}, 2, /*axis=*/2);
  assay_value both =
      assay_build_transpose(b, "coords_rows", s->coords, (const int64_t[]){0, 2, 1}, 3);
  assay_build_split(b, "eta_phi", both, /*axis=*/1, (const int64_t[]){1, 1}, 2, rows);
  s->eta = rows[0];
  s->phi = rows[1];
  return both;
}

/* Indices that sort keys along the last axis: ascending, stable. */
static assay_value argsort(assay_build *b, const char *label, assay_value keys) {
  assay_value outs[2] = {{NULL}, {NULL}};
  assay_attr attrs[] = {ASSAY_ATTR_I("axis", -1), ASSAY_ATTR_I("largest", 0),
                        ASSAY_ATTR_I("sorted", 1)};
  assay_graph_add_node(b->graph, "TopK", label, (assay_value[]){keys, b->sorting.n_elems}, 2, attrs,
                       3, outs, 2);
  return outs[1];
}

/* out[.., permutation[.., p]] = at[.., p]. What is scattered into is the permutation itself, since
 * every place of it is overwritten. */
static assay_value invert(assay_build *b, const char *label, assay_value permutation,
                          assay_value at) {
  return assay_graph_op(b->graph, "ScatterElements", label,
                        (assay_value[]){permutation, permutation, at}, 3,
                        (assay_attr[]){ASSAY_ATTR_I("axis", 2)}, 1);
}

/* (23): padded elements last, in the order of their index. */
static void rank_coordinates(assay_build *b, assay_value both, const index_tables *tables) {
  assay_build_sorting *s = &b->sorting;
  assay_value ranks[2] = {{NULL}, {NULL}};
  assay_value keys =
      assay_build_where(b, "rank_keys", s->valid_row, both, assay_build_f32(b, INFINITY));
  assay_value order = argsort(b, "rank_order", keys);
  assay_value place = tables->rank_place;
  if (place.name == NULL) { /* dynamic */
    assay_value shape = assay_build_op1(b, "Shape", "rank_shape", order);
    place = assay_build_op2(b, "Expand", "rank_place", tables->place, shape);
  }
  assay_value rank = invert(b, "rank", order, place);
  assay_build_split(b, "rank_eta_phi", rank, /*axis=*/1, (const int64_t[]){1, 1}, 2, ranks);
  s->rank_eta = ranks[0];
  s->rank_phi = ranks[1];
}

/* Padded elements are last in every bucket order, so that a key is valid when its place in it is
 * less than the count of valid elements, whatever the layer, hash and head. */
static void mark_valid_keys(assay_build *b, assay_value place) {
  assay_value count =
      assay_build_reduce(b, "ReduceSum", "valid_count", b->mask, /*axis=*/1, /*keep_dim=*/true);
  count = assay_build_cast(b, "valid_count_i64", count, ASSAY_DTYPE_I64);
  assay_value is_valid = assay_build_op2(b, "Less", "valid_place", place, count);
  const int64_t bs = b->config->block_size;
  b->sorting.valid_key =
      assay_build_reshape(b, "valid_key", is_valid, (const int64_t[]){0, 1, -1, 1, bs}, 5);
}

void assay_build_start_sorting(assay_build *b) {
  index_tables tables = {{NULL}, {NULL}};
  assay_graph_push_scope(b->graph, "sorting");
  if (assay_build_is_static(b)) {
    static_tables(b, &tables);
  } else {
    dynamic_tables(b, &tables);
  }
  assay_value both = coordinate_rows(b);
  b->sorting.valid_row = assay_build_unsqueeze(b, "valid_row", b->valid, (const int64_t[]){1}, 1);
  rank_coordinates(b, both, &tables);
  if (b->config->key_mask == ASSAY_MLPF_KEY_MASK_ALL) mark_valid_keys(b, tables.place);
  assay_graph_pop_scope(b->graph);
}

/* ---- one layer ---- */

/* value(j) as an FP32 initialiser [J,1], from regions [NH,2,H] or alpha [H,2,NH]. */
typedef float sort_fn(const assay_build *b, const float *from, int64_t axis, int64_t j);
static assay_value sort_constant(assay_build *b, const char *name, const float *from, int64_t axis,
                                 sort_fn *value) {
  const int64_t dims[] = {n_sorts(b), 1};
  if (from == NULL) return (assay_value){NULL};
  float *data = assay_build_scratch(b, dims[0], sizeof *data);
  if (data == NULL) return (assay_value){NULL};
  for (int64_t j = 0; j < dims[0]; j++) data[j] = value(b, from, axis, j);
  assay_value out = assay_graph_add_initializer(b->graph, name, ASSAY_DTYPE_F32, 2, dims, data);
  assay_free(data);
  return out;
}

static float alpha_of(const assay_build *b, const float *alpha, int64_t axis, int64_t j) {
  const int64_t n_heads = b->config->num_heads, n_hashes = b->config->n_hashes;
  return alpha[(j % n_heads * 2 + axis) * n_hashes + j / n_heads];
}

/* Number of regions along an axis: R_eta (axis 0) or R_phi (axis 1). */
static float regions_of(const assay_build *b, const float *regions, int64_t axis, int64_t j) {
  const int64_t n_heads = b->config->num_heads;
  return regions[(j / n_heads * 2 + axis) * n_heads + j % n_heads];
}

static float reciprocal_of(const assay_build *b, const float *regions, int64_t axis, int64_t j) {
  return 1.0f / regions_of(b, regions, axis, j);
}

static float stride_of(const assay_build *b, const float *regions, int64_t axis, int64_t j) {
  return ceilf(regions_of(b, regions, axis, j)) + 1.0f;
}

/* (24): [J,1] i64; the reciprocal first and then the product, as upstream rounds. */
static assay_value region_size(assay_build *b, const float *regions, int64_t axis) {
  const int64_t dims[] = {n_sorts(b), 1};
  if (!assay_build_is_static(b)) {
    assay_value reciprocal = sort_constant(b, "reciprocal", regions, axis, reciprocal_of);
    assay_value size = assay_build_op2(b, "Mul", "size", reciprocal, b->sorting.n_elems_f32);
    return assay_build_cast(b, "size_i64", assay_build_op1(b, "Ceil", "size_up", size),
                            ASSAY_DTYPE_I64);
  }
  if (regions == NULL) return (assay_value){NULL};
  int64_t *sizes = assay_build_scratch(b, dims[0], sizeof *sizes);
  if (sizes == NULL) return (assay_value){NULL};
  for (int64_t j = 0; j < dims[0]; j++) {
    const float product = reciprocal_of(b, regions, axis, j) * (float)b->static_n;
    sizes[j] = (int64_t)ceilf(product);
  }
  assay_value out =
      assay_graph_add_initializer(b->graph, "size_i64", ASSAY_DTYPE_I64, 2, dims, sizes);
  assay_free(sizes);
  return out;
}

/* (25): floor(rank / size) + 1, in integers, then as FP32: [B,J,N]. */
static assay_value region_index(assay_build *b, const char *scope, assay_value rank,
                                const float *regions, int64_t axis) {
  assay_graph *g = b->graph;
  assay_graph_push_scope(g, scope);
  assay_value size = region_size(b, regions, axis);
  assay_value index = assay_build_op2(b, "Div", "Div", rank, size);
  index = assay_build_op2(b, "Add", "from_one", index, assay_graph_const_i64(g, 1));
  index = assay_build_cast(b, "index", index, ASSAY_DTYPE_F32);
  assay_graph_pop_scope(g);
  return index;
}

/* (26): [B,J,N]. */
static assay_value hash_of(assay_build *b, const char *layer_name) {
  const assay_build_name name = assay_build_name_of("%s.attn.e2lsh_new.alpha", layer_name);
  const float *alpha = assay_build_weight(b, name.text);
  assay_value a0 = sort_constant(b, "alpha_eta", alpha, 0, alpha_of);
  assay_value a1 = sort_constant(b, "alpha_phi", alpha, 1, alpha_of);
  assay_value eta_part = assay_build_op2(b, "Mul", "eta_part", b->sorting.eta, a0);
  assay_value phi_part = assay_build_op2(b, "Mul", "phi_part", b->sorting.phi, a1);
  return assay_build_op2(b, "Add", "hash", eta_part, phi_part);
}

/* (29) before padding is moved to the end; range [B,J,1] is (27). The factor of the phi index is
 * made of R_eta, as upstream has it. */
static assay_value sort_key(assay_build *b, assay_value hash, assay_value i_eta, assay_value i_phi,
                            const float *regions) {
  assay_value most = assay_build_reduce(b, "ReduceMax", "hash_max", hash, 2, /*keep_dim=*/true);
  assay_value least = assay_build_reduce(b, "ReduceMin", "hash_min", hash, 2, /*keep_dim=*/true);
  assay_value range = assay_build_op2(b, "Sub", "range", most, least);
  assay_value stride = sort_constant(b, "stride", regions, 0, stride_of);
  assay_value by_phi = assay_build_op2(
      b, "Mul", "phi_stride", assay_build_op2(b, "Mul", "phi_range", i_phi, range), stride);
  assay_value by_eta = assay_build_op2(b, "Mul", "eta_range", i_eta, range);
  return assay_build_op2(b, "Add", "key", hash,
                         assay_build_op2(b, "Add", "region", by_phi, by_eta));
}

/* The regions of a layer, or NULL with the graph failed: a size made of one that is not a positive
 * number would divide by zero, or not be an integer. The bounds are far from what initialisation
 * gives (about 1 to 1000). */
static const float *checked_regions(assay_build *b, const char *layer_name) {
  const assay_build_name name = assay_build_name_of("%s.regions", layer_name);
  const float *regions = assay_build_weight(b, name.text);
  for (int64_t i = 0; regions != NULL && i < 2 * n_sorts(b); i++) {
    if (regions[i] >= REGIONS_MIN && regions[i] <= REGIONS_MAX) continue;
    assay_graph_fail(b->graph, ASSAY_E_MISMATCH,
                     "weight '%s' holds %g at element %lld: expected a number of regions, %g to %g",
                     name.text, (double)regions[i], (long long)i, (double)REGIONS_MIN,
                     (double)REGIONS_MAX);
    return NULL;
  }
  return regions;
}

assay_value assay_build_permutation(assay_build *b, const char *layer_name) {
  const assay_build_sorting *s = &b->sorting;
  const float *regions = checked_regions(b, layer_name);
  assay_graph_push_scope(b->graph, "hash");
  assay_value hash = hash_of(b, layer_name);
  assay_value i_eta = region_index(b, "region_eta", s->rank_eta, regions, 0);
  assay_value i_phi = region_index(b, "region_phi", s->rank_phi, regions, 1);
  assay_value key = sort_key(b, hash, i_eta, i_phi, regions);
  key = assay_build_where(b, "masked_key", s->valid_row, key, assay_build_f32(b, INFINITY));
  assay_value permutation = argsort(b, "order", key); /* (30) */
  assay_graph_pop_scope(b->graph);
  return permutation;
}
