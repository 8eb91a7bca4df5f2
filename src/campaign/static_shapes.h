/* A runtime that takes static shapes only ("static": true): the free dimensions of a model, fixed
 * to the sizes that one case has. The session then sees numbers in their place, and the shape
 * arithmetic behind them is folded when it is made. */
#ifndef ASSAY_CAMPAIGN_STATIC_SHAPES_H
#define ASSAY_CAMPAIGN_STATIC_SHAPES_H

#include "base/status.h"
#include "campaign/runtime_spec.h"
#include "package/manifest.h"

/* The runtime's own free dimensions, and, where it is static, each symbol of the model's inputs
 * with the size that the case's array has there. case_path is read only then. *out is empty.
 * Errors: FORMAT (one symbol of two sizes, or of another than the runtime says; no such array), IO,
 * MEMORY. */
assay_status assay_static_shapes_fix(const assay_runtime_spec *runtime,
                                     const assay_manifest *manifest, const char *case_path,
                                     assay_settings *out, assay_error *err) ASSAY_NODISCARD;

#endif
