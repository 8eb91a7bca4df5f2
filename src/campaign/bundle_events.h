/* Cases from datasets: which events, and their rows as a model's inputs. Private to the room. */
#ifndef ASSAY_CAMPAIGN_BUNDLE_EVENTS_H
#define ASSAY_CAMPAIGN_BUNDLE_EVENTS_H

#include "base/json.h"
#include "campaign/bundle_export.h"
#include "dataset/tfds.h"

typedef struct bundle_dataset {
  assay_tfds *tfds;
  size_t split;
  char label[96];  /* for names of cases: "cms_pf_ttbar-1" */
  char title[160]; /* for people: "cms_pf_ttbar/1:3.0.0" */
} bundle_dataset;

typedef struct bundle_datasets {
  bundle_dataset *items;
  size_t n;
} bundle_datasets;

/* Opens the spec's datasets and checks that the asked events are there. Errors: ARGUMENT, and those
 * of dataset/tfds.h, with the dataset's name. */
assay_status bundle_datasets_open(const assay_export_spec *spec, bundle_datasets *out,
                                  assay_error *err) ASSAY_NODISCARD;
void bundle_datasets_close(bundle_datasets *datasets);

/* One event of one dataset. */
typedef struct bundle_event {
  size_t dataset;
  int64_t index; /* in the split */
} bundle_event;

/* What was not done to the rows, over all events. */
typedef struct bundle_event_counts {
  int64_t n_removed, n_without_pt, n_added_columns;
} bundle_event_counts;

/* Inputs of a case of n events: x [n,N,F], zeroes behind each event's rows; mask [n,N]; where the
 * rows came from, as a line for people in source and as the manifest's object in *out_origin.
 * Errors: ARGUMENT (pad_to is too small), FORMAT, LIMIT, those of dataset/tfds.h. */
assay_status bundle_events_fill(const assay_export_spec *spec, const bundle_datasets *datasets,
                                const bundle_event *events, size_t n, assay_tensor *out_x,
                                assay_tensor *out_mask, char *source, size_t source_bytes,
                                assay_json **out_origin, bundle_event_counts *counts,
                                assay_error *err) ASSAY_NODISCARD;

#endif
