/* A profile is a JSON array, one event a line. Runtimes up to 1.20 do not escape names: an event
 * that is not JSON is taken to have such a name, which then reaches from its key to the last place
 * where its arguments could begin. */
#include "verify/verify_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define DEPTH_MAX     500
#define KERNEL_SUFFIX "_kernel_time"

int assay_verify_span_compare(assay_verify_span a, assay_verify_span b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int c = n > 0 ? memcmp(a.at, b.at, n) : 0;
  return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

bool assay_verify_span_is(assay_verify_span span, const char *text) {
  size_t n = strlen(text);
  return span.n == n && memcmp(span.at, text, n) == 0;
}

/* The bytes being read. */
typedef struct scanner {
  const char *at, *end;
  assay_verify_trace *trace;
  size_t cap, texts_cap;
  bool any_process;
  int64_t process;
  bool no_memory; /* why a scan failed, when it is not the bytes' fault */
} scanner;

/* What is wanted of one event; a span with at NULL was not there. */
typedef struct event {
  assay_verify_span category, name, provider, op, index, output_size;
  bool has_pid;
  int64_t pid, duration_us;
} event;

/* --- texts ---------------------------------------------------------------------------------------
 */

/* A text of n bytes that lives as long as the trace; NULL when memory is out. */
static char *keep_text(scanner *s, size_t n) {
  assay_verify_trace *trace = s->trace;
  char **texts =
      assay_grown(trace->texts, &s->texts_cap, trace->n_texts, sizeof *texts, /*err=*/NULL);
  if (texts != NULL) trace->texts = texts;
  char *text = texts != NULL ? assay_alloc(n) : NULL;
  if (text == NULL) s->no_memory = true;
  if (text != NULL) trace->texts[trace->n_texts++] = text;
  return text;
}

static bool is_control(char c) {
  return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Control characters as \xNN, as logs have them. */
static bool make_visible(scanner *s, assay_verify_span *span) {
  size_t n_control = 0;
  for (size_t i = 0; i < span->n; i++) n_control += is_control(span->at[i]);
  if (n_control == 0) return true;
  char *text = keep_text(s, span->n + 3 * n_control + 1), *to = text;
  if (text == NULL) return false;
  for (size_t i = 0; i < span->n; i++) {
    if (is_control(span->at[i]))
      to += snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)span->at[i]);
    else
      *to++ = span->at[i];
  }
  *span = (assay_verify_span){text, (size_t)(to - text)};
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------
 * Each reader moves on over what it read and returns true; false leaves the scan where it is. */

static void skip_blanks(scanner *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
    s->at++;
}

static bool take(scanner *s, char c) {
  skip_blanks(s);
  if (s->at == s->end || *s->at != c) return false;
  s->at++;
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The four digits behind \u. */
static bool read_code(const char *at, const char *end, unsigned *out) {
  if (end - at < 4) return false;
  *out = 0;
  for (int i = 0; i < 4; i++) {
    int digit = hex_digit(at[i]);
    if (digit < 0) return false;
    *out = *out << 4 | (unsigned)digit;
  }
  return true;
}

static char *put_utf8(char *to, unsigned code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 63));
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  }
  return to;
}

/* \uXXXX, a surrogate pair included; *at is behind the 'u'. */
static bool unescape_code(const char **at, const char *end, char **to) {
  unsigned code = 0, low = 0;
  if (!read_code(*at, end, &code) || code == 0) return false;
  *at += 4;
  if (code >= 0xd800 && code < 0xdc00) {
    if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u' || !read_code(*at + 2, end, &low) ||
        low < 0xdc00 || low >= 0xe000)
      return false;
    *at += 6;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return false;
  }
  *to = put_utf8(*to, code);
  return true;
}

/* The n bytes between quotes, with their escapes undone. */
static bool unescape(scanner *s, const char *at, size_t n, assay_verify_span *out) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  const char *end = at + n;
  char *text = keep_text(s, n + 1), *to = text;
  if (text == NULL) return false;
  while (at < end) {
    if (*at != '\\') {
      *to++ = *at++;
      continue;
    }
    if (++at == end) return false;
    const char *found = *at != '\0' ? strchr(from, *at) : NULL;
    at++;
    if (found != NULL)
      *to++ = into[found - from];
    else if (at[-1] != 'u' || !unescape_code(&at, end, &to))
      return false;
  }
  *out = (assay_verify_span){text, (size_t)(to - text)};
  return true;
}

/* out may be NULL: then only its extent is checked. */
static bool read_string(scanner *s, assay_verify_span *out) {
  if (!take(s, '"')) return false;
  const char *start = s->at;
  bool escaped = false, high = false;
  while (s->at < s->end && *s->at != '"') {
    unsigned char c = (unsigned char)*s->at;
    if (c < 0x20) return false;
    high |= c >= 0x80;
    if (c == '\\') {
      escaped = true;
      if (++s->at == s->end) return false;
    }
    s->at++;
  }
  if (s->at >= s->end) return false;
  size_t n = (size_t)(s->at - start);
  s->at++;
  if (high && !assay_text_is_utf8(start, n)) return false;
  if (out == NULL) return true;
  *out = (assay_verify_span){start, n};
  return !escaped || unescape(s, start, n, out);
}

static bool skip_digits(scanner *s) {
  const char *start = s->at;
  while (s->at < s->end && *s->at >= '0' && *s->at <= '9') s->at++;
  return s->at > start;
}

/* A number; *out_is_int says whether it is a whole one that fits, into *out. */
static bool read_number(scanner *s, bool *out_is_int, int64_t *out) {
  skip_blanks(s);
  const char *start = s->at;
  bool whole = true;
  if (s->at < s->end && *s->at == '-') s->at++;
  if (!skip_digits(s)) return false;
  if (s->at < s->end && *s->at == '.') {
    s->at++;
    whole = false;
    if (!skip_digits(s)) return false;
  }
  if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
    s->at++;
    whole = false;
    if (s->at < s->end && (*s->at == '-' || *s->at == '+')) s->at++;
    if (!skip_digits(s)) return false;
  }
  *out_is_int = false;
  if (!whole || s->at - start > 19) return true;
  int64_t value = 0;
  for (const char *c = start + (*start == '-'); c < s->at; c++) value = 10 * value + (*c - '0');
  *out = *start == '-' ? -value : value;
  *out_is_int = true;
  return true;
}

static bool skip_word(scanner *s, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
  s->at += n;
  return true;
}

static bool skip_value(scanner *s, int depth);

/* Behind the opening bracket of an array or an object. */
static bool skip_members(scanner *s, bool object, int depth) {
  char close = object ? '}' : ']';
  if (depth > DEPTH_MAX) return false;
  if (take(s, close)) return true;
  do {
    if (object && !(read_string(s, NULL) && take(s, ':'))) return false;
    if (!skip_value(s, depth + 1)) return false;
  } while (take(s, ','));
  return take(s, close);
}

static bool skip_value(scanner *s, int depth) {
  bool is_int = false;
  int64_t value = 0;
  skip_blanks(s);
  if (s->at == s->end) return false;
  switch (*s->at) {
  case '"':
    return read_string(s, NULL);
  case '{':
  case '[':
    return skip_members(s, *s->at++ == '{', depth);
  case 't':
    return skip_word(s, "true");
  case 'f':
    return skip_word(s, "false");
  case 'n':
    return skip_word(s, "null");
  default:
    return read_number(s, &is_int, &value);
  }
}

/* --- events --------------------------------------------------------------------------------------
 */

/* A string member; one that is another kind of value stays absent, and one that comes twice is
 * refused. */
static bool read_text_member(scanner *s, assay_verify_span *out) {
  skip_blanks(s);
  if (s->at < s->end && *s->at != '"') return skip_value(s, 2);
  return out->at == NULL && read_string(s, out);
}

static bool read_int_member(scanner *s, bool *out_has, int64_t *out) {
  skip_blanks(s);
  bool is_number = s->at < s->end && (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'));
  return is_number ? read_number(s, out_has, out) : skip_value(s, 2);
}

static bool read_args(scanner *s, event *e) {
  skip_blanks(s);
  if (s->at < s->end && *s->at != '{') return skip_value(s, 2);
  if (!take(s, '{')) return false;
  if (take(s, '}')) return true;
  do {
    assay_verify_span key = {0};
    if (!(read_string(s, &key) && take(s, ':'))) return false;
    bool known = assay_verify_span_is(key, "op_name")       ? read_text_member(s, &e->op)
                 : assay_verify_span_is(key, "provider")    ? read_text_member(s, &e->provider)
                 : assay_verify_span_is(key, "node_index")  ? read_text_member(s, &e->index)
                 : assay_verify_span_is(key, "output_size") ? read_text_member(s, &e->output_size)
                                                            : skip_value(s, 2);
    if (!known) return false;
  } while (take(s, ','));
  return take(s, '}');
}

/* Members of an event; stops before what is not a comma. */
static bool read_members(scanner *s, event *e) {
  bool has_duration = false;
  do {
    assay_verify_span key = {0};
    if (!(read_string(s, &key) && take(s, ':'))) return false;
    bool known = assay_verify_span_is(key, "cat")    ? read_text_member(s, &e->category)
                 : assay_verify_span_is(key, "name") ? read_text_member(s, &e->name)
                 : assay_verify_span_is(key, "pid")  ? read_int_member(s, &e->has_pid, &e->pid)
                 : assay_verify_span_is(key, "dur")
                     ? read_int_member(s, &has_duration, &e->duration_us)
                 : assay_verify_span_is(key, "args") ? read_args(s, e)
                                                     : skip_value(s, 1);
    if (!known) return false;
  } while (take(s, ','));
  return true;
}

static const char *find(const char *at, const char *end, const char *part) {
  size_t n = strlen(part);
  for (; (size_t)(end - at) >= n; at++)
    if (*at == part[0] && memcmp(at, part, n) == 0) return at;
  return NULL;
}

static const char *find_last(const char *start, const char *end, const char *part) {
  size_t n = strlen(part);
  for (const char *at = end - n; at >= start && (size_t)(end - start) >= n; at--)
    if (memcmp(at, part, n) == 0) return at;
  return NULL;
}

/* Where the event that begins at `at` ends: before the next event's line, or the closing bracket's.
 */
static const char *event_end(const char *at, const char *end) {
  const char *stop = end;
  for (const char *line = memchr(at, '\n', (size_t)(end - at)); line != NULL;
       line = memchr(line + 1, '\n', (size_t)(end - line - 1))) {
    const char *next = line + 1;
    bool begins = end - next >= 7 && memcmp(next, "{\"cat\" ", 7) == 0;
    bool close =
        end - next >= 1 && *next == ']' && (end - next == 1 || next[1] == '\n' || next[1] == '\r');
    stop = line;
    if (begins || close) break;
    stop = end;
  }
  while (stop > at && (stop[-1] == ' ' || stop[-1] == '\n' || stop[-1] == '\r')) stop--;
  return stop > at && stop[-1] == ',' ? stop - 1 : stop;
}

/* An event whose name was not escaped. */
static bool read_unescaped(scanner *s, event *e) {
  static const char name_key[] = ",\"name\" :\"", args_key[] = "\",\"args\" : ";
  const char *start = s->at, *stop = event_end(s->at, s->end);
  const char *name = find(start, stop, name_key);
  const char *args = name != NULL ? find_last(name + sizeof name_key - 1, stop, args_key) : NULL;
  if (args == NULL || stop == start || stop[-1] != '}') return false;
  *e = (event){.name = {name + sizeof name_key - 1, (size_t)(args - name) - (sizeof name_key - 1)}};
  const char *end = s->end;
  s->end = name; /* what is before the name is JSON, but for the missing bracket */
  bool whole = take(s, '{') && read_members(s, e) && s->at == name;
  s->at = args + sizeof args_key - 1;
  s->end = stop - 1; /* and so is what is behind it, but for the event's own bracket */
  whole = whole && read_args(s, e) && s->at == s->end;
  s->at = stop;
  s->end = end;
  s->trace->repaired = true;
  return whole;
}

/* --- taking them ---------------------------------------------------------------------------------
 */

static bool ends_with(assay_verify_span span, const char *suffix) {
  size_t n = strlen(suffix);
  return span.n >= n && memcmp(span.at + span.n - n, suffix, n) == 0;
}

/* Up to 18 digits; -1 for any other text, or none. */
static int64_t bytes_of(assay_verify_span text) {
  int64_t value = 0;
  if (text.at == NULL || text.n == 0 || text.n > 18) return -1;
  for (size_t i = 0; i < text.n; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return -1;
    value = 10 * value + (text.at[i] - '0');
  }
  return value;
}

static bool add_kernel(scanner *s, const event *e) {
  assay_verify_trace *trace = s->trace;
  assay_verify_node *nodes =
      assay_grown(trace->nodes, &s->cap, trace->n_nodes, sizeof *nodes, NULL);
  if (nodes == NULL) {
    s->no_memory = true;
    return false;
  }
  trace->nodes = nodes;
  assay_verify_node node = {.provider = e->provider,
                            .op = e->op,
                            .name = {e->name.at, e->name.n - strlen(KERNEL_SUFFIX)},
                            .index = e->index,
                            .n_events = 1,
                            .duration_us = e->duration_us > 0 ? e->duration_us : 0,
                            .output_bytes = bytes_of(e->output_size)};
  if (node.provider.n == 0 || node.op.n == 0) return false;
  if (!make_visible(s, &node.provider) || !make_visible(s, &node.op) ||
      !make_visible(s, &node.name) || !make_visible(s, &node.index))
    return false;
  trace->nodes[trace->n_nodes++] = node;
  return true;
}

static bool take_event(scanner *s, const event *e) {
  assay_verify_trace *trace = s->trace;
  if (e->category.at == NULL || e->name.at == NULL) return false;
  if (++trace->n_events > ASSAY_VERIFY_TRACE_EVENTS_MAX) return false;
  if (e->has_pid && e->pid >= 0) { /* kernels of a device are listed under process -1 */
    if (s->any_process && e->pid != s->process) trace->one_process = false;
    if (!s->any_process) s->process = e->pid;
    s->any_process = true;
  }
  if (assay_verify_span_is(e->category, "Session")) {
    trace->n_model_runs += assay_verify_span_is(e->name, "model_run");
    trace->n_sessions += assay_verify_span_is(e->name, "session_initialization");
    return true;
  }
  bool kernel = assay_verify_span_is(e->category, "Node") && ends_with(e->name, KERNEL_SUFFIX);
  return !kernel || add_kernel(s, e);
}

static bool read_any_event(scanner *s, bool by_lines) {
  const char *start = s->at;
  event e = {0};
  if (!(take(s, '{') && read_members(s, &e) && take(s, '}'))) {
    s->at = start;
    if (s->no_memory || !by_lines || !read_unescaped(s, &e)) return false;
  }
  return take_event(s, &e);
}

static bool read_trace(scanner *s) {
  if (!take(s, '[')) return false;
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\r')) s->at++;
  bool by_lines = s->at < s->end && *s->at == '\n'; /* as the runtime writes it */
  skip_blanks(s);
  if (!take(s, ']')) {
    do {
      skip_blanks(s);
      if (by_lines && s->at < s->end && *s->at == ']') { /* behind a comma */
        s->trace->repaired = true;
        break;
      }
      if (!read_any_event(s, by_lines)) return false;
    } while (take(s, ','));
    if (!take(s, ']')) return false;
  }
  skip_blanks(s);
  return s->at == s->end;
}

/* --- grouping ------------------------------------------------------------------------------------
 */

/* As the trace hands them on. */
static int by_place(const void *a, const void *b) {
  const assay_verify_node *x = a, *y = b;
  int c = assay_verify_span_compare(x->provider, y->provider);
  if (c == 0) c = assay_verify_span_compare(x->op, y->op);
  if (c == 0) c = assay_verify_span_compare(x->name, y->name);
  return c != 0 ? c : assay_verify_span_compare(x->index, y->index);
}

/* Any order that puts equal spans beside each other: lengths are compared first. */
static int by_length(assay_verify_span a, assay_verify_span b) {
  if (a.n != b.n) return a.n < b.n ? -1 : 1;
  return a.n > 0 ? memcmp(a.at, b.at, a.n) : 0;
}

/* What tells nodes apart most comes first. */
static int by_identity(const void *a, const void *b) {
  const assay_verify_node *x = a, *y = b;
  int c = by_length(x->index, y->index);
  if (c == 0) c = by_length(x->name, y->name);
  if (c == 0) c = by_length(x->op, y->op);
  return c != 0 ? c : by_length(x->provider, y->provider);
}

static void merge_into(assay_verify_node *node, const assay_verify_node *other) {
  node->n_events += other->n_events;
  bool overflows = node->duration_us > INT64_MAX - other->duration_us;
  node->duration_us = overflows ? INT64_MAX : node->duration_us + other->duration_us;
  int64_t a = node->output_bytes, b = other->output_bytes;
  node->output_bytes = a < 0 || b < 0 ? -1 : a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* From one entry an event to one a node. */
static void group_nodes(assay_verify_trace *trace) {
  size_t n = 0;
  if (trace->n_nodes == 0) return;
  qsort(trace->nodes, trace->n_nodes, sizeof *trace->nodes, by_identity);
  for (size_t i = 1; i < trace->n_nodes; i++) {
    if (by_identity(&trace->nodes[n], &trace->nodes[i]) == 0)
      merge_into(&trace->nodes[n], &trace->nodes[i]);
    else
      trace->nodes[++n] = trace->nodes[i];
  }
  trace->n_nodes = n + 1;
  qsort(trace->nodes, trace->n_nodes, sizeof *trace->nodes, by_place);
}

assay_status assay_verify_trace_parse(const void *bytes, size_t size_bytes, assay_verify_trace *out,
                                      assay_error *err) {
  static const char nothing[1] = "";
  const char *text = size_bytes > 0 ? bytes : nothing;
  assay_verify_trace trace = {.one_process = true};
  scanner s = {.at = text, .end = text + size_bytes, .trace = &trace};
  if (!read_trace(&s)) {
    size_t at = (size_t)(s.at - text);
    assay_verify_trace_reset(&trace);
    if (s.no_memory) return assay_fail_memory(err, size_bytes);
    return assay_fail(err, ASSAY_E_FORMAT, "not a whole profile: it cannot be read at byte %zu",
                      at);
  }
  group_nodes(&trace);
  *out = trace;
  return ASSAY_OK;
}

void assay_verify_trace_reset(assay_verify_trace *trace) {
  for (size_t i = 0; i < trace->n_texts; i++) assay_free(trace->texts[i]);
  assay_free(trace->texts);
  assay_free(trace->nodes);
  *trace = (assay_verify_trace){0};
}
