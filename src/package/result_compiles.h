/* When the provider compiled: the "compiles" member of result.json.
 *
 * "compiles": null | {      null where the provider's log does not say, or the run is not done
 *   "session": 1,           programs compiled while the session was made
 *   "first": 0,             in the first call
 *   "later": 0 }            in calls that were to be warm
 *
 * A run that compiled in a warm call has not passed: samples of a timing, or shapes of a placement,
 * are not what they seem. */
#ifndef ASSAY_PACKAGE_RESULT_COMPILES_H
#define ASSAY_PACKAGE_RESULT_COMPILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

/* All zeroes: nothing is known. */
typedef struct assay_result_compiles {
  bool known; /* false: "compiles": null */
  int64_t session, first, later;
} assay_result_compiles;

/* The member of root. Errors: FORMAT. */
assay_status assay_result_compiles_read(const assay_json *root, assay_result_compiles *out,
                                        assay_error *err) ASSAY_NODISCARD;
void assay_result_compiles_put(const assay_result_compiles *compiles, assay_json_builder *b);

#endif
