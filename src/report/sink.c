/* Sinks and escaping. Sources: HTML Living Standard 13.1.2 (text and attribute values), RFC 4180,
 * GitHub Flavored Markdown 0.29 (6.3 code spans, 4.10 tables), OWASP "CSV Injection", Unicode 15
 * (bidirectional and default-ignorable code points). */
#include "report/sink.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SINK_MAX_BYTES (512u << 20) /* far beyond any page; a fault, not a report */

void assay_sink_put_bytes(assay_sink *sink, const void *bytes, size_t size_bytes) {
  if (sink->status) return;
  sink->buf.max_bytes = SINK_MAX_BYTES;
  sink->status = assay_buf_append(&sink->buf, bytes, size_bytes, NULL);
}

void assay_sink_put(assay_sink *sink, const char *text) {
  assay_sink_put_bytes(sink, text, strlen(text));
}

void assay_sink_putf(assay_sink *sink, const char *format, ...) {
  char small[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(small, sizeof small, format, args);
  va_end(args);
  if (n < 0) {
    if (!sink->status) sink->status = ASSAY_E_INTERNAL;
  } else if ((size_t)n < sizeof small) {
    assay_sink_put_bytes(sink, small, (size_t)n);
  } else if (!sink->status) {
    uint8_t *room = NULL;
    sink->buf.max_bytes = SINK_MAX_BYTES;
    sink->status = assay_buf_reserve(&sink->buf, (size_t)n + 1, &room, NULL);
    if (sink->status) return;
    va_start(args, format);
    (void)vsnprintf((char *)room, (size_t)n + 1, format, args);
    va_end(args);
    sink->buf.size_bytes += (size_t)n;
  }
}

const char *assay_sink_text(const assay_sink *sink) {
  return assay_buf_text(&sink->buf);
}

assay_status assay_sink_check(const assay_sink *sink, assay_error *err) {
  if (sink->status) return assay_fail(err, sink->status, "could not build the text of the report");
  return ASSAY_OK;
}

void assay_sink_reset(assay_sink *sink) {
  assay_buf_reset(&sink->buf);
  sink->status = ASSAY_OK;
}

/* ---- text from outside, one visible piece at a time ---- */

/* Invisible, or able to turn the text around it: never written as themselves. */
static bool is_hidden(uint32_t c) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x0000, 0x001f},   {0x007f, 0x009f}, {0x00ad, 0x00ad},   /* controls, soft hyphen */
      {0x034f, 0x034f},   {0x061c, 0x061c}, {0x115f, 0x1160},   /* joiner, Arabic mark, fillers */
      {0x17b4, 0x17b5},   {0x180b, 0x180f},                     /* Khmer, Mongolian selectors */
      {0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f},   /* zero width, bidi, separators */
      {0x3164, 0x3164},   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},   /* filler, selectors, BOM */
      {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}, /* filler, annotations, tags */
      {0x1d173, 0x1d17a}, {0xfffe, 0xffff}, /* musical controls, non-characters */
  };
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (c >= ranges[i].first && c <= ranges[i].last) return true;
  }
  return false;
}

/* One code point of strict UTF-8 at text; its length, or 0 when the bytes are not UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *out) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
  if ((text[0] >= 0x80 && text[0] < 0xc2) || text[0] > 0xf4) return 0;
  uint32_t c = n == 1 ? text[0] : text[0] & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0; /* a terminating zero stops here */
    c = c << 6 | (text[i] & 0x3f);
  }
  if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff) return 0;
  *out = c;
  return n;
}

/* The next piece of *text: the bytes of a code point that may be shown, or a visible mark for one
 * that may not. Moves *text on; returns the code point, or 0 for a mark. piece has room for 16
 * bytes. */
static uint32_t next_piece(const char **text, char *piece) {
  const unsigned char *at = (const unsigned char *)*text;
  uint32_t c = 0;
  size_t n = decode(at, &c);
  if (n == 0 || c < 0x80) {
    *text += 1;
    if (n == 0 || is_hidden(c)) {
      (void)snprintf(piece, 16, "\\x%02x", at[0]);
      return 0;
    }
    piece[0] = (char)c;
    piece[1] = 0;
    return c;
  }
  *text += n;
  if (is_hidden(c)) {
    (void)snprintf(piece, 16, "\\u{%04x}", (unsigned)c);
    return 0;
  }
  memcpy(piece, at, n);
  piece[n] = 0;
  return c;
}

void assay_sink_html(assay_sink *sink, const char *text) {
  char piece[16];
  while (text && *text) {
    switch (next_piece(&text, piece)) {
    case '&':
      assay_sink_put(sink, "&amp;");
      break;
    case '<':
      assay_sink_put(sink, "&lt;");
      break;
    case '>':
      assay_sink_put(sink, "&gt;");
      break;
    case '"':
      assay_sink_put(sink, "&quot;");
      break;
    case '\'':
      assay_sink_put(sink, "&#39;");
      break;
    default:
      assay_sink_put(sink, piece);
    }
  }
}

void assay_sink_plain(assay_sink *sink, const char *text) {
  char piece[16];
  while (text && *text) {
    (void)next_piece(&text, piece);
    assay_sink_put(sink, piece);
  }
}

size_t assay_sink_plain_width(const char *text) {
  char piece[16];
  size_t width = 0;
  while (text && *text) width += next_piece(&text, piece) ? 1 : strlen(piece);
  return width;
}

/* Begins a formula in some spreadsheet, or is our own quote, which must stay recognisable. */
static bool starts_formula(uint32_t c) {
  return c == '=' || c == '+' || c == '-' || c == '@' || c == '\'' || c == 0xff1d || c == 0xff0b ||
         c == 0xff0d || c == 0xff20;
}

void assay_sink_csv(assay_sink *sink, const char *text) {
  if (text == NULL) return;
  bool quoted = strpbrk(text, ",\"; ") != NULL;
  char piece[16];
  uint32_t before = ';'; /* the start of the cell counts as just after a separator */
  if (quoted) assay_sink_put(sink, "\"");
  while (*text) {
    uint32_t c = next_piece(&text, piece);
    if (before == ';' && starts_formula(c)) assay_sink_put(sink, "'");
    assay_sink_put(sink, c == '"' ? "\"\"" : piece);
    if (c != ' ' || before != ';') before = c; /* blanks after a separator do not protect */
  }
  if (quoted) assay_sink_put(sink, "\"");
}

static bool is_plain_markdown(const char *text) {
  for (const char *at = text; *at; at++) {
    bool letter =
        (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
    if (!letter && (strchr(" .,-+%()", *at) == NULL)) return false;
  }
  return text[0] != ' ' && text[0] != '-' && text[0] != '+' && strstr(text, "www.") == NULL;
}

void assay_sink_markdown(assay_sink *sink, const char *text) {
  if (text == NULL || *text == 0) return;
  if (is_plain_markdown(text)) {
    assay_sink_put(sink, text);
    return;
  }
  size_t longest = 0;
  for (const char *at = text; *at; at++) {
    size_t n = strspn(at, "`");
    if (n > longest) longest = n;
    if (n > 1) at += n - 1;
  }
  for (size_t i = 0; i <= longest; i++) assay_sink_put(sink, "`");
  if (longest) assay_sink_put(sink, " ");
  char piece[16];
  while (*text) {
    if (next_piece(&text, piece) == '|') assay_sink_put(sink, "\\");
    assay_sink_put(sink, piece);
  }
  if (longest) assay_sink_put(sink, " ");
  for (size_t i = 0; i <= longest; i++) assay_sink_put(sink, "`");
}
