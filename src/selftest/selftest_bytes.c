/* Packages changed after they were sealed, and left so. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "package/tree.h"
#include "selftest/selftest_cases.h"

#define CHANGED(spoil_function, the_kind, problem_words)                                           \
  .start = SELFTEST_GOOD, .spoil = (spoil_function), .by = SELFTEST_VERIFY, .kind = (the_kind),    \
  .words = (problem_words)

/* The middle byte of a file; 0-byte files get one. */
static void flip(selftest_scene *s, const char *file) {
  char *path = selftest_path(s, file);
  FILE *stream = path != NULL ? fopen(path, "r+be") : NULL;
  bool done = false;
  if (stream != NULL && fseek(stream, 0, SEEK_END) == 0) {
    long at = ftell(stream) / 2;
    int c = fseek(stream, at, SEEK_SET) == 0 ? fgetc(stream) : EOF;
    done = fseek(stream, at, SEEK_SET) == 0 && fputc(c == EOF ? 'x' : c ^ 1, stream) != EOF;
  }
  if (stream != NULL && fclose(stream) != 0) done = false;
  assay_error err = {0};
  if (!done) selftest_take(s, assay_fail(&err, ASSAY_E_IO, "could not change '%s'", file), &err);
  assay_free(path);
}

static void move(selftest_scene *s, const char *from, const char *to) {
  char *a = selftest_path(s, from), *b = selftest_path(s, to);
  assay_error err = {0};
  if (a != NULL && b != NULL && rename(a, b) != 0)
    selftest_take(s, assay_fail(&err, ASSAY_E_IO, "could not rename '%s'", from), &err);
  assay_free(a);
  assay_free(b);
}

#define FLIP(function, file)                                                                       \
  static void function(selftest_scene *s) {                                                        \
    flip(s, file);                                                                                 \
  }
FLIP(flip_index, "package.json")
FLIP(flip_model, "bundles/toy/model.onnx")
FLIP(flip_manifest, "bundles/toy/manifest.json")
FLIP(flip_case, "bundles/toy/cases/c.npz")
FLIP(flip_result, SELFTEST_TIMING "result.json")
FLIP(flip_outputs, SELFTEST_TIMING "outputs.npz")
FLIP(flip_samples, SELFTEST_TIMING "samples.npy")
FLIP(flip_stdout, SELFTEST_TIMING "stdout.txt")
FLIP(flip_profile, SELFTEST_PLACEMENT "profile.json")
FLIP(flip_log, SELFTEST_PLACEMENT "log.txt")
FLIP(flip_page, "report/report.html")

static void verdict_in_place(selftest_scene *s) {
  selftest_edit(s, SELFTEST_TIMING "result.json", "\"numbers\": \"pass\"", "\"numbers\": \"fail\"");
}
static void index_edited(selftest_scene *s) {
  selftest_edit(s, "package.json", "\"warmup\": 2", "\"warmup\": 9");
}
static void forget_the_end(assay_package *package) {
  package->finished_at[0] = '\0';
  package->tree_sha256[0] = '\0';
  assay_tree_reset(&package->files);
}
static void not_finished(selftest_scene *s) {
  selftest_edit_index(s, forget_the_end);
}
static void file_removed(selftest_scene *s) {
  char *path = selftest_path(s, SELFTEST_PLACEMENT "log.txt");
  if (path != NULL) (void)remove(path);
  assay_free(path);
}
static void file_added(selftest_scene *s) {
  char *path = selftest_path(s, SELFTEST_TIMING "notes.txt");
  assay_error err = {0};
  if (path != NULL) selftest_take(s, assay_file_write(path, "x", 1, &err), &err);
  assay_free(path);
}
static void file_renamed(selftest_scene *s) {
  move(s, "bundles/toy/model.onnx", "bundles/toy/other.onnx");
}
static void files_swapped(selftest_scene *s) {
  move(s, SELFTEST_TIMING "worker.json", "kept.json");
  move(s, SELFTEST_PLACEMENT "worker.json", SELFTEST_TIMING "worker.json");
  move(s, "kept.json", SELFTEST_PLACEMENT "worker.json");
}

const selftest_case selftest_byte_cases[] = {
    {"one byte of package.json", "", CHANGED(flip_index, ASSAY_VERIFY_CHANGED, "package.json: ")},
    {"one byte of the model", "",
     CHANGED(flip_model, ASSAY_VERIFY_CHANGED, "bundles/toy/model.onnx: ")},
    {"one byte of the manifest", "",
     CHANGED(flip_manifest, ASSAY_VERIFY_CHANGED, "bundles/toy/manifest.json: ")},
    {"one byte of inputs and references", "",
     CHANGED(flip_case, ASSAY_VERIFY_CHANGED, "bundles/toy/cases/c.npz: ")},
    {"one byte of a result", "",
     CHANGED(flip_result, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "result.json: ")},
    {"one byte of the outputs", "",
     CHANGED(flip_outputs, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "outputs.npz: ")},
    {"one byte of the samples", "",
     CHANGED(flip_samples, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "samples.npy: ")},
    {"one byte where there was none", "",
     CHANGED(flip_stdout, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "stdout.txt: ")},
    {"one byte of a profile", "",
     CHANGED(flip_profile, ASSAY_VERIFY_CHANGED, SELFTEST_PLACEMENT "profile.json: ")},
    {"one byte of a log", "",
     CHANGED(flip_log, ASSAY_VERIFY_CHANGED, SELFTEST_PLACEMENT "log.txt: ")},
    {"one byte of the page", "", CHANGED(flip_page, ASSAY_VERIFY_CHANGED, "report/report.html: ")},
    {"a verdict edited in place", "",
     CHANGED(verdict_in_place, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "result.json: ")},
    {"a setting edited in package.json", "",
     CHANGED(index_edited, ASSAY_VERIFY_CHANGED, "package.json: ")},
    {"a campaign that was not finished, verified", "",
     CHANGED(not_finished, ASSAY_VERIFY_UNFINISHED, "package.json: ")},
    {"a file removed", "",
     CHANGED(file_removed, ASSAY_VERIFY_MISSING, SELFTEST_PLACEMENT "log.txt: ")},
    {"a file added", "", CHANGED(file_added, ASSAY_VERIFY_EXTRA, SELFTEST_TIMING "notes.txt: ")},
    {"a file renamed: the old name", "",
     CHANGED(file_renamed, ASSAY_VERIFY_MISSING, "bundles/toy/model.onnx: ")},
    {"a file renamed: the new name", "",
     CHANGED(file_renamed, ASSAY_VERIFY_EXTRA, "bundles/toy/other.onnx: ")},
    {"two files swapped: the one", "",
     CHANGED(files_swapped, ASSAY_VERIFY_CHANGED, SELFTEST_TIMING "worker.json: ")},
    {"two files swapped: the other", "",
     CHANGED(files_swapped, ASSAY_VERIFY_CHANGED, SELFTEST_PLACEMENT "worker.json: ")},
};
const size_t selftest_n_byte_cases = sizeof selftest_byte_cases / sizeof *selftest_byte_cases;
