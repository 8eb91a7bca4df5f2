/* Files and folders. Descriptors are close-on-exec; calls that a signal interrupts are repeated. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

#define PIECE_BYTES    ((size_t)1 << 16)
#define TEMP_TRIES     1000
#define REMOVE_NESTING 256 /* folders within folders; each holds a descriptor open */
#define NAME_MAX_BYTES 1024

/* ---- descriptors --------------------------------------------------------------------------------
 */

static int open_retrying(const char *path, int flags, mode_t mode) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

static void close_fd(int fd) {
  if (fd >= 0) close(fd); /* EINTR or not, Linux has closed it */
}

/* Opens a regular file for reading. It is looked at before it is opened, because opening some
 * devices has effects, and again after, because the name may have changed hands between. */
static assay_status open_regular(const char *path, int *out_fd, uint64_t *out_size_bytes,
                                 assay_error *err) {
  struct stat info;
  int fd = -1;
  if (stat(path, &info) != 0) {
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not open '%s'", path);
  }
  if (S_ISREG(info.st_mode)) {
    fd = open_retrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, /*mode=*/0);
    if (fd < 0 || fstat(fd, &info) != 0) {
      assay_status st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not open '%s'", path);
      close_fd(fd);
      return st;
    }
  }
  if (!S_ISREG(info.st_mode)) {
    close_fd(fd);
    return assay_fail(err, ASSAY_E_IO, "'%s' is %s: expected a regular file", path,
                      S_ISDIR(info.st_mode) ? "a folder" : "neither a file nor a folder");
  }
  *out_fd = fd;
  *out_size_bytes = info.st_size > 0 ? (uint64_t)info.st_size : 0;
  return ASSAY_OK;
}

/* At most size_bytes; 0 at the end of the file. */
static assay_status read_some(int fd, const char *path, void *out, size_t size_bytes, size_t *out_n,
                              assay_error *err) {
  ssize_t n;
  do n = read(fd, out, size_bytes);
  while (n < 0 && errno == EINTR);
  if (n < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not read '%s'", path);
  *out_n = (size_t)n;
  return ASSAY_OK;
}

static assay_status write_all(int fd, const char *path, const void *bytes, size_t size_bytes,
                              assay_error *err) {
  const uint8_t *from = bytes;
  while (size_bytes > 0) {
    ssize_t n = write(fd, from, size_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not write '%s'", path);
    from += n;
    size_bytes -= (size_t)n;
  }
  return ASSAY_OK;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static assay_status read_to_end(int fd, const char *path, uint64_t size_bytes, assay_buf *bytes,
                                assay_error *err) {
  if (size_bytes > bytes->max_bytes) {
    return assay_fail(err, ASSAY_E_LIMIT, "'%s' has %llu bytes: the limit is %zu", path,
                      (unsigned long long)size_bytes, bytes->max_bytes);
  }
  size_t room = (size_t)size_bytes; /* files of /proc say 0 and have bytes all the same */
  for (;;) {
    size_t n;
    if (room == 0) { /* the end is asked for with one byte, not by growing the buffer */
      uint8_t extra;
      ASSAY_TRY(read_some(fd, path, &extra, 1, &n, err));
      if (n == 0) return ASSAY_OK;
      if (bytes->size_bytes == bytes->max_bytes) {
        return assay_fail(err, ASSAY_E_LIMIT, "'%s' has more bytes than the limit of %zu", path,
                          bytes->max_bytes);
      }
      ASSAY_TRY(assay_buf_append(bytes, &extra, 1, err));
      size_t left = bytes->max_bytes - bytes->size_bytes;
      room = left < PIECE_BYTES ? left : PIECE_BYTES;
      continue;
    }
    uint8_t *to;
    ASSAY_TRY(assay_buf_reserve(bytes, room, &to, err));
    ASSAY_TRY(read_some(fd, path, to, room, &n, err));
    if (n == 0) return ASSAY_OK;
    bytes->size_bytes += n;
    room -= n;
  }
}

assay_status assay_file_read(const char *path, size_t max_bytes, assay_buf *out, assay_error *err) {
  int fd;
  uint64_t size_bytes;
  ASSAY_TRY(open_regular(path, &fd, &size_bytes, err));
  assay_buf bytes = {.max_bytes = max_bytes};
  assay_status st = max_bytes == 0
                        ? assay_fail(err, ASSAY_E_LIMIT, "'%s': the limit is 0 bytes", path)
                        : read_to_end(fd, path, size_bytes, &bytes, err);
  if (!st) st = assay_buf_append(&bytes, "", /*size_bytes=*/0, err); /* the zero at the end */
  close_fd(fd);
  if (st) {
    assay_buf_reset(&bytes);
    return st;
  }
  bytes.max_bytes = out->max_bytes;
  assay_buf_reset(out);
  *out = bytes;
  return ASSAY_OK;
}

static assay_status each_piece(int fd, const char *path, void *piece, assay_file_piece_fn each,
                               void *arg, assay_error *err) {
  for (;;) {
    size_t n;
    ASSAY_TRY(read_some(fd, path, piece, PIECE_BYTES, &n, err));
    if (n == 0) return ASSAY_OK;
    ASSAY_TRY(each(arg, piece, n, err));
  }
}

assay_status assay_file_each(const char *path, assay_file_piece_fn each, void *arg,
                             assay_error *err) {
  int fd;
  uint64_t size_bytes;
  ASSAY_TRY(open_regular(path, &fd, &size_bytes, err));
  void *piece = assay_alloc_plain(PIECE_BYTES);
  assay_status st = piece == NULL ? assay_fail_memory(err, PIECE_BYTES)
                                  : each_piece(fd, path, piece, each, arg, err);
  assay_free(piece);
  close_fd(fd);
  return st;
}

assay_status assay_file_map_open(const char *path, assay_file_map *out, assay_error *err) {
  int fd;
  uint64_t size_bytes;
  ASSAY_TRY(open_regular(path, &fd, &size_bytes, err));
  assay_file_map map = {0};
  if (size_bytes > 0 && size_bytes <= PTRDIFF_MAX) {
    void *data = mmap(NULL, (size_t)size_bytes, PROT_READ, MAP_PRIVATE, fd, /*offset=*/0);
    if (data == MAP_FAILED) {
      assay_status st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not map '%s'", path);
      close_fd(fd);
      return st;
    }
    map = (assay_file_map){.data = data, .size_bytes = (size_t)size_bytes};
  }
  close_fd(fd);
  *out = map;
  return ASSAY_OK;
}

void assay_file_map_close(assay_file_map *map) {
  if (map == NULL) return;
  if (map->data != NULL) munmap((void *)(uintptr_t)map->data, map->size_bytes);
  *map = (assay_file_map){0};
}

/* ---- writing ------------------------------------------------------------------------------------
 */

struct assay_file_writer {
  char *path;      /* where the file will be */
  char *temp_path; /* where it is now; NULL once committed or removed */
  int fd;          /* of temp_path, or -1 */
  size_t n_held;   /* bytes in held */
  uint8_t held[PIECE_BYTES];
};

/* A target that exists must be something a file can replace: a rename onto /dev/null would take the
 * device away. */
static assay_status check_target(const char *path, assay_error *err) {
  const char *name = assay_path_name(path);
  if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return assay_fail(err, ASSAY_E_IO, "'%s' is no name for a file", path);
  }
  assay_path_kind kind = assay_path_kind_of(path);
  if (kind == ASSAY_PATH_NONE || kind == ASSAY_PATH_FILE) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_IO, "could not write '%s': %s is there", path,
                    kind == ASSAY_PATH_FOLDER ? "a folder" : "something that is no regular file");
}

/* ".assay-<pid>-<attempt>.tmp" in path's folder; short, because path's own name may be as long as a
 * name can be. */
static char *temp_name(const char *path, int attempt) {
  const char *slash = strrchr(path, '/');
  int n_folder = slash == NULL ? 0 : (int)(slash - path) + 1;
  return assay_format("%.*s.assay-%ld-%d.tmp", n_folder, path, (long)getpid(), attempt);
}

/* Creates and opens a temporary file for path; both outputs are the caller's. */
static assay_status create_temp(const char *path, char **out_name, int *out_fd, assay_error *err) {
  ASSAY_TRY(check_target(path, err));
  for (int attempt = 0; attempt < TEMP_TRIES; attempt++) {
    char *name = temp_name(path, attempt);
    if (name == NULL) return assay_fail_memory(err, strlen(path));
    int fd = open_retrying(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, /*mode=*/0666);
    if (fd >= 0) {
      *out_name = name;
      *out_fd = fd;
      return ASSAY_OK;
    }
    int errnum = errno;
    assay_free(name);
    if (errnum == EEXIST) continue;
    return assay_fail_errno(err, ASSAY_E_IO, errnum, "could not write '%s'", path);
  }
  return assay_fail(err, ASSAY_E_IO, "no temporary name left beside '%s'", path);
}

assay_status assay_file_temp_create(const char *path, char **out_temp_path, assay_error *err) {
  int fd = -1;
  ASSAY_TRY(create_temp(path, out_temp_path, &fd, err));
  close_fd(fd);
  return ASSAY_OK;
}

/* Makes a rename last: the folder that holds the name is synced. A file system that cannot sync a
 * folder says EINVAL, and then there is nothing to be done. */
static assay_status sync_folder_of(const char *path, assay_error *err) {
  char folder[PATH_MAX]; /* not on the heap: once renamed, nothing more may fail for want of memory
                          */
  const char *slash = strrchr(path, '/');
  int n = slash == NULL ? 1 : (int)(slash - path) + 1;
  snprintf(folder, sizeof folder, "%.*s", n, slash == NULL ? "." : path);
  int fd = open_retrying(folder, O_RDONLY | O_DIRECTORY, /*mode=*/0);
  assay_status st = ASSAY_OK;
  if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) {
    st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not sync '%s'", folder);
  }
  close_fd(fd);
  return st;
}

static assay_status sync_fd(int fd, const char *path, assay_error *err) {
  int rc;
  do rc = fsync(fd);
  while (rc != 0 && errno == EINTR);
  if (rc == 0 || errno == EINVAL) return ASSAY_OK;
  return assay_fail_errno(err, ASSAY_E_IO, errno, "could not write '%s'", path);
}

static assay_status rename_into_place(const char *temp_path, const char *path, assay_error *err) {
  if (rename(temp_path, path) != 0) {
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not write '%s'", path);
  }
  return sync_folder_of(path, err);
}

assay_status assay_file_temp_commit(const char *temp_path, const char *path, assay_error *err) {
  int fd = open_retrying(temp_path, O_RDONLY | O_NOFOLLOW, /*mode=*/0);
  if (fd < 0) return assay_fail_errno(err, ASSAY_E_IO, errno, "could not write '%s'", path);
  assay_status st = sync_fd(fd, path, err);
  close_fd(fd);
  if (st) return st;
  return rename_into_place(temp_path, path, err);
}

assay_status assay_file_writer_open(const char *path, assay_file_writer **out, assay_error *err) {
  assay_file_writer *writer = assay_alloc(sizeof *writer);
  if (writer == NULL) return assay_fail_memory(err, sizeof *writer);
  writer->fd = -1;
  writer->path = assay_strdup(path);
  assay_status st = writer->path == NULL ? assay_fail_memory(err, strlen(path) + 1)
                                         : create_temp(path, &writer->temp_path, &writer->fd, err);
  if (st) {
    assay_file_writer_close(writer);
    return st;
  }
  *out = writer;
  return ASSAY_OK;
}

static assay_status flush(assay_file_writer *writer, assay_error *err) {
  size_t n = writer->n_held;
  writer->n_held = 0;
  return write_all(writer->fd, writer->path, writer->held, n, err);
}

assay_status assay_file_writer_append(assay_file_writer *writer, const void *bytes,
                                      size_t size_bytes, assay_error *err) {
  if (size_bytes == 0) return ASSAY_OK;
  if (size_bytes > PIECE_BYTES - writer->n_held) ASSAY_TRY(flush(writer, err));
  if (size_bytes >= PIECE_BYTES) {
    return write_all(writer->fd, writer->path, bytes, size_bytes, err);
  }
  memcpy(writer->held + writer->n_held, bytes, size_bytes);
  writer->n_held += size_bytes;
  return ASSAY_OK;
}

assay_status assay_file_writer_commit(assay_file_writer *writer, assay_error *err) {
  ASSAY_TRY(flush(writer, err));
  ASSAY_TRY(sync_fd(writer->fd, writer->path, err));
  int fd = writer->fd;
  writer->fd = -1;
  if (close(fd) != 0 && errno != EINTR) { /* network file systems report a full disk here */
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not write '%s'", writer->path);
  }
  ASSAY_TRY(rename_into_place(writer->temp_path, writer->path, err));
  assay_free(writer->temp_path);
  writer->temp_path = NULL;
  return ASSAY_OK;
}

void assay_file_writer_close(assay_file_writer *writer) {
  if (writer == NULL) return;
  close_fd(writer->fd);
  if (writer->temp_path != NULL) unlink(writer->temp_path);
  assay_free(writer->temp_path);
  assay_free(writer->path);
  assay_free(writer);
}

assay_status assay_file_write(const char *path, const void *bytes, size_t size_bytes,
                              assay_error *err) {
  assay_file_writer *writer = NULL;
  ASSAY_TRY(assay_file_writer_open(path, &writer, err));
  assay_status st = assay_file_writer_append(writer, bytes, size_bytes, err);
  if (!st) st = assay_file_writer_commit(writer, err);
  assay_file_writer_close(writer);
  return st;
}

static assay_status append_piece(void *arg, const void *bytes, size_t size_bytes,
                                 assay_error *err) {
  return assay_file_writer_append(arg, bytes, size_bytes, err);
}

assay_status assay_file_copy(const char *from, const char *to, assay_error *err) {
  assay_file_writer *writer = NULL;
  ASSAY_TRY(assay_file_writer_open(to, &writer, err));
  assay_status st = assay_file_each(from, append_piece, writer, err);
  if (!st) st = assay_file_writer_commit(writer, err);
  assay_file_writer_close(writer);
  return st;
}

/* ---- folders ------------------------------------------------------------------------------------
 */

static assay_status create_one(const char *path, assay_error *err) {
  if (mkdir(path, /*mode=*/0777) == 0) return ASSAY_OK;
  int errnum = errno;
  assay_path_kind kind = assay_path_kind_of(path);
  if (kind == ASSAY_PATH_FOLDER) return ASSAY_OK;
  if (kind != ASSAY_PATH_NONE) {
    return assay_fail(err, ASSAY_E_IO, "could not make folder '%s': a file of that name is there",
                      path);
  }
  return assay_fail_errno(err, ASSAY_E_IO, errnum, "could not make folder '%s'", path);
}

assay_status assay_folder_create(const char *path, assay_error *err) {
  char *part = assay_strdup(path);
  if (part == NULL) return assay_fail_memory(err, strlen(path) + 1);
  assay_status st = ASSAY_OK;
  for (char *c = part; *c != '\0' && !st; c++) {
    if (*c != '/' || c == part || c[-1] == '/') continue;
    *c = '\0';
    st = create_one(part, err);
    *c = '/';
  }
  if (!st) st = create_one(path, err);
  assay_free(part);
  return st;
}

assay_path_kind assay_path_kind_of(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) {
    /* A link to nowhere is something, and so is what may not be looked at. */
    return lstat(path, &info) == 0 ? ASSAY_PATH_OTHER : ASSAY_PATH_NONE;
  }
  if (S_ISREG(info.st_mode)) return ASSAY_PATH_FILE;
  return S_ISDIR(info.st_mode) ? ASSAY_PATH_FOLDER : ASSAY_PATH_OTHER;
}

static bool is_dot_name(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static assay_status add_name(assay_names *names, size_t *cap, const char *name, assay_error *err) {
  char **items = assay_grown(names->items, cap, names->n, sizeof *items, err);
  if (items == NULL) return ASSAY_E_MEMORY;
  names->items = items;
  char *copy = assay_strdup(name);
  if (copy == NULL) return assay_fail_memory(err, strlen(name) + 1);
  names->items[names->n++] = copy;
  return ASSAY_OK;
}

/* The next name that is not . or .., or NULL at the end (errno 0) and on failure. */
static const char *next_name(DIR *dir) {
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(dir);
    if (entry == NULL) return NULL;
    if (!is_dot_name(entry->d_name)) return entry->d_name;
  }
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

assay_status assay_folder_list(const char *path, assay_names *out, assay_error *err) {
  DIR *dir = opendir(path);
  if (dir == NULL) {
    return assay_fail_errno(err, ASSAY_E_IO, errno, "could not list folder '%s'", path);
  }
  assay_names names = {0};
  size_t cap = 0;
  assay_status st = ASSAY_OK;
  for (const char *name; !st && (name = next_name(dir)) != NULL;) {
    st = add_name(&names, &cap, name, err);
  }
  if (!st && errno != 0) {
    st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not list folder '%s'", path);
  }
  closedir(dir);
  if (st) {
    assay_names_reset(&names);
    return st;
  }
  if (names.n > 0) qsort(names.items, names.n, sizeof *names.items, by_text);
  *out = names;
  return ASSAY_OK;
}

void assay_names_reset(assay_names *names) {
  if (names == NULL) return;
  for (size_t i = 0; i < names->n; i++) assay_free(names->items[i]);
  assay_free(names->items);
  *names = (assay_names){0};
}

static assay_status remove_in(int folder_fd, const char *name, const char *path, int nesting,
                              assay_error *err);

/* Removes what is in the folder that fd is open on, and closes fd. */
static assay_status empty_folder(int fd, const char *path, int nesting, assay_error *err) {
  DIR *dir = fdopendir(fd);
  if (dir == NULL) {
    assay_status st = assay_fail_errno(err, ASSAY_E_IO, errno, "could not empty '%s'", path);
    close_fd(fd);
    return st;
  }
  assay_status st = ASSAY_OK;
  for (const char *name; !st && (name = next_name(dir)) != NULL;) {
    st = remove_in(dirfd(dir), name, path, nesting + 1, err);
  }
  closedir(dir);
  return st;
}

/* Removes `name` in an open folder; path is the whole tree's name, for messages. Links are never
 * followed: a folder is opened with O_NOFOLLOW, and everything else is unlinked. */
static assay_status remove_in(int folder_fd, const char *name, const char *path, int nesting,
                              assay_error *err) {
  if (nesting > REMOVE_NESTING) {
    return assay_fail(err, ASSAY_E_IO, "could not remove '%s': folders nested over %d deep", path,
                      REMOVE_NESTING);
  }
  if (unlinkat(folder_fd, name, /*flags=*/0) == 0 || errno == ENOENT) return ASSAY_OK;
  int errnum = errno; /* EISDIR on Linux, EPERM by POSIX: a folder, or not ours to remove */
  int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return assay_fail_errno(err, ASSAY_E_IO, errnum, "could not remove '%s' in '%s'", name, path);
  }
  ASSAY_TRY(empty_folder(fd, path, nesting, err));
  if (unlinkat(folder_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return ASSAY_OK;
  return assay_fail_errno(err, ASSAY_E_IO, errno, "could not remove '%s' in '%s'", name, path);
}

assay_status assay_folder_remove(const char *path, assay_error *err) {
  return remove_in(AT_FDCWD, path, path, /*nesting=*/0, err);
}

/* ---- names --------------------------------------------------------------------------------------
 */

char *assay_path_join(const char *folder, const char *name) {
  if (name[0] == '/' || folder[0] == '\0') return assay_strdup(name);
  bool has_slash = assay_text_has_suffix(folder, "/");
  return assay_format("%s%s%s", folder, has_slash ? "" : "/", name);
}

const char *assay_path_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* One component of n bytes. */
static bool is_plain_component(const char *component, size_t n) {
  return n > 0 && !(n == 1 && component[0] == '.') &&
         !(n == 2 && component[0] == '.' && component[1] == '.');
}

bool assay_path_is_inside(const char *path) {
  size_t n = strlen(path);
  if (n == 0 || n > NAME_MAX_BYTES || path[0] == '/' || !assay_text_is_utf8(path, n)) return false;
  for (const char *c = path; *c != '\0'; c++) {
    if (*c == '\\' || (unsigned char)*c < 0x20 || *c == 0x7f) return false;
  }
  for (const char *component = path;;) {
    size_t len = strcspn(component, "/");
    if (!is_plain_component(component, len)) return false;
    if (component[len] == '\0') return true;
    component += len + 1;
  }
}
