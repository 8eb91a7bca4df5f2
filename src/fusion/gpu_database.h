/* Kernel lists in SQLite: exports of Nsight Systems, and rocprofv3's rocpd. The only place that
 * sees SQLite.
 *
 * A database is a stranger's: it is opened read-only and immutable (no journal, no lock), without
 * extensions, its views may call nothing with effects, lengths are limited, and so is the work: a
 * query that goes on for too many steps is ended.
 * Source: exported_data of the Nsight Systems guide; the rocpd schema of rocprofiler-sdk 7. */
#ifndef ASSAY_FUSION_GPU_DATABASE_H
#define ASSAY_FUSION_GPU_DATABASE_H

#include "fusion/fusion_parts.h"

/* The file's first bytes say so. */
bool assay_gpu_database_is(const void *bytes, size_t size_bytes);

/* Reads and judges the kernels of file->path; file->bytes are the same file's. *out_kind: whose it
 * is. false: it is damaged, or of neither; why is a finding. */
bool assay_gpu_database_take(assay_fusion_work *work, const assay_fusion_file *file,
                             assay_fusion_kind *out_kind);

#endif
