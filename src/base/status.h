/* Statuses and error messages: how every call of assay says that it could not do what was asked.
 *
 * A call that can fail returns an assay_status, zero on success. The words for a person live in an
 * assay_error on the caller's stack: the first failure writes it, later ones leave it alone. */
#ifndef ASSAY_BASE_STATUS_H
#define ASSAY_BASE_STATUS_H

#include <stdarg.h>

#define ASSAY_NODISCARD    __attribute__((warn_unused_result))
#define ASSAY_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* One list gives enumerators, names and texts. */
#define ASSAY_STATUS_LIST(X)                                                                       \
  X(ARGUMENT, "unusable argument or option")                                                       \
  X(FORMAT, "bytes contradict the format they claim")                                              \
  X(UNSUPPORTED, "well-formed, but not something assay does")                                      \
  X(LIMIT, "larger than assay is willing to handle")                                               \
  X(MISSING, "a library, provider or device is not here")                                          \
  X(IO, "the system refused to read or write")                                                     \
  X(DISK, "the disk is full or does not work")                                                     \
  X(MEMORY, "out of memory")                                                                       \
  X(RUNTIME, "the inference runtime refused")                                                      \
  X(WORKER, "a child process died, hung or broke protocol")                                        \
  X(MISMATCH, "two things that must agree do not")                                                 \
  X(STOPPED, "the caller asked to stop")                                                           \
  X(INTERNAL, "a fault of assay's own")

typedef enum assay_status {
  ASSAY_OK = 0,
#define ASSAY_STATUS_ENUM(name, text) ASSAY_E_##name,
  ASSAY_STATUS_LIST(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
} assay_status;

#define ASSAY_ERROR_TEXT_BYTES 2048

typedef struct assay_error {
  assay_status status;               /* ASSAY_OK while nothing failed */
  char text[ASSAY_ERROR_TEXT_BYTES]; /* one line, no full stop, control characters escaped */
} assay_error;

/* Records the first failure in err (may be NULL) and returns status, so that callers can write
 * `return assay_fail(err, ASSAY_E_FORMAT, "...")`. Control characters and new lines that arguments
 * bring along are written as \xNN; a text that does not fit is cut with "...". */
assay_status assay_fail(assay_error *err, assay_status status, const char *format, ...)
    ASSAY_PRINTF(3, 4);

/* As assay_fail, with ": " and the system's words for errnum (an errno) at the end. An IO that is
 * the disk's fault (ENOSPC, EDQUOT, EFBIG, EIO) becomes a DISK, here and in what is returned. */
assay_status assay_fail_errno(assay_error *err, assay_status status, int errnum, const char *format,
                              ...) ASSAY_PRINTF(4, 5);

/* Puts "context: " in front of a recorded failure; does nothing to an error without one. */
void assay_error_in(assay_error *err, const char *format, ...) ASSAY_PRINTF(2, 3);

/* "FORMAT" and "bytes contradict the format they claim" for ASSAY_E_FORMAT; "OK", "success" for 0.
 */
const char *assay_status_name(assay_status status);
const char *assay_status_text(assay_status status);

/* Returns early on failure: only in functions that own nothing at that point. */
#define ASSAY_TRY(call)                                                                            \
  do {                                                                                             \
    assay_status assay_try_status_ = (call);                                                       \
    if (assay_try_status_) return assay_try_status_;                                               \
  } while (0)

#endif
