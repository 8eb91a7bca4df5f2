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

/* The member is there and is null. */
bool assay_fields_is_null(const assay_json *object, const char *key);

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
void assay_fields_put_strings(assay_json_builder *b, const char *key, char *const *strings,
                              size_t n);

/* A deep copy; NULL and null give NULL. Released with assay_json_destroy. */
assay_status assay_fields_copy(const assay_json *value, assay_json **out,
                               assay_error *err) ASSAY_NODISCARD;

/* A copy of text from outside that JSON and a terminal can take (assay_text_printable); NULL when
 * memory is out. Released with assay_free. */
char *assay_fields_printable(const char *text) ASSAY_NODISCARD;
/* *out, which may hold an earlier one, becomes such a copy. Errors: MEMORY. */
assay_status assay_fields_set(char **out, const char *text, assay_error *err) ASSAY_NODISCARD;

/* SHA-256 of any value, written on one line. */
assay_status assay_fields_digest(const assay_json *value, char out_hex[65],
                                 assay_error *err) ASSAY_NODISCARD;

/* A struct described by a table, so that one list serves reading and writing. */
typedef enum assay_field_kind {
  ASSAY_FIELD_STRING,         /* char *, owned, required */
  ASSAY_FIELD_STRING_OR_NULL, /* char *, owned, or NULL */
  ASSAY_FIELD_NAME,           /* char *, owned: assay_fields_is_name */
  ASSAY_FIELD_PATH,           /* char *, owned: stays inside its folder */
  ASSAY_FIELD_TEXT,           /* char [size] */
  ASSAY_FIELD_SHA256,         /* char [65] */
  ASSAY_FIELD_SHA256_OR_EMPTY,
  ASSAY_FIELD_COUNT, /* int64_t >= 0 */
  ASSAY_FIELD_INT,   /* int64_t */
  ASSAY_FIELD_INT32, /* int */
  ASSAY_FIELD_SIZE,  /* uint64_t */
  ASSAY_FIELD_REAL,  /* double, which may be non-finite */
  ASSAY_FIELD_BOOL,
  ASSAY_FIELD_OBJECT, /* a struct of its own: sub [n_sub] */
} assay_field_kind;

typedef struct assay_field {
  const char *key;
  assay_field_kind kind;
  size_t offset, size; /* of the member in its struct, bytes */
  const struct assay_field *sub;
  size_t n_sub;
} assay_field;

#define ASSAY_FIELD(type, member, kind)                                                            \
  { #member, ASSAY_FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member), NULL, 0 }
#define ASSAY_FIELD_SUB(type, member, table)                                                       \
  {                                                                                                \
#member, ASSAY_FIELD_OBJECT, offsetof(type, member), sizeof(((type *)0)->member), (table),     \
        sizeof(table) / sizeof((table)[0])                                                         \
  }

/* Reads every field of the table and refuses members that are neither in it nor among the n_others
 * that the caller reads itself. out is filled in as far as it goes: the caller resets it. */
assay_status assay_fields_read(const assay_json *object, const assay_field *fields, size_t n,
                               const char *const *others, size_t n_others, void *out,
                               assay_error *err) ASSAY_NODISCARD;
/* Puts the members into the object that was begun. */
void assay_fields_put(const assay_field *fields, size_t n, const void *in, assay_json_builder *b);
/* An array of objects of one table: *out [*out_n], each of elem_bytes, by assay_fields_read. Both
 * are set as soon as there is memory: the caller's to reset, also after a failure, which names
 * "key[i]". */
assay_status assay_fields_list(const assay_json *object, const char *key, const assay_field *fields,
                               size_t n, size_t elem_bytes, void **out, size_t *out_n,
                               assay_error *err) ASSAY_NODISCARD;
/* The same with a reader for one element. */
typedef assay_status (*assay_fields_item_fn)(const assay_json *item, void *out, assay_error *err);
assay_status assay_fields_list_by(const assay_json *object, const char *key,
                                  assay_fields_item_fn read, size_t elem_bytes, void **out,
                                  size_t *out_n, assay_error *err) ASSAY_NODISCARD;
/* Puts such an array under key. */
void assay_fields_put_list(assay_json_builder *b, const char *key, const assay_field *fields,
                           size_t n, const void *list, size_t elem_bytes, size_t n_list);

/* Releases the strings. */
void assay_fields_reset(const assay_field *fields, size_t n, void *out);

#endif
