/* Reading profiles. Strict JSON first; where that fails, or the file is large, line by line: each
 * event is JSON by itself, or has a name that was not escaped, or the file is refused.
 *
 * Source: profiles written by ONNX Runtime 1.16 to 1.32. A kernel's event has "cat":"Node", a name
 * that ends in "_kernel_time", and args.op_name, args.provider and args.node_index as strings; up
 * to 1.20 there are events named "_fence_before" and "_fence_after" around it, which say nothing of
 * placement. */
#include "evidence/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define DOCUMENT_MAX_BYTES                                                                         \
  ((size_t)8 << 20)                       /* above this the file is never held as one document     \
                                           */
#define EVENT_MAX_BYTES ((size_t)1 << 20) /* of one event, with its shapes */
#define NODES_MAX       ((size_t)1 << 20)
#define KERNEL_SUFFIX   "_kernel_time"
#define SIZE_DIGITS_MAX 18 /* fits int64_t */

/* --- nodes --------------------------------------------------------------------------------------
 */

/* The profile being read, and a hash index into its nodes. */
typedef struct reader {
  assay_profile *profile;
  size_t cap;      /* nodes allocated */
  uint32_t *slots; /* [n_slots], index + 1 of a node or 0; n_slots is a power of two or 0 */
  size_t n_slots;
  bool any_process; /* `process` is set */
  int64_t process;
} reader;

/* FNV-1a over the text and its final zero. */
static uint64_t hash_text(uint64_t hash, const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  do hash = (hash ^ *p) * 0x100000001b3u;
  while (*p++ != '\0');
  return hash;
}

static uint64_t hash_node(const assay_profile_node *node) {
  uint64_t hash = 0xcbf29ce484222325u;
  hash = hash_text(hash, node->provider);
  hash = hash_text(hash, node->op);
  hash = hash_text(hash, node->name);
  return hash_text(hash, node->index);
}

static bool same_node(const assay_profile_node *a, const assay_profile_node *b) {
  return strcmp(a->provider, b->provider) == 0 && strcmp(a->op, b->op) == 0 &&
         strcmp(a->name, b->name) == 0 && strcmp(a->index, b->index) == 0;
}

/* The slot of node, or the free one where it belongs. */
static size_t find_slot(const reader *r, const assay_profile_node *node) {
  size_t i = (size_t)hash_node(node) & (r->n_slots - 1);
  while (r->slots[i] != 0 && !same_node(&r->profile->nodes[r->slots[i] - 1], node))
    i = (i + 1) & (r->n_slots - 1);
  return i;
}

static assay_status grow(reader *r, assay_error *err) {
  size_t cap = r->cap > 0 ? 2 * r->cap : 64;
  if (cap > NODES_MAX)
    return assay_fail(err, ASSAY_E_FORMAT, "more than %zu different nodes", NODES_MAX);
  void *nodes = r->profile->nodes;
  ASSAY_TRY(assay_resize(&nodes, r->cap * sizeof *r->profile->nodes,
                         cap * sizeof *r->profile->nodes, err));
  r->profile->nodes = nodes;
  r->cap = cap;
  uint32_t *slots = assay_alloc_array(2 * cap, sizeof *slots);
  if (slots == NULL) return assay_fail_memory(err, 2 * cap * sizeof *slots);
  assay_free(r->slots);
  r->slots = slots;
  r->n_slots = 2 * cap;
  for (size_t i = 0; i < r->profile->n_nodes; ++i)
    r->slots[find_slot(r, &r->profile->nodes[i])] = (uint32_t)(i + 1);
  return ASSAY_OK;
}

static void release_node(assay_profile_node *node) {
  assay_free(node->provider);
  assay_free(node->op);
  assay_free(node->name);
  assay_free(node->index);
  *node = (assay_profile_node){0};
}

/* An owned copy of the four texts of *key. */
static assay_status copy_node(const assay_profile_node *key, assay_profile_node *out,
                              assay_error *err) {
  *out = (assay_profile_node){.provider = assay_strdup(key->provider),
                              .op = assay_strdup(key->op),
                              .name = assay_strdup(key->name),
                              .index = assay_strdup(key->index)};
  if (out->provider != NULL && out->op != NULL && out->name != NULL && out->index != NULL)
    return ASSAY_OK;
  release_node(out);
  return assay_fail_memory(err, sizeof *out);
}

static int64_t add_saturating(int64_t a, int64_t b) {
  return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* args.output_size, digits as text; -1 where it is anything else. */
static int64_t output_bytes_of(const assay_json *args) {
  const char *text = assay_json_string(assay_json_get(args, "output_size"));
  size_t n = text != NULL ? strspn(text, "0123456789") : 0;
  if (n == 0 || n > SIZE_DIGITS_MAX || text[n] != '\0') return -1;
  return (int64_t)strtoll(text, NULL, 10);
}

/* Counts one execution of the node that key names (its texts are borrowed). */
static assay_status count_kernel(reader *r, const assay_profile_node *key, int64_t duration_us,
                                 int64_t output_bytes, assay_error *err) {
  if (r->profile->n_nodes == r->cap) ASSAY_TRY(grow(r, err));
  size_t slot = find_slot(r, key);
  if (r->slots[slot] == 0) {
    ASSAY_TRY(copy_node(key, &r->profile->nodes[r->profile->n_nodes], err));
    r->slots[slot] = (uint32_t)++r->profile->n_nodes;
  }
  assay_profile_node *node = &r->profile->nodes[r->slots[slot] - 1];
  ++node->n_events;
  node->duration_us = add_saturating(node->duration_us, duration_us > 0 ? duration_us : 0);
  node->output_bytes = output_bytes < 0 || node->output_bytes < 0
                           ? -1
                           : add_saturating(node->output_bytes, output_bytes);
  return ASSAY_OK;
}

/* --- events -------------------------------------------------------------------------------------
 */

char *assay_profile_escape(const char *text, size_t size_bytes) {
  static const char digits[] = "0123456789abcdef";
  char *out = assay_alloc_array(size_bytes + 1, 4);
  if (out == NULL) return NULL;
  size_t at = 0;
  for (size_t i = 0; i < size_bytes; ++i) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c != 0x7f) {
      out[at++] = (char)c;
      continue;
    }
    out[at++] = '\\';
    out[at++] = 'x';
    out[at++] = digits[c >> 4];
    out[at++] = digits[c & 15];
  }
  return out; /* zeroed behind */
}

/* Names are handed on as they are in the node, that is unescaped, with their length. */
typedef struct event {
  const char *category;
  const char *name;
  size_t name_bytes;
  const assay_json *head; /* object with pid and dur */
  const assay_json *args; /* object, or NULL */
} event;

static bool ends_with(const char *text, size_t size_bytes, const char *suffix) {
  size_t n = strlen(suffix);
  return size_bytes >= n && memcmp(text + size_bytes - n, suffix, n) == 0;
}

static bool equals(const event *e, const char *name) {
  return e->name_bytes == strlen(name) && memcmp(e->name, name, e->name_bytes) == 0;
}

static assay_status take_kernel(reader *r, const event *e, assay_error *err) {
  const char *op = assay_json_string(assay_json_get(e->args, "op_name"));
  const char *provider = assay_json_string(assay_json_get(e->args, "provider"));
  const char *index = assay_json_string(assay_json_get(e->args, "node_index"));
  if (op == NULL || provider == NULL || op[0] == '\0' || provider[0] == '\0')
    return assay_fail(err, ASSAY_E_FORMAT, "a kernel without operator or provider");
  char *name = assay_profile_escape(e->name, e->name_bytes - strlen(KERNEL_SUFFIX));
  char *safe_op = assay_profile_escape(op, strlen(op));
  char *safe_provider = assay_profile_escape(provider, strlen(provider));
  char none[] = "";
  char *safe_index = index != NULL ? assay_profile_escape(index, strlen(index)) : none;
  assay_status st = ASSAY_OK;
  if (name == NULL || safe_op == NULL || safe_provider == NULL || safe_index == NULL)
    st = assay_fail_memory(err, e->name_bytes);
  assay_profile_node key = {
      .provider = safe_provider, .op = safe_op, .name = name, .index = safe_index};
  if (!st)
    st = count_kernel(r, &key, assay_json_int(assay_json_get(e->head, "dur")),
                      output_bytes_of(e->args), err);
  assay_free(name);
  assay_free(safe_op);
  assay_free(safe_provider);
  if (safe_index != none) assay_free(safe_index);
  return st;
}

/* GPU kernels and programs are listed under process -1. */
static void take_process(reader *r, const event *e) {
  const assay_json *pid = assay_json_get(e->head, "pid");
  if (assay_json_kind_of(pid) != ASSAY_JSON_INT || assay_json_int(pid) < 0) return;
  if (!r->any_process) r->process = assay_json_int(pid);
  if (assay_json_int(pid) != r->process) r->profile->one_process = false;
  r->any_process = true;
}

static assay_status take_event(reader *r, const event *e, assay_error *err) {
  if (++r->profile->n_events > ASSAY_PROFILE_EVENTS_MAX)
    return assay_fail(err, ASSAY_E_FORMAT, "more than the %d events that a runtime records",
                      ASSAY_PROFILE_EVENTS_MAX);
  take_process(r, e);
  if (strcmp(e->category, "Session") == 0) {
    r->profile->n_model_runs += equals(e, "model_run");
    r->profile->n_sessions += equals(e, "session_initialization");
  } else if (strcmp(e->category, "Node") == 0 && ends_with(e->name, e->name_bytes, KERNEL_SUFFIX)) {
    return take_kernel(r, e, err);
  }
  return ASSAY_OK;
}

static assay_status take_json_event(reader *r, const assay_json *object, assay_error *err) {
  const char *category = assay_json_string(assay_json_get(object, "cat"));
  const char *name = assay_json_string(assay_json_get(object, "name"));
  if (category == NULL || name == NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "an event without category or name");
  event e = {.category = category,
             .name = name,
             .name_bytes = strlen(name),
             .head = object,
             .args = assay_json_get(object, "args")};
  return take_event(r, &e, err);
}

/* --- one document -------------------------------------------------------------------------------
 */

static assay_status take_document(reader *r, const assay_json *root, assay_error *err) {
  if (assay_json_kind_of(root) != ASSAY_JSON_ARRAY)
    return assay_fail(err, ASSAY_E_FORMAT, "not a profile: expected an array of events, found %s",
                      assay_json_kind_name(assay_json_kind_of(root)));
  for (size_t i = 0; i < assay_json_len(root); ++i) {
    assay_status st = take_json_event(r, assay_json_at(root, i), err);
    if (st) {
      assay_error_in(err, "event %zu", i + 1);
      return st;
    }
  }
  return ASSAY_OK;
}

/* --- line by line -------------------------------------------------------------------------------
 */

/* A position in the text. */
typedef struct cursor {
  const char *at, *end;
  size_t line; /* 1-based number of the line at `at` */
} cursor;

/* The next line without blanks around it; moves on. */
static bool next_line(cursor *c, const char **out, size_t *out_bytes) {
  if (c->at == c->end) return false;
  const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
  const char *next = end != NULL ? end + 1 : c->end;
  const char *stop = end != NULL ? end : c->end;
  const char *start = c->at;
  while (start < stop && isspace((unsigned char)*start)) ++start;
  while (stop > start && isspace((unsigned char)stop[-1])) --stop;
  *out = start;
  *out_bytes = (size_t)(stop - start);
  c->at = next;
  ++c->line;
  return true;
}

static bool line_is(const char *line, size_t line_bytes, const char *text) {
  return line_bytes == strlen(text) && memcmp(line, text, line_bytes) == 0;
}

static bool begins_with(const char *line, size_t line_bytes, const char *prefix) {
  size_t n = strlen(prefix);
  return line_bytes >= n && memcmp(line, prefix, n) == 0;
}

/* Last place of part in text, or NULL. */
static const char *find_last(const char *text, size_t text_bytes, const char *part) {
  size_t n = strlen(part);
  for (size_t i = text_bytes >= n ? text_bytes - n + 1 : 0; i > 0; --i)
    if (memcmp(text + i - 1, part, n) == 0) return text + i - 1;
  return NULL;
}

static const char *find_first(const char *text, size_t text_bytes, const char *part) {
  size_t n = strlen(part);
  for (size_t i = 0; i + n <= text_bytes; ++i)
    if (memcmp(text + i, part, n) == 0) return text + i;
  return NULL;
}

static bool needs_escaping(const char *from, const char *to) {
  for (; from < to; ++from)
    if (*from == '"' || *from == '\\' || (unsigned char)*from < 0x20 ||
        (unsigned char)*from >= 0x7f)
      return true;
  return false;
}

/* An event whose name was not escaped: the name reaches from its key to the last place where args
 * could begin, and what is before and behind it must be JSON. */
static assay_status take_unescaped(reader *r, const char *text, size_t text_bytes,
                                   assay_error *err) {
  static const char name_key[] = ",\"name\" :\"", args_key[] = "\",\"args\" : {";
  const char *name = find_first(text, text_bytes, name_key);
  const char *args = find_last(text, text_bytes, args_key);
  if (name == NULL || args == NULL || args < name + sizeof name_key - 1 ||
      text[text_bytes - 1] != '}' || !needs_escaping(name + sizeof name_key - 1, args))
    return assay_fail(err, ASSAY_E_FORMAT, "an event that cannot be read");
  assay_buf head_text = {0};
  assay_json *head = NULL, *args_object = NULL;
  const char *args_text = args + sizeof args_key - 2;              /* from its brace */
  size_t args_bytes = (size_t)(text + text_bytes - args_text) - 1; /* without the event's own */
  assay_status st = assay_buf_append(&head_text, text, (size_t)(name - text), err);
  if (!st) st = assay_buf_append_text(&head_text, "}", err);
  if (!st) st = assay_json_parse(head_text.data, head_text.size_bytes, &head, err);
  if (!st) st = assay_json_parse(args_text, args_bytes, &args_object, err);
  const char *category = head != NULL ? assay_json_string(assay_json_get(head, "cat")) : NULL;
  if (!st && category == NULL) st = assay_fail(err, ASSAY_E_FORMAT, "an event without category");
  if (!st) {
    name += sizeof name_key - 1;
    event e = {.category = category,
               .name = name,
               .name_bytes = (size_t)(args - name),
               .head = head,
               .args = args_object};
    r->profile->repaired = true;
    st = take_event(r, &e, err);
  }
  assay_json_destroy(head);
  assay_json_destroy(args_object);
  assay_buf_reset(&head_text);
  return st;
}

/* A name with a new line in it goes on in the next one: joins lines until one can end an event. */
static void join_lines(cursor *c, const char *start, size_t *bytes) {
  cursor ahead = *c;
  const char *line;
  size_t line_bytes;
  while (!ends_with(start, *bytes, "}}") && !ends_with(start, *bytes, "}},") &&
         *bytes <= EVENT_MAX_BYTES && next_line(&ahead, &line, &line_bytes)) {
    if (begins_with(line, line_bytes, "{\"cat\" ") || line_is(line, line_bytes, "]")) return;
    *bytes = (size_t)(line + line_bytes - start);
    *c = ahead;
  }
}

/* The event that begins with the line of *bytes bytes at start: JSON by itself, or the one that is
 * unescaped. Moves on over further lines of it; *out_comma says whether one is behind it. */
static assay_status take_event_at(reader *r, cursor *c, const char *start, size_t bytes,
                                  bool *out_comma, assay_error *err) {
  if (bytes > EVENT_MAX_BYTES)
    return assay_fail(err, ASSAY_E_FORMAT, "an event of more than %zu bytes", EVENT_MAX_BYTES);
  *out_comma = start[bytes - 1] == ',';
  assay_json *object = NULL;
  assay_status st = assay_json_parse(start, bytes - *out_comma, &object, NULL);
  if (st == ASSAY_E_MEMORY) return assay_fail_memory(err, bytes);
  if (st) {
    join_lines(c, start, &bytes);
    *out_comma = start[bytes - 1] == ',';
    return take_unescaped(r, start, bytes - *out_comma, err);
  }
  st = take_json_event(r, object, err);
  assay_json_destroy(object);
  return st;
}

static assay_status take_lines(reader *r, cursor *c, assay_error *err) {
  const char *line;
  size_t n;
  bool comma = true; /* behind the event before */
  while (next_line(c, &line, &n)) {
    if (n == 0) continue;
    if (line_is(line, n, "]")) {
      if (comma && r->profile->n_events > 0) r->profile->repaired = true;
      return ASSAY_OK;
    }
    if (line[0] != '{') return assay_fail(err, ASSAY_E_FORMAT, "expected an event or ']'");
    if (!comma) return assay_fail(err, ASSAY_E_FORMAT, "no comma behind the event before");
    ASSAY_TRY(take_event_at(r, c, line, n, &comma, err));
  }
  return assay_fail(err, ASSAY_E_FORMAT, "the profile is cut: it ends after %zu events without ']'",
                    r->profile->n_events);
}

static assay_status take_text(reader *r, const char *text, size_t size_bytes, assay_error *err) {
  cursor c = {.at = text, .end = text + size_bytes, .line = 1};
  const char *line = NULL;
  size_t n = 0;
  while (next_line(&c, &line, &n) && n == 0) continue;
  if (!line_is(line, n, "["))
    return assay_fail(err, ASSAY_E_FORMAT, "not a profile: expected '[' in line %zu", c.line - 1);
  assay_status st = take_lines(r, &c, err);
  if (st == ASSAY_E_FORMAT) assay_error_in(err, "line %zu", c.line - 1);
  if (st) return st;
  while (next_line(&c, &line, &n))
    if (n > 0)
      return assay_fail(err, ASSAY_E_FORMAT, "line %zu: something follows the end of the profile",
                        c.line - 1);
  return ASSAY_OK;
}

/* --- the file -----------------------------------------------------------------------------------
 */

static assay_status parse_into(reader *r, const void *bytes, size_t size_bytes, assay_error *err) {
  if (size_bytes == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "the profile is empty: the session did not end it");
  if (size_bytes <= DOCUMENT_MAX_BYTES) {
    assay_json *root = NULL;
    assay_error why = {0};
    assay_status st = assay_json_parse(bytes, size_bytes, &root, &why);
    if (st == ASSAY_OK)
      st = take_document(r, root, err);
    else if (st == ASSAY_E_MEMORY)
      st = assay_fail_memory(err, size_bytes);
    else if (st == ASSAY_E_LIMIT) /* JSON, and no profile: theirs are shallow */
      st = assay_fail(err, ASSAY_E_FORMAT, "not a profile: %s", why.text);
    else
      st = take_text(r, bytes, size_bytes, err);
    assay_json_destroy(root);
    return st;
  }
  return take_text(r, bytes, size_bytes, err);
}

assay_status assay_profile_parse(const void *bytes, size_t size_bytes, assay_profile *out,
                                 assay_error *err) {
  assay_profile profile = {.one_process = true};
  reader r = {.profile = &profile};
  assay_status st = parse_into(&r, bytes, size_bytes, err);
  assay_free(r.slots);
  if (st) {
    assay_profile_reset(&profile);
    return st;
  }
  *out = profile;
  return ASSAY_OK;
}

assay_status assay_profile_read(const char *path, assay_profile *out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st = assay_profile_parse(map.data, map.size_bytes, out, err);
  assay_file_map_close(&map);
  return st;
}

void assay_profile_reset(assay_profile *profile) {
  for (size_t i = 0; i < profile->n_nodes; ++i) release_node(&profile->nodes[i]);
  assay_free(profile->nodes);
  *profile = (assay_profile){0};
}
