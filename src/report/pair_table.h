/* What 'assay compare' found, as tables: for each case and head A and B against the references and
 * against each other. The view is of the same package; its rows hold the sides' own comparisons. */
#ifndef ASSAY_REPORT_PAIR_TABLE_H
#define ASSAY_REPORT_PAIR_TABLE_H

#include "package/pairs.h"
#include "report/campaign_view.h"
#include "report/sink.h"

/* For the terminal. */
void assay_pair_table_put_text(const assay_view *view, const assay_pairs *pairs, assay_sink *sink);

#endif
