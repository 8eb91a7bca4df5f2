/* The runtime's own words, made fit for one line that reads the same on another machine. */
#ifndef ASSAY_RUNTIME_ORT_WORDS_H
#define ASSAY_RUNTIME_ORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* First line of a message of ONNX Runtime that says something, and where it ends in a colon what it
 * announces, without the marks of the build and
 * the machine: source file and line with the C++ signature behind them, the mark of the form
 * "[ONNXRuntimeError] : 1 : FAIL : ", and the fields hostname, file and line of device errors.
 * `out` always ends in a zero; what does not fit is cut. */
void assay_ort_words(const char *message, char *out, size_t out_bytes);

/* True when the words say that a provider's library, driver or device is not there. */
bool assay_ort_words_mean_missing(const char *words);

#endif
