#include "fusion/gpu_database.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fusion/gpu_list.h"
#include "fusion/graph_name.h"

#define MAGIC          "SQLite format 3" /* and a zero byte */
#define HEADER_BYTES   100
#define STEPS_A_CALL   100000 /* virtual machine steps between looks at the clock of the query */
#define CALLS_MAX      5000   /* 5e8 steps: some millions of kernels, or half a minute */
#define TEXT_MAX_BYTES (1 << 20)

bool assay_gpu_database_is(const void *bytes, size_t size_bytes) {
  return size_bytes >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0;
}

static bool doubt(assay_fusion_work *work, const assay_fusion_file *file, const char *what) {
  assay_fusion_find(work, ASSAY_FUSION_DOUBT, "complete", file->source, 0, ASSAY_NO_EXCERPT, "%s",
                    what);
  return false;
}

static uint32_t big_endian(const uint8_t *at, int n_bytes) {
  uint32_t value = 0;
  for (int i = 0; i < n_bytes; i++) value = value << 8 | at[i];
  return value;
}

/* As long as its header says: page size times pages, where the count of pages is kept. */
static bool is_whole(const assay_fusion_file *file) {
  const uint8_t *bytes = file->bytes;
  if (file->size_bytes < HEADER_BYTES) return false;
  uint64_t page_bytes = big_endian(bytes + 16, 2);
  if (page_bytes == 1) page_bytes = 65536;
  if (big_endian(bytes + 24, 4) != big_endian(bytes + 92, 4)) return true; /* not kept */
  return page_bytes * big_endian(bytes + 28, 4) == file->size_bytes;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int count_call(void *n_left) {
  int *left = n_left;
  return --*left <= 0;
}

/* Reading is all that may be done; recursion is the way to queries that never end. */
static int authorise(void *arg, int action, const char *a, const char *b, const char *c,
                     const char *d) {
  (void)arg, (void)a, (void)c, (void)d;
  if (action == SQLITE_SELECT || action == SQLITE_READ) return SQLITE_OK;
  if (action == SQLITE_FUNCTION)
    return b != NULL && sqlite3_stricmp(b, "load_extension") != 0 ? SQLITE_OK : SQLITE_DENY;
  return SQLITE_DENY;
}

/* "file:" and the path with what a URI would read as its own escaped. */
static assay_status uri_of(const char *path, assay_buf *out, assay_error *err) {
  ASSAY_TRY(assay_buf_append_text(out, "file:", err));
  for (const char *c = path; *c != '\0'; c++) {
    if (strchr("%?#", *c) != NULL)
      ASSAY_TRY(assay_buf_appendf(out, err, "%%%02X", (unsigned)(unsigned char)*c));
    else
      ASSAY_TRY(assay_buf_append(out, c, 1, err));
  }
  return assay_buf_append_text(out, "?mode=ro&immutable=1", err);
}

static sqlite3 *open_database(assay_fusion_work *work, const char *path, int *n_left) {
  assay_buf uri = {0};
  sqlite3 *db = NULL;
  work->status = uri_of(path, &uri, work->err);
  if (!work->status &&
      sqlite3_open_v2(assay_buf_text(&uri), &db,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL)) {
    sqlite3_close(db);
    db = NULL;
  }
  assay_buf_reset(&uri);
  if (db == NULL) return NULL;
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_MAX_BYTES);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_progress_handler(db, STEPS_A_CALL, count_call, n_left);
  sqlite3_set_authorizer(db, authorise, NULL);
  return db;
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool has_table(sqlite3 *db, const char *like) {
  sqlite3_stmt *query = NULL;
  bool is_there = false;
  if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master WHERE name LIKE ?1 ESCAPE '\\' LIMIT 1",
                         -1, &query, NULL) == SQLITE_OK &&
      sqlite3_bind_text(query, 1, like, -1, SQLITE_STATIC) == SQLITE_OK)
    is_there = sqlite3_step(query) == SQLITE_ROW;
  sqlite3_finalize(query);
  return is_there;
}

/* Columns: name, begin, end, process, dispatch; the first that the schema knows is taken. */
static const char *const nsys_queries[] = {
    "SELECT coalesce(d.value, s.value), k.start, k.end, (k.globalPid >> 24) & 16777215, -1 "
    "FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds d ON d.id = k.demangledName "
    "LEFT JOIN StringIds s ON s.id = k.shortName",
    "SELECT s.value, k.start, k.end, '', -1 "
    "FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = k.shortName",
};
static const char *const rocpd_queries[] = {
    "SELECT name, start, end, pid, dispatch_id FROM kernels",
    "SELECT name, start, end, pid, -1 FROM kernels",
    "SELECT name, start, end, guid, -1 FROM kernels",
    "SELECT name, start, end, '', -1 FROM kernels",
};

static assay_text_span text_of(sqlite3_stmt *query, int column) {
  const char *text = (const char *)sqlite3_column_text(query, column);
  return text != NULL ? assay_span_of(text) : (assay_text_span){0};
}

static int64_t time_of(sqlite3_stmt *query, int column) {
  return sqlite3_column_type(query, column) == SQLITE_INTEGER ? sqlite3_column_int64(query, column)
                                                              : -1;
}

static bool say_end(assay_fusion_work *work, const assay_fusion_file *file, int code) {
  if (code == SQLITE_DONE) return true;
  if (code == SQLITE_NOMEM) work->status = assay_fail_memory(work->err, 0);
  return doubt(work, file,
               code == SQLITE_INTERRUPT ? "the database takes too long to read"
                                        : "the database is damaged, or its schema is not known");
}

/* has_graphs: there are kernels that the list does not have. */
static bool take_rows(assay_fusion_work *work, const assay_fusion_file *file, sqlite3 *db,
                      const char *const *queries, size_t n_queries, bool has_graphs) {
  sqlite3_stmt *query = NULL;
  assay_gpu_list list;
  int code = SQLITE_ERROR;
  size_t line = 0;
  for (size_t i = 0; i < n_queries && code != SQLITE_OK && code != SQLITE_INTERRUPT; i++) {
    sqlite3_finalize(query);
    query = NULL;
    code = sqlite3_prepare_v2(db, queries[i], -1, &query, NULL);
  }
  if (code != SQLITE_OK) {
    sqlite3_finalize(query);
    return say_end(work, file, code);
  }
  assay_gpu_list_begin(&list, work, file->source);
  list.is_damaged = has_graphs;
  while (!work->status && (code = sqlite3_step(query)) == SQLITE_ROW) {
    assay_text_span name = text_of(query, 0), process = text_of(query, 3);
    assay_gpu_list_add(&list, &(assay_gpu_row){.name = name,
                                               .process = process,
                                               .n = 1,
                                               .dispatch = time_of(query, 4),
                                               .begin_ns = time_of(query, 1),
                                               .end_ns = time_of(query, 2),
                                               .percent = -1,
                                               .line = ++line,
                                               .excerpt = name});
  }
  sqlite3_finalize(query);
  bool is_whole_list = work->status ? false : say_end(work, file, code);
  list.is_damaged |= !is_whole_list;
  assay_gpu_list_end(&list);
  return is_whole_list;
}

/* Graphs that names and command lines speak of; a schema without them says nothing. */
static void take_graphs(assay_fusion_work *work, const assay_fusion_file *file, sqlite3 *db,
                        const char *sql) {
  sqlite3_stmt *query = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK)
    while (!work->status && sqlite3_step(query) == SQLITE_ROW)
      assay_graph_name_take(work, file->source, 0, text_of(query, 0));
  sqlite3_finalize(query);
}

/* CUDA graphs that were traced as a whole: the kernels within are in no other table. */
static bool has_whole_graphs(assay_fusion_work *work, const assay_fusion_file *file, sqlite3 *db) {
  sqlite3_stmt *query = NULL;
  bool is_there = sqlite3_prepare_v2(db, "SELECT 1 FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE LIMIT 1",
                                     -1, &query, NULL) == SQLITE_OK &&
                  sqlite3_step(query) == SQLITE_ROW;
  sqlite3_finalize(query);
  if (is_there)
    doubt(work, file,
          "CUDA graphs ran whose kernels the profile does not show: it needs "
          "--cuda-graph-trace=node");
  return is_there;
}

static bool take_nsys(assay_fusion_work *work, const assay_fusion_file *file, sqlite3 *db) {
  take_graphs(work, file, db, "SELECT value FROM StringIds WHERE value LIKE '%.onnx%' LIMIT 100");
  bool has_graphs = has_whole_graphs(work, file, db);
  if (has_table(db, "CUPTI\\_ACTIVITY\\_KIND\\_KERNEL"))
    return take_rows(work, file, db, nsys_queries, sizeof nsys_queries / sizeof *nsys_queries,
                     has_graphs);
  if (has_graphs) return true;
  assay_fusion_find(work, ASSAY_FUSION_OFFENCE, "lines", file->source, 0, ASSAY_NO_EXCERPT,
                    "no kernel in the profile (CUDA graphs need --cuda-graph-trace=node)");
  return true;
}

static bool take_rocpd(assay_fusion_work *work, const assay_fusion_file *file, sqlite3 *db) {
  take_graphs(work, file, db,
              "SELECT command FROM rocpd_info_process WHERE command LIKE '%.onnx%' LIMIT 100");
  return take_rows(work, file, db, rocpd_queries, sizeof rocpd_queries / sizeof *rocpd_queries,
                   /*has_graphs=*/false);
}

static bool has_journal(const char *path) {
  char *journal = assay_format("%s-wal", path);
  bool is_there = journal != NULL && assay_path_kind_of(journal) == ASSAY_PATH_FILE;
  assay_free(journal);
  return is_there;
}

bool assay_gpu_database_take(assay_fusion_work *work, const assay_fusion_file *file,
                             assay_fusion_kind *out_kind) {
  int n_left = CALLS_MAX;
  bool is_good = false;
  *out_kind = ASSAY_FUSION_AUTO;
  if (file->path == NULL) return doubt(work, file, "a database is read from a file only");
  if (!is_whole(file)) return doubt(work, file, "the database is not as long as its header says");
  if (has_journal(file->path))
    return doubt(work, file, "the database is still being written: a journal lies beside it");
  sqlite3 *db = open_database(work, file->path, &n_left);
  if (db == NULL) return work->status ? false : doubt(work, file, "the database cannot be opened");
  if (has_table(db, "rocpd\\_%")) {
    *out_kind = ASSAY_FUSION_ROCPROF;
    is_good = take_rocpd(work, file, db);
  } else if (has_table(db, "StringIds") || has_table(db, "CUPTI\\_%")) {
    *out_kind = ASSAY_FUSION_NSYS;
    is_good = take_nsys(work, file, db);
  } else {
    doubt(work, file, "a database that is neither Nsight Systems' nor rocprofv3's, or is damaged");
  }
  sqlite3_close(db);
  return is_good;
}
