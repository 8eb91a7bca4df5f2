/* Source of the words: MIGraphX's provider of ONNX Runtime 1.20 to 1.23 (a warning on the default
 * logger, once a program), OpenVINO's of 1.24 (information, once a subgraph that was handed to its
 * compiler, or came from its cache; what is compiled later for another shape it does not say). */
#include "evidence/compiles.h"

#include <string.h>

#include "base/array.h"
#include "base/file.h"

#define STAGE_MARK "[1|assay|worker|stage] "

static const struct {
  const char *provider, *words;
  bool needs_verbose;
} events[] = {
    {"MIGraphXExecutionProvider", "Model Compile: Begin", false},
    {"OpenVINOExecutionProvider", "[OpenVINO-EP] Loaded model to the plugin", true},
};

static bool line_holds(const char *line, size_t n, const char *words) {
  size_t n_words = strlen(words);
  for (size_t i = 0; i + n_words <= n; ++i)
    if (line[i] == words[0] && memcmp(line + i, words, n_words) == 0) return true;
  return false;
}

static bool line_is(const char *line, size_t n, const char *stage) {
  return n == strlen(stage) && memcmp(line, stage, n) == 0;
}

void assay_compiles_parse(const void *bytes, size_t size_bytes, const char *provider,
                          bool is_verbose, assay_compiles *out) {
  const char *words = NULL, *at = bytes, *end = size_bytes > 0 ? at + size_bytes : at;
  const size_t n_mark = strlen(STAGE_MARK);
  size_t *count = NULL; /* of the stage */
  *out = (assay_compiles){0};
  for (size_t i = 0; i < N_OF(events); ++i)
    if (strcmp(events[i].provider, provider) == 0 && (is_verbose || !events[i].needs_verbose))
      words = events[i].words;
  for (const char *next; words != NULL && at < end; at = next) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop != NULL ? stop : end) - at);
    next = stop != NULL ? stop + 1 : end;
    if (n > n_mark && memcmp(at, STAGE_MARK, n_mark) == 0) {
      const char *stage = at + n_mark;
      size_t n_stage = n - n_mark;
      bool is_session = line_is(stage, n_stage, "session") || line_is(stage, n_stage, "bind");
      bool is_first = line_is(stage, n_stage, "first_run");
      bool is_before = line_is(stage, n_stage, "start") || line_is(stage, n_stage, "load_library");
      count = is_session ? &out->n_session : is_first ? &out->n_first : &out->n_later;
      if (is_before) count = NULL;
      out->visible |= is_first;
    } else if (count != NULL && line_holds(at, n, words)) {
      ++*count;
    }
  }
  if (!out->visible) *out = (assay_compiles){0};
}

assay_status assay_compiles_read(const char *log_path, const char *provider, bool is_verbose,
                                 assay_compiles *out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(log_path, &map, err));
  assay_compiles_parse(map.data, map.size_bytes, provider, is_verbose, out);
  assay_file_map_close(&map);
  return ASSAY_OK;
}
