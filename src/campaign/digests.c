/* A list of files with their digests, kept as JSON between processes (schema assay/digests/1). */
#include "campaign/digests.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "measure/clock.h"
#include "package/fields.h"

#define DIGESTS_MAX_BYTES ((size_t)16 << 20)
#define SETTLED_NS        INT64_C(3000000000) /* coarser than any file system's clock: FAT's is 2 s */

typedef struct entry {
  char *path;
  int64_t device, inode, size_bytes, modified_ns, changed_ns;
  char sha256[65];
  assay_elf_file elf;
} entry;

struct assay_digests {
  char *path; /* of the file; or NULL */
  entry *entries;
  size_t n;
  bool is_new; /* there is something to save */
};

static const assay_field elf_fields[] = {
    ASSAY_FIELD(assay_elf_file, build_id, TEXT),
    ASSAY_FIELD(assay_elf_file, soname, TEXT),
};

static const assay_field entry_fields[] = {
    ASSAY_FIELD(entry, path, STRING),     ASSAY_FIELD(entry, device, INT),
    ASSAY_FIELD(entry, inode, INT),       ASSAY_FIELD(entry, size_bytes, COUNT),
    ASSAY_FIELD(entry, modified_ns, INT), ASSAY_FIELD(entry, changed_ns, INT),
    ASSAY_FIELD(entry, sha256, SHA256),   ASSAY_FIELD_SUB(entry, elf, elf_fields),
};

static void reset_entries(assay_digests *d) {
  for (size_t i = 0; i < d->n; i++)
    assay_fields_reset(entry_fields, N_OF(entry_fields), &d->entries[i]);
  assay_free(d->entries);
  d->entries = NULL;
  d->n = 0;
}

static assay_status read_entries(const assay_json *root, assay_digests *d, assay_error *err) {
  const assay_json *list = NULL;
  ASSAY_TRY(assay_json_need_schema(root, "digests", 1, err));
  ASSAY_TRY(assay_json_need_array(root, "files", &list, err));
  size_t n = assay_json_len(list);
  d->entries = assay_alloc_array(n, sizeof *d->entries);
  if (d->entries == NULL) return assay_fail_memory(err, n * sizeof *d->entries);
  d->n = n;
  for (size_t i = 0; i < n; i++)
    ASSAY_TRY(assay_fields_read(assay_json_at(list, i), entry_fields, N_OF(entry_fields),
                                /*others=*/NULL, /*n_others=*/0, &d->entries[i], err));
  return ASSAY_OK;
}

assay_status assay_digests_open(const char *path, assay_digests **out, assay_error *err) {
  assay_json *root = NULL;
  assay_digests *d = assay_alloc(sizeof *d);
  if (d == NULL) return assay_fail_memory(err, sizeof *d);
  if (path != NULL) {
    d->path = assay_strdup(path);
    if (d->path == NULL) {
      assay_digests_close(d);
      return assay_fail_memory(err, strlen(path) + 1);
    }
    if (assay_path_kind_of(path) == ASSAY_PATH_FILE &&
        (assay_json_read(path, DIGESTS_MAX_BYTES, &root, /*err=*/NULL) != ASSAY_OK ||
         read_entries(root, d, /*err=*/NULL) != ASSAY_OK))
      reset_entries(d);
    assay_json_destroy(root);
  }
  *out = d;
  return ASSAY_OK;
}

static int64_t time_ns(const struct timespec *t) {
  return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Everything but the path and what is found inside. */
static assay_status look(const char *path, entry *out, assay_error *err) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
    return assay_fail(err, ASSAY_E_IO, "'%s' is not a file that can be read", path);
  *out = (entry){.device = (int64_t)info.st_dev,
                 .inode = (int64_t)info.st_ino,
                 .size_bytes = (int64_t)info.st_size,
                 .modified_ns = time_ns(&info.st_mtim),
                 .changed_ns = time_ns(&info.st_ctim)};
  return ASSAY_OK;
}

static bool is_same(const entry *a, const entry *b) {
  return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
         a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static bool is_settled(const entry *e) {
  int64_t before_ns = assay_clock_realtime_ns() - SETTLED_NS;
  return e->modified_ns < before_ns && e->changed_ns < before_ns;
}

/* Takes the path's place, or a new one. */
static assay_status remember(assay_digests *d, const char *path, const entry *found,
                             assay_error *err) {
  size_t i = 0;
  while (i < d->n && strcmp(d->entries[i].path, path) != 0) i++;
  if (i == d->n) {
    void *block = d->entries;
    ASSAY_TRY(assay_resize(&block, d->n * sizeof *found, (d->n + 1) * sizeof *found, err));
    d->entries = block;
    d->entries[i] = (entry){.path = assay_strdup(path)};
    if (d->entries[i].path == NULL) return assay_fail_memory(err, strlen(path) + 1);
    d->n++;
  }
  char *own = d->entries[i].path;
  d->entries[i] = *found;
  d->entries[i].path = own;
  d->is_new = true;
  return ASSAY_OK;
}

static const entry *find(const assay_digests *d, const char *path, const entry *now) {
  for (size_t i = 0; i < d->n; i++)
    if (strcmp(d->entries[i].path, path) == 0)
      return is_same(&d->entries[i], now) ? &d->entries[i] : NULL;
  return NULL;
}

assay_status assay_digests_of(assay_digests *digests, const char *path, assay_digest *out,
                              assay_error *err) {
  entry now = {0}, after = {0};
  ASSAY_TRY(look(path, &now, err));
  const entry *known = find(digests, path, &now);
  if (known == NULL) {
    ASSAY_TRY(assay_sha256_file(path, now.sha256, /*out_size_bytes=*/NULL, err));
    assay_elf_read_file(path, &now.elf);
    ASSAY_TRY(look(path, &after, err));
    if (is_same(&now, &after) && is_settled(&now)) ASSAY_TRY(remember(digests, path, &now, err));
    known = &now;
  }
  *out = (assay_digest){.size_bytes = (uint64_t)known->size_bytes,
                        .inode = (uint64_t)known->inode,
                        .elf = known->elf};
  memcpy(out->sha256, known->sha256, sizeof out->sha256);
  return ASSAY_OK;
}

assay_status assay_digests_save(assay_digests *digests, assay_error *err) {
  if (digests->path == NULL || !digests->is_new) return ASSAY_OK;
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/digests/1");
  assay_json_begin_array(b, "files");
  for (size_t i = 0; i < digests->n; i++) {
    assay_json_begin_object(b, NULL);
    assay_fields_put(entry_fields, N_OF(entry_fields), &digests->entries[i], b);
    assay_json_end(b);
  }
  assay_json_end(b);
  assay_json_end(b);
  assay_status st = assay_json_builder_write(b, digests->path, err);
  assay_json_builder_destroy(b);
  if (st == ASSAY_OK) digests->is_new = false;
  return st;
}

void assay_digests_close(assay_digests *digests) {
  if (digests == NULL) return;
  reset_entries(digests);
  assay_free(digests->path);
  assay_free(digests);
}
