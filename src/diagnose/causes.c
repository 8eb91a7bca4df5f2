/* Hypotheses are changes to configuration or weights; the evaluator computes under each, and the
 * one that gives the runtime's block to within its noise explains it. */
#include "diagnose/causes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define CAUSES_MAX 8
#define LINE_BYTES 320
#define NEARER     8.0 /* a hypothesis must bring evaluator and runtime this much closer together */
#define SAME_OFFSET                                                                                \
  1e-3                    /* spread of a difference over rows, relative to it, that counts as none \
                           */
#define HALF_LOW     2e-5 /* relative differences that look like roundings of FP16 or TF32 */
#define HALF_HIGH    5e-3
#define ELEMENTS_MAX 4096 /* beyond them only the cheap hypotheses are tried */

typedef struct finding {
  const assay_blocks_question *question;
  const assay_diagnose_block *block;
  const assay_tensor *got, *truth;
  char *lines[CAUSES_MAX];
  size_t n;
  double best; /* distance of the best hypothesis so far */
} finding;

static assay_status add_line(finding *f, const char *text, assay_error *err) {
  if (f->n == CAUSES_MAX) return ASSAY_OK;
  f->lines[f->n] = assay_strdup(text);
  if (f->lines[f->n] == NULL) return assay_fail_memory(err, strlen(text) + 1);
  f->n++;
  return ASSAY_OK;
}

/* --- hypotheses ----------------------------------------------------------------------------------
 */

/* Evaluates the block under a changed model; keeps the words if that explains the runtime. */
static assay_status try_model(finding *f, const assay_mlpf_config *config,
                              const assay_tensor_map *weights, const char *words,
                              assay_error *err) {
  assay_blocks_question changed = *f->question;
  assay_tensor_map blocks = {0};
  assay_error why = {0};
  changed.config = config;
  changed.weights = weights;
  assay_status st =
      assay_blocks_evaluate(&changed, ASSAY_DTYPE_F32, f->block->name, &blocks, NULL, &why);
  if (st == ASSAY_E_STOPPED || st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  const assay_tensor *value =
      st == ASSAY_OK ? assay_tensor_map_find(&blocks, f->block->name) : NULL;
  double apart = HUGE_VAL;
  if (value != NULL && assay_tensor_same_shape(value, f->got) && value->dtype != ASSAY_DTYPE_I64)
    apart = assay_blocks_distance(f->got, value, f->truth, f->question->mask);
  assay_tensor_map_reset(&blocks);
  bool explains = apart <= f->block->floor_rms && apart * NEARER < f->block->run_rms;
  if (!explains || apart >= f->best) return ASSAY_OK;
  f->best = apart;
  for (size_t i = 0; i < f->n; i++) assay_free(f->lines[i]); /* the better one stands alone */
  f->n = 0;
  char line[LINE_BYTES];
  snprintf(line, sizeof line,
           "explained: %s (the evaluator then gives this block to %.1e, instead of %.1e)", words,
           apart, f->block->run_rms);
  return add_line(f, line, err);
}

/* Tensors in place of those of the same name. */
#define CHANGES_MAX 2
typedef struct changes {
  const char *names[CHANGES_MAX];
  assay_tensor tensors[CHANGES_MAX]; /* owned */
  size_t n;
} changes;

static assay_status add_copy(changes *c, const assay_named_tensor *one, assay_error *err) {
  ASSAY_TRY(assay_tensor_copy(&c->tensors[c->n], &one->tensor, err));
  c->names[c->n++] = one->name;
  return ASSAY_OK;
}

/* Evaluates with them; they are gone afterwards. */
static assay_status try_changes(finding *f, changes *c, const char *words, assay_error *err) {
  const assay_tensor_map *weights = f->question->weights;
  assay_tensor_map changed = {0};
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < weights->n && st == ASSAY_OK; i++) {
    const assay_tensor *from = &weights->items[i].tensor;
    assay_tensor view = {0};
    for (size_t k = 0; k < c->n; k++)
      if (strcmp(weights->items[i].name, c->names[k]) == 0) from = &c->tensors[k];
    st = assay_tensor_init_view(&view, from->dtype, from->rank, from->dims, from->data, err);
    if (st == ASSAY_OK) st = assay_tensor_map_add(&changed, weights->items[i].name, &view, err);
  }
  if (st == ASSAY_OK) st = try_model(f, f->question->config, &changed, words, err);
  assay_tensor_map_reset(&changed);
  for (size_t k = 0; k < c->n; k++) assay_tensor_reset(&c->tensors[k]);
  c->n = 0;
  return st;
}

/* The first n rows of a tensor, times a factor. */
static void scale_rows(assay_tensor *tensor, int64_t n, double factor) {
  int64_t width = tensor->rank == 2 ? tensor->dims[1] : 1;
  float *at = assay_tensor_f32(tensor);
  for (int64_t i = 0; i < n * width; i++) at[i] = (float)((double)at[i] * factor);
}

static assay_status try_transposed(finding *f, const assay_named_tensor *one, assay_error *err) {
  int64_t n = one->tensor.dims[1];
  char words[LINE_BYTES];
  for (int64_t first = 0; first < one->tensor.dims[0]; first += n) { /* q, k and v of in_proj */
    changes c = {0};
    ASSAY_TRY(add_copy(&c, one, err));
    const float *from = assay_tensor_f32(&one->tensor) + first * n;
    float *to = assay_tensor_f32(&c.tensors[0]) + first * n;
    for (int64_t r = 0; r < n; r++)
      for (int64_t k = 0; k < n; k++) to[r * n + k] = from[k * n + r];
    snprintf(words, sizeof words, "'%.128s' is used transposed%s", one->name,
             one->tensor.dims[0] == n ? ""
             : first == 0             ? " (its rows for q)"
             : first == n             ? " (its rows for k)"
                                      : " (its rows for v)");
    ASSAY_TRY(try_changes(f, &c, words, err));
  }
  return ASSAY_OK;
}

static assay_status try_dropped(finding *f, const assay_named_tensor *one, assay_error *err) {
  char words[LINE_BYTES];
  snprintf(words, sizeof words, "'%.128s' is dropped", one->name);
  changes c = {0};
  ASSAY_TRY(add_copy(&c, one, err));
  scale_rows(&c.tensors[0], one->tensor.dims[0], 0);
  return try_changes(f, &c, words, err);
}

/* Columns of two heads of an output projection [E,E] exchanged: as if the heads were. */
static assay_status try_swapped_heads(finding *f, const assay_named_tensor *one, assay_error *err) {
  int64_t n = one->tensor.dims[1], h = f->question->config->num_heads, d = n / h;
  char words[LINE_BYTES];
  for (int64_t a = 0; a < h; a++)
    for (int64_t b = a + 1; b < h; b++) {
      changes c = {0};
      ASSAY_TRY(add_copy(&c, one, err));
      const float *from = assay_tensor_f32(&one->tensor);
      float *to = assay_tensor_f32(&c.tensors[0]);
      for (int64_t r = 0; r < one->tensor.dims[0]; r++)
        for (int64_t k = 0; k < d; k++) {
          to[r * n + a * d + k] = from[r * n + b * d + k];
          to[r * n + b * d + k] = from[r * n + a * d + k];
        }
      snprintf(words, sizeof words, "heads %lld and %lld are exchanged before '%.100s'",
               (long long)a, (long long)b, one->name);
      ASSAY_TRY(try_changes(f, &c, words, err));
    }
  return ASSAY_OK;
}

/* Scores without 1/sqrt(d), or with it twice: a factor on q, which is the first third of in_proj,
 * or (HEPTv2) what q_norm gives. */
static assay_status try_scores(finding *f, const assay_named_tensor *one, assay_error *err) {
  double root = sqrt((double)f->question->config->head_dim);
  const assay_tensor_map *weights = f->question->weights;
  bool is_in_proj = assay_text_has_suffix(one->name, "in_proj_weight");
  int64_t n = is_in_proj ? one->tensor.dims[0] / 3 : one->tensor.dims[0];
  for (int twice = 0; twice < 2; twice++) {
    changes c = {0};
    ASSAY_TRY(add_copy(&c, one, err));
    for (size_t i = 0; is_in_proj && i < weights->n; i++) { /* …in_proj_bias */
      size_t stem = strlen(one->name) - strlen("weight");
      if (strncmp(weights->items[i].name, one->name, stem) == 0 &&
          strcmp(weights->items[i].name + stem, "bias") == 0)
        ASSAY_TRY(add_copy(&c, &weights->items[i], err));
    }
    for (size_t k = 0; k < c.n; k++) scale_rows(&c.tensors[k], n, twice ? 1 / root : root);
    ASSAY_TRY(try_changes(f, &c,
                          twice ? "scores are scaled by 1/sqrt(d) twice"
                                : "scores are not scaled by 1/sqrt(d)",
                          err));
  }
  return ASSAY_OK;
}

static bool is_of_block(const char *tensor, const char *block) {
  char prefix[ASSAY_ERROR_TEXT_BYTES / 8];
  snprintf(prefix, sizeof prefix, "%.200s", block);
  size_t n = strlen(prefix);
  static const char attention[] = ".attention";
  if (assay_text_has_suffix(prefix, attention)) n -= sizeof attention - 1;
  return strncmp(tensor, prefix, n) == 0 && tensor[n] == '.';
}

static assay_status try_weights(finding *f, assay_error *err) {
  const assay_tensor_map *weights = f->question->weights;
  for (size_t i = 0; i < weights->n; i++) {
    const assay_named_tensor *one = &weights->items[i];
    const assay_tensor *t = &one->tensor;
    if (!is_of_block(one->name, f->block->name)) continue;
    bool is_bias = t->rank == 1 && assay_text_has_suffix(one->name, "bias");
    bool is_square = t->rank == 2 && t->dims[0] % t->dims[1] == 0 && t->dims[0] / t->dims[1] <= 3;
    bool is_query = assay_text_has_suffix(one->name, ".mha.in_proj_weight") ||
                    assay_text_has_suffix(one->name, ".q_norm.weight");
    bool is_output = assay_text_has_suffix(one->name, ".out_proj.weight") ||
                     assay_text_has_suffix(one->name, ".out_linear.weight");
    if (is_bias) ASSAY_TRY(try_dropped(f, one, err));
    if (is_query) ASSAY_TRY(try_scores(f, one, err));
    if (is_square) ASSAY_TRY(try_transposed(f, one, err));
    if (is_output && t->dims[1] % f->question->config->num_heads == 0)
      ASSAY_TRY(try_swapped_heads(f, one, err));
  }
  return ASSAY_OK;
}

static assay_status try_configurations(finding *f, assay_error *err) {
  const assay_mlpf_config *config = f->question->config;
  assay_mlpf_config changed = *config;
  changed.key_mask = config->key_mask == ASSAY_MLPF_KEY_MASK_ALL ? ASSAY_MLPF_KEY_MASK_UPSTREAM
                                                                 : ASSAY_MLPF_KEY_MASK_ALL;
  ASSAY_TRY(try_model(f, &changed, f->question->weights,
                      config->key_mask == ASSAY_MLPF_KEY_MASK_ALL
                          ? "padded keys take part in attention: the key mask is missing, or its "
                            "constant does not exclude them"
                          : "padded keys are excluded where the export admits them",
                      err));
  for (int act = ASSAY_MLPF_ELU; act <= ASSAY_MLPF_GELU; act++) {
    char words[LINE_BYTES];
    if ((assay_mlpf_activation)act == config->activation) continue;
    changed = *config;
    changed.activation = (assay_mlpf_activation)act;
    snprintf(words, sizeof words, "the activation is %s instead of %s",
             assay_mlpf_activation_name((assay_mlpf_activation)act),
             assay_mlpf_activation_name(config->activation));
    ASSAY_TRY(try_model(f, &changed, f->question->weights, words, err));
  }
  return ASSAY_OK;
}

/* --- hints ---------------------------------------------------------------------------------------
 */

/* The difference of every valid row is the same vector. */
static bool is_constant_offset(const finding *f) {
  size_t width = (size_t)f->got->dims[f->got->rank - 1],
         n = f->got->n_elems / (width > 0 ? width : 1);
  size_t first = n, n_valid = 0;
  double spread = 0, size = 0;
  for (size_t row = 0; row < n; row++) {
    if (!assay_blocks_row_is_valid(f->got, f->question->mask, row)) continue;
    if (first == n) first = row;
    n_valid++;
    for (size_t c = 0; c < width; c++) {
      double one = assay_tensor_get_real(f->got, row * width + c) -
                   assay_tensor_get_real(f->truth, row * width + c);
      double other = assay_tensor_get_real(f->got, first * width + c) -
                     assay_tensor_get_real(f->truth, first * width + c);
      spread += (one - other) * (one - other);
      size += one * one;
    }
  }
  return n_valid > 2 && size > 0 && spread < SAME_OFFSET * SAME_OFFSET * size;
}

/* Events with padding are far off, those without are not; false where there are not both. */
static bool only_padded_events(const finding *f) {
  const assay_tensor *mask = f->question->mask, *got = f->got;
  if (got->rank != 3 || got->dims[0] != mask->dims[0]) return false;
  size_t n_events = (size_t)mask->dims[0], n = (size_t)mask->dims[1];
  size_t per_event = got->n_elems / n_events, width = (size_t)got->dims[2];
  double worst[2] = {0, 0};
  bool seen[2] = {false, false};
  for (size_t e = 0; e < n_events; e++) {
    bool padded = false;
    for (size_t i = 0; i < n; i++) padded |= assay_tensor_get_real(mask, e * n + i) == 0;
    seen[padded] = true;
    for (size_t i = 0; i < per_event; i++) {
      size_t at = e * per_event + i;
      if (!assay_blocks_row_is_valid(got, mask, at / width)) continue;
      worst[padded] = fmax(worst[padded], fabs(assay_tensor_get_real(got, at) -
                                               assay_tensor_get_real(f->truth, at)));
    }
  }
  return seen[0] && seen[1] && worst[0] * NEARER < worst[1];
}

static assay_status hint_permutation(finding *f, assay_error *err) {
  const assay_diagnose_block *b = f->block;
  char line[LINE_BYTES];
  if (b->n_differ == b->n_differ_ties)
    snprintf(line, sizeof line,
             "looks like: elements of equal keys in another order: a sort that is not stable "
             "(%lld places, all between elements with the same coordinates)",
             (long long)b->n_differ);
  else
    snprintf(
        line, sizeof line,
        "looks like: other hash keys: computed in another precision (FP16 inputs or products), "
        "or by fused multiply-add (%lld of %lld places, %lld of them between ties)",
        (long long)b->n_differ, (long long)b->n_compared, (long long)b->n_differ_ties);
  return add_line(f, line, err);
}

static assay_status hint_floats(finding *f, assay_error *err) {
  const assay_diagnose_block *b = f->block;
  bool is_attention = assay_text_has_suffix(b->name, "attention");
  char line[LINE_BYTES];
  if (b->n_nonfinite > 0) {
    snprintf(line, sizeof line, "looks like: overflow: %lld values are infinite or NaN%s",
             (long long)b->n_nonfinite,
             f->question->plan != NULL
                 ? ", and blocks are FP16: values or the mask's constant beyond 65504"
                 : "");
    return add_line(f, line, err);
  }
  if (is_constant_offset(f))
    ASSAY_TRY(add_line(f,
                       "looks like: a bias that was dropped or changed: the same offset in every "
                       "row",
                       err));
  if (only_padded_events(f))
    ASSAY_TRY(add_line(f, "looks like: the key mask: only events with padding are off", err));
  if (b->run_rms > HALF_LOW && b->run_rms < HALF_HIGH)
    ASSAY_TRY(add_line(f,
                       "looks like: a lower precision (FP16 or TF32 products or sums), another "
                       "epsilon of a normalisation, or an approximated function (GELU by tanh)",
                       err));
  if (f->n == 0)
    ASSAY_TRY(add_line(
        f,
        is_attention ? "looks like: another computation of attention: scale, mask, heads, or "
                       "weights"
                     : "looks like: another computation: weights, layout, function or epsilon",
        err));
  return ASSAY_OK;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

static assay_status find_causes(finding *f, assay_error *err) {
  if (f->block->is_permutation) return hint_permutation(f, err);
  if (f->block->n_nonfinite == 0) {
    ASSAY_TRY(try_configurations(f, err));
    if (f->question->mask->n_elems <= ELEMENTS_MAX) ASSAY_TRY(try_weights(f, err));
  }
  return f->n > 0 ? ASSAY_OK : hint_floats(f, err);
}

assay_status assay_causes_find(const assay_blocks_question *question,
                               const assay_diagnose_block *block, const assay_tensor *got,
                               const assay_tensor *truth, char ***out, size_t *out_n,
                               assay_error *err) {
  finding f = {.question = question, .block = block, .got = got, .truth = truth, .best = HUGE_VAL};
  assay_status st = find_causes(&f, err);
  char **lines = st == ASSAY_OK ? assay_alloc_array(CAUSES_MAX, sizeof *lines) : NULL;
  if (st == ASSAY_OK && lines == NULL) st = assay_fail_memory(err, CAUSES_MAX * sizeof *lines);
  if (st) {
    for (size_t i = 0; i < f.n; i++) assay_free(f.lines[i]);
    return st;
  }
  memcpy(lines, f.lines, f.n * sizeof *lines);
  *out = lines;
  *out_n = f.n;
  return ASSAY_OK;
}
