/* Numbers within sentences: a reason in a result or a table repeats figures, and they must be the
 * derived ones. */
#ifndef ASSAY_VERIFY_VERIFY_WORDS_H
#define ASSAY_VERIFY_VERIFY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* True when every number in text is one of known [n] as %g, %.3g, %.9g or a whole number would
 * write it. What stands in single quotes is a name, and so is a digit that follows a letter. The
 * first number that is none goes to out_bad [out_bytes]. */
bool assay_verify_words_agree(const char *text, const long double *known, size_t n, char *out_bad,
                              size_t out_bytes);

#endif
