/* Picks numbers out of a sentence. */
#include "verify/verify_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 64

static bool is_part_of_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Bytes of the number at text, or 0. */
static size_t number_bytes(const char *text) {
  size_t n = text[0] == '-' ? 1 : 0;
  if (strncmp(text + n, "inf", 3) == 0 || strncmp(text + n, "nan", 3) == 0)
    return is_part_of_word(text[n + 3]) ? 0 : n + 3;
  if (!isdigit((unsigned char)text[n])) return 0;
  n += strspn(text + n, "0123456789");
  if (text[n] == '.' && isdigit((unsigned char)text[n + 1]))
    n += 1 + strspn(text + n + 1, "0123456789");
  if ((text[n] == 'e' || text[n] == 'E') && (text[n + 1] == '-' || text[n + 1] == '+') &&
      isdigit((unsigned char)text[n + 2]))
    n += 2 + strspn(text + n + 2, "0123456789");
  return n;
}

static bool is_known(const char *number, const long double *known, size_t n) {
  static const char *const formats[] = {"%.9Lg", "%.3Lg", "%Lg", "%.0Lf"};
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
      char text[NUMBER_BYTES];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(text, sizeof text, formats[k], known[i]);
#pragma GCC diagnostic pop
      if (strcmp(text, number) == 0) return true;
    }
  }
  return false;
}

bool assay_verify_words_agree(const char *text, const long double *known, size_t n, char *out_bad,
                              size_t out_bytes) {
  bool quoted = false;
  char before = ' ';
  for (const char *c = text; *c != '\0';) {
    size_t length = quoted || is_part_of_word(before) ? 0 : number_bytes(c);
    if (*c == '\'') quoted = !quoted;
    if (length == 0) {
      before = *c++;
      continue;
    }
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%.*s", (int)length, c);
    if (!is_known(number, known, n)) {
      snprintf(out_bad, out_bytes, "%s", number);
      return false;
    }
    c += length;
    before = '0';
  }
  return true;
}
