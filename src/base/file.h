/* Files and folders: bounded reads, and writes that are whole or not there. */
#ifndef ASSAY_BASE_FILE_H
#define ASSAY_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

/* The whole file into out (replacing its contents). Errors: IO (not there, a folder, unreadable:
 * the words say which), LIMIT beyond max_bytes, MEMORY. Never blocks on a FIFO or device: only
 * regular files are read. */
assay_status assay_file_read(const char *path, size_t max_bytes, assay_buf *out,
                             assay_error *err) ASSAY_NODISCARD;

/* Hands a regular file to `each` piece by piece, without holding more than a piece; stops at the
 * first failure of each and returns it. Errors: IO, MEMORY. */
typedef assay_status (*assay_file_piece_fn)(void *arg, const void *bytes, size_t size_bytes,
                                            assay_error *err);
assay_status assay_file_each(const char *path, assay_file_piece_fn each, void *arg,
                             assay_error *err) ASSAY_NODISCARD;

/* A read-only mapping of a regular file; an empty file gives data NULL and size 0. */
typedef struct assay_file_map {
  const uint8_t *data;
  size_t size_bytes;
} assay_file_map;
assay_status assay_file_map_open(const char *path, assay_file_map *out,
                                 assay_error *err) ASSAY_NODISCARD;
void assay_file_map_close(assay_file_map *map);

/* Writes to a temporary name in the same folder, syncs, renames. The temporary file is removed on
 * failure. Errors: IO (with the system's words, such as no space left). */
assay_status assay_file_write(const char *path, const void *bytes, size_t size_bytes,
                              assay_error *err) ASSAY_NODISCARD;

/* Streaming form of the same: open gives a FILE to write to; commit flushes, checks, syncs and
 * renames; close without commit removes the temporary file. */
typedef struct assay_file_writer assay_file_writer;
assay_status assay_file_writer_open(const char *path, assay_file_writer **out,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_file_writer_append(assay_file_writer *writer, const void *bytes,
                                      size_t size_bytes, assay_error *err) ASSAY_NODISCARD;
assay_status assay_file_writer_commit(assay_file_writer *writer, assay_error *err) ASSAY_NODISCARD;
void assay_file_writer_close(assay_file_writer *writer); /* NULL is fine; also after commit */

/* For a library that insists on opening its output itself: an empty temporary file in path's folder
 * (its name is released with assay_free, the file is the caller's to remove), and the same commit
 * as above for what the library left there: sync, rename to path. */
assay_status assay_file_temp_create(const char *path, char **out_temp_path,
                                    assay_error *err) ASSAY_NODISCARD;
assay_status assay_file_temp_commit(const char *temp_path, const char *path,
                                    assay_error *err) ASSAY_NODISCARD;

assay_status assay_file_copy(const char *from, const char *to, assay_error *err) ASSAY_NODISCARD;

/* Makes the folder and its parents; a folder that is there already is fine. Errors: IO. */
assay_status assay_folder_create(const char *path, assay_error *err) ASSAY_NODISCARD;

typedef enum assay_path_kind {
  ASSAY_PATH_NONE, /* nothing there */
  ASSAY_PATH_FILE,
  ASSAY_PATH_FOLDER,
  ASSAY_PATH_OTHER,
} assay_path_kind;
assay_path_kind assay_path_kind_of(const char *path);

/* Sorted names in a folder (without . and ..). The array and its strings are released with
 * assay_names_reset. Errors: IO, MEMORY. */
typedef struct assay_names {
  char **items;
  size_t n;
} assay_names;
assay_status assay_folder_list(const char *path, assay_names *out,
                               assay_error *err) ASSAY_NODISCARD;
void assay_names_reset(assay_names *names);

/* Removes a folder that this run made, with all in it; symbolic links are removed, not followed.
 * Nothing there is fine. Errors: IO. */
assay_status assay_folder_remove(const char *path, assay_error *err) ASSAY_NODISCARD;

/* "a/b" from "a" and "b"; an absolute b wins. Released with assay_free; NULL when memory is out. */
char *assay_path_join(const char *folder, const char *name) ASSAY_NODISCARD;

/* The last component, borrowed from path ("c.npz" of "a/b/c.npz"). */
const char *assay_path_name(const char *path);

/* True for a relative name that stays where it starts: not empty, not absolute, no "." or ".."
 * component, no backslash, no control character, valid UTF-8, at most 1024 bytes. */
bool assay_path_is_inside(const char *path);

#endif
