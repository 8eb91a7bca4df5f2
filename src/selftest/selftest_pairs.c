/* Comparisons of two ways of running whose pairs do not say what the two runs gave. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "selftest/selftest_cases.h"

#define PAIR "pairs[toy c]."

#define FORGED(spoil_function, forge_function, problem_words)                                      \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .forge = (forge_function),                   \
  .by = SELFTEST_VERIFY, .kind = ASSAY_VERIFY_FIGURE, .words = ASSAY_PAIRS_FILE ": " problem_words

/* --- how it was run ------------------------------------------------------------------------------
 */

/* Side "b" leaves the outputs of its own, which are the references. */
static void paired(selftest_scene *s) {
  s->vary = "env:SELFTEST_SIDE=a|b";
  s->timing_ends = "[ \"$SELFTEST_SIDE\" = a ] || cp \"$root/evidence/b/outputs.npz\" \"$5/\"";
}
static assay_status more_on_a(size_t side, assay_runtime_spec *runtime, assay_error *err) {
  return side == 0 ? assay_settings_set(&runtime->env, "SELFTEST_MORE", "1", err) : ASSAY_OK;
}
static assay_status more_on_b(size_t side, assay_runtime_spec *runtime, assay_error *err) {
  return side == 1 ? assay_settings_set(&runtime->env, "SELFTEST_MORE", "1", err) : ASSAY_OK;
}
static assay_status other_policy(size_t side, assay_runtime_spec *runtime, assay_error *err) {
  (void)err;
  runtime->max_copies += (int64_t)side;
  return ASSAY_OK;
}
static void variable_of_a(selftest_scene *s) {
  paired(s);
  s->also = more_on_a;
}
static void variable_of_b(selftest_scene *s) {
  paired(s);
  s->also = more_on_b;
}
static void policy_of_b(selftest_scene *s) {
  paired(s);
  s->also = other_policy;
}
static assay_status entry_of_b(size_t side, assay_runtime_spec *runtime, assay_error *err) {
  return side == 1 ? assay_settings_set(&runtime->config, "session.more", "1", err) : ASSAY_OK;
}
static void two_entries(selftest_scene *s) {
  s->vary = "session:session.selftest=1|2";
  s->also = entry_of_b;
}
static void b_crashes(selftest_scene *s) {
  paired(s);
  s->timing_ends = "[ \"$SELFTEST_SIDE\" = a ] || kill -SEGV $$";
}

/* --- pairs, edited and sealed again --------------------------------------------------------------
 */

/* One pair, whose outputs were compared. */
static bool is_whole(const assay_pairs *pairs) {
  return pairs->n > 0 && pairs->pairs[0].n_comparisons > 0 && pairs->pairs[0].n_nearer > 0;
}
static void edit(selftest_scene *s, void (*change)(assay_pairs *)) {
  selftest_edit_pairs(s, change);
  selftest_reseal(s, /*with_report=*/true);
}
static void drop_pair(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pair_reset(&pairs->pairs[--pairs->n]);
}
static void pair_dropped(selftest_scene *s) {
  edit(s, drop_pair);
}
static void swap_sides(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  const assay_pairs_side a = pairs->pairs[0].a;
  pairs->pairs[0].a = pairs->pairs[0].b;
  pairs->pairs[0].b = a;
}
static void sides_swapped(selftest_scene *s) {
  edit(s, swap_sides);
}
static void smaller_error(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pair *pair = &pairs->pairs[0];
  for (size_t i = 0; i < pair->n_comparisons; i++) pair->comparisons[i].max_abs /= 2;
}
static void error_forged(selftest_scene *s) {
  edit(s, smaller_error);
}
static void rename_head(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_result_comparison *first = &pairs->pairs[0].comparisons[0];
  assay_free(first->head);
  first->head = assay_strdup("other");
}
static void head_renamed(selftest_scene *s) {
  edit(s, rename_head);
}
static void rename_reference(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_result_comparison *first = &pairs->pairs[0].comparisons[0];
  assay_free(first->reference);
  first->reference = assay_strdup("f64");
}
static void reference_renamed(selftest_scene *s) {
  edit(s, rename_reference);
}
static void drop_comparison(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pair *pair = &pairs->pairs[0];
  assay_result_comparison *last = &pair->comparisons[--pair->n_comparisons];
  assay_free(last->head);
  assay_free(last->reference);
  assay_free(last->kind);
}
static void comparison_dropped(selftest_scene *s) {
  edit(s, drop_comparison);
}
static void be_identical(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  pairs->pairs[0].identical = true;
}
static void identity_forged(selftest_scene *s) {
  edit(s, be_identical);
}
static void other_graph(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  pairs->pairs[0].same_graph = false;
}
static void graph_forged(selftest_scene *s) {
  edit(s, other_graph);
}
static void be_nearer(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pairs_nearer *last = &pairs->pairs[0].nearer[pairs->pairs[0].n_nearer - 1];
  last->n_a = last->n_b;
  last->n_b = 0;
}
static void nearer_forged(selftest_scene *s) {
  edit(s, be_nearer);
}
static void be_the_same(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pairs_nearer *last = &pairs->pairs[0].nearer[pairs->pairs[0].n_nearer - 1];
  last->n_same = last->n;
  last->n_b = 0;
}
static void sameness_forged(selftest_scene *s) {
  edit(s, be_the_same);
}
static void drop_nearer(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  assay_pair *pair = &pairs->pairs[0];
  assay_free(pair->nearer[--pair->n_nearer].head);
}
static void nearer_dropped(selftest_scene *s) {
  edit(s, drop_nearer);
}
static void give_reason(assay_pairs *pairs) {
  if (!is_whole(pairs)) return;
  pairs->pairs[0].reason = assay_strdup("not to be compared");
}
static void not_compared(selftest_scene *s) {
  edit(s, give_reason);
}
static void drop_reason(assay_pairs *pairs) {
  if (pairs->n == 0) return;
  assay_free(pairs->pairs[0].reason);
  pairs->pairs[0].reason = NULL;
}
static void crash_concealed(selftest_scene *s) {
  edit(s, drop_reason);
}
/* A comparison of which nothing is known but that it passed. */
static void claim_a_pass(assay_pairs *pairs) {
  if (pairs->n == 0 || pairs->pairs[0].n_comparisons > 0) return;
  assay_pair *pair = &pairs->pairs[0];
  assay_free(pair->comparisons);
  pair->comparisons = assay_alloc_array(1, sizeof *pair->comparisons);
  if (pair->comparisons == NULL) return;
  pair->n_comparisons = 1;
  pair->comparisons[0] = (assay_result_comparison){.head = assay_strdup("bid"),
                                                   .reference = assay_strdup(ASSAY_PAIRS_REFERENCE),
                                                   .kind = assay_strdup("classes"),
                                                   .gate = true,
                                                   .passed = true};
}
static void pass_of_a_crash(selftest_scene *s) {
  edit(s, claim_a_pass);
}
static void identical_to_a_crash(assay_pairs *pairs) {
  if (pairs->n > 0) pairs->pairs[0].identical = true;
}
static void crash_identical(selftest_scene *s) {
  edit(s, identical_to_a_crash);
}
static void vary_bundles(assay_pairs *pairs) {
  assay_free(pairs->what);
  pairs->what = assay_strdup("bundle");
}
static void bundles_varied(selftest_scene *s) {
  edit(s, vary_bundles);
}
static void vary_other(assay_pairs *pairs) {
  assay_free(pairs->what);
  pairs->what = assay_strdup("session:intra_threads");
}
static void other_thing_varied(selftest_scene *s) {
  edit(s, vary_other);
}
static void vary_nothing(assay_pairs *pairs) {
  assay_free(pairs->what);
  pairs->what = assay_strdup("luck");
}
static void nothing_varied(selftest_scene *s) {
  edit(s, vary_nothing);
}
static void pairs_unreadable(selftest_scene *s) {
  selftest_edit(s, ASSAY_PAIRS_FILE, "{", "");
  selftest_edit_index(s, /*change=*/NULL);
}
/* Pairs of a package of one runtime. */
static void unpair(assay_package *package) {
  assay_package_runtime *last = &package->runtimes[--package->n_runtimes];
  assay_free(last->name);
  assay_json_destroy(last->spec);
  assay_free(last->library_path);
  assay_free(last->library_version);
}
static void side_dropped(selftest_scene *s) {
  selftest_edit_index(s, unpair);
}

const selftest_case selftest_pair_cases[] = {
    {"control: two sides that differ in one variable", "", .start = SELFTEST_FRESH, .spoil = paired,
     .by = SELFTEST_PASSES},
    {"side A has one more variable", "", FORGED(variable_of_a, /*forge=*/NULL, "what$")},
    {"side B has one more variable", "", FORGED(variable_of_b, /*forge=*/NULL, "what$")},
    {"side B is let off more", "", FORGED(policy_of_b, /*forge=*/NULL, "what$")},
    {"side B has one more entry of its session", "", FORGED(two_entries, /*forge=*/NULL, "what$")},
    {"something else said to vary", "", FORGED(paired, other_thing_varied, "what$")},
    {"something said to vary that cannot", "", FORGED(paired, nothing_varied, "what$")},
    {"a pair left out", "", FORGED(paired, pair_dropped, "pairs$")},
    {"one pair fewer", "", FORGED(paired, pair_dropped, "pairs (their number)$")},
    {"sides swapped", "", FORGED(paired, sides_swapped, "pairs$")},
    {"pairs of one runtime", "", FORGED(paired, side_dropped, "runtimes$")},
    {"pairs that cannot be read", "", FORGED(paired, pairs_unreadable, "$")},
    {"a difference made smaller", "",
     FORGED(paired, error_forged, PAIR "comparisons[momentum against user].max_abs$")},
    {"a head compared under another name", "",
     FORGED(paired, head_renamed, PAIR "comparisons (head)$")},
    {"a pair against something other than B", "",
     FORGED(paired, reference_renamed, PAIR "comparisons (reference)$")},
    {"a head left out of a pair", "",
     FORGED(paired, comparison_dropped, PAIR "comparisons (their number)$")},
    {"outputs said to be identical", "", FORGED(paired, identity_forged, PAIR "identical$")},
    {"graphs said to differ", "", FORGED(paired, graph_forged, PAIR "same_graph$")},
    {"the other side said to be nearer", "", FORGED(paired, nearer_forged, PAIR "nearer.n_a$")},
    {"neither side said to be nearer", "", FORGED(paired, sameness_forged, PAIR "nearer.n_b$")},
    {"a head left out of what is nearer", "",
     FORGED(paired, nearer_dropped, PAIR "nearer (their number)$")},
    {"a reason not to compare, where there is none", "",
     FORGED(paired, not_compared, PAIR "reason (there is none)$")},
    {"two bundles said to vary, where there is one", "",
     FORGED(paired, bundles_varied, "bundles$")},
    {"a pass against a side that crashed", "",
     FORGED(b_crashes, pass_of_a_crash, PAIR "comparisons (their number)$")},
    {"a side that crashed, and identical outputs", "",
     FORGED(b_crashes, crash_identical, PAIR "identical$")},
    {"a side that crashed, unsaid", "", FORGED(b_crashes, crash_concealed, PAIR "reason$")},
};
const size_t selftest_n_pair_cases = sizeof selftest_pair_cases / sizeof *selftest_pair_cases;
