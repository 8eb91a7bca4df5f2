/* Tests of tfds.c, tfds_find.c, tfds_document.c and tfds_features.c: datasets with known contents
 * (testdata/README.md), documents with each field wrong, folders of every shape. */
#include "dataset/tfds.h"

#include "base/json.h"
#include "base/test_folder.h"
#include "dataset/crc32c.h"
#include "dataset/dataset_test.h"
#include "dataset/tfds_parts.h"

#define SMALL  "testdata/tfds/small"
#define GOLD   "testdata/tfds/gold"
#define PACKED "testdata/tfds/gold_packed"

static assay_tfds *open_ok(const char *folder) {
  assay_tfds *dataset;
  assay_error err = {0};
  expect_ok(assay_tfds_open(folder, &dataset, &err), &err, folder);
  return dataset;
}

static void write_text(const char *path, const char *text) {
  assay_error err = {0};
  expect_ok(assay_file_write(path, text, strlen(text), &err), &err, path);
}

/* ---- known contents -----------------------------------------------------------------------------
 */

static void describes_the_small_dataset(void **state) {
  assay_tfds *dataset = open_ok(SMALL "/cms_pf_ttbar/1/3.0.0");
  assay_tfds_info info = assay_tfds_describe(dataset);
  (void)state;
  assert_string_equal(info.name, "cms_pf_ttbar");
  assert_string_equal(info.config, "1");
  assert_string_equal(info.version, "3.0.0");
  assert_string_equal(info.file_format, "array_record");
  assert_null(info.warning);
  assert_int_equal(assay_json_len(assay_json_get(info.metadata, "x_features")), 55);
  assert_int_equal(strlen(info.info_sha256), 64);
  assert_int_equal(strlen(info.features_sha256), 64);
  assert_int_equal(strlen(info.metadata_sha256), 64);

  size_t split;
  assay_error err = {0};
  assert_int_equal(assay_tfds_n_splits(dataset), 2);
  expect_ok(assay_tfds_find_split(dataset, "train", &split, &err), &err, "train");
  assay_tfds_split train = assay_tfds_split_at(dataset, split);
  assert_int_equal(train.n_examples, 3);
  assert_int_equal(train.n_shards, 1);
  assert_int_equal(train.size_bytes, 19131);
  expect(assay_tfds_find_split(dataset, "valid", &split, &err), &err, ASSAY_E_ARGUMENT,
         "no split 'valid', there is 'test', 'train'", "valid");

  assert_int_equal(assay_tfds_n_features(dataset), 7);
  const assay_tfds_feature *x = assay_tfds_find_feature(dataset, "X");
  assert_int_equal(x->dtype, ASSAY_DTYPE_F32);
  assert_int_equal(x->rank, 2);
  assert_int_equal(x->dims[0], -1);
  assert_int_equal(x->dims[1], 55);
  assert_int_equal(assay_tfds_find_feature(dataset, "genmet")->rank, 0);
  assert_null(assay_tfds_find_feature(dataset, "x"));
  assay_tfds_close(dataset);
}

static void reads_the_small_datasets_events(void **state) {
  static const struct {
    const char *split;
    int64_t n_rows[3];
    size_t n;
  } rows[] = {{"train", {5, 12, 40}, 3}, {"test", {7, 1}, 2}};
  assay_tfds *dataset = open_ok(SMALL "/cms_pf_ttbar/1/3.0.0");
  (void)state;
  for (size_t s = 0; s < N_OF(rows); s++) {
    size_t split;
    assay_error err = {0};
    expect_ok(assay_tfds_find_split(dataset, rows[s].split, &split, &err), &err, rows[s].split);
    for (size_t i = 0; i < rows[s].n; i++) {
      assay_tensor_map arrays = {0};
      expect_ok(assay_tfds_read(dataset, split, i, NULL, 0, &arrays, &err), &err, rows[s].split);
      assert_int_equal(arrays.n, 7);
      const assay_tensor *x = assay_tensor_map_find(&arrays, "X");
      const assay_tensor *ytarget = assay_tensor_map_find(&arrays, "ytarget");
      const assay_tensor *targetjets = assay_tensor_map_find(&arrays, "targetjets");
      assert_int_equal(x->dims[0], rows[s].n_rows[i]);
      assert_int_equal(x->dims[1], 55);
      assert_int_equal(ytarget->dims[0], rows[s].n_rows[i]);
      assert_int_equal(ytarget->dims[1], 13);
      assert_int_equal(targetjets->rank, 2);
      assert_int_equal(targetjets->dims[0], 0);
      assert_int_equal(targetjets->dims[1], 4);
      assert_int_equal(assay_tensor_map_find(&arrays, "genmet")->rank, 0);
      assay_tensor_map_reset(&arrays);
    }
    assay_tensor_map arrays = {0};
    expect(assay_tfds_read(dataset, split, rows[s].n, NULL, 0, &arrays, &err), &err,
           ASSAY_E_ARGUMENT, "no example", "behind the last");
  }
  assay_tfds_close(dataset);
}

static void expect_hash(const assay_json *event, const char *key, const void *bytes, size_t n) {
  char hex[ASSAY_SHA256_HEX_BYTES];
  const char *expected;
  assay_error err = {0};
  expect_ok(assay_sha256_bytes(bytes, n, hex, &err), &err, key);
  expect_ok(assay_json_need_string(event, key, &expected, &err), &err, key);
  assert_string_equal(hex, expected);
}

/* Every array of an event, bit for bit, against what another reader found. */
static void compare_event(assay_tfds *dataset, size_t split, const assay_json *event) {
  static const char *const names[] = {"X", "ytarget", "ycand", "genjets", "targetjets", "pythia"};
  assay_tensor_map arrays = {0};
  assay_span record;
  assay_error err = {0};
  uint64_t i = (uint64_t)assay_json_int(assay_json_get(event, "index"));
  expect_ok(assay_tfds_record(dataset, split, i, &record, &err), &err, "record");
  expect_hash(event, "record_sha256", record.data, record.size_bytes);
  assert_int_equal(record.size_bytes, assay_json_int(assay_json_get(event, "record_bytes")));
  expect_ok(assay_tfds_read(dataset, split, i, NULL, 0, &arrays, &err), &err, "arrays");
  for (size_t k = 0; k < N_OF(names); k++) {
    char key[64];
    snprintf(key, sizeof key, "%s_sha256", names[k]);
    const assay_tensor *tensor = assay_tensor_map_find(&arrays, names[k]);
    assert_non_null(tensor);
    expect_hash(event, key, tensor->data, tensor->size_bytes);
    snprintf(key, sizeof key, "%s_shape", names[k]);
    const assay_json *shape = assay_json_get(event, key);
    for (size_t d = 0; d < assay_json_len(shape); d++)
      assert_int_equal(tensor->dims[d], assay_json_int(assay_json_at(shape, d)));
  }
  const assay_tensor *x = assay_tensor_map_find(&arrays, "X");
  assert_int_equal(x->dims[0], assay_json_int(assay_json_get(event, "rows")));
  float genmet = strtof(assay_json_string(assay_json_get(event, "genmet_hex")), NULL);
  assert_memory_equal(assay_tensor_map_find(&arrays, "genmet")->data, &genmet, sizeof genmet);
  assay_tensor_map_reset(&arrays);
}

static void compare_dataset(assay_tfds *dataset, const char *key) {
  assay_json *root = NULL;
  assay_error err = {0};
  expect_ok(assay_json_read(GOLD "/expected.json", 1000000, &root, &err), &err, "expected.json");
  const assay_json *splits = assay_json_get(assay_json_get(root, "datasets"), key);
  assert_int_equal(assay_json_len(splits), 2);
  for (size_t s = 0; s < assay_json_len(splits); s++) {
    const assay_json *value = assay_json_value_at(splits, s);
    const assay_json *events = assay_json_get(value, "events"), *files;
    size_t split, n = assay_json_len(events);
    expect_ok(assay_tfds_find_split(dataset, assay_json_key_at(splits, s), &split, &err), &err,
              key);
    assert_true(n > 0);
    assert_int_equal(assay_tfds_split_at(dataset, split).n_examples, n);
    expect_ok(assay_json_need_array(value, "files", &files, &err), &err, key);
    for (size_t k = 0; k < assay_json_len(files); k++) {
      char *path, hex[ASSAY_SHA256_HEX_BYTES];
      const assay_json *file = assay_json_at(files, k);
      expect_ok(assay_tfds_shard_path(dataset, split, k, &path, &err), &err, key);
      assert_string_equal(assay_path_name(path), assay_json_string(assay_json_get(file, "file")));
      expect_ok(assay_sha256_file(path, hex, NULL, &err), &err, path);
      assert_string_equal(hex, assay_json_string(assay_json_get(file, "sha256")));
      assert_int_equal(assay_tfds_shard_count(dataset, split, k),
                       assay_json_int(assay_json_get(file, "records")));
      expect_ok(assay_tfds_check_shard(dataset, split, k, &err), &err, path);
      assay_free(path);
    }
    for (size_t i = n; i-- > 0;) compare_event(dataset, split, assay_json_at(events, i));
  }
  assay_json_destroy(root);
}

static void reads_the_gold_dataset_bit_for_bit(void **state) {
  char *folder;
  assay_error err = {0};
  (void)state;
  expect_ok(assay_tfds_find(GOLD, "cms_pf_ttbar/1:3.0.0", &folder, &err), &err, "find");
  assay_tfds *dataset = open_ok(folder);
  compare_dataset(dataset, "cms_pf_ttbar/1:3.0.0");
  assay_tfds_close(dataset);
  assay_free(folder);
}

/* Three shards of 2, 0 and 2 examples, uncompressed. */
static void reads_the_gold_dataset_of_three_shards_bit_for_bit(void **state) {
  static const uint64_t shard_of[] = {0, 0, 2, 2}, index_of[] = {0, 1, 0, 1};
  test_folder folder;
  assay_names names;
  assay_error err = {0};
  (void)state;
  test_folder_open(&folder);
  char *version = assay_format("%s/cms_pf_ztt/1/3.0.0", folder.path);
  expect_ok(assay_folder_create(version, &err), &err, version);
  expect_ok(assay_folder_list(PACKED, &names, &err), &err, PACKED);
  for (size_t i = 0; i < names.n; i++) {
    char *from = assay_path_join(PACKED, names.items[i]),
         *to = assay_path_join(version, names.items[i]);
    assay_buf bytes = read_packed(from);
    to[strlen(to) - 3] = '\0'; /* without ".gz" */
    expect_ok(assay_file_write(to, bytes.data, bytes.size_bytes, &err), &err, to);
    assay_buf_reset(&bytes);
    assay_free(from);
    assay_free(to);
  }
  assay_names_reset(&names);
  assay_tfds *dataset = open_ok(version);
  compare_dataset(dataset, "cms_pf_ztt/1:3.0.0");
  size_t split;
  expect_ok(assay_tfds_find_split(dataset, "test", &split, &err), &err, "test");
  for (uint64_t i = 0; i < 4; i++) {
    assay_tfds_place place;
    expect_ok(assay_tfds_locate(dataset, split, i, &place, &err), &err, "locate");
    assert_int_equal(place.shard, shard_of[i]);
    assert_int_equal(place.index, index_of[i]);
  }

  /* A shard less is an error where it is needed, and names the file. */
  char *path;
  assay_span record;
  expect_ok(assay_tfds_shard_path(dataset, split, 2, &path, &err), &err, "path");
  assay_tfds_close(dataset);
  assert_int_equal(remove(path), 0);
  dataset = open_ok(version);
  expect_ok(assay_tfds_record(dataset, split, 1, &record, &err), &err, "shard 0");
  expect(assay_tfds_record(dataset, split, 2, &record, &err), &err, ASSAY_E_IO,
         "cms_pf_ztt-test.array_record-00002-of-00003", "shard 2");
  assay_tfds_close(dataset);
  assay_free(path);
  assay_free(version);
  test_folder_close(&folder);
}

static void reads_only_what_is_asked_for(void **state) {
  static const char *const names[] = {"genmet", "X"}, *const wrong[] = {"X", "Y"};
  assay_tfds *dataset = open_ok(SMALL "/cms_pf_ttbar/1/3.0.0");
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  (void)state;
  expect_ok(assay_tfds_read(dataset, 0, 0, names, 2, &arrays, &err), &err, "two");
  assert_int_equal(arrays.n, 2);
  assert_string_equal(arrays.items[0].name, "genmet");
  assay_tensor_map_reset(&arrays);
  expect(assay_tfds_read(dataset, 0, 0, wrong, 2, &arrays, &err), &err, ASSAY_E_ARGUMENT,
         "features.json has no feature 'Y'", "an unknown one");
  assert_int_equal(arrays.n, 0);
  assay_tfds_close(dataset);
}

static void says_that_memory_is_out_at_each_step(void **state) {
  assay_status st = ASSAY_E_MEMORY;
  (void)state;
  for (int n = 0; st; n++) {
    assay_tfds *dataset = NULL;
    assay_tensor_map arrays = {0};
    char *folder = NULL;
    assay_error err = {0};
    assay_alloc_fail_after(n);
    st = assay_tfds_find(SMALL, "cms_pf_ttbar", &folder, &err);
    if (!st) st = assay_tfds_open(folder, &dataset, &err);
    if (!st) st = assay_tfds_read(dataset, 1, 2, NULL, 0, &arrays, &err);
    assay_alloc_fail_after(-1);
    /* Where the answer is only "is it there?", memory that is out looks like nothing there. */
    if (st && st != ASSAY_E_IO) expect(st, &err, ASSAY_E_MEMORY, "", "memory");
    assay_tensor_map_reset(&arrays);
    assay_tfds_close(dataset);
    assay_free(folder);
    assert_true(n < 5000);
  }
}

/* ---- tfrecord -----------------------------------------------------------------------------------
 */

static void append_record(assay_buf *file, const assay_buf *record) {
  static assay_crc32c crc;
  assay_crc32c_init(&crc);
  size_t at = file->size_bytes;
  append_u64(file, record->size_bytes);
  uint32_t value = assay_crc32c_mask(assay_crc32c_of(&crc, file->data + at, 8));
  append(file, &value, sizeof value);
  append(file, record->data, record->size_bytes);
  value = assay_crc32c_mask(assay_crc32c_of(&crc, record->data, record->size_bytes));
  append(file, &value, sizeof value);
}

/* A dataset without a config, in TFRecord files, by the default template and with defaults left
 * out, as protobuf writes JSON. */
static void reads_tfrecord_shards(void **state) {
  test_folder folder;
  assay_buf file = {0}, record = {0};
  assay_tensor_map arrays = {0};
  assay_error err = {0};
  char *found;
  (void)state;
  test_folder_open(&folder);
  char *version = assay_format("%s/my_data/1.2.3", folder.path);
  char *info = assay_format("%s/dataset_info.json", version);
  char *features = assay_format("%s/features.json", version);
  char *shard = assay_format("%s/my_data-train.tfrecord-00001-of-00002", version);
  expect_ok(assay_folder_create(version, &err), &err, version);
  write_text(info, "{\"name\": \"my_data\", \"version\": \"1.2.3\", \"splits\": [{\"name\": "
                   "\"train\", \"shardLengths\": [0, \"1\"], \"extra\": {}}]}");
  write_text(features,
             "{\"featuresDict\": {\"features\": {\"g\": {\"tensor\": {\"shape\": {}, \"dtype\": "
             "\"float32\"}}}}}");
  append_hex(&record, "0a0f 0a0d 0a0167 1208 1206 0a04 0000c03f");
  append_record(&file, &record);
  expect_ok(assay_file_write(shard, file.data, file.size_bytes, &err), &err, shard);

  expect_ok(assay_tfds_find(folder.path, "MyData", &found, &err), &err, "find");
  assert_string_equal(found, version);
  assay_tfds *dataset = open_ok(found);
  assert_null(assay_tfds_describe(dataset).metadata);
  assert_null(assay_tfds_describe(dataset).warning);
  assert_string_equal(assay_tfds_describe(dataset).metadata_sha256, "");
  assert_string_equal(assay_tfds_describe(dataset).config, "");
  assert_string_equal(assay_tfds_describe(dataset).file_format, "tfrecord");
  expect_ok(assay_tfds_read(dataset, 0, 0, NULL, 0, &arrays, &err), &err, "read");
  assert_true(*assay_tensor_f32(assay_tensor_map_find(&arrays, "g")) >= 1.5f);
  assay_tensor_map_reset(&arrays);
  assay_tfds_close(dataset);

  append_record(&file, &record);
  expect_ok(assay_file_write(shard, file.data, file.size_bytes, &err), &err, shard);
  dataset = open_ok(found);
  expect(assay_tfds_read(dataset, 0, 0, NULL, 0, &arrays, &err), &err, ASSAY_E_MISMATCH,
         "holds 2 records, by dataset_info.json 1", "a record more");
  assay_tfds_close(dataset);
  assay_free(found);
  assay_free(version);
  assay_free(info);
  assay_free(features);
  assay_free(shard);
  assay_buf_reset(&file);
  assay_buf_reset(&record);
  test_folder_close(&folder);
}

/* ---- names --------------------------------------------------------------------------------------
 */

static void make_folder(const test_folder *folder, const char *name) {
  char *path = assay_format("%s/%s", folder->path, name);
  assay_error err = {0};
  expect_ok(assay_folder_create(path, &err), &err, path);
  assay_free(path);
}

static void finds_datasets_by_name_config_and_version(void **state) {
  static const char *const folders[] = {
      "plain/1.0.0", "plain/1.10.0",   "plain/1.9.0", "plain/1.11.0.incomplete",
      "plain/2.0",   "one/only/0.1.0", "two/a/1.0.0", "two/b/2.0.0",
      "two/b/2.1.0", "two/notes",      "empty"};
  static const struct {
    const char *name, *found; /* found NULL: refused */
    assay_status status;
    const char *words;
  } rows[] = {
      {"plain", "plain/1.10.0", 0, ""},
      {"plain:1.*.*", "plain/1.10.0", 0, ""},
      {"plain:1.9.*", "plain/1.9.0", 0, ""},
      {"plain:*.*.*", "plain/1.10.0", 0, ""},
      {"plain:1.0.0", "plain/1.0.0", 0, ""},
      {"one", "one/only/0.1.0", 0, ""},
      {"one/only", "one/only/0.1.0", 0, ""},
      {"two/b:2.0.0", "two/b/2.0.0", 0, ""},
      {"two/b", "two/b/2.1.0", 0, ""},
      {"Plain:1.0.0", "plain/1.0.0", 0, ""},
      {"two", NULL, ASSAY_E_ARGUMENT, "several configs, name one: 'a', 'b'"},
      {"two/c", NULL, ASSAY_E_ARGUMENT, "no config 'c'"},
      {"two/a:2.0.0", NULL, ASSAY_E_ARGUMENT, "no version '2.0.0'"},
      {"plain:3.0.0", NULL, ASSAY_E_ARGUMENT, "there is '1.0.0', '1.10.0', '1.9.0'"},
      {"empty", NULL, ASSAY_E_ARGUMENT, "nothing that assay knows"},
      {"none", NULL, ASSAY_E_ARGUMENT, "no dataset 'none'"},
      {"", NULL, ASSAY_E_ARGUMENT, "expected NAME"},
      {"..", NULL, ASSAY_E_ARGUMENT, "the name must be"},
      {"../outside", NULL, ASSAY_E_ARGUMENT, "the name must be"},
      {"/etc", NULL, ASSAY_E_ARGUMENT, "the name must be"},
      {"two/..", NULL, ASSAY_E_ARGUMENT, "config"},
      {"two/../plain", NULL, ASSAY_E_ARGUMENT, "config"},
      {"two/", NULL, ASSAY_E_ARGUMENT, "config"},
      {"plain:", NULL, ASSAY_E_ARGUMENT, "version"},
      {"plain:1.0", NULL, ASSAY_E_ARGUMENT, "version"},
      {"plain:1.0.0.0", NULL, ASSAY_E_ARGUMENT, "version"},
      {"plain:1.0.x", NULL, ASSAY_E_ARGUMENT, "version"},
      {"plain:*", NULL, ASSAY_E_ARGUMENT, "with '*' for any: 1.*.*"},
      {"ns:plain/a:1.0.0", NULL, ASSAY_E_ARGUMENT, "version"},
      {"plain/a=1", NULL, ASSAY_E_UNSUPPORTED, "builder arguments"},
  };
  test_folder folder;
  (void)state;
  test_folder_open(&folder);
  for (size_t i = 0; i < N_OF(folders); i++) make_folder(&folder, folders[i]);
  for (size_t i = 0; i < N_OF(rows); i++) {
    char *found = NULL;
    assay_error err = {0};
    assay_status st = assay_tfds_find(folder.path, rows[i].name, &found, &err);
    if (rows[i].found == NULL) {
      expect(st, &err, rows[i].status, rows[i].words, rows[i].name);
      assert_null(found);
    } else {
      expect_ok(st, &err, rows[i].name);
      assert_string_equal(found, test_folder_file(&folder, rows[i].found));
    }
    assay_free(found);
  }
  char *found, name[600];
  memset(name, 'a', sizeof name);
  name[sizeof name - 1] = '\0';
  assay_error err = {0}, words = {0};
  expect(assay_tfds_find(folder.path, name, &found, &err), &err, ASSAY_E_ARGUMENT, "too long",
         "a long name");
  expect(assay_tfds_find("no/such/folder", "plain", &found, &words), &words, ASSAY_E_IO,
         "no/such/folder", "no folder");
  test_folder_close(&folder);
}

static void warns_where_the_folder_has_another_name(void **state) {
  static const struct {
    const char *folder, *words; /* words NULL: no warning */
  } rows[] = {{"a/cms_pf_ttbar/1/3.0.0", NULL},
              {"b/cms_pf_ttbar/1/3.1.0", "'3.0.0'"},
              {"c/cms_pf_ttbar/2/3.0.0", "'1'"},
              {"d/other/1/3.0.0", "'cms_pf_ttbar'"}};
  static const char *const files[] = {"dataset_info.json", "features.json"};
  test_folder folder;
  (void)state;
  test_folder_open(&folder);
  for (size_t i = 0; i < N_OF(rows); i++) {
    make_folder(&folder, rows[i].folder);
    char *path = assay_format("%s/%s", folder.path, rows[i].folder);
    for (size_t k = 0; k < N_OF(files); k++) {
      char *from = assay_format(SMALL "/cms_pf_ttbar/1/3.0.0/%s", files[k]);
      char *to = assay_path_join(path, files[k]);
      assay_error err = {0};
      expect_ok(assay_file_copy(from, to, &err), &err, to);
      assay_free(from);
      assay_free(to);
    }
    assay_tfds *dataset = open_ok(path);
    const char *warning = assay_tfds_describe(dataset).warning;
    if (rows[i].words == NULL)
      assert_null(warning);
    else
      assert_non_null(strstr(warning, rows[i].words));
    assay_tfds_close(dataset);
    assay_free(path);
  }
  assay_tfds *dataset;
  assay_error err = {0};
  expect(assay_tfds_open(folder.path, &dataset, &err), &err, ASSAY_E_IO, "no dataset_info.json",
         "no dataset");
  assert_false(assay_tfds_is_folder(folder.path));
  test_folder_close(&folder);
}

/* ---- dataset_info.json --------------------------------------------------------------------------
 */

static assay_json *parse(const char *text) {
  assay_json *root = NULL;
  assay_error err = {0};
  expect_ok(assay_json_parse(text, strlen(text), &root, &err), &err, text);
  return root;
}

#define HEAD "\"name\":\"d\",\"version\":\"1.0.0\","

static void refuses_documents_by_the_field_that_is_wrong(void **state) {
  static const struct {
    const char *text;
    assay_status status;
    const char *words;
  } rows[] = {
      {"[]", ASSAY_E_FORMAT, "expected an object"},
      {"{}", ASSAY_E_FORMAT, "'name'"},
      {"{\"name\":1}", ASSAY_E_FORMAT, "'name'"},
      {"{\"name\":\"d\"}", ASSAY_E_FORMAT, "'version'"},
      {"{" HEAD "\"x\":1}", ASSAY_E_FORMAT, "'splits'"},
      {"{" HEAD "\"splits\":{}}", ASSAY_E_FORMAT, "'splits'"},
      {"{" HEAD "\"splits\":[1]}", ASSAY_E_FORMAT, "splits[0]"},
      {"{" HEAD "\"splits\":[{}]}", ASSAY_E_FORMAT, "splits[0]: 'name'"},
      {"{" HEAD "\"fileFormat\":\"riegeli\",\"splits\":[]}", ASSAY_E_UNSUPPORTED, "'riegeli'"},
      {"{" HEAD "\"fileFormat\":\"parquet\",\"splits\":[]}", ASSAY_E_UNSUPPORTED, "'parquet'"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"numShards\":\"3\"}]}", ASSAY_E_UNSUPPORTED,
       "numShards without shardLengths"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"shardLengths\":\"3\"}]}", ASSAY_E_FORMAT,
       "'shardLengths'"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"shardLengths\":[-1]}]}", ASSAY_E_FORMAT,
       "shard 0: shardLengths"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"shardLengths\":[\"x\"]}]}", ASSAY_E_FORMAT, "'x'"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"shardLengths\":[1.5]}]}", ASSAY_E_FORMAT,
       "expected an integer"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"shardLengths\":[\"9007199254740992\",1]}]}",
       ASSAY_E_FORMAT, "shard 1"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\",\"numBytes\":\"-2\"}]}", ASSAY_E_FORMAT, "numBytes"},
      {"{" HEAD "\"splits\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", ASSAY_E_FORMAT,
       "'a' is there twice"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_json *root = parse(rows[i].text);
    assay_tfds_document document = {0};
    assay_error err = {0};
    expect(assay_tfds_document_parse(root, &document, &err), &err, rows[i].status, rows[i].words,
           rows[i].text);
    assay_json_destroy(root);
  }
}

static void names_shards_by_the_template(void **state) {
  static const struct {
    const char *template, *n_shards;
    size_t k;
    const char *name; /* NULL: refused */
    const char *words;
  } rows[] = {
      {"", "[1,1]", 1, "d-train.array_record-00001-of-00002", ""},
      {"{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}", "[1]", 0,
       "d-train.array_record-00000-of-00001", ""},
      {"sub/{SPLIT}/{SHARD_INDEX}.{NUM_SHARDS}", "[1,1,1]", 2, "sub/train/00002.00003", ""},
      {"fixed", "[1]", 0, "fixed", ""},
      {"{WHAT}", "[1]", 0, NULL, "unknown placeholder '{WHAT}'"},
      {"{}", "[1]", 0, NULL, "unknown placeholder"},
      {"{SPLIT", "[1]", 0, NULL, "a brace"},
      {"SPLIT}", "[1]", 0, NULL, "a brace"},
      {"{{SPLIT}}", "[1]", 0, NULL, "a brace"},
      {"../{SPLIT}", "[1]", 0, NULL, "no name inside the folder"},
      {"/etc/passwd", "[1]", 0, NULL, "no name inside the folder"},
      {"a/../../b", "[1]", 0, NULL, "no name inside the folder"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    char *text = assay_format("{" HEAD "\"fileFormat\":\"array_record\",\"splits\":[{\"name\":"
                              "\"train\",\"filepathTemplate\":\"%s\",\"shardLengths\":%s}]}",
                              rows[i].template, rows[i].n_shards);
    assay_json *root = parse(text);
    assay_tfds_document document = {0};
    char *name = NULL;
    assay_error err = {0};
    expect_ok(assay_tfds_document_parse(root, &document, &err), &err, text);
    assay_status st = assay_tfds_shard_name(&document, 0, rows[i].k, &name, &err);
    if (rows[i].name != NULL) {
      expect_ok(st, &err, rows[i].template);
      assert_string_equal(name, rows[i].name);
    } else {
      expect(st, &err, ASSAY_E_FORMAT, rows[i].words, rows[i].template);
    }
    assay_free(name);
    assay_free(text);
    assay_tfds_document_reset(&document);
    assay_json_destroy(root);
  }
}

static void takes_as_many_digits_as_the_number_of_shards(void **state) {
  assay_buf text = {0};
  char *name = NULL;
  assay_error err = {0};
  (void)state;
  append(&text, "{" HEAD "\"splits\":[{\"name\":\"t\",\"shardLengths\":[",
         strlen("{" HEAD "\"splits\":[{\"name\":\"t\",\"shardLengths\":["));
  for (int i = 0; i < 100000; i++) append(&text, i == 0 ? "1" : ",1", i == 0 ? 1 : 2);
  append(&text, "]}]}", 4);
  assay_json *root = parse(assay_buf_text(&text));
  assay_tfds_document document = {0};
  expect_ok(assay_tfds_document_parse(root, &document, &err), &err, "many shards");
  assert_int_equal(document.splits[0].firsts[100000], 100000);
  expect_ok(assay_tfds_shard_name(&document, 0, 7, &name, &err), &err, "many shards");
  assert_string_equal(name, "d-t.tfrecord-000007-of-100000");
  assay_free(name);
  assay_tfds_document_reset(&document);
  assay_json_destroy(root);
  assay_buf_reset(&text);
}

/* ---- features.json ------------------------------------------------------------------------------
 */

#define TENSOR(shape, dtype) "{\"tensor\":{\"shape\":" shape ",\"dtype\":\"" dtype "\"}}"
#define DIMS(list)           "{\"dimensions\":[" list "]}"
#define ENCODED(shape, encoding)                                                                   \
  "{\"tensor\":{\"shape\":" shape ",\"dtype\":\"int16\",\"encoding\":\"" encoding "\"}}"
#define DICT(members) "{\"featuresDict\":{\"features\":{" members "}}}"
#define OLD_TENSOR(shape)                                                                          \
  "{\"type\":\"tfds.core.features.tensor_feature.Tensor\",\"content\":{\"shape\":" shape           \
  ",\"dtype\":\"float32\",\"encoding\":\"none\"}}"
#define OLD_DICT(more, members) "{\"type\":\"a.b.FeaturesDict\"," more "\"content\":" members "}"

/* The one feature of a tree: its name, type, dimensions and encoding, or why it cannot be read. */
static void reads_every_kind_of_feature(void **state) {
  static const struct {
    const char *text, *name;
    assay_dtype dtype;
    const char *shape;
    assay_tfds_encoding encoding;
    const char *unsupported;
  } rows[] = {
      {DICT("\"x\":" TENSOR(DIMS("\"-1\",\"55\""), "float32")), "x", ASSAY_DTYPE_F32, "[-1,55]",
       ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":" TENSOR(DIMS("-1,55"), "bfloat16")), "x", ASSAY_DTYPE_BF16, "[-1,55]",
       ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":" TENSOR("{}", "uint64")), "x", ASSAY_DTYPE_U64, "[]", ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"tensor\":{\"dtype\":\"bool\"}}"), "x", ASSAY_DTYPE_BOOL, "[]",
       ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":" TENSOR("{}", "object")), "x", ASSAY_DTYPE_STRING, "[]", ASSAY_TFDS_PLAIN,
       NULL},
      {DICT("\"x\":" ENCODED(DIMS("\"-1\",\"-1\",\"3\""), "zlib")), "x", ASSAY_DTYPE_I16,
       "[-1,-1,3]", ASSAY_TFDS_ZLIB, NULL},
      {DICT("\"x\":" ENCODED("{}", "bytes")), "x", ASSAY_DTYPE_I16, "[]", ASSAY_TFDS_BYTES, NULL},
      {DICT("\"a\":" DICT("\"b\":" TENSOR("{}", "int8"))), "a/b", ASSAY_DTYPE_I8, "[]",
       ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"classLabel\":{\"numClasses\":\"3\"}}"), "x", ASSAY_DTYPE_I64, "[]",
       ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"text\":{}}"), "x", ASSAY_DTYPE_STRING, "[]", ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"sequence\":{\"feature\":" TENSOR(DIMS("\"4\""), "float32") "}}"), "x",
       ASSAY_DTYPE_F32, "[-1,4]", ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"sequence\":{\"feature\":" TENSOR("{}", "float32") ",\"length\":\"6\"}}"), "x",
       ASSAY_DTYPE_F32, "[6]", ASSAY_TFDS_PLAIN, NULL},
      {DICT("\"x\":{\"sequence\":{\"feature\":" DICT("\"y\":" TENSOR("{}", "int32")) "}}"), "x/y",
       ASSAY_DTYPE_I32, "[-1]", ASSAY_TFDS_PLAIN, NULL},
      {OLD_DICT("", "{\"x\":" OLD_TENSOR("[null,55]") "}"), "x", ASSAY_DTYPE_F32, "[-1,55]",
       ASSAY_TFDS_PLAIN, NULL},
      {OLD_DICT("\"proto_cls\":\"p\",",
                "{\"features\":{\"x\":" OLD_TENSOR("{\"dimensions\":[\"-1\"]}") "}}"),
       "x", ASSAY_DTYPE_F32, "[-1]", ASSAY_TFDS_PLAIN, NULL},

      {DICT("\"x\":{\"pythonClassName\":\"p\",\"image\":{\"shape\":{}}}"), "x", ASSAY_DTYPE_NONE,
       "[]", ASSAY_TFDS_PLAIN, "type 'image'"},
      {DICT("\"x\":{\"pythonClassName\":\"p\"}"), "x", ASSAY_DTYPE_NONE, "[]", ASSAY_TFDS_PLAIN,
       "type 'p'"},
      {DICT("\"x\":{}"), "x", ASSAY_DTYPE_NONE, "[]", ASSAY_TFDS_PLAIN, "type 'unknown'"},
      {DICT("\"x\":" TENSOR("{}", "complex64")), "x", ASSAY_DTYPE_NONE, "[]", ASSAY_TFDS_PLAIN,
       "dtype 'complex64'"},
      {DICT("\"x\":" TENSOR(DIMS("-1,-1"), "float32")), "x", ASSAY_DTYPE_NONE, "[-1,-1]",
       ASSAY_TFDS_PLAIN, "several free dimensions"},
      {DICT("\"x\":" ENCODED("{}", "lzma")), "x", ASSAY_DTYPE_NONE, "[]", ASSAY_TFDS_PLAIN,
       "encoding 'lzma'"},
      {DICT("\"x\":{\"sequence\":{\"feature\":" TENSOR(DIMS("-1"), "float32") "}}"), "x",
       ASSAY_DTYPE_NONE, "[-1,-1]", ASSAY_TFDS_PLAIN, "ragged"},
      {DICT("\"x\":{\"sequence\":{\"feature\":{\"sequence\":{\"feature\":{}}}}}"), "x",
       ASSAY_DTYPE_NONE, "[]", ASSAY_TFDS_PLAIN, "sequence of sequences"},
      {OLD_DICT("", "{\"x\":{\"type\":\"a.Image\",\"content\":{}}}"), "x", ASSAY_DTYPE_NONE, "[]",
       ASSAY_TFDS_PLAIN, "type 'Image'"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_json *root = parse(rows[i].text);
    assay_tfds_features features = {0};
    assay_error err = {0};
    char shape[256];
    expect_ok(assay_tfds_features_parse(root, &features, &err), &err, rows[i].text);
    assert_int_equal(features.n, 1);
    const assay_tfds_feature *f = features.items;
    assert_string_equal(f->name, rows[i].name);
    assert_int_equal(f->dtype, rows[i].dtype);
    assay_shape_text(f->dims, f->rank, shape, sizeof shape);
    assert_string_equal(shape, rows[i].shape);
    if (rows[i].unsupported == NULL) {
      assert_int_equal(f->encoding, rows[i].encoding);
      if (f->unsupported != NULL) fail_msg("%s: %s", rows[i].text, f->unsupported);
    } else if (f->unsupported == NULL || strstr(f->unsupported, rows[i].unsupported) == NULL) {
      fail_msg("%s: expected '%s', found '%s'", rows[i].text, rows[i].unsupported,
               f->unsupported == NULL ? "nothing" : f->unsupported);
    }
    assay_tfds_features_reset(&features);
    assay_json_destroy(root);
  }
}

static void refuses_features_that_are_not_as_they_must_be(void **state) {
  static const struct {
    const char *text;
    assay_status status;
    const char *words;
  } rows[] = {
      {"[]", ASSAY_E_FORMAT, "expected an object"},
      {"{\"featuresDict\":[]}", ASSAY_E_FORMAT, "'featuresDict'"},
      {"{\"featuresDict\":{\"features\":[]}}", ASSAY_E_FORMAT, "'features'"},
      {DICT("\"x\":1"), ASSAY_E_FORMAT, "feature 'x': expected an object"},
      {DICT("\"x\":{\"tensor\":{}}"), ASSAY_E_FORMAT, "feature 'x': 'dtype'"},
      {DICT("\"x\":" TENSOR("3", "float32")), ASSAY_E_FORMAT, "shape"},
      {DICT("\"x\":" TENSOR("{\"dimensions\":3}", "float32")), ASSAY_E_FORMAT, "'dimensions'"},
      {DICT("\"x\":" TENSOR(DIMS("\"-2\""), "float32")), ASSAY_E_FORMAT, "dimension"},
      {DICT("\"x\":" TENSOR(DIMS("\"1152921504606846976\""), "float32")), ASSAY_E_FORMAT,
       "dimension"},
      {DICT("\"x\":" TENSOR(DIMS("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"), "float32")), ASSAY_E_LIMIT,
       "17 dimensions"},
      {DICT("\"x\":{\"tensor\":{\"dtype\":\"int8\",\"optional\":1}}"), ASSAY_E_FORMAT, "optional"},
      {DICT("\"x\":{\"sequence\":{}}"), ASSAY_E_FORMAT, "'feature'"},
      {DICT("\"a/b\":" TENSOR("{}", "int8") ",\"a\":" DICT("\"b\":" TENSOR("{}", "int8"))),
       ASSAY_E_FORMAT, "feature 'a/b': another feature has the same name"},
  };
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_json *root = parse(rows[i].text);
    assay_tfds_features features = {0};
    assay_error err = {0};
    expect(assay_tfds_features_parse(root, &features, &err), &err, rows[i].status, rows[i].words,
           rows[i].text);
    assay_json_destroy(root);
  }
}

/* Dictionaries in dictionaries, and names that add up. */
static void bounds_depth_and_names(void **state) {
  static const struct {
    int depth, n_name;
    const char *words;
  } rows[] = {{40, 1, "nested 33 deep"}, {20, 500, "a feature's name of"}};
  (void)state;
  for (size_t i = 0; i < N_OF(rows); i++) {
    assay_buf text = {0};
    for (int d = 0; d < rows[i].depth; d++) {
      append(&text, "{\"featuresDict\":{\"features\":{\"", 30);
      for (int k = 0; k < rows[i].n_name; k++) append(&text, "n", 1);
      append(&text, "\":", 2);
    }
    append(&text, "{}", 2);
    for (int d = 0; d < rows[i].depth; d++) append(&text, "}}}", 3);
    assay_json *root = parse(assay_buf_text(&text));
    assay_tfds_features features = {0};
    assay_error err = {0};
    expect(assay_tfds_features_parse(root, &features, &err), &err, ASSAY_E_LIMIT, rows[i].words,
           "depth");
    assay_json_destroy(root);
    assay_buf_reset(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(describes_the_small_dataset),
      cmocka_unit_test(reads_the_small_datasets_events),
      cmocka_unit_test(reads_the_gold_dataset_bit_for_bit),
      cmocka_unit_test(reads_the_gold_dataset_of_three_shards_bit_for_bit),
      cmocka_unit_test(reads_only_what_is_asked_for),
      cmocka_unit_test(says_that_memory_is_out_at_each_step),
      cmocka_unit_test(reads_tfrecord_shards),
      cmocka_unit_test(finds_datasets_by_name_config_and_version),
      cmocka_unit_test(warns_where_the_folder_has_another_name),
      cmocka_unit_test(refuses_documents_by_the_field_that_is_wrong),
      cmocka_unit_test(names_shards_by_the_template),
      cmocka_unit_test(takes_as_many_digits_as_the_number_of_shards),
      cmocka_unit_test(reads_every_kind_of_feature),
      cmocka_unit_test(refuses_features_that_are_not_as_they_must_be),
      cmocka_unit_test(bounds_depth_and_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
