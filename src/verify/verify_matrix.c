#include "verify/verify_matrix.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)

/* The place of the bundle of that name in the file; SIZE_MAX: not there. */
static size_t place_of(const assay_json *root, const char *name) {
  const assay_json *bundles = assay_json_get(root, "bundles");
  for (size_t i = 0; i < assay_json_len(bundles); i++) {
    const char *one = assay_json_string(assay_json_get(assay_json_at(bundles, i), "name"));
    if (one != NULL && name != NULL && strcmp(one, name) == 0) return i;
  }
  return SIZE_MAX;
}

/* "mine" of "../mine.json", "cpu" of "cpu@/path/to/lib.so": how the package's name begins. */
static bool is_named_for(const char *name, const char *asked) {
  size_t n = strcspn(asked, "@");
  const char *from = asked;
  for (size_t i = 0; i < n; i++)
    if (asked[i] == '/') from = asked + i + 1;
  n -= (size_t)(from - asked);
  if (n > 5 && strncmp(from + n - 5, ".json", 5) == 0) n -= 5;
  return strncmp(name, from, n) == 0;
}

/* What the package calls its runtimes and its exported bundles is what the file asked for. */
static void check_names(const assay_verify_scene *scene, const assay_json *root,
                        const assay_verify_place *at) {
  const assay_package *package = scene->package;
  const assay_json *runs = assay_json_get(root, "runs");
  const assay_json *bundles = assay_json_get(root, "bundles");
  for (size_t r = 0; r < assay_json_len(runs) && r < package->n_runtimes; r++) {
    const char *asked = assay_json_string(assay_json_get(assay_json_at(runs, r), "runtime"));
    assay_verify_holds(at, "runtimes",
                       asked != NULL && is_named_for(package->runtimes[r].name, asked),
                       asked != NULL ? asked : "a runtime", package->runtimes[r].name);
  }
  for (size_t b = 0; b < assay_json_len(bundles) && b < package->n_bundles; b++) {
    const assay_json *one = assay_json_at(bundles, b);
    const char *name = assay_json_string(assay_json_get(one, "name"));
    if (assay_json_get(one, "export") != NULL)
      assay_verify_text(at, "bundles", package->bundles[b].name, name);
  }
}

static void check_cells(const assay_verify_scene *scene, const assay_json *root) {
  const assay_package *package = scene->package;
  const assay_json *runs = assay_json_get(root, "runs");
  assay_verify_place at = {.findings = scene->findings, .file = ASSAY_PACKAGE_FILE};
  size_t n_asked = 0;
  assay_verify_int(&at, "bundles (their number)", (int64_t)package->n_bundles,
                   (int64_t)assay_json_len(assay_json_get(root, "bundles")));
  assay_verify_holds(&at, "runtimes (their number)",
                     package->n_runtimes == assay_json_len(runs) ||
                         (package->n_sources > 0 && package->n_runtimes > assay_json_len(runs)),
                     "those of campaign.json", "others");
  check_names(scene, root, &at);
  for (size_t r = 0; r < assay_json_len(runs) && r < package->n_runtimes; r++) {
    const assay_json *names = assay_json_get(assay_json_at(runs, r), "bundles");
    for (size_t i = 0; i < assay_json_len(names); i++, n_asked++) {
      const char *name = assay_json_string(assay_json_at(names, i));
      size_t b = place_of(root, name);
      bool planned =
          b < package->n_bundles &&
          assay_package_is_planned(package, package->runtimes[r].name, package->bundles[b].name);
      assay_verify_holds(&at, "matrix", planned, "every pair of campaign.json",
                         name != NULL ? name : "no bundle");
    }
  }
  if (package->n_sources == 0)
    assay_verify_int(&at, "matrix (its size)", (int64_t)package->n_cells, (int64_t)n_asked);
}

assay_status assay_verify_matrix_check(const assay_verify_scene *scene, assay_error *err) {
  const assay_package *package = scene->package;
  assay_json *root = NULL;
  assay_error why = {0};
  assay_verify_place at = {.findings = scene->findings, .file = ASSAY_PACKAGE_FILE};
  char *path = assay_path_join(scene->path, ASSAY_PACKAGE_CAMPAIGN_FILE);
  if (path == NULL) return assay_fail_memory(err, 256);
  if (assay_path_kind_of(path) == ASSAY_PATH_NONE) {
    assay_verify_holds(&at, "matrix", package->n_cells == 0 || package->n_sources > 0,
                       "the campaign file that it comes from", "no " ASSAY_PACKAGE_CAMPAIGN_FILE);
    assay_free(path);
    return ASSAY_OK;
  }
  assay_status st = assay_json_read(path, FILE_MAX_BYTES, &root, &why);
  assay_free(path);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st)
    assay_verify_add(scene->findings, ASSAY_VERIFY_FIGURE, ASSAY_PACKAGE_CAMPAIGN_FILE, "",
                     "a readable campaign file", why.text);
  else
    check_cells(scene, root);
  assay_json_destroy(root);
  return ASSAY_OK;
}
