/* Bundles are whole or not there, hold what the manifest says, and take only cases that fit the
 * model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "campaign/bundle_export.h"
#include "package/manifest.h"
#include "package/npz.h"

/* Each test works in an empty folder of its own. */
static char room[256];
static char home[1024];

static int enter_folder(void **state) {
  (void)state;
  const char *tmp = getenv("TMPDIR");
  snprintf(room, sizeof room, "%s/assay-export-XXXXXX", tmp ? tmp : "/tmp");
  return getcwd(home, sizeof home) == NULL || mkdtemp(room) == NULL || chdir(room) != 0;
}

static int leave_folder(void **state) {
  (void)state;
  return chdir(home) != 0 || assay_folder_remove(room, NULL) != ASSAY_OK;
}

/* A model that takes milliseconds: E = 8, one layer, CLD's columns. */
static assay_export_spec small_spec(const char *arch) {
  assay_export_spec spec = {.seed = 42};
  assay_error err = {0};
  assert_int_equal(assay_mlpf_config_init_preset(arch, "cld", &spec.config, &err), ASSAY_OK);
  spec.config.num_convs = 1;
  spec.config.num_heads = 2;
  spec.config.head_dim = 4;
  spec.config.embedding_dim = 8;
  spec.config.width = 16;
  spec.config.block_size = 4;
  assert_int_equal(assay_mlpf_config_check(&spec.config, &err), ASSAY_OK);
  return spec;
}

static void export_ok(const assay_export_spec *spec, const char *path, assay_export_result *out) {
  assay_error err = {0};
  if (assay_bundle_export(spec, path, out, &err)) fail_msg("%s", err.text);
}

static void export_refused(const assay_export_spec *spec, const char *path, assay_status status,
                           const char *says) {
  assay_error err = {0};
  const assay_status st = assay_bundle_export(spec, path, NULL, &err);
  if (st != status || strstr(err.text, says) == NULL)
    fail_msg("%s '%s'; expected %s saying '%s'", assay_status_name(st), err.text,
             assay_status_name(status), says);
}

static void read_ok(const char *bundle, assay_manifest *out) {
  assay_error err = {0};
  if (assay_manifest_read(bundle, out, &err)) fail_msg("%s", err.text);
}

static size_t count_names(const char *folder) {
  assay_error err = {0};
  assay_names names = {0};
  assert_int_equal(assay_folder_list(folder, &names, &err), ASSAY_OK);
  const size_t n = names.n;
  assay_names_reset(&names);
  return n;
}

/* x [B,N,17] of plausible rows and mask [B,N] with the last position of each event padded. */
static void make_inputs(int64_t b, int64_t n, assay_tensor_map *out) {
  assay_error err = {0};
  assay_tensor x = {0}, mask = {0};
  const int64_t dims[] = {b, n, 17};
  assert_int_equal(assay_tensor_init(&x, ASSAY_DTYPE_F32, 3, dims, &err), ASSAY_OK);
  assert_int_equal(assay_tensor_init(&mask, ASSAY_DTYPE_F32, 2, dims, &err), ASSAY_OK);
  for (size_t i = 0; i < mask.n_elems; i++) {
    float *row = assay_tensor_f32(&x) + i * 17;
    assay_tensor_f32(&mask)[i] = (i + 1) % (size_t)n ? 1.0f : 0.0f;
    for (size_t f = 0; f < 17; f++) row[f] = 0.1f * (float)(f + i % 7);
    row[0] = (float)(1 + i % 2);
    row[1] = row[5] = 1.0f + 0.01f * (float)i;
  }
  assert_int_equal(assay_tensor_map_add(out, "Xfeat_normed", &x, &err), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(out, "mask", &mask, &err), ASSAY_OK);
}

static void add_array(assay_tensor_map *map, const char *name, assay_dtype dtype, int rank,
                      const int64_t *dims) {
  assay_error err = {0};
  assay_tensor t = {0};
  assert_int_equal(assay_tensor_init(&t, dtype, rank, dims, &err), ASSAY_OK);
  assert_int_equal(assay_tensor_map_add(map, name, &t, &err), ASSAY_OK);
}

static void write_npz(const char *path, assay_tensor_map *map) {
  assay_error err = {0};
  if (assay_npz_write(path, map, &err)) fail_msg("%s", err.text);
  assay_tensor_map_reset(map);
}

static void need_array(const assay_tensor_map *arrays, const char *name, assay_dtype dtype,
                       int64_t b, int64_t n, int64_t width) {
  const assay_tensor *t = assay_tensor_map_find(arrays, name);
  if (t == NULL) fail_msg("'%s' is not there", name);
  assert_int_equal(t->dtype, dtype);
  assert_int_equal(t->rank, 3);
  assert_int_equal(t->dims[0], b);
  assert_int_equal(t->dims[1], n);
  assert_int_equal(t->dims[2], width);
}

static void a_bundle_holds_what_its_manifest_says(void **state) {
  (void)state;
  const int64_t sweep[] = {10, 21}, batches[] = {3};
  const assay_export_tolerance tolerances[] = {{NULL, false, 1e-4}, {"id", true, 0.5}};
  assay_export_spec spec = small_spec("attention");
  assay_export_result result = {0};
  assay_manifest m = {0};
  assay_error err = {0};
  spec.sweep = sweep, spec.n_sweep = 2;
  spec.batches = batches, spec.n_batches = 1;
  spec.batch_n = 15;
  spec.tolerances = tolerances, spec.n_tolerances = 2;
  export_ok(&spec, "deep/er/out/", &result);
  assert_int_equal(count_names("deep/er"), 1); /* nothing temporary is left */
  read_ok("deep/er/out", &m);
  assert_string_equal(m.name, "attention-cld-s42");
  assert_string_equal(m.shapes, "dynamic");
  assert_int_equal(m.opset, 20);
  assert_int_equal(m.ir_version, 9);
  assert_int_equal(m.attention_ops, 3);
  assert_int_equal(assay_manifest_file_check("deep/er/out", &m.model, &err), ASSAY_OK);
  assert_string_equal(m.model.sha256, result.model_sha256);
  assert_int_equal(m.n_cases, 3);
  assert_string_equal(m.cases[2].name, "b3-n15");
  assert_string_equal(m.cases[2].kind, "batch");
  assert_int_equal(m.cases[2].valid[2], 14);
  for (size_t i = 0; i < m.n_cases; i++)
    if (assay_manifest_file_check("deep/er/out", &m.cases[i].file, &err)) fail_msg("%s", err.text);
  assert_int_equal(m.n_heads, 4);
  assert_true(m.heads[1].kind == ASSAY_HEAD_CLASSES && m.heads[3].kind == ASSAY_HEAD_CONSTANT);
  assert_true(m.heads[0].atol == 1e-4 && m.heads[0].rtol == ASSAY_DEFAULT_RTOL);
  assert_true(m.heads[1].atol == 1e-4 && m.heads[1].rtol == 0.5);
  assert_non_null(strstr(m.cases[0].source, "builtin"));

  assay_tensor_map arrays = {0};
  assert_int_equal(assay_npz_read("deep/er/out/cases/b3-n15.npz", NULL, &arrays, &err), ASSAY_OK);
  assert_int_equal(arrays.n, 2 + 8);
  need_array(&arrays, "Xfeat_normed", ASSAY_DTYPE_F32, 3, 15, 17);
  need_array(&arrays, "ref.f32.id", ASSAY_DTYPE_F32, 3, 15, 6);
  need_array(&arrays, "ref.f64.momentum", ASSAY_DTYPE_F64, 3, 15, 5);
  need_array(&arrays, "ref.f64.pu", ASSAY_DTYPE_F64, 3, 15, 2);
  assay_tensor_map_reset(&arrays);
  assay_manifest_reset(&m);
}

static void equal_specs_give_equal_bundles(void **state) {
  (void)state;
  const int64_t sweep[] = {8};
  assay_export_spec spec = small_spec("heptv2");
  assay_export_result results[2];
  assay_manifest m[2] = {{0}};
  spec.sweep = sweep, spec.n_sweep = 1;
  for (int i = 0; i < 2; i++) {
    const char *path = i ? "second" : "first";
    export_ok(&spec, path, &results[i]);
    read_ok(path, &m[i]);
  }
  assert_string_equal(results[0].model_sha256, results[1].model_sha256);
  assert_string_equal(m[0].cases[0].file.sha256, m[1].cases[0].file.sha256);
  assay_manifest_reset(&m[0]);
  assay_manifest_reset(&m[1]);
}

static void brought_references_are_kept_beside_ours(void **state) {
  (void)state;
  const char *const inputs[] = {"my event.npz"};
  const int64_t dims[] = {2, 6, 2};
  assay_export_spec spec = small_spec("attention");
  assay_tensor_map arrays = {0};
  assay_manifest m = {0};
  assay_error err = {0};
  make_inputs(2, 6, &arrays);
  add_array(&arrays, "bid", ASSAY_DTYPE_F64, 3, dims);
  add_array(&arrays, "pu", ASSAY_DTYPE_F32, 3, dims);
  assay_tensor_f32(assay_tensor_map_find(&arrays, "Xfeat_normed"))[5 * 17 + 3] = NAN; /* padded */
  write_npz(inputs[0], &arrays);
  spec.inputs = inputs, spec.n_inputs = 1;
  spec.name = "mine";
  export_ok(&spec, "out", NULL);
  read_ok("out", &m);
  assert_string_equal(m.name, "mine");
  assert_int_equal(m.n_cases, 1);
  assert_string_equal(m.cases[0].name, "my_event");
  assert_string_equal(m.cases[0].kind, "input");
  assert_int_equal(m.cases[0].valid[1], 5);
  assert_int_equal(assay_npz_read("out/cases/my_event.npz", NULL, &arrays, &err), ASSAY_OK);
  need_array(&arrays, "ref.user.bid", ASSAY_DTYPE_F64, 2, 6, 2);
  need_array(&arrays, "ref.user.pu", ASSAY_DTYPE_F32, 2, 6, 2);
  assert_true(isfinite(assay_tensor_f32(assay_tensor_map_find(&arrays, "ref.f32.bid"))[5 * 2]));
  assay_tensor_map_reset(&arrays);
  assay_manifest_reset(&m);
}

static void static_shapes_give_one_graph_for_each_shape(void **state) {
  (void)state;
  const int64_t sweep[] = {4, 8}, batches[] = {2};
  const char *const inputs[] = {"again.npz"};
  assay_export_spec spec = small_spec("heptv2");
  assay_export_result result = {0};
  assay_tensor_map arrays = {0};
  assay_manifest m = {0};
  make_inputs(1, 8, &arrays);
  write_npz(inputs[0], &arrays);
  spec.inputs = inputs, spec.n_inputs = 1;
  spec.sweep = sweep, spec.n_sweep = 2;
  spec.batches = batches, spec.n_batches = 1, spec.batch_n = 4;
  spec.static_shapes = true;
  export_ok(&spec, "out", &result);
  read_ok("out", &m);
  assert_int_equal(result.n_graphs, 3);
  assert_int_equal(count_names("out/models"), 3);
  assert_string_equal(m.cases[0].model.file, "models/1x8.onnx");
  assert_string_equal(m.cases[1].model.file, "models/1x4.onnx");
  assert_string_equal(m.cases[2].model.file, "models/1x8.onnx");
  assert_string_equal(m.cases[3].model.file, "models/2x4.onnx");
  assert_string_equal(m.model.file, "models/1x8.onnx");
  assay_manifest_reset(&m);
}

static void permutations_become_integer_heads(void **state) {
  (void)state;
  const int64_t sweep[] = {8};
  assay_export_spec spec = small_spec("heptv2");
  assay_tensor_map arrays = {0};
  assay_manifest m = {0};
  assay_error err = {0};
  spec.sweep = sweep, spec.n_sweep = 1;
  spec.permutations = true;
  spec.config.backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
  spec.config.task_queries = false;
  export_ok(&spec, "out", NULL);
  read_ok("out", &m);
  assert_int_equal(m.n_heads, 6);
  assert_string_equal(m.heads[4].name, "perm_id_0");
  assert_string_equal(m.heads[5].name, "perm_reg_0");
  assert_int_equal(m.heads[5].kind, ASSAY_HEAD_INTEGER);
  assert_non_null(strstr(m.notes[0], "instrumented"));
  assert_non_null(m.cases[0].margins);
  assert_int_equal(assay_npz_read("out/cases/b1-n8.npz", NULL, &arrays, &err), ASSAY_OK);
  need_array(&arrays, "ref.f32.perm_reg_0", ASSAY_DTYPE_I64, 6, 1, 8);
  for (size_t j = 0; j < 6; j++) { /* each is a permutation of the event */
    unsigned seen = 0;
    for (size_t i = 0; i < 8; i++)
      seen |=
          1u << assay_tensor_i64(assay_tensor_map_find(&arrays, "ref.f32.perm_id_0"))[j * 8 + i];
    assert_int_equal(seen, 255);
  }
  assay_tensor_map_reset(&arrays);
  assay_manifest_reset(&m);
}

static void a_bundle_is_replaced_only_by_force_and_nothing_else_ever(void **state) {
  (void)state;
  const int64_t sweep[] = {5};
  assay_export_spec spec = small_spec("attention");
  assay_error err = {0};
  spec.sweep = sweep, spec.n_sweep = 1;
  assert_int_equal(assay_folder_create("out", &err), ASSAY_OK); /* an empty folder is fine */
  export_ok(&spec, "out", NULL);
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "--force");
  spec.force = true;
  spec.seed = 7;
  export_ok(&spec, "out", NULL);
  assert_int_equal(count_names("."), 1);
  assay_manifest m = {0};
  read_ok("out", &m);
  assert_string_equal(m.name, "attention-cld-s7");
  assay_manifest_reset(&m);

  assert_int_equal(assay_file_write("out/mine", "mine", 4, &err), ASSAY_OK);
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "something else");
  export_refused(&spec, "out/mine", ASSAY_E_ARGUMENT, "no folder");
  assert_int_equal(count_names("out"), 4);
}

static void impossible_cases_are_refused_before_anything_is_written(void **state) {
  (void)state;
  const int64_t six[] = {6}, eight[] = {8, 8}, many[] = {1 << 20};
  const char *const inputs[] = {"b1-n8.npz"};
  assay_export_spec spec = small_spec("heptv2");
  assay_tensor_map arrays = {0};
  spec.sweep = six, spec.n_sweep = 1;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT,
                 "N is 6, which is no multiple of the block size 4");
  spec.sweep = eight, spec.n_sweep = 2;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "b1-n8");
  spec.n_sweep = 0;
  spec.batches = many, spec.n_batches = 1;
  export_refused(&spec, "out", ASSAY_E_LIMIT, "1048576 events of 1000");
  spec.n_batches = 0;
  make_inputs(1, 6, &arrays);
  write_npz(inputs[0], &arrays);
  spec.inputs = inputs, spec.n_inputs = 1;
  export_refused(&spec, "out", ASSAY_E_FORMAT, "no multiple of the block size 4");
  spec.pool = "pool.npz";
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "pool");
  spec = small_spec("attention");
  spec.permutations = true;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "permutations");
  spec.permutations = false;
  spec.name = "../out";
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "'../out' is unusable");
  assert_int_equal(count_names("."), 1); /* the input */
}

/* One thing wrong with a case file. */
static const struct bad_file {
  const char *name;
  const char *says;
} BAD_FILES[] = {
    {"extra", "array 'weights' does not belong there"},
    {"half", "mask[0,2] is 0.5; expected exactly 0 or 1"},
    {"minus_zero", "mask[0,2] is -0; expected exactly 0 or 1"},
    {"nan", "Xfeat_normed[0,3,2] is nan in a valid row"},
    {"reference_shape", "reference 'id' has shape [1,8,5]; expected [1,8,6]"},
    {"reference_dtype", "reference 'bid' is int64; expected float32 or float64"},
    {"no_mask", "there is no array 'mask'"},
    {"mask_shape", "array 'mask' has shape [1,7] beside Xfeat_normed [1,8,17]"},
};

static void make_bad(const char *name, assay_tensor_map *arrays) {
  const int64_t id_dims[] = {1, 8, 5}, bid_dims[] = {1, 8, 2};
  make_inputs(1, 8, arrays);
  float *mask = assay_tensor_f32(&arrays->items[1].tensor);
  if (strcmp(name, "extra") == 0) add_array(arrays, "weights", ASSAY_DTYPE_F32, 1, bid_dims);
  if (strcmp(name, "half") == 0) mask[2] = 0.5f;
  if (strcmp(name, "minus_zero") == 0) mask[2] = -0.0f;
  if (strcmp(name, "nan") == 0) assay_tensor_f32(&arrays->items[0].tensor)[3 * 17 + 2] = NAN;
  if (strcmp(name, "reference_shape") == 0) add_array(arrays, "id", ASSAY_DTYPE_F32, 3, id_dims);
  if (strcmp(name, "reference_dtype") == 0) add_array(arrays, "bid", ASSAY_DTYPE_I64, 3, bid_dims);
  if (strcmp(name, "mask_shape") == 0) {
    arrays->items[1].tensor.dims[1] = 7;
    arrays->items[1].tensor.n_elems = 7;
    arrays->items[1].tensor.size_bytes = 28;
  }
  if (strcmp(name, "no_mask") == 0) strcpy(arrays->items[1].name, "musk");
}

static void files_that_do_not_fit_are_refused_by_file_array_and_index(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(BAD_FILES); i++) {
    assay_export_spec spec = small_spec("attention");
    assay_tensor_map arrays = {0};
    const char *const inputs[] = {"case.npz"};
    make_bad(BAD_FILES[i].name, &arrays);
    write_npz(inputs[0], &arrays);
    spec.inputs = inputs, spec.n_inputs = 1;
    export_refused(&spec, "out", ASSAY_E_FORMAT, BAD_FILES[i].says);
    export_refused(&spec, "out", ASSAY_E_FORMAT, "'case.npz'");
  }
  assert_int_equal(count_names("."), 1);
}

static void a_pool_file_gives_the_rows(void **state) {
  (void)state;
  const int64_t sweep[] = {10}, dims[] = {3, 17};
  assay_export_spec spec = small_spec("attention");
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  add_array(&arrays, "X", ASSAY_DTYPE_F32, 2, dims);
  for (size_t i = 0; i < 3 * 17; i++) assay_tensor_f32(&arrays.items[0].tensor)[i] = 1.0f;
  assay_tensor_f32(&arrays.items[0].tensor)[2 * 17 + 1] = 5.0f; /* row 2 is recognised by its pt */
  write_npz("pool.npz", &arrays);
  spec.sweep = sweep, spec.n_sweep = 1;
  spec.pool = "pool.npz";
  export_ok(&spec, "out", NULL);
  assert_int_equal(assay_npz_read("out/cases/b1-n10.npz", NULL, &arrays, &err), ASSAY_OK);
  const float *x = assay_tensor_f32(assay_tensor_map_find(&arrays, "Xfeat_normed"));
  for (size_t i = 0; i < 9; i++) assert_true(x[i * 17 + 1] == (i % 3 == 2 ? 5.0f : 1.0f));
  assert_true(x[9 * 17 + 1] == 0.0f);
  assay_tensor_map_reset(&arrays);
  spec.pool = "out/cases/b1-n10.npz";
  export_refused(&spec, "out2", ASSAY_E_FORMAT, "no array 'X'");
}

static void running_out_of_memory_leaves_nothing_behind(void **state) {
  (void)state;
  const int64_t sweep[] = {3};
  assay_export_spec spec = small_spec("attention");
  assay_status st = ASSAY_E_MEMORY;
  spec.sweep = sweep, spec.n_sweep = 1;
  spec.config.num_convs = 0;
  for (int64_t n = 0; st; n += 1 + n / 3) {
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_bundle_export(&spec, "out", NULL, &err);
    assay_alloc_fail_after(-1);
    if (st != ASSAY_OK) assert_int_equal(count_names("."), 0);
  }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

static void names_that_no_bundle_replaces_are_refused_at_once(void **state) {
  (void)state;
  static const int64_t sweep[] = {8};
  assay_export_spec spec = small_spec("attention");
  spec.sweep = sweep, spec.n_sweep = 1;
  assert_int_equal(mkdir("folder", 0777), 0);
  assert_int_equal(symlink("folder", "link"), 0);
  static const char *const names[] = {".", "./", "..", "/", "folder/.", "folder/.."};
  for (size_t i = 0; i < N_OF(names); i++)
    export_refused(&spec, names[i], ASSAY_E_ARGUMENT, "no name for a bundle's folder");
  export_refused(&spec, "link", ASSAY_E_ARGUMENT, "symbolic link");
  export_refused(&spec, "link/", ASSAY_E_ARGUMENT, "symbolic link");
  export_refused(&spec, "", ASSAY_E_ARGUMENT, "no name");
  assert_int_equal(count_names("."), 2);
  assert_int_equal(count_names("folder"), 0);
  export_ok(&spec, "folder", NULL); /* an empty one is fine */
}

static void cases_of_one_name_are_told_apart(void **state) {
  (void)state;
  static const int64_t twice[] = {8, 8}, one[] = {1};
  const char *files[] = {"a/same.npz", "b/same.npz"};
  assay_export_spec spec = small_spec("attention");
  spec.inputs = files, spec.n_inputs = 2;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "one of 'a/same.npz' and one of 'b/same.npz'");
  spec = small_spec("attention");
  spec.sweep = twice, spec.n_sweep = 2;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "'b1-n8' of the sweep with B=1 and N=8 is asked");
  spec.n_sweep = 1;
  spec.batches = one, spec.n_batches = 1, spec.batch_n = 8;
  export_refused(&spec, "out", ASSAY_E_ARGUMENT, "of the sweep with B=1 and N=8 and one of the ba");
}

static void references_beyond_the_memory_are_refused_at_once(void **state) {
  (void)state;
  static const int64_t sweep[] = {16777216};
  assay_export_spec spec = small_spec("attention");
  spec.sweep = sweep, spec.n_sweep = 1;
  spec.config.embedding_dim = 32768; /* 2^24 * 6 * 2^15 doubles: 26 TB */
  spec.config.num_heads = 1024;
  spec.config.head_dim = 32;
  export_refused(&spec, "out", ASSAY_E_MISSING, "need about 26388 GB of memory");
  assert_int_equal(count_names("."), 0);
}

static bool at_the_question(void *arg) {
  return --*(int *)arg < 0;
}

static void a_stop_leaves_nothing_behind(void **state) {
  (void)state;
  static const int64_t sweep[] = {8};
  assay_export_spec spec = small_spec("heptv2");
  spec.sweep = sweep, spec.n_sweep = 1;
  spec.cancelled = at_the_question;
  bool done = false;
  for (int after = 0; !done; after++) { /* stopped at each question in turn */
    int left = after;
    assay_error err = {0};
    spec.cancelled_arg = &left;
    const assay_status st = assay_bundle_export(&spec, "out", NULL, &err);
    done = st == ASSAY_OK;
    if (!done) assert_int_equal(st, ASSAY_E_STOPPED);
    assert_int_equal(count_names("."), done ? 1 : 0);
    if (done) assert_true(after > 10);
  }
}

static void make_left_behind(const char *name) {
  char file[256];
  snprintf(file, sizeof file, "%s/cases", name);
  assert_int_equal(mkdir(name, 0777), 0);
  assert_int_equal(mkdir(file, 0777), 0);
}

static void what_a_dead_export_left_is_removed(void **state) {
  (void)state;
  static const int64_t sweep[] = {8};
  assay_export_spec spec = small_spec("attention");
  char dead[64], alive[64];
  spec.sweep = sweep, spec.n_sweep = 1;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  snprintf(dead, sizeof dead, ".out.tmp-%ld-0", (long)child);
  snprintf(alive, sizeof alive, ".out.tmp-%ld-7", (long)getpid());
  make_left_behind(dead);
  make_left_behind(alive);
  make_left_behind(".out.tmp-mine"); /* not of an export */
  make_left_behind(".other.tmp-1-0");
  dead[5] = 'o', dead[6] = 'l', dead[7] = 'd'; /* a bundle that was being replaced */
  make_left_behind(dead);
  export_ok(&spec, "out", NULL);
  assert_int_equal(count_names("."), 4);
  assert_int_equal(access(alive, F_OK), 0);
  assert_int_equal(access("out/manifest.json", F_OK), 0);
  /* locked: the number may be one of another container */
  dead[5] = 't', dead[6] = 'm', dead[7] = 'p';
  make_left_behind(dead);
  const int fd = open(dead, O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  spec.force = true;
  export_ok(&spec, "out", NULL);
  assert_int_equal(access(dead, F_OK), 0);
  close(fd);
  export_ok(&spec, "out", NULL);
  assert_int_equal(access(dead, F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(a_bundle_holds_what_its_manifest_says),
      IN_FOLDER(equal_specs_give_equal_bundles),
      IN_FOLDER(brought_references_are_kept_beside_ours),
      IN_FOLDER(static_shapes_give_one_graph_for_each_shape),
      IN_FOLDER(permutations_become_integer_heads),
      IN_FOLDER(a_bundle_is_replaced_only_by_force_and_nothing_else_ever),
      IN_FOLDER(impossible_cases_are_refused_before_anything_is_written),
      IN_FOLDER(files_that_do_not_fit_are_refused_by_file_array_and_index),
      IN_FOLDER(names_that_no_bundle_replaces_are_refused_at_once),
      IN_FOLDER(cases_of_one_name_are_told_apart),
      IN_FOLDER(references_beyond_the_memory_are_refused_at_once),
      IN_FOLDER(a_stop_leaves_nothing_behind),
      IN_FOLDER(what_a_dead_export_left_is_removed),
      IN_FOLDER(a_pool_file_gives_the_rows),
      IN_FOLDER(running_out_of_memory_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
