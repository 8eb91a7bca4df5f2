/* assay fusion: which attention kernels ran, judged from files alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "dataset/inflate.h"
#include "fusion/fusion.h"

#define COMMAND            "fusion"
#define FILES_MAX          64
#define ALLOWED_MAX        32
#define UNPACKED_MAX_BYTES ((size_t)1 << 30)
#define UNPACK_STEP_BYTES  ((size_t)1 << 20)

typedef struct fusion_args {
  assay_fusion_spec spec;
  assay_fusion_source sources[FILES_MAX];
  assay_buf unpacked[FILES_MAX]; /* of gzipped files */
  const char *allowed[ALLOWED_MAX];
  bool json;
} fusion_args;

enum {
  KEY_KIND = 0x100,
  KEY_EXPECT,
  KEY_CALLS,
  KEY_ELEMENTS,
  KEY_PROGRAMS,
  KEY_ALLOW,
  KEY_SM,
  KEY_PID,
  KEY_GRAPH,
  KEY_GRAPH_SHA256,
  KEY_CASE,
  KEY_JSON,
};

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "KIND", 0,
     "what the files must show: dispatch, migraphx, nsys or rocprof (default: whatever they hold)",
     0},
    {"expect-fused", KEY_EXPECT, "N", 0,
     "fused attention operations of one call: a manifest's fused_attention_ops; 0: none, only the "
     "other checks count",
     0},
    {"calls", KEY_CALLS, "N", 0, "calls of the session, warm-up included", 0},
    {"elements", KEY_ELEMENTS, "N", 0,
     "padded elements of the case: tells scores of N x N from other square tensors", 0},
    {"programs", KEY_PROGRAMS, "N", 0,
     "MIGraphX programs that the process compiled, together the graph (default: any number, each "
     "of "
     "them a whole graph)",
     0},
    {"allow", KEY_ALLOW, "KERNEL", 0,
     "an allowed kernel, such as FLASH_ATTENTION or efficient; may be repeated (default: every "
     "fused one)",
     0},
    {"sm", KEY_SM, "NN", 0, "compute capability of the CUDA device, such as 80 or 90", 0},
    {"pid", KEY_PID, "PID", 0, "the process that counts, in a profile of several", 0},
    {"graph", KEY_GRAPH, "FILE", 0,
     "the graph that ran: its hash and inputs must be the evidence's", 0},
    {"graph-sha256", KEY_GRAPH_SHA256, "HEX", 0, "the hash of the graph that ran", 0},
    {"case", KEY_CASE, "NAME", 0, "the case that ran, for the record", 0},
    {"json", KEY_JSON, NULL, 0, "print the verdict as JSON", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

static error_t take_kind(fusion_args *args, const char *value, struct argp_state *state) {
  const char *names[ASSAY_FUSION_N_KINDS - 1];
  for (int k = 1; k < ASSAY_FUSION_N_KINDS; k++) {
    names[k - 1] = assay_fusion_kind_name((assay_fusion_kind)k);
    if (strcmp(value, names[k - 1]) != 0) continue;
    args->spec.kind = (assay_fusion_kind)k;
    return 0;
  }
  const char *nearest = assay_text_nearest(value, names, ASSAY_FUSION_N_KINDS - 1);
  return assay_cli_usage(state,
                         "--kind: expected dispatch, migraphx, nsys or rocprof, found '%s'%s%s%s",
                         value, nearest != NULL ? "; did you mean '" : "",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static error_t take_int(const char *value, const char *what, int64_t low, int64_t high,
                        int64_t *out, struct argp_state *state) {
  assay_error err = {0};
  return assay_text_parse_int(value, what, low, high, out, &err) ? assay_cli_refuse(state, &err)
                                                                 : 0;
}

static error_t take_file(fusion_args *args, const char *value, struct argp_state *state) {
  if (args->spec.n_sources == FILES_MAX)
    return assay_cli_usage(state, "expected at most %d files, found also '%s'", FILES_MAX, value);
  args->sources[args->spec.n_sources++] = (assay_fusion_source){.path = value};
  return 0;
}

static error_t take_allowed(fusion_args *args, const char *value, struct argp_state *state) {
  if (args->spec.n_allowed == ALLOWED_MAX)
    return assay_cli_usage(state, "expected at most %d kernels, found also '%s'", ALLOWED_MAX,
                           value);
  args->allowed[args->spec.n_allowed++] = value;
  return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
  fusion_args *args = state->input;
  assay_fusion_spec *spec = &args->spec;
  switch (key) {
  case KEY_KIND:
    return take_kind(args, value, state);
  case KEY_EXPECT:
    return take_int(value, "--expect-fused", 0, 1000000, &spec->expect_fused, state);
  case KEY_CALLS:
    return take_int(value, "--calls", 1, 1000000000, &spec->n_calls, state);
  case KEY_ELEMENTS:
    return take_int(value, "--elements", 2, INT32_MAX, &spec->n_elems, state);
  case KEY_PROGRAMS:
    return take_int(value, "--programs", 1, 100000, &spec->n_programs, state);
  case KEY_SM:
    return take_int(value, "--sm", 10, 999, &spec->sm, state);
  case KEY_PID:
    return take_int(value, "--pid", 1, INT32_MAX, &spec->pid, state);
  case KEY_ALLOW:
    return take_allowed(args, value, state);
  case KEY_GRAPH:
    spec->graph_path = value;
    return 0;
  case KEY_GRAPH_SHA256:
    spec->graph_sha256 = value;
    return 0;
  case KEY_CASE:
    spec->case_name = value;
    return 0;
  case KEY_JSON:
    args->json = true;
    return 0;
  case ARGP_KEY_ARG:
    return take_file(args, value, state);
  case ARGP_KEY_END:
    return spec->n_sources > 0
               ? 0
               : assay_cli_usage(state, "which files? (a log, a compile trace, a profile)");
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "FILE...",
    "Judges whether fused attention kernels ran, from the files that one process left: stdout and "
    "log of ONNX Runtime's CUDA provider, a compile trace of MIGraphX, an export of Nsight Systems "
    "(SQLite, CSV), or the output of rocprofv3 (CSV, JSON, rocpd). What a file is, its contents "
    "say; it "
    "may be gzipped.\v"
    "Example: assay fusion stdout.txt log.txt --expect-fused 5 --calls 3 --sm 90\n"
    "Prints what the verdict rests on, file and line, and as the last line PASS, FAIL or UNKNOWN. "
    "Evidence that is cut, mixed with another process's, of another graph or from a cache is "
    "unknown; no line at all is a failure.\n"
    "Exit status: 0 pass; 1 not; 2 wrong usage, or a file that is nothing of this.",
    NULL,
    NULL,
    NULL};

/* --- gzipped files ---------------------------------------------------------------------------- */

static assay_status inflate_all(assay_inflate *inflate, assay_buf *out, assay_error *err) {
  for (size_t got = 1; got > 0; out->size_bytes += got) {
    uint8_t *room;
    ASSAY_TRY(assay_buf_reserve(out, UNPACK_STEP_BYTES, &room, err));
    ASSAY_TRY(assay_inflate_read(inflate, room, UNPACK_STEP_BYTES, &got, err));
  }
  return ASSAY_OK;
}

/* Unpacks a gzipped file into memory; another one stays as it is. */
static assay_status unpack(assay_fusion_source *source, assay_buf *out, assay_error *err) {
  assay_file_map map = {0};
  assay_inflate *inflate = NULL;
  ASSAY_TRY(assay_file_map_open(source->path, &map, err));
  assay_status st = ASSAY_OK;
  if (map.size_bytes >= 2 && map.data[0] == 0x1f && map.data[1] == 0x8b) {
    assay_span packed = {map.data, map.size_bytes};
    out->max_bytes = UNPACKED_MAX_BYTES;
    st = assay_inflate_open(packed, ASSAY_INFLATE_GZIP, &inflate, err);
    if (!st) st = inflate_all(inflate, out, err);
    source->name = source->path;
    source->path = NULL;
    source->bytes = out->data;
    source->size_bytes = out->size_bytes;
  }
  assay_inflate_close(inflate);
  assay_file_map_close(&map);
  if (st) assay_error_in(err, "'%s'", source->name);
  return st;
}

static assay_status unpack_all(fusion_args *args, assay_error *err) {
  for (size_t i = 0; i < args->spec.n_sources; i++)
    ASSAY_TRY(unpack(&args->sources[i], &args->unpacked[i], err));
  return ASSAY_OK;
}

/* --- printing --------------------------------------------------------------------------------- */

static void print_text(const char *text) {
  char shown[1024];
  assay_text_printable(text, shown, sizeof shown);
  fputs(shown, stdout);
}

static void print_head(const assay_fusion *f) {
  for (size_t i = 0; i < f->n_sources; i++) {
    fputs("file      ", stdout);
    print_text(f->sources[i].name);
    printf(": %s, %s\n",
           f->sources[i].kind == ASSAY_FUSION_AUTO ? "no evidence"
                                                   : assay_fusion_kind_name(f->sources[i].kind),
           f->sources[i].format);
  }
  printf("graph     %s%s%s%s\n", f->graph_sha256, f->graph_sha256[0] != '\0' ? " (" : "",
         f->graph_origin, f->graph_sha256[0] != '\0' ? ")" : "");
  if (f->expect_fused >= 0)
    printf("expected  %" PRId64 " fused attention operations\n", f->expect_fused);
}

static void print_programs(const assay_fusion *f) {
  for (size_t i = 0; i < f->n_programs; i++) {
    const assay_fusion_program *p = &f->programs[i];
    printf("program   lines %zu to %zu: ", p->first_line, p->last_line);
    if (p->complete)
      printf("%zu fused attention kernels, %zu buffers for scores, %zu integers rounded",
             p->n_fused, p->n_scores, p->n_rounded);
    else
      fputs("not complete", stdout);
    fputs("; ", stdout);
    print_text(p->inputs);
    putchar('\n');
  }
}

/* Of a list of hundreds the attention, GEMM and softmax ones. */
static void print_kernels(const assay_fusion *f) {
  size_t n_others = 0;
  for (size_t i = 0; i < f->n_kernels; i++) {
    const assay_fusion_kernel *k = &f->kernels[i];
    if (k->family == ASSAY_KERNEL_OTHER || k->family == ASSAY_KERNEL_COPY) {
      n_others++;
      continue;
    }
    printf("kernel    %s x%" PRId64 ": ", assay_kernel_family_name(k->family), k->n);
    print_text(k->name);
    if (k->op != NULL) {
      printf(" (%s '", k->op);
      print_text(k->node);
      printf("' %s)", k->dtype);
    }
    putchar('\n');
  }
  if (n_others > 0) printf("kernel    %zu others\n", n_others);
}

static void print_findings(const assay_fusion *f) {
  for (size_t i = 0; i < f->n_findings; i++) {
    const assay_fusion_finding *finding = &f->findings[i];
    printf("%-9s ", assay_fusion_level_name(finding->level));
    print_text(f->sources[finding->source].name);
    if (finding->line > 0) printf(":%zu", finding->line);
    printf(": %s: %s\n", finding->check, finding->text);
    if (finding->excerpt == NULL) continue;
    fputs("            ", stdout);
    print_text(finding->excerpt);
    putchar('\n');
  }
  if (f->n_left_out > 0) printf("          and %zu more of these kinds\n", f->n_left_out);
}

static void print_verdict(const assay_fusion *f) {
  static const char *const words[] = {[ASSAY_FUSION_PASS] = "PASS",
                                      [ASSAY_FUSION_FAIL] = "FAIL",
                                      [ASSAY_FUSION_UNKNOWN] = "UNKNOWN"};
  print_head(f);
  print_programs(f);
  print_kernels(f);
  print_findings(f);
  printf("%s: %s\n", words[f->verdict], f->reason);
}

static assay_status print_json(const assay_fusion *f, assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_fusion_put(f, b, NULL);
  return assay_cli_print_json(b, err);
}

/* Options that say something about one kind of evidence are refused where the files hold only
 * others. Writes the first one, or returns ASSAY_OK. */
static assay_status refuse_idle_options(const assay_fusion_spec *spec, const assay_fusion *f,
                                        assay_error *err) {
  enum {
    DISPATCH = 1 << ASSAY_FUSION_DISPATCH,
    MIGRAPHX = 1 << ASSAY_FUSION_MIGRAPHX,
    NSYS = 1 << ASSAY_FUSION_NSYS,
    ROCPROF = 1 << ASSAY_FUSION_ROCPROF,
  };
  const struct {
    const char *name;
    bool is_given;
    unsigned kinds;
  } rows[] = {
      {"--calls", spec->n_calls > 0, DISPATCH | NSYS | ROCPROF},
      {"--elements", spec->n_elems > 0, MIGRAPHX},
      {"--programs", spec->n_programs > 0, MIGRAPHX},
      {"--sm", spec->sm > 0, DISPATCH | NSYS},
      {"--pid", spec->pid > 0, NSYS | ROCPROF},
  };
  unsigned found = 0;
  for (size_t i = 0; i < f->n_sources; i++) found |= 1u << f->sources[i].kind;
  found &= ~(1u << ASSAY_FUSION_AUTO);
  for (size_t i = 0; found != 0 && i < sizeof rows / sizeof *rows; i++)
    if (rows[i].is_given && (found & rows[i].kinds) == 0)
      return assay_fail(err, ASSAY_E_ARGUMENT, "%s has no effect on the evidence of these files",
                        rows[i].name);
  return ASSAY_OK;
}

/* 2 where a file is nothing that could be evidence. */
static int exit_status_of(const assay_fusion *f) {
  for (size_t i = 0; i < f->n_sources; i++)
    if (!f->sources[i].usable) return ASSAY_EXIT_USAGE;
  return f->verdict == ASSAY_FUSION_PASS ? ASSAY_EXIT_DONE : ASSAY_EXIT_GATE;
}

static int judge(fusion_args *args) {
  assay_fusion fusion = {0};
  assay_error err = {0};
  if (unpack_all(args, &err) || assay_fusion_judge(&args->spec, &fusion, &err))
    return assay_cli_fail(COMMAND, &err);
  int exit_status = exit_status_of(&fusion);
  if (refuse_idle_options(&args->spec, &fusion, &err))
    exit_status = assay_cli_fail(COMMAND, &err);
  else if (!args->json)
    print_verdict(&fusion);
  else if (print_json(&fusion, &err))
    exit_status = assay_cli_fail(COMMAND, &err);
  if (exit_status == ASSAY_EXIT_USAGE && err.status == ASSAY_OK)
    fprintf(stderr, "assay fusion: %s\n", fusion.reason);
  assay_fusion_reset(&fusion);
  return exit_status;
}

int assay_cmd_fusion(int argc, char **argv) {
  fusion_args args = {.spec = {.expect_fused = -1}};
  int exit_status = ASSAY_EXIT_DONE;
  args.spec.sources = args.sources;
  args.spec.allowed = args.allowed;
  if (!assay_cli_parse(COMMAND, &argp, argc, argv, &args, &exit_status)) return exit_status;
  exit_status = judge(&args);
  for (size_t i = 0; i < FILES_MAX; i++) assay_buf_reset(&args.unpacked[i]);
  return exit_status;
}
