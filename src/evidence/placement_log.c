/* The section "Node placements" of a verbose log. Source: logs of ONNX Runtime 1.16 to 1.32,
 * function VerifyEachNodeIsAssignedToAnEp; the text has been the same throughout. */
#include "evidence/placement_log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

#define NODES_MAX     ((size_t)1 << 20)
#define MESSAGE_MAX   4096 /* bytes of a placement message: an operator and a node name */
#define PLACING_MARK  " VerifyEachNodeIsAssignedToAnEp] "
#define DROPPED_WORDS "Maximum number of events reached"

/* The message of a placement record in out; false for any other line. A name that is longer than
 * out is cut, and then agrees with nothing. */
static bool placement_message(const char *line, size_t line_bytes, char *out) {
  size_t mark_bytes = strlen(PLACING_MARK);
  if (line_bytes == 0 || line[0] != '[') return false;
  for (size_t i = 0; i + 1 < line_bytes; ++i) {
    if (line[i] != ']' || line[i + 1] != ' ') continue;
    size_t end = i + 2; /* the first "] " ends the head of the record */
    if (end < mark_bytes || memcmp(line + end - mark_bytes, PLACING_MARK, mark_bytes) != 0)
      return false;
    size_t n = line_bytes - end < MESSAGE_MAX - 1 ? line_bytes - end : MESSAGE_MAX - 1;
    memcpy(out, line + end, n);
    out[n] = '\0';
    return true;
  }
  return false;
}

static bool line_holds(const char *line, size_t line_bytes, const char *part) {
  size_t n = strlen(part);
  for (size_t i = 0; i + n <= line_bytes; ++i)
    if (line[i] == part[0] && memcmp(line + i, part, n) == 0) return true;
  return false;
}

/* The log being read. */
typedef struct reader {
  assay_placement_log *log;
  size_t cap;    /* nodes allocated */
  size_t n_left; /* lines of the list that are still to come */
} reader;

static assay_status add_count(reader *r, const char *provider, size_t n_nodes, assay_error *err) {
  void *counts = r->log->counts;
  size_t old_bytes = r->log->n_counts * sizeof *r->log->counts;
  ASSAY_TRY(assay_resize(&counts, old_bytes, old_bytes + sizeof *r->log->counts, err));
  r->log->counts = counts;
  char *copy = assay_strdup(provider);
  if (copy == NULL) return assay_fail_memory(err, strlen(provider) + 1);
  r->log->counts[r->log->n_counts++] = (assay_placed_count){.provider = copy, .n_nodes = n_nodes};
  return ASSAY_OK;
}

/* "  MatMul (/layer/MatMul)": to the first " (", and to the last ")". */
static assay_status take_node(reader *r, const char *message, assay_error *err) {
  const char *op = message + 2;
  const char *open = strstr(op, " (");
  size_t n = strlen(op);
  if (r->n_left == 0 || open == NULL || op[n - 1] != ')')
    return assay_fail(err, ASSAY_E_FORMAT, "the list of placed nodes does not fit its count");
  const char *provider = r->log->counts[r->log->n_counts - 1].provider;
  assay_placed_node *nodes =
      assay_grown(r->log->nodes, &r->cap, r->log->n_nodes, sizeof *nodes, err);
  if (nodes == NULL) return ASSAY_E_MEMORY;
  r->log->nodes = nodes;
  assay_placed_node node = {.provider = assay_strdup(provider),
                            .op = assay_strndup(op, (size_t)(open - op)),
                            .name = assay_strndup(open + 2, (size_t)(op + n - 1 - (open + 2)))};
  r->log->nodes[r->log->n_nodes++] = node; /* released with the rest, whatever comes */
  --r->n_left;
  if (node.provider == NULL || node.op == NULL || node.name == NULL)
    return assay_fail_memory(err, n);
  return ASSAY_OK;
}

/* " All nodes placed on [P]. Number of nodes: 12", or " Node(s) placed on [P]. …" with a list
 * behind it. */
static assay_status take_provider(reader *r, const char *message, bool has_list, assay_error *err) {
  char provider[256];
  unsigned long n = 0;
  const char *open = strchr(message, '[');
  if (open == NULL || sscanf(open, "[%255[^]]]. Number of nodes: %7lu", provider, &n) != 2 ||
      n > NODES_MAX)
    return assay_fail(err, ASSAY_E_FORMAT, "a placement without provider or count");
  if (r->n_left != 0 || assay_placement_log_count(r->log, provider) != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "the list of placed nodes is cut");
  r->n_left = has_list ? (size_t)n : 0;
  return add_count(r, provider, (size_t)n, err);
}

static assay_status take_message(reader *r, const char *message, assay_error *err) {
  static const char all[] = " All nodes placed on [", some[] = " Node(s) placed on [";
  if (strcmp(message, "Node placements") == 0) {
    if (++r->log->n_sections > 1)
      return assay_fail(err, ASSAY_E_FORMAT, "the log holds the placements of several sessions");
    return ASSAY_OK;
  }
  bool is_all = strncmp(message, all, sizeof all - 1) == 0;
  bool is_some = strncmp(message, some, sizeof some - 1) == 0;
  bool is_node = strncmp(message, "  ", 2) == 0;
  if ((is_all || is_some || is_node) && r->log->n_sections == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "the beginning of the placements is missing");
  if (is_all || is_some) return take_provider(r, message, is_some, err);
  if (is_node && r->log->n_counts == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "a placed node before any provider");
  return is_node ? take_node(r, message, err) : ASSAY_OK;
}

static assay_status take_lines(reader *r, const char *text, size_t size_bytes, assay_error *err) {
  char message[MESSAGE_MAX];
  if (size_bytes == 0) return ASSAY_OK; /* an empty file maps to NULL */
  const char *end = text + size_bytes;
  size_t number = 0;
  for (const char *line = text; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t n = (size_t)((stop != NULL ? stop : end) - line);
    ++number;
    if (placement_message(line, n, message)) {
      assay_status st = stop != NULL ? take_message(r, message, err)
                                     : assay_fail(err, ASSAY_E_FORMAT, "the log is cut here");
      if (st) {
        if (st == ASSAY_E_FORMAT) assay_error_in(err, "line %zu", number);
        return st;
      }
    } else if (line_holds(line, n, DROPPED_WORDS)) {
      r->log->events_were_dropped = true;
    }
    line = stop != NULL ? stop + 1 : end;
  }
  if (r->n_left > 0)
    return assay_fail(err, ASSAY_E_FORMAT, "the list of placed nodes is cut: %zu are missing",
                      r->n_left);
  return ASSAY_OK;
}

assay_status assay_placement_log_parse(const void *bytes, size_t size_bytes,
                                       assay_placement_log *out, assay_error *err) {
  assay_placement_log log = {0};
  reader r = {.log = &log};
  assay_status st = take_lines(&r, bytes, size_bytes, err);
  if (st) {
    assay_placement_log_reset(&log);
    return st;
  }
  *out = log;
  return ASSAY_OK;
}

assay_status assay_placement_log_read(const char *path, assay_placement_log *out,
                                      assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st = assay_placement_log_parse(map.data, map.size_bytes, out, err);
  assay_file_map_close(&map);
  return st;
}

size_t assay_placement_log_count(const assay_placement_log *log, const char *provider) {
  for (size_t i = 0; i < log->n_counts; ++i)
    if (strcmp(log->counts[i].provider, provider) == 0) return log->counts[i].n_nodes;
  return 0;
}

void assay_placement_log_reset(assay_placement_log *log) {
  for (size_t i = 0; i < log->n_counts; ++i) assay_free(log->counts[i].provider);
  for (size_t i = 0; i < log->n_nodes; ++i) {
    assay_free(log->nodes[i].provider);
    assay_free(log->nodes[i].op);
    assay_free(log->nodes[i].name);
  }
  assay_free(log->counts);
  assay_free(log->nodes);
  *log = (assay_placement_log){0};
}
