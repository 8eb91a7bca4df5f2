/* How a worker ended: its exit status, signal, words and talk taken for a status and a reason, and
 * what it says that it ran with held against what was asked for. */
#include "campaign/attempt_parts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "package/fields.h"

#define LAST_LINE_BYTES 512
/* Of stdout and stderr each: a log in a loop fills no disk. What a runtime traces in placement runs
 * is evidence: MIGraphX prints 11 MB for each layer of HEPTv2 that it compiles. */
#define TALK_MAX_BYTES  ((off_t)64 << 20)
#define TRACE_MAX_BYTES ((off_t)1 << 30)

static off_t talk_max_bytes(const attempt *a) {
  const bool traces =
      a->run->mode == ASSAY_RESULT_PLACEMENT && a->runtime->spec.placement_env.n > 0;
  return traces ? TRACE_MAX_BYTES : TALK_MAX_BYTES;
}

static bool is_longer(const char *path, off_t max_bytes) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_size > max_bytes;
}

bool attempt_talks_too_much(const attempt *a) {
  const off_t max_bytes = talk_max_bytes(a);
  return is_longer(a->stdout_path, max_bytes) || is_longer(a->stderr_path, max_bytes);
}

assay_status attempt_end_as(attempt *a, assay_result_status status, assay_result_stage stage,
                            const char *reason, assay_error *err) {
  a->result->status = status;
  a->result->stage = stage;
  return assay_fields_set(&a->result->reason, reason, err);
}

/* The last line that is not empty, printable; "" when there is none. */
static void last_line(const char *folder, const char *name, char *out, size_t out_bytes) {
  char tail[2 * LAST_LINE_BYTES];
  char *path = assay_path_join(folder, name);
  FILE *file = path != NULL ? fopen(path, "re") : NULL;
  out[0] = '\0';
  assay_free(path);
  if (file == NULL) return;
  if (fseek(file, -(long)(sizeof tail - 1), SEEK_END) != 0) rewind(file);
  size_t n = fread(tail, 1, sizeof tail - 1, file);
  fclose(file);
  while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == '\r' || tail[n - 1] == ' ')) n--;
  tail[n] = '\0';
  const char *line = strrchr(tail, '\n');
  assay_text_printable(line != NULL ? line + 1 : tail, out, out_bytes);
}

static assay_status end_by_signal(attempt *a, const assay_child_result *child, assay_error *err) {
  char reason[ASSAY_ERROR_TEXT_BYTES], line[LAST_LINE_BYTES];
  assay_result_stage stage = assay_worker_last_stage(a->folder);
  last_line(a->folder, STDERR_FILE, line, sizeof line);
  snprintf(reason, sizeof reason, "the worker died of signal %d (%s) during %s%s%s", child->signal,
           strsignal(child->signal), assay_result_stage_name(stage), line[0] != '\0' ? ": " : "",
           line);
  return attempt_end_as(a, ASSAY_RESULT_CRASHED, stage, reason, err);
}

static assay_status end_by_timeout(attempt *a, const assay_child_result *child, assay_error *err) {
  char reason[256];
  assay_result_stage stage = assay_worker_last_stage(a->folder);
  snprintf(reason, sizeof reason, "the worker was still in %s after %.3f s and was ended",
           assay_result_stage_name(stage), (double)child->elapsed_ns * 1e-9);
  return attempt_end_as(a, ASSAY_RESULT_TIMED_OUT, stage, reason, err);
}

/* It exited, and worker.json is not there or not readable. */
static assay_status end_without_word(attempt *a, const assay_child_result *child, const char *why,
                                     assay_error *err) {
  char reason[ASSAY_ERROR_TEXT_BYTES + 2 * LAST_LINE_BYTES], line[LAST_LINE_BYTES];
  assay_result_stage stage = assay_worker_last_stage(a->folder);
  last_line(a->folder, STDERR_FILE, line, sizeof line);
  snprintf(reason, sizeof reason, "the worker ended with status %d and no usable %s (%s)%s%s",
           child->exit_code, ASSAY_WORKER_FACTS_FILE, why, line[0] != '\0' ? ": " : "", line);
  return attempt_end_as(a, ASSAY_RESULT_CRASHED, stage, reason, err);
}

/* worker.json says that all was done, and yet. */
static assay_status end_with_failure(attempt *a, const assay_child_result *child,
                                     assay_error *err) {
  char reason[2 * LAST_LINE_BYTES], line[LAST_LINE_BYTES];
  last_line(a->folder, STDERR_FILE, line, sizeof line);
  snprintf(reason, sizeof reason, "the worker finished, and then ended with status %d%s%s",
           child->exit_code, line[0] != '\0' ? ": " : "", line);
  return attempt_end_as(a, ASSAY_RESULT_FAILED, assay_worker_last_stage(a->folder), reason, err);
}

static assay_status take_facts(attempt *a, assay_error *err) {
  assay_result *result = a->result;
  const assay_worker_facts *facts = &a->facts;
  ASSAY_TRY(assay_fields_set(&result->provider, facts->provider, err));
  ASSAY_TRY(assay_fields_copy(facts->options, &result->options, err));
  ASSAY_TRY(assay_result_caches_copy(&facts->caches, &result->caches, err));
  if (facts->library_path[0] == '\0') return ASSAY_OK;
  ASSAY_TRY(assay_fields_set(&result->library_path, facts->library_path, err));
  ASSAY_TRY(assay_fields_set(&result->library_version, facts->library_version, err));
  return assay_fields_set(&result->library_build, facts->library_build, err);
}

static const assay_machine_library *mapped(const assay_worker_facts *facts, const char *path) {
  for (size_t i = 0; i < facts->libraries.n; i++)
    if (strcmp(facts->libraries.items[i].path, path) == 0) return &facts->libraries.items[i];
  return NULL;
}

/* That it ran what was asked: library and graph by their bytes, options by their hash. Timing and
 * placement of a case are asked the same, so both ran the same. */
static assay_status check_identity(attempt *a, assay_error *err) {
  const assay_worker_facts *facts = &a->facts;
  const assay_result_keys *keys = &a->result->keys;
  const assay_machine_library *library = mapped(facts, facts->library_path);
  if (library == NULL || strcmp(library->sha256, keys->library_sha256) != 0)
    return assay_fail(
        err, ASSAY_E_MISMATCH,
        "the library that was mapped ('%s') is not the one that was asked for, by SHA-256",
        facts->library_path);
  const char *plugin = a->runtime->spec.plugin;
  library = plugin != NULL ? mapped(facts, plugin) : NULL;
  if (plugin != NULL &&
      (library == NULL || strcmp(library->sha256, a->runtime->spec.plugin_sha256) != 0))
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "the plug-in that was asked for ('%s') is not what was mapped, by SHA-256",
                      plugin);
  if (strcmp(facts->model_sha256, assay_result_executed(a->result)) != 0)
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "the graph that was executed is not the one that was asked for, by SHA-256");
  if (strcmp(facts->options_sha256, keys->options_sha256) != 0)
    return assay_fail(err, ASSAY_E_MISMATCH,
                      "the session's options are not those that were asked for, by SHA-256");
  return ASSAY_OK;
}

/* It was ended for what it printed; the beginning of that is kept. */
static assay_status end_talk(attempt *a, assay_error *err) {
  char reason[128];
  const off_t max_bytes = talk_max_bytes(a);
  snprintf(reason, sizeof reason, "the worker printed more than %lld MiB and was ended",
           (long long)(max_bytes >> 20));
  if ((is_longer(a->stdout_path, max_bytes) && truncate(a->stdout_path, max_bytes) != 0) ||
      (is_longer(a->stderr_path, max_bytes) && truncate(a->stderr_path, max_bytes) != 0))
    return assay_fail(err, ASSAY_E_IO, "'%s': what the worker printed cannot be cut", a->folder);
  return attempt_end_as(a, ASSAY_RESULT_FAILED, assay_worker_last_stage(a->folder), reason, err);
}

assay_status attempt_take_end(attempt *a, const assay_child_result *child, assay_error *err) {
  assay_error reading = {0};
  if (attempt_talks_too_much(a)) return end_talk(a, err); /* perhaps between two looks */
  char *path = assay_path_join(a->folder, ASSAY_WORKER_FACTS_FILE);
  if (path == NULL) return assay_fail_memory(err, strlen(a->folder) + 16);
  assay_status unread = assay_worker_facts_read(path, &a->facts, &reading);
  assay_free(path);
  if (unread == ASSAY_E_MEMORY) return assay_fail(err, unread, "%s", reading.text);
  a->has_facts = unread == ASSAY_OK;
  if (a->has_facts) ASSAY_TRY(take_facts(a, err));
  if (child->timed_out) return end_by_timeout(a, child, err);
  if (child->signal != 0) return end_by_signal(a, child, err);
  if (!a->has_facts) return end_without_word(a, child, reading.text, err);
  if (!a->facts.finished)
    return attempt_end_as(a, ASSAY_RESULT_FAILED, a->facts.stage, a->facts.reason, err);
  if (child->exit_code != 0) return end_with_failure(a, child, err);
  if (child->left_children)
    return attempt_end_as(a, ASSAY_RESULT_FAILED, assay_worker_last_stage(a->folder),
                          "the worker left processes behind, which were killed", err);
  assay_error mismatch = {0};
  if (check_identity(a, &mismatch))
    return attempt_end_as(a, ASSAY_RESULT_FAILED, ASSAY_STAGE_SESSION, mismatch.text, err);
  a->result->status = ASSAY_RESULT_DONE;
  return ASSAY_OK;
}
