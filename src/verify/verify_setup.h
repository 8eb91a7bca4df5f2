/* What the page says around its tables: counts and times at its head, and the setup. */
#ifndef ASSAY_VERIFY_VERIFY_SETUP_H
#define ASSAY_VERIFY_VERIFY_SETUP_H

#include "base/status.h"
#include "verify/verify_run.h"
#include "verify/verify_table.h"

/* html: report.html. Errors: MEMORY. */
assay_status assay_verify_setup_check(const assay_verify_scene *scene, const assay_verify_place *at,
                                      const char *html, const assay_verify_rows *rows,
                                      assay_error *err) ASSAY_NODISCARD;

#endif
