/* What the files of this room share and nobody else sees. */
#ifndef ASSAY_RUNTIME_ORT_INTERNAL_H
#define ASSAY_RUNTIME_ORT_INTERNAL_H

#include <pthread.h>

#include "runtime/ort.h"
#include "runtime/ort_abi.h"

#define ASSAY_ORT_LAST_ERROR_BYTES 2048

struct assay_ort {
  void *handle;             /* of the loader; never unloaded once it proved to be ONNX Runtime */
  const assay_ort_api *api; /* table of api_version */
  uint32_t api_version;
  OrtEnv *env;
  assay_ort_options options;
  char *version;
  char *build_info;
  char *path;
  char **providers; /* [n_providers] */
  size_t n_providers;
  pthread_mutex_t error_lock;
  char last_error[ASSAY_ORT_LAST_ERROR_BYTES]; /* the last that was logged: the reason that a
                                                  refusal may leave out */
};

/* Releases `refusal` (NULL: all is well) and turns it into `status` with the runtime's words after
 * "what: ". */
assay_status assay_ort_take(const assay_ort *ort, OrtStatus *refusal, assay_status status,
                            const char *what, assay_error *err) ASSAY_NODISCARD;

/* Forgets what was logged so far; then, after a refusal, the words of the last error that was
 * logged since ("" when there was none). */
void assay_ort_forget_errors(assay_ort *ort);
void assay_ort_logged_words(assay_ort *ort, char *out, size_t out_bytes);

/* Whether spec can be used at all. Errors: ARGUMENT, IO (no model). */
assay_status assay_ort_spec_check(const assay_ort_session_spec *spec,
                                  assay_error *err) ASSAY_NODISCARD;

/* Gives everything in spec to options. Errors: those of assay_ort_provider_append, and ARGUMENT,
 * RUNTIME. */
assay_status assay_ort_spec_apply(assay_ort *ort, const assay_ort_session_spec *spec,
                                  OrtSessionOptions *options, assay_error *err) ASSAY_NODISCARD;

/* Makes spec's provider part of options; the CPU provider is there without it. Errors: ARGUMENT (a
 * name that no ORT knows, options for the CPU provider), MISSING, MEMORY. */
assay_status assay_ort_provider_append(assay_ort *ort, const assay_ort_session_spec *spec,
                                       OrtSessionOptions *options,
                                       assay_error *err) ASSAY_NODISCARD;

bool assay_ort_has_provider(const assay_ort *ort, const char *full_name);
bool assay_ort_spec_is_cpu(const assay_ort_session_spec *spec);

#endif
