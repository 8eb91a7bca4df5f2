/* Lines of five fields; the first line says how many there are, so that a cut file is known for
 * one. */
#include "evidence/assignment.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#define HEAD      "assay/assignment/1 "
#define NODES_MAX INT64_C(1048576)
#define N_FIELDS  5

/* Ends the line at *at with a zero, and moves *at behind it; NULL where the text ends without a new
 * line. */
static char *take_line(char **at) {
  char *line = *at, *end = strchr(line, '\n');
  if (end == NULL) return NULL;
  *end = '\0';
  *at = end + 1;
  return line;
}

static bool split(char *line, char *fields[N_FIELDS]) {
  for (int i = 0; i < N_FIELDS; ++i) {
    char *tab = strchr(line, '\t');
    fields[i] = line;
    if ((tab == NULL) != (i == N_FIELDS - 1)) return false;
    if (tab == NULL) break;
    *tab = '\0';
    line = tab + 1;
  }
  return true;
}

static assay_status take_node(char *line, assay_assigned_node *out, assay_error *err) {
  char *fields[N_FIELDS];
  int64_t part = 0;
  if (line == NULL) return assay_fail(err, ASSAY_E_FORMAT, "the list of nodes is cut");
  if (!split(line, fields) || fields[1][0] == '\0' || fields[3][0] == '\0')
    return assay_fail(err, ASSAY_E_FORMAT, "not a node of five fields");
  ASSAY_TRY(assay_text_parse_int(fields[0], "part", 0, NODES_MAX, &part, err));
  *out = (assay_assigned_node){
      .part = (size_t)part, .provider = fields[1], .op = fields[3], .name = fields[4]};
  return ASSAY_OK;
}

/* "317 nodes", or "unavailable: why". */
static assay_status take_head(const char *line, assay_assignment *out, size_t *out_n,
                              assay_error *err) {
  static const char words[] = "unavailable: ";
  char digits[32] = "";
  int64_t n = 0;
  if (line == NULL || !assay_text_has_prefix(line, HEAD))
    return assay_fail(err, ASSAY_E_FORMAT, "expected '" HEAD "…'");
  line += strlen(HEAD);
  if (assay_text_has_prefix(line, words)) {
    assay_text_printable(line + sizeof words - 1, out->reason, sizeof out->reason);
    return ASSAY_OK;
  }
  size_t n_digits = strspn(line, "0123456789");
  if (n_digits == 0 || n_digits >= sizeof digits || strcmp(line + n_digits, " nodes") != 0)
    return assay_fail(err, ASSAY_E_FORMAT, "expected a number of nodes");
  memcpy(digits, line, n_digits);
  ASSAY_TRY(assay_text_parse_int(digits, "nodes", 0, NODES_MAX, &n, err));
  out->known = true;
  *out_n = (size_t)n;
  return ASSAY_OK;
}

static assay_status take_all(assay_assignment *a, size_t size_bytes, assay_error *err) {
  char *at = a->text, *end = a->text + size_bytes;
  size_t n = 0;
  ASSAY_TRY(take_head(take_line(&at), a, &n, err));
  if (n > size_bytes) return assay_fail(err, ASSAY_E_FORMAT, "the list of nodes is cut");
  a->nodes = assay_alloc_array(n > 0 ? n : 1, sizeof *a->nodes);
  if (a->nodes == NULL) return assay_fail_memory(err, n * sizeof *a->nodes);
  for (; a->n_nodes < n; ++a->n_nodes) {
    assay_status st = take_node(take_line(&at), &a->nodes[a->n_nodes], err);
    if (st) {
      assay_error_in(err, "line %zu", a->n_nodes + 2);
      return st;
    }
  }
  return at == end ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "more lines than the %zu nodes", n);
}

assay_status assay_assignment_parse(const void *bytes, size_t size_bytes, assay_assignment *out,
                                    assay_error *err) {
  assay_assignment a = {0};
  if (size_bytes > 0 && memchr(bytes, '\0', size_bytes) != NULL)
    return assay_fail(err, ASSAY_E_FORMAT, "not a text");
  a.text = assay_alloc_array(size_bytes + 1, 1); /* zeroed behind */
  if (a.text == NULL) return assay_fail_memory(err, size_bytes + 1);
  if (size_bytes > 0) memcpy(a.text, bytes, size_bytes);
  assay_status st = take_all(&a, size_bytes, err);
  if (st) {
    assay_assignment_reset(&a);
    return st;
  }
  *out = a;
  return ASSAY_OK;
}

assay_status assay_assignment_read(const char *path, assay_assignment *out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st = assay_assignment_parse(map.data, map.size_bytes, out, err);
  assay_file_map_close(&map);
  return st;
}

void assay_assignment_reset(assay_assignment *assignment) {
  assay_free(assignment->nodes);
  assay_free(assignment->text);
  *assignment = (assay_assignment){0};
}
