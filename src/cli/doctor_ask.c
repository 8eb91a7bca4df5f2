/* Questions to a child of this program. */
#include "cli/doctor_ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "cli/cli.h"

#define TIMEOUT_NS       ((int64_t)60 * 1000000000)
#define REPORT_MAX_BYTES ((size_t)1 << 20)

assay_status assay_doctor_open_folder(char *out, size_t out_bytes, assay_error *err) {
  const char *parent = getenv("TMPDIR");
  snprintf(out, out_bytes, "%s/assay-doctor-XXXXXX",
           parent != NULL && parent[0] != '\0' ? parent : "/tmp");
  if (mkdtemp(out) != NULL) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_IO, "no temporary folder '%s': %s", out, strerror(errno));
}

/* How the child ended, when it said nothing. */
static void say_end(const assay_child_result *end, char *out, size_t out_bytes) {
  if (end->timed_out)
    snprintf(out, out_bytes, "nothing heard of it for %d s", (int)(TIMEOUT_NS / 1000000000));
  else if (end->signal != 0)
    snprintf(out, out_bytes, "the process that opened it died of signal %d (%s)", end->signal,
             strsignal(end->signal));
  else
    snprintf(out, out_bytes, "the process that opened it ended with status %d", end->exit_code);
}

static assay_status unusable(const char *value, const char *reason, assay_json **out,
                             assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_buf text = {0};
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "asked", value);
  assay_json_put_bool(b, "usable", false);
  assay_json_put_string(b, "reason", reason);
  assay_json_end(b);
  assay_status st = assay_json_builder_finish(b, &text, err);
  if (!st) st = assay_json_parse(text.data, text.size_bytes, out, err);
  assay_buf_reset(&text);
  assay_json_builder_destroy(b);
  return st;
}

static assay_status ask_in(const char *folder, const assay_child_spec *asked, const char *value,
                           assay_json **out, assay_error *err) {
  char *report = assay_path_join(folder, "report.json");
  if (report == NULL) return assay_fail_memory(err, strlen(folder) + 16);
  assay_child_spec spec = *asked;
  spec.stdout_path = report;
  assay_child_result end = {0};
  assay_status st = assay_child_run(&spec, &end, err);
  bool told = !st && end.exited && end.exit_code == ASSAY_EXIT_DONE &&
              assay_json_read(report, REPORT_MAX_BYTES, out, NULL) == ASSAY_OK;
  char reason[256];
  say_end(&end, reason, sizeof reason);
  if (!st && !told) st = unusable(value, reason, out, err);
  assay_free(report);
  return st;
}

assay_status assay_doctor_ask(const char *self, const char *option, const char *value,
                              const char *const *env, assay_json **out, assay_error *err) {
  char folder[4096];
  const char *argv[] = {self, "doctor", option, value, NULL};
  assay_child_spec spec = {.argv = argv, .env = env, .timeout_ns = TIMEOUT_NS};
  ASSAY_TRY(assay_doctor_open_folder(folder, sizeof folder, err));
  assay_status st = ask_in(folder, &spec, value, out, err);
  assay_status removed = assay_folder_remove(folder, st ? NULL : err);
  return st ? st : removed;
}
