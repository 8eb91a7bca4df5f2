/* Numbers and text that pickles spell out: decimal and two's complement integers, quoted and
 * escaped strings. Source: Python's pickletools.py and the codecs that pickle.py names. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "checkpoint/pickle_parts.h"

/* Python itself refuses to convert integers beyond 4300 digits to text. */
#define DIGITS_MAX     4300
#define TWOS_BYTES_MAX 1700 /* 4094 digits */
#define WORDS_MAX      (TWOS_BYTES_MAX / 4 + 1)

static const char *skip_sign(const char *digits, size_t *n) {
  if (*n > 0 && (*digits == '-' || *digits == '+')) {
    --*n;
    return digits + 1;
  }
  return digits;
}

/* n digits as a 64-bit integer; false where they do not fit. */
static bool small_decimal(const char *digits, size_t n, bool negative, int64_t *out) {
  int64_t number = 0;
  for (size_t i = 0; i < n; i++) {
    int digit = digits[i] - '0';
    if (__builtin_mul_overflow(number, 10, &number)) return false;
    if (__builtin_add_overflow(number, negative ? -digit : digit, &number)) return false;
  }
  *out = number;
  return true;
}

static assay_status make_bigint(assay_pickle *doc, bool negative, const char *digits, size_t n,
                                assay_pickle_value **out, assay_error *err) {
  char text[DIGITS_MAX + 1];
  size_t at = 0;
  if (negative) text[at++] = '-';
  memcpy(text + at, digits, n);
  return pickle_make_text(doc, ASSAY_PICKLE_BIGINT, text, at + n, out, err);
}

static assay_status make_int(assay_pickle *doc, int64_t number, assay_pickle_value **out,
                             assay_error *err) {
  ASSAY_TRY(pickle_make(doc, ASSAY_PICKLE_INT, out, err));
  (*out)->integer = number;
  return ASSAY_OK;
}

assay_status pickle_make_decimal(assay_pickle *doc, const char *digits, size_t n,
                                 assay_pickle_value **out, assay_error *err) {
  bool negative = n > 0 && *digits == '-';
  const char *first = skip_sign(digits, &n);
  bool good = n > 0;
  for (size_t i = 0; good && i < n; i++) good = first[i] >= '0' && first[i] <= '9';
  if (!good) return assay_fail(err, ASSAY_E_FORMAT, "a decimal integer expected");
  while (n > 1 && *first == '0') first++, n--;
  if (n > DIGITS_MAX - 1) {
    return assay_fail(err, ASSAY_E_LIMIT, "an integer of %zu digits: the limit is %d", n,
                      DIGITS_MAX - 1);
  }
  int64_t number;
  if (small_decimal(first, n, negative, &number)) return make_int(doc, number, out, err);
  return make_bigint(doc, negative, first, n, out, err);
}

/* words: [n] of 32 bits, least first; becomes 0. Returns where the digits start in out[cap]. */
static size_t digits_of(uint32_t *words, size_t n, char *out, size_t cap) {
  size_t at = cap;
  while (n > 0) {
    uint64_t rest = 0;
    for (size_t i = n; i-- > 0;) {
      uint64_t part = rest << 32 | words[i];
      words[i] = (uint32_t)(part / 1000000000u);
      rest = part % 1000000000u;
    }
    while (n > 0 && words[n - 1] == 0) n--;
    for (int k = 0; k < 9 && (n > 0 || rest > 0); k++) {
      out[--at] = (char)('0' + rest % 10);
      rest /= 10;
    }
  }
  return at;
}

assay_status pickle_make_twos(assay_pickle *doc, const uint8_t *bytes, size_t n,
                              assay_pickle_value **out, assay_error *err) {
  bool negative = n > 0 && (bytes[n - 1] & 0x80) != 0;
  uint8_t fill = negative ? 0xff : 0;
  while (n > 8 && bytes[n - 1] == fill && (bytes[n - 2] & 0x80) == (fill & 0x80)) n--;
  if (n <= 8) {
    uint64_t bits = negative ? UINT64_MAX : 0;
    for (size_t i = n; i-- > 0;) bits = bits << 8 | bytes[i];
    return make_int(doc, (int64_t)bits, out, err);
  }
  if (n > TWOS_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "an integer of %zu bytes: the limit is %d", n,
                      TWOS_BYTES_MAX);
  }
  uint32_t words[WORDS_MAX] = {0};
  size_t n_words = n / 4 + 1;
  unsigned carry = negative ? 1 : 0;
  for (size_t i = 0; i < n_words * 4; i++) { /* the magnitude: bits flipped and one added */
    unsigned byte = i < n ? bytes[i] : fill;
    if (negative) {
      byte = (byte ^ 0xffu) + carry;
      carry = byte >> 8;
      byte &= 0xffu;
    }
    words[i / 4] |= (uint32_t)byte << (i % 4 * 8);
  }
  char text[DIGITS_MAX];
  while (n_words > 0 && words[n_words - 1] == 0) n_words--;
  size_t at = digits_of(words, n_words, text, sizeof text);
  return make_bigint(doc, negative, text + at, sizeof text - at, out, err);
}

/* ---- text ---------------------------------------------------------------------------------------
 */

bool pickle_is_text(const void *bytes, size_t size_bytes) {
  const char *text = bytes;
  size_t start = 0;
  for (size_t i = 0; i + 2 < size_bytes; i++) { /* cut out lone surrogates: ED A0…BF 80…BF */
    if ((uint8_t)text[i] != 0xed || ((uint8_t)text[i + 1] & 0xe0) != 0xa0) continue;
    if (((uint8_t)text[i + 2] & 0xc0) != 0x80) return false;
    if (!assay_text_is_utf8(text + start, i - start)) return false;
    start = i + 3;
    i += 2;
  }
  return assay_text_is_utf8(text + start, size_bytes - start);
}

/* Appends code as UTF-8; out has room for four bytes more. */
static size_t put_utf8(char *out, size_t at, uint32_t code) {
  if (code < 0x80) {
    out[at++] = (char)code;
  } else if (code < 0x800) {
    out[at++] = (char)(0xc0 | code >> 6);
    out[at++] = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out[at++] = (char)(0xe0 | code >> 12);
    out[at++] = (char)(0x80 | (code >> 6 & 0x3f));
    out[at++] = (char)(0x80 | (code & 0x3f));
  } else {
    out[at++] = (char)(0xf0 | code >> 18);
    out[at++] = (char)(0x80 | (code >> 12 & 0x3f));
    out[at++] = (char)(0x80 | (code >> 6 & 0x3f));
    out[at++] = (char)(0x80 | (code & 0x3f));
  }
  return at;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* n hexadecimal digits; false where there are fewer. */
static bool read_hex(const char *text, size_t left, size_t n, uint32_t *out) {
  uint32_t code = 0;
  if (left < n) return false;
  for (size_t i = 0; i < n; i++) {
    int digit = hex_digit(text[i]);
    if (digit < 0) return false;
    code = code << 4 | (uint32_t)digit;
  }
  *out = code;
  return true;
}

/* Python's raw-unicode-escape: \uXXXX and \UXXXXXXXX, everything else Latin-1. A backslash before
 * another character keeps that character from starting an escape. */
assay_status pickle_make_escaped(assay_pickle *doc, const char *line, size_t n,
                                 assay_pickle_value **out, assay_error *err) {
  void *block;
  ASSAY_TRY(pickle_make(doc, ASSAY_PICKLE_TEXT, out, err));
  ASSAY_TRY(pickle_arena_take(&doc->arena, 2 * n + 1, &block, err)); /* Latin-1 at most doubles */
  char *text = block;
  size_t at = 0;
  for (size_t i = 0; i < n;) {
    uint32_t code = (uint8_t)line[i++];
    if (code == '\\' && i < n && (line[i] == 'u' || line[i] == 'U')) {
      size_t width = line[i] == 'u' ? 4 : 8;
      if (!read_hex(line + i + 1, n - i - 1, width, &code) || code > 0x10ffff) {
        return assay_fail(err, ASSAY_E_FORMAT, "\\%c expects %zu hexadecimal digits of a character",
                          line[i], width);
      }
      i += 1 + width;
    } else if (code == '\\' && i < n) {
      at = put_utf8(text, at, code);
      code = (uint8_t)line[i++];
    }
    at = put_utf8(text, at, code);
  }
  (*out)->text = (assay_pickle_text){.data = text, .size_bytes = at};
  return ASSAY_OK;
}

/* One escape of a Python 2 string literal behind its backslash; returns the characters it takes, or
 * 0. */
static size_t read_escape(const char *text, size_t left, uint8_t *out) {
  static const char letters[] = "\\'\"abfnrtv";
  static const char means[] = "\\'\"\a\b\f\n\r\t\v";
  const char *found = left > 0 && text[0] != '\0' ? strchr(letters, text[0]) : NULL;
  uint32_t code = 0;
  if (found != NULL) {
    *out = (uint8_t)means[found - letters];
    return 1;
  }
  if (left > 0 && text[0] == 'x') {
    if (!read_hex(text + 1, left - 1, 2, &code)) return 0;
    *out = (uint8_t)code;
    return 3;
  }
  size_t n = 0;
  while (n < 3 && n < left && text[n] >= '0' && text[n] <= '7') {
    code = code * 8 + (uint32_t)(text[n++] - '0');
  }
  *out = (uint8_t)code;
  return n;
}

/* A quoted Python 2 string: text where its bytes are. */
assay_status pickle_make_quoted(assay_pickle *doc, const char *line, size_t n,
                                assay_pickle_value **out, assay_error *err) {
  void *block;
  while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\r')) n--;
  if (n < 2 || (line[0] != '\'' && line[0] != '"') || line[n - 1] != line[0]) {
    return assay_fail(err, ASSAY_E_FORMAT, "a quoted string expected");
  }
  ASSAY_TRY(pickle_make(doc, ASSAY_PICKLE_BYTES, out, err));
  ASSAY_TRY(pickle_arena_take(&doc->arena, n, &block, err));
  uint8_t *text = block;
  size_t at = 0;
  for (size_t i = 1; i < n - 1;) {
    uint8_t byte = (uint8_t)line[i++];
    if (byte == '\\') {
      size_t used = read_escape(line + i, n - 1 - i, &byte);
      if (used == 0) { /* not an escape: both characters stay */
        byte = '\\';
      }
      i += used;
    }
    text[at++] = byte;
  }
  if (pickle_is_text(text, at)) (*out)->kind = ASSAY_PICKLE_TEXT;
  (*out)->text = (assay_pickle_text){.data = block, .size_bytes = at};
  return ASSAY_OK;
}
