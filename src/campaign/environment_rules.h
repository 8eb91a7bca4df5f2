/* Variables of the environment that libraries read and users forget: which of them change what is
 * computed, and which only make a runtime talk. A runtime names what it wants; what it does not
 * name, and could change its results or its times, must not come from the shell.
 *
 * Recorded and never refused (assay_machine_environment): what chooses devices, folders and
 * libraries, such as CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH, LD_PRELOAD, VK_DRIVER_FILES. */
#ifndef ASSAY_CAMPAIGN_ENVIRONMENT_RULES_H
#define ASSAY_CAMPAIGN_ENVIRONMENT_RULES_H

#include <stdbool.h>

#include "base/status.h"
#include "campaign/runtime_spec.h"

typedef enum assay_environment_rule {
  ASSAY_ENVIRONMENT_FREE,    /* none of these */
  ASSAY_ENVIRONMENT_TRACING, /* prints or writes, and takes time: for placement runs only */
  ASSAY_ENVIRONMENT_CHANGES, /* kernels, numbers or times */
} assay_environment_rule;

/* Of the variable for the provider (full name); NULL: for any. */
assay_environment_rule assay_environment_rule_of(const char *name, const char *provider);

/* That the list ("NAME=value" …, ending in NULL) holds no variable with a rule for the runtime's
 * provider that the runtime's "env" does not name: by a value of its own, or by unsetting it.
 * Errors: ARGUMENT (the variable and what to do). */
assay_status assay_environment_check(const assay_runtime_spec *runtime, char *const *list,
                                     assay_error *err) ASSAY_NODISCARD;

#endif
