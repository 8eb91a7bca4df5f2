/* Small text helpers. Numbers are read without the locale: strtod would follow it, so a real is
 * checked against its grammar first and the one character that differs between locales is never
 * trusted. */
#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- nearest name -------------------------------------------------------------------------------
 */

#define NEAREST_MAX_BYTES 128 /* no name of ours comes near; longer ones are not compared */

static char fold(char c) {
  if (c == '_') return '-';
  if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
  return c;
}

/* Edit distance (insert, delete, replace), two rows of the usual table. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t rows[2][NEAREST_MAX_BYTES + 1];
  for (size_t j = 0; j <= nb; j++) rows[0][j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t *above = rows[(i - 1) % 2], *row = rows[i % 2];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      size_t best = above[j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return rows[na % 2][nb];
}

const char *assay_text_nearest(const char *word, const char *const *names, size_t n) {
  size_t n_word = strlen(word);
  if (n_word > NEAREST_MAX_BYTES) return NULL;
  size_t limit = n_word / 3 < 2 ? 2 : n_word / 3;
  const char *nearest = NULL;
  size_t nearest_distance = limit + 1;
  for (size_t i = 0; i < n; i++) {
    size_t n_name = strlen(names[i]);
    if (n_name > NEAREST_MAX_BYTES) continue;
    size_t distance = edit_distance(word, n_word, names[i], n_name);
    /* "at" is two edits from any two letters: a suggestion must share something. */
    if (distance >= n_name || distance >= nearest_distance) continue;
    nearest = names[i];
    nearest_distance = distance;
  }
  return nearest;
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* [-+]digits */
static bool is_decimal_int(const char *text) {
  if (*text == '-' || *text == '+') text++;
  if (!is_digit(*text)) return false;
  while (is_digit(*text)) text++;
  return *text == '\0';
}

assay_status assay_text_parse_int(const char *text, const char *what, int64_t low, int64_t high,
                                  int64_t *out, assay_error *err) {
  errno = 0;
  char *end;
  long long value = is_decimal_int(text) ? strtoll(text, &end, /*base=*/10) : 0;
  if (!is_decimal_int(text) || errno != 0 || value < low || value > high) {
    return assay_fail(err, ASSAY_E_ARGUMENT,
                      "%s: expected an integer from %lld to %lld, found '%s'", what, (long long)low,
                      (long long)high, text);
  }
  *out = value;
  return ASSAY_OK;
}

assay_status assay_text_parse_u64(const char *text, const char *what, uint64_t *out,
                                  assay_error *err) {
  errno = 0;
  const bool good = is_decimal_int(text) && text[0] != '-'; /* strtoull would wrap it */
  const unsigned long long value = good ? strtoull(text, /*end=*/NULL, /*base=*/10) : 0;
  if (!good || errno != 0 || value > UINT64_MAX)
    return assay_fail(err, ASSAY_E_ARGUMENT, "%s: expected an integer from 0 to %llu, found '%s'",
                      what, (unsigned long long)UINT64_MAX, text);
  *out = value;
  return ASSAY_OK;
}

/* [-+] (digits [. [digits]] | . digits) [eE [-+] digits] */
static bool is_decimal_real(const char *text) {
  if (*text == '-' || *text == '+') text++;
  size_t digits = 0;
  for (; is_digit(*text); text++) digits++;
  if (*text == '.') text++;
  for (; is_digit(*text); text++) digits++;
  if (digits == 0) return false;
  if (*text == 'e' || *text == 'E') {
    text++;
    if (*text == '-' || *text == '+') text++;
    if (!is_digit(*text)) return false;
    while (is_digit(*text)) text++;
  }
  return *text == '\0';
}

/* strtod of a checked decimal real in the "C" locale, whatever the process has chosen. */
static bool strtod_plain(const char *text, double *out) {
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return false;
  locale_t before = uselocale(plain);
  char *end;
  *out = strtod(text, &end);
  uselocale(before);
  freelocale(plain);
  return *end == '\0';
}

assay_status assay_text_parse_real(const char *text, const char *what, double low, double high,
                                   double *out, assay_error *err) {
  double value = 0.0;
  bool good = is_decimal_real(text) && strtod_plain(text, &value) && isfinite(value) &&
              value >= low && value <= high;
  if (good) {
    *out = value;
    return ASSAY_OK;
  }
  if (low <= -HUGE_VAL && high >= HUGE_VAL) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "%s: expected a finite number, found '%s'", what,
                      text);
  }
  return assay_fail(err, ASSAY_E_ARGUMENT, "%s: expected a finite number from %g to %g, found '%s'",
                    what, low, high, text);
}

/* ---- copies -------------------------------------------------------------------------------------
 */

assay_status assay_text_set(char **out, const char *text, assay_error *err) {
  assay_free(*out);
  *out = assay_strdup(text);
  return *out != NULL ? ASSAY_OK : assay_fail_memory(err, strlen(text) + 1);
}

/* ---- prefixes -----------------------------------------------------------------------------------
 */

bool assay_text_has_prefix(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool assay_text_has_suffix(const char *text, const char *suffix) {
  size_t n_text = strlen(text), n_suffix = strlen(suffix);
  return n_text >= n_suffix && memcmp(text + n_text - n_suffix, suffix, n_suffix) == 0;
}

/* ---- UTF-8 --------------------------------------------------------------------------------------
 */

/* Length of the well-formed sequence at s, or 0. Source: RFC 3629 section 4. */
static size_t utf8_sequence(const unsigned char *s, size_t n, uint32_t *out_point) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t len;
  uint32_t point;
  if (s[0] < 0x80) {
    *out_point = s[0];
    return 1;
  } else if (s[0] >= 0xc2 && s[0] <= 0xdf) {
    len = 2;
    point = s[0] & 0x1fu;
  } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
    len = 3;
    point = s[0] & 0x0fu;
  } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
    len = 4;
    point = s[0] & 0x07u;
  } else {
    return 0;
  }
  if (len > n) return 0;
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    point = (point << 6) | (s[i] & 0x3fu);
  }
  if (point < smallest[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return 0;
  *out_point = point;
  return len;
}

bool assay_text_is_utf8(const char *text, size_t size_bytes) {
  const unsigned char *s = (const unsigned char *)text;
  uint32_t point;
  for (size_t i = 0; i < size_bytes;) {
    size_t len = utf8_sequence(s + i, size_bytes - i, &point);
    if (len == 0) return false;
    i += len;
  }
  return true;
}

/* Code points that would drive or deceive a terminal: C0, DEL, C1, and the bidirectional controls
 * and line separators of Unicode. */
static bool is_unsafe_point(uint32_t p) {
  return p < 0x20 || (p >= 0x7f && p <= 0x9f) || p == 0x061c || (p >= 0x200e && p <= 0x200f) ||
         (p >= 0x2028 && p <= 0x202e) || (p >= 0x2066 && p <= 0x2069) || p == 0xfeff;
}

void assay_text_printable(const char *text, char *out, size_t out_bytes) {
  static const char dots[] = "...";
  const unsigned char *s = (const unsigned char *)text;
  size_t n = strlen(text);
  size_t at = 0;   /* bytes written */
  size_t safe = 0; /* the last end of a piece after which "..." still fits */
  for (size_t i = 0; i < n;) {
    char piece[4 * 4 + 1]; /* up to four bytes, each as \xNN */
    uint32_t point = 0;
    size_t len = utf8_sequence(s + i, n - i, &point);
    size_t taken = len == 0 ? 1 : len;
    size_t piece_bytes = 0;
    if (len == 0 || is_unsafe_point(point)) {
      for (size_t k = 0; k < taken; k++) {
        snprintf(piece + piece_bytes, sizeof piece - piece_bytes, "\\x%02x", s[i + k]);
        piece_bytes += 4;
      }
    } else {
      memcpy(piece, s + i, taken);
      piece_bytes = taken;
    }
    if (at + piece_bytes >= out_bytes) {
      size_t n_dots =
          sizeof dots - 1 < out_bytes - 1 - safe ? sizeof dots - 1 : out_bytes - 1 - safe;
      memcpy(out + safe, dots, n_dots);
      out[safe + n_dots] = '\0';
      return;
    }
    memcpy(out + at, piece, piece_bytes);
    at += piece_bytes;
    if (at + sizeof dots <= out_bytes) safe = at;
    i += taken;
  }
  out[at] = '\0';
}
