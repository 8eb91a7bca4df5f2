/* What a caller sees of the evaluator: inputs checked, outputs allocated, a precision chosen. See
 * ref_mlpf.h. */
#include "reference/ref_mlpf.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "reference/ref_blas.h"
#include "reference/ref_eval.h"
#include "reference/ref_hash.h"
#include "reference/ref_kernels.h"

static assay_status check_plan(const assay_mlpf_plan_config *plan, assay_dtype dtype,
                               assay_error *err) {
  if (plan == NULL) return ASSAY_OK;
  ASSAY_TRY(assay_mlpf_plan_config_check(plan, err));
  if (dtype == ASSAY_DTYPE_F64 && !assay_mlpf_plan_config_is_f32(plan)) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "evaluator: a plan with float16 blocks is evaluated in float32, not float64");
  }
  return ASSAY_OK;
}

static assay_status check_shapes(const assay_mlpf_config *config, const assay_tensor *x,
                                 const assay_tensor *mask, assay_error *err) {
  char found[256];
  assay_shape_text(x->dims, x->rank, found, sizeof found);
  if (x->dtype != ASSAY_DTYPE_F32 || x->rank != 3 || x->dims[2] != config->input_dim) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "Xfeat_normed: expected float32 [B,N,%lld], found %s %s",
                      (long long)config->input_dim, assay_dtype_name(x->dtype), found);
  }
  if (x->dims[0] < 1 || x->dims[1] < 1 || x->dims[1] > INT32_MAX) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "Xfeat_normed: expected at least one event and one element, found shape %s",
                      found);
  }
  if (mask->dtype != ASSAY_DTYPE_F32 || mask->rank != 2 || mask->dims[0] != x->dims[0] ||
      mask->dims[1] != x->dims[1]) {
    assay_shape_text(mask->dims, mask->rank, found, sizeof found);
    return assay_fail(err, ASSAY_E_ARGUMENT, "mask: expected float32 [%lld,%lld], found %s %s",
                      (long long)x->dims[0], (long long)x->dims[1], assay_dtype_name(mask->dtype),
                      found);
  }
  if (config->arch == ASSAY_MLPF_HEPTV2 && x->dims[1] % config->block_size != 0) {
    return assay_fail(
        err, ASSAY_E_ARGUMENT,
        "Xfeat_normed: %lld elements an event are no multiple of the block size %lld; pad "
        "with zero rows to %lld and mask them",
        (long long)x->dims[1], (long long)config->block_size,
        (long long)((x->dims[1] / config->block_size + 1) * config->block_size));
  }
  return ASSAY_OK;
}

static assay_status check_values(const assay_tensor *x, const assay_tensor *mask,
                                 assay_error *err) {
  int64_t n = x->dims[1], f = x->dims[2];
  const float *values = assay_tensor_f32(x), *masks = assay_tensor_f32(mask);
  for (int64_t row = 0; row < x->dims[0] * n; row++) {
    long long event = (long long)(row / n), element = (long long)(row % n);
    if (masks[row] == 0.0F) continue;
    if (masks[row] != 1.0F) {
      return assay_fail(err, ASSAY_E_ARGUMENT, "mask: expected 0 or 1, found %g at [%lld,%lld]",
                        (double)masks[row], event, element);
    }
    for (int64_t j = 0; j < f; j++) {
      if (isfinite(values[row * f + j])) continue;
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "Xfeat_normed: expected finite values in valid rows, found %g at "
                        "[%lld,%lld,%lld]",
                        (double)values[row * f + j], event, element, (long long)j);
    }
  }
  return ASSAY_OK;
}

/* A zeroed output [B, N, width]; its data, or NULL after a failure. */
static void *add_head(assay_ref_outputs *outputs, const char *name, assay_dtype dtype,
                      const assay_tensor *x, int64_t width, assay_status *st, assay_error *err) {
  assay_tensor tensor = {0};
  if (*st) return NULL;
  *st = assay_tensor_init(&tensor, dtype, /*rank=*/3, (int64_t[]){x->dims[0], x->dims[1], width},
                          err);
  if (*st) return NULL;
  void *data = tensor.data;
  *st = assay_tensor_map_add(&outputs->heads, name, &tensor, err);
  if (*st) assay_tensor_reset(&tensor);
  return *st ? NULL : data;
}

static assay_status run_checked(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_dtype dtype, const assay_tensor *x, const assay_tensor *mask,
                                const assay_ref_options *options, assay_ref_outputs *outputs,
                                assay_error *err) {
  assay_status st = ASSAY_OK;
  ref_job job = {.config = config,
                 .weights = weights,
                 .n_events = x->dims[0],
                 .n_elems = x->dims[1],
                 .features = assay_tensor_f32(x),
                 .mask = assay_tensor_f32(mask),
                 .threads = options->threads,
                 .cancelled = options->cancelled,
                 .cancelled_arg = options->cancelled_arg,
                 .plan = ref_plan_of(options->plan, options->arithmetic),
                 .tap = options->tap,
                 .margins = &outputs->margins};
  job.binary = add_head(outputs, "bid", dtype, x, /*width=*/2, &st, err);
  job.classes = add_head(outputs, "id", dtype, x, config->num_classes, &st, err);
  job.momentum = add_head(outputs, "momentum", dtype, x, ASSAY_MLPF_N_TARGETS, &st, err);
  (void)add_head(outputs, "pu", dtype, x, /*width=*/2, &st, err);
  if (st == ASSAY_OK && config->arch == ASSAY_MLPF_HEPTV2) {
    int64_t stacks = config->backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT ? 2 : 1;
    const int64_t dims[] = {stacks * config->num_convs, config->n_hashes, config->num_heads,
                            x->dims[0], x->dims[1]};
    st = assay_tensor_init(&outputs->perm, ASSAY_DTYPE_I32, /*rank=*/5, dims, err);
    job.perm = outputs->perm.data;
  }
  if (st) return st;
  return dtype == ASSAY_DTYPE_F32 ? ref_eval_f32(&job, err) : ref_eval_f64(&job, err);
}

assay_status assay_ref_mlpf_run(const assay_mlpf_config *config, const assay_tensor_map *weights,
                                assay_dtype dtype, const assay_tensor *x, const assay_tensor *mask,
                                const assay_ref_options *options, assay_ref_outputs *out,
                                assay_error *err) {
  assay_mlpf_config checked = *config;
  assay_ref_outputs outputs = {0};
  assay_ref_options wanted = options != NULL ? *options : (assay_ref_options){0};
  if (wanted.threads <= 0) wanted.threads = 1;
  if (wanted.threads > ASSAY_REF_THREADS_MAX) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "evaluator: expected at most %d threads, found %d",
                      ASSAY_REF_THREADS_MAX, wanted.threads);
  }
  if (dtype != ASSAY_DTYPE_F32 && dtype != ASSAY_DTYPE_F64) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "evaluator: expected float32 or float64, found %s",
                      assay_dtype_name(dtype));
  }
  ASSAY_TRY(assay_mlpf_config_check(&checked, err));
  ASSAY_TRY(check_plan(wanted.plan, dtype, err));
  ASSAY_TRY(check_shapes(&checked, x, mask, err));
  ASSAY_TRY(check_values(x, mask, err));
  assay_status st = run_checked(&checked, weights, dtype, x, mask, &wanted, &outputs, err);
  if (st) {
    assay_ref_outputs_reset(&outputs);
    return st;
  }
  *out = outputs;
  return ASSAY_OK;
}

void assay_ref_outputs_reset(assay_ref_outputs *outputs) {
  if (outputs == NULL) return;
  assay_tensor_map_reset(&outputs->heads);
  assay_tensor_reset(&outputs->perm);
  *outputs = (assay_ref_outputs){0};
}

void assay_ref_describe(char *out, size_t out_bytes) {
  char blas[128];
  const ref_kernels *kernels = ref_kernels_find(/*name=*/NULL);
  ref_blas_describe(blas, sizeof blas);
  snprintf(out, out_bytes, "%s, %s %s", blas, kernels->library, kernels->name);
}
