/* The matrix of a package that was made from a campaign file, against the copy of that file in it.
 */
#ifndef ASSAY_VERIFY_VERIFY_MATRIX_H
#define ASSAY_VERIFY_VERIFY_MATRIX_H

#include "verify/verify_run.h"

/* The file's first runtime and bundle are the package's first, and so on; every pair that the file
 * asks for is in the matrix, and no other unless packages were merged. Errors: MEMORY. */
assay_status assay_verify_matrix_check(const assay_verify_scene *scene,
                                       assay_error *err) ASSAY_NODISCARD;

#endif
