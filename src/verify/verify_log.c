/* Reads the section "Node placements" line by line. The text of its lines has been the same in ONNX
 * Runtime 1.16 to 1.32. */
#include "verify/verify_log.h"

#include <string.h>

#include "base/alloc.h"

#define MESSAGE_MAX 4095 /* bytes of a message that are read; a longer name agrees with nothing */
#define COUNT_MAX   ((size_t)1 << 20)

static const char writer[] = " VerifyEachNodeIsAssignedToAnEp";
static const char dropped[] = "Maximum number of events reached";

typedef struct reader {
  assay_verify_log *log;
  size_t groups_cap, nodes_cap;
  size_t n_open; /* nodes of the last group whose lines are still to come */
} reader;

static bool begins_with(assay_verify_span span, const char *text) {
  size_t n = strlen(text);
  return span.n >= n && memcmp(span.at, text, n) == 0;
}

static const char *find_in(assay_verify_span span, const char *text) {
  size_t n = strlen(text);
  for (size_t i = 0; i + n <= span.n; i++)
    if (span.at[i] == text[0] && memcmp(span.at + i, text, n) == 0) return span.at + i;
  return NULL;
}

/* What the placing function says in a line: behind the first "] ". */
static bool placing_message(assay_verify_span line, assay_verify_span *out) {
  if (line.n == 0 || line.at[0] != '[') return false;
  const char *close = find_in(line, "] ");
  size_t n = strlen(writer);
  if (close == NULL || (size_t)(close - line.at) < n || memcmp(close - n, writer, n) != 0)
    return false;
  *out = (assay_verify_span){close + 2, (size_t)(line.at + line.n - close) - 2};
  if (out->n > MESSAGE_MAX) out->n = MESSAGE_MAX;
  return true;
}

static assay_status cut(assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "the placements in the log are cut or doubled");
}

/* " … placed on [P]. Number of nodes: 12". */
static assay_status take_group(reader *r, assay_verify_span message, bool has_list,
                               assay_error *err) {
  static const char words[] = "]. Number of nodes: ";
  assay_verify_log *log = r->log;
  const char *open = find_in(message, "["), *end = message.at + message.n;
  if (open == NULL || r->n_open > 0) return cut(err);
  assay_verify_span rest = {open + 1, (size_t)(end - open) - 1};
  const char *close = find_in(rest, "]");
  assay_verify_span behind = {close, close != NULL ? (size_t)(end - close) : 0};
  if (close == NULL || close == rest.at || !begins_with(behind, words)) return cut(err);
  assay_verify_log_group group = {.provider = {rest.at, (size_t)(close - rest.at)},
                                  .first = log->n_nodes};
  const char *digit = close + strlen(words);
  if (digit == end || *digit < '0' || *digit > '9') return cut(err);
  for (; digit < end && *digit >= '0' && *digit <= '9' && group.n_nodes <= COUNT_MAX; digit++)
    group.n_nodes = 10 * group.n_nodes + (size_t)(*digit - '0');
  if (group.n_nodes > COUNT_MAX || assay_verify_log_find(log, group.provider) != NULL)
    return cut(err);
  if (has_list) r->n_open = group.n_nodes;
  assay_verify_log_group *groups =
      assay_grown(log->groups, &r->groups_cap, log->n_groups, sizeof group, err);
  if (groups == NULL) return ASSAY_E_MEMORY;
  log->groups = groups;
  log->groups[log->n_groups++] = group;
  return ASSAY_OK;
}

/* "  MatMul (/layer/MatMul)": the name reaches to the last bracket. */
static assay_status take_node(reader *r, assay_verify_span message, assay_error *err) {
  assay_verify_log *log = r->log;
  const char *open = find_in(message, " ("), *end = message.at + message.n;
  assay_verify_span behind = {message.at + 2, message.n - 2};
  if (log->n_groups == 0 || r->n_open == 0 || end[-1] != ')') return cut(err);
  open = find_in(behind, " (");
  if (open == NULL) return cut(err);
  assay_verify_log_node *nodes =
      assay_grown(log->nodes, &r->nodes_cap, log->n_nodes, sizeof *nodes, err);
  if (nodes == NULL) return ASSAY_E_MEMORY;
  log->nodes = nodes;
  log->nodes[log->n_nodes++] = (assay_verify_log_node){
      .op = {behind.at, (size_t)(open - behind.at)}, .name = {open + 2, (size_t)(end - open) - 3}};
  log->groups[log->n_groups - 1].n_listed++;
  r->n_open--;
  return ASSAY_OK;
}

static assay_status take_message(reader *r, assay_verify_span message, assay_error *err) {
  bool all = begins_with(message, " All nodes placed on [");
  bool some = begins_with(message, " Node(s) placed on [");
  if (assay_verify_span_is(message, "Node placements")) {
    if (r->log->has_section)
      return assay_fail(err, ASSAY_E_FORMAT, "the log holds the placements of several sessions");
    r->log->has_section = true;
    return ASSAY_OK;
  }
  bool node = !all && !some && begins_with(message, "  ");
  if ((all || some || node) && !r->log->has_section) return cut(err);
  if (all || some) return take_group(r, message, some, err);
  return node ? take_node(r, message, err) : ASSAY_OK;
}

static assay_status take_lines(reader *r, const char *at, const char *end, assay_error *err) {
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    assay_verify_span line = {at, (size_t)((stop != NULL ? stop : end) - at)}, message = {0};
    if (placing_message(line, &message)) {
      if (stop == NULL) return cut(err);
      ASSAY_TRY(take_message(r, message, err));
    } else if (find_in(line, dropped) != NULL) {
      r->log->events_were_dropped = true;
    }
    at = stop != NULL ? stop + 1 : end;
  }
  return r->n_open > 0 ? cut(err) : ASSAY_OK;
}

assay_status assay_verify_log_parse(const void *bytes, size_t size_bytes, assay_verify_log *out,
                                    assay_error *err) {
  assay_verify_log log = {0};
  reader r = {.log = &log};
  const char *text = bytes;
  assay_status st = size_bytes > 0 ? take_lines(&r, text, text + size_bytes, err) : ASSAY_OK;
  if (st) {
    assay_verify_log_reset(&log);
    return st;
  }
  *out = log;
  return ASSAY_OK;
}

void assay_verify_log_reset(assay_verify_log *log) {
  assay_free(log->groups);
  assay_free(log->nodes);
  *log = (assay_verify_log){0};
}

const assay_verify_log_group *assay_verify_log_find(const assay_verify_log *log,
                                                    assay_verify_span provider) {
  for (size_t i = 0; i < log->n_groups; i++)
    if (assay_verify_span_compare(log->groups[i].provider, provider) == 0) return &log->groups[i];
  return NULL;
}
