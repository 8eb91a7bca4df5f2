/* Pickled values as JSON, and configurations (particleflow's model_kwargs.pkl) as the JSON tree
 * that they stand for. Source: ../shared/specs/torch_checkpoint.md section 10. */
#ifndef ASSAY_CHECKPOINT_PICKLE_JSON_H
#define ASSAY_CHECKPOINT_PICKLE_JSON_H

#include "base/buf.h"
#include "base/json.h"
#include "checkpoint/pickle.h"

/* Text of an enum member, borrowed or in buf: the value that made it (`Class('value')`), or for
 * `getattr(Class, 'NAME')` the name in lower case, with - for _ in the classes that want it. NULL
 * when value is no enum member that can be told. */
const char *assay_pickle_enum_text(const assay_pickle_value *value, char *buf, size_t buf_bytes);

/* What an object holds: the pairs of its state (of `__dict__` in it, for pydantic's models), or
 * NULL when it has no such state. */
const assay_pickle_pairs *assay_pickle_fields(const assay_pickle_value *object);

/* Adds value to the builder under key (NULL inside an array):
 *   None, bool, integer, real   as in JSON; a real that is not finite as "nan", "inf" or "-inf"
 *   long integer, text          text; a character that JSON cannot hold is written \xNN
 *   complex, bytes              text: "1+2j"; hexadecimal digits
 *   tuple, list, set            an array
 *   dict                        an object; keys that are no text as their text
 *   an enum member              its text
 *   an object with fields       an object of its fields
 *   a numpy scalar              a number
 *   a torch or numpy dtype, a device, a path   text
 *   a global                    text: "module.name"
 *   any other call              {"call": "module.name", "args": […], "state": …}
 *   a value that contains itself, where it does: "..."
 * Errors: LIMIT (nested deeper than 400, more than 10^6 values once shared ones are written out),
 * MEMORY. The builder's own failures come out at its finish. */
assay_status assay_pickle_put_json(const assay_pickle *pickle, const assay_pickle_value *value,
                                   assay_json_builder *b, const char *key,
                                   assay_error *err) ASSAY_NODISCARD;

/* A configuration file: a pickled dict, or a pickled object whose fields are the configuration. out
 * gets indented JSON. Errors: IO, FORMAT, UNSUPPORTED (the pickle holds no configuration), LIMIT,
 * MEMORY. */
assay_status assay_config_pickle_read(const char *path, assay_buf *out_json,
                                      assay_error *err) ASSAY_NODISCARD;
assay_status assay_config_pickle_decode(const void *bytes, size_t size_bytes, assay_buf *out_json,
                                        assay_error *err) ASSAY_NODISCARD;

#endif
