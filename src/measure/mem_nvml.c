/* NVIDIA devices, through NVML: libnvidia-ml.so.1, opened at run time.
 *
 * Two calls tell used memory, and disagree by the driver's reserve (hundreds of MB): the first
 * version counts it in, the second usually not. Which one answers, and by which rule its sums hold,
 * is found once for each device when it is opened; after that a reading by the other one is never
 * taken, so that baseline and peak are of one kind.
 *
 * A card in MIG mode is its slices: the card's own figure is their sum and needs privilege.
 * Source: NVML API reference, nvmlDeviceGetMemoryInfo_v2 and MIG management. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "measure/mem_file.h"
#include "measure/nvml_abi.h"

#define LIBRARY       "libnvidia-ml.so.1"
#define DEVICES_MAX   1024 /* slices included */
#define PROCESSES_MAX 4096

typedef struct api {
#define MEMBER(symbol, member, parameters, required) nvml_return(*member) parameters;
  NVML_FUNCTIONS(MEMBER)
#undef MEMBER
  nvml_error_string error_string;
} api;

typedef enum rule {
  RULE_NONE, /* neither call answers */
  RULE_V1,
  RULE_V2_WITHOUT_RESERVE, /* total = used + free + reserved */
  RULE_V2_WITH_RESERVE,    /* total = used + free */
  RULE_V2_NO_RESERVE,      /* both, for there is none */
  RULE_V2_OTHER,           /* neither */
} rule;

typedef struct device {
  nvml_device handle;
  char key[48], name[96], uuid[96];
  char note[128]; /* "" or what makes its figures special */
  rule rule;
  int64_t total_bytes;
  char reason[ASSAY_MEM_REASON_BYTES]; /* of RULE_NONE */
} device;

typedef struct state {
  void *library;
  bool is_up; /* init succeeded */
  api api;
  char driver[64];
  bool has_wide_processes; /* _v3 of this driver fills in another struct */
  bool host_pids;
  char *proc_folder;
  device *devices;
  size_t n_devices;
} state;

static const char *text_of(const state *s, nvml_return code, char out[80]) {
  const char *text = s->api.error_string != NULL ? s->api.error_string(code) : NULL;
  char clean[64];
  assay_text_printable(text != NULL ? text : "no words for it", clean, sizeof clean);
  snprintf(out, 80, "%s (%d)", clean, code);
  return out;
}

static void close_state(void *opened) {
  state *s = opened;
  if (s == NULL) return;
  if (s->is_up) s->api.shutdown();
  if (s->library != NULL) dlclose(s->library);
  assay_free(s->devices);
  assay_free(s->proc_folder);
  assay_free(s);
}

/* --- opening -------------------------------------------------------------------------------------
 */

/* POSIX lets a data pointer of dlsym become one to a function; the copy keeps compilers quiet. */
static void find_symbol(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
}

static assay_status load(state *s, const char *name, assay_error *err) {
  s->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (s->library == NULL) {
    const char *why = dlerror();
    return assay_fail(err, ASSAY_E_MISSING, "%s", why != NULL ? why : "it cannot be opened");
  }
#define FIND(symbol, member, parameters, required)                                                 \
  find_symbol(s->library, #symbol, &s->api.member);                                                \
  if (required && s->api.member == NULL)                                                           \
    return assay_fail(err, ASSAY_E_MISSING, "'%s' has no %s", name, #symbol);
  NVML_FUNCTIONS(FIND)
#undef FIND
  find_symbol(s->library, "nvmlErrorString", &s->api.error_string);
  return ASSAY_OK;
}

/* Drivers 535.43 to 535.86 fill in 32 bytes a process where all others have 24. Source: nvtop,
 * src/extract_gpuinfo_nvidia.c. */
static bool is_wide_driver(const char *version) {
  int major = 0, minor = 0;
  return sscanf(version, "%d.%d", &major, &minor) == 2 && major == 535 && minor < 98;
}

static rule rule_of_v2(const nvml_memory_v2 *m) {
  bool without = m->used + m->free + m->reserved == m->total, with = m->used + m->free == m->total;
  if (with && without) return RULE_V2_NO_RESERVE;
  return without ? RULE_V2_WITHOUT_RESERVE : with ? RULE_V2_WITH_RESERVE : RULE_V2_OTHER;
}

static int64_t as_bytes(unsigned long long value) {
  return value <= INT64_MAX ? (int64_t)value : ASSAY_MEM_NONE;
}

static void find_rule(const state *s, device *d) {
  nvml_memory_v2 two = {.version = NVML_MEMORY_V2};
  nvml_memory one = {0};
  char text[80];
  d->total_bytes = ASSAY_MEM_NONE;
  if (s->api.get_memory_v2 != NULL && s->api.get_memory_v2(d->handle, &two) == NVML_SUCCESS) {
    d->rule = rule_of_v2(&two);
    d->total_bytes = as_bytes(two.total);
    return;
  }
  nvml_return code = s->api.get_memory(d->handle, &one);
  if (code == NVML_SUCCESS) {
    d->rule = RULE_V1;
    d->total_bytes = as_bytes(one.total);
    return;
  }
  snprintf(d->reason, sizeof d->reason, "nvmlDeviceGetMemoryInfo: %s", text_of(s, code, text));
}

static assay_status add_device(state *s, nvml_device handle, const char *key, device **out,
                               assay_error *err) {
  void *block = s->devices;
  size_t size = sizeof *s->devices;
  if (s->n_devices == DEVICES_MAX)
    return assay_fail(err, ASSAY_E_MISSING, "more than %d devices", DEVICES_MAX);
  ASSAY_TRY(assay_resize(&block, s->n_devices * size, (s->n_devices + 1) * size, err));
  s->devices = block;
  device *d = &s->devices[s->n_devices++];
  *d = (device){.handle = handle};
  snprintf(d->key, sizeof d->key, "%s", key);
  char text[96] = "";
  if (s->api.get_name != NULL && s->api.get_name(handle, text, sizeof text) == NVML_SUCCESS) {
    text[sizeof text - 1] = '\0';
    assay_text_printable(text, d->name, sizeof d->name);
  }
  memset(text, 0, sizeof text);
  if (s->api.get_uuid != NULL && s->api.get_uuid(handle, text, sizeof text) == NVML_SUCCESS) {
    text[sizeof text - 1] = '\0';
    assay_text_printable(text, d->uuid, sizeof d->uuid);
  }
  *out = d;
  return ASSAY_OK;
}

/* A card whose memory is a node of the system's own holds the system's page cache too. */
static void note_numa(const state *s, device *d) {
  unsigned node = 0;
  if (s->api.get_numa == NULL || s->api.get_numa(d->handle, &node) != NVML_SUCCESS) return;
  snprintf(d->note, sizeof d->note, "; memory of NUMA node %u, so the page cache may be in it",
           node);
}

/* *out_n: slices that there are. A slice that cannot be had leaves the others. */
static assay_status add_slices(state *s, nvml_device card, const char *pci, size_t *out_n,
                               assay_error *err) {
  unsigned n = 0;
  if (s->api.get_mig_count == NULL || s->api.get_mig == NULL) return ASSAY_OK;
  if (s->api.get_mig_count(card, &n) != NVML_SUCCESS) return ASSAY_OK;
  for (unsigned i = 0; i < n && i < DEVICES_MAX; i++) {
    nvml_device slice = NULL;
    device *d = NULL;
    char key[48];
    if (s->api.get_mig(card, i, &slice) != NVML_SUCCESS) continue;
    snprintf(key, sizeof key, "%.15s/mig%u", pci, i);
    ASSAY_TRY(add_device(s, slice, key, &d, err));
    snprintf(d->note, sizeof d->note, "; a MIG slice");
    find_rule(s, d);
    ++*out_n;
  }
  return ASSAY_OK;
}

static assay_status add_card(state *s, nvml_device card, const char *pci, assay_error *err) {
  unsigned mode = 0, pending = 0;
  size_t n_slices = 0;
  device *d = NULL;
  bool is_cut = s->api.get_mig_mode != NULL &&
                s->api.get_mig_mode(card, &mode, &pending) == NVML_SUCCESS && mode == 1;
  if (is_cut) ASSAY_TRY(add_slices(s, card, pci, &n_slices, err));
  if (n_slices > 0) return ASSAY_OK;
  ASSAY_TRY(add_device(s, card, pci, &d, err));
  if (is_cut) {
    d->total_bytes = ASSAY_MEM_NONE;
    snprintf(d->reason, sizeof d->reason,
             "the card is in MIG mode and none of its slices can be had");
    return ASSAY_OK;
  }
  note_numa(s, d);
  find_rule(s, d);
  return ASSAY_OK;
}

/* The address that the library gives, in the form of /sys. */
static void take_address(const state *s, nvml_device card, unsigned i, char out[16]) {
  nvml_pci pci = {0};
  char address[16];
  snprintf(out, 16, "nvml%u", i); /* an index says little, and no address is no reason to skip it */
  if (s->api.get_pci(card, &pci) != NVML_SUCCESS) return;
  pci.bus_id[sizeof pci.bus_id - 1] = '\0';
  if (assay_mem_file_pci(pci.bus_id, address)) memcpy(out, address, sizeof address);
}

static assay_status find_devices(state *s, assay_error *err) {
  unsigned n = 0;
  char text[80], key[16];
  nvml_return code = s->api.get_count(&n);
  if (code != NVML_SUCCESS)
    return assay_fail(err, ASSAY_E_MISSING, "nvmlDeviceGetCount: %s", text_of(s, code, text));
  nvml_return last = NVML_SUCCESS;
  for (unsigned i = 0; i < n && i < DEVICES_MAX; i++) {
    nvml_device card = NULL;
    nvml_return got = s->api.get_handle(i, &card);
    if (got != NVML_SUCCESS) { /* one that this user may not see, or that fell off its bus */
      last = got;
      continue;
    }
    take_address(s, card, i, key);
    ASSAY_TRY(add_card(s, card, key, err));
  }
  if (s->n_devices > 0) return ASSAY_OK;
  return assay_fail(err, ASSAY_E_MISSING, "NVML shows %u devices, none of which can be had%s%s", n,
                    last != NVML_SUCCESS ? ": " : "",
                    last != NVML_SUCCESS ? text_of(s, last, text) : "");
}

static assay_status fill_state(const assay_mem_config *config, state *s, assay_error *err) {
  const char *name = config->nvml_library != NULL ? config->nvml_library : LIBRARY;
  const char *proc = config->proc_folder != NULL ? config->proc_folder : "/proc";
  char text[80], driver[80] = "";
  ASSAY_TRY(load(s, name, err));
  nvml_return code = s->api.init();
  if (code != NVML_SUCCESS)
    return assay_fail(err, ASSAY_E_MISSING, "nvmlInit: %s", text_of(s, code, text));
  s->is_up = true;
  s->proc_folder = assay_strdup(proc);
  if (s->proc_folder == NULL) return assay_fail_memory(err, strlen(proc) + 1);
  s->host_pids = assay_mem_file_host_pids(proc);
  if (s->api.get_driver != NULL && s->api.get_driver(driver, sizeof driver) == NVML_SUCCESS) {
    driver[sizeof driver - 1] = '\0';
    assay_text_printable(driver, s->driver, sizeof s->driver);
  }
  s->has_wide_processes = is_wide_driver(s->driver);
  return find_devices(s, err);
}

static assay_status open_state(const assay_mem_config *config, void **out_state, size_t *out_n,
                               assay_error *err) {
  state *s = assay_alloc(sizeof *s);
  if (s == NULL) return assay_fail_memory(err, sizeof *s);
  assay_status st = fill_state(config, s, err);
  if (st) {
    close_state(s);
    return st;
  }
  *out_state = s;
  *out_n = s->n_devices;
  return ASSAY_OK;
}

/* --- reading -------------------------------------------------------------------------------------
 */

static void describe(void *opened, size_t i, assay_mem_target *out) {
  static const char *const meanings[] = {
      [RULE_NONE] = "cannot be read",
      [RULE_V1] = "nvmlDeviceGetMemoryInfo: used by all processes, with the driver's reserve",
      [RULE_V2_WITHOUT_RESERVE] =
          "nvmlDeviceGetMemoryInfo_v2: used by all processes, without the driver's reserve",
      [RULE_V2_WITH_RESERVE] =
          "nvmlDeviceGetMemoryInfo_v2: used by all processes, with the driver's reserve",
      [RULE_V2_NO_RESERVE] =
          "nvmlDeviceGetMemoryInfo_v2: used by all processes; the driver reserves nothing",
      [RULE_V2_OTHER] =
          "nvmlDeviceGetMemoryInfo_v2: used, by no known rule (sums are not the total)",
  };
  const state *s = opened;
  const device *d = &s->devices[i];
  snprintf(out->key, sizeof out->key, "%s", d->key);
  snprintf(out->name, sizeof out->name, "%s", d->name);
  snprintf(out->uuid, sizeof out->uuid, "%s", d->uuid);
  snprintf(out->driver, sizeof out->driver, "%s", s->driver);
  snprintf(out->meaning, sizeof out->meaning, "%s%s", meanings[d->rule], d->note);
  out->total_bytes = d->total_bytes;
}

static void used(void *opened, size_t i, assay_mem_reading *out) {
  const state *s = opened;
  const device *d = &s->devices[i];
  nvml_memory_v2 two = {.version = NVML_MEMORY_V2};
  nvml_memory one = {0};
  char text[80];
  if (d->rule == RULE_NONE) {
    out->bytes = ASSAY_MEM_NONE;
    memcpy(out->reason, d->reason, sizeof out->reason);
    return;
  }
  bool by_v1 = d->rule == RULE_V1;
  nvml_return code =
      by_v1 ? s->api.get_memory(d->handle, &one) : s->api.get_memory_v2(d->handle, &two);
  int64_t bytes = as_bytes(by_v1 ? one.used : two.used);
  if (code != NVML_SUCCESS)
    assay_mem_say_none(out, "nvmlDeviceGetMemoryInfo%s: %s", by_v1 ? "" : "_v2",
                       text_of(s, code, text));
  else if (bytes == ASSAY_MEM_NONE)
    assay_mem_say_none(out, "more bytes than can be counted");
  else
    assay_mem_say(out, bytes);
}

/* --- processes -----------------------------------------------------------------------------------
 */

typedef nvml_return (*list_call)(nvml_device, unsigned *, nvml_process *);

/* *out [*out_n] is released with assay_free. Asked for the count first; there may be more of them a
 * moment later, so that a second try with room to spare is allowed. The block has room for the wide
 * struct of the drivers above, lest one of them be missed. */
static nvml_return list_processes(const device *d, list_call call, nvml_process **out,
                                  unsigned *out_n) {
  unsigned n = 0;
  nvml_return code = call(d->handle, &n, NULL);
  *out = NULL;
  *out_n = 0;
  for (int tries = 0; code == NVML_INSUFFICIENT_SIZE && n <= PROCESSES_MAX && tries < 3; tries++) {
    unsigned room = n + 8;
    assay_free(*out);
    *out = assay_alloc_array(room, sizeof **out + 8);
    if (*out == NULL) return NVML_UNKNOWN;
    n = room;
    code = call(d->handle, &n, *out);
    if (code == NVML_SUCCESS) *out_n = n < room ? n : room;
  }
  return code;
}

/* Adds what one call lists; the call's answer. */
static nvml_return add_listed(const state *s, const device *d, list_call call,
                              assay_mem_activity *out) {
  nvml_process *list = NULL;
  unsigned n = 0;
  char name[32] = "";
  nvml_return code = list_processes(d, call, &list, &n);
  for (unsigned i = 0; i < n; i++) {
    int64_t bytes = list[i].used_bytes == NVML_VALUE_NOT_AVAILABLE ? ASSAY_MEM_NONE
                                                                   : as_bytes(list[i].used_bytes);
    if (s->host_pids) assay_mem_file_comm(s->proc_folder, list[i].pid, name, sizeof name);
    assay_mem_add_process(out, list[i].pid, bytes, name);
  }
  assay_free(list);
  return code;
}

/* Compute and graphics processes into the list; false with the reason when there is none. */
static bool list_users(const state *s, const device *d, assay_mem_activity *out) {
  const api *a = &s->api;
  bool v3 = !s->has_wide_processes && a->get_compute_v3 != NULL;
  list_call compute = v3 ? a->get_compute_v3 : a->get_compute_v2;
  list_call graphics = v3 ? a->get_graphics_v3 : a->get_graphics_v2;
  char text[80];
  if (compute == NULL) {
    snprintf(out->processes_reason, sizeof out->processes_reason,
             "this library does not list processes");
    return false;
  }
  out->n_processes = 0;
  nvml_return code = add_listed(s, d, compute, out);
  if (code == NVML_SUCCESS && graphics != NULL) {
    code = add_listed(s, d, graphics, out);
    if (code == NVML_NOT_SUPPORTED) code = NVML_SUCCESS; /* cards that only compute */
  }
  if (code == NVML_SUCCESS) return true;
  snprintf(out->processes_reason, sizeof out->processes_reason, "list of processes: %s",
           text_of(s, code, text));
  if (out->n_processes == 0) out->n_processes = ASSAY_MEM_NONE;
  return false;
}

static void of_process(void *opened, size_t i, int64_t pid, assay_mem_reading *out) {
  const state *s = opened;
  const device *d = &s->devices[i];
  assay_mem_activity users = {.n_processes = ASSAY_MEM_NONE};
  if (!s->host_pids) {
    assay_mem_say_none(out, "not in the machine's pid namespace: the driver's process ids are "
                            "others");
    return;
  }
  if (!list_users(s, d, &users)) {
    assay_mem_say_none(out, "%.180s", users.processes_reason);
    return;
  }
  assay_mem_say_none(out, "process %lld is not among the %lld on the device", (long long)pid,
                     (long long)users.n_processes);
  for (size_t k = 0; k < users.n_listed; k++) {
    if (users.processes[k].pid != pid) continue;
    if (users.processes[k].used_bytes == ASSAY_MEM_NONE)
      assay_mem_say_none(out, "the driver does not tell this process's bytes");
    else
      assay_mem_say(out, users.processes[k].used_bytes);
  }
}

static void activity(void *opened, size_t i, assay_mem_activity *out) {
  const state *s = opened;
  const device *d = &s->devices[i];
  nvml_utilization busy = {0};
  char text[80];
  used(opened, i, &out->used);
  nvml_return code = s->api.get_utilization != NULL ? s->api.get_utilization(d->handle, &busy)
                                                    : NVML_FUNCTION_NOT_FOUND;
  if (code == NVML_SUCCESS && busy.gpu <= 100)
    out->busy_percent = busy.gpu;
  else
    snprintf(out->busy_reason, sizeof out->busy_reason, "nvmlDeviceGetUtilizationRates: %s",
             code == NVML_SUCCESS ? "over 100 percent" : text_of(s, code, text));
  if (!list_users(s, d, out)) return;
  out->is_whole = s->host_pids;
  if (!out->is_whole)
    snprintf(out->processes_reason, sizeof out->processes_reason,
             "not in the machine's pid namespace: others may not be seen");
}

const assay_mem_source assay_mem_nvml = {.name = "nvml",
                                         .open = open_state,
                                         .close = close_state,
                                         .describe = describe,
                                         .used = used,
                                         .of_process = of_process,
                                         .activity = activity};
