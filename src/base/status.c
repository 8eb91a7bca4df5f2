/* Statuses and error messages. A message is one line: whatever an argument brings along, control
 * characters leave here as \xNN, so that a file name cannot forge a second line or drive a
 * terminal. */
#include "base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Formats into an escaped line. The unescaped text is cut at twice the length of a message: what
 * lies beyond could not be shown anyhow. */
static void format_line(char out[ASSAY_ERROR_TEXT_BYTES], const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void format_line(char out[ASSAY_ERROR_TEXT_BYTES], const char *format, va_list args) {
  char raw[2 * ASSAY_ERROR_TEXT_BYTES];
  if (vsnprintf(raw, sizeof raw, format, args) < 0) {
    snprintf(raw, sizeof raw, "(a message that could not be formatted)");
  }
  assay_text_printable(raw, out, ASSAY_ERROR_TEXT_BYTES);
}

assay_status assay_fail(assay_error *err, assay_status status, const char *format, ...) {
  if (err != NULL && err->status == ASSAY_OK) {
    va_list args;
    va_start(args, format);
    format_line(err->text, format, args);
    va_end(args);
    err->status = status;
  }
  return status;
}

assay_status assay_fail_errno(assay_error *err, assay_status status, int errnum, const char *format,
                              ...) {
  if (status == ASSAY_E_IO &&
      (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG || errnum == EIO))
    status = ASSAY_E_DISK;
  if (err == NULL || err->status != ASSAY_OK) return status;
  char context[ASSAY_ERROR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  format_line(context, format, args);
  va_end(args);
  char words[256];
  if (strerror_r(errnum, words, sizeof words) != 0)
    snprintf(words, sizeof words, "error %d", errnum);
  return assay_fail(err, status, "%s: %s", context, words);
}

void assay_error_in(assay_error *err, const char *format, ...) {
  if (err == NULL || err->status == ASSAY_OK) return;
  char context[ASSAY_ERROR_TEXT_BYTES];
  va_list args;
  va_start(args, format);
  format_line(context, format, args);
  va_end(args);

  /* Both parts are escaped already; joining them again through assay_text_printable would be
   * harmless (it leaves backslashes alone) and gives the same cut with "...". */
  char joined[2 * ASSAY_ERROR_TEXT_BYTES + 2];
  snprintf(joined, sizeof joined, "%s: %s", context, err->text);
  assay_text_printable(joined, err->text, sizeof err->text);
}

const char *assay_status_name(assay_status status) {
  switch (status) {
  case ASSAY_OK:
    return "OK";
#define STATUS_NAME(name, text)                                                                    \
  case ASSAY_E_##name:                                                                             \
    return #name;
    ASSAY_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
  }
  return "unknown status";
}

const char *assay_status_text(assay_status status) {
  switch (status) {
  case ASSAY_OK:
    return "success";
#define STATUS_TEXT(name, text)                                                                    \
  case ASSAY_E_##name:                                                                             \
    return text;
    ASSAY_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
  }
  return "unknown status";
}
