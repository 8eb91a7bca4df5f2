/* Temporary folders, and the script that stands in for the worker. */
#include "selftest/selftest_folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Copies the evidence of the mode that the task names, and ends as it is told there. The campaign
 * starts it as "SCRIPT worker --spec TASK --out FOLDER". */
static const char worker_script[] =
    "#!/bin/sh\n"
    "while read -r key value; do\n"
    "  case $key in\n"
    "  '\"mode\":') mode=${value#\\\"} mode=${mode%\\\",} ;;\n"
    "  '\"library\":') root=${value#\\\"} root=${root%/libonnxruntime.so\\\",} ;;\n"
    "  esac\n"
    "done <\"$3\"\n"
    "cp \"$root/evidence/$mode\"/* \"$5\"/ || exit 70\n"
    ". \"$root/evidence/$mode.sh\"\n";

static assay_status make_temporary(const char *parent, char *out, size_t out_bytes,
                                   assay_error *err) {
  int n = snprintf(out, out_bytes, "%s/assay-selftest-XXXXXX", parent);
  if (n < 0 || (size_t)n >= out_bytes)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' is too long a name for a temporary folder",
                      parent);
  if (mkdtemp(out) != NULL) return ASSAY_OK;
  out[0] = '\0';
  return assay_fail(err, ASSAY_E_IO, "no temporary folder can be made in '%s'; set TMPDIR", parent);
}

/* Packages in memory where there is such a folder: thousands of small files are written. */
assay_status selftest_folders_open(selftest_folders *r, assay_error *err) {
  const char *tmp = getenv("TMPDIR");
  bool chosen = tmp != NULL && tmp[0] != '\0';
  const char *scripts = chosen ? tmp : "/tmp";
  const char *packages = !chosen && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : scripts;
  ASSAY_TRY(make_temporary(packages, r->root, sizeof r->root, err));
  ASSAY_TRY(make_temporary(scripts, r->scripts, sizeof r->scripts, err));
  snprintf(r->script, sizeof r->script, "%s/worker", r->scripts);
  ASSAY_TRY(assay_file_write(r->script, worker_script, strlen(worker_script), err));
  if (chmod(r->script, 0700) == 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_IO, "'%s' cannot be made a program", r->script);
}

void selftest_folders_close(selftest_folders *r) {
  if (r->root[0] != '\0') (void)!assay_folder_remove(r->root, NULL);
  if (r->scripts[0] != '\0') (void)!assay_folder_remove(r->scripts, NULL);
}
