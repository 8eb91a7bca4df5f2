/* A diagnosis for people and for programs. */
#ifndef ASSAY_DIAGNOSE_DIAGNOSE_WRITE_H
#define ASSAY_DIAGNOSE_DIAGNOSE_WRITE_H

#include "diagnose/diagnose.h"

/* diagnosis.json in the folder (schema assay/diagnosis/1), members as in diagnose.h; and
 * growth.svg, the distance of each block from the truth in the model's order, where gnuplot is
 * there. *out_plot says whether it is. Errors: IO, MEMORY. */
assay_status assay_diagnose_write(const assay_diagnosis *diagnosis, const char *folder,
                                  assay_error *err) ASSAY_NODISCARD;

/* The JSON alone. */
void assay_diagnose_put(const assay_diagnosis *diagnosis, assay_json_builder *b);

#endif
