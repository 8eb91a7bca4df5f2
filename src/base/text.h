/* Small text helpers: nearest names for "did you mean", strict numbers, escaping for a terminal. */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The nearest of n names by edit distance (case and '_' against '-' ignored), or NULL if none is
 * near enough to be worth suggesting (distance over a third of the length, at least 2). */
const char *assay_text_nearest(const char *word, const char *const *names, size_t n);

/* Whole-string decimal integer in [low, high], or finite decimal real in [low, high] ("C" locale).
 * Errors: ARGUMENT with what was expected and found; `what` names the quantity. */
assay_status assay_text_parse_int(const char *text, const char *what, int64_t low, int64_t high,
                                  int64_t *out, assay_error *err) ASSAY_NODISCARD;
assay_status assay_text_parse_real(const char *text, const char *what, double low, double high,
                                   double *out, assay_error *err) ASSAY_NODISCARD;

/* Whole-string decimal integer from 0 to 2^64-1. Errors: ARGUMENT, as above. */
assay_status assay_text_parse_u64(const char *text, const char *what, uint64_t *out,
                                  assay_error *err) ASSAY_NODISCARD;

/* *out, which may hold an earlier text of assay_strdup's, becomes a copy of text. Errors: MEMORY.
 */
assay_status assay_text_set(char **out, const char *text, assay_error *err) ASSAY_NODISCARD;

bool assay_text_has_prefix(const char *text, const char *prefix);
bool assay_text_has_suffix(const char *text, const char *suffix);

/* Strict UTF-8 (no surrogates, no overlong forms), size_bytes long. */
bool assay_text_is_utf8(const char *text, size_t size_bytes);

/* Copies text to out (out_bytes > 0, always terminated) with control characters, invalid UTF-8 and
 * bidirectional control marks as \xNN, so that it is safe on a terminal; cut with "..." if too
 * long. */
void assay_text_printable(const char *text, char *out, size_t out_bytes);

#endif
