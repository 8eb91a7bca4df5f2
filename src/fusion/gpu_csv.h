/* Kernel lists as CSV: `nsys stats` (cuda_gpu_kern_sum, gpukernsum, cuda_gpu_trace), rocprofv3
 * (kernel_trace, kernel_stats, rocpd2csv), of all versions: columns are found by their names, and
 * are separated by commas, tabs or semicolons. Text may stand before and behind the table; rows
 * behind an empty line are a doubt. Source: the documents of Nsight Systems 2021 to 2025;
 * generateCSV.cpp of rocprofiler-sdk 6.2 to 7. */
#ifndef ASSAY_FUSION_GPU_CSV_H
#define ASSAY_FUSION_GPU_CSV_H

#include "fusion/fusion_parts.h"

#define ASSAY_CSV_FIELDS_MAX 64

/* Splits a line into its fields, without their quotes ("" within stays doubled); quoted fields do
 * not go over lines here. false: a quote without its end, or too many fields. */
bool assay_csv_split(assay_text_span line, char separator, assay_text_span *out, size_t *out_n);

/* NSYS or ROCPROF when a line is the header of a list of kernels; AUTO when none is. */
assay_fusion_kind assay_gpu_csv_kind(const void *bytes, size_t size_bytes);

void assay_gpu_csv_take(assay_fusion_work *work, const assay_fusion_file *file);

#endif
