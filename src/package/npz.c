/* .npy and .npz files. The format of one array is npy.c's, that of the archive base/zip.c's. */
#include "package/npz.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zip.h"
#include "package/npy.h"

#define ARRAY_MAX_BYTES ((uint64_t)16 << 30)
#define TOTAL_MAX_BYTES ((uint64_t)64 << 30)
#define SUFFIX          ".npy"
#define PEEK_BYTES      256 /* holds the whole header of an ordinary array */

static uint64_t max_array_bytes(const assay_npz_limits *limits) {
  return limits != NULL && limits->max_array_bytes > 0 ? limits->max_array_bytes : ARRAY_MAX_BYTES;
}

static uint64_t max_total_bytes(const assay_npz_limits *limits) {
  return limits != NULL && limits->max_total_bytes > 0 ? limits->max_total_bytes : TOTAL_MAX_BYTES;
}

/* ---- one array ----------------------------------------------------------------------------------
 */

/* The elements behind the header, into our order. */
static assay_status copy_data(const assay_npy_header *header, const uint8_t *bytes,
                              assay_tensor *tensor, assay_error *err) {
  if (header->data_bytes > 0) {
    memcpy(tensor->data, bytes + header->header_bytes, header->data_bytes);
  }
  return assay_npy_normalise(header, tensor, err);
}

/* Checks that the data are there before anything is allocated for them. */
static assay_status parse_array(const uint8_t *bytes, size_t size_bytes,
                                const assay_npz_limits *limits, assay_tensor *out,
                                assay_error *err) {
  assay_npy_header header;
  ASSAY_TRY(assay_npy_header_parse(bytes, size_bytes, &header, err));
  if (header.data_bytes > size_bytes - header.header_bytes) {
    return assay_fail(err, ASSAY_E_FORMAT, "truncated: expected %zu bytes of data, found %zu",
                      header.data_bytes, size_bytes - header.header_bytes);
  }
  assay_tensor tensor = {0};
  ASSAY_TRY(assay_npy_tensor_init(&header, max_array_bytes(limits), &tensor, err));
  assay_status st = copy_data(&header, bytes, &tensor, err);
  if (st) {
    assay_tensor_reset(&tensor);
    return st;
  }
  *out = tensor;
  return ASSAY_OK;
}

assay_status assay_npy_parse(const void *bytes, size_t size_bytes, const char *what,
                             assay_tensor *out, assay_error *err) {
  assay_status st = parse_array(bytes, size_bytes, /*limits=*/NULL, out, err);
  if (st) assay_error_in(err, "'%s'", what);
  return st;
}

static bool is_zip(const void *bytes, size_t size_bytes) {
  return size_bytes >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

assay_status assay_npy_read(const char *path, const assay_npz_limits *limits, assay_tensor *out,
                            assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st =
      is_zip(map.data, map.size_bytes)
          ? assay_fail(err, ASSAY_E_FORMAT, "a .npz archive: expected a .npy file with one array")
          : parse_array(map.data, map.size_bytes, limits, out, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_file_map_close(&map);
  return st;
}

/* ---- archives -----------------------------------------------------------------------------------
 */

/* A member without ".npy" is no array. */
static bool is_array(const assay_zip_entry *entry) {
  return assay_text_has_suffix(entry->name, SUFFIX);
}

/* The entry's name without ".npy"; NULL when memory is out. */
static char *array_name(const assay_zip_entry *entry) {
  return assay_strndup(entry->name, strlen(entry->name) - strlen(SUFFIX));
}

/* Reads the header of entry i from its first bytes, and once more if it is longer than a header
 * usually is. */
static assay_status peek_header(assay_zip *zip, size_t i, assay_buf *bytes, assay_npy_header *out,
                                assay_error *err) {
  size_t header_bytes = 0;
  ASSAY_TRY(assay_zip_peek(zip, i, PEEK_BYTES, bytes, err));
  ASSAY_TRY(assay_npy_header_size(bytes->data, bytes->size_bytes, &header_bytes, err));
  if (header_bytes > bytes->size_bytes) ASSAY_TRY(assay_zip_peek(zip, i, header_bytes, bytes, err));
  ASSAY_TRY(assay_npy_header_parse(bytes->data, bytes->size_bytes, out, err));
  /* Of a type that is not held the length of the data is not known. */
  uint64_t expected = (uint64_t)out->header_bytes + out->data_bytes;
  uint64_t found = assay_zip_at(zip, i)->size_bytes;
  if (out->dtype == ASSAY_DTYPE_NONE || expected == found) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT, "%s: expected %llu bytes of header and data, found %llu",
                    found < expected ? "truncated" : "bytes behind the array",
                    (unsigned long long)expected, (unsigned long long)found);
}

static assay_status read_header(assay_zip *zip, size_t i, assay_npy_header *out, assay_error *err) {
  assay_buf bytes = {0};
  assay_status st = peek_header(zip, i, &bytes, out, err);
  assay_buf_reset(&bytes);
  return st;
}

/* The header is unpacked a second time, to get to the data: into scratch. */
static assay_status read_data(assay_zip *zip, size_t i, const assay_npy_header *header,
                              assay_tensor *tensor, assay_error *err) {
  void *scratch = assay_alloc(header->header_bytes);
  if (scratch == NULL) return assay_fail_memory(err, header->header_bytes);
  assay_status st = assay_zip_read_split(zip, i, scratch, header->header_bytes, tensor->data, err);
  assay_free(scratch);
  if (st) return st;
  return assay_npy_normalise(header, tensor, err);
}

static assay_status read_entry(assay_zip *zip, size_t i, const assay_npz_limits *limits,
                               uint64_t *total_bytes, assay_tensor *out, assay_error *err) {
  assay_npy_header header;
  ASSAY_TRY(read_header(zip, i, &header, err));
  *total_bytes += header.data_bytes; /* below 2^63 each, and checked each time */
  if (*total_bytes > max_total_bytes(limits)) {
    return assay_fail(err, ASSAY_E_LIMIT, "arrays of more than %llu bytes in all",
                      (unsigned long long)max_total_bytes(limits));
  }
  assay_tensor tensor = {0};
  ASSAY_TRY(assay_npy_tensor_init(&header, max_array_bytes(limits), &tensor, err));
  assay_status st = read_data(zip, i, &header, &tensor, err);
  if (st) {
    assay_tensor_reset(&tensor);
    return st;
  }
  *out = tensor;
  return ASSAY_OK;
}

static assay_status add_entry(assay_zip *zip, size_t i, const assay_npz_limits *limits,
                              uint64_t *total_bytes, assay_tensor_map *map, assay_error *err) {
  char *name = array_name(assay_zip_at(zip, i));
  if (name == NULL) return assay_fail_memory(err, strlen(assay_zip_at(zip, i)->name));
  assay_tensor tensor = {0};
  assay_status st = read_entry(zip, i, limits, total_bytes, &tensor, err);
  if (!st) st = assay_tensor_map_add(map, name, &tensor, err);
  if (st) assay_error_in(err, "array '%s'", name);
  assay_tensor_reset(&tensor);
  assay_free(name);
  return st;
}

static assay_status read_archive(assay_zip *zip, const assay_npz_limits *limits,
                                 assay_tensor_map *map, assay_error *err) {
  uint64_t total_bytes = 0;
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    if (is_array(assay_zip_at(zip, i))) {
      ASSAY_TRY(add_entry(zip, i, limits, &total_bytes, map, err));
    }
  }
  return ASSAY_OK;
}

/* The file's first bytes, to tell a .npy file from an archive. */
static assay_status starts_as_npy(const char *path, bool *out, assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  *out = assay_npy_is_magic(map.data, map.size_bytes);
  assay_file_map_close(&map);
  return ASSAY_OK;
}

assay_status assay_npz_read(const char *path, const assay_npz_limits *limits, assay_tensor_map *out,
                            assay_error *err) {
  bool is_npy = false;
  ASSAY_TRY(starts_as_npy(path, &is_npy, err));
  if (is_npy) {
    return assay_fail(
        err, ASSAY_E_FORMAT,
        "'%s': a .npy file, whose array has no name: expected a .npz archive; save it "
        "with numpy.savez(path, name=array)",
        path);
  }
  assay_zip *zip = NULL;
  ASSAY_TRY(assay_zip_open(path, &zip, err));
  assay_tensor_map map = {0};
  assay_status st = read_archive(zip, limits, &map, err);
  assay_zip_close(zip);
  if (st) {
    assay_error_in(err, "'%s'", path);
    assay_tensor_map_reset(&map);
    return st;
  }
  *out = map;
  return ASSAY_OK;
}

static assay_status read_named(assay_zip *zip, const char *name, const assay_npz_limits *limits,
                               assay_tensor *out, assay_error *err) {
  uint64_t total_bytes = 0;
  size_t n_name = strlen(name);
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    const char *entry = assay_zip_at(zip, i)->name;
    if (strncmp(entry, name, n_name) != 0 || strcmp(entry + n_name, SUFFIX) != 0) continue;
    assay_status st = read_entry(zip, i, limits, &total_bytes, out, err);
    if (st) assay_error_in(err, "array '%s'", name);
    return st;
  }
  return assay_fail(err, ASSAY_E_ARGUMENT, "no array is named '%s'", name);
}

assay_status assay_npz_read_array(const char *path, const char *name,
                                  const assay_npz_limits *limits, assay_tensor *out,
                                  assay_error *err) {
  assay_zip *zip = NULL;
  ASSAY_TRY(assay_zip_open(path, &zip, err));
  assay_status st = read_named(zip, name, limits, out, err);
  assay_zip_close(zip);
  if (st) assay_error_in(err, "'%s'", path);
  return st;
}

/* ---- listing ------------------------------------------------------------------------------------
 */

/* Copies what the header says; name becomes the list's. */
static void fill_info(assay_npz_entry_info *info, const assay_npy_header *header, char *name,
                      bool compressed) {
  *info = (assay_npz_entry_info){.name = name,
                                 .dtype = header->dtype,
                                 .fortran_order = header->is_fortran_order,
                                 .rank = header->rank,
                                 .size_bytes = header->data_bytes,
                                 .compressed = compressed};
  memcpy(info->descr, header->descr, sizeof info->descr);
  memcpy(info->dims, header->dims, sizeof info->dims);
}

static assay_status list_entry(assay_zip *zip, size_t i, assay_npz_entry_info *info,
                               assay_error *err) {
  const assay_zip_entry *entry = assay_zip_at(zip, i);
  assay_npy_header header;
  assay_status st = read_header(zip, i, &header, err);
  if (st) {
    assay_error_in(err, "entry '%s'", entry->name);
    return st;
  }
  char *name = array_name(entry);
  if (name == NULL) return assay_fail_memory(err, strlen(entry->name));
  fill_info(info, &header, name, entry->method != 0);
  return ASSAY_OK;
}

static assay_status list_archive(assay_zip *zip, assay_npz_entry_info **out, size_t *out_n,
                                 assay_error *err) {
  size_t n = 0, n_all = assay_zip_count(zip);
  assay_npz_entry_info *list = assay_alloc_array(n_all, sizeof *list);
  if (list == NULL) return assay_fail_memory(err, n_all * sizeof *list);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < n_all && !st; i++) {
    if (!is_array(assay_zip_at(zip, i))) continue;
    st = list_entry(zip, i, &list[n], err);
    if (!st) n++;
  }
  if (st) {
    assay_npz_list_destroy(list, n);
    return st;
  }
  *out = list;
  *out_n = n;
  return ASSAY_OK;
}

static assay_status parse_listed(const char *path, assay_npy_header *header, uint64_t *extra_bytes,
                                 assay_error *err) {
  assay_file_map map = {0};
  ASSAY_TRY(assay_file_map_open(path, &map, err));
  assay_status st = assay_npy_header_parse(map.data, map.size_bytes, header, err);
  if (st) assay_error_in(err, "'%s'", path);
  uint64_t used = st ? 0 : (uint64_t)header->header_bytes + header->data_bytes;
  bool is_known = !st && header->dtype != ASSAY_DTYPE_NONE;
  *extra_bytes = is_known && map.size_bytes > used ? map.size_bytes - used : 0;
  assay_file_map_close(&map);
  return st;
}

/* A .npy file is a list of one array without a name. */
static assay_status list_npy(const char *path, assay_npz_entry_info **out, size_t *out_n,
                             assay_error *err) {
  assay_npz_entry_info *list = assay_alloc(sizeof *list);
  char *name = assay_strdup("");
  assay_npy_header header;
  uint64_t extra_bytes = 0;
  assay_status st = list == NULL || name == NULL ? assay_fail_memory(err, sizeof *list)
                                                 : parse_listed(path, &header, &extra_bytes, err);
  if (st) {
    assay_free(name);
    assay_free(list);
    return st;
  }
  fill_info(list, &header, name, /*compressed=*/false);
  list->extra_bytes = extra_bytes;
  *out = list;
  *out_n = 1;
  return ASSAY_OK;
}

assay_status assay_npz_list(const char *path, assay_npz_entry_info **out, size_t *out_n,
                            assay_error *err) {
  bool is_npy = false;
  ASSAY_TRY(starts_as_npy(path, &is_npy, err));
  if (is_npy) return list_npy(path, out, out_n, err);
  assay_zip *zip = NULL;
  ASSAY_TRY(assay_zip_open(path, &zip, err));
  assay_status st = list_archive(zip, out, out_n, err);
  if (st) assay_error_in(err, "'%s'", path);
  assay_zip_close(zip);
  return st;
}

void assay_npz_list_destroy(assay_npz_entry_info *list, size_t n) {
  if (list == NULL) return;
  for (size_t i = 0; i < n; i++) assay_free(list[i].name);
  assay_free(list);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static assay_status write_array(assay_file_writer *writer, const assay_tensor *array,
                                const assay_buf *header, assay_error *err) {
  ASSAY_TRY(assay_file_writer_append(writer, header->data, header->size_bytes, err));
  ASSAY_TRY(assay_file_writer_append(writer, array->data, array->size_bytes, err));
  return assay_file_writer_commit(writer, err);
}

assay_status assay_npy_write(const char *path, const assay_tensor *array, assay_error *err) {
  assay_buf header = {0};
  assay_file_writer *writer = NULL;
  assay_status st = assay_npy_header_append(array, &header, err);
  if (!st) st = assay_file_writer_open(path, &writer, err);
  if (!st) st = write_array(writer, array, &header, err);
  assay_file_writer_close(writer);
  assay_buf_reset(&header);
  return st;
}

static assay_status add_array(assay_zip_writer *writer, const assay_named_tensor *item,
                              assay_buf *header, assay_error *err) {
  ASSAY_TRY(assay_npy_header_append(&item->tensor, header, err));
  char *name = assay_format("%s%s", item->name, SUFFIX);
  if (name == NULL) return assay_fail_memory(err, strlen(item->name) + sizeof SUFFIX);
  assay_status st = assay_zip_writer_add(writer, name, header->data, header->size_bytes,
                                         item->tensor.data, item->tensor.size_bytes, err);
  assay_free(name);
  return st;
}

static assay_status write_archive(assay_zip_writer *writer, const assay_tensor_map *arrays,
                                  assay_buf *headers, assay_error *err) {
  for (size_t i = 0; i < arrays->n; i++) {
    assay_status st = add_array(writer, &arrays->items[i], &headers[i], err);
    if (st) {
      assay_error_in(err, "array '%s'", arrays->items[i].name);
      return st;
    }
  }
  return assay_zip_writer_commit(writer, err);
}

assay_status assay_npz_write(const char *path, const assay_tensor_map *arrays, assay_error *err) {
  assay_zip_writer *writer = NULL;
  assay_buf *headers = assay_alloc_array(arrays->n, sizeof *headers); /* live until the commit */
  assay_status st = headers == NULL ? assay_fail_memory(err, arrays->n * sizeof *headers)
                                    : assay_zip_writer_open(path, &writer, err);
  if (!st) st = write_archive(writer, arrays, headers, err);
  assay_zip_writer_close(writer);
  for (size_t i = 0; headers != NULL && i < arrays->n; i++) assay_buf_reset(&headers[i]);
  assay_free(headers);
  return st;
}
