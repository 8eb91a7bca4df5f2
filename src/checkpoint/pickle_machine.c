/* The pickle machine: one row a opcode, one function a row's effect. The stack, the marks and the
 * memo live here and are gone when STOP is reached; what they held lives in the document's arena.
 *
 * Source: ../shared/specs/torch_checkpoint.md section 3; Python's pickletools.py, whose 68 opcodes
 * of protocols 0 to 5 are all here. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "checkpoint/pickle_parts.h"

#define LINE_BYTES_MAX ((size_t)1 << 16)

typedef assay_pickle_value value;

typedef struct machine {
  assay_pickle *doc;
  const uint8_t *bytes;
  size_t size_bytes;
  size_t at; /* of the next byte to read */
  value **stack;
  size_t n_stack, cap_stack;
  size_t *marks; /* heights of the stack at each open mark */
  size_t n_marks, cap_marks;
  value **memo;                         /* [cap_memo], NULL where nothing was put */
  size_t cap_memo;                      /* at most size_bytes */
  size_t n_memo;                        /* that are put */
  value *none, *yes, *no, *empty_tuple; /* made once, when first needed */
  bool stopped;
} machine;

typedef struct opcode opcode;
struct opcode {
  const char *name; /* NULL: no opcode */
  assay_status (*run)(machine *m, const opcode *op, assay_error *err);
  uint8_t
      width; /* bytes of the number that follows, or of the length before the bytes that follow */
  uint8_t kind; /* assay_pickle_kind it makes, or a count */
};

/* ---- input --------------------------------------------------------------------------------------
 */

static assay_status take(machine *m, uint64_t n, const uint8_t **out, assay_error *err) {
  size_t left = m->size_bytes - m->at;
  if (n > left) {
    return assay_fail(err, ASSAY_E_FORMAT, "%llu bytes expected, %zu are left: truncated",
                      (unsigned long long)n, left);
  }
  *out = m->bytes + m->at;
  m->at += (size_t)n;
  return ASSAY_OK;
}

/* A little-endian number of `width` bytes. */
static assay_status take_number(machine *m, unsigned width, uint64_t *out, assay_error *err) {
  const uint8_t *p = NULL;
  ASSAY_TRY(take(m, width, &p, err));
  uint64_t number = 0;
  for (unsigned i = width; i-- > 0;) number = number << 8 | p[i];
  *out = number;
  return ASSAY_OK;
}

/* Up to, and past, the next line feed. */
static assay_status take_line(machine *m, const char **out, size_t *out_n, assay_error *err) {
  const uint8_t *start = m->bytes + m->at;
  size_t left = m->size_bytes - m->at;
  size_t window = left < LINE_BYTES_MAX ? left : LINE_BYTES_MAX;
  const uint8_t *end = window > 0 ? memchr(start, '\n', window) : NULL;
  if (end == NULL) {
    if (window < left) {
      return assay_fail(err, ASSAY_E_LIMIT, "a line longer than %zu bytes", LINE_BYTES_MAX);
    }
    return assay_fail(err, ASSAY_E_FORMAT, "a line without its end: truncated");
  }
  *out = (const char *)start;
  *out_n = (size_t)(end - start);
  m->at += *out_n + 1;
  return ASSAY_OK;
}

/* ---- stack --------------------------------------------------------------------------------------
 */

/* Doubles an array of the machine, from 64 elements, up to max. */
static assay_status grow(void **array, size_t *cap, size_t elem_bytes, size_t max, const char *what,
                         assay_error *err) {
  if (*cap >= max) return assay_fail(err, ASSAY_E_LIMIT, "more than %zu %s", max, what);
  size_t grown = *cap < 32 ? 64 : *cap * 2;
  if (grown > max) grown = max;
  ASSAY_TRY(assay_resize(array, *cap * elem_bytes, grown * elem_bytes, err));
  *cap = grown;
  return ASSAY_OK;
}

static assay_status grow_stack(machine *m, assay_error *err) {
  void *stack = m->stack;
  ASSAY_TRY(grow(&stack, &m->cap_stack, sizeof *m->stack, m->doc->limits.max_stack,
                 "values on the stack", err));
  m->stack = stack;
  return ASSAY_OK;
}

static assay_status push(machine *m, value *item, assay_error *err) {
  if (m->n_stack == m->cap_stack) ASSAY_TRY(grow_stack(m, err));
  m->stack[m->n_stack++] = item;
  return ASSAY_OK;
}

/* Values above the last open mark, which no opcode but one that takes the mark may go below. */
static size_t reachable(const machine *m) {
  return m->n_stack - (m->n_marks > 0 ? m->marks[m->n_marks - 1] : 0);
}

static assay_status need(const machine *m, size_t n, assay_error *err) {
  if (reachable(m) >= n) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%zu values expected on the stack, found %zu", n,
                    reachable(m));
}

static value *top(const machine *m) {
  return m->stack[m->n_stack - 1];
}

static assay_status pop(machine *m, value **out, assay_error *err) {
  ASSAY_TRY(need(m, 1, err));
  *out = m->stack[--m->n_stack];
  return ASSAY_OK;
}

static assay_status pop_kind(machine *m, assay_pickle_kind kind, const char *what, value **out,
                             assay_error *err) {
  ASSAY_TRY(need(m, 1, err));
  if (top(m)->kind != kind) {
    return assay_fail(err, ASSAY_E_FORMAT, "%s expected to be %s, found %s", what,
                      assay_pickle_kind_name(kind), assay_pickle_kind_name(top(m)->kind));
  }
  return pop(m, out, err);
}

/* Takes the last mark and everything above it: items are at m->stack[m->n_stack …] until the next
 * push. */
static assay_status pop_mark(machine *m, size_t *out_n, assay_error *err) {
  if (m->n_marks == 0) return assay_fail(err, ASSAY_E_FORMAT, "no open mark on the stack");
  size_t base = m->marks[--m->n_marks];
  *out_n = m->n_stack - base;
  m->n_stack = base;
  return ASSAY_OK;
}

static assay_status append(machine *m, assay_pickle_items *items, value *const *from, size_t n,
                           assay_error *err) {
  void *at = items->at;
  ASSAY_TRY(
      pickle_arena_grow(&m->doc->arena, &at, items->n, &items->cap, sizeof *items->at, n, err));
  items->at = at;
  if (n > 0) memcpy(items->at + items->n, from, n * sizeof *from);
  items->n += n;
  return ASSAY_OK;
}

/* from: [2n] keys and values in turn. */
static assay_status set_pairs(machine *m, assay_pickle_pairs *pairs, value *const *from, size_t n,
                              assay_error *err) {
  void *at = pairs->at;
  ASSAY_TRY(
      pickle_arena_grow(&m->doc->arena, &at, pairs->n, &pairs->cap, sizeof *pairs->at, n, err));
  pairs->at = at;
  for (size_t i = 0; i < n; i++) {
    pairs->at[pairs->n++] = (assay_pickle_pair){.key = from[2 * i], .value = from[2 * i + 1]};
  }
  return ASSAY_OK;
}

/* ---- stack opcodes ------------------------------------------------------------------------------
 */

static assay_status run_proto(machine *m, const opcode *op, assay_error *err) {
  uint64_t number = 0;
  (void)op;
  if (m->at != 1) return assay_fail(err, ASSAY_E_FORMAT, "it may only come first");
  ASSAY_TRY(take_number(m, 1, &number, err));
  if (number > 5) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "pickle protocol %u: 0 to 5 are known",
                      (unsigned)number);
  }
  m->doc->protocol = (int)number;
  return ASSAY_OK;
}

static assay_status run_frame(machine *m, const opcode *op, assay_error *err) {
  uint64_t n = 0;
  ASSAY_TRY(take_number(m, op->width, &n, err));
  if (n <= m->size_bytes - m->at) return ASSAY_OK; /* where frames end does not matter to us */
  return assay_fail(err, ASSAY_E_FORMAT, "a frame of %llu bytes, %zu are left: truncated",
                    (unsigned long long)n, m->size_bytes - m->at);
}

static assay_status run_stop(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  if (m->n_marks > 0) return assay_fail(err, ASSAY_E_FORMAT, "a mark is still open");
  if (m->n_stack != 1) {
    return assay_fail(err, ASSAY_E_FORMAT, "exactly one value expected on the stack, found %zu",
                      m->n_stack);
  }
  m->doc->root = top(m);
  m->stopped = true;
  return ASSAY_OK;
}

static assay_status run_mark(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  if (m->n_marks == m->cap_marks) {
    void *marks = m->marks;
    ASSAY_TRY(
        grow(&marks, &m->cap_marks, sizeof *m->marks, m->doc->limits.max_marks, "open marks", err));
    m->marks = marks;
  }
  if (m->stack == NULL) ASSAY_TRY(grow_stack(m, err)); /* what a mark takes has a place, if empty */
  m->marks[m->n_marks++] = m->n_stack;
  return ASSAY_OK;
}

static assay_status run_pop(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  value *gone;
  (void)op;
  if (reachable(m) == 0 && m->n_marks > 0) return pop_mark(m, &n, err);
  return pop(m, &gone, err);
}

static assay_status run_pop_mark(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  (void)op;
  return pop_mark(m, &n, err);
}

static assay_status run_dup(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  ASSAY_TRY(need(m, 1, err));
  return push(m, top(m), err);
}

/* ---- constants and numbers ----------------------------------------------------------------------
 */

/* Pushes *slot, made when it is first needed. */
static assay_status push_shared(machine *m, value **slot, assay_pickle_kind kind, bool boolean,
                                assay_error *err) {
  if (*slot == NULL) {
    ASSAY_TRY(pickle_make(m->doc, kind, slot, err));
    if (kind == ASSAY_PICKLE_BOOL) (*slot)->boolean = boolean;
  }
  return push(m, *slot, err);
}

static assay_status push_bool(machine *m, bool boolean, assay_error *err) {
  return push_shared(m, boolean ? &m->yes : &m->no, ASSAY_PICKLE_BOOL, boolean, err);
}

static assay_status run_none(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  return push_shared(m, &m->none, ASSAY_PICKLE_NONE, /*boolean=*/false, err);
}

/* NEWTRUE and NEWFALSE: op->kind is the truth. */
static assay_status run_bool(machine *m, const opcode *op, assay_error *err) {
  return push_bool(m, op->kind != 0, err);
}

/* BININT is signed, its shorter forms are not. */
static assay_status run_binint(machine *m, const opcode *op, assay_error *err) {
  uint64_t number = 0;
  value *made;
  ASSAY_TRY(take_number(m, op->width, &number, err));
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_INT, &made, err));
  made->integer = op->width == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
  return push(m, made, err);
}

static assay_status run_int(machine *m, const opcode *op, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  value *made;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  if (n == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1')) {
    return push_bool(m, line[1] == '1', err); /* protocol 0 writes True and False so */
  }
  ASSAY_TRY(pickle_make_decimal(m->doc, line, n, &made, err));
  return push(m, made, err);
}

static assay_status run_long(machine *m, const opcode *op, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  value *made;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  if (n > 0 && line[n - 1] == 'L') n--;
  ASSAY_TRY(pickle_make_decimal(m->doc, line, n, &made, err));
  return push(m, made, err);
}

static assay_status run_binlong(machine *m, const opcode *op, assay_error *err) {
  uint64_t n = 0;
  const uint8_t *bytes = NULL;
  value *made;
  ASSAY_TRY(take_number(m, op->width, &n, err));
  if (op->width == 4 && n > INT32_MAX) {
    return assay_fail(err, ASSAY_E_FORMAT, "a negative length, %d", (int)(int32_t)(uint32_t)n);
  }
  ASSAY_TRY(take(m, n, &bytes, err));
  ASSAY_TRY(pickle_make_twos(m->doc, bytes, (size_t)n, &made, err));
  return push(m, made, err);
}

/* The non-finite reals as Python writes them; everything else is a decimal number. */
static assay_status read_real(const char *text, double *out, assay_error *err) {
  static const struct {
    const char *word;
    double real;
  } words[] = {{"inf", (double)__builtin_inff()},
               {"-inf", -(double)__builtin_inff()},
               {"nan", (double)__builtin_nanf("")},
               {"-nan", (double)__builtin_nanf("")}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i].word) == 0) {
      *out = words[i].real;
      return ASSAY_OK;
    }
  }
  if (assay_text_parse_real(text, "a real", -__DBL_MAX__, __DBL_MAX__, out, NULL)) {
    return assay_fail(err, ASSAY_E_FORMAT, "a decimal number expected, found '%.40s'", text);
  }
  return ASSAY_OK;
}

static assay_status run_float(machine *m, const opcode *op, assay_error *err) {
  char text[512];
  const char *line = NULL;
  size_t n = 0;
  value *made;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  if (n >= sizeof text || memchr(line, '\0', n) != NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "a decimal number expected, found %zu other bytes", n);
  }
  memcpy(text, line, n);
  text[n] = '\0';
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_REAL, &made, err));
  ASSAY_TRY(read_real(text, &made->real, err));
  return push(m, made, err);
}

static assay_status run_binfloat(machine *m, const opcode *op, assay_error *err) {
  const uint8_t *p = NULL;
  value *made;
  ASSAY_TRY(take(m, op->width, &p, err));
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_REAL, &made, err));
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | p[i]; /* big-endian, alone among the numbers */
  memcpy(&made->real, &bits, sizeof made->real);
  return push(m, made, err);
}

/* ---- text and bytes -----------------------------------------------------------------------------
 */

/* A length of op->width bytes, then as many bytes. */
static assay_status take_counted(machine *m, const opcode *op, const uint8_t **out, size_t *out_n,
                                 assay_error *err) {
  uint64_t n = 0;
  ASSAY_TRY(take_number(m, op->width, &n, err));
  ASSAY_TRY(take(m, n, out, err));
  *out_n = (size_t)n;
  return ASSAY_OK;
}

static assay_status push_text(machine *m, assay_pickle_kind kind, const void *bytes, size_t n,
                              assay_error *err) {
  value *made;
  ASSAY_TRY(pickle_make_text(m->doc, kind, bytes, n, &made, err));
  return push(m, made, err);
}

static assay_status run_bytes(machine *m, const opcode *op, assay_error *err) {
  const uint8_t *bytes = NULL;
  size_t n = 0;
  ASSAY_TRY(take_counted(m, op, &bytes, &n, err));
  return push_text(m, ASSAY_PICKLE_BYTES, bytes, n, err);
}

static assay_status run_unicode(machine *m, const opcode *op, assay_error *err) {
  const uint8_t *bytes = NULL;
  size_t n = 0;
  ASSAY_TRY(take_counted(m, op, &bytes, &n, err));
  if (!pickle_is_text(bytes, n)) return assay_fail(err, ASSAY_E_FORMAT, "text that is not UTF-8");
  return push_text(m, ASSAY_PICKLE_TEXT, bytes, n, err);
}

/* Python 2 strings: text where they can be. */
static assay_status run_binstring(machine *m, const opcode *op, assay_error *err) {
  const uint8_t *bytes = NULL;
  size_t n = 0;
  ASSAY_TRY(take_counted(m, op, &bytes, &n, err));
  bool is_text = pickle_is_text(bytes, n);
  return push_text(m, is_text ? ASSAY_PICKLE_TEXT : ASSAY_PICKLE_BYTES, bytes, n, err);
}

static assay_status run_string(machine *m, const opcode *op, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  value *made;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  ASSAY_TRY(pickle_make_quoted(m->doc, line, n, &made, err));
  return push(m, made, err);
}

static assay_status run_unicode_line(machine *m, const opcode *op, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  value *made;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  ASSAY_TRY(pickle_make_escaped(m->doc, line, n, &made, err));
  return push(m, made, err);
}

/* ---- containers ---------------------------------------------------------------------------------
 */

/* EMPTY_LIST, EMPTY_DICT, EMPTY_SET. */
static assay_status run_empty(machine *m, const opcode *op, assay_error *err) {
  value *made;
  ASSAY_TRY(pickle_make(m->doc, op->kind, &made, err));
  return push(m, made, err);
}

static assay_status run_empty_tuple(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  return push_shared(m, &m->empty_tuple, ASSAY_PICKLE_TUPLE, /*boolean=*/false, err);
}

/* LIST, TUPLE, FROZENSET: of the items since the mark. */
static assay_status run_marked_items(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  value *made;
  ASSAY_TRY(pop_mark(m, &n, err));
  ASSAY_TRY(pickle_make(m->doc, op->kind, &made, err));
  ASSAY_TRY(append(m, &made->items, m->stack + m->n_stack, n, err));
  return push(m, made, err);
}

static assay_status run_marked_dict(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  value *made;
  ASSAY_TRY(pop_mark(m, &n, err));
  if (n % 2 != 0) return assay_fail(err, ASSAY_E_FORMAT, "%zu values for keys and values", n);
  ASSAY_TRY(pickle_make(m->doc, op->kind, &made, err));
  ASSAY_TRY(set_pairs(m, &made->pairs, m->stack + m->n_stack, n / 2, err));
  return push(m, made, err);
}

/* TUPLE1 to TUPLE3: op->kind is the count. */
static assay_status run_short_tuple(machine *m, const opcode *op, assay_error *err) {
  value *made;
  size_t n = op->kind;
  ASSAY_TRY(need(m, n, err));
  m->n_stack -= n;
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_TUPLE, &made, err));
  ASSAY_TRY(append(m, &made->items, m->stack + m->n_stack, n, err));
  return push(m, made, err);
}

/* Where appended items go: into a list, or beside an object that is one. */
static assay_status items_of(value *to, assay_pickle_items **out, assay_error *err) {
  if (to->kind == ASSAY_PICKLE_LIST)
    *out = &to->items;
  else if (to->kind == ASSAY_PICKLE_CALL)
    *out = &to->call->items;
  else {
    return assay_fail(err, ASSAY_E_FORMAT, "a list expected to append to, found %s",
                      assay_pickle_kind_name(to->kind));
  }
  return ASSAY_OK;
}

static assay_status pairs_of(value *to, assay_pickle_pairs **out, assay_error *err) {
  if (to->kind == ASSAY_PICKLE_DICT)
    *out = &to->pairs;
  else if (to->kind == ASSAY_PICKLE_CALL)
    *out = &to->call->pairs;
  else {
    return assay_fail(err, ASSAY_E_FORMAT, "a dict expected to set items in, found %s",
                      assay_pickle_kind_name(to->kind));
  }
  return ASSAY_OK;
}

static assay_status run_append(machine *m, const opcode *op, assay_error *err) {
  assay_pickle_items *items = NULL;
  (void)op;
  ASSAY_TRY(need(m, 2, err));
  m->n_stack--;
  ASSAY_TRY(items_of(top(m), &items, err));
  return append(m, items, m->stack + m->n_stack, 1, err);
}

static assay_status run_appends(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  assay_pickle_items *items = NULL;
  (void)op;
  ASSAY_TRY(pop_mark(m, &n, err));
  ASSAY_TRY(need(m, 1, err));
  ASSAY_TRY(items_of(top(m), &items, err));
  return append(m, items, m->stack + m->n_stack, n, err);
}

static assay_status run_additems(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  (void)op;
  ASSAY_TRY(pop_mark(m, &n, err));
  ASSAY_TRY(need(m, 1, err));
  if (top(m)->kind != ASSAY_PICKLE_SET) {
    return assay_fail(err, ASSAY_E_FORMAT, "a set expected to add to, found %s",
                      assay_pickle_kind_name(top(m)->kind));
  }
  return append(m, &top(m)->items, m->stack + m->n_stack, n, err);
}

static assay_status run_setitem(machine *m, const opcode *op, assay_error *err) {
  assay_pickle_pairs *pairs = NULL;
  (void)op;
  ASSAY_TRY(need(m, 3, err));
  m->n_stack -= 2;
  ASSAY_TRY(pairs_of(top(m), &pairs, err));
  return set_pairs(m, pairs, m->stack + m->n_stack, 1, err);
}

static assay_status run_setitems(machine *m, const opcode *op, assay_error *err) {
  size_t n = 0;
  assay_pickle_pairs *pairs = NULL;
  (void)op;
  ASSAY_TRY(pop_mark(m, &n, err));
  if (n % 2 != 0) return assay_fail(err, ASSAY_E_FORMAT, "%zu values for keys and values", n);
  ASSAY_TRY(need(m, 1, err));
  ASSAY_TRY(pairs_of(top(m), &pairs, err));
  return set_pairs(m, pairs, m->stack + m->n_stack, n / 2, err);
}

/* ---- memo ---------------------------------------------------------------------------------------
 */

static assay_status memo_get(machine *m, uint64_t index, assay_error *err) {
  if (index >= m->cap_memo || m->memo[index] == NULL) {
    return assay_fail(err, ASSAY_E_FORMAT, "memo entry %llu was never put",
                      (unsigned long long)index);
  }
  return push(m, m->memo[index], err);
}

static assay_status memo_put(machine *m, uint64_t index, assay_error *err) {
  ASSAY_TRY(need(m, 1, err));
  if (index >= m->size_bytes) { /* pickles count up from 0, an entry takes a byte at least */
    return assay_fail(err, ASSAY_E_LIMIT, "memo index %llu in a pickle of %zu bytes",
                      (unsigned long long)index, m->size_bytes);
  }
  while (index >= m->cap_memo) {
    size_t max = m->size_bytes;
    if (max > m->doc->limits.max_memo) max = m->doc->limits.max_memo;
    void *memo = m->memo;
    ASSAY_TRY(grow(&memo, &m->cap_memo, sizeof *m->memo, max, "memo entries", err));
    m->memo = memo;
  }
  if (m->memo[index] == NULL) m->n_memo++;
  m->memo[index] = top(m);
  return ASSAY_OK;
}

/* The index of GET and PUT, in decimal. */
static assay_status take_index_line(machine *m, uint64_t *out, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  ASSAY_TRY(take_line(m, &line, &n, err));
  uint64_t index = 0;
  bool good = n > 0 && n <= 18;
  for (size_t i = 0; good && i < n; i++) {
    good = line[i] >= '0' && line[i] <= '9';
    index = index * 10 + (uint64_t)(line[i] - '0');
  }
  if (!good) return assay_fail(err, ASSAY_E_FORMAT, "a memo index expected in decimal");
  *out = index;
  return ASSAY_OK;
}

static assay_status run_get(machine *m, const opcode *op, assay_error *err) {
  uint64_t index = 0;
  ASSAY_TRY(op->width == 0 ? take_index_line(m, &index, err)
                           : take_number(m, op->width, &index, err));
  return memo_get(m, index, err);
}

static assay_status run_put(machine *m, const opcode *op, assay_error *err) {
  uint64_t index = 0;
  ASSAY_TRY(op->width == 0 ? take_index_line(m, &index, err)
                           : take_number(m, op->width, &index, err));
  return memo_put(m, index, err);
}

static assay_status run_memoize(machine *m, const opcode *op, assay_error *err) {
  (void)op;
  return memo_put(m, m->n_memo, err);
}

/* ---- globals, calls, objects --------------------------------------------------------------------
 */

static assay_status make_global(machine *m, const char *module, size_t n_module, const char *name,
                                size_t n_name, value **out, assay_error *err) {
  void *text;
  if (memchr(module, '\0', n_module) != NULL || memchr(name, '\0', n_name) != NULL ||
      !pickle_is_text(module, n_module) || !pickle_is_text(name, n_name)) {
    return assay_fail(err, ASSAY_E_FORMAT, "a global whose name is not text");
  }
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_GLOBAL, out, err));
  ASSAY_TRY(pickle_arena_take(&m->doc->arena, n_module + n_name + 2, &text, err));
  char *to = text;
  memcpy(to, module, n_module); /* zeroes follow each */
  memcpy(to + n_module + 1, name, n_name);
  (*out)->global.module = to;
  (*out)->global.name = to + n_module + 1;
  return ASSAY_OK;
}

/* GLOBAL and INST name what they want on two lines. */
static assay_status take_global(machine *m, value **out, assay_error *err) {
  const char *module = NULL, *name = NULL;
  size_t n_module = 0, n_name = 0;
  ASSAY_TRY(take_line(m, &module, &n_module, err));
  ASSAY_TRY(take_line(m, &name, &n_name, err));
  return make_global(m, module, n_module, name, n_name, out, err);
}

static assay_status run_global(machine *m, const opcode *op, assay_error *err) {
  value *made;
  (void)op;
  ASSAY_TRY(take_global(m, &made, err));
  return push(m, made, err);
}

static assay_status run_stack_global(machine *m, const opcode *op, assay_error *err) {
  value *module, *name, *made;
  (void)op;
  ASSAY_TRY(pop_kind(m, ASSAY_PICKLE_TEXT, "a global's name", &name, err));
  ASSAY_TRY(pop_kind(m, ASSAY_PICKLE_TEXT, "a global's module", &module, err));
  ASSAY_TRY(make_global(m, module->text.data, module->text.size_bytes, name->text.data,
                        name->text.size_bytes, &made, err));
  return push(m, made, err);
}

static assay_status push_call(machine *m, value *callable, value *args, value *kwargs,
                              bool is_instance, assay_error *err) {
  value *made;
  void *call;
  if (callable->kind != ASSAY_PICKLE_GLOBAL && callable->kind != ASSAY_PICKLE_CALL &&
      callable->kind != ASSAY_PICKLE_PERSISTENT) {
    return assay_fail(err, ASSAY_E_FORMAT, "something to call expected, found %s",
                      assay_pickle_kind_name(callable->kind));
  }
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_CALL, &made, err));
  ASSAY_TRY(pickle_arena_take(&m->doc->arena, sizeof *made->call, &call, err));
  made->call = call;
  made->call->callable = callable;
  made->call->args = args;
  made->call->kwargs = kwargs;
  made->call->is_instance = is_instance;
  return push(m, made, err);
}

/* REDUCE and NEWOBJ: op->kind says whether it is an instance. */
static assay_status run_reduce(machine *m, const opcode *op, assay_error *err) {
  value *args, *callable;
  ASSAY_TRY(pop_kind(m, ASSAY_PICKLE_TUPLE, "the arguments", &args, err));
  ASSAY_TRY(pop(m, &callable, err));
  return push_call(m, callable, args, /*kwargs=*/NULL, op->kind != 0, err);
}

static assay_status run_newobj_ex(machine *m, const opcode *op, assay_error *err) {
  value *kwargs, *args, *class;
  (void)op;
  ASSAY_TRY(pop_kind(m, ASSAY_PICKLE_DICT, "the named arguments", &kwargs, err));
  ASSAY_TRY(pop_kind(m, ASSAY_PICKLE_TUPLE, "the arguments", &args, err));
  ASSAY_TRY(pop(m, &class, err));
  return push_call(m, class, args, kwargs, /*is_instance=*/true, err);
}

/* INST and OBJ (which has the class behind the mark): the arguments are the items since the mark.
 */
static assay_status run_instance(machine *m, const opcode *op, assay_error *err) {
  value *class = NULL, *args;
  size_t n = 0, n_class = op->kind;
  if (n_class == 0) ASSAY_TRY(take_global(m, &class, err));
  ASSAY_TRY(pop_mark(m, &n, err));
  value **items = m->stack + m->n_stack;
  if (n < n_class) return assay_fail(err, ASSAY_E_FORMAT, "no class behind the mark");
  if (n_class != 0) class = items[0];
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_TUPLE, &args, err));
  ASSAY_TRY(append(m, &args->items, items + n_class, n - n_class, err));
  return push_call(m, class, args, /*kwargs=*/NULL, /*is_instance=*/true, err);
}

static assay_status run_build(machine *m, const opcode *op, assay_error *err) {
  value *state;
  (void)op;
  ASSAY_TRY(need(m, 2, err));
  ASSAY_TRY(pop(m, &state, err));
  if (top(m)->kind != ASSAY_PICKLE_CALL) {
    return assay_fail(err, ASSAY_E_FORMAT, "an object expected to give a state to, found %s",
                      assay_pickle_kind_name(top(m)->kind));
  }
  if (top(m)->call->state != NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "a second state for one object");
  }
  top(m)->call->state = state;
  return ASSAY_OK;
}

static assay_status run_binpersid(machine *m, const opcode *op, assay_error *err) {
  value *id, *made;
  (void)op;
  ASSAY_TRY(pop(m, &id, err));
  ASSAY_TRY(pickle_make(m->doc, ASSAY_PICKLE_PERSISTENT, &made, err));
  made->persistent = id;
  return push(m, made, err);
}

static assay_status run_persid(machine *m, const opcode *op, assay_error *err) {
  const char *line = NULL;
  size_t n = 0;
  (void)op;
  ASSAY_TRY(take_line(m, &line, &n, err));
  return assay_fail(err, ASSAY_E_UNSUPPORTED,
                    "a persistent id as text (protocol 0), which PyTorch cannot load either: save "
                    "again with the default protocol");
}

static assay_status run_extension(machine *m, const opcode *op, assay_error *err) {
  uint64_t code;
  ASSAY_TRY(take_number(m, op->width, &code, err));
  return assay_fail(err, ASSAY_E_UNSUPPORTED, "code %llu of the writer's extension registry",
                    (unsigned long long)code);
}

static assay_status run_buffer(machine *m, const opcode *op, assay_error *err) {
  (void)m;
  (void)op;
  return assay_fail(err, ASSAY_E_UNSUPPORTED, "a buffer kept outside the pickle");
}

/* ---- the table ----------------------------------------------------------------------------------
 */

#define LIST_  ASSAY_PICKLE_LIST
#define TUPLE_ ASSAY_PICKLE_TUPLE
#define DICT_  ASSAY_PICKLE_DICT
#define SET_   ASSAY_PICKLE_SET

static const opcode opcodes[256] = {
    /* stack and frame */
    [0x80] = {"PROTO", run_proto, 1, 0},
    [0x95] = {"FRAME", run_frame, 8, 0},
    ['.'] = {"STOP", run_stop, 0, 0},
    ['('] = {"MARK", run_mark, 0, 0},
    ['0'] = {"POP", run_pop, 0, 0},
    ['1'] = {"POP_MARK", run_pop_mark, 0, 0},
    ['2'] = {"DUP", run_dup, 0, 0},
    /* constants and numbers */
    ['N'] = {"NONE", run_none, 0, 0},
    [0x88] = {"NEWTRUE", run_bool, 0, 1},
    [0x89] = {"NEWFALSE", run_bool, 0, 0},
    ['I'] = {"INT", run_int, 0, 0},
    ['L'] = {"LONG", run_long, 0, 0},
    ['J'] = {"BININT", run_binint, 4, 0},
    ['K'] = {"BININT1", run_binint, 1, 0},
    ['M'] = {"BININT2", run_binint, 2, 0},
    [0x8a] = {"LONG1", run_binlong, 1, 0},
    [0x8b] = {"LONG4", run_binlong, 4, 0},
    ['F'] = {"FLOAT", run_float, 0, 0},
    ['G'] = {"BINFLOAT", run_binfloat, 8, 0},
    /* text and bytes */
    ['S'] = {"STRING", run_string, 0, 0},
    ['T'] = {"BINSTRING", run_binstring, 4, 0},
    ['U'] = {"SHORT_BINSTRING", run_binstring, 1, 0},
    ['V'] = {"UNICODE", run_unicode_line, 0, 0},
    ['X'] = {"BINUNICODE", run_unicode, 4, 0},
    [0x8c] = {"SHORT_BINUNICODE", run_unicode, 1, 0},
    [0x8d] = {"BINUNICODE8", run_unicode, 8, 0},
    ['B'] = {"BINBYTES", run_bytes, 4, 0},
    ['C'] = {"SHORT_BINBYTES", run_bytes, 1, 0},
    [0x8e] = {"BINBYTES8", run_bytes, 8, 0},
    [0x96] = {"BYTEARRAY8", run_bytes, 8, 0},
    [0x97] = {"NEXT_BUFFER", run_buffer, 0, 0},
    [0x98] = {"READONLY_BUFFER", run_buffer, 0, 0},
    /* containers */
    [']'] = {"EMPTY_LIST", run_empty, 0, LIST_},
    ['l'] = {"LIST", run_marked_items, 0, LIST_},
    ['a'] = {"APPEND", run_append, 0, 0},
    ['e'] = {"APPENDS", run_appends, 0, 0},
    [')'] = {"EMPTY_TUPLE", run_empty_tuple, 0, 0},
    ['t'] = {"TUPLE", run_marked_items, 0, TUPLE_},
    [0x85] = {"TUPLE1", run_short_tuple, 0, 1},
    [0x86] = {"TUPLE2", run_short_tuple, 0, 2},
    [0x87] = {"TUPLE3", run_short_tuple, 0, 3},
    ['}'] = {"EMPTY_DICT", run_empty, 0, DICT_},
    ['d'] = {"DICT", run_marked_dict, 0, DICT_},
    ['s'] = {"SETITEM", run_setitem, 0, 0},
    ['u'] = {"SETITEMS", run_setitems, 0, 0},
    [0x8f] = {"EMPTY_SET", run_empty, 0, SET_},
    [0x90] = {"ADDITEMS", run_additems, 0, 0},
    [0x91] = {"FROZENSET", run_marked_items, 0, SET_},
    /* memo */
    ['g'] = {"GET", run_get, 0, 0},
    ['h'] = {"BINGET", run_get, 1, 0},
    ['j'] = {"LONG_BINGET", run_get, 4, 0},
    ['p'] = {"PUT", run_put, 0, 0},
    ['q'] = {"BINPUT", run_put, 1, 0},
    ['r'] = {"LONG_BINPUT", run_put, 4, 0},
    [0x94] = {"MEMOIZE", run_memoize, 0, 0},
    /* globals, calls, objects: kept, never made */
    ['c'] = {"GLOBAL", run_global, 0, 0},
    [0x93] = {"STACK_GLOBAL", run_stack_global, 0, 0},
    ['R'] = {"REDUCE", run_reduce, 0, 0},
    [0x81] = {"NEWOBJ", run_reduce, 0, 1},
    [0x92] = {"NEWOBJ_EX", run_newobj_ex, 0, 0},
    ['i'] = {"INST", run_instance, 0, 0},
    ['o'] = {"OBJ", run_instance, 0, 1},
    ['b'] = {"BUILD", run_build, 0, 0},
    ['Q'] = {"BINPERSID", run_binpersid, 0, 0},
    ['P'] = {"PERSID", run_persid, 0, 0},
    [0x82] = {"EXT1", run_extension, 1, 0},
    [0x83] = {"EXT2", run_extension, 2, 0},
    [0x84] = {"EXT4", run_extension, 4, 0},
};

const char *assay_pickle_opcode_name(uint8_t byte) {
  return opcodes[byte].name;
}

static assay_status run_all(machine *m, assay_error *err) {
  while (!m->stopped) {
    size_t at = m->at;
    if (at == m->size_bytes) {
      return assay_fail(err, ASSAY_E_FORMAT, "byte %zu: the pickle ends without STOP: truncated",
                        at);
    }
    const opcode *op = &opcodes[m->bytes[m->at++]];
    if (op->name == NULL) {
      return assay_fail(err, ASSAY_E_FORMAT, "byte %zu: 0x%02x is no pickle opcode", at,
                        m->bytes[at]);
    }
    assay_status st = op->run(m, op, err);
    if (st) {
      assay_error_in(err, "byte %zu, opcode %s", at, op->name);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status pickle_run(assay_pickle *doc, const uint8_t *bytes, size_t size_bytes,
                        assay_error *err) {
  machine m = {.doc = doc, .bytes = bytes, .size_bytes = size_bytes};
  assay_status st = run_all(&m, err);
  doc->used_bytes = m.at;
  assay_free(m.stack);
  assay_free(m.marks);
  assay_free(m.memo);
  return st;
}
