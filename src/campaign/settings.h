/* Ordered keys with text values: provider options, session entries, environment variables. */
#ifndef ASSAY_CAMPAIGN_SETTINGS_H
#define ASSAY_CAMPAIGN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

typedef struct assay_setting {
  char *key;
  char *value; /* NULL only in env: unset */
} assay_setting;

/* All zeroes is a valid empty one. Keys are unique and sorted. */
typedef struct assay_settings {
  assay_setting *items;
  size_t n;
} assay_settings;

/* Adds or replaces. Errors: MEMORY. */
assay_status assay_settings_set(assay_settings *settings, const char *key, const char *value,
                                assay_error *err) ASSAY_NODISCARD;
/* The same from "key=value", as typed. Errors: ARGUMENT, MEMORY. */
assay_status assay_settings_set_pair(assay_settings *settings, const char *pair,
                                     assay_error *err) ASSAY_NODISCARD;
/* What a process that loads ONNX Runtime is started with: these variables, as "K=V" and "K" alone
 * to unset, over ORT_DISABLE_TELEMETRY=1. *out ends with NULL and is released with free_env. */
assay_status assay_settings_make_env(const assay_settings *env, char ***out,
                                     assay_error *err) ASSAY_NODISCARD;
void assay_settings_free_env(char **env); /* NULL is fine */

void assay_settings_reset(assay_settings *settings);
/* {"key": "value", …}; NULL values as null. */
void assay_settings_put(const assay_settings *settings, assay_json_builder *b, const char *key);
/* Members of an object: strings, numbers and booleans as text; null where may_be_null. */
assay_status assay_settings_of_json(const assay_json *object, bool may_be_null, assay_settings *out,
                                    assay_error *err) ASSAY_NODISCARD;

#endif
