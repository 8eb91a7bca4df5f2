/* assay export: builds a bundle of an MLPF model with cases and references. Parses, calls
 * campaign/bundle_export, prints. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "campaign/bundle_export.h"
#include "campaign/bundle_weights.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "cli/tolerance.h"
#include "reference/ref_mlpf.h"

#define LIST_MAX       256
#define SIZE_VALUE_MAX (INT64_C(1) << 24) /* elements of a case (bundle_case.c) */

/* Keys of options without a short form: outside the characters. */
enum {
  KEY_MODEL = 256,
  KEY_PRESET,
  KEY_CONFIG,
  KEY_SEED,
  KEY_CHECKPOINT,
  KEY_WEIGHTS,
  KEY_LAYERS,
  KEY_ATTENTION,
  KEY_MASK_FORM,
  KEY_DTYPE,
  KEY_SHAPES,
  KEY_KEY_MASK,
  KEY_PHI,
  KEY_INPUTS,
  KEY_SWEEP,
  KEY_BATCHES,
  KEY_BATCH_N,
  KEY_POOL,
  KEY_DATASET,
  KEY_DATA_DIR,
  KEY_SPLIT,
  KEY_EVENTS,
  KEY_PAD_TO,
  KEY_ATOL,
  KEY_RTOL,
  KEY_THREADS,
  KEY_NAME,
  KEY_PERMUTATIONS,
  KEY_FORCE,
  KEY_JSON
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "The model:", 1},
    {"model", KEY_MODEL, "ARCH", 0, "attention or heptv2 (a configuration file may say it instead)",
     0},
    {"preset", KEY_PRESET, "NAME", 0,
     "cld (default), cms or clic: features, classes and element types of that detector, 3 layers "
     "of "
     "8 heads, width 128",
     0},
    {"config", KEY_CONFIG, "FILE", 0,
     "the model's configuration: a training's hyperparameters.json or model_kwargs.pkl (read as "
     "data, never executed), or {\"dataset\": …, \"model\": {…}}",
     0},
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0,
     "trained weights: a .pth file of torch.save, read as data and never executed. They must be "
     "exactly those of --config, which is needed beside it; only the training's own "
     "task_loss_weighter.* are left out. An older configuration may lack backbone.mode and "
     "task_queries: the weights' names tell them",
     0},
    {"weights", KEY_WEIGHTS, "FILE", 0,
     "weights as a .safetensors or .npz file under the model's own names, just as strictly, for "
     "--config or --preset",
     0},
    {"seed", KEY_SEED, "N", 0,
     "weights as torch.manual_seed(N) gives them, bit for bit (42); its low 32 bits matter", 0},
    {"layers", KEY_LAYERS, "L", 0, "backbone layers", 0},
    {"key-mask", KEY_KEY_MASK, "WHICH", 0,
     "which keys attention admits: all (padding masked everywhere; default for attention) or "
     "upstream "
     "(as the training code's dense path: in the readouts alone; default for heptv2)",
     0},
    {"phi", KEY_PHI, "HOW", 0,
     "HEPTv2's azimuth: strict (default; the same bits on every runtime) or native (the runtime's "
     "arctangent)",
     0},
    {"attention", KEY_ATTENTION, "FORM", 0,
     "decomposed (default), attention24 (the standard's Attention, opset 24: ONNX Runtime 1.24 or "
     "later) or mha (com.microsoft MultiHeadAttention); HEPTv2's buckets stay decomposed",
     0},
    {"mask-form", KEY_MASK_FORM, "FORM", 0,
     "how attention24 is told of padding: bool (default), float (added to the scores; the only one "
     "of the other forms) or nonpad (a count of valid elements, for kernels that take no mask; "
     "masks with holes are refused)",
     0},
    {"dtype", KEY_DTYPE, "TYPE", 0,
     "float32 (default) or float16: attention in half precision, from its projections to its "
     "output "
     "projection; inputs, outputs, hashing, softmax, norms, feed-forward blocks and heads in "
     "float32",
     0},
    {"shapes", KEY_SHAPES, "KIND", 0,
     "dynamic (default: symbolic B and N) or static (one graph for each shape of the cases)", 0},
    {"permutations", KEY_PERMUTATIONS, NULL, 0,
     "HEPTv2: an instrumented graph that also gives its hash permutations, which are compared "
     "exactly",
     0},
    {NULL, 0, NULL, 0,
     "Cases (without any of --inputs, --dataset, --sweep, --batches: --sweep "
     "100,500,1000,2000,4000 --batches 2,4, the controlled cases):",
     2},
    {"inputs", KEY_INPUTS, "FILE", 0,
     "a case from an .npz file with Xfeat_normed [B,N,F] and mask [B,N], float32, and references "
     "bid, id, momentum, pu if you bring some; may be repeated",
     0},
    {"dataset", KEY_DATASET, "NAME/CONFIG:VERSION", 0,
     "cases from a TFDS dataset in --data-dir (or the folder of a version itself); may be "
     "repeated. "
     "Each event is a case, and with several datasets the first event of each together are one "
     "more. Rows of element type 0 are removed, features are as stored, and padding is the least "
     "that the model takes",
     0},
    {"data-dir", KEY_DATA_DIR, "FOLDER", 0, "where datasets lie: FOLDER/NAME/CONFIG/VERSION", 0},
    {"split", KEY_SPLIT, "NAME", 0, "split of the datasets (test)", 0},
    {"events", KEY_EVENTS, "I,I,...", 0, "which events of each dataset, from 0 (0,1)", 0},
    {"pad-to", KEY_PAD_TO, "N", 0,
     "padded length of the datasets' events; one that cuts an event is refused", 0},
    {"sweep", KEY_SWEEP, "N,N,...", 0, "cases of one event of these padded lengths", 0},
    {"batches", KEY_BATCHES, "B,B,...", 0, "cases of so many events", 0},
    {"batch-n", KEY_BATCH_N, "N", 0, "padded length of the cases of --batches (1000)", 0},
    {"pool", KEY_POOL, "FILE", 0,
     "rows for --sweep and --batches: an .npz file with X [M,F] float32, repeated to the asked "
     "shape (default: built-in rows that look like detector elements). The last tenth of each "
     "event is "
     "padding",
     0},
    {"atol", KEY_ATOL, "[HEAD:]X", 0, "absolute tolerance of all heads or one (1e-3)", 0},
    {"rtol", KEY_RTOL, "[HEAD:]X", 0, "relative tolerance of all heads or one (3e-3)", 0},
    {NULL, 0, NULL, 0, "Output:", 3},
    {"output", 'o', "FOLDER", 0, "where the bundle goes", 0},
    {"name", KEY_NAME, "NAME", 0,
     "the bundle's name in results (from architecture, data set and seed)", 0},
    {"force", KEY_FORCE, NULL, 0, "replace a bundle that is there (never anything else)", 0},
    {"threads", KEY_THREADS, "N", 0, "threads that compute the references (1)", 0},
    {"json", KEY_JSON, NULL, 0, "print the summary as JSON", 0},
    {0}};

static const char doc[] =
    "Builds a bundle: the model as an ONNX file, cases with reference outputs that share nothing "
    "with it "
    "but the weights, and a manifest.\v"
    "Examples:\n"
    "  assay export --model heptv2 --seed 42 --sweep 100,1000 -o bundle\n"
    "  assay export --checkpoint exp/checkpoints/checkpoint-100000.pth \\\n"
    "    --config exp/model_kwargs.pkl \\\n"
    "    --dataset cms_pf_ttbar/1:3.0.0 --data-dir tfds -o bundle\n"
    "  assay run --bundle bundle -o package";

typedef struct export_args {
  assay_export_spec spec; /* but its config, name and cases' defaults */
  const char *model, *preset, *config, *output;
  const char *checkpoint, *weights;          /* at most one of them */
  bool seeded;                               /* --seed was given */
  const char *key_mask, *phi;                /* NULL: not asked for */
  const char *attention, *mask_form, *dtype; /* the same */
  assay_mlpf_plan_config plan;
  int64_t layers;      /* -1: not asked for */
  const char **inputs; /* room for argc, as in the next two */
  const char **datasets;
  assay_export_tolerance *tolerances;
  int64_t sweep[LIST_MAX], batches[LIST_MAX], events[LIST_MAX];
  bool json;
} export_args;

/* --- options
 * ----------------------------------------------------------------------------------------- */

/* One of n words, or a refusal that names them. */
static error_t need_word(const struct argp_state *state, const char *option, const char *word,
                         const char *const *words, size_t n) {
  char known[128] = "";
  for (size_t i = 0; i < n; i++) {
    if (strcmp(word, words[i]) == 0) return 0;
    const size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i ? " or " : "", words[i]);
  }
  const char *nearest = assay_text_nearest(word, words, n);
  return assay_cli_usage(state, "--%s is '%s'; expected %s%s%s%s", option, word, known,
                         nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
}

#define NEED_WORD(option, ...)                                                                     \
  need_word(state, option, word, (const char *const[]){__VA_ARGS__},                               \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static error_t take_int(const struct argp_state *state, const char *what, const char *word,
                        int64_t low, int64_t high, int64_t *out) {
  assay_error err = {0};
  return assay_text_parse_int(word, what, low, high, out, &err) ? assay_cli_refuse(state, &err) : 0;
}

/* What torch.manual_seed takes: 0 to 2^64-1, and -2^63 to -1 for the same bits. */
static error_t take_seed(const struct argp_state *state, const char *word, uint64_t *out) {
  int64_t value = 0;
  if (assay_text_parse_int(word, "--seed", INT64_MIN, INT64_MAX, &value, /*err=*/NULL) ==
      ASSAY_OK) {
    *out = (uint64_t)value;
    return 0;
  }
  if (assay_text_parse_u64(word, "--seed", out, /*err=*/NULL) == ASSAY_OK) return 0;
  return assay_cli_usage(state,
                         "--seed is '%s'; expected an integer from -2^63 to 2^64-1, as of "
                         "torch.manual_seed",
                         word);
}

/* "100,500" onto the list's end */
static error_t take_list(const struct argp_state *state, const char *what, const char *word,
                         int64_t low, int64_t high, int64_t *list, size_t *n) {
  char item[32];
  for (const char *at = word;; at++) {
    const size_t length = strcspn(at, ",");
    if (*n == LIST_MAX) return assay_cli_usage(state, "%s has more than %d values", what, LIST_MAX);
    if (length >= sizeof item)
      return assay_cli_usage(state, "%s is '%s'; expected integers with commas between", what,
                             word);
    memcpy(item, at, length);
    item[length] = '\0';
    const error_t e = take_int(state, what, item, low, high, &list[*n]);
    if (e) return e;
    (*n)++;
    at += length;
    if (*at == '\0') return 0;
  }
}

static error_t parse_model_option(int key, char *word, struct argp_state *state) {
  export_args *a = state->input;
  switch (key) {
  case KEY_MODEL:
    a->model = word;
    return NEED_WORD("model", "attention", "heptv2");
  case KEY_PRESET:
    a->preset = word;
    return NEED_WORD("preset", "cld", "cms", "clic");
  case KEY_CONFIG:
    a->config = word;
    return 0;
  case KEY_SEED:
    a->seeded = true;
    return take_seed(state, word, &a->spec.seed);
  case KEY_CHECKPOINT:
    a->checkpoint = word;
    return 0;
  case KEY_WEIGHTS:
    a->weights = word;
    return 0;
  case KEY_LAYERS:
    return take_int(state, "--layers", word, 0, 1024, &a->layers);
  case KEY_KEY_MASK:
    a->key_mask = word;
    return NEED_WORD("key-mask", "all", "upstream");
  case KEY_PHI:
    a->phi = word;
    return NEED_WORD("phi", "strict", "native");
  case KEY_ATTENTION:
    a->attention = word;
    return NEED_WORD("attention", "decomposed", "attention24", "mha");
  case KEY_MASK_FORM:
    a->mask_form = word;
    return NEED_WORD("mask-form", "float", "bool", "nonpad");
  case KEY_DTYPE:
    a->dtype = word;
    return NEED_WORD("dtype", "float32", "float16");
  case KEY_SHAPES:
    a->spec.static_shapes = strcmp(word, "static") == 0;
    return NEED_WORD("shapes", "dynamic", "static");
  case KEY_PERMUTATIONS:
    a->spec.permutations = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse_case_option(int key, char *word, struct argp_state *state) {
  export_args *a = state->input;
  switch (key) {
  case KEY_INPUTS:
    a->inputs[a->spec.n_inputs++] = word;
    return 0;
  case KEY_SWEEP:
    return take_list(state, "--sweep", word, 1, SIZE_VALUE_MAX, a->sweep, &a->spec.n_sweep);
  case KEY_BATCHES:
    return take_list(state, "--batches", word, 1, SIZE_VALUE_MAX, a->batches, &a->spec.n_batches);
  case KEY_BATCH_N:
    return take_int(state, "--batch-n", word, 1, SIZE_VALUE_MAX, &a->spec.batch_n);
  case KEY_POOL:
    a->spec.pool = word;
    return 0;
  case KEY_DATASET:
    a->datasets[a->spec.n_datasets++] = word;
    return 0;
  case KEY_DATA_DIR:
    a->spec.data_dir = word;
    return 0;
  case KEY_SPLIT:
    a->spec.split = word;
    return 0;
  case KEY_EVENTS:
    return take_list(state, "--events", word, 0, INT64_MAX, a->events, &a->spec.n_events);
  case KEY_PAD_TO:
    return take_int(state, "--pad-to", word, 1, SIZE_VALUE_MAX, &a->spec.pad_to);
  case KEY_ATOL:
    return assay_cli_take_tolerance(state, /*relative=*/false, word,
                                    &a->tolerances[a->spec.n_tolerances++]);
  case KEY_RTOL:
    return assay_cli_take_tolerance(state, /*relative=*/true, word,
                                    &a->tolerances[a->spec.n_tolerances++]);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse_option(int key, char *word, struct argp_state *state) {
  export_args *a = state->input;
  int64_t threads = 0;
  assay_error err = {0};
  error_t e = 0;
  switch (key) {
  case 'o':
    a->output = word;
    return 0;
  case KEY_NAME:
    a->spec.name = word;
    return 0;
  case KEY_FORCE:
    a->spec.force = true;
    return 0;
  case KEY_THREADS:
    if (assay_cli_parse_threads(word, ASSAY_REF_THREADS_MAX, &threads, &err))
      return assay_cli_refuse(state, &err);
    a->spec.threads = (int)threads;
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  default:
    e = parse_model_option(key, word, state);
    return e == ARGP_ERR_UNKNOWN ? parse_case_option(key, word, state) : e;
  }
}

/* --- what the options mean together
 * ------------------------------------------------------------------ */

/* Weights need a configuration, and leave a seed nothing to do. */
static assay_status check_weights(const export_args *a, assay_error *err) {
  const char *option = a->checkpoint ? "--checkpoint" : "--weights";
  if (a->checkpoint == NULL && a->weights == NULL) return ASSAY_OK;
  if (a->checkpoint != NULL && a->weights != NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--checkpoint and --weights both give the weights; leave one out");
  if (a->seeded)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--seed has no effect beside %s, which gives the weights; leave one out",
                      option);
  if (a->config != NULL) return ASSAY_OK;
  if (a->checkpoint != NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--checkpoint needs --config FILE: weights do not tell the number of heads "
                      "and the activation; trainings leave model_kwargs.pkl and "
                      "hyperparameters.json beside the folder of checkpoints");
  if (a->preset == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--weights needs the configuration that they are of: --config FILE, or "
                      "--model and --preset");
  return ASSAY_OK;
}

/* Options that choose events do so only where a dataset gives them. */
static assay_status check_datasets(const export_args *a, assay_error *err) {
  const struct {
    const char *option;
    bool given;
  } rows[] = {{"--data-dir", a->spec.data_dir != NULL},
              {"--split", a->spec.split != NULL},
              {"--events", a->spec.n_events > 0},
              {"--pad-to", a->spec.pad_to > 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && a->spec.n_datasets == 0; i++)
    if (rows[i].given)
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s has no effect without --dataset",
                        rows[i].option);
  return ASSAY_OK;
}

/* Options that are missing, or would change nothing. */
static assay_status check_options(const export_args *a, assay_error *err) {
  const bool own_cases =
      a->spec.n_inputs + a->spec.n_sweep + a->spec.n_batches + a->spec.n_datasets > 0;
  if (a->output == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT, "where should the bundle go? give -o FOLDER");
  if (a->checkpoint != NULL && a->config == NULL) return check_weights(a, err);
  if (a->model == NULL && a->config == NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "which model? give --model attention, --model heptv2 or --config FILE");
  if (a->preset != NULL && a->config != NULL)
    return assay_fail(
        err, ASSAY_E_ARGUMENT,
        "--preset has no effect beside --config, whose dataset decides; leave one out");
  if (a->spec.batch_n != 0 && own_cases && a->spec.n_batches == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT, "--batch-n has no effect without --batches");
  if (a->spec.pool != NULL && own_cases && a->spec.n_sweep + a->spec.n_batches == 0)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--pool has no effect without --sweep or --batches: --inputs and --dataset "
                      "bring their own rows");
  ASSAY_TRY(check_datasets(a, err));
  return check_weights(a, err);
}

static assay_status read_config(const export_args *a, assay_bundle_config *out, assay_error *err) {
  if (a->config == NULL)
    return assay_mlpf_config_init_preset(a->model, a->preset ? a->preset : "cld", &out->config,
                                         err);
  return assay_bundle_config_read(a->config, a->model, out, err);
}

static assay_status make_config(const export_args *a, assay_bundle_config *file,
                                assay_mlpf_config *out, assay_error *err) {
  ASSAY_TRY(read_config(a, file, err));
  *out = file->config;
  if (out->arch != ASSAY_MLPF_HEPTV2 && a->phi != NULL)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--phi has no effect on the attention model, which does not compute phi");
  if (out->arch != ASSAY_MLPF_HEPTV2 && a->spec.permutations)
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "--permutations has no effect on the attention model, which does not hash");
  if (a->layers >= 0) out->num_convs = a->layers;
  if (a->key_mask != NULL)
    out->key_mask =
        strcmp(a->key_mask, "all") == 0 ? ASSAY_MLPF_KEY_MASK_ALL : ASSAY_MLPF_KEY_MASK_UPSTREAM;
  if (a->phi != NULL)
    out->phi = strcmp(a->phi, "strict") == 0 ? ASSAY_MLPF_PHI_STRICT : ASSAY_MLPF_PHI_NATIVE;
  return assay_mlpf_config_check(out, err);
}

/* Which of --attention's or --mask-form's words; they were checked when they were read. */
static int form_of(const char *word, const char *(*name)(int form)) {
  int form = 0;
  while (strcmp(word, name(form)) != 0) form++;
  return form;
}

static const char *attention_name(int form) {
  return assay_mlpf_attention_form_name((assay_mlpf_attention_form)form);
}

static const char *mask_name(int form) {
  return assay_mlpf_mask_form_name((assay_mlpf_mask_form)form);
}

static assay_status make_plan(export_args *a, assay_error *err) {
  assay_mlpf_attention_form attention = ASSAY_MLPF_DECOMPOSED;
  const assay_dtype dtype = a->dtype ? assay_dtype_of_name(a->dtype) : ASSAY_DTYPE_F32;
  if (a->attention != NULL)
    attention = (assay_mlpf_attention_form)form_of(a->attention, attention_name);
  ASSAY_TRY(assay_mlpf_plan_config_init(dtype, attention, &a->plan, err));
  a->spec.plan = &a->plan;
  if (a->mask_form == NULL) return ASSAY_OK;
  a->plan.mask = (assay_mlpf_mask_form)form_of(a->mask_form, mask_name);
  if (a->plan.mask == ASSAY_MLPF_MASK_FLOAT || attention == ASSAY_MLPF_ATTENTION24) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT, "--mask-form %s needs --attention attention24",
                    a->mask_form);
}

/* --- talking
 * ----------------------------------------------------------------------------------------- */

/* One line that is written over, on a terminal only. */
static void show_progress(void *arg, const char *step, size_t done, size_t total) {
  (void)arg;
  fprintf(stderr, "\r\033[K[%zu/%zu] %s", done, total, step);
  fflush(stderr);
}

static void clear_progress(const assay_export_spec *spec) {
  if (spec->progress != NULL) fputs("\r\033[K", stderr);
}

static void print_text(const char *path, const assay_export_spec *spec,
                       const assay_export_result *r) {
  printf("bundle     %s\n", path);
  printf("name       %s\n", r->name);
  printf("model      %s  %s, %zu graph%s\n", r->model_sha256,
         assay_mlpf_arch_name(spec->config.arch), r->n_graphs, r->n_graphs == 1 ? "" : "s");
  printf("weights    %s  %zu tensors, %zu values\n", r->weights_sha256, r->n_tensors, r->n_values);
  printf("attention  %lld operations in the graph", (long long)r->attention_ops);
  if (r->fused_attention_ops > 0) printf(", %lld fused", (long long)r->fused_attention_ops);
  printf("\n");
  printf("cases      %zu, with float32 and float64 references\n", r->n_cases);
  printf("size       %.1f MB\n", (double)r->size_bytes * 1e-6);
  printf("time       %.1f s, %.1f s of it for the references\n", (double)r->elapsed_ns * 1e-9,
         (double)r->reference_ns * 1e-9);
}

static assay_status print_json(const char *path, const assay_export_spec *spec,
                               const assay_export_result *r, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "schema", "assay/export/1");
  assay_json_put_string(b, "bundle", path);
  assay_json_put_string(b, "name", r->name);
  assay_json_put_string(b, "architecture", assay_mlpf_arch_name(spec->config.arch));
  assay_json_put_string(b, "model_sha256", r->model_sha256);
  assay_json_put_string(b, "weights_sha256", r->weights_sha256);
  assay_json_put_string(b, "weights_sha256_no_queries", r->weights_sha256_no_queries);
  assay_json_put_int(b, "n_tensors", (int64_t)r->n_tensors);
  assay_json_put_int(b, "n_values", (int64_t)r->n_values);
  assay_json_put_int(b, "n_graphs", (int64_t)r->n_graphs);
  assay_json_put_int(b, "attention_ops", r->attention_ops);
  assay_json_put_int(b, "fused_attention_ops", r->fused_attention_ops);
  assay_mlpf_plan_config_put(spec->plan, b, "plan");
  assay_json_put_int(b, "n_cases", (int64_t)r->n_cases);
  assay_json_put_int(b, "size_bytes", (int64_t)r->size_bytes);
  assay_json_put_int(b, "reference_ns", r->reference_ns);
  assay_json_put_int(b, "elapsed_ns", r->elapsed_ns);
  assay_json_end(b);
  return assay_cli_print_json(b, err);
}

static assay_status export_bundle(export_args *a, assay_error *err) {
  assay_export_spec *spec = &a->spec;
  assay_export_result result = {0};
  spec->inputs = a->inputs;
  spec->datasets = a->datasets;
  spec->events = spec->n_events > 0 ? a->events : NULL;
  spec->sweep = a->sweep;
  spec->batches = a->batches;
  spec->tolerances = a->tolerances;
  if (isatty(STDERR_FILENO)) spec->progress = show_progress;
  spec->cancelled = assay_stop_asked;
  assay_stop_catch();
  const assay_status st = assay_bundle_export(spec, a->output, &result, err);
  clear_progress(spec);
  if (st) return st;
  if (a->json) return print_json(a->output, spec, &result, err);
  print_text(a->output, spec, &result);
  return ASSAY_OK;
}

/* Differences between weights and configuration are lines of their own behind the first one. */
static assay_status export_as_asked(export_args *a, assay_mlpf_differences *differences,
                                    assay_error *err) {
  assay_bundle_config config = {0};
  assay_bundle_weights weights = {0};
  const char *path = a->checkpoint ? a->checkpoint : a->weights;
  ASSAY_TRY(check_options(a, err));
  ASSAY_TRY(make_config(a, &config, &a->spec.config, err));
  ASSAY_TRY(make_plan(a, err));
  if (path == NULL) return export_bundle(a, err);
  ASSAY_TRY(assay_bundle_weights_read(path, &a->spec.config, a->config ? &config : NULL, &weights,
                                      differences, err));
  a->spec.weights = &weights.tensors;
  a->spec.weights_name = weights.name;
  a->spec.weights_about = weights.about;
  const assay_status st = export_bundle(a, err);
  assay_bundle_weights_reset(&weights);
  return st;
}

static int fail(const assay_mlpf_differences *differences, const assay_error *err) {
  const int status = assay_cli_fail("export", err);
  for (size_t i = 0; i < differences->n; i++) fprintf(stderr, "  %s\n", differences->items[i]);
  return status;
}

int assay_cmd_export(int argc, char **argv) {
  static const struct argp argp = {.options = options, .parser = parse_option, .doc = doc};
  export_args a = {.spec = {.seed = 42}, .layers = -1};
  assay_mlpf_differences differences = {0};
  assay_error err = {0};
  int status = ASSAY_EXIT_DONE;
  a.inputs = assay_alloc_array((size_t)argc, sizeof *a.inputs);
  a.datasets = assay_alloc_array((size_t)argc, sizeof *a.datasets);
  a.tolerances = assay_alloc_array((size_t)argc, sizeof *a.tolerances);
  if (a.inputs == NULL || a.datasets == NULL || a.tolerances == NULL) {
    (void)assay_fail_memory(&err, (size_t)argc * sizeof *a.tolerances);
  } else if (assay_cli_parse("export", &argp, argc, argv, &a, &status)) {
    status = ASSAY_EXIT_DONE;
    (void)!export_as_asked(&a, &differences, &err);
  }
  if (err.status) status = fail(&differences, &err);
  assay_mlpf_differences_reset(&differences);
  assay_free(a.inputs);
  assay_free(a.datasets);
  assay_free(a.tolerances);
  return status;
}
