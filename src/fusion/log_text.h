/* Text of a log, looked at where it lies: spans of it, and its lines one by one. */
#ifndef ASSAY_FUSION_LOG_TEXT_H
#define ASSAY_FUSION_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_text_span {
  const char *text; /* borrowed, not terminated; NULL with n 0 is an empty one */
  size_t n;         /* bytes */
} assay_text_span;

assay_text_span assay_span_of(const char *text); /* of a C string */
bool assay_span_is(assay_text_span span, const char *text);
bool assay_span_equal(assay_text_span a, assay_text_span b);
bool assay_span_begins(assay_text_span span, const char *prefix);
bool assay_span_ends(assay_text_span span, const char *suffix);

/* Where part first stands at or after `from`; n when it does not. And where it last stands. */
size_t assay_span_find(assay_text_span span, const char *part, size_t from);
size_t assay_span_find_last(assay_text_span span, const char *part);

/* [from, to) of span; `to` at most n, `from` at most `to`. */
assay_text_span assay_span_cut(assay_text_span span, size_t from, size_t to);

/* Without blanks and tabs at both ends. */
assay_text_span assay_span_trim(assay_text_span span);

/* Decimal digits alone, up to 2^63-1. */
bool assay_span_int(assay_text_span span, int64_t *out);

/* Copies span to out (out_bytes > 0, terminated), cut to what fits. */
void assay_span_copy(assay_text_span span, char *out, size_t out_bytes);

typedef struct assay_log_line {
  assay_text_span text; /* without its end, '\n' or "\r\n" */
  size_t number;        /* from 1 */
  bool is_ended;        /* false: the last line, without an end: it may be cut */
} assay_log_line;

typedef struct assay_log_lines {
  const char *at, *end; /* what is left */
  size_t number;        /* of the line before */
} assay_log_lines;

assay_log_lines assay_log_lines_of(const void *bytes, size_t size_bytes);
bool assay_log_lines_next(assay_log_lines *lines, assay_log_line *out); /* false at the end */

#endif
