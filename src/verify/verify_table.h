/* Rows and columns of the report as they must be: each figure from derived ones. */
#ifndef ASSAY_VERIFY_VERIFY_TABLE_H
#define ASSAY_VERIFY_VERIFY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "verify/verify_bundle.h"
#include "verify/verify_run.h"

/* One case on one runtime. */
typedef struct assay_verify_row {
  const assay_verify_scene *scene;
  const char *runtime, *bundle, *case_name;
  const assay_manifest *manifest;             /* or NULL */
  const assay_manifest_case *manifest_case;   /* or NULL */
  const assay_verify_case *references;        /* or NULL */
  const assay_verify_run *timing, *placement; /* NULL: not planned */
  const assay_verify_comparison *worst;       /* or NULL */
  const char *inputs;                         /* "controlled", "brought" or "events" */
  bool passed;
} assay_verify_row;

typedef struct assay_verify_rows {
  assay_verify_row *items;
  size_t n;
} assay_verify_rows;

/* Every case of every bundle on every runtime, and what was planned beside. Borrows all it is
 * given. Errors: MEMORY. */
assay_status assay_verify_rows_init(const assay_verify_scene *scene, const assay_verify_run *runs,
                                    const assay_verify_case *cases, size_t n_cases,
                                    assay_verify_rows *out, assay_error *err) ASSAY_NODISCARD;
void assay_verify_rows_reset(assay_verify_rows *rows);

/* The row of that name, or NULL. */
const assay_verify_row *assay_verify_rows_find(const assay_verify_rows *rows, const char *runtime,
                                               const char *bundle, const char *case_name);

typedef enum assay_verify_cell_kind {
  ASSAY_VERIFY_CELL_ABSENT,
  ASSAY_VERIFY_CELL_TEXT,
  ASSAY_VERIFY_CELL_COUNT,
  ASSAY_VERIFY_CELL_REAL,
  ASSAY_VERIFY_CELL_TIME,    /* ns */
  ASSAY_VERIFY_CELL_SIZE,    /* bytes, in count */
  ASSAY_VERIFY_CELL_UNKNOWN, /* the evidence does not say, which is a problem of its own */
} assay_verify_cell_kind;

typedef struct assay_verify_cell {
  assay_verify_cell_kind kind;
  char text[2304];
  int64_t count;
  double real, bound; /* bound: how far the writer's may be */
} assay_verify_cell;

typedef struct assay_verify_column {
  const char *name;  /* in CSV and JSON */
  const char *title; /* in Markdown and on the page; NULL: not there */
  void (*get)(const assay_verify_row *row, assay_verify_cell *out); /* *out is zeroed before */
} assay_verify_column;

extern const assay_verify_column assay_verify_columns[];
extern const size_t assay_verify_n_columns;

/* NULL for a column that nothing is known about. */
const assay_verify_column *assay_verify_column_find(const char *name);
const assay_verify_column *assay_verify_column_of_title(const char *title);

/* A member of a comparison, as heads.csv calls it: false when there is none of that name. Reasons
 * are found's, which were held against the derived figures before. */
bool assay_verify_head_cell(const assay_verify_comparison *c, const assay_result_comparison *found,
                            const char *name, assay_verify_cell *out);

/* a is worse than b: one that failed, then the larger multiple of its tolerance. */
bool assay_verify_is_worse(const assay_verify_comparison *a, const assay_verify_comparison *b);

/* The comparison of the row's head against a reference, or NULL. */
const assay_verify_comparison *assay_verify_row_comparison(const assay_verify_row *row,
                                                           const char *head, const char *reference);

/* "[0,17,2]": flat index within a shape text such as "[1,100,3]". */
void assay_verify_index_text(const char *shape, int64_t index, char *out, size_t out_bytes);

/* Whether written text says the cell: exactly (17 digits, "inf", empty when absent), or rounded for
 * reading ("8.226 ms", "4.77e-07", "–" when absent). */
bool assay_verify_cell_is_exact(const assay_verify_cell *cell, const char *text);
bool assay_verify_cell_is_read(const assay_verify_cell *cell, const char *text);

/* The same letters and digits in the same order: each kind of file marks and quotes the rest in its
 * own way. Text beyond ASCII may be written in visible marks, and is not held to anything. */
bool assay_verify_same_letters(const char *a, const char *b);

/* The cell as a problem's line shows it. */
void assay_verify_cell_show(const assay_verify_cell *cell, char *out, size_t out_bytes);

#endif
