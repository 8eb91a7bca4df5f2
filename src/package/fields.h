/* What the readers of this room's files share: members of JSON objects as owned strings, digests,
 * names and numbers that may be non-finite. Errors are FORMAT, naming the member, what was expected
 * and what was found; MEMORY. */
#ifndef ASSAY_PACKAGE_FIELDS_H
#define ASSAY_PACKAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

/* True for a name that serves as a folder's too: letters, digits, '.', '_', '-', '+', '@'; not
 * starting with '.' or
 * '-'; 1 to 128 bytes. */
bool assay_fields_is_name(const char *text);

/* True for 64 lower-case hexadecimal digits. */
bool assay_fields_is_sha256(const char *text);

/* *out is released with assay_free. */
assay_status assay_fields_string(const assay_json *object, const char *key, char **out,
                                 assay_error *err) ASSAY_NODISCARD;
/* The same for a member that must be there and may be null; *out is NULL then. */
assay_status assay_fields_string_or_null(const assay_json *object, const char *key, char **out,
                                         assay_error *err) ASSAY_NODISCARD;
assay_status assay_fields_name(const assay_json *object, const char *key, char **out,
                               assay_error *err) ASSAY_NODISCARD;
/* A file name that stays inside its folder. */
assay_status assay_fields_path(const assay_json *object, const char *key, char **out,
                               assay_error *err) ASSAY_NODISCARD;

/* A string that fits out, which is zero-terminated. */
assay_status assay_fields_text(const assay_json *object, const char *key, char *out,
                               size_t out_bytes, assay_error *err) ASSAY_NODISCARD;

/* may_be_empty: "" is accepted: a digest that could not be had. */
assay_status assay_fields_sha256(const assay_json *object, const char *key, bool may_be_empty,
                                 char out[65], assay_error *err) ASSAY_NODISCARD;

/* An integer >= 0. */
assay_status assay_fields_count(const assay_json *object, const char *key, int64_t *out,
                                assay_error *err) ASSAY_NODISCARD;
assay_status assay_fields_size(const assay_json *object, const char *key, uint64_t *out,
                               assay_error *err) ASSAY_NODISCARD;

/* A finite real >= 0. */
assay_status assay_fields_tolerance(const assay_json *object, const char *key, double *out,
                                    assay_error *err) ASSAY_NODISCARD;

/* What assay_json_put_number wrote: a number, or null and "<key>_class". */
assay_status assay_fields_number(const assay_json *object, const char *key, double *out,
                                 assay_error *err) ASSAY_NODISCARD;

/* An array of strings; *out [*out_n] and its strings are released with
 * assay_fields_strings_destroy. */
assay_status assay_fields_strings(const assay_json *object, const char *key, char ***out,
                                  size_t *out_n, assay_error *err) ASSAY_NODISCARD;
void assay_fields_strings_destroy(char **strings, size_t n);

/* The member as an array, or an object, deep copied by way of its text; null gives NULL. Released
 * with assay_json_destroy. */
assay_status assay_fields_copy(const assay_json *value, assay_json **out,
                               assay_error *err) ASSAY_NODISCARD;

#endif
