#define _GNU_SOURCE /* dl_iterate_phdr */
#include "runtime/keep_mapped.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "base/alloc.h"

#define LIBRARIES_MAX 4096 /* a process with all of ROCm maps some hundred */

typedef struct paths {
  char *items[LIBRARIES_MAX]; /* owned */
  size_t n;
} paths;

/* The loader must not be called from here: its lock is held. */
static int take_path(struct dl_phdr_info *info, size_t info_bytes, void *arg) {
  paths *all = arg;
  (void)info_bytes;
  if (info->dlpi_name == NULL || info->dlpi_name[0] != '/') return 0; /* the program, the kernel */
  if (all->n == LIBRARIES_MAX) return 1;
  all->items[all->n] = assay_strdup(info->dlpi_name);
  if (all->items[all->n] != NULL) all->n++;
  return 0;
}

void assay_keep_mapped(void) {
  paths *all = assay_alloc(sizeof *all);
  if (all == NULL) return;
  dl_iterate_phdr(take_path, all);
  for (size_t i = 0; i < all->n; i++) {
    void *handle = dlopen(all->items[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle != NULL) dlclose(handle);
    assay_free(all->items[i]);
  }
  assay_free(all);
}
