/* Where a bundle goes: built in a temporary folder beside its place and renamed, so that it is
 * there whole or not at all. Private to the room. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_PLACE_H
#define ASSAY_CAMPAIGN_BUNDLE_PLACE_H

#include <stdbool.h>

#include "base/status.h"

/* All zeroes is a valid empty one. */
typedef struct bundle_place {
  char *path;   /* the destination */
  char *folder; /* what is built, beside it; NULL once in place */
  bool force;   /* replace a bundle that is there */
  int fd; /* open on folder, and locked while it is built: it is not a dead process's; or -1 */
} bundle_place;

/* A bundle may be put at path: nothing is there, an empty folder, or with force a bundle. Errors:
 * ARGUMENT (something else is there; a name such as "."; a symbolic link), IO, MEMORY. */
assay_status bundle_place_check(const char *path, bool force, assay_error *err) ASSAY_NODISCARD;

/* Makes place->folder (and the folder that path is in), after removing what killed processes left
 * there of their own. path has no slash at its end. Reset it in any case. Errors: IO, MEMORY. */
assay_status bundle_place_begin(bundle_place *place, const char *path, bool force,
                                assay_error *err) ASSAY_NODISCARD;

/* Checks the place again, and puts the folder there in one step. Errors: as bundle_place_check. */
assay_status bundle_place_finish(bundle_place *place, assay_error *err) ASSAY_NODISCARD;

/* Removes the folder if it is not in place. */
void bundle_place_reset(bundle_place *place);

/* Syncs a folder's list of names. Errors: IO. */
assay_status bundle_place_sync(const char *path, assay_error *err) ASSAY_NODISCARD;

#endif
