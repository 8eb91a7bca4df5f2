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
