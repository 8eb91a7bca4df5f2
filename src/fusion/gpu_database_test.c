/* Tests of gpu_database.c: databases as the two profilers write them, damaged ones and hostile
 * ones. The databases are made here, with the tables and columns of the profilers' documents. */
#include "fusion/gpu_database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/test_folder.h"

#define PASS    ASSAY_FUSION_PASS
#define FAIL    ASSAY_FUSION_FAIL
#define UNKNOWN ASSAY_FUSION_UNKNOWN

static test_folder folder;
static char path[1024];

static int set_up(void **state) {
  (void)state;
  test_folder_open(&folder);
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "a %41#?.sqlite"));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  test_folder_close(&folder);
  return 0;
}

static void make(const char *sql) {
  sqlite3 *db = NULL;
  char *message = NULL;
  remove(path);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static assay_fusion judge(assay_fusion_spec spec) {
  assay_fusion_source source = {.path = path};
  assay_fusion f = {0};
  assay_error err = {0};
  spec.sources = &source;
  spec.n_sources = 1;
  if (assay_fusion_judge(&spec, &f, &err)) fail_msg("%s", err.text);
  return f;
}

static void assert_judged(assay_fusion_spec spec, assay_fusion_verdict verdict, const char *part) {
  assay_fusion f = judge(spec);
  if (f.verdict != verdict || strstr(f.reason, part) == NULL)
    fail_msg("%s '%s', expected %s '%s'", assay_fusion_verdict_name(f.verdict), f.reason,
             assay_fusion_verdict_name(verdict), part);
  assay_fusion_reset(&f);
}

/* --- as the profilers write them -------------------------------------------------------------- */

/* Process 77: a GEMM (1) and a flash kernel (2), twice each. */
#define NSYS                                                                                       \
  "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"                                    \
  "INSERT INTO StringIds VALUES(1,'void cutlass::Kernel2<cutlass_80_tensorop_gemm>(P)'),"          \
  "(2,'void onnxruntime::flash::flash_fwd_kernel<T>(P)'),(3,'Kernel2'),(4,'flash_fwd_kernel'),"    \
  "(5,'UnfusedSoftmaxKernel'),(6,'void pytorch_flash::flash_fwd_kernel<T>(P)');"                   \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, globalPid INT, "      \
  "demangledName INT, shortName INT, mangledName INT, graphNodeId INT);"                           \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10,20,0,77<<24,1,3,1,NULL),"                      \
  "(30,40,0,77<<24,2,4,2,NULL),(50,60,0,77<<24,1,3,1,NULL),(70,80,0,77<<24,2,4,2,NULL);"
#define KERNEL(name, pid)                                                                          \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(90,95,0," pid "<<24," name "," name ",1,NULL);"

#define MLIR "mlir_dot_reduce_max_sub_exp_reduce_sum_div_dot"
#define ROCPD                                                                                      \
  "CREATE TABLE rocpd_string_u1(id INTEGER PRIMARY KEY, string TEXT);"                             \
  "INSERT INTO rocpd_string_u1 VALUES(1,'mlir_dot_add'),(2,'" MLIR "');"                           \
  "CREATE TABLE rocpd_kernel_dispatch_u1(id INTEGER PRIMARY KEY, name INT, dispatch_id INT, "      \
  "pid INT, start INT, end INT);"                                                                  \
  "INSERT INTO rocpd_kernel_dispatch_u1 VALUES(1,1,1,5,10,20),(2,2,2,5,30,40),(3,1,3,5,50,60),"    \
  "(4,2,4,5,70,80);"                                                                               \
  "CREATE VIEW kernels AS SELECT s.string AS name, d.dispatch_id, d.pid, d.start, d.end "          \
  "FROM rocpd_kernel_dispatch_u1 d JOIN rocpd_string_u1 s ON s.id = d.name;"

#define WHOLE_GRAPH                                                                                \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, graphId INT);"                 \
  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(1,2,3);"
/* The same profile, of which only a globally unique name of the process is known. */
#define GUIDS                                                                                      \
  "DROP VIEW kernels; CREATE VIEW kernels AS SELECT s.string AS name, '0000157e-8d56' AS guid, "   \
  "d.start, d.end FROM rocpd_kernel_dispatch_u1 d JOIN rocpd_string_u1 s ON s.id = d.name;"

static void databases_get_their_right_verdict(void **state) {
  static const struct {
    const char *sql;
    int64_t expect_fused, n_calls, pid;
    assay_fusion_verdict verdict;
    const char *reason;
  } rows[] = {
      {NSYS, 1, 2, 0, PASS, ""},
      {NSYS, 2, 1, 0, PASS, ""},
      {NSYS, 1, 3, 0, UNKNOWN, "each of 3 calls"},
      {NSYS, -1, 0, 0, UNKNOWN, "unknown number"},
      {NSYS, 1, 2, 77, PASS, ""},
      {NSYS, 1, 2, 78, FAIL, "no kernel of that process"},
      {NSYS KERNEL("5", "77"), 1, 2, 0, FAIL, "unfused attention"},
      {NSYS KERNEL("6", "77"), 1, 2, 0, UNKNOWN, "another framework"},
      {NSYS KERNEL("2", "78"), 1, 3, 0, UNKNOWN, "several processes"},
      {NSYS KERNEL("2", "78"), 1, 2, 77, PASS, ""},
      {NSYS KERNEL("9", "77"), 1, 2, 0, UNKNOWN, "without a name"},
      {NSYS "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;", 1, 2, 0, FAIL, "no kernel in the profile"},
      {NSYS "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;", 1, 2, 0, FAIL, "no kernel"},
      {NSYS "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 70;", 1, 2, 0, UNKNOWN,
       "2 calls"},
      {NSYS "INSERT INTO StringIds VALUES(7,'/p/graphs/"
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.onnx');",
       1, 2, 0, PASS, ""},
      {NSYS WHOLE_GRAPH, 1, 2, 0, UNKNOWN, "--cuda-graph-trace=node"},
      {NSYS WHOLE_GRAPH "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;", 1, 2, 0, UNKNOWN, "graphs ran"},
      {NSYS WHOLE_GRAPH "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;", 1, 2, 0, UNKNOWN, "graphs ran"},
      {ROCPD, 1, 2, 0, PASS, ""},
      {ROCPD, 1, 2, 6, FAIL, "no kernel of that process"},
      {ROCPD GUIDS, 1, 2, 5, PASS, ""},
      {ROCPD, 1, 2, 5, PASS, ""},
      {ROCPD "DELETE FROM rocpd_kernel_dispatch_u1 WHERE id = 3;", 1, 2, 0, UNKNOWN,
       "dispatch 3 is not there"},
      {ROCPD "UPDATE rocpd_kernel_dispatch_u1 SET name = 1;", 1, 2, 0, FAIL, "0 fused"},
      {ROCPD "UPDATE rocpd_kernel_dispatch_u1 SET pid = 6 WHERE id = 4;", 1, 2, 0, UNKNOWN,
       "several processes"},
      {ROCPD "DROP VIEW kernels;", 1, 2, 0, UNKNOWN, "schema is not known"},
      {"CREATE TABLE t(a);", 1, 2, 0, UNKNOWN, "neither Nsight"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    make(rows[i].sql);
    assert_judged((assay_fusion_spec){.expect_fused = rows[i].expect_fused,
                                      .n_calls = rows[i].n_calls,
                                      .pid = rows[i].pid},
                  rows[i].verdict, rows[i].reason);
  }
}

static void a_graph_that_it_names_must_be_the_one_that_ran(void **state) {
  (void)state;
  make(NSYS "INSERT INTO StringIds VALUES(7,'/p/graphs/"
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.onnx');");
  assert_judged(
      (assay_fusion_spec){.expect_fused = 1,
                          .n_calls = 2,
                          .graph_sha256 =
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
      UNKNOWN, "another graph");
}

/* --- damage ----------------------------------------------------------------------------------- */

static void a_damaged_database_never_passes_wrongly(void **state) {
  static const char *const sources[] = {NSYS, ROCPD};
  (void)state;
  for (size_t k = 0; k < N_OF(sources); k++) {
    assay_buf bytes = {0};
    make(sources[k]);
    assert_int_equal(assay_file_read(path, 1 << 20, &bytes, NULL), ASSAY_OK);
    for (size_t n = 0; n < bytes.size_bytes; n += 509) { /* cut */
      assert_int_equal(assay_file_write(path, bytes.data, n, NULL), ASSAY_OK);
      assay_fusion f = judge((assay_fusion_spec){.expect_fused = 1, .n_calls = 2});
      assert_int_not_equal(f.verdict, PASS);
      assay_fusion_reset(&f);
    }
    for (size_t n = 0; n < bytes.size_bytes; n += 61) { /* 16 bytes overwritten */
      uint8_t *copy = assay_alloc(bytes.size_bytes);
      memcpy(copy, bytes.data, bytes.size_bytes);
      memset(copy + n, 0xff, bytes.size_bytes - n < 16 ? bytes.size_bytes - n : 16);
      assert_int_equal(assay_file_write(path, copy, bytes.size_bytes, NULL), ASSAY_OK);
      assay_fusion f = judge((assay_fusion_spec){.expect_fused = 1, .n_calls = 2});
      if (f.verdict == PASS) assert_int_equal(f.n_fused, 2); /* a byte that nothing rests on */
      assay_fusion_reset(&f);
      assay_free(copy);
    }
    assay_buf_reset(&bytes);
  }
}

/* The names, then the kernels, cannot be read: that none is fused is not shown. */
static void a_page_of_zeroes_makes_a_database_unknown(void **state) {
  (void)state;
  make(NSYS);
  assay_buf bytes = {0};
  assert_int_equal(assay_file_read(path, 1 << 20, &bytes, NULL), ASSAY_OK);
  const size_t page_bytes = (size_t)bytes.data[16] << 8;
  assert_int_equal(bytes.size_bytes, 3 * page_bytes);
  for (size_t page = 1; page < 3; page++) {
    uint8_t *copy = assay_alloc(bytes.size_bytes);
    memcpy(copy, bytes.data, bytes.size_bytes);
    memset(copy + page * page_bytes, 0, page_bytes);
    assert_int_equal(assay_file_write(path, copy, bytes.size_bytes, NULL), ASSAY_OK);
    assert_judged((assay_fusion_spec){.expect_fused = 1, .n_calls = 2}, UNKNOWN, "damaged");
    assay_free(copy);
  }
  assay_buf_reset(&bytes);
}

static void a_database_that_is_being_written_is_unknown(void **state) {
  char journal[1100];
  (void)state;
  make(NSYS);
  snprintf(journal, sizeof journal, "%s-wal", path);
  assert_int_equal(assay_file_write(journal, "x", 1, NULL), ASSAY_OK);
  assert_judged((assay_fusion_spec){.expect_fused = 1, .n_calls = 2}, UNKNOWN, "being written");
  remove(journal);
}

/* --- hostile ones ----------------------------------------------------------------------------- */

#define ENDLESS                                                                                    \
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS name, 1 AS start, " \
  "2 AS end, 3 AS pid, x AS dispatch_id FROM c"
#define TEN "(SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)"

static void a_hostile_database_ends(void **state) {
  static const char *const sqls[] = {
      "CREATE TABLE rocpd_x(a); CREATE VIEW kernels AS " ENDLESS ";",
      "CREATE TABLE rocpd_x(a); CREATE VIEW kernels AS SELECT count(*) AS name, 1 AS start, 2 AS "
      "end, 3 AS pid, 4 AS dispatch_id FROM " TEN "," TEN "," TEN "," TEN "," TEN "," TEN "," TEN
      "," TEN "," TEN "," TEN "," TEN "," TEN "," TEN "," TEN ";",
      "CREATE TABLE rocpd_x(a); CREATE VIEW kernels AS SELECT hex(zeroblob(900000000)) AS name, 1 "
      "AS start, 2 AS end, 3 AS pid, 4 AS dispatch_id;",
      "CREATE TABLE rocpd_x(a); CREATE VIEW kernels AS SELECT load_extension('/tmp/x.so') AS name, "
      "1 AS start, 2 AS end, 3 AS pid, 4 AS dispatch_id;",
      "CREATE TABLE rocpd_x(a); CREATE TABLE t(name); CREATE VIEW kernels AS SELECT name, 1 AS "
      "start, 2 AS end, 3 AS pid, 4 AS dispatch_id FROM pragma_table_info('t');",
  };
  (void)state;
  for (size_t i = 0; i < N_OF(sqls); i++) {
    struct timespec before, after;
    make(sqls[i]);
    clock_gettime(CLOCK_MONOTONIC, &before);
    assay_fusion f = judge((assay_fusion_spec){.expect_fused = 1});
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (f.verdict == PASS) fail_msg("hostile database %zu passes", i);
    assert_true(after.tv_sec - before.tv_sec < 120);
    assay_fusion_reset(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(databases_get_their_right_verdict),
      cmocka_unit_test(a_graph_that_it_names_must_be_the_one_that_ran),
      cmocka_unit_test(a_damaged_database_never_passes_wrongly),
      cmocka_unit_test(a_page_of_zeroes_makes_a_database_unknown),
      cmocka_unit_test(a_database_that_is_being_written_is_unknown),
      cmocka_unit_test(a_hostile_database_ends),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
