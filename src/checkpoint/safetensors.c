/* safetensors, read and written. The header's numbers are checked before anything is believed. */
#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/fresh_tensor.h"

/* npz.md section 5; the header's limit is the reference implementation's. */
#define HEADER_BYTES_MAX ((uint64_t)100000000)
#define TENSORS_MAX      ((size_t)1000000)
#define NAME_BYTES_MAX   ((size_t)4096)
#define RANK_MAX         ASSAY_TENSOR_RANK_MAX
#define LENGTH_BYTES     8
#define ALIGN_BYTES      8

/* In the order in which the reference writer puts them: the last first. */
typedef struct row {
  const char *name;
  assay_dtype dtype; /* NONE: known, and not held */
  size_t elem_bytes;
} row;

static const row rows[] = {
    {"BOOL", ASSAY_DTYPE_BOOL, 1},
    {"U8", ASSAY_DTYPE_U8, 1},
    {"I8", ASSAY_DTYPE_I8, 1},
    {"F8_E5M2", ASSAY_DTYPE_NONE, 1},
    {"F8_E4M3", ASSAY_DTYPE_NONE, 1},
    {"F8_E8M0", ASSAY_DTYPE_NONE, 1},
    {"F8_E4M3FNUZ", ASSAY_DTYPE_NONE, 1},
    {"F8_E5M2FNUZ", ASSAY_DTYPE_NONE, 1},
    {"I16", ASSAY_DTYPE_I16, 2},
    {"U16", ASSAY_DTYPE_U16, 2},
    {"F16", ASSAY_DTYPE_F16, 2},
    {"BF16", ASSAY_DTYPE_BF16, 2},
    {"I32", ASSAY_DTYPE_I32, 4},
    {"U32", ASSAY_DTYPE_U32, 4},
    {"F32", ASSAY_DTYPE_F32, 4},
    {"C64", ASSAY_DTYPE_C64, 8},
    {"F64", ASSAY_DTYPE_F64, 8},
    {"I64", ASSAY_DTYPE_I64, 8},
    {"U64", ASSAY_DTYPE_U64, 8},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

struct assay_safetensors {
  assay_file_map map; /* empty where the bytes are the caller's */
  const uint8_t *bytes;
  size_t size_bytes;
  uint64_t data_at;           /* offset of the data area */
  assay_json *header;         /* owned; names and metadata are borrowed from it */
  const assay_json *metadata; /* or NULL */
  assay_safetensor *items;    /* owned */
  size_t n_items;
  int64_t *dims; /* of all, owned */
  size_t n_dims;
};

/* ---- reading the header
 * -------------------------------------------------------------------------- */

static const row *row_of_name(const char *name) {
  for (size_t i = 0; i < N_ROWS; i++) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

static assay_status parse_header(assay_safetensors *file, assay_error *err) {
  uint64_t n = 0;
  if (file->size_bytes < LENGTH_BYTES) {
    return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes: too few for the header's length",
                      file->size_bytes);
  }
  for (int i = LENGTH_BYTES; i-- > 0;) n = n << 8 | file->bytes[i];
  if (n > file->size_bytes - LENGTH_BYTES) {
    return assay_fail(err, ASSAY_E_FORMAT, "a header of %llu bytes, %zu are left: truncated",
                      (unsigned long long)n, file->size_bytes - LENGTH_BYTES);
  }
  if (n > HEADER_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "a header of %llu bytes: the limit is %llu",
                      (unsigned long long)n, (unsigned long long)HEADER_BYTES_MAX);
  }
  if (n == 0 || file->bytes[LENGTH_BYTES] != '{') {
    return assay_fail(err, ASSAY_E_FORMAT, "the header does not begin with '{'");
  }
  file->data_at = LENGTH_BYTES + n;
  return assay_json_parse(file->bytes + LENGTH_BYTES, (size_t)n, &file->header, err);
}

static assay_status check_text(void *arg, const char *key, const assay_json *value,
                               assay_error *err) {
  (void)arg;
  if (assay_json_string(value) != NULL) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "__metadata__ '%s' is not a string", key);
}

static assay_status check_metadata(assay_safetensors *file, assay_error *err) {
  file->metadata = assay_json_get(file->header, "__metadata__");
  if (file->metadata == NULL) return ASSAY_OK;
  if (assay_json_kind_of(file->metadata) != ASSAY_JSON_OBJECT) {
    return assay_fail(err, ASSAY_E_FORMAT, "__metadata__ is not an object");
  }
  return assay_json_each(file->metadata, check_text, /*arg=*/NULL, err);
}

static assay_status add_rank(void *arg, const char *key, const assay_json *value,
                             assay_error *err) {
  (void)key;
  (void)err;
  *(size_t *)arg += assay_json_len(assay_json_get(value, "shape"));
  return ASSAY_OK;
}

/* Total of all ranks, for one allocation. */
static assay_status count_dims(assay_safetensors *file, assay_error *err) {
  size_t n = assay_json_len(file->header), n_dims = 0;
  if (n > TENSORS_MAX + 1) {
    return assay_fail(err, ASSAY_E_LIMIT, "%zu tensors: the limit is %zu", n, TENSORS_MAX);
  }
  ASSAY_TRY(assay_json_each(file->header, add_rank, &n_dims, err));
  file->items = assay_alloc_array(n, sizeof *file->items);
  file->dims = assay_alloc_array(n_dims, sizeof *file->dims);
  if (file->items == NULL || file->dims == NULL)
    return assay_fail_memory(err, n * sizeof *file->items);
  return ASSAY_OK;
}

static assay_status read_number(const assay_json *value, const char *what, int64_t *out,
                                assay_error *err) {
  if (value == NULL || assay_json_kind_of(value) != ASSAY_JSON_INT || assay_json_int(value) < 0) {
    return assay_fail(err, ASSAY_E_FORMAT, "%s: integers of 0 or more expected", what);
  }
  *out = assay_json_int(value);
  return ASSAY_OK;
}

static assay_status read_shape(assay_safetensors *file, const assay_json *entry,
                               assay_safetensor *item, assay_error *err) {
  const assay_json *shape;
  ASSAY_TRY(assay_json_need_array(entry, "shape", &shape, err));
  size_t rank = assay_json_len(shape);
  if (rank > RANK_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "%zu dimensions: the limit is %d", rank, RANK_MAX);
  }
  int64_t *dims = file->dims + file->n_dims;
  for (size_t i = 0; i < rank; i++) {
    ASSAY_TRY(read_number(assay_json_at(shape, i), "shape", &dims[i], err));
  }
  file->n_dims += rank;
  item->dims = dims;
  item->rank = (int)rank;
  return assay_shape_count(dims, item->rank, &item->n_elems, err);
}

static assay_status read_range(const assay_safetensors *file, const assay_json *entry,
                               size_t elem_bytes, assay_safetensor *item, assay_error *err) {
  const assay_json *range;
  int64_t begin, end;
  size_t want;
  uint64_t data_bytes = file->size_bytes - file->data_at;
  ASSAY_TRY(assay_json_need_array(entry, "data_offsets", &range, err));
  if (assay_json_len(range) != 2) {
    return assay_fail(err, ASSAY_E_FORMAT, "data_offsets: a beginning and an end expected");
  }
  ASSAY_TRY(read_number(assay_json_at(range, 0), "data_offsets", &begin, err));
  ASSAY_TRY(read_number(assay_json_at(range, 1), "data_offsets", &end, err));
  if (begin > end || (uint64_t)end > data_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT,
                      "bytes %lld to %lld, the file has %llu behind its header", (long long)begin,
                      (long long)end, (unsigned long long)data_bytes);
  }
  if (!assay_size_mul(item->n_elems, elem_bytes, &want) || want != (uint64_t)(end - begin)) {
    return assay_fail(err, ASSAY_E_FORMAT, "%zu elements of %s in %lld bytes", item->n_elems,
                      item->dtype_name, (long long)(end - begin));
  }
  item->offset = file->data_at + (uint64_t)begin;
  item->size_bytes = want;
  return ASSAY_OK;
}

static assay_status read_item(assay_safetensors *file, const char *name, const assay_json *entry,
                              assay_error *err) {
  static const char *const keys[] = {"dtype", "shape", "data_offsets"};
  assay_safetensor *item = &file->items[file->n_items];
  if (strlen(name) > NAME_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "a name of %zu bytes: the limit is %zu", strlen(name),
                      NAME_BYTES_MAX);
  }
  if (assay_json_kind_of(entry) != ASSAY_JSON_OBJECT) {
    return assay_fail(err, ASSAY_E_FORMAT, "an object expected, found %s",
                      assay_json_kind_name(assay_json_kind_of(entry)));
  }
  ASSAY_TRY(assay_json_only_keys(entry, keys, 3, err));
  item->name = name;
  ASSAY_TRY(assay_json_need_string(entry, "dtype", &item->dtype_name, err));
  const row *dtype = row_of_name(item->dtype_name);
  if (dtype == NULL) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "unknown dtype '%s'", item->dtype_name);
  }
  item->dtype = dtype->dtype;
  ASSAY_TRY(read_shape(file, entry, item, err));
  ASSAY_TRY(read_range(file, entry, dtype->elem_bytes, item, err));
  file->n_items++;
  return ASSAY_OK;
}

static assay_status read_member(void *arg, const char *name, const assay_json *entry,
                                assay_error *err) {
  if (strcmp(name, "__metadata__") == 0) return ASSAY_OK;
  assay_status st = read_item(arg, name, entry, err);
  if (st) assay_error_in(err, "tensor '%s'", name);
  return st;
}

static int compare_items(const void *left, const void *right) {
  const assay_safetensor *a = left, *b = right;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  if (a->size_bytes != b->size_bytes) return a->size_bytes < b->size_bytes ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* The ranges must follow each other from the first byte of the data to the last. */
static assay_status check_layout(assay_safetensors *file, assay_error *err) {
  uint64_t at = file->data_at;
  qsort(file->items, file->n_items, sizeof *file->items, compare_items);
  for (size_t i = 0; i < file->n_items; i++) {
    const assay_safetensor *item = &file->items[i];
    if (item->offset != at) {
      return assay_fail(err, ASSAY_E_FORMAT,
                        "tensor '%s' begins at byte %llu of the data, %llu expected: %s",
                        item->name, (unsigned long long)(item->offset - file->data_at),
                        (unsigned long long)(at - file->data_at),
                        item->offset < at ? "it overlaps another" : "a gap");
    }
    at += item->size_bytes;
  }
  if (at == file->size_bytes) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%llu bytes behind the last tensor",
                    (unsigned long long)(file->size_bytes - at));
}

static assay_status open_bytes(assay_safetensors *file, const void *bytes, size_t size_bytes,
                               assay_error *err) {
  file->bytes = bytes;
  file->size_bytes = size_bytes;
  ASSAY_TRY(parse_header(file, err));
  ASSAY_TRY(check_metadata(file, err));
  ASSAY_TRY(count_dims(file, err));
  ASSAY_TRY(assay_json_each(file->header, read_member, file, err));
  return check_layout(file, err);
}

static assay_status create(assay_safetensors **out, assay_error *err) {
  *out = assay_alloc(sizeof **out);
  return *out == NULL ? assay_fail_memory(err, sizeof **out) : ASSAY_OK;
}

assay_status assay_safetensors_open_bytes(const void *bytes, size_t size_bytes,
                                          assay_safetensors **out, assay_error *err) {
  assay_safetensors *file;
  ASSAY_TRY(create(&file, err));
  assay_status st = open_bytes(file, bytes, size_bytes, err);
  if (st) {
    assay_safetensors_close(file);
    assay_error_in(err, "safetensors");
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

assay_status assay_safetensors_open(const char *path, assay_safetensors **out, assay_error *err) {
  assay_safetensors *file;
  ASSAY_TRY(create(&file, err));
  assay_status st = assay_file_map_open(path, &file->map, err);
  if (!st) st = open_bytes(file, file->map.data, file->map.size_bytes, err);
  if (st) {
    assay_safetensors_close(file);
    assay_error_in(err, "safetensors '%s'", path);
    return st;
  }
  *out = file;
  return ASSAY_OK;
}

void assay_safetensors_close(assay_safetensors *file) {
  if (file == NULL) return;
  assay_json_destroy(file->header);
  assay_free(file->items);
  assay_free(file->dims);
  assay_file_map_close(&file->map);
  assay_free(file);
}

size_t assay_safetensors_count(const assay_safetensors *file) {
  return file->n_items;
}

const assay_safetensor *assay_safetensors_at(const assay_safetensors *file, size_t i) {
  return i < file->n_items ? &file->items[i] : NULL;
}

size_t assay_safetensors_n_metadata(const assay_safetensors *file) {
  return assay_json_len(file->metadata);
}

assay_safetensors_pair assay_safetensors_metadata(const assay_safetensors *file, size_t i) {
  return (assay_safetensors_pair){.key = assay_json_key_at(file->metadata, i),
                                  .value =
                                      assay_json_string(assay_json_value_at(file->metadata, i))};
}

/* ---- reading tensors
 * ------------------------------------------------------------------------------ */

static assay_status check_bools(const assay_safetensor *item, const uint8_t *bytes,
                                assay_error *err) {
  if (item->dtype != ASSAY_DTYPE_BOOL) return ASSAY_OK;
  for (size_t i = 0; i < item->n_elems; i++) {
    if (bytes[i] > 1) {
      return assay_fail(err, ASSAY_E_FORMAT, "tensor '%s': bool %zu is stored as %u", item->name, i,
                        (unsigned)bytes[i]);
    }
  }
  return ASSAY_OK;
}

static assay_status read_tensor(const assay_safetensors *file, size_t i, bool may_view,
                                assay_tensor *out, assay_error *err) {
  if (i >= file->n_items) {
    return assay_fail(err, ASSAY_E_ARGUMENT, "tensor %zu of %zu", i, file->n_items);
  }
  const assay_safetensor *item = &file->items[i];
  if (item->dtype == ASSAY_DTYPE_NONE) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "tensor '%s': assay has no type for %s", item->name,
                      item->dtype_name);
  }
  const uint8_t *bytes = file->bytes + item->offset;
  ASSAY_TRY(check_bools(item, bytes, err));
  bool aligned = (uintptr_t)bytes % assay_dtype_size(item->dtype) == 0;
  if (may_view && aligned && item->size_bytes > 0) {
    return assay_tensor_init_view(out, item->dtype, item->rank, item->dims,
                                  (void *)(uintptr_t)bytes, err);
  }
  ASSAY_TRY(assay_tensor_init_unset(out, item->dtype, item->rank, item->dims, err));
  fresh_tensor_fill(out, bytes, /*crc=*/NULL);
  return ASSAY_OK;
}

assay_status assay_safetensors_read(const assay_safetensors *file, size_t i, assay_tensor *out,
                                    assay_error *err) {
  return read_tensor(file, i, /*may_view=*/false, out, err);
}

assay_status assay_safetensors_view(const assay_safetensors *file, size_t i, assay_tensor *out,
                                    assay_error *err) {
  return read_tensor(file, i, /*may_view=*/true, out, err);
}

static assay_status read_into(const assay_safetensors *file, assay_tensor_map *map,
                              assay_error *err) {
  for (size_t i = 0; i < file->n_items; i++) {
    assay_tensor tensor;
    ASSAY_TRY(assay_safetensors_read(file, i, &tensor, err));
    assay_status st = assay_tensor_map_add(map, file->items[i].name, &tensor, err);
    if (st) {
      assay_tensor_reset(&tensor);
      return st;
    }
  }
  return ASSAY_OK;
}

assay_status assay_safetensors_read_all(const char *path, assay_tensor_map *out, assay_error *err) {
  assay_safetensors *file = NULL;
  assay_tensor_map map = {0};
  ASSAY_TRY(assay_safetensors_open(path, &file, err));
  assay_status st = read_into(file, &map, err);
  assay_safetensors_close(file);
  if (st) {
    assay_tensor_map_reset(&map);
    assay_error_in(err, "safetensors '%s'", path);
    return st;
  }
  *out = map;
  return ASSAY_OK;
}

/* ---- writing
 * -------------------------------------------------------------------------------------- */

typedef struct part {
  const assay_named_tensor *item;
  size_t rank; /* index into rows */
} part;

static int compare_parts(const void *left, const void *right) {
  const part *a = left, *b = right;
  if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
  return strcmp(a->item->name, b->item->name);
}

static assay_status sort_parts(const assay_tensor_map *map, part *parts, assay_error *err) {
  for (size_t i = 0; i < map->n; i++) {
    const assay_named_tensor *item = &map->items[i];
    size_t rank = N_ROWS;
    for (size_t k = 0; k < N_ROWS; k++) {
      if (item->tensor.dtype != ASSAY_DTYPE_NONE && rows[k].dtype == item->tensor.dtype) rank = k;
    }
    if (rank == N_ROWS) {
      return assay_fail(err, ASSAY_E_ARGUMENT, "tensor '%s': safetensors has no type for %s",
                        item->name, assay_dtype_name(item->tensor.dtype));
    }
    if (strcmp(item->name, "__metadata__") == 0 || strlen(item->name) > NAME_BYTES_MAX) {
      return assay_fail(err, ASSAY_E_ARGUMENT,
                        "'%.60s' cannot be the name of a tensor in safetensors", item->name);
    }
    parts[i] = (part){.item = item, .rank = rank};
  }
  qsort(parts, map->n, sizeof *parts, compare_parts);
  return ASSAY_OK;
}

static void put_entry(assay_json_builder *b, const part *one, uint64_t begin) {
  const assay_tensor *tensor = &one->item->tensor;
  assay_json_begin_object(b, one->item->name);
  assay_json_put_string(b, "dtype", rows[one->rank].name);
  assay_json_begin_array(b, "shape");
  for (int i = 0; i < tensor->rank; i++) assay_json_put_int(b, NULL, tensor->dims[i]);
  assay_json_end(b);
  assay_json_begin_array(b, "data_offsets");
  assay_json_put_int(b, NULL, (int64_t)begin);
  assay_json_put_int(b, NULL, (int64_t)(begin + tensor->size_bytes));
  assay_json_end(b);
  assay_json_end(b);
}

static void put_metadata(assay_json_builder *b, const assay_safetensors_pair *pairs, size_t n) {
  if (n == 0) return;
  assay_json_begin_object(b, "__metadata__");
  for (size_t i = 0; i < n; i++) assay_json_put_string(b, pairs[i].key, pairs[i].value);
  assay_json_end(b);
}

/* The builder indents; the reference writer leaves no white space between the parts of its header.
 */
static assay_status one_line(assay_json_builder *b, assay_buf *out, assay_error *err) {
  assay_buf text = {0};
  assay_status st = assay_json_builder_finish(b, &text, err);
  bool in_string = false;
  size_t n = 0;
  for (size_t i = 0; i < text.size_bytes; i++) {
    uint8_t c = text.data[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') text.data[n++] = text.data[i++]; /* what it escapes is no quote */
    if (in_string || (c != ' ' && c != '\n')) text.data[n++] = text.data[i];
  }
  if (!st) st = assay_buf_append(out, text.data, n, err);
  assay_buf_reset(&text);
  return st;
}

static assay_status make_header(const part *parts, size_t n, const assay_safetensors_pair *metadata,
                                size_t n_metadata, assay_buf *out, assay_error *err) {
  uint64_t at = 0;
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, /*key=*/NULL);
  put_metadata(b, metadata, n_metadata);
  for (size_t i = 0; i < n; i++) {
    put_entry(b, &parts[i], at);
    at += parts[i].item->tensor.size_bytes;
  }
  assay_json_end(b);
  assay_status st = one_line(b, out, err);
  assay_json_builder_destroy(b);
  while (!st && out->size_bytes % ALIGN_BYTES != 0) st = assay_buf_append_text(out, " ", err);
  return st;
}

static assay_status write_parts(const char *path, const assay_buf *header, const part *parts,
                                size_t n, assay_error *err) {
  uint8_t length[LENGTH_BYTES];
  assay_file_writer *writer = NULL;
  for (int i = 0; i < LENGTH_BYTES; i++)
    length[i] = (uint8_t)((uint64_t)header->size_bytes >> (8 * i));
  ASSAY_TRY(assay_file_writer_open(path, &writer, err));
  assay_status st = assay_file_writer_append(writer, length, sizeof length, err);
  if (!st) st = assay_file_writer_append(writer, header->data, header->size_bytes, err);
  for (size_t i = 0; i < n && !st; i++) {
    const assay_tensor *tensor = &parts[i].item->tensor;
    st = assay_file_writer_append(writer, tensor->data, tensor->size_bytes, err);
  }
  if (!st) st = assay_file_writer_commit(writer, err);
  assay_file_writer_close(writer);
  return st;
}

assay_status assay_safetensors_write(const char *path, const assay_tensor_map *tensors,
                                     const assay_safetensors_pair *metadata, size_t n,
                                     assay_error *err) {
  assay_buf header = {0};
  part *parts = assay_alloc_array(tensors->n, sizeof *parts);
  assay_status st = parts == NULL ? assay_fail_memory(err, tensors->n * sizeof *parts)
                                  : sort_parts(tensors, parts, err);
  if (!st) st = make_header(parts, tensors->n, metadata, n, &header, err);
  if (!st) st = write_parts(path, &header, parts, tensors->n, err);
  assay_free(parts);
  assay_buf_reset(&header);
  return st;
}
