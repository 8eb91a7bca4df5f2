#include "cli/tolerance.h"

#include <string.h>

#include "base/text.h"

error_t assay_cli_take_tolerance(const struct argp_state *state, bool relative, char *word,
                                 assay_export_tolerance *out) {
  const char *what = relative ? "--rtol" : "--atol";
  assay_export_tolerance tolerance = {.relative = relative};
  assay_error err = {0};
  char *colon = strrchr(word, ':');
  if (colon != NULL) {
    *colon = '\0';
    tolerance.head = word;
  }
  if (assay_text_parse_real(colon ? colon + 1 : word, what, 0.0, 1e30, &tolerance.value, &err))
    return assay_cli_refuse(state, &err);
  *out = tolerance;
  return 0;
}
