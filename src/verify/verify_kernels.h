/* Which kernels ran, again. The one judgement that this room does not write a second time: traces
 * of compilers and dispatch lines have one reading (fusion/), which is asked once more, of the
 * files as they are now. */
#ifndef ASSAY_VERIFY_VERIFY_KERNELS_H
#define ASSAY_VERIFY_VERIFY_KERNELS_H

#include "verify/verify_run.h"

/* The "kernels" of a done placement run: there if the runtime requires something, and as its
 * evidence says. Errors: MEMORY. */
assay_status assay_verify_kernels_check(const assay_verify_scene *scene,
                                        const assay_verify_run *run, const assay_verify_place *at,
                                        assay_error *err) ASSAY_NODISCARD;

#endif
