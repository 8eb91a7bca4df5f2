/* The part of 'assay doctor' that is about runtimes: which there are, what one is as a file, and
 * whether one can be had here. */
#ifndef ASSAY_CLI_DOCTOR_RUNTIME_H
#define ASSAY_CLI_DOCTOR_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"

/* The runtime as a file to copy, on stdout: every member with its value. */
assay_status assay_doctor_show(const char *name, assay_error *err) ASSAY_NODISCARD;

/* In this process: opens the runtime's library and a session of one matrix product on its provider,
 * and says on stdout, as JSON, how that went ("usable", "reason"). Errors: those of finding out,
 * never of the runtime. */
assay_status assay_doctor_probe_runtime(const char *name, assay_error *err) ASSAY_NODISCARD;

/* The same in a child that has the runtime's environment, its report as the next element of an
 * array. A reason goes to stderr where the runtime was asked for. Errors: ARGUMENT, FORMAT, IO
 * (what the name stands for), MEMORY. */
assay_status assay_doctor_add_runtime(const char *self, const char *name, bool asked_for,
                                      assay_json_builder *b, bool *out_usable,
                                      assay_error *err) ASSAY_NODISCARD;

/* The runtimes that `make providers` left: each of deps/runtimes/, probed. */
assay_status assay_doctor_add_installed(const char *self, assay_json_builder *b,
                                        assay_error *err) ASSAY_NODISCARD;

/* The built-in ones, by name. */
void assay_doctor_put_builtins(assay_json_builder *b, const char *key);

/* For a person: of the document. */
void assay_doctor_print_runtimes(const assay_json *document);

#endif
