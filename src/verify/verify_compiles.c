/* The log is cut into the stretches between the worker's marks, and each is searched for the words
 * of the provider. */
#include "verify/verify_compiles.h"

#include <stdbool.h>
#include <string.h>

#include "verify/verify_trace.h"

static const char mark[] = "\n[1|assay|worker|stage] ";

/* The first place of words in text, or NULL. */
static const char *find(assay_verify_span text, const char *words) {
  size_t n = strlen(words);
  const char *at = text.at, *end = text.at + text.n;
  while (at != NULL && (size_t)(end - at) >= n) {
    at = memchr(at, words[0], (size_t)(end - at) - n + 1);
    if (at == NULL || memcmp(at, words, n) == 0) return at;
    at++;
  }
  return NULL;
}

static const char *words_of(const char *provider, assay_result_mode mode) {
  if (strcmp(provider, "MIGraphXExecutionProvider") == 0) return "Model Compile: Begin";
  bool verbose = mode == ASSAY_RESULT_PLACEMENT;
  if (verbose && strcmp(provider, "OpenVINOExecutionProvider") == 0)
    return "[OpenVINO-EP] Loaded model to the plugin";
  return NULL;
}

/* Lines of the stretch that hold the words, each once. */
static int64_t count_lines(assay_verify_span stretch, const char *words) {
  int64_t n = 0;
  for (const char *at; (at = find(stretch, words)) != NULL; n++) {
    const char *end = stretch.at + stretch.n, *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL) stop = end;
    stretch = (assay_verify_span){stop, (size_t)(end - stop)};
  }
  return n;
}

/* The stretch begins with its stage's name. */
static void take_stretch(assay_verify_span stretch, const char *words, assay_result_compiles *out) {
  const char *stop = stretch.n > 0 ? memchr(stretch.at, '\n', stretch.n) : NULL;
  assay_verify_span stage = {stretch.at, stop != NULL ? (size_t)(stop - stretch.at) : stretch.n};
  assay_verify_span rest = {stretch.at + stage.n, stretch.n - stage.n};
  if (assay_verify_span_is(stage, "start") || assay_verify_span_is(stage, "load_library")) return;
  if (assay_verify_span_is(stage, "session") || assay_verify_span_is(stage, "bind")) {
    out->session += count_lines(rest, words);
  } else if (assay_verify_span_is(stage, "first_run")) {
    out->first += count_lines(rest, words);
    out->known = true;
  } else {
    out->later += count_lines(rest, words);
  }
}

assay_result_compiles assay_verify_compiles_derive(const char *provider, assay_result_mode mode,
                                                   const void *log, size_t log_bytes) {
  assay_result_compiles found = {0}, none = {0};
  const char *words = words_of(provider, mode);
  assay_verify_span rest = {log, log_bytes};
  if (words == NULL || log_bytes < sizeof mark) return none;
  /* The first mark may be the first line. */
  bool at_start = memcmp(rest.at, mark + 1, sizeof mark - 2) == 0;
  const char *at = at_start ? rest.at - 1 : find(rest, mark), *end = rest.at + rest.n;
  while (at != NULL) {
    const char *stage = at + sizeof mark - 1;
    rest = (assay_verify_span){stage, (size_t)(end - stage)};
    at = find(rest, mark);
    take_stretch((assay_verify_span){stage, at != NULL ? (size_t)(at - stage) : rest.n}, words,
                 &found);
  }
  return found.known ? found : none;
}
