/* Tests of fusion.c on samples of every kind: each gets its right verdict, and damaged in any way
 * never a wrong pass. */
#include "fusion/fusion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/test_folder.h"
#include "dataset/inflate.h"

#define PASS    ASSAY_FUSION_PASS
#define FAIL    ASSAY_FUSION_FAIL
#define UNKNOWN ASSAY_FUSION_UNKNOWN

/* --- samples ---------------------------------------------------------------------------------- */

typedef struct sample {
  const char *path; /* under testdata, or in another room's */
  int64_t expect_fused, n_calls, n_elems;
  assay_fusion_verdict verdict;
  const char *reason; /* part of it */
} sample;

#define TEXT  "testdata/fusion_text/"
#define TRACE "testdata/traces/"
#define LIST  "testdata/gpu_csv/"
#define JSON  "testdata/gpu_json/"
#define LOG   "../evidence/testdata/placement_log/"

#define D1_TRACE      TRACE "D1-onnxruntime-1.27.1-debian-gfx1100-attn_where_f16_n64-stdout.txt.gz"
#define D1_LOG        TEXT "D1-onnxruntime-1.27.1-migraphx-log.txt"
#define D1_CACHED_LOG TEXT "D1-onnxruntime-1.27.1-migraphx-cached-log.txt"

static const sample samples[] = {
    {TRACE "A1-debian-gfx1100-rocblas-attn_where_f16_n64-trace.txt.gz", 1, 0, 64, FAIL, "N x N"},
    {TEXT "A2-debian-gfx1100-rocblas-final-programs.txt", 1, 0, 0, FAIL, "0 of 1"},
    {TEXT "A3-debian-gfx1100-hipblaslt-final-program.txt", 1, 0, 0, FAIL, "0 of 1"},
    {TEXT "A5-debian-ref-attn_where_f16_n64-trace.txt", 1, 0, 64, UNKNOWN, "for the GPU"},
    {TEXT "A6-debian-no-device-errors.txt", 1, 0, 0, UNKNOWN, "2 processes"},
    {TEXT "A7-debian-gfx1100-trace_eval-run.txt", 1, 0, 64, FAIL, "N x N"},
    {TRACE "B1-standin-gfx1100-fused-attn_where_f16_n64-driver-trace.txt.gz", 1, 0, 64, PASS, ""},
    {TRACE "B1-standin-gfx1100-unfused-attn_where_f16_n64-driver-trace.txt.gz", 1, 0, 64, FAIL,
     "N x N"},
    {TRACE "B2-standin-gfx1100-fused-multi-enc3_f16_n64+n96-capi-trace.txt.gz", 3, 0, 0, PASS, ""},
    {TRACE "B2-standin-gfx1100-unfused-multi-enc3_f16_n64+n96-capi-trace.txt.gz", 3, 0, 0, FAIL,
     "0 of 3"},
    {TEXT "B3-standin-gfx1100-fused-enc5_f16_n64-final-program.txt", 5, 0, 64, PASS, ""},
    {TEXT "B3-standin-gfx1100-unfused-enc5_f16_n64-final-program.txt", 5, 0, 64, FAIL, "N x N"},
    {TEXT "B5-standin-gfx1100-fused-fp16-offload-final-programs.txt", 1, 0, 64, UNKNOWN,
     "beginning is not there"},
    {TEXT "B5-standin-gfx1100-unfused-fp16-offload-final-programs.txt", 1, 0, 64, UNKNOWN,
     "beginning is not there"},
    {TEXT "B6-standin-gfx1100-specific-ops-matrix.txt", 1, 0, 64, UNKNOWN, "no compiled program"},
    {TEXT "B7-standin-arch-default-matrix.txt", 1, 0, 64, UNKNOWN, "no compiled program"},
    {TEXT "B8-standin-gfx1100-perf-report.txt", 1, 0, 64, PASS, ""},
    {TRACE "C1-debian-gfx1100-sort-trace.txt.gz", 0, 0, 160, FAIL,
     "pass eliminate_data_type makes 11 integers"},
    {TRACE "C1-debian-gfx1100-sort-pass-off-trace.txt.gz", 0, 0, 160, PASS, ""},
    {D1_TRACE, 1, 0, 64, FAIL, "N x N"},
    {D1_LOG, 1, 0, 64, UNKNOWN, "no compiled program"},
    {D1_CACHED_LOG, 1, 0, 64, UNKNOWN, "came from a cache"},
    {TEXT "ort-1.19-mha-3x2-efficient.txt", 3, 2, 0, PASS, ""},
    {TEXT "ort-1.19-mha-3x2-one-math.txt", 3, 2, 0, FAIL, "ran MATH"},
    {TEXT "ort-1.23-mha-5x3-flash.txt", 5, 3, 0, PASS, ""},
    {TEXT "ort-1.29-onnx-2x2-cudnn-unnamed.txt", 2, 2, 0, PASS, ""},
    {TEXT "ort-1.28-log-3x2-flash.txt", 3, 2, 0, PASS, ""},
    {TEXT "ort-1.28-log-3x2-one-unfused.txt", 3, 2, 0, FAIL, "unified unfused path"},
    {TEXT "ort-1.28-default-logger-3x2-efficient.txt", 3, 2, 0, PASS, ""},
    {LOG "cpu-1.16.3-mix17.log", 1, 1, 0, FAIL, "no line says"},
    {LOG "cpu-1.30.0-mix17.log", 1, 1, 0, FAIL, "no line says"},
    {LOG "webgpu-1.30.0-mix17.log", 1, 1, 0, FAIL, "no line says"},
    {LOG "dnnl-1.23.2-mix17.log", 1, 1, 0, FAIL, "no line says"},
    {LIST "nsys-2021-gpukernsum-5x4-efficient.csv", 5, 4, 0, PASS, ""},
    {LIST "nsys-2024-kern-sum-mha-5x3-flash.csv", 5, 3, 0, PASS, ""},
    {LIST "nsys-2024-kern-sum-unfused.csv", 5, 3, 0, FAIL, "unfused attention ran"},
    {LIST "nsys-gpu-trace-3x2-cudnn.csv", 3, 2, 0, PASS, ""},
    {LIST "rocprofv3-6.2-kernel-trace-1x2-mlir.csv", 1, 2, 0, PASS, ""},
    {LIST "rocprofv3-7-kernel-trace-2x4-mlir.csv", 2, 4, 0, PASS, ""},
    {LIST "rocprofv3-kernel-stats-5x2-mlir.csv", 5, 2, 0, PASS, ""},
    {LIST "rocpd2csv-kernel-trace-unfused.csv", 1, 2, 0, FAIL, "0 fused"},
    {JSON "rocprofv3-7-results-2x3-mlir.json", 2, 3, 0, PASS, ""},
    {JSON "rocprofv3-6-results-1x2-unfused.json", 1, 2, 0, FAIL, "0 fused"},
};

/* A file's contents, unpacked where they are gzipped. */
static assay_buf contents_of(const char *path) {
  assay_buf packed = test_file_read(path), out = {0};
  assay_inflate *inflate = NULL;
  assay_error err = {0};
  if (packed.size_bytes < 2 || packed.data[0] != 0x1f) return packed;
  assay_span span = {packed.data, packed.size_bytes};
  assert_int_equal(assay_inflate_open(span, ASSAY_INFLATE_GZIP, &inflate, &err), ASSAY_OK);
  for (size_t got = 1; got > 0; out.size_bytes += got) {
    uint8_t *room;
    assert_int_equal(assay_buf_reserve(&out, 1 << 20, &room, &err), ASSAY_OK);
    if (assay_inflate_read(inflate, room, 1 << 20, &got, &err)) fail_msg("%s: %s", path, err.text);
  }
  assay_inflate_close(inflate);
  assay_buf_reset(&packed);
  return out;
}

static assay_fusion judge_bytes(const sample *s, const void *bytes, size_t size_bytes,
                                const char *graph_sha256) {
  assay_fusion_source source = {.name = s->path, .bytes = bytes, .size_bytes = size_bytes};
  assay_fusion_spec spec = {.sources = &source,
                            .n_sources = 1,
                            .expect_fused = s->expect_fused,
                            .n_calls = s->n_calls,
                            .n_elems = s->n_elems,
                            .graph_sha256 = graph_sha256};
  assay_fusion f = {0};
  assay_error err = {0};
  if (assay_fusion_judge(&spec, &f, &err)) fail_msg("%s: %s", s->path, err.text);
  return f;
}

static void every_sample_gets_its_right_verdict(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    const sample *s = &samples[i];
    assay_buf bytes = contents_of(s->path);
    assay_fusion f = judge_bytes(s, bytes.data, bytes.size_bytes, NULL);
    if (f.verdict != s->verdict || strstr(f.reason, s->reason) == NULL)
      fail_msg("%s: %s '%s', expected %s '%s'", s->path, assay_fusion_verdict_name(f.verdict),
               f.reason, assay_fusion_verdict_name(s->verdict), s->reason);
    for (size_t k = 0; k < f.n_findings; k++) assert_true(f.findings[k].source < f.n_sources);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

static void counts_what_the_programs_hold(void **state) {
  static const struct {
    const char *path;
    size_t n_programs, n_fused, n_scores, n_softmax;
  } rows[] = {
      {TRACE "B1-standin-gfx1100-fused-attn_where_f16_n64-driver-trace.txt.gz", 1, 1, 0, 1},
      {TRACE "B1-standin-gfx1100-unfused-attn_where_f16_n64-driver-trace.txt.gz", 1, 0, 2, 1},
      {TRACE "B2-standin-gfx1100-fused-multi-enc3_f16_n64+n96-capi-trace.txt.gz", 2, 3, 0, 3},
      {TRACE "B2-standin-gfx1100-unfused-multi-enc3_f16_n64+n96-capi-trace.txt.gz", 2, 0, 6, 3},
      {TEXT "B3-standin-gfx1100-fused-enc5_f16_n64-final-program.txt", 1, 5, 0, 0},
      {TEXT "B3-standin-gfx1100-unfused-enc5_f16_n64-final-program.txt", 1, 0, 10, 0},
      {TEXT "A2-debian-gfx1100-rocblas-final-programs.txt", 5, 0, 2, 0},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    sample s = {.path = rows[i].path, .expect_fused = -1};
    assay_buf bytes = contents_of(s.path);
    assay_fusion f = judge_bytes(&s, bytes.data, bytes.size_bytes, NULL);
    assert_int_equal(f.n_programs, rows[i].n_programs);
    assert_true(f.programs[0].complete);
    assert_int_equal(f.programs[0].n_fused, rows[i].n_fused);
    assert_int_equal(f.programs[0].n_scores, rows[i].n_scores);
    assert_int_equal(f.programs[0].n_candidates, rows[i].n_softmax);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

/* --- damage ----------------------------------------------------------------------------------- */

/* The whole text, and where its lines begin (with one behind the last). */
typedef struct text {
  const char *bytes;
  size_t n;
  size_t *lines;
  size_t n_lines;
} text;

static text text_of(const assay_buf *bytes) {
  text t = {.bytes = assay_buf_text(bytes), .n = bytes->size_bytes};
  t.lines = assay_alloc_array(t.n + 2, sizeof *t.lines);
  assert_non_null(t.lines);
  for (size_t i = 0; i < t.n; i++)
    if (i == 0 || t.bytes[i - 1] == '\n') t.lines[t.n_lines++] = i;
  t.lines[t.n_lines] = t.n;
  return t;
}

static void put(assay_buf *out, const char *bytes, size_t n) {
  assert_int_equal(assay_buf_append(out, bytes, n, NULL), ASSAY_OK);
}

static void put_line(assay_buf *out, const text *t, size_t line) {
  put(out, t->bytes + t->lines[line], t->lines[line + 1] - t->lines[line]);
}

static void cut_at(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  put(out, t->bytes, t->n * arg / 1000);
}

static void lose_the_beginning(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  size_t from = t->n * arg / 1000;
  put(out, t->bytes + from, t->n - from);
}

static void swap_halves(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  size_t middle = t->n_lines * arg / 1000;
  for (size_t i = middle; i < t->n_lines; i++) put_line(out, t, i);
  for (size_t i = 0; i < middle; i++) put_line(out, t, i);
}

/* Every line changes places with one up to `arg` lines on. */
static void shuffle(assay_buf *out, const text *t, const text *other, size_t arg) {
  size_t *order = assay_alloc_array(t->n_lines + 1, sizeof *order);
  uint32_t random = 12345;
  (void)other;
  for (size_t i = 0; i < t->n_lines; i++) order[i] = i;
  for (size_t i = 0; i < t->n_lines; i++) {
    random = random * 1664525u + 1013904223u;
    size_t j = i + (random >> 8) % arg;
    if (j >= t->n_lines) continue;
    size_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (size_t i = 0; i < t->n_lines; i++) put_line(out, t, order[i]);
  assay_free(order);
}

/* `arg` lines of each in turn. */
static void interleave(assay_buf *out, const text *t, const text *other, size_t arg) {
  for (size_t i = 0; i < t->n_lines || i < other->n_lines; i += arg) {
    for (size_t j = i; j < i + arg && j < t->n_lines; j++) put_line(out, t, j);
    for (size_t j = i; j < i + arg && j < other->n_lines; j++) put_line(out, other, j);
  }
}

static void lose_every(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  for (size_t i = 0; i < t->n_lines; i++)
    if (i % arg != arg - 1) put_line(out, t, i);
}

static void lose_one(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  for (size_t i = 0; i < t->n_lines; i++)
    if (i != t->n_lines * arg / 1000) put_line(out, t, i);
}

static void append_other(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)arg;
  put(out, t->bytes, t->n);
  put(out, other->bytes, other->n);
}

static void double_every(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  for (size_t i = 0; i < t->n_lines; i++) {
    put_line(out, t, i);
    if (i % arg == 0) put_line(out, t, i);
  }
}

static void double_all(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other, (void)arg;
  put(out, t->bytes, t->n);
  put(out, t->bytes, t->n);
}

static void put_nul_at(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other;
  size_t at = t->n * arg / 1000;
  put(out, t->bytes, at);
  put(out, "\0", 1);
  put(out, t->bytes + at, t->n - at);
}

static void end_lines_in_crlf(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)other, (void)arg;
  for (size_t i = 0; i < t->n_lines; i++) {
    size_t n = t->lines[i + 1] - t->lines[i];
    put(out, t->bytes + t->lines[i], n - 1);
    put(out, "\r\n", 2);
  }
}

static void leave_nothing(assay_buf *out, const text *t, const text *other, size_t arg) {
  (void)out, (void)t, (void)other, (void)arg;
}

/* Leaves no evidence whole, however much of it survives: must not pass at all. */
#define NEVER true
/* May leave it whole: a pass needs every line that it rests on, and all of them. */
#define MAY false

static const struct {
  const char *name;
  void (*make)(assay_buf *out, const text *t, const text *other, size_t arg);
  size_t arg;
  bool never;
} damages[] = {
    {"cut to a tenth", cut_at, 100, NEVER},
    {"cut to a third", cut_at, 333, NEVER},
    {"cut to nine tenths", cut_at, 900, MAY},
    {"cut near the end", cut_at, 990, MAY},
    {"its beginning lost", lose_the_beginning, 30, MAY},
    {"its first half lost", lose_the_beginning, 500, MAY},
    {"its halves swapped", swap_halves, 500, MAY},
    {"shuffled far", shuffle, 1000, MAY},
    {"shuffled near", shuffle, 3, MAY},
    {"mixed line by line", interleave, 1, MAY},
    {"mixed in blocks", interleave, 7, MAY},
    {"every seventh line lost", lose_every, 7, MAY},
    {"a line lost early", lose_one, 50, MAY},
    {"a line lost in the middle", lose_one, 500, MAY},
    {"a line lost late", lose_one, 930, MAY},
    {"the last line lost", lose_one, 999, MAY},
    {"another run's appended", append_other, 0, MAY},
    {"every fifth line doubled", double_every, 5, MAY},
    {"all of it twice", double_all, 0, MAY},
    {"a NUL byte in it", put_nul_at, 400, NEVER},
    {"lines ended in CR LF", end_lines_in_crlf, 0, MAY},
    {"emptied", leave_nothing, 0, NEVER},
};

/* Lines [first, last], 1-based, with either line end: are they a part of t? */
static bool holds_lines(const text *t, const text *damaged, size_t first, size_t last) {
  for (size_t at = 0; at + (last - first) < t->n_lines; at++) {
    size_t k = 0;
    for (; k <= last - first; k++) {
      const char *a = t->bytes + t->lines[at + k],
                 *b = damaged->bytes + damaged->lines[first - 1 + k];
      size_t n = strcspn(a, "\r\n");
      if (strcspn(b, "\r\n") != n || memcmp(a, b, n) != 0) break;
    }
    if (k > last - first) return true;
  }
  return false;
}

static size_t count_word(const text *t, const char *word) {
  size_t n = 0;
  for (const char *at = t->bytes; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
  return n;
}

/* What a pass of damaged evidence must still have, checked by other means than the judge's. */
static bool is_whole(const sample *s, const text *t, const text *damaged, const assay_fusion *f) {
  static const char *const words[] = {
      "SdpaKernel=", "EFFICIENT_ATTENTION=1",   "ONNX Attention: ", "_fwd_kernel",
      "sdpa_sm80",   "attention_kernel_batched", "reduce_max",       "softmax_dot",
      "dispatch_id"};
  for (size_t i = 0; i < f->n_programs; i++)
    if (!f->programs[i].complete ||
        !holds_lines(t, damaged, f->programs[i].first_line, f->programs[i].last_line))
      return false;
  if (f->n_programs > 0) return true;
  for (size_t i = 0; i < N_OF(words); i++)
    if (count_word(t, words[i]) != count_word(damaged, words[i])) return false;
  return s->n_calls > 0;
}

/* Another process's text of the same kind: unfused where there is one, and a fused one. */
static const char *others_of(const sample *s, size_t which) {
  bool is_fused = which == 0;
  if (strncmp(s->path, LIST "nsys", strlen(LIST "nsys")) == 0)
    return is_fused ? LIST "nsys-2021-gpukernsum-5x4-efficient.csv"
                    : LIST "nsys-2024-kern-sum-unfused.csv";
  if (strncmp(s->path, JSON, strlen(JSON)) == 0)
    return is_fused ? JSON "rocprofv3-7-results-2x3-mlir.json"
                    : JSON "rocprofv3-6-results-1x2-unfused.json";
  if (strncmp(s->path, LIST, strlen(LIST)) == 0)
    return is_fused ? LIST "rocprofv3-7-kernel-trace-2x4-mlir.csv"
                    : LIST "rocpd2csv-kernel-trace-unfused.csv";
  if (strstr(s->path, "ort-") != NULL || strncmp(s->path, LOG, strlen(LOG)) == 0)
    return is_fused ? TEXT "ort-1.23-mha-5x3-flash.txt" : TEXT "ort-1.19-mha-3x2-one-math.txt";
  return is_fused ? TEXT "B3-standin-gfx1100-fused-enc5_f16_n64-final-program.txt"
                  : TEXT "A7-debian-gfx1100-trace_eval-run.txt";
}

static void check_damaged(const sample *s, const text *t, const text *other, size_t d) {
  assay_buf bytes = {0};
  damages[d].make(&bytes, t, other, damages[d].arg);
  text damaged = text_of(&bytes);
  assay_fusion f = judge_bytes(s, damaged.bytes, damaged.n, NULL);
  bool is_kept = s->verdict == PASS && !damages[d].never && is_whole(s, t, &damaged, &f);
  if (f.verdict == PASS && !is_kept) fail_msg("%s, %s: a wrong pass", s->path, damages[d].name);
  if (damages[d].make == end_lines_in_crlf && f.verdict != s->verdict)
    fail_msg("%s, %s: %s (%s)", s->path, damages[d].name, assay_fusion_verdict_name(f.verdict),
             f.reason);
  assay_fusion_reset(&f);
  assay_free(damaged.lines);
  assay_buf_reset(&bytes);
}

static void damaged_samples_never_pass_wrongly(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    assay_buf bytes = contents_of(samples[i].path);
    bool is_large = bytes.size_bytes > 5000000; /* such a trace is like its smaller sisters */
    text t = text_of(&bytes);
    for (size_t which = 0; which < (bytes.size_bytes > 100000 ? 1u : 2u); which++) {
      assay_buf other_bytes = contents_of(others_of(&samples[i], which));
      text other = text_of(&other_bytes);
      for (size_t d = is_large ? 2 : 0; d < N_OF(damages); d += is_large ? 9 : 1)
        check_damaged(&samples[i], &t, &other, d);
      assay_free(other.lines);
      assay_buf_reset(&other_bytes);
    }
    assay_free(t.lines);
    assay_buf_reset(&bytes);
  }
}

/* Each of the last lines of a trace, and of every small sample, lost on its own. */
static void any_line_lost_is_never_a_wrong_pass(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++) {
    if (samples[i].verdict != PASS) continue;
    assay_buf bytes = contents_of(samples[i].path);
    text t = text_of(&bytes);
    size_t n = t.n < 100000 ? 30 : t.n < 1000000 ? 12 : 1;
    for (size_t k = t.n_lines > n ? t.n_lines - n : 0; k < t.n_lines; k++) {
      assay_buf less = {0};
      for (size_t j = 0; j < t.n_lines; j++)
        if (j != k) put_line(&less, &t, j);
      text damaged = text_of(&less);
      assay_fusion f = judge_bytes(&samples[i], damaged.bytes, damaged.n, NULL);
      if (f.verdict == PASS && !is_whole(&samples[i], &t, &damaged, &f))
        fail_msg("%s without line %zu: a wrong pass", samples[i].path, k + 1);
      assay_fusion_reset(&f);
      assay_free(damaged.lines);
      assay_buf_reset(&less);
    }
    assay_free(t.lines);
    assay_buf_reset(&bytes);
  }
}

/* --- binding ---------------------------------------------------------------------------------- */

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void evidence_of_another_graph_is_unknown(void **state) {
  static const struct {
    const char *said, *named;
    assay_fusion_verdict verdict;
    const char *origin;
  } rows[] = {
      {NULL, NULL, PASS, "not said"},
      {HASH_A, NULL, PASS, "said by the caller"},
      {NULL, "graphs/" HASH_A ".onnx", PASS, "named by the evidence"},
      {HASH_A, "graphs/" HASH_A ".onnx", PASS, "named by the evidence"},
      {HASH_A, "graphs/" HASH_B ".onnx", UNKNOWN, "said by the caller"},
      {HASH_A, "graphs/" HASH_A ".onnx /tmp/" HASH_B ".onnx", UNKNOWN, "named by the evidence"},
  };
  const sample *s = NULL;
  (void)state;
  for (size_t i = 0; i < N_OF(samples); i++)
    if (strstr(samples[i].path, "ort-1.23") != NULL) s = &samples[i];
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf bytes = contents_of(s->path);
    if (rows[i].named != NULL)
      assert_int_equal(assay_buf_appendf(&bytes, NULL, "loading %s\n", rows[i].named), ASSAY_OK);
    assay_fusion f = judge_bytes(s, bytes.data, bytes.size_bytes, rows[i].said);
    assert_int_equal(f.verdict, rows[i].verdict);
    assert_string_equal(f.graph_origin, rows[i].origin);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

static void words_of_another_writer_between_lines_are_no_damage(void **state) {
  static const char words[] = "2026-05-20 10:11:12 [I:onnxruntime:, x.cc:1 f] a = b -> c\n";
  const sample *s = &samples[6];
  assay_buf bytes = contents_of(s->path), mixed = {0};
  text t = text_of(&bytes);
  (void)state;
  for (size_t i = 0; i < t.n_lines; i++) {
    put_line(&mixed, &t, i);
    put(&mixed, words, strlen(words));
  }
  assay_fusion f = judge_bytes(s, mixed.data, mixed.size_bytes, NULL);
  if (f.verdict != PASS) fail_msg("%s: %s", assay_fusion_verdict_name(f.verdict), f.reason);
  assay_fusion_reset(&f);
  assay_free(t.lines);
  assay_buf_reset(&mixed);
  assay_buf_reset(&bytes);
}

static void a_cached_program_is_no_evidence(void **state) {
  static const char *const lines[] = {
      "Reading: /tmp/model.mxr\nalready compiled, skipping\n",
      "[0|onnxruntime|Default|migraphx.cc:1 load] Attempting to load model at: /cache/1_2.mxr\n"};
  const sample *fused = &samples[6];
  (void)state;
  for (size_t i = 0; i < N_OF(lines); i++) {
    sample none = {.path = "cached", .expect_fused = 1};
    assay_fusion f = judge_bytes(&none, lines[i], strlen(lines[i]), NULL);
    assert_int_not_equal(f.verdict, PASS);
    assay_fusion_reset(&f);
    assay_buf bytes = contents_of(fused->path);
    assert_int_equal(assay_buf_append_text(&bytes, lines[i], NULL), ASSAY_OK);
    f = judge_bytes(fused, bytes.data, bytes.size_bytes, NULL);
    assert_int_equal(f.verdict, UNKNOWN);
    assert_non_null(strstr(f.reason, "cache"));
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

/* The trace without the driver's words, as a program of one's own would leave it, `times` over. */
static assay_buf traces_of(const char *path, size_t times) {
  assay_buf bytes = contents_of(path), out = {0};
  text t = text_of(&bytes);
  for (size_t k = 0; k < times; k++)
    for (size_t i = 0; i < t.n_lines; i++)
      if (strncmp(t.bytes + t.lines[i], "Running [", 9) != 0 &&
          strncmp(t.bytes + t.lines[i], "[ MIGraphX", 10) != 0)
        put_line(&out, &t, i);
  assay_free(t.lines);
  assay_buf_reset(&bytes);
  return out;
}

static void programs_of_the_same_inputs_need_their_number(void **state) {
  static const struct {
    size_t times;
    int64_t n_programs, expect_fused;
    assay_fusion_verdict verdict;
    const char *reason;
  } rows[] = {
      {1, 0, 1, PASS, ""},         {2, 0, 1, UNKNOWN, "a second program"},
      {2, 2, 2, PASS, ""},         {2, 2, 3, FAIL, "expected 3 fused attention kernels, found 2"},
      {2, 2, 1, UNKNOWN, "found"}, {2, 1, 1, UNKNOWN, "expected 1 compiled programs"},
      {1, 2, 1, UNKNOWN, "2 comp"}};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf bytes = traces_of(
        TRACE "B1-standin-gfx1100-fused-attn_where_f16_n64-driver-trace.txt.gz", rows[i].times);
    assay_fusion_source source = {.name = "x", .bytes = bytes.data, .size_bytes = bytes.size_bytes};
    assay_fusion_spec spec = {.sources = &source,
                              .n_sources = 1,
                              .expect_fused = rows[i].expect_fused,
                              .n_programs = rows[i].n_programs};
    assay_fusion f = {0};
    assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
    if (f.verdict != rows[i].verdict || strstr(f.reason, rows[i].reason) == NULL)
      fail_msg("row %zu: %s '%s'", i, assay_fusion_verdict_name(f.verdict), f.reason);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

/* The session's log says how often it compiled, and whether it did. */
static void the_log_of_the_runtime_must_agree_with_the_trace(void **state) {
  static const struct {
    const char *log, *without; /* lines with `without` are left out; NULL: none */
    size_t times;
    assay_fusion_verdict verdict;
    const char *reason;
  } rows[] = {
      {D1_LOG, NULL, 1, PASS, ""},
      {D1_LOG, "Compile: Complete", 1, UNKNOWN, "began 1 compiles and completed 0"},
      {D1_LOG, "Compile: Begin", 1, UNKNOWN, "began 0 compiles and completed 1"},
      {D1_LOG, NULL, 2, UNKNOWN, "began 2 compiles and completed 2, and 1 are in the trace"},
      {D1_CACHED_LOG, NULL, 1, UNKNOWN, "came from a cache"},
  };
  assay_buf trace = contents_of(D1_TRACE);
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf whole = contents_of(rows[i].log), log = {0};
    text t = text_of(&whole);
    for (size_t k = 0; k < rows[i].times; k++)
      for (size_t line = 0; line < t.n_lines; line++) {
        const char *found =
            rows[i].without != NULL ? strstr(t.bytes + t.lines[line], rows[i].without) : NULL;
        if (found == NULL || found >= t.bytes + t.lines[line + 1]) put_line(&log, &t, line);
      }
    assay_fusion_source sources[] = {
        {.name = "stdout.txt", .bytes = trace.data, .size_bytes = trace.size_bytes},
        {.name = "log.txt", .bytes = log.data, .size_bytes = log.size_bytes}};
    assay_fusion_spec spec = {.sources = sources, .n_sources = 2, .n_elems = 64, .n_programs = 1};
    assay_fusion f = {0};
    assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
    if (f.verdict != rows[i].verdict || strstr(f.reason, rows[i].reason) == NULL)
      fail_msg("row %zu: %s '%s'", i, assay_fusion_verdict_name(f.verdict), f.reason);
    assay_fusion_reset(&f);
    assay_free(t.lines);
    assay_buf_reset(&log);
    assay_buf_reset(&whole);
  }
  assay_buf_reset(&trace);
}

/* Where whole programs end that follow a pass: [n] offsets, the caller's. */
static size_t *ends_of_programs(const text *t, size_t *out_n) {
  size_t *ends = assay_alloc_array(t->n_lines + 1, sizeof *ends), n = 0;
  bool in_program = false, after_pass = false;
  assert_non_null(ends);
  for (size_t i = 0; i < t->n_lines; i++) {
    const char *line = t->bytes + t->lines[i];
    bool is_pass = strncmp(line, "Pass: ", 6) == 0;
    bool is_main = strncmp(line, "module: \"main\"", 14) == 0;
    if (in_program && (is_pass || is_main)) ends[n++] = t->lines[i];
    if (is_pass || is_main) in_program = is_main && after_pass;
    after_pass = is_pass;
  }
  *out_n = n;
  return ends;
}

/* The first compile up to a pass, the second from there on: no evidence, but where both had come
 * to the same program. */
static void two_compiles_of_one_graph_in_one_trace_are_unknown(void **state) {
#define B1(which) TRACE "B1-standin-gfx1100-" which "-attn_where_f16_n64-driver-trace.txt.gz"
#define C1(which) TRACE "C1-debian-gfx1100-sort" which "-trace.txt.gz"
  static const struct {
    const char *paths[2];
    size_t n_same; /* passes after which both have the same program */
    int64_t expect_fused, n_elems;
  } rows[] = {{{B1("unfused"), B1("fused")}, 44, 1, 64},
              {{C1("-pass-off"), C1("")}, 16, 0, 0},
              {{C1(""), C1("-pass-off")}, 16, 0, 0}};
#undef B1
#undef C1
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    text t[2];
    assay_buf bytes[2];
    size_t *ends[2], n[2];
    for (int k = 0; k < 2; k++) {
      bytes[k] = contents_of(rows[i].paths[k]);
      t[k] = text_of(&bytes[k]);
      ends[k] = ends_of_programs(&t[k], &n[k]);
    }
    assert_int_equal(n[0], n[1]);
    for (size_t k = 0; k < n[0]; k++) {
      sample s = {rows[i].paths[1], rows[i].expect_fused, 0, rows[i].n_elems, PASS, ""};
      assay_buf spliced = {0};
      put(&spliced, t[0].bytes, ends[0][k]);
      put(&spliced, t[1].bytes + ends[1][k], t[1].n - ends[1][k]);
      assay_fusion f = judge_bytes(&s, spliced.data, spliced.size_bytes, NULL);
      if (f.verdict == PASS && k >= rows[i].n_same && k + 1 < n[0])
        fail_msg("%s, then %s from pass %zu on: a wrong pass", rows[i].paths[0], rows[i].paths[1],
                 k + 1);
      assay_fusion_reset(&f);
      assay_buf_reset(&spliced);
    }
    for (int k = 0; k < 2; k++) {
      assay_free(ends[k]);
      assay_free(t[k].lines);
      assay_buf_reset(&bytes[k]);
    }
  }
}

static void a_program_of_another_shape_is_unknown(void **state) {
  sample s = samples[6];
  (void)state;
  s.n_elems = 96;
  assay_buf bytes = contents_of(s.path);
  assay_fusion f = judge_bytes(&s, bytes.data, bytes.size_bytes, NULL);
  assert_int_equal(f.verdict, UNKNOWN);
  assert_non_null(strstr(f.reason, "another shape"));
  assay_fusion_reset(&f);
  assay_buf_reset(&bytes);
}

/* The pass that rounds, under a name that is not known for it. */
static void integers_that_another_pass_makes_floating_are_no_pass(void **state) {
  static const char known[] = "Pass: eliminate_data_type\n",
                    other[] = "Pass: propagate_precision\n";
  sample s = {TRACE "C1-debian-gfx1100-sort-trace.txt.gz", 0, 0, 160, UNKNOWN, "integers become"};
  assay_buf bytes = contents_of(s.path);
  text t = text_of(&bytes);
  size_t n = 0;
  (void)state;
  assert_int_equal(sizeof known, sizeof other);
  for (size_t i = 0; i < t.n_lines; i++)
    if (strncmp(t.bytes + t.lines[i], known, sizeof known - 1) == 0) {
      memcpy(bytes.data + t.lines[i], other, sizeof other - 1);
      n++;
    }
  assert_true(n > 0);
  assay_fusion f = judge_bytes(&s, bytes.data, bytes.size_bytes, NULL);
  if (f.verdict != UNKNOWN) fail_msg("%s: %s", assay_fusion_verdict_name(f.verdict), f.reason);
  assert_non_null(strstr(f.reason, "integers become floating"));
  assay_fusion_reset(&f);
  assay_free(t.lines);
  assay_buf_reset(&bytes);
}

static void a_program_of_another_graph_is_unknown(void **state) {
  static const struct {
    const char *trace, *graph;
    assay_fusion_verdict verdict;
    const char *reason;
  } rows[] = {
      {TRACE "C1-debian-gfx1100-sort-pass-off-trace.txt.gz", "testdata/sort.onnx", PASS, ""},
      {TRACE "B1-standin-gfx1100-fused-attn_where_f16_n64-driver-trace.txt.gz",
       "testdata/sort.onnx", UNKNOWN, "no input of this name and shape"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf bytes = contents_of(rows[i].trace);
    assay_fusion_source source = {.name = "x", .bytes = bytes.data, .size_bytes = bytes.size_bytes};
    assay_fusion_spec spec = {.sources = &source,
                              .n_sources = 1,
                              .expect_fused = (int64_t)i,
                              .graph_path = rows[i].graph};
    assay_fusion f = {0};
    assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
    assert_int_equal(f.verdict, rows[i].verdict);
    assert_non_null(strstr(f.reason, rows[i].reason));
    assert_int_equal(strlen(f.graph_sha256), 64);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void kernels_are_allowed_by_device_or_by_name(void **state) {
  static const struct {
    const char *path;
    int64_t sm;
    const char *allowed;
    assay_fusion_verdict verdict;
  } rows[] = {
      {TEXT "ort-1.23-mha-5x3-flash.txt", 80, NULL, PASS},
      {TEXT "ort-1.23-mha-5x3-flash.txt", 75, NULL, FAIL}, /* no flash before Ampere */
      {TEXT "ort-1.23-mha-5x3-flash.txt", 0, "FLASH_ATTENTION", PASS},
      {TEXT "ort-1.23-mha-5x3-flash.txt", 0, "efficient", FAIL},
      {LIST "nsys-2024-kern-sum-mha-5x3-flash.csv", 90, NULL, PASS},
      {LIST "nsys-2024-kern-sum-mha-5x3-flash.csv", 0, "cudnn", FAIL},
      {LIST "rocprofv3-kernel-stats-5x2-mlir.csv", 0, "mlir", PASS},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_fusion_source source = {.path = rows[i].path};
    assay_fusion_spec spec = {.sources = &source,
                              .n_sources = 1,
                              .expect_fused = 5,
                              .sm = rows[i].sm,
                              .allowed = &rows[i].allowed,
                              .n_allowed = rows[i].allowed != NULL};
    assay_fusion f = {0};
    assay_error err = {0};
    assert_int_equal(assay_fusion_judge(&spec, &f, &err), ASSAY_OK);
    if (f.verdict != rows[i].verdict)
      fail_msg("%s, row %zu: %s (%s)", rows[i].path, i, assay_fusion_verdict_name(f.verdict),
               f.reason);
    assay_fusion_reset(&f);
  }
}

static void a_count_is_needed_and_must_fit(void **state) {
  static const struct {
    int64_t expect_fused, n_calls;
    assay_fusion_verdict verdict;
  } rows[] = {{-1, 0, UNKNOWN}, {5, 0, PASS},     {5, 3, PASS},    {5, 2, UNKNOWN},
              {4, 0, UNKNOWN},  {15, 0, UNKNOWN}, {0, 0, UNKNOWN}, {3, 5, UNKNOWN}};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    sample s = {
        TEXT "ort-1.23-mha-5x3-flash.txt", rows[i].expect_fused, rows[i].n_calls, 0, PASS, ""};
    assay_buf bytes = contents_of(s.path);
    assay_fusion f = judge_bytes(&s, bytes.data, bytes.size_bytes, NULL);
    if (f.verdict != rows[i].verdict)
      fail_msg("row %zu: %s (%s)", i, assay_fusion_verdict_name(f.verdict), f.reason);
    assay_fusion_reset(&f);
    assay_buf_reset(&bytes);
  }
}

static void refuses_what_cannot_be_asked(void **state) {
  static const char *const word = "fastest";
  assay_fusion_source source = {.path = TEXT "ort-1.23-mha-5x3-flash.txt"};
  const assay_fusion_spec specs[] = {
      {.expect_fused = 5},
      {.sources = &source, .n_sources = 1, .allowed = &word, .n_allowed = 1},
      {.sources = &source, .n_sources = 1, .graph_sha256 = "123"},
  };
  static const char *const parts[] = {"no evidence", "'fastest'", "64 lower-case hex digits"};
  (void)state;
  for (size_t i = 0; i < N_OF(specs); i++) {
    assay_fusion f = {0};
    assay_error err = {0};
    assert_int_equal(assay_fusion_judge(&specs[i], &f, &err), ASSAY_E_ARGUMENT);
    if (strstr(err.text, parts[i]) == NULL) fail_msg("'%s' without '%s'", err.text, parts[i]);
  }
}

static void allocations_may_fail_at_any_step(void **state) {
  static const char *const paths[] = {
      TEXT "ort-1.23-mha-5x3-flash.txt", TEXT "B8-standin-gfx1100-perf-report.txt",
      LIST "rocprofv3-7-kernel-trace-2x4-mlir.csv", JSON "rocprofv3-7-results-2x3-mlir.json"};
  (void)state;
  for (size_t i = 0; i < N_OF(paths); i++) {
    assay_buf bytes = contents_of(paths[i]);
    assay_fusion_source source = {.name = "x", .bytes = bytes.data, .size_bytes = bytes.size_bytes};
    assay_fusion_spec spec = {.sources = &source, .n_sources = 1, .expect_fused = 1};
    assay_status st = ASSAY_E_MEMORY;
    for (int64_t n = 0; st == ASSAY_E_MEMORY; n++) {
      assay_fusion f = {0};
      assay_alloc_fail_after(n);
      st = assay_fusion_judge(&spec, &f, NULL);
      assay_alloc_fail_after(-1);
      assay_fusion_reset(&f);
    }
    assert_int_equal(st, ASSAY_OK);
    assay_buf_reset(&bytes);
  }
}

static void the_verdict_is_valid_json(void **state) {
  assay_fusion_source source = {.path = TEXT "ort-1.19-mha-3x2-one-math.txt"};
  assay_fusion_spec spec = {
      .sources = &source, .n_sources = 1, .expect_fused = 3, .case_name = "b1-n1000"};
  assay_fusion f = {0};
  assay_buf bytes = {0};
  assay_json *root = NULL;
  const char *verdict = NULL;
  (void)state;
  assert_int_equal(assay_fusion_judge(&spec, &f, NULL), ASSAY_OK);
  assay_json_builder *b = assay_json_builder_create();
  assay_fusion_put(&f, b, NULL);
  assert_int_equal(assay_json_builder_finish(b, &bytes, NULL), ASSAY_OK);
  assert_int_equal(assay_json_parse(bytes.data, bytes.size_bytes, &root, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_schema(root, "fusion", 1, NULL), ASSAY_OK);
  assert_int_equal(assay_json_need_string(root, "verdict", &verdict, NULL), ASSAY_OK);
  assert_string_equal(verdict, "fail");
  assert_int_equal(assay_json_len(assay_json_get(root, "kernels")), 3);
  assay_json_destroy(root);
  assay_json_builder_destroy(b);
  assay_buf_reset(&bytes);
  assay_fusion_reset(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_sample_gets_its_right_verdict),
      cmocka_unit_test(counts_what_the_programs_hold),
      cmocka_unit_test(damaged_samples_never_pass_wrongly),
      cmocka_unit_test(any_line_lost_is_never_a_wrong_pass),
      cmocka_unit_test(evidence_of_another_graph_is_unknown),
      cmocka_unit_test(words_of_another_writer_between_lines_are_no_damage),
      cmocka_unit_test(a_cached_program_is_no_evidence),
      cmocka_unit_test(programs_of_the_same_inputs_need_their_number),
      cmocka_unit_test(the_log_of_the_runtime_must_agree_with_the_trace),
      cmocka_unit_test(two_compiles_of_one_graph_in_one_trace_are_unknown),
      cmocka_unit_test(a_program_of_another_shape_is_unknown),
      cmocka_unit_test(integers_that_another_pass_makes_floating_are_no_pass),
      cmocka_unit_test(a_program_of_another_graph_is_unknown),
      cmocka_unit_test(kernels_are_allowed_by_device_or_by_name),
      cmocka_unit_test(a_count_is_needed_and_must_fit),
      cmocka_unit_test(refuses_what_cannot_be_asked),
      cmocka_unit_test(allocations_may_fail_at_any_step),
      cmocka_unit_test(the_verdict_is_valid_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
