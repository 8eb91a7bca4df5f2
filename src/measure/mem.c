/* The table of memory sources, and all of them opened at once. */
#include "measure/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

const assay_mem_source *const assay_mem_sources[] = {&assay_mem_proc, &assay_mem_nvml,
                                                     &assay_mem_amd, NULL};
#define N_SOURCES (sizeof assay_mem_sources / sizeof assay_mem_sources[0] - 1)

/* One target, and where it is read. */
typedef struct entry {
  const assay_mem_source *source;
  void *state;
  size_t index; /* in its source */
  assay_mem_target target;
} entry;

struct assay_mem {
  void *states[N_SOURCES]; /* NULL: absent */
  assay_mem_absence absences[N_SOURCES];
  size_t n_absences;
  entry *entries;
  size_t n_entries;
};

static assay_status add_entries(assay_mem *mem, const assay_mem_source *source, void *state,
                                size_t n, assay_error *err) {
  void *block = mem->entries;
  size_t size = sizeof *mem->entries;
  ASSAY_TRY(assay_resize(&block, mem->n_entries * size, (mem->n_entries + n) * size, err));
  mem->entries = block;
  for (size_t i = 0; i < n; i++) {
    entry *e = &mem->entries[mem->n_entries++];
    *e = (entry){.source = source, .state = state, .index = i};
    e->target.total_bytes = ASSAY_MEM_NONE;
    source->describe(state, i, &e->target);
    e->target.source = source->name;
  }
  return ASSAY_OK;
}

static assay_status open_source(assay_mem *mem, size_t k, const assay_mem_config *config,
                                assay_error *err) {
  const assay_mem_source *source = assay_mem_sources[k];
  assay_error why = {0};
  size_t n = 0;
  assay_status st = source->open(config, &mem->states[k], &n, &why);
  if (st == ASSAY_E_MEMORY) return assay_fail(err, st, "%s", why.text);
  if (st == ASSAY_OK) return add_entries(mem, source, mem->states[k], n, err);
  assay_mem_absence *absence = &mem->absences[mem->n_absences++];
  absence->source = source->name;
  snprintf(absence->reason, sizeof absence->reason, "%.*s", ASSAY_MEM_REASON_BYTES - 1, why.text);
  return ASSAY_OK;
}

assay_status assay_mem_open(const assay_mem_config *config, assay_mem **out, assay_error *err) {
  static const assay_mem_config system_own = {0};
  assay_mem *mem = assay_alloc(sizeof *mem);
  if (mem == NULL) return assay_fail_memory(err, sizeof *mem);
  for (size_t k = 0; k < N_SOURCES; k++) {
    assay_status st = open_source(mem, k, config != NULL ? config : &system_own, err);
    if (st) {
      assay_mem_close(mem);
      return st;
    }
  }
  *out = mem;
  return ASSAY_OK;
}

void assay_mem_close(assay_mem *mem) {
  if (mem == NULL) return;
  for (size_t k = 0; k < N_SOURCES; k++) assay_mem_sources[k]->close(mem->states[k]);
  assay_free(mem->entries);
  assay_free(mem);
}

size_t assay_mem_n_targets(const assay_mem *mem) {
  return mem->n_entries;
}

const assay_mem_target *assay_mem_target_at(const assay_mem *mem, size_t i) {
  return &mem->entries[i].target;
}

size_t assay_mem_n_absences(const assay_mem *mem) {
  return mem->n_absences;
}

const assay_mem_absence *assay_mem_absence_at(const assay_mem *mem, size_t i) {
  return &mem->absences[i];
}

void assay_mem_attach(assay_mem *mem, int64_t pid) {
  for (size_t k = 0; k < N_SOURCES; k++) {
    const assay_mem_source *source = assay_mem_sources[k];
    if (mem->states[k] != NULL && source->attach != NULL) source->attach(mem->states[k], pid);
  }
}

void assay_mem_used(assay_mem *mem, size_t i, assay_mem_reading *out) {
  const entry *e = &mem->entries[i];
  e->source->used(e->state, e->index, out);
}

void assay_mem_high_water(assay_mem *mem, size_t i, assay_mem_reading *out) {
  const entry *e = &mem->entries[i];
  if (e->source->high_water != NULL)
    e->source->high_water(e->state, e->index, out);
  else
    assay_mem_say_none(out, "the system keeps no high-water mark of it");
}

bool assay_mem_tells_processes(const assay_mem *mem, size_t i) {
  return mem->entries[i].source->of_process != NULL;
}

void assay_mem_of_process(assay_mem *mem, size_t i, int64_t pid, assay_mem_reading *out) {
  const entry *e = &mem->entries[i];
  if (e->source->of_process != NULL)
    e->source->of_process(e->state, e->index, pid, out);
  else
    assay_mem_say_none(out, "it is not told by process");
}

void assay_mem_activity_of(assay_mem *mem, size_t i, assay_mem_activity *out) {
  static const char none[] = "this source does not tell";
  const entry *e = &mem->entries[i];
  *out = (assay_mem_activity){.busy_percent = ASSAY_MEM_NONE, .n_processes = ASSAY_MEM_NONE};
  if (e->source->activity != NULL) {
    e->source->activity(e->state, e->index, out);
    return;
  }
  e->source->used(e->state, e->index, &out->used);
  memcpy(out->busy_reason, none, sizeof none);
  memcpy(out->processes_reason, none, sizeof none);
}

const char *assay_mem_idle_word(const assay_mem_activity *activity) {
  if (activity->n_processes > 0 || activity->busy_percent > 0) return "no";
  bool nobody = activity->n_processes == 0 && activity->is_whole;
  return nobody && activity->busy_percent == 0 ? "yes" : "unknown";
}

void assay_mem_say(assay_mem_reading *out, int64_t bytes) {
  out->bytes = bytes;
  out->reason[0] = '\0';
}

void assay_mem_say_none(assay_mem_reading *out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(out->reason, sizeof out->reason, format, args);
  va_end(args);
  out->bytes = ASSAY_MEM_NONE;
}

void assay_mem_add_process(assay_mem_activity *activity, int64_t pid, int64_t used_bytes,
                           const char *name) {
  assay_mem_process *found = NULL;
  for (size_t i = 0; i < activity->n_listed && found == NULL; i++)
    if (activity->processes[i].pid == pid) found = &activity->processes[i];
  if (found != NULL) {
    if (found->used_bytes == ASSAY_MEM_NONE) found->used_bytes = used_bytes;
    return;
  }
  activity->n_processes++;
  if (activity->n_listed == ASSAY_MEM_PROCESSES_MAX) return;
  found = &activity->processes[activity->n_listed++];
  found->pid = pid;
  found->used_bytes = used_bytes;
  snprintf(found->name, sizeof found->name, "%s", name);
}
