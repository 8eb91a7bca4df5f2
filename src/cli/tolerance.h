/* The values of --atol and --rtol where a bundle is made. */
#ifndef ASSAY_CLI_TOLERANCE_H
#define ASSAY_CLI_TOLERANCE_H

#include "campaign/bundle_export.h"
#include "cli/cli.h"

/* "1e-3" or "momentum:1e-3". word is cut at the colon and must outlive *out. Returns what an argp
 * parser does. */
error_t assay_cli_take_tolerance(const struct argp_state *state, bool relative, char *word,
                                 assay_export_tolerance *out);

#endif
