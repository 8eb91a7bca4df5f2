#include "fusion/log_text.h"

#include <string.h>

assay_text_span assay_span_of(const char *text) {
  return (assay_text_span){.text = text, .n = strlen(text)};
}

bool assay_span_equal(assay_text_span a, assay_text_span b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.text, b.text, a.n) == 0);
}

bool assay_span_is(assay_text_span span, const char *text) {
  return assay_span_equal(span, assay_span_of(text));
}

bool assay_span_begins(assay_text_span span, const char *prefix) {
  size_t n = strlen(prefix);
  return span.n >= n && (n == 0 || memcmp(span.text, prefix, n) == 0);
}

bool assay_span_ends(assay_text_span span, const char *suffix) {
  size_t n = strlen(suffix);
  return span.n >= n && (n == 0 || memcmp(span.text + span.n - n, suffix, n) == 0);
}

size_t assay_span_find(assay_text_span span, const char *part, size_t from) {
  size_t n = strlen(part);
  while (from + n <= span.n) {
    const char *hit = memchr(span.text + from, part[0], span.n - n - from + 1);
    if (hit == NULL) return span.n;
    from = (size_t)(hit - span.text);
    if (memcmp(hit, part, n) == 0) return from;
    from++;
  }
  return span.n;
}

size_t assay_span_find_last(assay_text_span span, const char *part) {
  size_t n = strlen(part);
  if (n > span.n) return span.n;
  for (size_t i = span.n - n + 1; i-- > 0;)
    if (memcmp(span.text + i, part, n) == 0) return i;
  return span.n;
}

assay_text_span assay_span_cut(assay_text_span span, size_t from, size_t to) {
  if (to > span.n) to = span.n;
  if (from > to) from = to;
  return (assay_text_span){.text = span.text != NULL ? span.text + from : NULL, .n = to - from};
}

assay_text_span assay_span_trim(assay_text_span span) {
  while (span.n > 0 && (span.text[0] == ' ' || span.text[0] == '\t'))
    span = assay_span_cut(span, 1, span.n);
  while (span.n > 0 && (span.text[span.n - 1] == ' ' || span.text[span.n - 1] == '\t')) span.n--;
  return span;
}

bool assay_span_int(assay_text_span span, int64_t *out) {
  int64_t value = 0;
  if (span.n == 0) return false;
  for (size_t i = 0; i < span.n; i++) {
    int digit = span.text[i] - '0';
    if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
    value = 10 * value + digit;
  }
  *out = value;
  return true;
}

void assay_span_copy(assay_text_span span, char *out, size_t out_bytes) {
  size_t n = span.n < out_bytes ? span.n : out_bytes - 1;
  if (n > 0) memcpy(out, span.text, n);
  out[n] = '\0';
}

assay_log_lines assay_log_lines_of(const void *bytes, size_t size_bytes) {
  const char *at = bytes;
  return (assay_log_lines){.at = at, .end = size_bytes > 0 ? at + size_bytes : at};
}

bool assay_log_lines_next(assay_log_lines *lines, assay_log_line *out) {
  if (lines->at == lines->end) return false;
  size_t left = (size_t)(lines->end - lines->at);
  const char *stop = memchr(lines->at, '\n', left);
  size_t n = stop != NULL ? (size_t)(stop - lines->at) : left;
  *out = (assay_log_line){
      .text = {.text = lines->at, .n = n}, .number = ++lines->number, .is_ended = stop != NULL};
  lines->at = stop != NULL ? stop + 1 : lines->end;
  if (stop != NULL && n > 0 && out->text.text[n - 1] == '\r') out->text.n--;
  return true;
}
