/* Which globals a pickle names, and what they say about it. Nothing is ever called here; the list
 * is for the person who would open the same file with a program that does. */
#ifndef ASSAY_CHECKPOINT_PICKLE_GLOBALS_H
#define ASSAY_CHECKPOINT_PICKLE_GLOBALS_H

#include "checkpoint/pickle.h"

typedef enum assay_pickle_safety {
  ASSAY_PICKLE_KNOWN,     /* in the table: what tensors, arrays and configurations are made of */
  ASSAY_PICKLE_UNKNOWN,   /* some class or function of the writer's: shown, without meaning to us */
  ASSAY_PICKLE_DANGEROUS, /* runs commands or code, opens files or connections, or finds such things
                           */
} assay_pickle_safety;

typedef struct assay_pickle_global_use {
  const char *module, *name; /* borrowed from the pickle, as written */
  size_t n;                  /* times it is named */
  assay_pickle_safety safety;
} assay_pickle_global_use;

/* All zeroes is a valid empty one. */
typedef struct assay_pickle_globals {
  assay_pickle_global_use *items; /* owned; sorted by module and name */
  size_t n;
} assay_pickle_globals;

assay_pickle_safety assay_pickle_safety_of(const char *module, const char *name);

/* Every global that the pickle names, reached from its root or not. builtins.getattr is dangerous
 * unless all it does is name members of classes (how Python 3.11.0 to 3.11.3 write those of enums)
 * that are not called.
 * Errors: MEMORY. */
assay_status assay_pickle_globals_init(const assay_pickle *pickle, assay_pickle_globals *out,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_pickle_globals_reset(assay_pickle_globals *globals);

#endif
