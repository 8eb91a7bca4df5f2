/* Rows of a dataset's event as a model takes them. */
#include "model/mlpf_event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* Columns of X (models.md A.2). */
enum { COLUMN_TYPE = 0, COLUMN_PT = 1 };

#define CMS_TYPE_WITHOUT_PT 10.0f /* superclusters; the loader's comment says HO (tfds.md 7.4, 6)  \
                                   */

/* "cms" of "cms_pf_ttbar" */
static size_t detector_bytes(const char *dataset) {
  return strcspn(dataset, "_");
}

static bool same_detector(const assay_mlpf_config *config, const char *dataset) {
  const size_t n = detector_bytes(dataset);
  return config->dataset[0] == '\0' ||
         (strncmp(config->dataset, dataset, n) == 0 && config->dataset[n] == '\0');
}

static assay_status check_rows(const assay_mlpf_config *config, const char *dataset,
                               const assay_tensor *x, assay_error *err) {
  if (x->dtype != ASSAY_DTYPE_F32 || x->rank != 2) {
    char shape[256];
    assay_shape_text(x->dims, x->rank, shape, sizeof shape);
    return assay_fail(
        err, ASSAY_E_FORMAT, "feature '%s' is %s %s; expected [elements,%lld] float32",
        ASSAY_MLPF_EVENT_FEATURE, shape, assay_dtype_name(x->dtype), (long long)config->input_dim);
  }
  const int64_t n_columns = x->dims[1];
  if (n_columns <= config->input_dim && n_columns > COLUMN_PT &&
      (n_columns == config->input_dim || same_detector(config, dataset)))
    return ASSAY_OK;
  return assay_fail(
      err, ASSAY_E_FORMAT,
      "'%s' has %lld columns, but the configuration's input_dim is %lld%s%s%s: %s",
      ASSAY_MLPF_EVENT_FEATURE, (long long)n_columns, (long long)config->input_dim,
      config->dataset[0] ? " (dataset '" : "", config->dataset, config->dataset[0] ? "')" : "",
      same_detector(config, dataset) ? "take a version of the dataset with these columns"
                                     : "take a dataset of the model's detector");
}

/* --- sorting
 * ----------------------------------------------------------------------------------------- */

typedef struct ranked {
  float pt;
  int64_t row;
} ranked;

/* Falling pt, NaN first; equal ones by falling row: the reverse of a stable ascending order with
 * NaN last, which is what numpy's argsort and [::-1] give, up to the order of equal ones that it
 * leaves open. */
static int compare_ranked(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  const bool p_nan = isnan(p->pt), q_nan = isnan(q->pt);
  if (p_nan != q_nan) return p_nan ? -1 : 1;
  if (!p_nan && p->pt != q->pt) return p->pt > q->pt ? -1 : 1;
  return p->row > q->row ? -1 : p->row < q->row;
}

/* --- rows
 * -------------------------------------------------------------------------------------------- */

/* The rows that are kept, in the order in which they are taken: [M], M in *out_n. */
static void order_rows(const assay_mlpf_config *config, const assay_tensor *x, ranked *rows,
                       size_t *out_n) {
  const size_t n = (size_t)x->dims[0], k = (size_t)x->dims[1];
  const float *data = assay_tensor_f32(x);
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (data[i * k + COLUMN_TYPE] != 0.0f)
      rows[kept++] = (ranked){.pt = data[i * k + COLUMN_PT], .row = (int64_t)i};
  if (config->sort_data) qsort(rows, kept, sizeof *rows, compare_ranked);
  *out_n = kept;
}

static assay_status copy_rows(const assay_mlpf_config *config, const assay_tensor *x,
                              const ranked *rows, size_t n, assay_mlpf_event *out,
                              assay_error *err) {
  const int64_t dims[] = {(int64_t)n, config->input_dim};
  const size_t k = (size_t)x->dims[1], f = (size_t)config->input_dim;
  ASSAY_TRY(assay_tensor_init(&out->rows, ASSAY_DTYPE_F32, 2, dims, err));
  for (size_t i = 0; i < n; i++)
    memcpy(assay_tensor_f32(&out->rows) + i * f, assay_tensor_f32(x) + (size_t)rows[i].row * k,
           k * sizeof(float));
  return ASSAY_OK;
}

static int64_t count_without_pt(const char *dataset, const assay_tensor *rows) {
  const size_t n = (size_t)rows->dims[0], f = (size_t)rows->dims[1];
  int64_t count = 0;
  if (!assay_text_has_prefix(dataset, "cms_")) return 0;
  for (size_t i = 0; i < n; i++)
    count += assay_tensor_f32(rows)[i * f + COLUMN_TYPE] == CMS_TYPE_WITHOUT_PT;
  return count;
}

assay_status assay_mlpf_event_init(const assay_mlpf_config *config, const char *dataset,
                                   const assay_tensor *x, assay_mlpf_event *out, assay_error *err) {
  ASSAY_TRY(check_rows(config, dataset, x, err));
  assay_mlpf_event event = {.n_added_columns = config->input_dim - x->dims[1]};
  const size_t n = (size_t)x->dims[0];
  ranked *rows = assay_alloc_array(n, sizeof *rows);
  if (rows == NULL) return assay_fail_memory(err, n * sizeof *rows);
  size_t n_kept = 0;
  order_rows(config, x, rows, &n_kept);
  const assay_status st = copy_rows(config, x, rows, n_kept, &event, err);
  assay_free(rows);
  if (st) return st;
  event.n_removed = (int64_t)(n - n_kept);
  event.n_without_pt = count_without_pt(dataset, &event.rows);
  *out = event;
  return ASSAY_OK;
}

void assay_mlpf_event_reset(assay_mlpf_event *event) {
  assay_tensor_reset(&event->rows);
  *event = (assay_mlpf_event){0};
}

/* --- padding
 * ----------------------------------------------------------------------------------------- */

int64_t assay_mlpf_padded_length(const assay_mlpf_config *config, int64_t n) {
  int64_t step = config->pad_to_multiple > 0 ? config->pad_to_multiple : 1;
  if (config->arch == ASSAY_MLPF_HEPTV2) {
    int64_t a = step, b = config->block_size; /* least common multiple */
    while (b != 0) {
      const int64_t rest = a % b;
      a = b;
      b = rest;
    }
    step = step / a * config->block_size;
  }
  if (n < 1) n = 1;
  return (n + step - 1) / step * step;
}
