/* assay import: builds a bundle of any ONNX model with cases that the user brings. Parses, calls
 * campaign/bundle_import, prints. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "campaign/bundle_import.h"
#include "cli/cli.h"
#include "cli/tolerance.h"

enum { KEY_CASE = 256, KEY_CLASSES, KEY_MASK, KEY_ATOL, KEY_RTOL, KEY_NAME, KEY_FORCE, KEY_JSON };

static const struct argp_option options[] = {
    {"case", KEY_CASE, "PATH", 0,
     "a case: an .npz file with the model's inputs by name and, if you have them, references by "
     "the names of its outputs; or a test_data_set_N folder with input_<i>.pb and output_<i>.pb; "
     "may be repeated",
     1},
    {"classes", KEY_CLASSES, "OUTPUT", 0,
     "the last axis of this output holds scores of classes: changes of its greatest are counted, "
     "too; may be repeated",
     1},
    {"mask-input", KEY_MASK, "INPUT", 0,
     "an input [B,N] of ones, and zeros where an element is padding: errors of outputs [B,N,...] "
     "at padding are shown and not judged",
     1},
    {"atol", KEY_ATOL, "[OUTPUT:]X", 0, "absolute tolerance of all outputs or one (1e-3)", 1},
    {"rtol", KEY_RTOL, "[OUTPUT:]X", 0, "relative tolerance of all outputs or one (3e-3)", 1},
    {"output", 'o', "FOLDER", 0, "where the bundle goes", 2},
    {"name", KEY_NAME, "NAME", 0, "the bundle's name in results (from the model's file)", 2},
    {"force", KEY_FORCE, NULL, 0, "replace a bundle that is there (never anything else)", 2},
    {"json", KEY_JSON, NULL, 0, "print the summary as JSON", 2},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char doc[] =
    "Builds a bundle of any ONNX model: a copy of it with its external data, cases that you bring, "
    "and a manifest. References are yours; an output without one can be timed and placed, and its "
    "numbers are no pass. Integer outputs are compared exactly.\v"
    "Examples:\n"
    "  assay import resnet50/model.onnx --case resnet50/test_data_set_0 --classes logits -o "
    "bundle\n"
    "  assay import model.onnx --case a.npz --case b.npz --atol logits:1e-4 -o bundle\n"
    "  assay run --bundle bundle -o package && assay report package --require-complete";

typedef struct import_args {
  assay_import_spec spec;
  const char *output;
  const char **cases, **classes; /* room for argc, as in the next */
  assay_export_tolerance *tolerances;
  bool json;
} import_args;

static error_t parse_end(const struct argp_state *state, const import_args *a) {
  if (a->spec.model == NULL) return assay_cli_usage(state, "which model? give an .onnx file");
  if (a->spec.n_cases == 0)
    return assay_cli_usage(state, "which inputs? give --case FILE.npz or --case test_data_set_0");
  if (a->output == NULL)
    return assay_cli_usage(state, "where should the bundle go? give -o FOLDER");
  return 0;
}

static error_t parse_option(int key, char *word, struct argp_state *state) {
  import_args *a = state->input;
  switch (key) {
  case KEY_CASE:
    a->cases[a->spec.n_cases++] = word;
    return 0;
  case KEY_CLASSES:
    a->classes[a->spec.n_classes++] = word;
    return 0;
  case KEY_MASK:
    a->spec.mask_input = word;
    return 0;
  case KEY_ATOL:
    return assay_cli_take_tolerance(state, /*relative=*/false, word,
                                    &a->tolerances[a->spec.n_tolerances++]);
  case KEY_RTOL:
    return assay_cli_take_tolerance(state, /*relative=*/true, word,
                                    &a->tolerances[a->spec.n_tolerances++]);
  case 'o':
    a->output = word;
    return 0;
  case KEY_NAME:
    a->spec.name = word;
    return 0;
  case KEY_FORCE:
    a->spec.force = true;
    return 0;
  case KEY_JSON:
    a->json = true;
    return 0;
  case ARGP_KEY_ARG:
    return assay_cli_take_one(state, "model", word, &a->spec.model);
  case ARGP_KEY_END:
    return parse_end(state, a);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static void print_text(const char *path, const assay_import_result *r) {
  printf("bundle     %s\n", path);
  printf("name       %s\n", r->name);
  printf("model      %s  %zu input%s, %zu output%s", r->model_sha256, r->n_inputs,
         r->n_inputs == 1 ? "" : "s", r->n_heads, r->n_heads == 1 ? "" : "s");
  if (r->n_external > 0)
    printf(", %zu external file%s", r->n_external, r->n_external == 1 ? "" : "s");
  printf("\ncases      %zu, with %zu reference%s", r->n_cases, r->n_references,
         r->n_references == 1 ? "" : "s");
  if (r->n_partial > 0)
    printf("; %zu %s none of some output, and will be no pass", r->n_partial,
           r->n_partial == 1 ? "has" : "have");
  printf("\nsize       %.1f MB\n", (double)r->size_bytes * 1e-6);
}

static assay_status print_json(const char *path, const assay_import_result *r, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  assay_json_put_string(b, "schema", "assay/import/1");
  assay_json_put_string(b, "bundle", path);
  assay_json_put_string(b, "name", r->name);
  assay_json_put_string(b, "model_sha256", r->model_sha256);
  assay_json_put_int(b, "n_inputs", (int64_t)r->n_inputs);
  assay_json_put_int(b, "n_heads", (int64_t)r->n_heads);
  assay_json_put_int(b, "n_external", (int64_t)r->n_external);
  assay_json_put_int(b, "n_cases", (int64_t)r->n_cases);
  assay_json_put_int(b, "n_references", (int64_t)r->n_references);
  assay_json_put_int(b, "n_partial", (int64_t)r->n_partial);
  assay_json_put_int(b, "size_bytes", (int64_t)r->size_bytes);
  assay_json_end(b);
  return assay_cli_print_json(b, err);
}

static assay_status import_as_asked(import_args *a, assay_error *err) {
  assay_import_result result = {0};
  a->spec.cases = a->cases;
  a->spec.classes = a->classes;
  a->spec.tolerances = a->tolerances;
  ASSAY_TRY(assay_bundle_import(&a->spec, a->output, &result, err));
  if (a->json) return print_json(a->output, &result, err);
  print_text(a->output, &result);
  return ASSAY_OK;
}

int assay_cmd_import(int argc, char **argv) {
  static const struct argp argp = {
      .options = options, .parser = parse_option, .args_doc = "MODEL.onnx", .doc = doc};
  import_args a = {0};
  assay_error err = {0};
  int status = ASSAY_EXIT_DONE;
  a.cases = assay_alloc_array((size_t)argc, sizeof *a.cases);
  a.classes = assay_alloc_array((size_t)argc, sizeof *a.classes);
  a.tolerances = assay_alloc_array((size_t)argc, sizeof *a.tolerances);
  if (a.cases == NULL || a.classes == NULL || a.tolerances == NULL) {
    (void)assay_fail_memory(&err, (size_t)argc * sizeof *a.tolerances);
  } else if (assay_cli_parse("import", &argp, argc, argv, &a, &status)) {
    status = ASSAY_EXIT_DONE;
    (void)!import_as_asked(&a, &err);
  }
  if (err.status) status = assay_cli_fail("import", &err);
  assay_free(a.cases);
  assay_free(a.classes);
  assay_free(a.tolerances);
  return status;
}
