/* Limits that control groups set for this process, of version 1 and 2 and of systems that mix them.
 * Source: cgroups(7); the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. */
#ifndef ASSAY_CAMPAIGN_CGROUP_H
#define ASSAY_CAMPAIGN_CGROUP_H

#include "base/status.h"

typedef enum assay_cgroup_limit {
  ASSAY_CGROUP_CPU,    /* "200000 100000": quota and period in us; "max 100000" without a quota */
  ASSAY_CGROUP_MEMORY, /* bytes, or "max" */
  ASSAY_CGROUP_CPUS,   /* a list such as "0-3,8" */
} assay_cgroup_limit;

/* The tightest limit that the process's own group and those above it set, in the words of version
 * 2's cpu.max, memory.max and cpuset.cpus.effective, whichever version holds the controller;
 * "unavailable" where none can be read. In a container that sees only its own part of the tree,
 * that of its root. Folders are looked for below root ("" for the system itself). Released with
 * assay_free; NULL when memory is out. */
char *assay_cgroup_read(const char *root, assay_cgroup_limit limit) ASSAY_NODISCARD;

#endif
