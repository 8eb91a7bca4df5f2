#include "fusion/gpu_csv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fusion/gpu_list.h"

typedef enum column {
  COLUMN_NAME,
  COLUMN_COUNT,
  COLUMN_TOTAL,
  COLUMN_PERCENT,
  COLUMN_BEGIN,
  COLUMN_END,
  COLUMN_DISPATCH,
  COLUMN_PROCESS,
  COLUMN_KIND,
  COLUMN_GRID, /* only a trace of kernels has it, among those of nsys */
  N_COLUMNS,
} column;

/* As the versions spell them; case does not matter, and what ends in a parenthesis goes on with a
 * unit, which the user may choose. Names of both tools say nothing about whose list it is: AUTO. */
static const struct {
  column column;
  assay_fusion_kind kind;
  const char *name;
} spellings[] = {
    {COLUMN_NAME, ASSAY_FUSION_AUTO, "Name"},
    {COLUMN_NAME, ASSAY_FUSION_ROCPROF, "Kernel_Name"},
    {COLUMN_COUNT, ASSAY_FUSION_NSYS, "Instances"},
    {COLUMN_COUNT, ASSAY_FUSION_ROCPROF, "Calls"},
    {COLUMN_TOTAL, ASSAY_FUSION_NSYS, "Total Time ("},
    {COLUMN_TOTAL, ASSAY_FUSION_ROCPROF, "TotalDurationNs"},
    {COLUMN_PERCENT, ASSAY_FUSION_NSYS, "Time (%)"},
    {COLUMN_PERCENT, ASSAY_FUSION_NSYS, "Time(%)"},
    {COLUMN_PERCENT, ASSAY_FUSION_ROCPROF, "Percentage"},
    {COLUMN_GRID, ASSAY_FUSION_NSYS, "GrdX"},
    {COLUMN_BEGIN, ASSAY_FUSION_ROCPROF, "Start_Timestamp"},
    {COLUMN_END, ASSAY_FUSION_ROCPROF, "End_Timestamp"},
    {COLUMN_DISPATCH, ASSAY_FUSION_ROCPROF, "Dispatch_Id"},
    {COLUMN_PROCESS, ASSAY_FUSION_AUTO, "Pid"},
    {COLUMN_PROCESS, ASSAY_FUSION_ROCPROF, "Process_Id"},
    {COLUMN_PROCESS, ASSAY_FUSION_ROCPROF, "Guid"},
    {COLUMN_KIND, ASSAY_FUSION_ROCPROF, "Kind"},
};

typedef struct header {
  size_t at[N_COLUMNS]; /* field number; NONE: not there */
  size_t n_fields;
  char separator;
  assay_fusion_kind kind;
} header;
#define NONE ((size_t)-1)

bool assay_csv_split(assay_text_span line, char separator, assay_text_span *out, size_t *out_n) {
  const char ends[] = {separator, '\0'};
  size_t at = 0, n = 0;
  *out_n = 0;
  for (;;) {
    if (n == ASSAY_CSV_FIELDS_MAX) return false;
    if (at < line.n && line.text[at] == '"') {
      size_t to = at + 1;
      while (to < line.n && (line.text[to] != '"' || (to + 1 < line.n && line.text[to + 1] == '"')))
        to += line.text[to] == '"' ? 2 : 1;
      if (to >= line.n) return false;
      out[n++] = assay_span_cut(line, at + 1, to);
      at = to + 1;
      if (at < line.n && line.text[at] != separator) return false;
    } else {
      size_t to = assay_span_find(line, ends, at);
      out[n++] = assay_span_trim(assay_span_cut(line, at, to));
      at = to;
    }
    if (at >= line.n) break;
    at++; /* the separator */
  }
  *out_n = n;
  return true;
}

static bool is_word(assay_text_span field, const char *word) {
  const size_t n = strlen(word);
  if (n > 0 && word[n - 1] == '(') field = assay_span_cut(field, 0, n); /* and a unit */
  if (field.n != n) return false;
  for (size_t i = 0; i < field.n; i++)
    if (tolower((unsigned char)field.text[i]) != tolower((unsigned char)word[i])) return false;
  return true;
}

static bool parse_header_of(assay_text_span line, char separator, header *out) {
  assay_text_span fields[ASSAY_CSV_FIELDS_MAX];
  *out = (header){.kind = ASSAY_FUSION_NSYS, .separator = separator};
  for (int c = 0; c < N_COLUMNS; c++) out->at[c] = NONE;
  if (!assay_csv_split(line, separator, fields, &out->n_fields) || out->n_fields < 3) return false;
  for (size_t i = 0; i < out->n_fields; i++)
    for (size_t s = 0; s < sizeof spellings / sizeof *spellings; s++) {
      if (out->at[spellings[s].column] != NONE || !is_word(fields[i], spellings[s].name)) continue;
      out->at[spellings[s].column] = i;
      if (spellings[s].kind != ASSAY_FUSION_AUTO) out->kind = spellings[s].kind;
    }
  return out->at[COLUMN_NAME] != NONE &&
         (out->at[COLUMN_COUNT] != NONE || out->at[COLUMN_BEGIN] != NONE ||
          out->at[COLUMN_GRID] != NONE);
}

/* A list of kernels has their names, and either counts, times of beginning or grids. It may be
 * separated by tabs (nsys stats --format tsv), or by what a spreadsheet takes for a comma. */
static bool parse_header(assay_text_span line, header *out) {
  return parse_header_of(line, ',', out) || parse_header_of(line, '\t', out) ||
         parse_header_of(line, ';', out);
}

assay_fusion_kind assay_gpu_csv_kind(const void *bytes, size_t size_bytes) {
  assay_log_lines lines = assay_log_lines_of(bytes, size_bytes);
  assay_log_line line;
  header h;
  while (assay_log_lines_next(&lines, &line))
    if (line.text.n < 4096 && parse_header(line.text, &h)) return h.kind;
  return ASSAY_FUSION_AUTO;
}

static bool take_int(const header *h, const assay_text_span *fields, column c, int64_t *out) {
  return h->at[c] == NONE || assay_span_int(fields[h->at[c]], out);
}

static bool take_real(const header *h, const assay_text_span *fields, column c, double *out) {
  char text[64];
  if (h->at[c] == NONE) return true;
  if (fields[h->at[c]].n >= sizeof text) return false;
  assay_span_copy(fields[h->at[c]], text, sizeof text);
  return !assay_text_parse_real(text, "a number", 0, 1e300, out, NULL);
}

static bool parse_row(const header *h, assay_text_span line, assay_gpu_row *out, bool *is_other) {
  assay_text_span fields[ASSAY_CSV_FIELDS_MAX];
  size_t n;
  if (!assay_csv_split(line, h->separator, fields, &n) || n != h->n_fields) return false;
  out->name = fields[h->at[COLUMN_NAME]];
  if (h->at[COLUMN_PROCESS] != NONE) out->process = fields[h->at[COLUMN_PROCESS]];
  *is_other = h->at[COLUMN_KIND] != NONE && !is_word(fields[h->at[COLUMN_KIND]], "KERNEL_DISPATCH");
  return take_int(h, fields, COLUMN_COUNT, &out->n) &&
         take_int(h, fields, COLUMN_DISPATCH, &out->dispatch) &&
         take_int(h, fields, COLUMN_BEGIN, &out->begin_ns) &&
         take_int(h, fields, COLUMN_END, &out->end_ns) &&
         take_real(h, fields, COLUMN_PERCENT, &out->percent) &&
         take_real(h, fields, COLUMN_TOTAL, &out->total_ns);
}

/* cuda_gpu_trace lists copies too: they have names in brackets. */
static bool is_memory_operation(assay_text_span name) {
  return assay_span_begins(name, "[CUDA mem");
}

static assay_gpu_row empty_row(assay_log_line line) {
  return (assay_gpu_row){.n = 1,
                         .dispatch = -1,
                         .begin_ns = -1,
                         .end_ns = -1,
                         .percent = -1,
                         .line = line.number,
                         .excerpt = line.text};
}

static void take_row(assay_gpu_list *list, const header *h, assay_log_line line) {
  assay_gpu_row row = empty_row(line);
  bool is_other = false;
  if (!line.is_ended)
    assay_gpu_list_doubt(list, &row, "a row that is cut");
  else if (!parse_row(h, line.text, &row, &is_other))
    assay_gpu_list_doubt(list, &row, "a row that is not of the header's form");
  else if (!is_other && !is_memory_operation(row.name))
    assay_gpu_list_add(list, &row);
}

/* Behind an empty line: does the list go on, or is this another report? */
static bool goes_on(assay_gpu_list *list, const header *h, assay_log_line line) {
  assay_gpu_row row = empty_row(line);
  bool is_other;
  if (!parse_row(h, line.text, &row, &is_other)) return false;
  assay_gpu_list_doubt(list, &row, "a row behind an empty line: lines are lost, or doubled ends");
  return true;
}

void assay_gpu_csv_take(assay_fusion_work *work, const assay_fusion_file *file) {
  assay_log_lines lines = assay_log_lines_of(file->bytes, file->size_bytes);
  assay_log_line line;
  assay_gpu_list list;
  header h = {0}, again;
  bool in_table = false, was_there = false, after_gap = false;
  assay_gpu_list_begin(&list, work, file->source);
  while (!work->status && assay_log_lines_next(&lines, &line)) {
    if (line.text.n < 4096 && parse_header(line.text, &again)) {
      if (was_there)
        assay_fusion_find(work, ASSAY_FUSION_DOUBT, "process", file->source, line.number, line.text,
                          "a second list of kernels: another run's?");
      in_table = !was_there;
      was_there = true;
      after_gap = false;
      if (in_table) h = again;
    } else if (line.text.n == 0) {
      after_gap = in_table;
    } else if (in_table) {
      if (after_gap) in_table = goes_on(&list, &h, line);
      if (in_table) take_row(&list, &h, line);
      after_gap = false;
    }
  }
  assay_gpu_list_end(&list);
}
