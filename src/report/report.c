/* The report folder: built under another name, then renamed into place. */
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/table.h"

#define FOLDER "report" /* in the package; ".report-new" while it is built */

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

/* ---- another place than the package ---- */

/* An absolute path without links of the folder, or of the nearest one above it that is there with
 * the rest behind. Released with assay_free; NULL when memory is out. */
static char *resolve(const char *path) {
  char real[PATH_MAX];
  char *head = assay_strdup(path), *tail = assay_strdup("");
  while (head && tail && realpath(*head ? head : ".", real) == NULL) {
    char *slash = strrchr(head, '/');
    char *longer = assay_format("/%s%s", slash ? slash + 1 : head, tail);
    assay_free(tail);
    tail = longer;
    if (slash == NULL) {
      *head = 0;
    } else if (slash == head) {
      head[1] = 0;
    } else {
      *slash = 0;
    }
  }
  char *whole = head && tail ? assay_format("%s%s", strcmp(real, "/") ? real : "", tail) : NULL;
  assay_free(tail);
  assay_free(head);
  return whole;
}

/* "../../data/package": the way from one resolved folder to another. */
static char *way_between(const char *from, const char *to) {
  size_t same = 0;
  assay_sink way = {0};
  for (size_t i = 0;; i++) {
    bool from_ends = from[i] == '/' || from[i] == 0, to_ends = to[i] == '/' || to[i] == 0;
    if (from_ends && to_ends) same = i;
    if (from[i] != to[i] || from[i] == 0) break;
  }
  for (const char *c = from + same; *c; c++)
    if (*c == '/') assay_sink_put(&way, "../");
  assay_sink_put(&way, to[same] ? to + same + 1 : "");
  char *copy = way.status ? NULL : assay_strdup(assay_sink_text(&way));
  size_t n = copy ? strlen(copy) : 0;
  if (n > 1 && copy[n - 1] == '/') copy[n - 1] = 0;
  assay_sink_reset(&way);
  return copy;
}

/* A folder that is there is replaced only where it is a report, or empty. */
static assay_status check_replaceable(const char *folder, assay_error *err) {
  assay_names names = {0};
  bool is_report = false;
  assay_path_kind kind = assay_path_kind_of(folder);
  if (kind == ASSAY_PATH_NONE) return ASSAY_OK;
  if (kind != ASSAY_PATH_FOLDER)
    return assay_fail(err, ASSAY_E_ARGUMENT, "'%s' is not a folder", folder);
  ASSAY_TRY(assay_folder_list(folder, &names, err));
  for (size_t i = 0; i < names.n; i++) is_report |= strcmp(names.items[i], "table.json") == 0;
  is_report |= names.n == 0;
  assay_names_reset(&names);
  if (is_report) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_ARGUMENT,
                    "'%s' holds something else than a report: give a folder that is new or empty",
                    folder);
}

/* Whether the report may go to that folder, and how it gets to its evidence from there. */
static assay_status go_elsewhere(assay_view *view, const char *folder, assay_error *err) {
  char *from = resolve(folder), *to = resolve(view->path);
  assay_status st = from && to ? check_replaceable(folder, err) : assay_fail_memory(err, 256);
  size_t n = to ? strlen(to) : 0;
  if (st == ASSAY_OK && strncmp(from, to, n) == 0 && (from[n] == '/' || from[n] == 0))
    st = assay_fail(err, ASSAY_E_ARGUMENT,
                    "'%s' lies in the package, whose files are sealed: give a folder elsewhere",
                    folder);
  if (st == ASSAY_OK) {
    assay_free(view->evidence);
    view->evidence = way_between(from, to);
    if (view->evidence == NULL) st = assay_fail_memory(err, n);
  }
  assay_free(from);
  assay_free(to);
  return st;
}

/* ---- the whole ---- */

/* ".NAME-new" beside the folder. */
static char *beside(const char *folder, const char *ending) {
  const char *name = assay_path_name(folder);
  return assay_format("%.*s.%s%s", (int)(name - folder), folder, name, ending);
}

assay_status assay_report_write(assay_view *view, const assay_report_options *options,
                                assay_report_outcome *out, assay_error *err) {
  const assay_report_options defaults = {0};
  if (options == NULL) options = &defaults;
  char *folder =
      options->folder ? assay_strdup(options->folder) : assay_path_join(view->path, FOLDER);
  for (size_t n = folder ? strlen(folder) : 0; n > 1 && folder[n - 1] == '/';) folder[--n] = 0;
  char *folder_new = folder ? beside(folder, "-new") : NULL;
  char *folder_old = folder ? beside(folder, "-old") : NULL;
  assay_plots plots = {0};
  assay_status st = ASSAY_OK;
  if (folder_new == NULL || folder_old == NULL) {
    st = assay_fail_memory(err, strlen(view->path));
    goto done;
  }
  if (options->folder) st = go_elsewhere(view, folder, err);
  if (st == ASSAY_OK) st = write_all(view, folder_new, options, &plots, err);
  if (st == ASSAY_OK) st = swap(folder, folder_new, folder_old, err);
  if (st == ASSAY_OK && options->folder == NULL && view->package.finished_at[0])
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
