/* Provenance from /proc and /sys: what this process has mapped, the environment that counts, and
 * the record of the machine. */
#include "campaign/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "build_facts.h"
#include "campaign/cgroup.h"
#include "measure/clock.h"
#include "package/fields.h"

#define LINE_MAX_BYTES 8192
#define UNAVAILABLE    "unavailable"

extern char **environ;

/* --- mapped libraries ---------------------------------------------------------------------------
 */

/* One line of /proc/self/maps: "start-end perms offset major:minor inode   path". */
typedef struct map_line {
  char permissions[8];
  unsigned major, minor;
  unsigned long inode;
  const char *path; /* in the line; "" without one */
} map_line;

static bool parse_map_line(char *line, map_line *out) {
  int at = 0;
  line[strcspn(line, "\n")] = '\0';
  if (sscanf(line, "%*x-%*x %7s %*x %x:%x %lu %n", out->permissions, &out->major, &out->minor,
             &out->inode, &at) < 4)
    return false;
  out->path = at > 0 ? line + at : "";
  return true;
}

/* The file's digest, if what is at the path is still what is mapped. */
static assay_status identify(const map_line *line, assay_digests *digests,
                             assay_machine_library *out, assay_error *err) {
  assay_digest digest = {0};
  assay_error why = {0};
  out->path = assay_strdup(line->path);
  if (out->path == NULL) return assay_fail_memory(err, strlen(line->path) + 1);
  assay_status st = assay_digests_of(digests, line->path, &digest, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st || digest.inode != line->inode) return ASSAY_OK;
  memcpy(out->sha256, digest.sha256, sizeof out->sha256);
  out->size_bytes = digest.size_bytes;
  memcpy(out->build_id, digest.elf.build_id, sizeof out->build_id);
  memcpy(out->soname, digest.elf.soname, sizeof out->soname);
  return ASSAY_OK;
}

static assay_status add_mapped(const map_line *line, assay_digests *digests,
                               assay_machine_libraries *out, assay_error *err) {
  for (size_t i = 0; i < out->n; i++)
    if (strcmp(out->items[i].path, line->path) == 0) return ASSAY_OK;
  void *block = out->items;
  ASSAY_TRY(
      assay_resize(&block, out->n * sizeof *out->items, (out->n + 1) * sizeof *out->items, err));
  out->items = block;
  out->items[out->n] = (assay_machine_library){0};
  out->n++; /* now found by reset */
  return identify(line, digests, &out->items[out->n - 1], err);
}

static int by_path(const void *a, const void *b) {
  const assay_machine_library *left = a, *right = b;
  return strcmp(left->path, right->path);
}

assay_status assay_machine_mapped(assay_digests *digests, assay_machine_libraries *out,
                                  assay_error *err) {
  char line[LINE_MAX_BYTES];
  assay_machine_libraries found = {0};
  assay_status st = ASSAY_OK;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return assay_fail(err, ASSAY_E_IO, "'/proc/self/maps' cannot be opened");
  while (st == ASSAY_OK && fgets(line, sizeof line, maps) != NULL) {
    map_line parsed;
    if (!parse_map_line(line, &parsed) || strchr(parsed.permissions, 'x') == NULL) continue;
    if (parsed.path[0] == '/') st = add_mapped(&parsed, digests, &found, err);
  }
  fclose(maps);
  if (st) {
    assay_machine_libraries_reset(&found);
    return st;
  }
  if (found.n > 0) qsort(found.items, found.n, sizeof *found.items, by_path);
  *out = found;
  return ASSAY_OK;
}

void assay_machine_libraries_reset(assay_machine_libraries *libraries) {
  for (size_t i = 0; i < libraries->n; i++) assay_free(libraries->items[i].path);
  assay_free(libraries->items);
  *libraries = (assay_machine_libraries){0};
}

/* --- environment ---------------------------------------------------------------------------------
 */

static bool counts(const char *entry) {
  static const char *const prefixes[] = {
      "ORT_",      "OMP_",     "KMP_",       "GOMP_",   "MKL_",    "OPENBLAS_", "NVIDIA_",
      "CUDA_",     "CUDNN_",   "CUBLAS",     "HIP_",    "ROCR_",   "ROCM_",     "HSA_",
      "MIGRAPHX",  "AMD_",     "GPU_",       "TF32",    "LD_",     "MALLOC_",   "GLIBC_TUNABLES=",
      "OPENVINO",  "OV_",      "VK_",        "DNNL_",   "ONEDNN_", "SLURM_CPU", "ASSAY_",
      "CI=",       "ROCBLAS_", "HIPBLASLT_", "MIOPEN_", "DAWN_",   "MESA_",     "LP_NUM",
      "XDG_CACHE", "NEO_",     "INTEL_"};
  for (size_t i = 0; i < N_OF(prefixes); i++)
    if (assay_text_has_prefix(entry, prefixes[i])) return true;
  return false;
}

static int by_text(const void *a, const void *b) {
  const char *const *left = a, *const *right = b;
  return strcmp(*left, *right);
}

/* "K=V" into settings; what is not UTF-8 is written with \xNN, since JSON has no other way. */
static assay_status add_variable(const char *entry, assay_settings *out, assay_error *err) {
  const char *equals = strchr(entry, '=');
  if (equals == NULL) return ASSAY_OK;
  size_t room = 4 * strlen(entry) + 1;
  char *key = assay_strndup(entry, (size_t)(equals - entry));
  char *name = assay_alloc(room), *value = assay_alloc(room);
  assay_status st = ASSAY_OK;
  if (key == NULL || name == NULL || value == NULL) {
    st = assay_fail_memory(err, room);
  } else {
    assay_text_printable(key, name, room);
    assay_text_printable(equals + 1, value, room);
    st = assay_settings_set(out, name, value, err);
  }
  assay_free(key);
  assay_free(name);
  assay_free(value);
  return st;
}

assay_status assay_machine_environment(assay_settings *out, assay_error *err) {
  size_t n = 0, n_kept = 0;
  while (environ != NULL && environ[n] != NULL) n++;
  const char **kept = assay_alloc_array(n, sizeof *kept);
  if (kept == NULL) return assay_fail_memory(err, n * sizeof *kept);
  for (size_t i = 0; i < n; i++)
    if (counts(environ[i])) kept[n_kept++] = environ[i];
  if (n_kept > 0) qsort(kept, n_kept, sizeof *kept, by_text);
  assay_status st = ASSAY_OK;
  for (size_t i = 0; i < n_kept && st == ASSAY_OK; i++) st = add_variable(kept[i], out, err);
  assay_free(kept);
  return st;
}

void assay_machine_now(char out[32]) {
  int64_t ns = assay_clock_realtime_ns();
  time_t seconds = (time_t)(ns / 1000000000);
  struct tm parts;
  char text[24] = "";
  if (gmtime_r(&seconds, &parts) != NULL) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(out, 32, "%s.%03dZ", text, (int)(ns % 1000000000 / 1000000));
}

/* --- small files ---------------------------------------------------------------------------------
 */

/* The first line that wanted accepts, from `skip` bytes on; printable. */
static char *find_line(const char *path, const char *key) {
  char line[LINE_MAX_BYTES], clean[4 * 256];
  const char *value = NULL;
  FILE *file = fopen(path, "re");
  if (file == NULL) return assay_strdup(UNAVAILABLE);
  while (value == NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (key == NULL) {
      value = line;
    } else if (assay_text_has_prefix(line, key)) {
      const char *rest = line + strlen(key);
      rest += strspn(rest, " \t");
      if (rest[0] == ':' || rest[0] == '=') value = rest + 1 + strspn(rest + 1, " \t");
    }
  }
  fclose(file);
  if (value == NULL) return assay_strdup(UNAVAILABLE);
  assay_text_printable(value, clean, sizeof clean);
  size_t n = strlen(clean); /* os-release has its values in quotes */
  bool quoted = n >= 2 && clean[0] == '"' && clean[n - 1] == '"';
  return quoted ? assay_strndup(clean + 1, n - 2) : assay_strdup(clean);
}

char *assay_machine_line(const char *path) {
  return find_line(path, /*key=*/NULL);
}

char *assay_machine_value(const char *path, const char *key) {
  return find_line(path, key);
}

/* --- the record ----------------------------------------------------------------------------------
 */

/* Where each figure of the record is read. key NULL: the whole first line. */
typedef struct source {
  const char *name, *path, *key;
} source;

/* What makes a machine: its id is their hash. */
static const source lasting[] = {
    {"processor", "/proc/cpuinfo", "model name"},
    {"vendor", "/proc/cpuinfo", "vendor_id"},
    {"family", "/proc/cpuinfo", "cpu family"},
    {"model", "/proc/cpuinfo", "model"},
    {"stepping", "/proc/cpuinfo", "stepping"},
    {"microcode", "/proc/cpuinfo", "microcode"},
    {"instructions", "/proc/cpuinfo", "flags"},
    {"cpus_online", "/sys/devices/system/cpu/online", NULL},
    {"memory", "/proc/meminfo", "MemTotal"},
    {"operating_system", "/etc/os-release", "PRETTY_NAME"},
    {"smt", "/sys/devices/system/cpu/smt/active", NULL},
};

/* What was so when the record was made. */
static const source passing[] = {
    {"affinity", "/proc/self/status", "Cpus_allowed_list"},
    {"load_average", "/proc/loadavg", NULL},
    {"memory_available", "/proc/meminfo", "MemAvailable"},
    {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL},
    {"frequency_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", NULL},
    {"min_frequency_khz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", NULL},
    {"max_frequency_khz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", NULL},
    {"energy_preference", "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
     NULL},
    {"boost", "/sys/devices/system/cpu/cpufreq/boost", NULL},
    {"no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", NULL},
    {"transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled", NULL},
};

static assay_status put_sources(const source *sources, size_t n, assay_json_builder *b,
                                assay_error *err) {
  for (size_t i = 0; i < n; i++) {
    char *value = find_line(sources[i].path, sources[i].key);
    if (value == NULL) return assay_fail_memory(err, LINE_MAX_BYTES);
    assay_json_put_string(b, sources[i].name, value);
    assay_free(value);
  }
  return ASSAY_OK;
}

static assay_status put_lasting(assay_json_builder *b, assay_error *err) {
  struct utsname names = {0};
  char clean[4 * sizeof names.version];
  bool known = uname(&names) == 0;
  const char *const keys[] = {"host", "system", "kernel", "kernel_build", "architecture"};
  const char *const values[] = {names.nodename, names.sysname, names.release, names.version,
                                names.machine};
  for (size_t i = 0; i < N_OF(keys); i++) {
    assay_text_printable(known ? values[i] : UNAVAILABLE, clean, sizeof clean);
    assay_json_put_string(b, keys[i], clean);
  }
  ASSAY_TRY(put_sources(lasting, N_OF(lasting), b, err));
  long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (n_cpus > 0) assay_json_put_int(b, "n_cpus", n_cpus);
  return ASSAY_OK;
}

static assay_status put_cgroups(assay_json_builder *b, assay_error *err) {
  static const char *const keys[] = {"cgroup_cpu_max", "cgroup_memory_max", "cgroup_cpus"};
  static const assay_cgroup_limit limits[] = {ASSAY_CGROUP_CPU, ASSAY_CGROUP_MEMORY,
                                              ASSAY_CGROUP_CPUS};
  for (size_t i = 0; i < N_OF(keys); i++) {
    char *value = assay_cgroup_read("", limits[i]);
    if (value == NULL) return assay_fail_memory(err, LINE_MAX_BYTES);
    assay_json_put_string(b, keys[i], value);
    assay_free(value);
  }
  return ASSAY_OK;
}

static assay_status put_passing(assay_json_builder *b, assay_error *err) {
  assay_settings environment = {0};
  assay_json_begin_object(b, "when_recorded");
  assay_status st = put_sources(passing, N_OF(passing), b, err);
  if (st == ASSAY_OK) st = put_cgroups(b, err);
  if (st == ASSAY_OK) st = assay_machine_environment(&environment, err);
  assay_settings_put(&environment, b, "environment");
  assay_json_end(b);
  assay_settings_reset(&environment);
  return st;
}

/* What scripts/source-id.sh found when this program was built: "revision state digest". */
static void put_sources_of_tool(assay_json_builder *b) {
  char revision[128] = "", state[32] = "", digest[128] = "";
  (void)sscanf(ASSAY_SOURCE_ID, "%127s %31s %127s", revision, state, digest);
  assay_json_put_string(b, "revision", revision[0] != '\0' ? revision : UNAVAILABLE);
  assay_json_put_string(b, "working_tree", state[0] != '\0' ? state : UNAVAILABLE);
  assay_json_put_string(b, "source_sha256", digest[0] != '\0' ? digest : UNAVAILABLE);
}

static void put_tool(assay_json_builder *b) {
  assay_json_begin_object(b, "tool");
  assay_json_put_string(b, "name", "assay");
  assay_json_put_string(b, "version", ASSAY_VERSION);
  put_sources_of_tool(b);
  assay_json_put_string(b, "compiler", ASSAY_COMPILER);
  assay_json_put_string(b, "flags", ASSAY_BUILD_FLAGS);
  assay_json_end(b);
}

/* The lasting part as text, and its id: the first 16 digits of its hash. */
static assay_status make_id(char out_id[17], assay_json **out_lasting, assay_error *err) {
  assay_buf text = {0};
  char sha256[65];
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_begin_object(b, "machine");
  assay_status st = put_lasting(b, err);
  assay_json_end(b);
  put_tool(b);
  assay_json_end(b);
  if (st == ASSAY_OK) st = assay_json_builder_finish(b, &text, err);
  if (st == ASSAY_OK) st = assay_json_parse(text.data, text.size_bytes, out_lasting, err);
  if (st == ASSAY_OK) st = assay_fields_digest(*out_lasting, sha256, err);
  if (st == ASSAY_OK) snprintf(out_id, 17, "%.16s", sha256);
  assay_json_builder_destroy(b);
  assay_buf_reset(&text);
  return st;
}

static assay_status write_record(const char *path, const char *id, const assay_json *lasting_part,
                                 assay_error *err) {
  assay_json_builder *b = assay_json_builder_create();
  assay_json_begin_object(b, NULL);
  assay_json_put_string(b, "schema", "assay/machine/1");
  assay_json_put_string(b, "id", id);
  assay_json_put_copy(b, "machine", assay_json_get(lasting_part, "machine"));
  assay_status st = put_passing(b, err);
  assay_json_put_copy(b, "tool", assay_json_get(lasting_part, "tool"));
  assay_json_end(b);
  if (st == ASSAY_OK) st = assay_json_builder_write(b, path, err);
  assay_json_builder_destroy(b);
  return st;
}

assay_status assay_machine_write(const char *folder, char **out_name, assay_error *err) {
  char id[17] = "";
  assay_json *lasting_part = NULL;
  char *name = NULL, *path = NULL;
  assay_status st = make_id(id, &lasting_part, err);
  if (st) goto done;
  name = assay_format("%s.json", id);
  path = name != NULL ? assay_path_join(folder, name) : NULL;
  if (path == NULL) {
    st = assay_fail_memory(err, strlen(folder) + sizeof id + 6);
    goto done;
  }
  st = assay_folder_create(folder, err);
  if (st == ASSAY_OK && assay_path_kind_of(path) != ASSAY_PATH_FILE)
    st = write_record(path, id, lasting_part, err);
  if (st == ASSAY_OK) {
    *out_name = name;
    name = NULL;
  }
done:
  assay_json_destroy(lasting_part);
  assay_free(name);
  assay_free(path);
  return st;
}
