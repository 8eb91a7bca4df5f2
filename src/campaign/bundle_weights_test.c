/* Trained weights and events of datasets become bundles that compute what the training's own
 * framework computed, whichever file they come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "campaign/bundle_export.h"
#include "campaign/bundle_weights.h"
#include "checkpoint/safetensors.h"
#include "package/manifest.h"
#include "package/npz.h"

#define GOLD        "testdata/gold/heptv2_small/"
#define TINY        "src/checkpoint/testdata/torch/mlpf_tiny_state_dict.pth"
#define TINY_CONFIG "src/checkpoint/testdata/config/tiny_model_kwargs.pkl"

/* Tests work in an empty folder; `root` leads back to the project's. */
static char room[256];
static char root[1024];

static int enter_folder(void **state) {
  (void)state;
  const char *tmp = getenv("TMPDIR");
  snprintf(room, sizeof room, "%s/assay-weights-XXXXXX", tmp ? tmp : "/tmp");
  return getcwd(root, sizeof root) == NULL || mkdtemp(room) == NULL || chdir(room) != 0;
}

static int leave_folder(void **state) {
  (void)state;
  return chdir(root) != 0 || assay_folder_remove(room, NULL) != ASSAY_OK;
}

/* Of a file of the project; good until the next call but one. */
static const char *in_project(const char *name) {
  static char paths[2][2048];
  static int next = 0;
  next = !next;
  snprintf(paths[next], sizeof paths[next], "%.1000s/../../%.900s", root, name);
  return paths[next];
}

static void read_config(const char *path, assay_bundle_config *out) {
  assay_error err = {0};
  if (assay_bundle_config_read(path, NULL, out, &err)) fail_msg("%s", err.text);
}

static void read_weights(const char *path, assay_bundle_config *config, assay_bundle_weights *out) {
  assay_mlpf_differences differences = {0};
  assay_error err = {0};
  if (assay_bundle_weights_read(path, &config->config, config, out, &differences, &err))
    fail_msg("%s", err.text);
  assay_mlpf_differences_reset(&differences);
}

static assay_export_spec spec_of(const assay_bundle_config *config,
                                 const assay_bundle_weights *weights) {
  return (assay_export_spec){.config = config->config,
                             .weights = &weights->tensors,
                             .weights_name = weights->name,
                             .weights_about = weights->about};
}

static void export_ok(const assay_export_spec *spec, const char *path, assay_export_result *out) {
  assay_error err = {0};
  if (assay_bundle_export(spec, path, out, &err)) fail_msg("%s", err.text);
}

static void read_npz(const char *path, assay_tensor_map *out) {
  assay_error err = {0};
  if (assay_npz_read(path, NULL, out, &err)) fail_msg("%s", err.text);
}

/* --- against the upstream model
 * ---------------------------------------------------------------------- */

/* Moves arrays of the golden file to a case file: the inputs, and the FP64 outputs as brought
 * references. */
static void make_case_file(const assay_tensor_map *golden, const char *path) {
  static const char *const NAMES[][2] = {{"Xfeat_normed", "Xfeat_normed"},
                                         {"mask", "mask"},
                                         {"bid_f64", "bid"},
                                         {"id_f64", "id"},
                                         {"momentum_f64", "momentum"}};
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    assay_tensor copy = {0};
    const assay_tensor *from = assay_tensor_map_find(golden, NAMES[i][0]);
    assert_non_null(from);
    assert_int_equal(assay_tensor_copy(&copy, from, &err), ASSAY_OK);
    assert_int_equal(assay_tensor_map_add(&arrays, NAMES[i][1], &copy, &err), ASSAY_OK);
  }
  if (assay_npz_write(path, &arrays, &err)) fail_msg("%s", err.text);
  assay_tensor_map_reset(&arrays);
}

static double largest_difference(const assay_tensor *a, const assay_tensor *b) {
  double largest = 0.0;
  assert_true(assay_tensor_same_shape(a, b));
  for (size_t i = 0; i < a->n_elems; i++) {
    const double d = fabs(assay_tensor_get_real(a, i) - assay_tensor_get_real(b, i));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

/* FP64 agrees to 1e-7: upstream's phi is atan2, strict phi moves values by 4.4e-8 here. FP32 may be
 * off by twice what PyTorch's own FP32 is off, another order of summation. */
static void trained_outputs_equal_those_of_the_upstream_model(void **state) {
  (void)state;
  static const struct {
    const char *head;
    double torch_f32; /* largest difference of PyTorch's FP32 and FP64 */
  } rows[] = {{"bid", 5.490635597293902e-07},
              {"id", 3.0748846064909685e-06},
              {"momentum", 1.8155889831561467e-06}};
  const char *const inputs[] = {"golden.npz"};
  assay_bundle_config config = {0};
  assay_bundle_weights weights = {0};
  assay_export_result result = {0};
  assay_tensor_map golden = {0}, arrays = {0};
  read_npz(in_project(GOLD "golden-2x300.npz"), &golden);
  make_case_file(&golden, "golden.npz");
  read_config(in_project(GOLD "model_kwargs.pkl"), &config);
  read_weights(in_project(GOLD "model_state_dict.pth"), &config, &weights);
  assay_export_spec spec = spec_of(&config, &weights);
  spec.inputs = inputs, spec.n_inputs = 1;
  export_ok(&spec, "trained", &result);
  assert_string_equal(result.weights_sha256,
                      "d6d8ec0c8469b9ede9ba17fe6177f7b76f468c83f23492fa4f7e8aa6a6b11919");
  assert_string_equal(result.name, "heptv2-cld-model_state_dict");
  assert_int_equal(result.attention_ops, 2);
  read_npz("trained/cases/golden.npz", &arrays);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char name[64];
    snprintf(name, sizeof name, "ref.user.%s", rows[i].head);
    const assay_tensor *user = assay_tensor_map_find(&arrays, name);
    snprintf(name, sizeof name, "ref.f64.%s", rows[i].head);
    const double f64 = largest_difference(user, assay_tensor_map_find(&arrays, name));
    snprintf(name, sizeof name, "ref.f32.%s", rows[i].head);
    const double f32 = largest_difference(user, assay_tensor_map_find(&arrays, name));
    if (!(f64 <= 1e-7)) fail_msg("%s: FP64 differs by %g; expected 1e-7", rows[i].head, f64);
    if (!(f32 <= 2.0 * rows[i].torch_f32))
      fail_msg("%s: FP32 differs by %g; expected twice %g", rows[i].head, f32, rows[i].torch_f32);
  }
  assay_tensor_map_reset(&arrays);
  assay_tensor_map_reset(&golden);
  assay_bundle_weights_reset(&weights);
}

static void configurations_are_the_same_as_json_and_as_pickle(void **state) {
  (void)state;
  assay_bundle_config pickle = {0}, json = {0};
  read_config(in_project(GOLD "model_kwargs.pkl"), &pickle);
  read_config(in_project(GOLD "hyperparameters.json"), &json);
  assert_memory_equal(&pickle.config, &json.config, sizeof pickle.config);
  assert_string_equal(pickle.file, "model_kwargs.pkl");
  assert_string_not_equal(pickle.sha256, json.sha256);
}

/* --- forms of files
 * ---------------------------------------------------------------------------------- */

static const char *about_text(const assay_bundle_weights *weights, const char *key) {
  return assay_json_string(assay_json_get(weights->about, key));
}

static void weights_are_the_same_from_every_kind_of_file(void **state) {
  (void)state;
  static const char *const files[] = {"w.safetensors", "w.npz"};
  static const char *const origins[] = {"safetensors", "npz"};
  assay_bundle_config config = {0};
  assay_bundle_weights torch = {0};
  assay_error err = {0};
  char first[65], second[65];
  read_config(in_project(TINY_CONFIG), &config);
  read_weights(in_project(TINY), &config, &torch);
  assert_string_equal(about_text(&torch, "origin"), "checkpoint");
  assert_string_equal(about_text(&torch, "file"), "mlpf_tiny_state_dict.pth");
  assert_string_equal(about_text(&torch, "config_file"), "tiny_model_kwargs.pkl");
  assert_string_equal(about_text(&torch, "config_sha256"), config.sha256);
  assert_int_equal(assay_tensor_map_sha256(&torch.tensors, NULL, first, &err), ASSAY_OK);
  assert_int_equal(assay_safetensors_write(files[0], &torch.tensors, NULL, 0, &err), ASSAY_OK);
  assert_int_equal(assay_npz_write(files[1], &torch.tensors, &err), ASSAY_OK);
  for (int i = 0; i < 2; i++) {
    assay_bundle_weights other = {0};
    read_weights(files[i], &config, &other);
    assert_int_equal(assay_tensor_map_sha256(&other.tensors, NULL, second, &err), ASSAY_OK);
    assert_string_equal(first, second);
    assert_string_equal(about_text(&other, "origin"), origins[i]);
    assert_string_equal(other.name, "w");
    assay_bundle_weights_reset(&other);
  }
  assay_bundle_weights_reset(&torch);
}

static void differences_are_given_beside_the_error(void **state) {
  (void)state;
  assay_bundle_config config = {0};
  assay_bundle_weights weights = {0};
  assay_mlpf_differences d = {0};
  assay_error err = {0};
  read_config(in_project(GOLD "model_kwargs.pkl"), &config);
  assert_int_equal(
      assay_bundle_weights_read(in_project(TINY), &config.config, &config, &weights, &d, &err),
      ASSAY_E_MISMATCH);
  assert_true(d.n > 100);
  assert_non_null(strstr(err.text, "model.type is attention by the weights, heptv2 by the"));
  assert_null(weights.about);
  assay_mlpf_differences_reset(&d);
}

static const struct refused {
  const char *file;
  assay_status status;
  const char *says;
} refused_files[] = {
    {"src/checkpoint/testdata/odd/system.pth", ASSAY_E_UNSUPPORTED, "names 'os.system'"},
    {"src/checkpoint/testdata/torch/v2.6/full_module.pth", ASSAY_E_UNSUPPORTED,
     "save its state_dict() instead"},
    {"src/checkpoint/testdata/odd/torchscript.pth", ASSAY_E_UNSUPPORTED, "TorchScript"},
    {TINY_CONFIG, ASSAY_E_UNSUPPORTED, "a bare pickle"},
    {GOLD "hyperparameters.json", ASSAY_E_FORMAT, "not a file of torch.save"},
    {"src/checkpoint/testdata/nothing", ASSAY_E_IO, "nothing"},
};

static void refuses_what_holds_no_weights(void **state) {
  (void)state;
  assay_bundle_config config = {0};
  read_config(in_project(TINY_CONFIG), &config);
  for (size_t i = 0; i < sizeof refused_files / sizeof *refused_files; i++) {
    const struct refused *row = &refused_files[i];
    assay_bundle_weights weights = {0};
    assay_mlpf_differences d = {0};
    assay_error err = {0};
    const assay_status st = assay_bundle_weights_read(in_project(row->file), &config.config,
                                                      &config, &weights, &d, &err);
    if (st != row->status || strstr(err.text, row->says) == NULL)
      fail_msg("%s: %s '%s'; expected %s saying '%s'", row->file, assay_status_name(st), err.text,
               assay_status_name(row->status), row->says);
    assay_mlpf_differences_reset(&d);
  }
}

static void survives_the_end_of_memory(void **state) {
  (void)state;
  assay_bundle_config config = {0};
  read_config(in_project(TINY_CONFIG), &config);
  assay_status st = ASSAY_E_MEMORY;
  for (int64_t n = 0; st != ASSAY_OK; n += 23) {
    assay_bundle_weights weights = {0};
    assay_mlpf_differences d = {0};
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_bundle_weights_read(in_project(TINY), &config.config, &config, &weights, &d, &err);
    assay_alloc_fail_after(-1);
    if (st != ASSAY_OK && st != ASSAY_E_MEMORY) fail_msg("%lld: %s", (long long)n, err.text);
    assay_bundle_weights_reset(&weights);
    assay_mlpf_differences_reset(&d);
  }
}

/* --- events
 * ------------------------------------------------------------------------------------------ */

#define SMALL "src/dataset/testdata/tfds/small/cms_pf_ttbar/1/3.0.0"
#define LARGE "src/dataset/testdata/tfds/gold/cms_pf_ttbar/1/3.0.0"

/* Two datasets of one name and version would give two cases of one name: the small one is copied
 * under another. */
static void copy_as_version(const char *from, const char *to) {
  assay_names names = {0};
  assay_error err = {0};
  assert_int_equal(assay_folder_create(to, &err), ASSAY_OK);
  assert_int_equal(assay_folder_list(in_project(from), &names, &err), ASSAY_OK);
  for (size_t i = 0; i < names.n; i++) {
    char *source = assay_path_join(in_project(from), names.items[i]);
    char *target = assay_path_join(to, names.items[i]);
    assert_int_equal(assay_file_copy(source, target, &err), ASSAY_OK);
    assay_free(source);
    assay_free(target);
  }
  assay_names_reset(&names);
  assay_buf text = {0};
  char path[512];
  snprintf(path, sizeof path, "%s/dataset_info.json", to);
  assert_int_equal(assay_file_read(path, 1 << 20, &text, &err), ASSAY_OK);
  for (char *v = (char *)text.data; (v = strstr(v, "3.0.0")) != NULL;) v[4] = '1';
  assert_int_equal(assay_file_write(path, text.data, text.size_bytes, &err), ASSAY_OK);
  assay_buf_reset(&text);
}

static void events_of_several_datasets_are_cases_and_one_batch(void **state) {
  (void)state;
  static const char *const names[] = {"cms_pf_ttbar-1-3.0.0-test-0", "cms_pf_ttbar-1-3.0.0-test-1",
                                      "cms_pf_ttbar-1-3.0.1-test-0", "cms_pf_ttbar-1-3.0.1-test-1",
                                      "mixed-test-0"};
  static const int64_t valid[] = {773, 338, 7, 1, 773};
  assay_bundle_config config = {0};
  assay_bundle_weights weights = {0};
  assay_manifest m = {0};
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  copy_as_version(SMALL, "tfds/cms_pf_ttbar/1/3.0.1");
  char large[2048];
  snprintf(large, sizeof large, "%s", in_project(LARGE));
  const char *const datasets[] = {large, "cms_pf_ttbar/1:3.0.1"};
  read_config(in_project(TINY_CONFIG), &config);
  read_weights(in_project(TINY), &config, &weights);
  assay_export_spec spec = spec_of(&config, &weights);
  spec.datasets = datasets, spec.n_datasets = 2;
  spec.data_dir = "tfds";
  export_ok(&spec, "events", NULL);
  if (assay_manifest_read("events", &m, &err)) fail_msg("%s", err.text);
  assert_int_equal(m.n_cases, 5);
  for (size_t i = 0; i < m.n_cases; i++) {
    assert_string_equal(m.cases[i].name, names[i]);
    assert_string_equal(m.cases[i].kind, "event");
    if (m.cases[i].valid[0] != valid[i])
      fail_msg("%s: %lld valid; expected %lld", names[i], (long long)m.cases[i].valid[0],
               (long long)valid[i]);
    const assay_json *events = assay_json_get(m.cases[i].origin, "events");
    assert_int_equal(assay_json_len(events), i == 4 ? 2 : 1);
  }
  assert_int_equal(m.cases[4].n, 773);
  assert_int_equal(m.cases[4].valid[1], 7);
  /* each event of the batch is the rows of its own case, and zeroes behind them */
  assay_tensor_map alone = {0};
  read_npz("events/cases/mixed-test-0.npz", &arrays);
  read_npz("events/cases/cms_pf_ttbar-1-3.0.1-test-0.npz", &alone);
  const assay_tensor *batch = assay_tensor_map_find(&arrays, "Xfeat_normed");
  const assay_tensor *one = assay_tensor_map_find(&alone, "Xfeat_normed");
  const float *second = assay_tensor_f32(batch) + 773 * 55;
  assert_memory_equal(second, one->data, one->size_bytes);
  for (size_t i = one->n_elems; i < (size_t)773 * 55; i++) assert_true(second[i] == 0.0f);
  assay_tensor_map_reset(&alone);
  assay_tensor_map_reset(&arrays);
  assay_manifest_reset(&m);
  assay_bundle_weights_reset(&weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
      IN_FOLDER(trained_outputs_equal_those_of_the_upstream_model),
      IN_FOLDER(configurations_are_the_same_as_json_and_as_pickle),
      IN_FOLDER(weights_are_the_same_from_every_kind_of_file),
      IN_FOLDER(differences_are_given_beside_the_error),
      IN_FOLDER(refuses_what_holds_no_weights),
      IN_FOLDER(survives_the_end_of_memory),
      IN_FOLDER(events_of_several_datasets_are_cases_and_one_batch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
