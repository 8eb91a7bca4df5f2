/* What the configuration reader takes, refuses and writes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"
#include "model/mlpf_config.h"

static assay_status parse_text(const char *text, const char *arch, assay_mlpf_config *out,
                               assay_error *err) {
  assay_json *tree = NULL;
  assert_int_equal(assay_json_parse(text, strlen(text), &tree, err), ASSAY_OK);
  const assay_status st = assay_mlpf_config_parse(tree, arch, out, err);
  assay_json_destroy(tree);
  return st;
}

static void parse_file(const char *path, assay_mlpf_config *out) {
  assay_error err = {0};
  assay_json *tree = NULL;
  assert_int_equal(assay_json_read(path, 1 << 20, &tree, &err), ASSAY_OK);
  if (assay_mlpf_config_parse(tree, NULL, out, &err)) fail_msg("%s: %s", path, err.text);
  assay_json_destroy(tree);
}

/* The resolved tree as text. */
static void put_text(const assay_mlpf_config *config, assay_buf *out) {
  assay_error err = {0};
  assay_json_builder *b = assay_json_builder_create();
  assay_mlpf_config_put(config, b, NULL);
  if (assay_json_builder_finish(b, out, &err)) fail_msg("%s", err.text);
  assay_json_builder_destroy(b);
}

static void presets_have_the_numbers_of_the_seeded_study(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  assert_int_equal(assay_mlpf_config_init_preset("attention", "cld", &c, &err), ASSAY_OK);
  assert_int_equal(c.arch, ASSAY_MLPF_ATTENTION);
  assert_int_equal(c.input_dim, 17);
  assert_int_equal(c.num_classes, 6);
  assert_int_equal(c.n_elemtypes, 2);
  assert_int_equal(c.elemtypes[1], 2);
  assert_int_equal(c.num_convs, 3);
  assert_int_equal(c.embedding_dim, 128);
  assert_int_equal(c.width, 128);
  assert_int_equal(c.head_dim, 16);
  assert_true(c.task_queries && c.use_pre_layernorm);
  assert_int_equal(c.key_mask, ASSAY_MLPF_KEY_MASK_ALL);
  assert_int_equal(assay_mlpf_config_attention_ops(&c), 5);

  assert_int_equal(assay_mlpf_config_init_preset("heptv2", "cms", &c, &err), ASSAY_OK);
  assert_int_equal(c.input_dim, 55);
  assert_int_equal(c.num_classes, 9);
  assert_int_equal(c.n_elemtypes, 8);
  assert_int_equal(c.elemtypes[7], 11);
  assert_int_equal(c.width, 512);
  assert_int_equal(c.ff_hidden, 512);
  assert_int_equal(c.block_size, 100);
  assert_int_equal(c.key_mask, ASSAY_MLPF_KEY_MASK_UPSTREAM);
  assert_int_equal(assay_mlpf_config_attention_ops(&c), 2);

  assert_int_equal(assay_mlpf_config_init_preset("heptv2", "atlas", &c, &err), ASSAY_E_ARGUMENT);
  assert_non_null(strstr(err.text, "preset 'atlas'"));
}

static void reads_the_files_that_training_leaves(void **state) {
  (void)state;
  assay_mlpf_config c;
  parse_file("testdata/attention3_hyperparameters.json", &c);
  assert_string_equal(c.dataset, "cms");
  assert_int_equal(c.num_heads, 8);
  assert_int_equal(c.embedding_dim, 128);
  assert_false(c.task_queries);
  assert_int_equal(assay_mlpf_config_attention_ops(&c), 3);
  parse_file("testdata/heptv2_small_hyperparameters.json", &c);
  assert_int_equal(c.arch, ASSAY_MLPF_HEPTV2);
  assert_int_equal(c.num_convs, 2);
  assert_int_equal(c.embedding_dim, 64);
  assert_int_equal(c.width, 128);
  assert_int_equal(c.ff_hidden, 256);
  parse_file("testdata/model_kwargs.json", &c);
  assert_int_equal(c.embedding_dim, 256);
  assert_true(c.task_queries);
}

static void absent_fields_take_their_defaults(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  const char *text = "{\"dataset\":\"clic\",\"model\":{\"type\":\"heptv2\",\"heptv2\":{}}}";
  if (parse_text(text, NULL, &c, &err)) fail_msg("%s", err.text);
  assert_int_equal(c.input_dim, 17);
  assert_int_equal(c.num_convs, 6);
  assert_int_equal(c.width, 512);
  assert_int_equal(c.regression[ASSAY_MLPF_PT], ASSAY_MLPF_DIRECT_ELEMTYPE_SPLIT);
  assert_int_equal(c.regression[ASSAY_MLPF_COS_PHI], ASSAY_MLPF_LINEAR);
  text = "{\"dataset\":\"cld\",\"model\":{\"type\":\"attention\",\"attention\":{}}}";
  if (parse_text(text, "attention", &c, &err)) fail_msg("%s", err.text);
  assert_int_equal(c.num_convs, 3);
  assert_int_equal(c.num_heads, 16);
  assert_int_equal(c.embedding_dim, 256);
}

static void the_backbone_layer_count_wins_over_the_sub_configurations(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  const char *text =
      "{\"dataset\":\"cms\",\"model\":{\"type\":\"heptv2\",\"heptv2\":{\"num_convs\":6},"
      "\"backbone\":{\"mode\":\"split\",\"num_convs\":0}}}";
  if (parse_text(text, NULL, &c, &err)) fail_msg("%s", err.text);
  assert_int_equal(c.num_convs, 0);
  assert_false(c.task_queries); /* a split backbone has no readouts */
}

static void features_classes_and_types_may_stand_without_a_known_dataset(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  const char *text = "{\"dataset\":\"maia\",\"input_dim\":20,\"num_classes\":4,"
                     "\"elemtypes_nonzero\":[3,1,7],\"model\":{\"attention\":{}}}";
  if (parse_text(text, "attention", &c, &err)) fail_msg("%s", err.text);
  assert_int_equal(c.input_dim, 20);
  assert_int_equal(c.n_elemtypes, 3);
  assert_int_equal(c.elemtypes[0], 3);
}

#define ATT(fields)                                                                                \
  "{\"dataset\":\"cld\",\"model\":{\"type\":\"attention\",\"attention\":{" fields "}}}"
#define HEP(fields) "{\"dataset\":\"cld\",\"model\":{\"type\":\"heptv2\",\"heptv2\":{" fields "}}}"
#define MOD(fields)                                                                                \
  "{\"dataset\":\"cld\",\"model\":{\"type\":\"attention\",\"attention\":{}," fields "}}"
#define TOP(fields) "{" fields ",\"model\":{\"type\":\"attention\",\"attention\":{}}}"

static const struct refusal {
  const char *text;
  assay_status status;
  const char *says[3]; /* parts of the message */
} REFUSALS[] = {
    {"[1]", ASSAY_E_FORMAT, {"expected an object", "an array"}},
    {"{\"dataset\":\"cld\"}", ASSAY_E_FORMAT, {"model"}},
    {TOP("\"datasett\":\"cld\""), ASSAY_E_FORMAT, {"datasett", "dataset"}},
    {TOP("\"dataset\":\"cld_hits\""), ASSAY_E_UNSUPPORTED, {"cld_hits", "engineered"}},
    {TOP("\"dataset\":3"), ASSAY_E_FORMAT, {"dataset"}},
    {TOP("\"dataset\":\"maia\""), ASSAY_E_FORMAT, {"input_dim", "maia"}},
    {TOP("\"input_dim\":17"), ASSAY_E_FORMAT, {"num_classes", "no dataset"}},
    {TOP("\"dataset\":\"cms\",\"input_dim\":17"),
     ASSAY_E_FORMAT,
     {"'input_dim' contradicts", "cms"}},
    {TOP("\"dataset\":\"cms\",\"num_classes\":6"), ASSAY_E_FORMAT, {"num_classes"}},
    {TOP("\"dataset\":\"cld\",\"elemtypes_nonzero\":[1,3]"), ASSAY_E_FORMAT, {"elemtypes_nonzero"}},
    {TOP("\"input_dim\":9,\"num_classes\":2,\"elemtypes_nonzero\":[1,1]"),
     ASSAY_E_FORMAT,
     {"holds 1 twice"}},
    {TOP("\"input_dim\":9,\"num_classes\":2,\"elemtypes_nonzero\":[0]"),
     ASSAY_E_FORMAT,
     {"padded"}},
    {TOP("\"input_dim\":9,\"num_classes\":2,\"elemtypes_nonzero\":[1.5]"),
     ASSAY_E_FORMAT,
     {"elemtypes_nonzero[0]"}},
    {TOP("\"input_dim\":5,\"num_classes\":2,\"elemtypes_nonzero\":[1]"),
     ASSAY_E_FORMAT,
     {"input_dim"}},
    {TOP("\"dataset\":\"cld\",\"conv_type\":\"heptv2\""),
     ASSAY_E_FORMAT,
     {"conv_type", "attention"}},
    {TOP("\"dataset\":\"cld\",\"key_mask\":\"none\""), ASSAY_E_FORMAT, {"key_mask", "upstream"}},
    {"{\"dataset\":\"cld\",\"model\":{\"attention\":{}}}", ASSAY_E_FORMAT, {"model.type"}},
    {"{\"dataset\":\"cld\",\"model\":{\"type\":\"gnnlsh\",\"gnnlsh\":{}}}",
     ASSAY_E_UNSUPPORTED,
     {"gnnlsh"}},
    {"{\"dataset\":\"cld\",\"model\":{\"type\":\"litept\"}}", ASSAY_E_UNSUPPORTED, {"litept"}},
    {"{\"dataset\":\"cld\",\"model\":{\"type\":\"hept\"}}", ASSAY_E_UNSUPPORTED, {"hept"}},
    {"{\"dataset\":\"cld\",\"model\":{\"type\":\"heptv3\"}}", ASSAY_E_FORMAT, {"heptv3"}},
    {"{\"dataset\":\"cld\",\"model\":{\"type\":\"heptv2\",\"attention\":{}}}",
     ASSAY_E_FORMAT,
     {"'heptv2' is absent"}},
    {MOD("\"output_mode\":\"set\""), ASSAY_E_UNSUPPORTED, {"output_mode", "set decoder"}},
    {MOD("\"input_stem\":{\"mode\":\"modality\"}"), ASSAY_E_UNSUPPORTED, {"input_stem"}},
    {MOD("\"backbone\":{\"num_calo_layers\":2}"), ASSAY_E_UNSUPPORTED, {"num_calo_layers"}},
    {MOD("\"backbone\":{\"mode\":\"unified\"}"), ASSAY_E_FORMAT, {"unified", "shared, split"}},
    {MOD("\"task_queries\":1"), ASSAY_E_FORMAT, {"task_queries"}},
    {MOD("\"taskqueries\":true"), ASSAY_E_FORMAT, {"taskqueries", "task_queries"}},
    {MOD("\"pt_mode\":\"quadratic\""), ASSAY_E_FORMAT, {"pt_mode", "linear-elemtype"}},
    {ATT("\"dropout_conv_id_mha\":0.1"), ASSAY_E_UNSUPPORTED, {"dropout_conv_id_mha", "random"}},
    {ATT("\"dropout_ff\":-1"), ASSAY_E_FORMAT, {"dropout_ff"}},
    {ATT("\"width\":256"), ASSAY_E_FORMAT, {"model: attention", "width"}},
    {ATT("\"num_heads\":0"), ASSAY_E_FORMAT, {"num_heads"}},
    {ATT("\"num_heads\":65536,\"head_dim\":65536"), ASSAY_E_FORMAT, {"num_heads * head_dim"}},
    {ATT("\"num_heads\":8.5"), ASSAY_E_FORMAT, {"num_heads"}},
    {ATT("\"activation\":\"silu\""), ASSAY_E_FORMAT, {"silu", "elu, relu, relu6, leakyrelu, gelu"}},
    {"{\"dataset\":\"cld\",\"key_mask\":\"upstream\",\"model\":{\"type\":\"attention\","
     "\"attention\":"
     "{\"use_jagged_attention\":true}}}",
     ASSAY_E_FORMAT,
     {"use_jagged_attention"}},
    {HEP("\"num_heads\":7"), ASSAY_E_FORMAT, {"embedding_dim 128", "num_heads 7"}},
    {HEP("\"num_regions\":2"), ASSAY_E_FORMAT, {"num_regions"}},
    {HEP("\"block_size\":0"), ASSAY_E_FORMAT, {"block_size"}},
    {HEP("\"mlp_ratio\":0"), ASSAY_E_FORMAT, {"mlp_ratio"}},
    {HEP("\"head_dim\":16"), ASSAY_E_FORMAT, {"head_dim"}},
};

static void refuses_by_name_what_it_cannot_take(void **state) {
  (void)state;
  for (size_t i = 0; i < N_OF(REFUSALS); i++) {
    assay_error err = {0};
    assay_mlpf_config c = {.num_convs = -77};
    const assay_status st = parse_text(REFUSALS[i].text, NULL, &c, &err);
    if (st != REFUSALS[i].status || st != err.status)
      fail_msg("%s: %s, expected %s (%s)", REFUSALS[i].text, assay_status_name(st),
               assay_status_name(REFUSALS[i].status), err.text);
    for (size_t k = 0; k < 3 && REFUSALS[i].says[k] != NULL; k++)
      if (strstr(err.text, REFUSALS[i].says[k]) == NULL)
        fail_msg("%s: '%s' does not say '%s'", REFUSALS[i].text, err.text, REFUSALS[i].says[k]);
    assert_int_equal(c.num_convs, -77); /* untouched */
  }
}

#define FLAT                                                                                       \
  "\"input_dim\":55,\"num_classes\":8,\"elemtypes_nonzero\":[1,4,5,6,8,9,10,11],"                  \
  "\"input_encoding\":\"split\",\"eta_mode\":\"linear\",\"sin_phi_mode\":\"linear\","              \
  "\"cos_phi_mode\":\"linear\",\"energy_mode\":\"direct-elemtype-split\",\"num_convs\":3,"         \
  "\"learned_representation_mode\":\"last\",\"dropout_ff\":0.0,\"dropout_conv_id_mha\":0.0,"       \
  "\"activation\":\"relu\",\"head_dim\":32,\"attention_type\":\"flash\",\"use_pre_layernorm\":"    \
  "true"

static void the_flat_form_of_older_trainings_has_two_backbones(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"{\"conv_type\":\"attention\"," FLAT ",\"num_heads\":32}", "'pt_mode' is absent"},
      {"{\"conv_type\":\"attention\"," FLAT ",\"pt_mode\":\"linear\"}", "'num_heads' is absent"},
      {"{\"conv_type\":\"attention\"," FLAT ",\"num_heads\":32,\"pt_mod\":\"linear\"}",
       "'pt_mode'"},
      {"{\"conv_type\":\"heptv2\"," FLAT ",\"num_heads\":32,\"pt_mode\":\"linear\"}", "heptv2"},
      {"{\"conv_type\":\"gnnlsh\"," FLAT ",\"num_heads\":32,\"pt_mode\":\"linear\"}", "gnnlsh"},
  };
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_error refused = {0};
    assert_int_not_equal(parse_text(rows[i].text, NULL, &c, &refused), ASSAY_OK);
    if (strstr(refused.text, rows[i].says) == NULL) fail_msg("%zu: %s", i, refused.text);
  }
  if (parse_text("{\"conv_type\":\"attention\"," FLAT
                 ",\"num_heads\":32,\"pt_mode\":\"direct-elemtype\"}",
                 NULL, &c, &err))
    fail_msg("%s", err.text);
  assert_int_equal(c.backbone_mode, ASSAY_MLPF_BACKBONE_SPLIT);
  assert_false(c.task_queries);
  assert_int_equal(c.num_classes, 8);
  assert_int_equal(c.num_convs, 3);
  assert_int_equal(c.embedding_dim, 1024);
  assert_int_equal(c.activation, ASSAY_MLPF_RELU);
  assert_int_equal(c.regression[ASSAY_MLPF_PT], ASSAY_MLPF_DIRECT_ELEMTYPE);
  assert_int_equal(assay_mlpf_config_attention_ops(&c), 6);
}

static void another_architecture_than_asked_for_is_refused(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  assert_int_equal(parse_text(HEP(""), "attention", &c, &err), ASSAY_E_FORMAT);
  assert_non_null(strstr(err.text, "'attention' was asked for"));
}

static void what_is_written_reads_back_the_same(void **state) {
  (void)state;
  static const char *const TEXTS[] = {
      ATT("\"use_jagged_attention\":true,\"use_pre_layernorm\":false,\"activation\":\"gelu\""),
      HEP("\"pe_type\":\"fourier\",\"mlp_ratio\":2.5,\"pad_to_multiple_elements\":128"),
      "{\"input_dim\":9,\"num_classes\":2,\"elemtypes_nonzero\":[5,3],\"phi\":\"native\","
      "\"key_mask\":\"upstream\",\"model\":{\"type\":\"attention\",\"input_encoding\":\"joint\","
      "\"learned_representation_mode\":\"concat\",\"pt_mode\":\"direct\",\"eta_mode\":\"additive\","
      "\"sin_phi_mode\":\"multiplicative\",\"cos_phi_mode\":\"direct-elemtype\","
      "\"energy_mode\":\"linear-elemtype\",\"backbone\":{\"mode\":\"split\",\"num_convs\":2},"
      "\"attention\":{\"num_heads\":2,\"head_dim\":8,\"activation\":\"relu6\"}}}",
  };
  for (size_t i = 0; i < N_OF(TEXTS); i++) {
    assay_error err = {0};
    assay_mlpf_config first, second;
    assay_buf a = {0}, b = {0};
    if (parse_text(TEXTS[i], NULL, &first, &err)) fail_msg("%s", err.text);
    put_text(&first, &a);
    if (parse_text(assay_buf_text(&a), NULL, &second, &err)) fail_msg("%s", err.text);
    put_text(&second, &b);
    assert_string_equal(assay_buf_text(&a), assay_buf_text(&b));
    assert_int_equal(first.learned_positions, second.learned_positions);
    assert_int_equal(first.ff_hidden, second.ff_hidden);
    assay_buf_reset(&a);
    assay_buf_reset(&b);
  }
}

static void derived_numbers_follow_changes(void **state) {
  (void)state;
  assay_error err = {0};
  assay_mlpf_config c;
  assert_int_equal(assay_mlpf_config_init_preset("attention", "cld", &c, &err), ASSAY_OK);
  c.representation = ASSAY_MLPF_CONCAT;
  c.num_heads = 6;
  c.head_dim = 4;
  c.num_convs = 3;
  assert_int_equal(assay_mlpf_config_check(&c, &err), ASSAY_OK);
  assert_int_equal(c.embedding_dim, 24);
  assert_int_equal(c.width, 24);
  assert_int_equal(assay_mlpf_config_repr_dim(&c), 72);
  assert_int_equal(assay_mlpf_config_readout_heads(&c), 6);
  c.num_convs = 0;
  assert_int_equal(assay_mlpf_config_repr_dim(&c), 24);
  c.backbone_mode = ASSAY_MLPF_BACKBONE_SPLIT;
  c.num_convs = 2;
  assert_int_equal(assay_mlpf_config_check(&c, &err), ASSAY_OK);
  assert_int_equal(assay_mlpf_config_attention_ops(&c), 4);
  c.num_convs = -1;
  assert_int_equal(assay_mlpf_config_check(&c, &err), ASSAY_E_ARGUMENT);
  assert_non_null(strstr(err.text, "num_convs is -1"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(presets_have_the_numbers_of_the_seeded_study),
      cmocka_unit_test(reads_the_files_that_training_leaves),
      cmocka_unit_test(absent_fields_take_their_defaults),
      cmocka_unit_test(the_backbone_layer_count_wins_over_the_sub_configurations),
      cmocka_unit_test(features_classes_and_types_may_stand_without_a_known_dataset),
      cmocka_unit_test(refuses_by_name_what_it_cannot_take),
      cmocka_unit_test(the_flat_form_of_older_trainings_has_two_backbones),
      cmocka_unit_test(another_architecture_than_asked_for_is_refused),
      cmocka_unit_test(what_is_written_reads_back_the_same),
      cmocka_unit_test(derived_numbers_follow_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
