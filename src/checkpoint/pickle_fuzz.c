/* Fuzzes the unpickler, and what reads its values: JSON, globals, numpy values. A pickle that is
 * read once is read the same way again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/numpy_value.h"
#include "checkpoint/pickle_describe.h"
#include "checkpoint/pickle_globals.h"
#include "checkpoint/pickle_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_values(const assay_pickle *pickle) {
  const assay_pickle_value *value = assay_pickle_first(pickle);
  for (; value != NULL; value = value->next) {
    char line[96];
    assay_tensor tensor = {0};
    assay_pickle_describe(value, line, sizeof line);
    if (strlen(line) >= sizeof line) abort();
    bool is_numpy = assay_numpy_is_scalar(value) || assay_numpy_is_array(value);
    if (is_numpy && assay_numpy_read(value, &tensor, NULL) == ASSAY_OK) assay_tensor_reset(&tensor);
  }
}

static void list_globals(const assay_pickle *pickle) {
  assay_pickle_globals globals = {0};
  if (assay_pickle_globals_init(pickle, &globals, NULL)) return;
  for (size_t i = 0; i < globals.n; i++) {
    if (globals.items[i].n == 0 || strlen(globals.items[i].module) > SIZE_MAX / 2) abort();
  }
  assay_pickle_globals_reset(&globals);
}

static void write_json(const assay_pickle *pickle) {
  assay_buf text = {.max_bytes = (size_t)64 << 20};
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_array(b, NULL);
  assay_status st = assay_pickle_put_json(pickle, assay_pickle_root(pickle), b, NULL, NULL);
  assay_json_end(b);
  if (!st) st = assay_json_builder_finish(b, &text, NULL);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_pickle_limits limits = {.allow_trailing = true};
  assay_pickle *pickle = NULL, *again = NULL;
  assay_error err = {0};
  if (assay_pickle_parse(data, size, &limits, &pickle, &err)) {
    if (err.text[0] == '\0') abort(); /* a refusal says why */
    return 0;
  }
  if (assay_pickle_parse(data, size, &limits, &again, NULL)) abort();
  if (assay_pickle_count(pickle) != assay_pickle_count(again)) abort();
  read_values(pickle);
  list_globals(pickle);
  write_json(pickle);
  assay_pickle_destroy(pickle);
  assay_pickle_destroy(again);
  return 0;
}
