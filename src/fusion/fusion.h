/* Rule 7: did the fused kernels run? Judged from what a run left behind: lines of ONNX Runtime's
 * CUDA provider, compile traces of MIGraphX, kernel lists of GPU profilers. A flag that asks for a
 * fused kernel is no evidence.
 *
 * The rules, for every kind:
 *  - FAIL: complete evidence shows what must not be, or a whole output shows no line of the kind
 *    that is asked for.
 *  - PASS: the evidence is complete and consistent, and shows as many fused operations as are
 *    expected, by allowed kernels, and nothing that must not be.
 *  - UNKNOWN: everything else. Cut, reordered, mixed with another process, of another graph, served
 *    from a cache, without anything that would show a loss.
 *
 * When does damage show? Line ends of either kind are line ends. A NUL byte, or a last line without
 * an end, is damage. Beyond that:
 *  - dispatch lines: each is whole and alone on its line; every node has the same count of them and
 *    the order of nodes is the same in each call; their number is a multiple of the expected one,
 *    or exactly expected x calls. Hence a count is needed for a PASS.
 *  - compile traces: see migraphx_trace.h. Instructions are numbered, so each program that counts
 *    proves its own completeness; the last program is printed twice.
 *  - kernel lists: percentages add up to 100, dispatch numbers have no gap and no repetition, one
 *    header, one process, each dispatch of a listed kernel, agent and time; the number of fused
 *    kernels is a multiple of the expected one. A count is needed for a PASS.
 * Lines that are not of the kind's grammar may stand between those that are. */
#ifndef ASSAY_FUSION_FUSION_H
#define ASSAY_FUSION_FUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "fusion/kernel_name.h"

typedef enum assay_fusion_verdict {
  ASSAY_FUSION_PASS,
  ASSAY_FUSION_FAIL,
  ASSAY_FUSION_UNKNOWN,
} assay_fusion_verdict;

const char *assay_fusion_verdict_name(assay_fusion_verdict verdict); /* "pass", "fail", "unknown" */

/* What a file is evidence of. */
typedef enum assay_fusion_kind {
  ASSAY_FUSION_AUTO,     /* as its contents say */
  ASSAY_FUSION_DISPATCH, /* stdout or log of ONNX Runtime: attention kernels of the CUDA provider */
  ASSAY_FUSION_MIGRAPHX, /* compile trace, or the output of migraphx-driver */
  ASSAY_FUSION_NSYS,     /* Nsight Systems: SQLite export, or CSV of `nsys stats` */
  ASSAY_FUSION_ROCPROF,  /* rocprofv3: CSV, JSON or rocpd (SQLite) */
} assay_fusion_kind;
#define ASSAY_FUSION_N_KINDS 5

const char *assay_fusion_kind_name(assay_fusion_kind kind); /* "auto", "dispatch", "migraphx", … */

typedef struct assay_fusion_source {
  const char *name;  /* as a person is shown it; NULL: path */
  const char *path;  /* NULL: the bytes below are the contents (text kinds only) */
  const void *bytes; /* [size_bytes], borrowed */
  size_t size_bytes;
} assay_fusion_source;

/* All zeroes are the defaults but for expect_fused, where 0 means something: use -1. */
typedef struct assay_fusion_spec {
  const assay_fusion_source *sources; /* [n_sources], of one process, at least one */
  size_t n_sources;
  assay_fusion_kind kind; /* what must be shown; AUTO: whatever the sources hold */
  int64_t expect_fused;   /* fused attention operations of one call; 0: none, so that only the other
                             checks count; -1: not known */
  int64_t n_calls;        /* calls of the session; 0: not known */
  int64_t n_elems;        /* N: padded elements of the case, for scores [.., N, N]; 0: not known */
  int64_t n_programs;     /* MIGraphX programs that the process compiled, together the graph; 0: not
                             known, each is taken for a whole graph */
  int64_t pid;            /* in a profile of several processes: the one that counts; 0: there must
                             be only one */
  int64_t sm;             /* CUDA compute capability, such as 80 or 90; 0: not known */
  const char *const *allowed; /* [n_allowed] kernels or families; none: every fused one that the
                                 device can have */
  size_t n_allowed;
  const char *graph_sha256; /* of the graph that ran, 64 hex digits; or NULL */
  const char *graph_path;   /* that graph, for its inputs; or NULL */
  const char *case_name;    /* for the record; or NULL */
} assay_fusion_spec;

typedef enum assay_fusion_level {
  ASSAY_FUSION_NOTE,    /* worth knowing */
  ASSAY_FUSION_PROOF,   /* what a pass rests on */
  ASSAY_FUSION_DOUBT,   /* makes the verdict unknown */
  ASSAY_FUSION_OFFENCE, /* makes it a failure */
} assay_fusion_level;

const char *assay_fusion_level_name(assay_fusion_level level); /* "note", "proof", … */

typedef struct assay_fusion_finding {
  assay_fusion_level level;
  const char *check; /* one word: "count", "kernel", "scores", "integers", "complete", "graph",
                        "process", "shape", "cache", "lines" */
  char *text;        /* owned */
  size_t source;     /* index */
  size_t line;       /* 1-based line of a text, row of a table; 0: the source as a whole */
  char *excerpt;     /* of that line, printable, cut; or NULL */
} assay_fusion_finding;

typedef struct assay_fusion_kernel {
  assay_kernel_family family;
  char *name; /* as the evidence spells it; owned */
  char *op;   /* dispatch lines: operator, node and type; NULL otherwise */
  char *node;
  char *dtype;
  int64_t n;     /* executions */
  size_t source; /* of the first one */
  size_t line;
} assay_fusion_kernel;

/* One compile of MIGraphX. */
typedef struct assay_fusion_program {
  size_t source, first_line, last_line; /* of the program that counts; 0 without one */
  bool complete;                        /* from the first pass to the last */
  bool traced;                          /* false: only its result was printed */
  size_t n_passes;                      /* whole programs that were printed on the way */
  size_t n_candidates;                  /* softmax operations of the graph as it was read */
  size_t n_fused;                       /* attention kernels of the last program */
  size_t n_scores;                      /* buffers [.., N, N] of floating type in it */
  size_t n_rounded;                     /* integers that became floating */
  char *inputs;                         /* "q half {1, 8, 64, 16}; …"; owned */
} assay_fusion_program;

typedef struct assay_fusion {
  assay_fusion_verdict verdict;
  char reason[384]; /* the finding that decided, or what the pass rests on */
  struct {
    char *name;             /* owned */
    assay_fusion_kind kind; /* AUTO: holds nothing of any kind */
    char *format;           /* "text", "CSV", "JSON", "SQLite", or what it is instead */
    bool usable;            /* false: could not be read, or is nothing that can be evidence */
    int64_t pid;            /* 0: it does not say */
    char *sha256;           /* of its contents; NULL when it could not be read */
  } * sources;
  size_t n_sources;
  assay_fusion_finding *findings; /* in the order in which they were made */
  size_t n_findings;
  size_t n_left_out; /* further ones of a check that has many already */
  assay_fusion_kernel *kernels;
  size_t n_kernels;
  assay_fusion_program *programs;
  size_t n_programs;
  int64_t expect_fused, n_calls, n_elems, sm;
  int64_t n_fused;          /* as found: in a call (dispatch, programs) or in all (kernel lists) */
  char graph_sha256[65];    /* "" when nobody said */
  const char *graph_origin; /* "named by the evidence", "said by the caller", "not said" */
  char *case_name;          /* or NULL */
} assay_fusion;

/* Everything wrong with the evidence is a verdict. Errors: ARGUMENT (no source, a kernel name that
 * nothing is called, a hash that is none), MEMORY, and for graph_path those of
 * assay_onnx_info_open. */
assay_status assay_fusion_judge(const assay_fusion_spec *spec, assay_fusion *out,
                                assay_error *err) ASSAY_NODISCARD;

/* Schema assay/fusion/1 as a member (key NULL: as the root or an array's element). */
void assay_fusion_put(const assay_fusion *fusion, assay_json_builder *b, const char *key);

void assay_fusion_reset(assay_fusion *fusion);

#endif
