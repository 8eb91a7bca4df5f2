/* Libraries that stay where they are until the process ends. */
#ifndef ASSAY_RUNTIME_KEEP_MAPPED_H
#define ASSAY_RUNTIME_KEEP_MAPPED_H

/* Pins every shared library that is mapped now: whoever closes its last handle unmaps it no more.
 *
 * ONNX Runtime closes the libraries of its providers with its environment, while threads that these
 * started may still be in their code: OpenMP's, which oneDNN computes with, wait there for more
 * work, and the process dies of an unmapped address after all its work is done (seen with Debian's
 * ONNX Runtime 1.23.2). A library that cannot be pinned is left as it is. */
void assay_keep_mapped(void);

#endif
