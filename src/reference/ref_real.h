/* The precision that a file is compiled in: `real` and the suffix of its shared names.
 *
 * Files that compute in `real` are compiled twice, with REF_BITS 32 and 64 (see meson.build), so
 * the equations stand in the source once. REF(name) is name_f32 or name_f64. */
#ifndef ASSAY_REFERENCE_REF_REAL_H
#define ASSAY_REFERENCE_REF_REAL_H

#ifndef REF_BITS
#define REF_BITS 32 /* for a reader's tools, and so that every header compiles alone */
#endif

#if REF_BITS == 32
typedef float real;
#define REF(name) name##_f32
#else
typedef double real;
#define REF(name) name##_f64
#endif

#endif
