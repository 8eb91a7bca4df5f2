/* The kernels of a GPU profile, row by row from a CSV or a database, counted and judged. */
#ifndef ASSAY_FUSION_GPU_LIST_H
#define ASSAY_FUSION_GPU_LIST_H

#include "fusion/fusion_parts.h"
#include "fusion/span_index.h"

/* One row; -1 where the profile does not say. */
typedef struct assay_gpu_row {
  assay_text_span name;    /* need not outlive the call */
  assay_text_span process; /* what tells processes apart; empty: it does not say */
  int64_t n;               /* executions: 1, or a summary's count */
  int64_t dispatch;        /* running number within the process */
  int64_t begin_ns, end_ns;
  double percent, total_ns; /* of a summary */
  size_t line;
  assay_text_span excerpt;
} assay_gpu_row;

typedef struct assay_gpu_list {
  assay_fusion_work *work;
  size_t source;
  size_t n_rows, n_skipped; /* taken; of other processes */
  size_t first_kernel;      /* index into work->out->kernels */
  assay_span_index names;
  char process[64]; /* the first one */
  bool has_others;  /* rows of another process, where none was asked for */
  bool is_damaged;  /* rows may be missing: what is not there is no offence then */
  size_t n_calls;   /* rows that are calls of a runtime's interface, not kernels */
  int64_t *dispatches;
  size_t n_dispatches, dispatch_cap;
  struct assay_gpu_share {
    double percent, total_ns;
  } * shares;
  size_t n_shares, share_cap;
} assay_gpu_list;

void assay_gpu_list_begin(assay_gpu_list *list, assay_fusion_work *work, size_t source);

/* Adds a row; one that contradicts itself becomes a doubt. */
void assay_gpu_list_add(assay_gpu_list *list, const assay_gpu_row *row);

/* Says what is wrong with a row, or with its place in the list. */
void assay_gpu_list_doubt(assay_gpu_list *list, const assay_gpu_row *row, const char *what);

/* Judges all rows, and releases what the list holds. */
void assay_gpu_list_end(assay_gpu_list *list);

#endif
