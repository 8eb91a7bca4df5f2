/* What two ways of running have in common and where they part: compare/pairs.json of a package that
 * 'assay compare' made. Both sides are ordinary runs of the package, judged against the references
 * in their own results; here is one against the other. Schema assay/pairs/1.
 *
 * {
 *   "schema": "assay/pairs/1",
 *   "what": "provider-option:sdpa_kernel", "a": "1", "b": "16",   the one thing that differs
 *   "pairs": [
 *     {"case": "b1-n100",
 *      "a": {"runtime": "a", "bundle": "attention"}, "b": {"runtime": "b", "bundle": "attention"},
 *      "reason": null,              or why the outputs were not compared
 *      "same_graph": true,          both loaded the same bytes
 *      "identical": false,          every head, bit for bit
 *      "comparisons": [{…}],        A against B, members as in result.json, "reference": "b"
 *      "nearer": [{"head": "bid", "n": 180, "n_a": 17, "n_b": 20, "n_same": 143}]
 *     }, …]                         elements by which side is nearer to the FP64 reference
 * } */
#ifndef ASSAY_PACKAGE_PAIRS_H
#define ASSAY_PACKAGE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "package/result.h"

#define ASSAY_PAIRS_FOLDER    "compare"
#define ASSAY_PAIRS_FILE      "compare/pairs.json"
#define ASSAY_PAIRS_REFERENCE "b" /* of the comparisons */

/* Of one head: elements at valid positions where A, B and the FP64 reference are finite. */
typedef struct assay_pairs_nearer {
  char *head;
  int64_t n, n_a, n_b, n_same; /* n = n_a + n_b + n_same */
} assay_pairs_nearer;

typedef struct assay_pairs_side {
  char *runtime, *bundle; /* names within the package */
} assay_pairs_side;

typedef struct assay_pair {
  char *case_name;
  assay_pairs_side a, b;
  char *reason; /* NULL when compared */
  bool same_graph, identical;
  assay_result_comparison *comparisons; /* in the order of the heads of A */
  size_t n_comparisons;
  assay_pairs_nearer *nearer; /* heads with an FP64 reference of floats */
  size_t n_nearer;
} assay_pair;

/* All zeroes is a valid empty one; everything is owned. */
typedef struct assay_pairs {
  char *what, *a, *b;
  assay_pair *pairs;
  size_t n;
} assay_pairs;

/* Strict. Errors: IO, FORMAT, LIMIT, MEMORY; *out is untouched then. */
assay_status assay_pairs_read(const char *package_path, assay_pairs *out,
                              assay_error *err) ASSAY_NODISCARD;
/* Whole or not at all; makes the folder. Errors: IO, MEMORY. */
assay_status assay_pairs_write(const assay_pairs *pairs, const char *package_path,
                               assay_error *err) ASSAY_NODISCARD;
/* The package holds such a file. */
bool assay_pairs_are_there(const char *package_path);
void assay_pair_reset(assay_pair *pair);
void assay_pairs_reset(assay_pairs *pairs);

#endif
