/* One line of text about a pickled value, for people. */
#ifndef ASSAY_CHECKPOINT_PICKLE_DESCRIBE_H
#define ASSAY_CHECKPOINT_PICKLE_DESCRIBE_H

#include <stddef.h>

#include "checkpoint/pickle.h"

/* Writes into out (out_bytes > 0; cut with "..." if too long), safe for a terminal:
 *   None, True, 7, 0.001, 1+2j   scalars, reals in the fewest digits that give them back
 *   'text', bytes of 3           text in quotes
 *   list of 2, dict of 3         containers with their sizes; "OrderedDict of 3" where a call made
 * it torch.float32                a global elu, cuda:1, <f8             members of enums, devices,
 * numpy dtypes 2.5 (numpy <f8)              numpy scalars object of module.name        any other
 * call: inert, its arguments unseen */
void assay_pickle_describe(const assay_pickle_value *value, char *out, size_t out_bytes);

#endif
