/* The number of elements of an array, which must be one: not a pointer, not a parameter. */
#ifndef ASSAY_BASE_ARRAY_H
#define ASSAY_BASE_ARRAY_H

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
