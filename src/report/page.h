/* report.html: one self-contained page that works from a file, without network and without
 * JavaScript (its script only adds sorting, filters and exact values). The same view gives the same
 * bytes. */
#ifndef ASSAY_REPORT_PAGE_H
#define ASSAY_REPORT_PAGE_H

#include "report/campaign_view.h"
#include "report/plot.h"
#include "report/sink.h"

/* The whole page. Links lead to "../<file of the package>" and to files beside the page. */
void assay_page_put(const assay_view *view, const assay_plots *plots, assay_sink *sink);

#endif
