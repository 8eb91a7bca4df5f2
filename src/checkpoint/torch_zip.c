/* The zip container of torch.save since PyTorch 1.6. Source: ../shared/specs/torch_checkpoint.md
 * section 2. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "checkpoint/crc32.h"
#include "checkpoint/torch_parts.h"

#define PICKLE_BYTES_MAX ((uint64_t)256 << 20) /* as pickle.h */
#define SMALL_BYTES_MAX  64                    /* of version, byteorder, serialization_id */

/* Of storages that were deflated, which torch.save does not do: they are unpacked into memory, and
 * a few bytes may claim a thousand times as many. */
#define INFLATED_BYTES_MAX       ((uint64_t)1 << 30)
#define INFLATED_TOTAL_BYTES_MAX ((uint64_t)4 << 30)

/* The part of a name behind the archive's own folder, or NULL. */
static const char *behind(const char *name, const char *prefix, size_t n_prefix) {
  return strncmp(name, prefix, n_prefix) == 0 ? name + n_prefix : NULL;
}

/* The one entry that is data.pkl, or ends in /data.pkl; its folder is the prefix of all others. */
static assay_status find_pickle(const assay_zip *zip, size_t *out_i, assay_error *err) {
  size_t n_found = 0;
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    const char *name = assay_zip_at(zip, i)->name;
    bool is_script =
        assay_text_has_suffix(name, "/constants.pkl") || strstr(name, "/code/") != NULL;
    if (is_script) {
      return assay_fail(
          err, ASSAY_E_UNSUPPORTED,
          "a TorchScript archive (it has '%s'): save the model's state_dict() instead", name);
    }
    if (strcmp(name, "data.pkl") == 0 || assay_text_has_suffix(name, "/data.pkl")) {
      *out_i = i;
      n_found++;
    }
  }
  if (n_found == 1) return ASSAY_OK;
  return assay_fail(err, n_found == 0 ? ASSAY_E_UNSUPPORTED : ASSAY_E_FORMAT,
                    "one entry 'data.pkl' expected in the zip archive, found %zu: not a file of "
                    "torch.save",
                    n_found);
}

/* The bytes of a stored entry in the map. The archive was opened by name once before the map: the
 * file may have changed between. */
static assay_status stored_bytes(const assay_torch_file *file, const assay_zip_entry *entry,
                                 const uint8_t **out, assay_error *err) {
  size_t size = file->map.size_bytes;
  if (entry->data_offset > size || entry->size_bytes > size - entry->data_offset) {
    return assay_fail(err, ASSAY_E_FORMAT, "entry '%s' lies outside of the file", entry->name);
  }
  *out = file->map.data + entry->data_offset;
  return ASSAY_OK;
}

/* A whole small entry, checked; own gets it where it has to be decompressed. */
static assay_status entry_bytes(assay_torch_file *file, size_t i, assay_buf *own,
                                const uint8_t **out, assay_error *err) {
  const assay_zip_entry *entry = assay_zip_at(file->zip, i);
  if (entry->method != 0) {
    uint8_t *to;
    ASSAY_TRY(assay_buf_reserve(own, (size_t)entry->size_bytes, &to, err));
    ASSAY_TRY(assay_zip_read(file->zip, i, to, err));
    *out = to;
    return ASSAY_OK;
  }
  ASSAY_TRY(stored_bytes(file, entry, out, err));
  if (file->info.no_checksums) return ASSAY_OK;
  uint32_t crc = crc32_of(*out, (size_t)entry->size_bytes);
  if (crc == entry->crc32) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_FORMAT,
                    "checksum of entry '%s' is %08x, the archive says %08x: the file is damaged",
                    entry->name, (unsigned)crc, (unsigned)entry->crc32);
}

/* A short text entry into out, without white space at its end; "" when it is not there. */
static assay_status small_text(assay_torch_file *file, const char *prefix, size_t n_prefix,
                               const char *name, char out[SMALL_BYTES_MAX + 1], assay_error *err) {
  assay_buf own = {.max_bytes = SMALL_BYTES_MAX};
  const uint8_t *bytes;
  out[0] = '\0';
  for (size_t i = 0; i < assay_zip_count(file->zip); i++) {
    const assay_zip_entry *entry = assay_zip_at(file->zip, i);
    const char *rest = behind(entry->name, prefix, n_prefix);
    if (rest == NULL || strcmp(rest, name) != 0) continue;
    if (entry->size_bytes > SMALL_BYTES_MAX) {
      return assay_fail(err, ASSAY_E_FORMAT, "entry '%s' has %llu bytes: at most %d expected",
                        entry->name, (unsigned long long)entry->size_bytes, SMALL_BYTES_MAX);
    }
    assay_status st = entry_bytes(file, i, &own, &bytes, err);
    size_t n = st ? 0 : (size_t)entry->size_bytes;
    if (!st) memcpy(out, bytes, n);
    while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == ' ')) n--;
    out[n] = '\0';
    assay_buf_reset(&own);
    return st;
  }
  return ASSAY_OK;
}

static assay_status read_metadata(assay_torch_file *file, const char *prefix, size_t n_prefix,
                                  assay_error *err) {
  char text[SMALL_BYTES_MAX + 1];
  int64_t version;
  ASSAY_TRY(small_text(file, prefix, n_prefix, "version", text, err));
  if (assay_text_parse_int(text, "version", 1, 10, &version, NULL)) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "container version '%s': an entry 'version' of 1 to 10 expected", text);
  }
  file->info.format_version = (int)version;
  ASSAY_TRY(small_text(file, prefix, n_prefix, "byteorder", text, err));
  if (strcmp(text, "big") == 0) {
    return assay_fail(err, ASSAY_E_UNSUPPORTED,
                      "written on a big-endian machine (byteorder is 'big'): load it with "
                      "PyTorch on a little-endian one and save it again");
  }
  if (text[0] != '\0' && strcmp(text, "little") != 0) {
    return assay_fail(err, ASSAY_E_FORMAT, "byteorder '%s': 'little' or 'big' expected", text);
  }
  ASSAY_TRY(small_text(file, prefix, n_prefix, ".data/serialization_id", text, err));
  if (text[0] == '\0') return ASSAY_OK;
  return torch_keep_text(file, text, strlen(text), &file->info.serialization_id, err);
}

/* torch.serialization.set_crc32_options(False) leaves all of them zero. */
static bool lacks_checksums(const assay_zip *zip) {
  size_t n_with_data = 0;
  for (size_t i = 0; i < assay_zip_count(zip); i++) {
    const assay_zip_entry *entry = assay_zip_at(zip, i);
    if (entry->crc32 != 0) return false;
    n_with_data += entry->size_bytes > 0;
  }
  return n_with_data > 0;
}

/* total_bytes: of deflated storages so far, this one not among them. */
static assay_status check_inflated(const assay_zip_entry *entry, uint64_t *total_bytes,
                                   assay_error *err) {
  if (entry->size_bytes <= INFLATED_BYTES_MAX &&
      entry->size_bytes <= INFLATED_TOTAL_BYTES_MAX - *total_bytes) {
    *total_bytes += entry->size_bytes;
    return ASSAY_OK;
  }
  return assay_fail(err, ASSAY_E_LIMIT,
                    "entry '%s' is deflated and unpacks to %llu bytes: assay unpacks %llu of one "
                    "and %llu of all; store it without compression, as torch.save does",
                    entry->name, (unsigned long long)entry->size_bytes,
                    (unsigned long long)INFLATED_BYTES_MAX,
                    (unsigned long long)INFLATED_TOTAL_BYTES_MAX);
}

/* The entries P/data/KEY. */
static assay_status list_storages(assay_torch_file *file, const char *prefix, size_t n_prefix,
                                  assay_error *err) {
  size_t n = assay_zip_count(file->zip);
  uint64_t inflated_bytes = 0;
  file->storages = assay_alloc_array(n, sizeof *file->storages);
  if (file->storages == NULL) return assay_fail_memory(err, n * sizeof *file->storages);
  for (size_t i = 0; i < n; i++) {
    const assay_zip_entry *entry = assay_zip_at(file->zip, i);
    const char *rest = behind(entry->name, prefix, n_prefix);
    const char *key = rest == NULL ? NULL : behind(rest, "data/", 5);
    if (key == NULL || *key == '\0') continue;
    torch_storage *storage = &file->storages[file->n_storages++];
    *storage = (torch_storage){.key = key,
                               .size_bytes = entry->size_bytes,
                               .zip_index = i,
                               .crc32 = entry->crc32,
                               .is_checked = file->info.no_checksums,
                               .first_tensor = SIZE_MAX};
    ASSAY_TRY(entry->method == 0 ? stored_bytes(file, entry, &storage->data, err)
                                 : check_inflated(entry, &inflated_bytes, err));
  }
  return torch_sort_storages(file, err);
}

static assay_status parse_pickle(assay_torch_file *file, size_t i, assay_error *err) {
  assay_buf own = {0};
  const uint8_t *bytes;
  const assay_zip_entry *entry = assay_zip_at(file->zip, i);
  if (entry->size_bytes > PICKLE_BYTES_MAX) {
    return assay_fail(err, ASSAY_E_LIMIT, "entry '%s' has %llu bytes: the limit is %llu",
                      entry->name, (unsigned long long)entry->size_bytes,
                      (unsigned long long)PICKLE_BYTES_MAX);
  }
  assay_status st = entry_bytes(file, i, &own, &bytes, err);
  if (!st) {
    st = assay_pickle_parse(bytes, (size_t)entry->size_bytes, /*limits=*/NULL, &file->pickle, err);
    if (st) assay_error_in(err, "entry '%s'", entry->name);
  }
  assay_buf_reset(&own);
  return st;
}

assay_status torch_open_zip(assay_torch_file *file, const char *path, assay_error *err) {
  size_t i = 0;
  ASSAY_TRY(assay_zip_open(path, &file->zip, err));
  ASSAY_TRY(find_pickle(file->zip, &i, err));
  const char *prefix = assay_zip_at(file->zip, i)->name;
  size_t n_prefix = strlen(prefix) - strlen("data.pkl");
  file->info.no_checksums = lacks_checksums(file->zip);
  ASSAY_TRY(read_metadata(file, prefix, n_prefix, err));
  ASSAY_TRY(list_storages(file, prefix, n_prefix, err));
  return parse_pickle(file, i, err);
}
