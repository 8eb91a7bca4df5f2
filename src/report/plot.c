#include "report/plot.h"

#include <stdio.h>

#include "base/alloc.h"

assay_status assay_plots_draw(const assay_view *view, const char *program, const char *out_folder,
                              assay_plots *out, assay_error *err) {
  (void)view;
  (void)program;
  (void)out_folder;
  (void)out;
  (void)err;
  return ASSAY_OK;
}
void assay_plots_reset(assay_plots *plots) {
  *plots = (assay_plots){0};
}
