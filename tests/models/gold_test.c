/* The evaluator and the exported graph, each against outputs of the upstream model under PyTorch
 * (testdata/gold): the weights by hash, FP64 and FP32 outputs, HEPTv2's permutations index by
 * index. The graph runs on ONNX Runtime ($ASSAY_ORT; skipped by name without it). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_graph.h"
#include "model/mlpf_params.h"
#include "package/npz.h"
#include "reference/ref_mlpf.h"
#include "runtime/ort.h"

#define CASES_MAX 64

/* FP64 against FP64: with PyTorch's phi (correctly rounded atan2) and with the strict polynomial,
 * which moves positional embeddings by up to 1.8 ulp of FP32. */
#define F64_NATIVE_TOL 1e-11
#define F64_STRICT_TOL 1e-7
/* FP32: twice what PyTorch's own FP32 run differs from its FP64 run, per head: another order of
 * summation. */
#define F32_FACTOR 2.0
/* The runtime's FP32: its kernels sum in yet another order; models.md section E. A wrong bucket
 * shows as 1e-2. */
#define ORT_TOL 2e-5

static const char *const head_names[] = {"bid", "id", "momentum", "pu"};

typedef struct gold_case {
  char name[128];
  const assay_json *config; /* of the configuration's table */
  const assay_json *spec;   /* of the case */
  const char *configuration;
} gold_case;

static assay_json *document;
static gold_case cases[CASES_MAX];
static char folder[1024];

static void check_ok(assay_status status, const assay_error *err, const char *what) {
  if (status) fail_msg("%s: %s: %s", what, assay_status_name(status), err->text);
}

/* Largest |got - want|, element by element; NaN anywhere gives NaN. */
static double max_abs_diff(const assay_tensor *got, const assay_tensor *want, size_t *out_at) {
  double worst = 0;
  assert_int_equal(got->n_elems, want->n_elems);
  for (size_t i = 0; i < got->n_elems; i++) {
    double d = fabs(assay_tensor_get_real(got, i) - assay_tensor_get_real(want, i));
    if (!(d <= worst)) {
      worst = d;
      *out_at = i;
      if (isnan(d)) break;
    }
  }
  return worst;
}

static void check_close(const char *case_name, const char *what, const char *head,
                        const assay_tensor *got, const assay_tensor *want, double tolerance) {
  size_t at = 0;
  assert_non_null(got);
  assert_non_null(want);
  double worst = max_abs_diff(got, want, &at);
  if (!(worst <= tolerance))
    fail_msg("%s, %s, %s[%zu]: got %.17g, expected %.17g: differs by %.3g, allowed %.3g", case_name,
             what, head, at, assay_tensor_get_real(got, at), assay_tensor_get_real(want, at), worst,
             tolerance);
}

static void check_equal_ints(const char *case_name, const char *what, const assay_tensor *got,
                             size_t got_offset, const assay_tensor *want, size_t want_offset,
                             size_t n) {
  for (size_t i = 0; i < n; i++) {
    double g = assay_tensor_get_real(got, got_offset + i),
           w = assay_tensor_get_real(want, want_offset + i);
    if (g != w) fail_msg("%s, %s[%zu]: got %.0f, expected %.0f", case_name, what, i, g, w);
  }
}

typedef struct loaded {
  assay_mlpf_config config;
  assay_tensor_map weights;
  assay_tensor_map arrays;
} loaded;

static void load(const gold_case *c, loaded *out) {
  assay_error err = {0};
  char path[1280];
  int64_t seed = 0;
  const char *file = NULL;
  memset(out, 0, sizeof *out);
  check_ok(assay_json_need_string(c->spec, "file", &file, &err), &err, "file");
  check_ok(assay_json_need_int(c->spec, "seed", 0, INT64_MAX, &seed, &err), &err, "seed");
  snprintf(path, sizeof path, "%s/%s", folder, file);
  check_ok(assay_npz_read(path, NULL, &out->arrays, &err), &err, path);
  check_ok(assay_mlpf_config_parse(assay_json_get(c->config, "config"), NULL, &out->config, &err),
           &err, c->configuration);
  check_ok(assay_mlpf_seed_weights(&out->config, (uint64_t)seed, &out->weights, NULL, &err), &err,
           "seed");
}

static void unload(loaded *l) {
  assay_tensor_map_reset(&l->weights);
  assay_tensor_map_reset(&l->arrays);
}

/* "bid", "_masked", "_f64": the array "bid_masked_f64". pu is zero everywhere: only the plain array
 * is stored. */
static const assay_tensor *gold_array(const loaded *l, const char *head, const char *mask,
                                      const char *precision) {
  char name[64];
  if (strcmp(head, "pu") == 0) return assay_tensor_map_find(&l->arrays, "pu");
  snprintf(name, sizeof name, "%s%s%s", head, mask, precision);
  return assay_tensor_map_find(&l->arrays, name);
}

static double stated_difference(const gold_case *c, const char *mask, const char *head) {
  const char *key = *mask ? "f32_vs_f64_masked" : "f32_vs_f64";
  assay_error err = {0};
  double v = 0;
  check_ok(assay_json_need_real(assay_json_get(c->spec, key), head, &v, &err), &err, "f32_vs_f64");
  return v;
}

static bool has_negative_zero_sine(const gold_case *c) {
  return strstr(c->name, "negzero") != NULL;
}

static void run_reference(const loaded *l, assay_dtype dtype, assay_ref_outputs *out) {
  assay_error err = {0};
  check_ok(assay_ref_mlpf_run(&l->config, &l->weights, dtype,
                              assay_tensor_map_find(&l->arrays, "Xfeat_normed"),
                              assay_tensor_map_find(&l->arrays, "mask"), NULL, out, &err),
           &err, "evaluator");
}

/* Each key mask that the gold file has arrays for. */
static const struct mask_form {
  assay_mlpf_key_mask key_mask;
  const char *suffix;
} mask_forms[] = {{ASSAY_MLPF_KEY_MASK_UPSTREAM, ""}, {ASSAY_MLPF_KEY_MASK_ALL, "_masked"}};

static void evaluator_agrees(void **state) {
  const gold_case *c = *state;
  loaded l;
  load(c, &l);
  for (size_t m = 0; m < 2; m++) {
    if (!gold_array(&l, "bid", mask_forms[m].suffix, "_f64")) continue;
    l.config.key_mask = mask_forms[m].key_mask;
    for (int strict = 0; strict < 2; strict++) {
      if (strict && has_negative_zero_sine(c))
        continue; /* models.md H.5: strict phi is +pi there */
      assay_ref_outputs f32 = {0}, f64 = {0};
      l.config.phi = strict ? ASSAY_MLPF_PHI_STRICT : ASSAY_MLPF_PHI_NATIVE;
      run_reference(&l, ASSAY_DTYPE_F64, &f64);
      run_reference(&l, ASSAY_DTYPE_F32, &f32);
      for (size_t h = 0; h < 4; h++) {
        const char *head = head_names[h];
        check_close(c->name, "FP64", head, assay_tensor_map_find(&f64.heads, head),
                    gold_array(&l, head, mask_forms[m].suffix, "_f64"),
                    strict ? F64_STRICT_TOL : F64_NATIVE_TOL);
        check_close(c->name, "FP32", head, assay_tensor_map_find(&f32.heads, head),
                    gold_array(&l, head, mask_forms[m].suffix, ""),
                    F32_FACTOR * stated_difference(c, mask_forms[m].suffix, head));
      }
      const assay_tensor *perm = assay_tensor_map_find(&l.arrays, "perm");
      if (perm) {
        assert_int_equal(f32.perm.n_elems, perm->n_elems);
        check_equal_ints(c->name, "permutation", &f32.perm, 0, perm, 0, perm->n_elems);
        check_equal_ints(c->name, "FP64 run's permutation", &f64.perm, 0, perm, 0, perm->n_elems);
      }
      assay_ref_outputs_reset(&f32);
      assay_ref_outputs_reset(&f64);
    }
  }
  unload(&l);
}

static void run_graph(assay_ort *ort, const loaded *l, bool is_static, const char *path,
                      assay_tensor_map *out) {
  assay_error err = {0};
  const assay_tensor *x = assay_tensor_map_find(&l->arrays, "Xfeat_normed");
  assay_mlpf_graph_options options = {.expose_permutations = l->config.arch == ASSAY_MLPF_HEPTV2};
  assay_graph *graph = NULL;
  assay_ort_session *session = NULL;
  assay_tensor_map inputs = {0};
  assay_tensor copy;
  if (is_static) {
    options.static_b = x->dims[0];
    options.static_n = x->dims[1];
  }
  check_ok(assay_mlpf_graph_build(&l->config, &l->weights, &options, &graph, &err), &err, "graph");
  check_ok(assay_graph_save(graph, path, &err), &err, path);
  assay_graph_destroy(graph);
  const char *const names[] = {"Xfeat_normed", "mask"};
  for (size_t i = 0; i < 2; i++) {
    check_ok(assay_tensor_copy(&copy, assay_tensor_map_find(&l->arrays, names[i]), &err), &err,
             names[i]);
    check_ok(assay_tensor_map_add(&inputs, names[i], &copy, &err), &err, names[i]);
  }
  const assay_ort_session_spec spec = {
      .model_path = path, .provider = "cpu", .graph_optimization_level = -1};
  check_ok(assay_ort_session_open(ort, &spec, &session, &err), &err, "session");
  check_ok(assay_ort_session_bind(session, &inputs, &err), &err, "bind");
  check_ok(assay_ort_session_run(session, &err), &err, "run");
  check_ok(assay_ort_session_copy_outputs(session, out, &err), &err, "outputs");
  assay_ort_session_close(session);
  assay_tensor_map_reset(&inputs);
}

/* perm_<layer>, or perm_id_<layer> and perm_reg_<layer> for a split backbone: id layers first. */
static void check_graph_permutations(const gold_case *c, const loaded *l,
                                     const assay_tensor_map *outputs) {
  const assay_tensor *perm = assay_tensor_map_find(&l->arrays, "perm");
  const bool split = l->config.backbone_mode == ASSAY_MLPF_BACKBONE_SPLIT;
  if (!perm) return;
  const size_t per_layer = perm->n_elems / (size_t)perm->dims[0];
  for (int64_t i = 0; i < perm->dims[0]; i++) {
    char name[64];
    const int64_t layer = i % l->config.num_convs;
    snprintf(name, sizeof name, "perm%s_%d",
             split ? (i < l->config.num_convs ? "_id" : "_reg") : "", (int)layer);
    const assay_tensor *got = assay_tensor_map_find(outputs, name);
    if (!got) fail_msg("%s: the graph has no output '%s'", c->name, name);
    assert_int_equal(got->dtype, ASSAY_DTYPE_I64);
    assert_int_equal(got->n_elems, per_layer);
    check_equal_ints(c->name, name, got, 0, perm, (size_t)i * per_layer, per_layer);
  }
}

static void graph_agrees(void **state) {
  const gold_case *c = *state;
  const char *library = getenv("ASSAY_ORT");
  if (!library || !*library) skip();
  assay_error err = {0};
  assay_ort *ort = NULL;
  loaded l;
  char path[] = "/tmp/assay-gold-XXXXXX.onnx";
  int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  close(fd);
  check_ok(assay_ort_open(library, NULL, &ort, &err), &err, library);
  load(c, &l);
  for (size_t m = 0; m < 2; m++) {
    if (!gold_array(&l, "bid", mask_forms[m].suffix, "")) continue;
    l.config.key_mask = mask_forms[m].key_mask;
    l.config.phi = has_negative_zero_sine(c) ? ASSAY_MLPF_PHI_NATIVE : ASSAY_MLPF_PHI_STRICT;
    for (int is_static = 0; is_static < 2; is_static++) {
      assay_tensor_map outputs = {0};
      run_graph(ort, &l, is_static, path, &outputs);
      for (size_t h = 0; h < 4; h++)
        check_close(c->name, is_static ? "static graph" : "dynamic graph", head_names[h],
                    assay_tensor_map_find(&outputs, head_names[h]),
                    gold_array(&l, head_names[h], mask_forms[m].suffix, ""), ORT_TOL);
      check_graph_permutations(c, &l, &outputs);
      assay_tensor_map_reset(&outputs);
    }
  }
  unload(&l);
  assay_ort_close(ort);
  unlink(path);
}

static void seeded_weights_have_the_published_hashes(void **state) {
  const assay_json *configurations = assay_json_get(document, "configurations");
  (void)state;
  assert_true(assay_json_len(configurations) >= 6);
  for (size_t i = 0; i < assay_json_len(configurations); i++) {
    const assay_json *one = assay_json_value_at(configurations, i);
    const char *name = assay_json_key_at(configurations, i), *want = NULL, *want_nq = NULL;
    char got[65];
    float next = 0;
    double want_next = 0;
    assay_error err = {0};
    assay_mlpf_config config;
    assay_tensor_map weights = {0};
    check_ok(assay_mlpf_config_parse(assay_json_get(one, "config"), NULL, &config, &err), &err,
             name);
    check_ok(assay_mlpf_seed_weights(&config, 42, &weights, &next, &err), &err, name);
    check_ok(assay_json_need_string(one, "sha256", &want, &err), &err, name);
    check_ok(assay_json_need_string(one, "sha256_no_queries", &want_nq, &err), &err, name);
    check_ok(assay_json_need_real(one, "next_rand", &want_next, &err), &err, name);
    check_ok(assay_tensor_map_sha256(&weights, NULL, got, &err), &err, name);
    assert_string_equal(got, want);
    check_ok(assay_tensor_map_sha256(&weights, "_query", got, &err), &err, name);
    assert_string_equal(got, want_nq);
    assert_true((double)next == want_next);
    assay_tensor_map_reset(&weights);
  }
}

/* Reads cases.json into the table. Returns their number. */
static size_t read_cases(void) {
  assay_error err = {0};
  char path[1280];
  size_t n = 0;
  snprintf(path, sizeof path, "%s/cases.json", folder);
  if (assay_json_read(path, 1 << 24, &document, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(1);
  }
  const assay_json *list = assay_json_get(document, "cases");
  for (; n < assay_json_len(list) && n < CASES_MAX; n++) {
    gold_case *c = &cases[n];
    c->spec = assay_json_at(list, n);
    c->configuration = assay_json_string(assay_json_get(c->spec, "configuration"));
    c->config = assay_json_get(assay_json_get(document, "configurations"), c->configuration);
    snprintf(c->name, sizeof c->name, "%s", assay_json_string(assay_json_get(c->spec, "file")));
  }
  return n;
}

/* gold_test FOLDER evaluator|graph */
int main(int argc, char **argv) {
  struct CMUnitTest tests[CASES_MAX + 1];
  size_t n_tests = 0;
  if (argc != 3) return 2;
  snprintf(folder, sizeof folder, "%s", argv[1]);
  const bool graph = strcmp(argv[2], "graph") == 0;
  if (graph && !getenv("ASSAY_ORT")) {
    fputs("skipped: set ASSAY_ORT to run the exported graphs\n", stderr);
    return 77;
  }
  const size_t n = read_cases();
  if (!graph)
    tests[n_tests++] =
        (struct CMUnitTest)cmocka_unit_test(seeded_weights_have_the_published_hashes);
  for (size_t i = 0; i < n; i++)
    tests[n_tests++] = (struct CMUnitTest){.name = cases[i].name,
                                           .test_func = graph ? graph_agrees : evaluator_agrees,
                                           .initial_state = &cases[i]};
  int failed = _cmocka_run_group_tests(argv[2], tests, n_tests, NULL, NULL);
  assay_json_destroy(document);
  return failed;
}
