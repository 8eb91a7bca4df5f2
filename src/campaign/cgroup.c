#include "campaign/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#define UNAVAILABLE    "unavailable"
#define LINE_MAX_BYTES 4096
#define MEMORY_UNLIMITED                                                                           \
  (UINT64_C(1) << 62) /* version 1 has no word: the largest multiple of a page */

static const char *const controllers[] = {"cpu", "memory", "cpuset"};

/* Where a controller's files are: base is the top that can be seen, folder the process's own group
 * or, where that cannot be seen, base. */
typedef struct place {
  bool v1;
  char base[LINE_MAX_BYTES], folder[2 * LINE_MAX_BYTES];
} place;

/* --- finding the group -------------------------------------------------------------------------
 */

static bool lists(const char *list, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = list; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
    if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
  return false;
}

static bool is_folder(const char *path) {
  return assay_path_kind_of(path) == ASSAY_PATH_FOLDER;
}

/* A hierarchy of version 1 is mounted under its controllers' names, or one of them; that of version
 * 2 is the whole tree, or beside the others "unified". */
static bool find_base(const char *root, const char *list, const char *controller, place *out) {
  const char *v1[] = {list, controller}, *v2[] = {"unified", "."};
  for (size_t i = 0; i < 2; i++) {
    snprintf(out->base, sizeof out->base, "%s/sys/fs/cgroup/%s", root, out->v1 ? v1[i] : v2[i]);
    if (is_folder(out->base)) return true;
  }
  return false;
}

/* From the lines "<id>:<controllers>:<path>" of /proc/self/cgroup; that of version 2 names none. */
static bool find_place(const char *root, const char *controller, place *out) {
  char path[LINE_MAX_BYTES], line[LINE_MAX_BYTES], list[256] = "", group[LINE_MAX_BYTES] = "";
  bool found = false;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  while (file != NULL && !out->v1 && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    char *names = strchr(line, ':'), *rest = names != NULL ? strchr(names + 1, ':') : NULL;
    if (rest == NULL) continue;
    *rest++ = '\0';
    out->v1 = lists(++names, controller);
    if (!out->v1 && *names != '\0') continue;
    found = true;
    snprintf(list, sizeof list, "%s", names);
    snprintf(group, sizeof group, "%s", rest);
  }
  if (file != NULL) fclose(file);
  if (!found || !find_base(root, list, controller, out)) return false;
  snprintf(out->folder, sizeof out->folder, "%s%s", out->base, group);
  if (group[0] != '/' || strstr(group, "/..") != NULL || !is_folder(out->folder))
    snprintf(out->folder, sizeof out->folder, "%s", out->base);
  return true;
}

/* The group above, until the base; false there. */
static bool go_up(place *at) {
  char *slash = strrchr(at->folder + strlen(at->base), '/');
  if (slash == NULL) return false;
  *slash = '\0';
  return true;
}

/* --- values --------------------------------------------------------------------------------------
 */

static bool read_line(const place *at, const char *name, char out[LINE_MAX_BYTES]) {
  char path[3 * LINE_MAX_BYTES];
  snprintf(path, sizeof path, "%s/%s", at->folder, name);
  FILE *file = fopen(path, "re");
  const bool there = file != NULL && fgets(out, LINE_MAX_BYTES, file) != NULL;
  if (file != NULL) fclose(file);
  if (there) out[strcspn(out, "\n")] = '\0';
  return there && out[0] != '\0';
}

static bool read_int(const place *at, const char *name, int64_t *out) {
  char line[LINE_MAX_BYTES];
  return read_line(at, name, line) && assay_text_parse_int(line, name, INT64_MIN, INT64_MAX, out,
                                                           /*err=*/NULL) == ASSAY_OK;
}

/* *out_quota is -1 without one. */
static bool read_cpu(const place *at, int64_t *out_quota, int64_t *out_period) {
  char line[LINE_MAX_BYTES];
  if (at->v1)
    return read_int(at, "cpu.cfs_quota_us", out_quota) &&
           read_int(at, "cpu.cfs_period_us", out_period) && *out_period > 0;
  if (!read_line(at, "cpu.max", line)) return false;
  char *space = strchr(line, ' ');
  if (space == NULL) return false;
  *space = '\0';
  *out_quota = -1;
  return (strcmp(line, "max") == 0 ||
          assay_text_parse_int(line, "quota", 0, INT64_MAX, out_quota, NULL) == ASSAY_OK) &&
         assay_text_parse_int(space + 1, "period", 1, INT64_MAX, out_period, NULL) == ASSAY_OK;
}

static char *tightest_cpu(place *at) {
  int64_t best = -1, of = 0, quota = 0, period = 0;
  do {
    if (!read_cpu(at, &quota, &period)) continue;
    const bool tighter =
        quota >= 0 && (best < 0 || (double)quota / (double)period < (double)best / (double)of);
    if (of != 0 && !tighter) continue;
    best = quota < 0 ? -1 : quota;
    of = period;
  } while (go_up(at));
  if (of == 0) return assay_strdup(UNAVAILABLE);
  return best < 0 ? assay_format("max %lld", (long long)of)
                  : assay_format("%lld %lld", (long long)best, (long long)of);
}

/* UINT64_MAX without a limit. */
static bool read_memory(const place *at, uint64_t *out) {
  char line[LINE_MAX_BYTES];
  if (!read_line(at, at->v1 ? "memory.limit_in_bytes" : "memory.max", line)) return false;
  *out = UINT64_MAX;
  if (strcmp(line, "max") == 0) return true;
  if (assay_text_parse_u64(line, "limit", out, /*err=*/NULL)) return false;
  if (*out >= MEMORY_UNLIMITED) *out = UINT64_MAX;
  return true;
}

static char *tightest_memory(place *at) {
  uint64_t best = UINT64_MAX, limit = 0;
  bool known = false;
  do {
    if (!read_memory(at, &limit)) continue;
    known = true;
    if (limit < best) best = limit;
  } while (go_up(at));
  if (!known) return assay_strdup(UNAVAILABLE);
  return best == UINT64_MAX ? assay_strdup("max") : assay_format("%llu", (unsigned long long)best);
}

/* Groups above count already in the effective ones; version 1's oldest kernels know the own alone.
 */
static char *effective_cpus(const place *at) {
  static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                      "cpuset.cpus"};
  char line[LINE_MAX_BYTES], clean[LINE_MAX_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!read_line(at, names[i], line)) continue;
    assay_text_printable(line, clean, sizeof clean);
    return assay_strdup(clean);
  }
  return assay_strdup(UNAVAILABLE);
}

char *assay_cgroup_read(const char *root, assay_cgroup_limit limit) {
  place at = {0};
  if (!find_place(root, controllers[limit], &at)) return assay_strdup(UNAVAILABLE);
  switch (limit) {
  case ASSAY_CGROUP_CPU:
    return tightest_cpu(&at);
  case ASSAY_CGROUP_MEMORY:
    return tightest_memory(&at);
  case ASSAY_CGROUP_CPUS:
    break;
  }
  return effective_cpus(&at);
}
