/* The runtimes that assay brings: each is a runtime file (runtime_spec.h) kept in the program. */
#ifndef ASSAY_CAMPAIGN_RUNTIME_BUILTIN_H
#define ASSAY_CAMPAIGN_RUNTIME_BUILTIN_H

#include <stddef.h>

typedef struct assay_runtime_builtin {
  const char *name;    /* as users type it */
  const char *summary; /* one line for a person */
  const char *json;    /* the file */
} assay_runtime_builtin;

/* All of them, *out_n in number, sorted for a person. */
const assay_runtime_builtin *assay_runtime_builtins(size_t *out_n);

/* The one of that name, or NULL. */
const assay_runtime_builtin *assay_runtime_builtin_find(const char *name);

#endif
