/* A growing text that fails once and says so at the end, so that code which writes pages and tables
 * is not hidden behind error handling; and the one place where text from outside (names, messages,
 * logs) becomes HTML, CSV, Markdown, XML or terminal text. Nothing from outside reaches an output
 * another way. */
#ifndef ASSAY_REPORT_SINK_H
#define ASSAY_REPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/status.h"

/* All zeroes is a valid empty sink. */
typedef struct assay_sink {
  assay_buf buf;
  assay_status status; /* the first failure; later calls do nothing */
} assay_sink;

/* Our own text, as it is. */
void assay_sink_put(assay_sink *sink, const char *text);
void assay_sink_putf(assay_sink *sink, const char *format, ...) ASSAY_PRINTF(2, 3);
void assay_sink_put_bytes(assay_sink *sink, const void *bytes, size_t size_bytes);

/* Text from outside; NULL writes nothing. In all of them control characters, invalid UTF-8, and
 * code points that are invisible or change the direction of text come out as visible marks: \x0a,
 * \u{202e}. */

/* HTML and XML, as an element's text or a quoted attribute's value. */
void assay_sink_html(assay_sink *sink, const char *text);

/* One CSV cell (RFC 4180), quoted where needed. A cell that a spreadsheet would run as a formula
 * (= + - @ in front, ASCII or full-width, also after ';', which some take for a separator) gets a '
 * there. */
void assay_sink_csv(assay_sink *sink, const char *text);

/* One cell of a Markdown table: plain when nothing in it could be markup, a code span otherwise. */
void assay_sink_markdown(assay_sink *sink, const char *text);

/* For a terminal or a fenced block. */
void assay_sink_plain(assay_sink *sink, const char *text);

/* Columns that text takes in a terminal once written by assay_sink_plain, one a code point. */
size_t assay_sink_plain_width(const char *text);

/* The text so far; "" when empty. Borrowed. */
const char *assay_sink_text(const assay_sink *sink);

/* The first failure, recorded in err. Errors: MEMORY, LIMIT. */
assay_status assay_sink_check(const assay_sink *sink, assay_error *err) ASSAY_NODISCARD;

void assay_sink_reset(assay_sink *sink);

#endif
