/* A pickle as inert data: protocols 0 to 5 are decoded into a tree of values, and nothing is ever
 * looked up, imported or called. A global is a pair of names; a call is its callable and its
 * arguments, kept.
 *
 * Cost, whatever the bytes: time O(n log n) and memory at most the limits below, for n bytes of
 * pickle. Source: ../shared/specs/torch_checkpoint.md sections 3 and 4; Python's pickletools.py. */
#ifndef ASSAY_CHECKPOINT_PICKLE_H
#define ASSAY_CHECKPOINT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum assay_pickle_kind {
  ASSAY_PICKLE_NONE,
  ASSAY_PICKLE_BOOL,
  ASSAY_PICKLE_INT,    /* fits 64 bits */
  ASSAY_PICKLE_BIGINT, /* does not: decimal digits in text */
  ASSAY_PICKLE_REAL,
  ASSAY_PICKLE_COMPLEX,
  ASSAY_PICKLE_TEXT,  /* UTF-8; lone surrogates in their three-byte form may occur */
  ASSAY_PICKLE_BYTES, /* bytes, bytearray, and Python 2 strings that are not UTF-8 */
  ASSAY_PICKLE_TUPLE,
  ASSAY_PICKLE_LIST,
  ASSAY_PICKLE_SET,    /* also frozenset */
  ASSAY_PICKLE_DICT,   /* also OrderedDict, defaultdict and Counter (see call) */
  ASSAY_PICKLE_GLOBAL, /* module and name */
  ASSAY_PICKLE_CALL,   /* callable(*args), or an instance of a class, with what was put into it */
  ASSAY_PICKLE_PERSISTENT /* persistent id: what the file's own scheme resolves */
} assay_pickle_kind;

typedef struct assay_pickle_value assay_pickle_value;

typedef struct assay_pickle_pair {
  assay_pickle_value *key;
  assay_pickle_value *value;
} assay_pickle_pair;

typedef struct assay_pickle_text {
  const char *data; /* followed by a zero byte, and may hold others */
  size_t size_bytes;
} assay_pickle_text;

typedef struct assay_pickle_items {
  assay_pickle_value **at; /* [n] */
  size_t n;
  size_t cap;
} assay_pickle_items;

typedef struct assay_pickle_pairs {
  assay_pickle_pair *at; /* [n]; keys are unique, in order of first insertion, the last value won */
  size_t n;
  size_t cap;
} assay_pickle_pairs;

/* What a REDUCE, NEWOBJ, INST or OBJ asked for. */
typedef struct assay_pickle_call {
  assay_pickle_value *callable; /* a GLOBAL, or a CALL or PERSISTENT that would give one */
  assay_pickle_value *args;     /* a TUPLE */
  assay_pickle_value *kwargs;   /* a DICT, or NULL */
  assay_pickle_value *state;    /* of BUILD, or NULL */
  bool is_instance;             /* callable is a class whose instance was made without a call */
  assay_pickle_items items;     /* appended to it */
  assay_pickle_pairs pairs;     /* set in it */
} assay_pickle_call;

struct assay_pickle_value {
  uint8_t kind;    /* assay_pickle_kind */
  uint8_t marks;   /* private to the room */
  uint32_t id;     /* 0, 1, 2 … in order of making; below assay_pickle_count */
  uint32_t rank;   /* private to the room */
  uint32_t height; /* values below it on the longest way down (cycles left out); 0 for a leaf */
  assay_pickle_value *next; /* the one made after it */
  assay_pickle_call *call;  /* CALL; and the call that a TUPLE, LIST, SET, DICT, BYTES or COMPLEX
                               came  from (OrderedDict's attributes are its state), else NULL */
  union {
    bool boolean;
    int64_t integer;
    double real;
    struct {
      double re, im;
    } complex;
    assay_pickle_text text;   /* BIGINT, TEXT, BYTES */
    assay_pickle_items items; /* TUPLE, LIST, SET */
    assay_pickle_pairs pairs; /* DICT */
    struct {
      const char *module, *name; /* as written; see assay_pickle_is_global */
    } global;
    assay_pickle_value *persistent; /* the id */
  };
};

/* Zero members mean the defaults. */
typedef struct assay_pickle_limits {
  size_t max_input_bytes; /* 256 MiB, at most 4 GiB */
  size_t max_values;      /* 10^7 */
  size_t max_value_bytes; /* of all values; 96 a byte of input and 1 MiB, at most 2 GiB */
  size_t max_stack;       /* 10^6 */
  size_t max_marks;       /* 10^4 */
  size_t max_memo;        /* 10^7; an index never exceeds the number of input bytes */
  size_t max_depth;       /* 1000: nesting of the result */
  bool allow_trailing;    /* bytes may follow STOP */
} assay_pickle_limits;

typedef struct assay_pickle assay_pickle;

/* Decodes the pickle at the start of bytes, which need not outlive the call. limits may be NULL.
 * With the limits' allow_trailing, assay_pickle_used_bytes says where the pickle ended. Errors:
 * FORMAT (byte offset and opcode), UNSUPPORTED (extension registry, out-of-band buffers, text
 * persistent ids), LIMIT (which), MEMORY. */
assay_status assay_pickle_parse(const void *bytes, size_t size_bytes,
                                const assay_pickle_limits *limits, assay_pickle **out,
                                assay_error *err) ASSAY_NODISCARD;
void assay_pickle_destroy(assay_pickle *pickle);

/* Borrowed from the pickle, as is everything below it. Values are shared as they were in Python and
 * may contain themselves: whoever walks them bounds the depth (height does, unless is_cyclic) and
 * the number of visits (sharing can make a small pickle an exponentially large tree). */
const assay_pickle_value *assay_pickle_root(const assay_pickle *pickle);
size_t assay_pickle_count(const assay_pickle *pickle);                    /* of values made */
const assay_pickle_value *assay_pickle_first(const assay_pickle *pickle); /* then next; or NULL */
size_t assay_pickle_used_bytes(const assay_pickle *pickle);               /* of input, with STOP */
int assay_pickle_protocol(const assay_pickle *pickle);         /* 0 where none is named */
bool assay_pickle_is_cyclic(const assay_pickle *pickle);       /* a value contains itself */
size_t assay_pickle_repeated_keys(const assay_pickle *pickle); /* dict entries overwritten */

/* "a list", "a call", … */
const char *assay_pickle_kind_name(assay_pickle_kind kind);

/* Name of opcode byte, "BINPUT", or NULL where no protocol has it. */
const char *assay_pickle_opcode_name(uint8_t byte);

/* The value under a text key, or NULL; dict may be of any kind. */
const assay_pickle_value *assay_pickle_get(const assay_pickle_value *dict, const char *key);

/* True for a TEXT that equals text. */
bool assay_pickle_is_text(const assay_pickle_value *value, const char *text);

/* True for the GLOBAL of that module and name, where old module names stand for their new ones
 * (assay_pickle_same_module). */
bool assay_pickle_is_global(const assay_pickle_value *value, const char *module, const char *name);

/* True for a CALL, or for a container that came from one, of that global. */
bool assay_pickle_is_call(const assay_pickle_value *value, const char *module, const char *name);

/* True when a module as written in a pickle is the known one, or an older or newer name of it:
 * "__builtin__" is "builtins", "copy_reg" "copyreg", "numpy._core.x" "numpy.core.x", "torch.tensor"
 * "torch._tensor". */
bool assay_pickle_same_module(const char *written, const char *known);

#endif
