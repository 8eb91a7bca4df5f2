/* The configuration and the trained weights that a bundle is made of, from the files that a
 * training leaves: strict, and nothing left out unsaid. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_WEIGHTS_H
#define ASSAY_CAMPAIGN_BUNDLE_WEIGHTS_H

#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "model/mlpf_config.h"
#include "model/mlpf_derive.h"

/* A configuration file: hyperparameters.json, or model_kwargs.pkl, of which nothing is executed. */
typedef struct assay_bundle_config {
  assay_mlpf_config config;
  char file[256];                      /* its name, without folders */
  char sha256[ASSAY_SHA256_HEX_BYTES]; /* of the file */
  /* what the file does not say, as those of trainings before July 2026, and names of weights do */
  bool lacks_backbone_mode, lacks_task_queries;
} assay_bundle_config;

/* arch: "attention", "heptv2", or NULL: the file says. Errors: IO, FORMAT, UNSUPPORTED, LIMIT,
 * MEMORY, with the file's name. */
assay_status assay_bundle_config_read(const char *path, const char *arch, assay_bundle_config *out,
                                      assay_error *err) ASSAY_NODISCARD;

/* All zeroes is a valid empty one. */
typedef struct assay_bundle_weights {
  assay_tensor_map tensors; /* exactly the configuration's table */
  char name[64];            /* the file's name without its ending, in characters of bundle names */
  assay_json *about;        /* what the manifest says of them: origin, file, hashes, what was
                               dropped, stripped, renamed; owned */
} assay_bundle_weights;

/* The weights in a PyTorch, safetensors or npz file, told apart by their bytes, for a configuration
 * that came from `file` (NULL: from options); what `file` lacks becomes in it what their names
 * tell. On MISMATCH, *differences lists all there are, for whoever prints them; it must be empty,
 * and is the caller's to reset in any case. Errors: MISMATCH (numbers and cause), IO, FORMAT,
 * UNSUPPORTED, LIMIT, MEMORY, with the file's name. */
assay_status assay_bundle_weights_read(const char *path, assay_mlpf_config *config,
                                       const assay_bundle_config *file, assay_bundle_weights *out,
                                       assay_mlpf_differences *differences,
                                       assay_error *err) ASSAY_NODISCARD;
void assay_bundle_weights_reset(assay_bundle_weights *weights);

#endif
