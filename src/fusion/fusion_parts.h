/* What the files of this room share while a verdict is being made. */
#ifndef ASSAY_FUSION_FUSION_PARTS_H
#define ASSAY_FUSION_FUSION_PARTS_H

#include "base/file.h"
#include "fusion/fusion.h"
#include "fusion/log_text.h"

/* A file as it is being read. */
typedef struct assay_fusion_file {
  size_t source;    /* index */
  const char *path; /* or NULL */
  const void *bytes;
  size_t size_bytes;
} assay_fusion_file;

/* A graph's input, for comparison with a program's parameters. */
typedef struct assay_fusion_input {
  char *name;       /* owned */
  int rank;         /* -1: not known */
  int64_t lens[16]; /* -1: not known */
} assay_fusion_input;

/* The verdict in the making. A failure of memory is kept; what is called later does nothing. */
typedef struct assay_fusion_work {
  const assay_fusion_spec *spec;
  assay_fusion *out;
  assay_error *err;
  assay_status status;
  bool is_allowed[ASSAY_KERNEL_N_FAMILIES];
  assay_fusion_input *inputs; /* [n_inputs] of spec->graph_path; NULL without it */
  size_t n_inputs;
  bool shown[ASSAY_FUSION_N_KINDS]; /* evidence of that kind was seen */
} assay_fusion_work;

/* Adds a finding: what was found (format), the line that it rests on with its number, 0 and
 * ASSAY_NO_EXCERPT for the source as a whole. check is a literal. */
void assay_fusion_find(assay_fusion_work *work, assay_fusion_level level, const char *check,
                       size_t source, size_t line, assay_text_span excerpt, const char *format, ...)
    ASSAY_PRINTF(7, 8);
#define ASSAY_NO_EXCERPT ((assay_text_span){0})

/* Makes room for one more element behind n of them; false, with work->status set, without memory.
 * *cap counts the elements allocated. */
bool assay_fusion_grow(assay_fusion_work *work, void **items, size_t n, size_t *cap,
                       size_t item_bytes);

/* An owned copy; NULL, with work->status set, without memory. */
char *assay_fusion_copy(assay_fusion_work *work, assay_text_span span);

/* Adds a kernel that was seen first at line, with no execution counted yet; NULL, with work->status
 * set, without memory. Good until the next one is added. */
assay_fusion_kernel *assay_fusion_add_kernel(assay_fusion_work *work, assay_text_span name,
                                             assay_kernel_family family, size_t source,
                                             size_t line);

/* How many of n things were seen against expect in each of n_calls calls (0: not known). Says what
 * is wrong as a finding of check "count"; true when it is right: n is expect x n_calls, or a
 * multiple of expect where the calls are not known. */
bool assay_fusion_count_is_right(assay_fusion_work *work, size_t source, const char *what,
                                 int64_t n);

#endif
