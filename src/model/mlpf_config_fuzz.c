/* Any bytes as the JSON of a model's configuration: refused in one line, or read such that what is
 * written of it gives the same configuration back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/mlpf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static assay_status read_tree(const void *text, size_t size, const char *key,
                              assay_mlpf_config *out, assay_error *err) {
  assay_json *tree = NULL;
  assay_status st = assay_json_parse(text, size, &tree, err);
  if (!st) {
    const assay_json *at = key != NULL ? assay_json_get(tree, key) : tree;
    st = assay_mlpf_config_parse(at, /*arch=*/NULL, out, err);
  }
  assay_json_destroy(tree);
  return st;
}

static void write_tree(const assay_mlpf_config *config, assay_buf *text) {
  assay_json_builder *b = assay_json_builder_create();
  if (b == NULL) abort();
  assay_json_begin_object(b, NULL);
  assay_mlpf_config_put(config, b, "config");
  assay_json_end(b);
  if (assay_json_builder_finish(b, text, /*err=*/NULL)) abort();
  assay_json_builder_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  assay_mlpf_config config = {0}, again = {0};
  assay_buf text = {0}, text_again = {0};
  assay_error err = {0};
  if (read_tree(data, size, /*key=*/NULL, &config, &err)) {
    if (err.status == ASSAY_OK || strpbrk(err.text, "\n\r") != NULL) abort();
    return 0;
  }
  write_tree(&config, &text);
  if (read_tree(text.data, text.size_bytes, "config", &again, &err)) abort();
  write_tree(&again, &text_again);
  if (text.size_bytes != text_again.size_bytes ||
      memcmp(text.data, text_again.data, text.size_bytes) != 0)
    abort();
  (void)assay_mlpf_config_attention_ops(&config);
  (void)assay_mlpf_config_repr_dim(&config);
  (void)assay_mlpf_config_readout_heads(&config);
  assay_buf_reset(&text);
  assay_buf_reset(&text_again);
  return 0;
}
