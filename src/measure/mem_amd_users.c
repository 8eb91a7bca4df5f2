/* Users of an AMD card.
 *
 * fdinfo: a process's file for each descriptor; those of the DRM driver say "drm-pdev" (the card),
 * "drm-client-id" and sizes. Descriptors that share a client repeat its sizes, so an id counts
 * once. Sizes are "drm-resident-vram", or "drm-memory-vram" on kernels before 6.12, with or without
 * a unit. Source: Linux, Documentation/gpu/drm-usage-stats.rst.
 *
 * KFD: /sys/class/kfd/kfd/proc/<pid>/vram_<gpu_id>, bytes; the card's gpu_id stands in
 * topology/nodes/<n>/gpu_id beside its address in properties (location_id: bus << 8 | device << 3 |
 * function). Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_process.c, kfd_topology.c. */
#include "measure/mem_amd_users.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/mem_file.h"

#define PATH_BYTES   4096
#define FDINFO_BYTES 8192 /* a file of amdgpu is under 2 KiB */
#define CLIENTS_MAX  64   /* of one card in one process */

/* --- KFD -----------------------------------------------------------------------------------------
 */

/* A number of a topology file's line "name value". */
static bool node_number(const char *text, const char *key, int64_t *out) {
  char value[32];
  if (!assay_mem_file_value(text, key, value, sizeof value)) return false;
  *out = assay_mem_file_size(value);
  return *out != ASSAY_MEM_NONE;
}

static bool node_is_at(const char *text, const char *pci) {
  char at[64], normal[16];
  int64_t domain = 0, location = 0;
  if (!node_number(text, "location_id ", &location) || location > 0xffff) return false;
  if (!node_number(text, "domain ", &domain)) domain = 0;
  snprintf(at, sizeof at, "%04llx:%02x:%02x.%x", (unsigned long long)domain,
           (unsigned)(location >> 8) & 0xff, (unsigned)(location >> 3) & 0x1f,
           (unsigned)location & 7);
  return assay_mem_file_pci(at, normal) && strcmp(normal, pci) == 0;
}

int64_t assay_mem_amd_kfd_id(const char *sys_folder, const char *pci) {
  char folder[PATH_BYTES / 2], path[PATH_BYTES], text[FDINFO_BYTES];
  int64_t id = 0;
  snprintf(folder, sizeof folder, "%s/class/kfd/kfd/topology/nodes", sys_folder);
  DIR *nodes = opendir(folder);
  struct dirent *node;
  while (id == 0 && nodes != NULL && (node = readdir(nodes)) != NULL) {
    if (node->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%.60s/properties", folder, node->d_name);
    if (!assay_mem_file_text(path, text, sizeof text, NULL, NULL) || !node_is_at(text, pci))
      continue;
    assay_mem_reading reading;
    snprintf(path, sizeof path, "%s/%.60s/gpu_id", folder, node->d_name);
    assay_mem_file_count(path, &reading);
    if (reading.bytes > 0) id = reading.bytes;
  }
  if (nodes != NULL) closedir(nodes);
  return id;
}

/* Processes of the compute driver; one without memory on this card is not one of its users. False
 * with the reason when there is no list. */
static bool add_kfd_users(const assay_mem_amd_card *card, assay_mem_activity *out) {
  char folder[PATH_BYTES / 2], path[PATH_BYTES], name[32];
  snprintf(folder, sizeof folder, "%s/class/kfd/kfd/proc", card->sys_folder);
  DIR *list = opendir(folder);
  if (list == NULL) {
    snprintf(out->processes_reason, sizeof out->processes_reason, "no list of '%.100s': %s", folder,
             strerror(errno));
    return false;
  }
  struct dirent *process;
  while ((process = readdir(list)) != NULL) {
    int64_t pid = 0;
    assay_mem_reading held = {.bytes = ASSAY_MEM_NONE};
    if (!assay_mem_file_pid(process->d_name, &pid)) continue;
    snprintf(path, sizeof path, "%s/%s/vram_%lld", folder, process->d_name,
             (long long)card->kfd_id);
    if (card->kfd_id != 0) assay_mem_file_count(path, &held);
    if (held.bytes == 0) continue;
    assay_mem_file_comm(card->proc_folder, pid, name, sizeof name);
    assay_mem_add_process(out, pid, held.bytes, name);
  }
  closedir(list);
  return true;
}

/* --- fdinfo --------------------------------------------------------------------------------------
 */

/* What one process has on the card. */
typedef struct holding {
  long long clients[CLIENTS_MAX];
  size_t n_clients;
  int64_t bytes;
  bool is_unreadable; /* a size that is no size, or more clients than are counted */
  int errnum;         /* of the folder that could not be opened; 0 when it was */
} holding;

static bool is_known(const holding *h, long long client) {
  for (size_t i = 0; i < h->n_clients; i++)
    if (h->clients[i] == client) return true;
  return false;
}

/* Bytes of a region by the newer name, or by the older; 0 when the driver does not mention it. */
static int64_t region_bytes(const char *text, const char *region, bool *out_told) {
  static const char *const kinds[] = {"resident", "memory"};
  char key[64], value[64];
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    snprintf(key, sizeof key, "drm-%s-%s:", kinds[i], region);
    if (!assay_mem_file_value(text, key, value, sizeof value)) continue;
    *out_told = true;
    return assay_mem_file_size(value);
  }
  return 0;
}

static void add_client(const assay_mem_amd_card *card, const char *text, holding *h) {
  char value[64], pci[16];
  char *end = NULL;
  if (!assay_mem_file_value(text, "drm-pdev:", value, sizeof value)) return;
  if (!assay_mem_file_pci(value, pci) || strcmp(pci, card->pci) != 0) return;
  if (!assay_mem_file_value(text, "drm-client-id:", value, sizeof value)) return;
  long long client = strtoll(value, &end, 10);
  if (end == value || *end != '\0' || h->n_clients == CLIENTS_MAX) {
    h->is_unreadable = true;
    return;
  }
  if (is_known(h, client)) return;
  h->clients[h->n_clients++] = client;
  bool told = false;
  int64_t vram = region_bytes(text, "vram", &told);
  int64_t gtt = card->is_integrated ? region_bytes(text, "gtt", &told) : 0;
  if (!told || vram == ASSAY_MEM_NONE || gtt == ASSAY_MEM_NONE ||
      __builtin_add_overflow(h->bytes, vram, &h->bytes) ||
      __builtin_add_overflow(h->bytes, gtt, &h->bytes))
    h->is_unreadable = true;
}

static holding look_at(const assay_mem_amd_card *card, int64_t pid) {
  char folder[PATH_BYTES / 2], path[PATH_BYTES], text[FDINFO_BYTES];
  holding h = {0};
  snprintf(folder, sizeof folder, "%s/%lld/fdinfo", card->proc_folder, (long long)pid);
  DIR *files = opendir(folder);
  if (files == NULL) {
    h.errnum = errno;
    return h;
  }
  struct dirent *file;
  while ((file = readdir(files)) != NULL) {
    int64_t fd = 0;
    if (!assay_mem_file_pid(file->d_name, &fd)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
    if (assay_mem_file_text(path, text, sizeof text, NULL, NULL)) add_client(card, text, &h);
  }
  closedir(files);
  return h;
}

void assay_mem_amd_of_process(const assay_mem_amd_card *card, int64_t pid, assay_mem_reading *out) {
  holding h = look_at(card, pid);
  if (h.errnum != 0)
    assay_mem_say_none(out, "fdinfo of process %lld: %s", (long long)pid, strerror(h.errnum));
  else if (h.n_clients == 0 && !h.is_unreadable)
    assay_mem_say_none(out, "process %lld is no client of %s", (long long)pid, card->pci);
  else if (h.is_unreadable)
    assay_mem_say_none(out, "fdinfo of process %lld has no sizes that can be read for %s",
                       (long long)pid, card->pci);
  else
    assay_mem_say(out, h.bytes);
}

/* *out_n_closed: processes that may not be looked at. False when /proc itself may not. */
static bool add_drm_users(const assay_mem_amd_card *card, assay_mem_activity *out,
                          size_t *out_n_closed) {
  char name[32];
  DIR *processes = opendir(card->proc_folder);
  if (processes == NULL) return false;
  struct dirent *process;
  while ((process = readdir(processes)) != NULL) {
    int64_t pid = 0;
    if (!assay_mem_file_pid(process->d_name, &pid)) continue;
    holding h = look_at(card, pid);
    *out_n_closed += h.errnum == EACCES || h.errnum == EPERM;
    if (h.n_clients == 0) continue;
    assay_mem_file_comm(card->proc_folder, pid, name, sizeof name);
    assay_mem_add_process(out, pid, h.is_unreadable ? ASSAY_MEM_NONE : h.bytes, name);
  }
  closedir(processes);
  return true;
}

void assay_mem_amd_users(const assay_mem_amd_card *card, assay_mem_activity *out) {
  size_t n_closed = 0;
  out->n_processes = 0;
  bool has_kfd = add_kfd_users(card, out);
  bool has_drm = add_drm_users(card, out, &n_closed);
  if (!has_kfd && !has_drm) {
    out->n_processes = ASSAY_MEM_NONE;
    return;
  }
  if (!assay_mem_file_host_pids(card->proc_folder))
    snprintf(out->processes_reason, sizeof out->processes_reason,
             "not in the machine's pid namespace: others may not be seen");
  else if (!has_drm)
    snprintf(out->processes_reason, sizeof out->processes_reason, "no list of '%.100s'",
             card->proc_folder);
  else if (n_closed > 0)
    snprintf(out->processes_reason, sizeof out->processes_reason,
             "%zu processes of other users may not be looked at", n_closed);
  else if (has_kfd)
    out->is_whole = true;
}
