/* A shared library that is not ONNX Runtime. */
int assay_test_answer(void);
int assay_test_answer(void) {
  return 42;
}
