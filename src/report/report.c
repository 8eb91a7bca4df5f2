/* The report folder: built under another name, then renamed into place. */
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/table.h"

#define FOLDER     "report"
#define FOLDER_NEW ".report-new" /* while it is built */
#define FOLDER_OLD ".report-old" /* while it is replaced */

typedef void (*put_text)(const assay_view *view, assay_sink *sink);

static assay_status write_file(const char *folder, const char *name, const assay_sink *sink,
                               assay_error *err) {
  ASSAY_TRY(assay_sink_check(sink, err));
  char *path = assay_path_join(folder, name);
  if (path == NULL) return assay_fail_memory(err, strlen(folder) + strlen(name));
  assay_status st = assay_file_write(path, sink->buf.data, sink->buf.size_bytes, err);
  assay_free(path);
  return st;
}

static assay_status write_text(const assay_view *view, const char *folder, const char *name,
                               put_text put, assay_error *err) {
  assay_sink sink = {0};
  put(view, &sink);
  assay_status st = write_file(folder, name, &sink, err);
  assay_sink_reset(&sink);
  return st;
}

static assay_status write_json(const assay_view *view, const char *folder, assay_error *err) {
  assay_sink sink = {0};
  assay_status st = assay_table_json(view, &sink.buf, err);
  if (st == ASSAY_OK) st = write_file(folder, "table.json", &sink, err);
  assay_sink_reset(&sink);
  return st;
}

static assay_status write_page(const assay_view *view, const char *folder, const assay_plots *plots,
                               assay_error *err) {
  assay_sink sink = {0};
  assay_page_put(view, plots, &sink);
  assay_status st = write_file(folder, "report.html", &sink, err);
  assay_sink_reset(&sink);
  return st;
}

static assay_status check_stop(const assay_report_options *options, assay_error *err) {
  if (options->cancelled == NULL || !options->cancelled(options->cancelled_arg)) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_STOPPED, "stopped");
}

static assay_status write_all(const assay_view *view, const char *folder,
                              const assay_report_options *options, assay_plots *plots,
                              assay_error *err) {
  ASSAY_TRY(assay_folder_remove(folder, err)); /* left by a run that was killed */
  ASSAY_TRY(assay_folder_create(folder, err));
  ASSAY_TRY(write_text(view, folder, "table.csv", assay_table_put_csv, err));
  ASSAY_TRY(write_text(view, folder, "heads.csv", assay_table_put_heads_csv, err));
  ASSAY_TRY(write_text(view, folder, "placement.csv", assay_table_put_placement_csv, err));
  ASSAY_TRY(write_text(view, folder, "memory.csv", assay_table_put_memory_csv, err));
  ASSAY_TRY(write_text(view, folder, "table.md", assay_table_put_markdown, err));
  ASSAY_TRY(write_json(view, folder, err));
  ASSAY_TRY(check_stop(options, err));
  ASSAY_TRY(assay_plots_draw(view, options->gnuplot, folder, plots, err));
  ASSAY_TRY(check_stop(options, err));
  ASSAY_TRY(write_page(view, folder, plots, err));
  return check_stop(options, err);
}

/* Puts the new folder in place of the old one. */
static assay_status swap(const char *folder, const char *folder_new, const char *folder_old,
                         assay_error *err) {
  ASSAY_TRY(assay_folder_remove(folder_old, err));
  if (rename(folder, folder_old) != 0 && errno != ENOENT) {
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not move '%s' away", folder);
  }
  if (rename(folder_new, folder) != 0) {
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not move '%s' to '%s'", folder_new,
                            folder);
  }
  return assay_folder_remove(folder_old, err);
}

assay_status assay_report_write(const assay_view *view, const assay_report_options *options,
                                assay_report_outcome *out, assay_error *err) {
  char *folder = assay_path_join(view->path, FOLDER);
  char *folder_new = assay_path_join(view->path, FOLDER_NEW);
  char *folder_old = assay_path_join(view->path, FOLDER_OLD);
  const assay_report_options defaults = {0};
  assay_plots plots = {0};
  assay_status st = ASSAY_OK;
  if (folder == NULL || folder_new == NULL || folder_old == NULL) {
    st = assay_fail_memory(err, strlen(view->path));
    goto done;
  }
  st = write_all(view, folder_new, options != NULL ? options : &defaults, &plots, err);
  if (st == ASSAY_OK) st = swap(folder, folder_new, folder_old, err);
  if (st == ASSAY_OK && view->package.finished_at[0])
    st = assay_package_seal(view->path, FOLDER, err);
  if (st == ASSAY_OK && out) {
    out->n_plots = plots.n;
    memcpy(out->note, plots.note, sizeof out->note);
  }
done:
  if (st && folder_new && assay_folder_remove(folder_new, NULL)) {
    /* the first failure is the one to tell */
  }
  if (st) assay_error_in(err, "report of '%s'", view->path);
  assay_plots_reset(&plots);
  assay_free(folder_old);
  assay_free(folder_new);
  assay_free(folder);
  return st;
}
