/* Kernel lists as JSON: what `rocprofv3 --output-format json` leaves (NAME_results.json), of all
 * versions. Of each process of `rocprofiler-sdk-tool` it takes
 *
 *   metadata        pid, init_time and fini_time (ns)
 *   agents          handles of those that are GPUs
 *   strings         what the numbers of `kind` stand for
 *   kernel_symbols  the name of each kernel_id
 *   summary         how many dispatches there were, where the profiler counted them
 *   buffer_records  kernel_dispatch: kernel, agent, running number and times of each
 *
 * and doubts what contradicts itself: a dispatch of no kernel or agent of the file, outside the
 * process's time, of another kind, or another number of them than was counted.
 * Source: generateJSON.cpp and serialization.hpp of rocprofiler-sdk 6.3 to 7. */
#ifndef ASSAY_FUSION_GPU_JSON_H
#define ASSAY_FUSION_GPU_JSON_H

#include "fusion/fusion_parts.h"

/* The text begins as such a file does. */
bool assay_gpu_json_is(const void *bytes, size_t size_bytes);

void assay_gpu_json_take(assay_fusion_work *work, const assay_fusion_file *file);

#endif
