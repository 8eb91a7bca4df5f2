/* AMD cards, through the files of the amdgpu kernel driver in /sys/class/drm. Nothing is opened in
 * /dev: that would make assay one of the device's users.
 *
 * card<N> numbers follow neither the boot nor the runtime's ordinals; the PCI address does. Device
 * memory is mem_info_vram_used, of all processes; where the GPU is part of the processor ("APU"),
 * whose VRAM is a small part of what it may take, mem_info_gtt_used is added. gpu_metrics begins
 * with a size and a format revision, which is 2 or 3 for such and 1 for cards.
 * Source: Linux, Documentation/gpu/amdgpu/driver-misc.rst; kgd_pp_interface.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/mem_amd_users.h"
#include "measure/mem_file.h"

#define PATH_BYTES 4096

typedef enum build {
  BUILD_UNKNOWN,
  BUILD_CARD,
  BUILD_INTEGRATED,
} build;

typedef struct card {
  char *device; /* "/sys/class/drm/card0/device" */
  char *vram_used, *gtt_used, *busy;
  char pci[16];
  char name[96], uuid[32], driver[32];
  build build;
  int64_t total_bytes;
  int64_t kfd_id;
  char node[32]; /* "renderD128", or "" */
  bool may_open; /* this user may open the render node */
} card;

typedef struct state {
  char *proc_folder, *sys_folder, *dev_folder;
  card *cards;
  size_t n_cards;
} state;

static void close_state(void *opened) {
  state *s = opened;
  if (s == NULL) return;
  for (size_t i = 0; i < s->n_cards; i++) {
    assay_free(s->cards[i].device);
    assay_free(s->cards[i].vram_used);
    assay_free(s->cards[i].gtt_used);
    assay_free(s->cards[i].busy);
  }
  assay_free(s->cards);
  assay_free(s->proc_folder);
  assay_free(s->sys_folder);
  assay_free(s->dev_folder);
  assay_free(s);
}

/* --- finding -------------------------------------------------------------------------------------
 */

/* "card" and digits: connectors are "card0-DP-1". */
static bool is_card(const char *name) {
  int64_t number = 0;
  return assay_text_has_prefix(name, "card") && assay_mem_file_pid(name + 4, &number);
}

/* First line of a file beside the card's, or "". */
static void read_line(const card *c, const char *name, char *out, size_t out_bytes) {
  char path[PATH_BYTES], text[256];
  snprintf(path, sizeof path, "%s/%s", c->device, name);
  out[0] = '\0';
  if (!assay_mem_file_text(path, text, sizeof text, NULL, NULL)) return;
  text[strcspn(text, "\n")] = '\0';
  assay_text_printable(text, out, out_bytes);
}

static void read_count(const card *c, const char *name, assay_mem_reading *out) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", c->device, name);
  assay_mem_file_count(path, out);
}

/* The folder that `device` leads to is named for the address; uevent says it too. */
static bool find_address(card *c) {
  char text[1024], value[32], path[PATH_BYTES];
  char *real = realpath(c->device, NULL);
  const char *slash = real != NULL ? strrchr(real, '/') : NULL;
  bool found = slash != NULL && assay_mem_file_pci(slash + 1, c->pci);
  free(real); /* the C library's */
  if (found) return true;
  snprintf(path, sizeof path, "%s/uevent", c->device);
  return assay_mem_file_text(path, text, sizeof text, NULL, NULL) &&
         assay_mem_file_value(text, "PCI_SLOT_NAME=", value, sizeof value) &&
         assay_mem_file_pci(value, c->pci);
}

static bool is_amdgpu(card *c) {
  char path[PATH_BYTES], text[1024];
  snprintf(path, sizeof path, "%s/uevent", c->device);
  return assay_mem_file_text(path, text, sizeof text, NULL, NULL) &&
         assay_mem_file_value(text, "DRIVER=", c->driver, sizeof c->driver) &&
         strcmp(c->driver, "amdgpu") == 0;
}

static build find_build(const card *c) {
  char path[PATH_BYTES], head[5];
  size_t n = 0;
  snprintf(path, sizeof path, "%s/gpu_metrics", c->device);
  if (!assay_mem_file_text(path, head, sizeof head, &n, NULL) || n < 4) return BUILD_UNKNOWN;
  return head[2] == 1                   ? BUILD_CARD
         : head[2] == 2 || head[2] == 3 ? BUILD_INTEGRATED
                                        : BUILD_UNKNOWN;
}

/* The render node is what a container passes on, while /sys shows every card. */
static void find_node(const state *s, card *c) {
  char path[PATH_BYTES];
  int64_t number = 0;
  snprintf(path, sizeof path, "%s/drm", c->device);
  DIR *nodes = opendir(path);
  struct dirent *node;
  while (nodes != NULL && (node = readdir(nodes)) != NULL) {
    if (!assay_text_has_prefix(node->d_name, "renderD")) continue;
    if (assay_mem_file_pid(node->d_name + strlen("renderD"), &number))
      snprintf(c->node, sizeof c->node, "%.31s", node->d_name);
  }
  if (nodes != NULL) closedir(nodes);
  snprintf(path, sizeof path, "%s/dri/%s", s->dev_folder, c->node);
  c->may_open = c->node[0] != '\0' && access(path, R_OK | W_OK) == 0;
}

static void find_identity(card *c) {
  char vendor[16], device[16], unique[32];
  read_line(c, "product_name", c->name, sizeof c->name);
  read_line(c, "unique_id", unique, sizeof unique);
  if (c->name[0] == '\0') { /* most consumer cards have none */
    read_line(c, "vendor", vendor, sizeof vendor);
    read_line(c, "device", device, sizeof device);
    snprintf(c->name, sizeof c->name, "%s:%s", vendor, device);
  }
  snprintf(c->uuid, sizeof c->uuid, "%s", unique);
}

static assay_status make_paths(card *c, assay_error *err) {
  c->vram_used = assay_path_join(c->device, "mem_info_vram_used");
  c->gtt_used = assay_path_join(c->device, "mem_info_gtt_used");
  c->busy = assay_path_join(c->device, "gpu_busy_percent");
  if (c->vram_used == NULL || c->gtt_used == NULL || c->busy == NULL)
    return assay_fail_memory(err, strlen(c->device) + 32);
  return ASSAY_OK;
}

/* Keeps the card if it is of amdgpu, has an address, and tells its memory: further nodes of a
 * partitioned card do not, and the first one counts for them. */
static assay_status take_card(state *s, card *c, bool *out_kept, assay_error *err) {
  assay_mem_reading total, gtt;
  if (!is_amdgpu(c) || !find_address(c)) return ASSAY_OK;
  read_count(c, "mem_info_vram_total", &total);
  if (total.bytes == ASSAY_MEM_NONE) return ASSAY_OK;
  c->total_bytes = total.bytes;
  c->build = find_build(c);
  if (c->build == BUILD_INTEGRATED) {
    read_count(c, "mem_info_gtt_total", &gtt);
    if (gtt.bytes == ASSAY_MEM_NONE ||
        __builtin_add_overflow(total.bytes, gtt.bytes, &c->total_bytes))
      c->total_bytes = ASSAY_MEM_NONE;
  }
  find_identity(c);
  find_node(s, c);
  c->kfd_id = assay_mem_amd_kfd_id(s->sys_folder, c->pci);
  *out_kept = true;
  return make_paths(c, err);
}

static assay_status add_card(state *s, const char *folder, const char *name, assay_error *err) {
  void *block = s->cards;
  size_t size = sizeof *s->cards;
  ASSAY_TRY(assay_resize(&block, s->n_cards * size, (s->n_cards + 1) * size, err));
  s->cards = block;
  card *c = &s->cards[s->n_cards++]; /* zeroed; found by close from here on */
  c->device = assay_format("%s/%s/device", folder, name);
  if (c->device == NULL) return assay_fail_memory(err, strlen(folder) + strlen(name) + 9);
  bool kept = false;
  ASSAY_TRY(take_card(s, c, &kept, err));
  if (kept) return ASSAY_OK;
  assay_free(c->device);
  *c = (card){0};
  s->n_cards--;
  return ASSAY_OK;
}

static int by_address(const void *a, const void *b) {
  const card *left = a, *right = b;
  return strcmp(left->pci, right->pci);
}

static assay_status find_cards(state *s, const char *folder, assay_error *err) {
  DIR *names = opendir(folder);
  if (names == NULL)
    return assay_fail(err, ASSAY_E_MISSING, "no graphics devices: '%s': %s", folder,
                      strerror(errno));
  assay_status st = ASSAY_OK;
  struct dirent *name;
  while (st == ASSAY_OK && (name = readdir(names)) != NULL)
    if (is_card(name->d_name)) st = add_card(s, folder, name->d_name, err);
  closedir(names);
  if (st) return st;
  if (s->n_cards == 0)
    return assay_fail(err, ASSAY_E_MISSING, "no card of the amdgpu driver tells its memory in '%s'",
                      folder);
  qsort(s->cards, s->n_cards, sizeof *s->cards, by_address);
  return ASSAY_OK;
}

static assay_status fill_state(const assay_mem_config *config, state *s, assay_error *err) {
  const char *proc = config->proc_folder, *sys = config->sys_folder, *dev = config->dev_folder;
  s->proc_folder = assay_strdup(proc != NULL ? proc : "/proc");
  s->sys_folder = assay_strdup(sys != NULL ? sys : "/sys");
  s->dev_folder = assay_strdup(dev != NULL ? dev : "/dev");
  if (s->proc_folder == NULL || s->sys_folder == NULL || s->dev_folder == NULL)
    return assay_fail_memory(err, 64);
  char *folder = assay_path_join(s->sys_folder, "class/drm");
  if (folder == NULL) return assay_fail_memory(err, strlen(s->sys_folder) + 16);
  assay_status st = find_cards(s, folder, err);
  assay_free(folder);
  return st;
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
  *out_n = s->n_cards;
  return ASSAY_OK;
}

/* --- reading -------------------------------------------------------------------------------------
 */

static void describe(void *opened, size_t i, assay_mem_target *out) {
  static const char *const meanings[] = {
      [BUILD_UNKNOWN] = "mem_info_vram_used of all processes; whether the GPU is part of the "
                        "processor and takes GTT too is not told",
      [BUILD_CARD] = "mem_info_vram_used: VRAM of all processes",
      [BUILD_INTEGRATED] = "mem_info_vram_used + mem_info_gtt_used of all processes: a GPU that is "
                           "part of the processor",
  };
  const state *s = opened;
  const card *c = &s->cards[i];
  snprintf(out->key, sizeof out->key, "%s", c->pci);
  snprintf(out->name, sizeof out->name, "%s", c->name);
  snprintf(out->uuid, sizeof out->uuid, "%s", c->uuid);
  snprintf(out->driver, sizeof out->driver, "%s", c->driver);
  snprintf(out->meaning, sizeof out->meaning, "%s%s", meanings[c->build],
           c->may_open ? "" : "; this user may not open it, so nothing here runs on it");
  out->total_bytes = c->total_bytes;
}

static void used(void *opened, size_t i, assay_mem_reading *out) {
  const state *s = opened;
  const card *c = &s->cards[i];
  assay_mem_reading gtt;
  assay_mem_file_count(c->vram_used, out);
  if (c->build != BUILD_INTEGRATED || out->bytes == ASSAY_MEM_NONE) return;
  assay_mem_file_count(c->gtt_used, &gtt);
  if (gtt.bytes == ASSAY_MEM_NONE)
    *out = gtt;
  else if (__builtin_add_overflow(out->bytes, gtt.bytes, &out->bytes))
    assay_mem_say_none(out, "more bytes than can be counted");
}

static assay_mem_amd_card view(const state *s, size_t i) {
  return (assay_mem_amd_card){.proc_folder = s->proc_folder,
                              .sys_folder = s->sys_folder,
                              .pci = s->cards[i].pci,
                              .is_integrated = s->cards[i].build == BUILD_INTEGRATED,
                              .kfd_id = s->cards[i].kfd_id};
}

static void of_process(void *opened, size_t i, int64_t pid, assay_mem_reading *out) {
  assay_mem_amd_card one = view(opened, i);
  assay_mem_amd_of_process(&one, pid, out);
}

static void activity(void *opened, size_t i, assay_mem_activity *out) {
  const state *s = opened;
  assay_mem_amd_card one = view(s, i);
  assay_mem_reading busy;
  used(opened, i, &out->used);
  assay_mem_file_count(s->cards[i].busy, &busy);
  if (busy.bytes > 100) assay_mem_say_none(&busy, "gpu_busy_percent is over 100");
  out->busy_percent = busy.bytes;
  memcpy(out->busy_reason, busy.reason, sizeof out->busy_reason);
  assay_mem_amd_users(&one, out);
}

const assay_mem_source assay_mem_amd = {.name = "amd",
                                        .open = open_state,
                                        .close = close_state,
                                        .describe = describe,
                                        .used = used,
                                        .of_process = of_process,
                                        .activity = activity};
