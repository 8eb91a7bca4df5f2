/* Synthetic packages. Figures are made up, deterministic, and of plausible size; only their shape
 * matters. */
#include "report/testpack.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "measure/stats.h"
#include "package/manifest.h"
#include "package/npz.h"
#include "package/package.h"
#include "package/result.h"

const char testpack_hostile[] =
    "\"><script>alert(1)</script>'&amp;\n\r\t=cmd|' /C calc'!A0;=1+1\xe2\x80\xae"
    "drow|`x`**b**[l](javascript:1)<img src=x onerror=alert(2)>";

#define N_HEADS    4
#define N_STRINGS  (1u << 18)
#define N_SAMPLES  100
#define LONG_BYTES 300

typedef struct head_spec {
  char *name;
  int64_t width;
  assay_head_kind kind;
} head_spec;

/* Everything that the writers point at until the package is written. */
typedef struct maker {
  const testpack_spec *spec;
  const char *folder;
  head_spec heads[N_HEADS];
  char **strings; /* released at the end */
  size_t n_strings;
  uint64_t random; /* state of a 64-bit linear congruential generator */
  assay_package package;
  char **cases; /* [n_bundles * n_cases] SHA-256 of the case files */
  int64_t *sizes;
  assay_status status;
  assay_error *err;
} maker;

static char *text(maker *m, const char *format, ...) ASSAY_PRINTF(2, 3);

static char *text(maker *m, const char *format, ...) {
  char line[2048];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  char *copy = m->n_strings < N_STRINGS ? assay_strdup(line) : NULL;
  if (copy == NULL) {
    if (!m->status) m->status = assay_fail_memory(m->err, sizeof line);
    return NULL;
  }
  m->strings[m->n_strings++] = copy;
  return copy;
}

/* Uniform in [0, 1). Source of the constants: Knuth, MMIX. */
static double draw(maker *m) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (double)(m->random >> 11) / 9007199254740992.0;
}

static void hash_text(const char *words, char out[65]) {
  if (assay_sha256_bytes(words, strlen(words), out, NULL)) out[0] = 0;
}

static const char *hostile_or(const maker *m, const char *otherwise) {
  return m->spec->hostile ? testpack_hostile : otherwise;
}

/* ---- bundles ---- */

static const int64_t usual_sizes[] = {100, 500, 1000, 2000, 4000, 1000, 1000};
static const int64_t usual_batches[] = {1, 1, 1, 1, 1, 2, 4};

static int64_t case_n(const testpack_spec *spec, size_t c) {
  return spec->n_cases <= 7 ? usual_sizes[c] : 16 + (int64_t)c;
}

static int64_t case_b(const testpack_spec *spec, size_t c) {
  return spec->n_cases <= 7 ? usual_batches[c] : 1;
}

static bool is_brought(const testpack_spec *spec, size_t c) {
  return spec->brought && c + 1 == spec->n_cases;
}

static bool is_event(const testpack_spec *spec, size_t c) {
  return spec->events && c == 0;
}

static char *case_name(maker *m, size_t c) {
  if (is_event(m->spec, c)) return text(m, "ttbar-17");
  if (is_brought(m->spec, c)) return text(m, "events-a");
  return text(m, "b%lld-n%lld", (long long)case_b(m->spec, c), (long long)case_n(m->spec, c));
}

static assay_status add_array(maker *m, assay_tensor_map *map, const char *name, assay_dtype dtype,
                              int64_t b, int64_t n, int64_t width) {
  assay_tensor tensor = {0};
  const int64_t dims[] = {b, n, width};
  ASSAY_TRY(assay_tensor_init(&tensor, dtype, width ? 3 : 2, dims, m->err));
  for (size_t i = 0; i < tensor.n_elems; i++) {
    bool valid = (int64_t)(width ? i / (size_t)width : i) % n < n - n / 10;
    double value = width ? sin((double)i) : 1;
    if (!valid) value = 0;
    if (dtype == ASSAY_DTYPE_F32) {
      assay_tensor_f32(&tensor)[i] = (float)value;
    } else {
      assay_tensor_f64(&tensor)[i] = value;
    }
  }
  assay_status st = assay_tensor_map_add(map, name, &tensor, m->err);
  if (st) assay_tensor_reset(&tensor);
  return st;
}

static assay_status fill_case(maker *m, int64_t b, int64_t n, assay_tensor_map *map) {
  ASSAY_TRY(add_array(m, map, "mask", ASSAY_DTYPE_F32, b, n, 0));
  for (size_t h = 0; h < N_HEADS; h++) {
    char name[1024];
    (void)snprintf(name, sizeof name, "ref.f32.%s", m->heads[h].name);
    ASSAY_TRY(add_array(m, map, name, ASSAY_DTYPE_F32, b, n, m->heads[h].width));
    (void)snprintf(name, sizeof name, "ref.f64.%s", m->heads[h].name);
    ASSAY_TRY(add_array(m, map, name, ASSAY_DTYPE_F64, b, n, m->heads[h].width));
  }
  return ASSAY_OK;
}

static assay_status write_case(maker *m, const char *bundle, size_t c, assay_manifest_case *out) {
  int64_t b = case_b(m->spec, c), n = case_n(m->spec, c);
  assay_tensor_map map = {0};
  out->name = case_name(m, c);
  out->kind = is_event(m->spec, c)     ? "event"
              : is_brought(m->spec, c) ? "input"
              : b > 1                  ? "batch"
                                       : "sweep";
  out->source = is_brought(m->spec, c) ? "events.npz" : "pool 'builtin', rows repeated";
  out->b = b;
  out->n = n;
  out->valid = &m->sizes[c * 4];
  for (int64_t i = 0; i < b; i++) out->valid[i] = n - n / 10;
  out->file.file = text(m, "cases/%s.npz", out->name);
  assay_status st = fill_case(m, b, n, &map);
  char *path = text(m, "%s/%s/%s", m->folder, bundle, out->file.file);
  if (st == ASSAY_OK) st = assay_npz_write(path, &map, m->err);
  if (st == ASSAY_OK) st = assay_sha256_file(path, out->file.sha256, &out->file.size_bytes, m->err);
  assay_tensor_map_reset(&map);
  return st;
}

static void fill_tensor(assay_manifest_tensor *tensor, char *name, int64_t width) {
  *tensor = (assay_manifest_tensor){.name = name,
                                    .dtype = ASSAY_DTYPE_F32,
                                    .rank = width ? 3 : 2,
                                    .atol = ASSAY_DEFAULT_ATOL,
                                    .rtol = ASSAY_DEFAULT_RTOL};
  memcpy(tensor->dims[0].symbol, "B", 2);
  memcpy(tensor->dims[1].symbol, "N", 2);
  tensor->dims[2].size = width;
}

static assay_status write_bundle(maker *m, size_t b) {
  assay_package_bundle *bundle = &m->package.bundles[b];
  assay_manifest manifest = {.name = bundle->name,
                             .tool_version = "0.1.0",
                             .opset = 20,
                             .ir_version = 9,
                             .attention = "decomposed",
                             .shapes = "dynamic",
                             .attention_ops = 5};
  manifest.architecture = b % 2 ? "heptv2" : "attention";
  manifest.dtype = m->spec->half && b + 1 == m->spec->n_bundles ? "float16" : "float32";
  assay_manifest_tensor inputs[2], heads[N_HEADS];
  fill_tensor(&inputs[0], "Xfeat_normed", 17);
  fill_tensor(&inputs[1], "mask", 0);
  for (size_t h = 0; h < N_HEADS; h++) {
    fill_tensor(&heads[h], m->heads[h].name, m->heads[h].width);
    heads[h].kind = m->heads[h].kind;
  }
  manifest.inputs = inputs;
  manifest.n_inputs = 2;
  manifest.mask_input = "mask";
  manifest.heads = heads;
  manifest.n_heads = N_HEADS;
  static const char weights[] =
      "{\"origin\":\"seed\",\"seed\":42,\"n_tensors\":130,\"n_values\":688018}";
  static const char reference[] =
      "{\"origin\":\"evaluator\",\"precision\":[\"float32\",\"float64\"],"
      "\"libraries\":\"OpenBLAS\"}";
  static const char half_plan[] = "{\"attention\":\"decomposed\",\"encoder\":\"float16\","
                                  "\"scores\":\"float32\",\"heads\":\"float16\"}";
  char *path = text(m, "%s/%s/cases", m->folder, bundle->folder);
  char *model = text(m, "%s/%s/model.onnx", m->folder, bundle->folder);
  char *note = text(m, "%s", hostile_or(m, "rows come from the built-in pool"));
  manifest.notes = &note;
  manifest.n_notes = 1;
  manifest.model.file = "model.onnx";
  manifest.cases = assay_alloc_array(m->spec->n_cases, sizeof *manifest.cases);
  manifest.n_cases = m->spec->n_cases;
  assay_status st = manifest.cases && path ? ASSAY_OK : assay_fail_memory(m->err, 0);
  if (st == ASSAY_OK) st = assay_json_parse(weights, strlen(weights), &manifest.weights, m->err);
  if (st == ASSAY_OK)
    st = assay_json_parse(reference, strlen(reference), &manifest.reference, m->err);
  bool half = strcmp(manifest.dtype, "float16") == 0;
  if (st == ASSAY_OK && half)
    st = assay_json_parse(half_plan, strlen(half_plan), &manifest.plan, m->err);
  if (st == ASSAY_OK) st = assay_folder_create(path, m->err);
  if (st == ASSAY_OK) st = assay_file_write(model, bundle->name, strlen(bundle->name), m->err);
  if (st == ASSAY_OK)
    st = assay_sha256_file(model, manifest.model.sha256, &manifest.model.size_bytes, m->err);
  for (size_t c = 0; c < m->spec->n_cases && st == ASSAY_OK; c++) {
    st = write_case(m, bundle->folder, c, &manifest.cases[c]);
    m->cases[b * m->spec->n_cases + c] = text(m, "%s", manifest.cases[c].file.sha256);
  }
  char *home = text(m, "%s/%s", m->folder, bundle->folder);
  if (st == ASSAY_OK) st = assay_manifest_write(&manifest, home, m->err);
  memcpy(bundle->model_sha256, manifest.model.sha256, sizeof bundle->model_sha256);
  hash_text(bundle->name, bundle->manifest_sha256);
  assay_json_destroy(manifest.weights);
  assay_json_destroy(manifest.reference);
  assay_json_destroy(manifest.plan);
  assay_free(manifest.cases);
  return st;
}

/* ---- results ---- */

static void fill_common(maker *m, const assay_package_run *run, size_t b, size_t c,
                        assay_result *out) {
  *out = (assay_result){.runtime = run->runtime,
                        .bundle = run->bundle,
                        .case_name = run->case_name,
                        .mode = run->mode,
                        .status = ASSAY_RESULT_DONE,
                        .tool_version = "0.1.0",
                        .library_path =
                            text(m, "%s", hostile_or(m, "/opt/ort/libonnxruntime.so.1.32.0")),
                        .library_version = "1.32.0",
                        .library_build = "Release",
                        .provider = "CPUExecutionProvider",
                        .machine = "machines/m.json",
                        .completeness = ASSAY_VERDICT_PASS,
                        .numbers = ASSAY_VERDICT_NOT_APPLICABLE,
                        .placed = ASSAY_VERDICT_NOT_APPLICABLE,
                        .timed = ASSAY_VERDICT_NOT_APPLICABLE};
  memcpy(out->started_at, "2026-01-31T12:00:00.000Z", 25);
  memcpy(out->keys.model_sha256, m->package.bundles[b].model_sha256, 65);
  memcpy(out->keys.case_sha256, m->cases[b * m->spec->n_cases + c], 65);
  hash_text(run->runtime, out->keys.runtime_sha256);
  hash_text("library", out->keys.library_sha256);
  hash_text("options", out->keys.options_sha256);
  hash_text("plan", out->keys.plan_sha256);
  hash_text("tool", out->keys.tool_sha256);
  out->process = (assay_result_process){
      .known = true, .exited = true, .elapsed_ns = 1234567890, .max_rss_bytes = 200 << 20};
}

static void fail_point(assay_result_point *point, int64_t index, double got, double want) {
  *point = (assay_result_point){.index = index, .got = got, .want = want};
}

static void fill_comparison(maker *m, size_t h, const char *reference, size_t c,
                            testpack_fault fault, assay_result_comparison *out) {
  const head_spec *head = &m->heads[h];
  int64_t b = case_b(m->spec, c), n = case_n(m->spec, c);
  double error = m->spec->zero_error   ? 0
                 : m->spec->huge_error ? 1e30
                                       : 1e-7 * (1 + 4 * draw(m)) * (double)(h + 1);
  *out = (assay_result_comparison){.head = head->name,
                                   .reference = text(m, "%s", reference),
                                   .gate = true,
                                   .atol = m->spec->loose ? 0.5 : ASSAY_DEFAULT_ATOL,
                                   .rtol = ASSAY_DEFAULT_RTOL,
                                   .passed = true,
                                   .same_shape = true,
                                   .same_dtype = true};
  out->kind = head->kind == ASSAY_HEAD_CLASSES ? "classes" : "regression";
  memcpy(out->dtype, "float32", 8);
  (void)snprintf(out->shape, sizeof out->shape, "[%lld,%lld,%lld]", (long long)b, (long long)n,
                 (long long)head->width);
  out->n_compared = out->n_finite_pairs = b * (n - n / 10) * head->width;
  out->first_class_mismatch.index = out->first_padding_not_zero.index = -1;
  bool bad = (fault == TESTPACK_NUMBERS || fault == TESTPACK_LYING) && h == 2;
  if (bad) error = 0.25;
  out->max_abs = error;
  out->mae = error / 8;
  out->rmse = error / 5;
  out->rel_l2 = error / 3;
  out->max_tol_multiple = m->spec->huge_error ? HUGE_VAL : error / 2e-3;
  out->needed_atol = error;
  out->needed_rtol = m->spec->huge_error ? HUGE_VAL : error;
  fail_point(&out->max_abs_at, out->n_compared / 2, 1 + error, 1);
  out->max_tol_at = out->max_abs_at;
  out->n_denormal_got = h == 1 ? 2 : 0;
  if (head->kind == ASSAY_HEAD_CLASSES) out->n_argmax = b * (n - n / 10);
  out->n_padding = b * (n / 10) * head->width;
  if (fault == TESTPACK_NAN && h == 0) {
    out->n_class_mismatch = 3;
    fail_point(&out->first_class_mismatch, 5, nan(""), 0.5);
    bad = true;
  }
  if (bad || m->spec->huge_error) {
    out->passed = false;
    out->n_over = bad ? 3 : out->n_compared;
    (void)snprintf(out->reason, sizeof out->reason, "%.100s",
                   hostile_or(m, "3 elements are not within tolerance"));
  }
  if (fault == TESTPACK_SHAPE && h == 3) {
    assay_result_comparison unlike = {.head = head->name,
                                      .reference = out->reference,
                                      .kind = out->kind,
                                      .gate = true,
                                      .atol = out->atol,
                                      .rtol = out->rtol,
                                      .same_dtype = true};
    memcpy(unlike.dtype, out->dtype, sizeof unlike.dtype);
    memcpy(unlike.shape, "[1,7]", 6);
    (void)snprintf(unlike.reason, sizeof unlike.reason, "shape [1,7], reference %.64s", out->shape);
    unlike.first_class_mismatch.index = unlike.max_abs_at.index = unlike.max_tol_at.index = -1;
    unlike.first_padding_not_zero.index = -1;
    *out = unlike;
  }
}

static assay_status fill_timing(maker *m, size_t c, size_t row, const char *folder,
                                assay_result *out) {
  int64_t samples[N_SAMPLES];
  double base_ns = 2e3 * (double)case_b(m->spec, c) * pow((double)case_n(m->spec, c), 1.3);
  for (size_t i = 0; i < N_SAMPLES; i++) {
    double noise = 1 + 0.03 * draw(m) + (draw(m) > 0.97 ? 0.5 : 0);
    samples[i] = (int64_t)(base_ns * (1 + 0.2 * (double)(row % 3)) * noise);
  }
  assay_stats stats;
  ASSAY_TRY(assay_stats_run(samples, N_SAMPLES, &stats, m->err));
  const int64_t dims[] = {N_SAMPLES};
  assay_tensor view = {0};
  ASSAY_TRY(assay_tensor_init_view(&view, ASSAY_DTYPE_I64, 1, dims, samples, m->err));
  char *path = text(m, "%s/samples.npy", folder);
  ASSAY_TRY(assay_npy_write(path, &view, m->err));
  assay_result_timing *timing = &out->timing;
  *timing = (assay_result_timing){.known = true,
                                  .session_create_ns = 45000000 + (int64_t)(1e6 * draw(m)),
                                  .first_run_ns = (int64_t)(base_ns * 1.7),
                                  .warmup = 10,
                                  .iterations = N_SAMPLES,
                                  .outputs_identical = true};
  timing->stats = (assay_result_stats){.n = N_SAMPLES,
                                       .min_ns = stats.min_ns,
                                       .max_ns = stats.max_ns,
                                       .mean_ns = stats.mean_ns,
                                       .stddev_ns = stats.stddev_ns,
                                       .lag1 = stats.lag1,
                                       .drift = stats.drift,
                                       .n_outliers = (int64_t)stats.n_outliers};
  for (size_t i = 0; i < 4; i++) {
    const assay_percentile *p = &stats.percentiles[i];
    timing->stats.percentiles[i] = (assay_result_percentile){.p = p->p,
                                                             .value_ns = p->value_ns,
                                                             .has_low = p->has_low,
                                                             .has_high = p->has_high,
                                                             .low_ns = p->low_ns,
                                                             .high_ns = p->high_ns,
                                                             .low_rank = (int64_t)p->low_rank,
                                                             .high_rank = (int64_t)p->high_rank,
                                                             .coverage = p->coverage};
  }
  return assay_sha256_file(path, out->files[0].sha256, &out->files[0].size_bytes, m->err);
}

/* ---- memory ---- */

#define INTERVAL_NS INT64_C(10000000)
#define START_NS    INT64_C(1000000000000)
#define MIB         (INT64_C(1) << 20)
#define N_BASELINE  8 /* rows before the session, until the first call and in the warm calls; */
#define N_FIRST     12
#define N_WARM      40
#define N_ROWS      (N_BASELINE + N_FIRST + N_WARM + 4) /* and some behind */

/* Rises while the session is made, a little more at each call, and ends there. */
static int64_t used_at(int64_t base_bytes, int64_t rise_bytes, int64_t k) {
  int64_t in_first = k < N_BASELINE ? 0 : k - N_BASELINE < N_FIRST ? k - N_BASELINE : N_FIRST;
  int64_t in_warm = k < N_BASELINE + N_FIRST ? 0 : (k % 5) * rise_bytes / 40;
  return (base_bytes + rise_bytes * in_first / N_FIRST + in_warm) & ~INT64_C(4095);
}

static int64_t most_of(const int64_t *rows, int64_t width, int64_t column, int64_t from,
                       int64_t to) {
  int64_t most = ASSAY_RESULT_NONE;
  for (int64_t k = from; k < to; k++)
    if (rows[k * width + 2 + column] > most) most = rows[k * width + 2 + column];
  return most;
}

/* Figures of a column from its rows; each row's reading takes no time. */
static void fill_column(maker *m, const int64_t *rows, int64_t width, int64_t column,
                        assay_result_memory_column *out) {
  const int64_t warm = N_BASELINE + N_FIRST, end = warm + N_WARM;
  out->n_values = N_ROWS;
  out->n_baseline = N_BASELINE;
  out->n_first = N_FIRST;
  out->n_warm = N_WARM;
  out->baseline_bytes = rows[(N_BASELINE - 1) * width + 2 + column];
  out->peak_first_bytes = most_of(rows, width, column, N_BASELINE, warm);
  out->peak_warm_bytes = most_of(rows, width, column, warm, end);
  out->peak_bytes = most_of(rows, width, column, 0, N_ROWS);
  out->high_water_bytes = column == 0 ? out->peak_bytes + 4096 : ASSAY_RESULT_NONE;
  out->reason = column == 0 ? text(m, "%s", hostile_or(m, "the process has ended")) : NULL;
}

static assay_status write_memory(maker *m, const int64_t *rows, int64_t width, const char *folder,
                                 assay_result_file *out) {
  const int64_t dims[] = {N_ROWS, width};
  assay_tensor samples = {0};
  ASSAY_TRY(assay_tensor_init(&samples, ASSAY_DTYPE_I64, 2, dims, m->err));
  memcpy(samples.data, rows, (size_t)(N_ROWS * width) * sizeof *rows);
  char *path = text(m, "%s/%s", folder, ASSAY_RESULT_MEMORY_FILE);
  assay_status st = m->status ? m->status : assay_npy_write(path, &samples, m->err);
  assay_tensor_reset(&samples);
  if (st) return st;
  return assay_sha256_file(path, out->sha256, &out->size_bytes, m->err);
}

/* columns: [2]. The device's figures go with the process's. */
static assay_status fill_memory(maker *m, size_t c, const char *folder, assay_result *out,
                                assay_result_memory_column *columns,
                                assay_result_memory_device *device,
                                assay_result_memory_absence *absent, assay_result_file *file) {
  const testpack_spec *spec = m->spec;
  assay_result_memory *memory = &out->memory;
  *memory = (assay_result_memory){.known = true, .interval_ns = INTERVAL_NS};
  if (spec->no_samples) {
    memory->reason = text(m, "%s", hostile_or(m, "'/proc/17/statm': Permission denied"));
    memory->rss_meaning = "";
    return m->status;
  }
  int64_t rows[N_ROWS * 4], width = spec->device ? 4 : 3;
  int64_t rise = case_b(spec, c) * case_n(spec, c) * 40000;
  for (int64_t k = 0; k < N_ROWS; k++) {
    int64_t *row = rows + k * width;
    row[0] = START_NS + k * INTERVAL_NS + 3000;
    row[1] = 0;
    row[2] = used_at(24 * MIB, rise, k);
    if (spec->device) row[3] = used_at(600 * MIB, 3 * rise, k);
  }
  memory->start_ns = START_NS;
  memory->n_rows = N_ROWS;
  memory->max_late_ns = 3000;
  memory->session_ns = START_NS + N_BASELINE * INTERVAL_NS;
  memory->warm_ns = memory->session_ns + N_FIRST * INTERVAL_NS;
  memory->end_ns = memory->warm_ns + N_WARM * INTERVAL_NS;
  memory->rss_meaning = "resident pages";
  memory->columns = columns;
  memory->n_columns = (size_t)width - 2;
  columns[0] = (assay_result_memory_column){.name = "rss_bytes"};
  columns[1] =
      (assay_result_memory_column){.name = "used_bytes@0000:c1:00.0", .device = "0000:c1:00.0"};
  for (int64_t i = 0; i < width - 2; i++) fill_column(m, rows, width, i, &columns[i]);
  assay_result_memory_activity idle = {.used_bytes = 600 * MIB,
                                       .busy_percent = 0,
                                       .n_processes = 0,
                                       .is_whole = true,
                                       .idle = "yes",
                                       .used_reason = "",
                                       .busy_reason = "",
                                       .processes_reason = ""};
  *device = (assay_result_memory_device){.key = "0000:c1:00.0",
                                         .source = "nvml",
                                         .name = text(m, "%s", hostile_or(m, "Example GPU")),
                                         .uuid = "GPU-1",
                                         .driver = "1.0",
                                         .meaning = "used memory of the device",
                                         .total_bytes = 80 * (MIB << 10),
                                         .before = idle,
                                         .after = idle};
  *absent = (assay_result_memory_absence){
      .source = "nvml", .reason = text(m, "%s", hostile_or(m, "no libnvidia-ml.so.1"))};
  memory->devices = device;
  memory->n_devices = spec->device;
  memory->absent = absent;
  memory->n_absent = !spec->device;
  out->n_files = 2;
  return write_memory(m, rows, width, folder, file);
}

/* ---- processes ---- */

static void fill_processes(maker *m, size_t row, assay_result *out, assay_result_other *others) {
  double p50_ns = out->timing.stats.percentiles[0].value_ns, most_ns = p50_ns;
  for (size_t i = 0; i < 2; i++) {
    others[i] = (assay_result_other){.folder = text(m, "process-%zu", i + 2),
                                     .session_create_ns = 45000000,
                                     .first_run_ns = 9000000,
                                     .elapsed_ns = 1200000000,
                                     .max_rss_bytes = 200 << 20,
                                     .min_ns = (int64_t)p50_ns,
                                     .max_ns = (int64_t)(2 * p50_ns),
                                     .p50_ns = p50_ns * (1 + 0.02 * (double)(i + 1)),
                                     .outputs_identical = true};
    hash_text(row % 2 ? others[i].folder : "outputs", others[i].outputs_sha256);
    most_ns = others[i].p50_ns;
  }
  out->processes = (assay_result_processes){.known = true,
                                            .n = 3,
                                            .outputs_identical = row % 2 == 0,
                                            .p50_min_ns = p50_ns,
                                            .p50_max_ns = most_ns,
                                            .p50_spread = (most_ns - p50_ns) / p50_ns,
                                            .others = others,
                                            .n_others = 2};
}

static void fill_failure(maker *m, testpack_fault fault, assay_result *out) {
  out->timing.known = false;
  out->processes.known = false;
  out->memory.known = false;
  out->n_comparisons = 0;
  out->n_files = 0;
  out->numbers = out->timed = out->placed = ASSAY_VERDICT_UNKNOWN;
  out->completeness = ASSAY_VERDICT_FAIL;
  out->stage = fault == TESTPACK_SESSION ? ASSAY_STAGE_SESSION : ASSAY_STAGE_TIMING;
  out->status = fault == TESTPACK_SESSION     ? ASSAY_RESULT_FAILED
                : fault == TESTPACK_TIMED_OUT ? ASSAY_RESULT_TIMED_OUT
                                              : ASSAY_RESULT_CRASHED;
  out->process.exited = fault == TESTPACK_SESSION;
  out->process.exit_code = fault == TESTPACK_SESSION ? 3 : 0;
  out->process.signal = fault == TESTPACK_TIMED_OUT ? 9 : fault == TESTPACK_CRASHED ? 11 : 0;
  out->process.timed_out = fault == TESTPACK_TIMED_OUT;
  out->reason = text(m, "%s", hostile_or(m, "the worker died of signal 11 (segmentation fault)"));
}

static assay_status fill_numbers(maker *m, size_t c, size_t row, testpack_fault fault,
                                 const char *folder, assay_result *out,
                                 assay_result_comparison *comparisons) {
  static const char *const references[] = {"f32", "f64"};
  for (size_t h = 0; h < N_HEADS; h++) {
    for (size_t k = 0; k < 2; k++)
      fill_comparison(m, h, references[k], c, fault, &comparisons[2 * h + k]);
  }
  out->comparisons = comparisons;
  out->n_comparisons = (size_t)2 * N_HEADS;
  bool bad = fault == TESTPACK_NUMBERS || fault == TESTPACK_NAN || fault == TESTPACK_SHAPE ||
             m->spec->huge_error;
  out->numbers = bad ? ASSAY_VERDICT_FAIL : ASSAY_VERDICT_PASS;
  if (bad)
    out->numbers_reason =
        text(m, "%s", hostile_or(m, "head 'momentum' against f32: 3 of 450 elements"));
  out->timed = ASSAY_VERDICT_PASS;
  return fill_timing(m, c, row, folder, out);
}

static void fill_placement(maker *m, testpack_fault fault, assay_result *out,
                           assay_result_placement_count *counts) {
  static const struct {
    const char *op;
    int64_t n, us;
  } ops[] = {{"Add", 71, 900},
             {"Gemm", 12, 8000},
             {"LayerNormalization", 13, 700},
             {"MatMul", 38, 52000},
             {"Softmax", 6, 21000}};
  size_t n = sizeof ops / sizeof ops[0];
  for (size_t i = 0; i < n; i++) {
    counts[i] = (assay_result_placement_count){
        .provider = "CPUExecutionProvider",
        .op = text(m, "%s", i ? ops[i].op : hostile_or(m, ops[i].op)),
        .n_nodes = ops[i].n,
        .n_events = 3 * ops[i].n,
        .duration_us = ops[i].us};
  }
  out->placement = (assay_result_placement){.known = true,
                                            .verdict = ASSAY_VERDICT_PASS,
                                            .provider = "CPUExecutionProvider",
                                            .n_compute = 140,
                                            .n_on_provider = 140,
                                            .n_model_runs = 3,
                                            .log_agrees = true,
                                            .counts = counts,
                                            .n_counts = n};
  out->placed = ASSAY_VERDICT_PASS;
  if (fault == TESTPACK_PLACEMENT) {
    out->placement.n_on_provider = 139;
    out->placement.n_offenders = 1;
    (void)text(m, "%s", hostile_or(m, "Softmax '/layer.0/attention/Softmax' on OtherProvider"));
    out->placement.offenders = &m->strings[m->n_strings - 1];
    counts[n - 1].provider = "OtherExecutionProvider";
  }
  if (fault == TESTPACK_PLACEMENT || fault == TESTPACK_UNKNOWN) {
    out->placed = fault == TESTPACK_PLACEMENT ? ASSAY_VERDICT_FAIL : ASSAY_VERDICT_UNKNOWN;
    out->placement.verdict = out->placed;
    (void)snprintf(out->placement.reason, sizeof out->placement.reason, "%.200s",
                   hostile_or(m, "1 of 140 compute nodes ran elsewhere"));
  }
  if (fault == TESTPACK_OPTIONS) hash_text("other options", out->keys.options_sha256);
}

static assay_status write_run(maker *m, const assay_package_run *run, size_t b, size_t c,
                              size_t row, testpack_fault fault) {
  assay_result result;
  assay_result_comparison comparisons[2 * N_HEADS];
  assay_result_placement_count counts[8];
  assay_result_file files[2] = {{.file = "samples.npy"}, {.file = ASSAY_RESULT_MEMORY_FILE}};
  assay_result_memory_column columns[2];
  assay_result_memory_device device;
  assay_result_memory_absence absent;
  assay_result_other others[2];
  bool timing = run->mode == ASSAY_RESULT_TIMING;
  char *folder = text(m, "%s/%s", m->folder, run->folder);
  char *path = text(m, "%s/result.json", folder);
  if (fault == TESTPACK_MISSING) return m->status;
  if (m->status) return m->status;
  ASSAY_TRY(assay_folder_create(folder, m->err));
  if (fault == TESTPACK_BROKEN) return assay_file_write(path, "{", 1, m->err);
  fill_common(m, run, b, c, &result);
  char *warning = text(m, "%s", hostile_or(m, "2 of 100 calls were slower than the rest"));
  result.warnings = &warning;
  result.n_warnings = row % 5 == 0;
  if (timing) {
    result.files = files;
    result.n_files = 1;
    ASSAY_TRY(fill_numbers(m, c, row, fault, folder, &result, comparisons));
    if (m->spec->repeated) fill_processes(m, row, &result, others);
    if (!m->spec->no_memory)
      ASSAY_TRY(fill_memory(m, c, folder, &result, columns, &device, &absent, &files[1]));
  } else {
    fill_placement(m, fault, &result, counts);
  }
  if (fault == TESTPACK_CRASHED || fault == TESTPACK_TIMED_OUT || fault == TESTPACK_SESSION) {
    fill_failure(m, fault, &result);
  }
  return assay_result_write(&result, path, m->err);
}

static testpack_fault fault_of(const testpack_spec *spec, size_t row) {
  return spec->fault_every && row % spec->fault_every == 0 ? spec->fault : TESTPACK_NONE;
}

static assay_status write_runs(maker *m) {
  const testpack_spec *spec = m->spec;
  for (size_t i = 0; i < m->package.n_runs; i++) {
    size_t row = i / 2, c = row % spec->n_cases, b = row / spec->n_cases % spec->n_bundles;
    ASSAY_TRY(write_run(m, &m->package.runs[i], b, c, row, fault_of(spec, row)));
  }
  return ASSAY_OK;
}

/* ---- the package ---- */

static void plan(maker *m) {
  static const char *const runtimes[] = {"cpu", "cpu-1.23", "cpu-1.27", "cpu-next"};
  static const char *const bundles[] = {"attention-cld", "heptv2-cld", "attention-cms",
                                        "heptv2-cms"};
  const testpack_spec *spec = m->spec;
  assay_package *package = &m->package;
  for (size_t b = 0; b < spec->n_bundles; b++) {
    package->bundles[b].name = b < 4 ? text(m, "%s", bundles[b]) : text(m, "model-%zu", b);
    package->bundles[b].folder = text(m, "bundles/%s", package->bundles[b].name);
  }
  size_t n = 0;
  for (size_t t = 0; t < spec->n_runtimes; t++) {
    assay_package_runtime *runtime = &package->runtimes[t];
    runtime->name = t < 4 ? text(m, "%s", runtimes[t]) : text(m, "runtime-%zu", t);
    runtime->library_path = text(m, "%s", hostile_or(m, "/opt/ort/libonnxruntime.so.1.32.0"));
    runtime->library_version = "1.32.0";
    hash_text("library", runtime->library_sha256);
    hash_text(runtime->name, runtime->sha256);
    for (size_t b = 0; b < spec->n_bundles; b++) {
      for (size_t k = 0; k < 2 * spec->n_cases; k++) {
        assay_package_run *run = &package->runs[n++];
        run->mode = k % 2 ? ASSAY_RESULT_PLACEMENT : ASSAY_RESULT_TIMING;
        run->runtime = runtime->name;
        run->bundle = package->bundles[b].name;
        run->case_name = case_name(m, k / 2);
        run->folder = text(m, "runs/%s/%s/%s/%s", run->runtime, run->bundle, run->case_name,
                           assay_result_mode_name(run->mode));
      }
    }
  }
  package->n_runs = n;
}

static assay_status write_specs(maker *m) {
  static const char spec[] =
      "{\"library\":\"libonnxruntime.so\",\"provider\":\"CPUExecutionProvider\","
      "\"session\":{\"intra_threads\":1,\"inter_threads\":1},\"options\":{},\"env\":{}}";
  static const char machine[] =
      "{\"schema\":\"assay/machine/1\",\"cpu\":{\"model\":\"Example CPU\",\"n_cores\":2},"
      "\"kernel\":\"Linux 6.1\",\"memory_bytes\":8589934592}\n";
  for (size_t t = 0; t < m->spec->n_runtimes; t++) {
    ASSAY_TRY(assay_json_parse(spec, strlen(spec), &m->package.runtimes[t].spec, m->err));
  }
  char *folder = text(m, "%s/machines", m->folder);
  char *path = text(m, "%s/machines/m.json", m->folder);
  if (m->status) return m->status;
  ASSAY_TRY(assay_folder_create(folder, m->err));
  return assay_file_write(path, machine, strlen(machine), m->err);
}

static assay_status write_tree(maker *m) {
  static const char *const skip[] = {ASSAY_PACKAGE_FILE};
  memcpy(m->package.finished_at, "2026-01-31T12:10:00.000Z", 25);
  ASSAY_TRY(assay_tree_scan(m->folder, skip, 1, &m->package.files, m->err));
  return assay_tree_sha256(&m->package.files, m->package.tree_sha256, m->err);
}

static assay_status make(maker *m) {
  const testpack_spec *spec = m->spec;
  assay_package *package = &m->package;
  char *command[] = {"assay", "run",    "--bundle", text(m, "%s", hostile_or(m, "my models/a")),
                     "-o",    "package"};
  package->command = command;
  package->n_command = sizeof command / sizeof command[0];
  ASSAY_TRY(write_specs(m));
  plan(m);
  if (m->status) return m->status;
  for (size_t b = 0; b < spec->n_bundles; b++) ASSAY_TRY(write_bundle(m, b));
  ASSAY_TRY(write_runs(m));
  if (!spec->unfinished) ASSAY_TRY(write_tree(m));
  return assay_package_write(package, m->folder, m->err);
}

static void name_heads(maker *m) {
  static const char *const names[] = {"bid", "id", "momentum", "pu"};
  static const int64_t widths[] = {2, 6, 5, 2};
  char filler[LONG_BYTES + 1];
  memset(filler, 'x', LONG_BYTES);
  filler[LONG_BYTES] = 0;
  for (size_t h = 0; h < N_HEADS; h++) {
    char *name = !m->spec->hostile ? text(m, "%s", names[h])
                 : h == 0          ? text(m, "%s", testpack_hostile)
                 : h == 1          ? text(m, "%s", filler)
                                   : text(m, "=HYPERLINK(\"%s\")", names[h]);
    m->heads[h] = (head_spec){.name = name,
                              .width = widths[h],
                              .kind = h == 2 ? ASSAY_HEAD_REGRESSION : ASSAY_HEAD_CLASSES};
  }
}

assay_status testpack_write(const testpack_spec *spec, const char *folder, assay_error *err) {
  maker m = {.spec = spec, .folder = folder, .err = err, .random = 42};
  size_t n_rows = spec->n_runtimes * spec->n_bundles * spec->n_cases;
  m.strings = assay_alloc_array(N_STRINGS, sizeof *m.strings);
  m.cases = assay_alloc_array(spec->n_bundles * spec->n_cases, sizeof *m.cases);
  m.sizes = assay_alloc_array(spec->n_cases * 4, sizeof *m.sizes);
  m.package = (assay_package){.tool_version = "0.1.0",
                              .iterations = N_SAMPLES,
                              .warmup = 10,
                              .threads = 1,
                              .placement_runs = 3,
                              .processes = spec->repeated ? 3 : 1,
                              .timeout_ns = 1800000000000,
                              .machine = "machines/m.json",
                              .n_runtimes = spec->n_runtimes,
                              .n_bundles = spec->n_bundles};
  m.package.runtimes = assay_alloc_array(spec->n_runtimes, sizeof *m.package.runtimes);
  m.package.bundles = assay_alloc_array(spec->n_bundles, sizeof *m.package.bundles);
  m.package.runs = assay_alloc_array(2 * n_rows, sizeof *m.package.runs);
  memcpy(m.package.started_at, "2026-01-31T12:00:00.000Z", 25);
  hash_text("tool", m.package.tool_sha256);
  assay_status st =
      m.strings && m.cases && m.sizes && m.package.runtimes && m.package.bundles && m.package.runs
          ? ASSAY_OK
          : assay_fail_memory(err, n_rows);
  if (st == ASSAY_OK) {
    name_heads(&m);
    st = make(&m);
  }
  for (size_t t = 0; m.package.runtimes && t < spec->n_runtimes; t++)
    assay_json_destroy(m.package.runtimes[t].spec);
  for (size_t i = 0; m.strings && i < m.n_strings; i++) assay_free(m.strings[i]);
  assay_tree_reset(&m.package.files);
  assay_free(m.package.runs);
  assay_free(m.package.bundles);
  assay_free(m.package.runtimes);
  assay_free(m.sizes);
  assay_free(m.cases);
  assay_free(m.strings);
  return st;
}
