#include "diagnose/diagnose_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "base/json.h"

#define GNUPLOT_TIMEOUT_NS INT64_C(60000000000)
#define SMALLEST           1e-9 /* drawn for zero on a logarithmic axis */

/* --- JSON ----------------------------------------------------------------------------------------
 */

static void put_block(const assay_diagnose_block *block, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "block", block->name);
  assay_json_put_bool(b, "is_there", block->is_there);
  assay_json_put_bool(b, "over", block->over);
  assay_json_put_int(b, "n_compared", block->n_compared);
  if (block->is_permutation) {
    assay_json_put_int(b, "n_differ", block->n_differ);
    assay_json_put_int(b, "n_differ_ties", block->n_differ_ties);
  } else if (block->is_there) {
    assay_json_put_int(b, "n_nonfinite", block->n_nonfinite);
    assay_json_put_number(b, "truth_rms", block->truth_rms);
    assay_json_put_number(b, "run_rms", block->run_rms);
    assay_json_put_number(b, "run_max", block->run_max);
    assay_json_put_number(b, "expected_rms", block->expected_rms);
    assay_json_put_number(b, "expected_max", block->expected_max);
    assay_json_put_number(b, "apart_rms", block->apart_rms);
    assay_json_put_number(b, "floor_rms", block->floor_rms);
    assay_json_put_number(b, "floor_max", block->floor_max);
  }
  assay_json_end(b);
}

static void put_margins(const assay_ref_margins *margins, assay_json_builder *b) {
  if (!margins->present) {
    assay_json_put_null(b, "margins");
    return;
  }
  assay_json_begin_object(b, "margins");
  assay_json_put_int(b, "key_ulp", margins->key_ulp);
  assay_json_put_int(b, "rank_ulp", margins->rank_ulp);
  assay_json_put_int(b, "n_key_ties", margins->n_key_ties);
  assay_json_put_int(b, "n_rank_ties", margins->n_rank_ties);
  assay_json_end(b);
}

static void put_case(const assay_diagnose_case *one, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "case", one->name);
  assay_json_put_string(b, "reason", one->reason);
  assay_json_put_string(b, "arithmetic", assay_diagnose_arithmetic(one)->name);
  assay_json_put_bool(b, "same_outputs", one->same_outputs);
  assay_json_put_number(b, "outputs_max_apart", one->outputs_max_apart);
  assay_json_put_string(b, "first_over",
                        one->first < one->n_blocks ? one->blocks[one->first].name : NULL);
  assay_json_begin_array(b, "causes");
  for (size_t i = 0; i < one->n_causes; i++) assay_json_put_string(b, NULL, one->causes[i]);
  assay_json_end(b);
  put_margins(&one->margins, b);
  assay_json_begin_array(b, "blocks");
  for (size_t i = 0; i < one->n_blocks; i++) put_block(&one->blocks[i], b);
  assay_json_end(b);
  assay_json_end(b);
}

void assay_diagnose_put(const assay_diagnosis *diagnosis, assay_json_builder *b) {
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/diagnosis/1");
  assay_json_put_string(b, "bundle", diagnosis->bundle);
  assay_json_put_string(b, "runtime", diagnosis->runtime);
  assay_json_put_string(b, "library_version", diagnosis->library_version);
  assay_json_put_string(b, "precision", diagnosis->precision);
  assay_json_begin_array(b, "cases");
  for (size_t i = 0; i < diagnosis->n_cases; i++) put_case(&diagnosis->cases[i], b);
  assay_json_end(b);
  assay_json_end(b);
}

/* --- plot ----------------------------------------------------------------------------------------
 */

static assay_status put_series(const assay_diagnose_case *one, bool expected, assay_buf *out,
                               assay_error *err) {
  int place = 0;
  for (size_t i = 0; i < one->n_blocks; i++) {
    const assay_diagnose_block *block = &one->blocks[i];
    if (block->is_permutation || !block->is_there) continue;
    double y = expected ? block->expected_rms : block->run_rms;
    ASSAY_TRY(
        assay_buf_appendf(out, err, "%d %.9g\n", place++, isfinite(y) ? fmax(y, SMALLEST) : 1e3));
  }
  return assay_buf_appendf(out, err, "e\n");
}

static assay_status put_script(const assay_diagnose_case *one, const char *folder, assay_buf *out,
                               assay_error *err) {
  ASSAY_TRY(assay_buf_appendf(
      out, err,
      "set terminal svg size 800,480 dynamic font 'sans,11'\nset output '%s/growth.svg'\n"
      "set logscale y\nset format y '10^{%%T}'\nset ylabel 'relative distance from FP64'\n"
      "set grid ytics\nset key bottom right\nset xtics rotate by 60 right noenhanced (",
      folder));
  int place = 0;
  for (size_t i = 0; i < one->n_blocks; i++) {
    if (one->blocks[i].is_permutation || !one->blocks[i].is_there) continue;
    ASSAY_TRY(assay_buf_appendf(out, err, "%s'%s' %d", place > 0 ? ", " : "", one->blocks[i].name,
                                place));
    place++;
  }
  ASSAY_TRY(assay_buf_appendf(
      out, err,
      ")\nplot '-' with linespoints linetype 1 pointtype 7 title 'runtime', '-' with linespoints "
      "linetype 0 linecolor 'black' pointtype 4 title 'evaluator in the same precision'\n"));
  ASSAY_TRY(put_series(one, /*expected=*/false, out, err));
  return put_series(one, /*expected=*/true, out, err);
}

/* The case that shows most: the first with a block that is over, or the first that was compared. */
static const assay_diagnose_case *case_to_plot(const assay_diagnosis *diagnosis) {
  const assay_diagnose_case *best = NULL;
  for (size_t i = 0; i < diagnosis->n_cases; i++) {
    const assay_diagnose_case *one = &diagnosis->cases[i];
    if (one->reason != NULL) continue;
    if (best == NULL || (best->first >= best->n_blocks && one->first < one->n_blocks)) best = one;
  }
  return best;
}

/* A quote or a new line in the folder's name would end gnuplot's string. */
static bool is_plottable(const char *folder) {
  return strpbrk(folder, "'\n\\") == NULL;
}

static assay_status draw(const assay_diagnosis *diagnosis, const char *folder, assay_error *err) {
  const assay_diagnose_case *one = case_to_plot(diagnosis);
  assay_buf script = {0};
  assay_child_result ended = {0};
  char *path = assay_path_join(folder, "growth.gnuplot");
  if (path == NULL) return assay_fail_memory(err, 256);
  assay_status st = ASSAY_OK;
  if (one != NULL && is_plottable(folder)) {
    st = put_script(one, folder, &script, err);
    if (st == ASSAY_OK) st = assay_file_write(path, script.data, script.size_bytes, err);
    const char *argv[] = {"/usr/bin/env", "gnuplot", path, NULL};
    const assay_child_spec child = {.argv = argv, .timeout_ns = GNUPLOT_TIMEOUT_NS};
    if (st == ASSAY_OK) (void)!assay_child_run(&child, &ended, NULL); /* no gnuplot: no plot */
  }
  assay_buf_reset(&script);
  assay_free(path);
  return st;
}

assay_status assay_diagnose_write(const assay_diagnosis *diagnosis, const char *folder,
                                  assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  char *path = assay_path_join(folder, "diagnosis.json");
  assay_status st = path != NULL ? ASSAY_OK : assay_fail_memory(err, 256);
  assay_diagnose_put(diagnosis, b);
  if (st == ASSAY_OK) st = assay_json_builder_write(b, path, err);
  if (st == ASSAY_OK) st = draw(diagnosis, folder, err);
  assay_json_builder_destroy(b);
  assay_free(path);
  return st;
}
