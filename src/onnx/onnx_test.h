/* What the tests of this room share: models, written field by field as protobuf has them. */
#ifndef ASSAY_ONNX_ONNX_TEST_H
#define ASSAY_ONNX_ONNX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static inline void put(assay_buf *to, const void *bytes, size_t n) {
  assay_error err = {0};
  if (assay_buf_append(to, bytes, n, &err)) fail_msg("%s", err.text);
}

static inline void put_varint(assay_buf *to, uint64_t value) {
  do {
    uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    put(to, &byte, 1);
    value >>= 7;
  } while (value > 0);
}

static inline void put_bytes(assay_buf *to, unsigned field, const void *bytes, size_t n) {
  put_varint(to, (uint64_t)field << 3 | 2);
  put_varint(to, n);
  if (n > 0) put(to, bytes, n);
}

/* A length-delimited field with the bytes of body, which is emptied. */
static inline void put_message(assay_buf *to, unsigned field, assay_buf *body) {
  put_bytes(to, field, body->data, body->size_bytes);
  assay_buf_reset(body);
}

static inline void put_text(assay_buf *to, unsigned field, const char *text) {
  put_bytes(to, field, text, strlen(text));
}

static inline void put_int(assay_buf *to, unsigned field, uint64_t value) {
  put_varint(to, (uint64_t)field << 3);
  put_varint(to, value);
}

/* A model of IR 9, opset 20, around a graph, which is emptied. */
static inline void put_model(assay_buf *to, assay_buf *graph) {
  assay_buf opset = {0};
  put_int(to, 1, 9);
  put_int(&opset, 2, 20);
  put_message(to, 7, graph);
  put_message(to, 8, &opset);
}

#endif
