/* JSON, by jansson: strict reading with paths in error messages, and a builder that fails once and
 * says so at the end. NaN and infinity cannot be written; reals are written with 17 significant
 * digits, keys in insertion order. */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

typedef struct assay_json assay_json; /* a value: borrowed inside a document, owned at its root */

typedef enum assay_json_kind {
  ASSAY_JSON_NULL,
  ASSAY_JSON_BOOL,
  ASSAY_JSON_INT,
  ASSAY_JSON_REAL,
  ASSAY_JSON_STRING,
  ASSAY_JSON_ARRAY,
  ASSAY_JSON_OBJECT,
} assay_json_kind;

/* Duplicate keys, trailing bytes, NaN and nesting beyond 512 are refused. Errors: FORMAT with line
 * and column, LIMIT (nesting), MEMORY; reading adds IO and LIMIT (max_bytes). Released with
 * assay_json_destroy. */
assay_status assay_json_parse(const void *text, size_t size_bytes, assay_json **out,
                              assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_read(const char *path, size_t max_bytes, assay_json **out,
                             assay_error *err) ASSAY_NODISCARD;
void assay_json_destroy(assay_json *root);

assay_json_kind assay_json_kind_of(const assay_json *value);
const char *assay_json_kind_name(assay_json_kind kind); /* "an object", "a string", … */

/* Members and elements, borrowed; NULL when absent or when value is not of that kind. Objects keep
 * the order of the file. */
const assay_json *assay_json_get(const assay_json *object, const char *key);
const assay_json *assay_json_at(const assay_json *array, size_t i);
size_t assay_json_len(const assay_json *value); /* elements or members; 0 for other kinds */
const char *assay_json_key_at(const assay_json *object, size_t i);
const assay_json *assay_json_value_at(const assay_json *object, size_t i);

/* Hands every member of object to `each`, in the order of the file and in linear time; stops at the
 * first failure of each and returns it. Nothing for other kinds. */
typedef assay_status (*assay_json_member_fn)(void *arg, const char *key, const assay_json *value,
                                             assay_error *err);
assay_status assay_json_each(const assay_json *object, assay_json_member_fn each, void *arg,
                             assay_error *err) ASSAY_NODISCARD;

/* Plain readings of a value already known to be of the kind. */
const char *assay_json_string(const assay_json *value); /* NULL for other kinds */
int64_t assay_json_int(const assay_json *value);        /* 0 for other kinds */
double assay_json_real(const assay_json *value); /* of an int or a real; NaN for other kinds */
bool assay_json_bool(const assay_json *value);   /* false for other kinds */

/* Member `key` of object, required, of the named kind. Errors: FORMAT, naming the key, what was
 * expected and what was found. Strings are borrowed. A real may be written as an integer. */
assay_status assay_json_need_string(const assay_json *object, const char *key, const char **out,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_need_int(const assay_json *object, const char *key, int64_t low,
                                 int64_t high, int64_t *out, assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_need_real(const assay_json *object, const char *key, double *out,
                                  assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_need_bool(const assay_json *object, const char *key, bool *out,
                                  assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_need_array(const assay_json *object, const char *key,
                                   const assay_json **out, assay_error *err) ASSAY_NODISCARD;
assay_status assay_json_need_object(const assay_json *object, const char *key,
                                    const assay_json **out, assay_error *err) ASSAY_NODISCARD;

/* Requires "schema": "assay/<kind>/<version>" with that kind and exactly that version. Errors:
 * FORMAT (another kind), UNSUPPORTED (another version). */
assay_status assay_json_need_schema(const assay_json *object, const char *kind, int version,
                                    assay_error *err) ASSAY_NODISCARD;

/* UNSUPPORTED-free strictness: FORMAT when object has a key that is not among the n names; says the
 * nearest known one. */
assay_status assay_json_only_keys(const assay_json *object, const char *const *names, size_t n,
                                  assay_error *err) ASSAY_NODISCARD;

/* Builder. Inside an object key is the member's name; inside an array it is NULL. After a failure
 * (memory, NaN, invalid UTF-8) further calls do nothing and finish returns it. */
typedef struct assay_json_builder assay_json_builder;

assay_json_builder *assay_json_builder_create(void); /* NULL is accepted by every call below */
void assay_json_builder_destroy(assay_json_builder *b);
void assay_json_begin_object(assay_json_builder *b, const char *key); /* the root: key NULL */
void assay_json_begin_array(assay_json_builder *b, const char *key);
void assay_json_end(assay_json_builder *b);
void assay_json_put_string(assay_json_builder *b, const char *key,
                           const char *value); /* NULL value: null */
void assay_json_put_int(assay_json_builder *b, const char *key, int64_t value);
void assay_json_put_real(assay_json_builder *b, const char *key,
                         double value); /* finite, or the builder fails */
void assay_json_put_bool(assay_json_builder *b, const char *key, bool value);
void assay_json_put_null(assay_json_builder *b, const char *key);
void assay_json_put_copy(assay_json_builder *b, const char *key,
                         const assay_json *value); /* deep copy */

/* A real that may be non-finite: `key` gets the number, or null; when not finite `key`_class gets
 * "nan",
 * "+inf" or "-inf". */
void assay_json_put_number(assay_json_builder *b, const char *key, double value);

/* Writes the text (indented, ending in a new line) and releases nothing. Errors: MEMORY, ARGUMENT,
 * INTERNAL (begin without end). */
assay_status assay_json_builder_finish(assay_json_builder *b, assay_buf *out,
                                       assay_error *err) ASSAY_NODISCARD;

/* finish, then assay_file_write. */
assay_status assay_json_builder_write(assay_json_builder *b, const char *path,
                                      assay_error *err) ASSAY_NODISCARD;

/* Any value as text: indented, or on one line. */
assay_status assay_json_dump(const assay_json *value, bool indented, assay_buf *out,
                             assay_error *err) ASSAY_NODISCARD;

#endif
