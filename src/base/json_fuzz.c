/* Any bytes as JSON: refused in one line, or read, walked and written such that reading that gives
 * the same. */
#include "base/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Uses the reading calls on every value; returns how many there are. */
static size_t walk(const assay_json *value) {
  size_t n = 1;
  (void)assay_json_string(value);
  (void)assay_json_int(value);
  (void)assay_json_real(value);
  for (size_t i = 0; i < assay_json_len(value) && i < 64; i++) {
    const char *key = assay_json_key_at(value, i);
    const assay_json *member =
        key != NULL ? assay_json_value_at(value, i) : assay_json_at(value, i);
    if (key != NULL && assay_json_get(value, key) != member) abort();
    n += walk(member);
  }
  return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_json *first = NULL, *second = NULL;
  assay_buf text = {0}, again = {0};
  assay_error err = {0};
  if (assay_json_parse(data, size, &first, &err)) {
    if (err.status == ASSAY_OK || strpbrk(err.text, "\n\r") != NULL) abort();
    return 0;
  }
  if (walk(first) == 0 || assay_json_dump(first, size % 2, &text, &err)) abort();
  if (assay_json_parse(text.data, text.size_bytes, &second, &err)) abort();
  if (assay_json_dump(second, size % 2, &again, &err)) abort();
  if (text.size_bytes != again.size_bytes || memcmp(text.data, again.data, text.size_bytes) != 0)
    abort();
  assay_json_destroy(first);
  assay_json_destroy(second);
  assay_buf_reset(&text);
  assay_buf_reset(&again);
  return 0;
}
