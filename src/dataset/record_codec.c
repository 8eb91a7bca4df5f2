/* brotli, zstd and snappy. The only file that sees these libraries. */
#include "dataset/record_codec.h"

#include <assert.h>

#include <brotli/decode.h>
#include <snappy-c.h>
#include <zstd.h>

#include "base/alloc.h"

const char *assay_codec_name(uint8_t codec) {
  switch (codec) {
  case ASSAY_CODEC_NONE:
    return "uncompressed";
  case ASSAY_CODEC_BROTLI:
    return "brotli";
  case ASSAY_CODEC_SNAPPY:
    return "snappy";
  case ASSAY_CODEC_ZSTD:
    return "zstd";
  default:
    return NULL;
  }
}

void assay_codec_reset(assay_codec_state *state) {
  ZSTD_freeDCtx(state->zstd);
  *state = (assay_codec_state){0};
}

static assay_status fail_longer(const char *codec, size_t out_bytes, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "the %s data unpack to more than the declared %zu bytes",
                    codec, out_bytes);
}

static assay_status fail_shorter(const char *codec, size_t out_bytes, size_t found,
                                 assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "the %s data unpack to %zu bytes, %zu are declared", codec,
                    found, out_bytes);
}

static assay_status fail_behind(const char *codec, size_t n_bytes, assay_error *err) {
  return assay_fail(err, ASSAY_E_FORMAT, "%zu bytes stand behind the end of the %s data", n_bytes,
                    codec);
}

/* ---- brotli -------------------------------------------------------------------------------------
 */

/* The decoder's own memory: refused beyond a budget, for a stream may ask for a window of 1 GiB
 * that it then does not fill. */
typedef struct budget {
  size_t left_bytes;
  bool refused; /* by the budget, or for want of memory */
} budget;

static void *budget_alloc(void *arg, size_t size_bytes) {
  budget *b = arg;
  void *block = size_bytes <= b->left_bytes ? assay_alloc_plain(size_bytes) : NULL;
  if (block == NULL)
    b->refused = true;
  else
    b->left_bytes -= size_bytes;
  return block;
}

static void budget_free(void *arg, void *block) {
  (void)arg;
  assay_free(block);
}

/* 32 MiB: the ring buffer of one meta-block (16 MiB at most) rounded up to a power of two, with the
 * tables of the decoder. Buffers that are replaced by larger ones are counted too: their sizes
 * double, so the sum is below twice the last. */
#define BROTLI_BASE_BYTES ((size_t)32 << 20)

static assay_status unpack_brotli(assay_span packed, uint8_t *out, size_t out_bytes,
                                  assay_error *err) {
  budget memory = {.left_bytes = BROTLI_BASE_BYTES};
  size_t extra;
  if (assay_size_mul(out_bytes, 4, &extra) && extra < SIZE_MAX - BROTLI_BASE_BYTES)
    memory.left_bytes += extra;
  BrotliDecoderState *decoder = BrotliDecoderCreateInstance(budget_alloc, budget_free, &memory);
  if (decoder == NULL) return assay_fail_memory(err, 0);
  BrotliDecoderSetParameter(decoder, BROTLI_DECODER_PARAM_LARGE_WINDOW, 1);
  size_t in_left = packed.size_bytes, out_left = out_bytes;
  const uint8_t *in = packed.data;
  BrotliDecoderResult result =
      BrotliDecoderDecompressStream(decoder, &in_left, &in, &out_left, &out, /*total_out=*/NULL);
  assay_status st = ASSAY_OK;
  if (memory.refused)
    st = assay_fail(err, ASSAY_E_MEMORY, "no memory for a brotli stream of %zu bytes", out_bytes);
  else if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)
    st = assay_fail(err, ASSAY_E_FORMAT, "the brotli data are cut");
  else if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT)
    st = fail_longer("brotli", out_bytes, err);
  else if (result != BROTLI_DECODER_RESULT_SUCCESS)
    st = assay_fail(err, ASSAY_E_FORMAT, "damaged brotli data: %s",
                    BrotliDecoderErrorString(BrotliDecoderGetErrorCode(decoder)));
  else if (out_left > 0)
    st = fail_shorter("brotli", out_bytes, out_bytes - out_left, err);
  else if (in_left > 0)
    st = fail_behind("brotli", in_left, err);
  BrotliDecoderDestroyInstance(decoder);
  return st;
}

/* ---- zstd ---------------------------------------------------------------------------------------
 */

/* One-shot: the window is then the output itself, whatever size the frame asks for. */
static assay_status unpack_zstd(assay_codec_state *state, assay_span packed, uint8_t *out,
                                size_t out_bytes, assay_error *err) {
  size_t frame_bytes = ZSTD_findFrameCompressedSize(packed.data, packed.size_bytes);
  if (ZSTD_isError(frame_bytes))
    return assay_fail(err, ASSAY_E_FORMAT, "damaged zstd data: %s", ZSTD_getErrorName(frame_bytes));
  if (frame_bytes != packed.size_bytes)
    return fail_behind("zstd", packed.size_bytes - frame_bytes, err);
  if (state->zstd == NULL) state->zstd = ZSTD_createDCtx();
  if (state->zstd == NULL) return assay_fail_memory(err, 0);
  size_t found = ZSTD_decompressDCtx(state->zstd, out, out_bytes, packed.data, packed.size_bytes);
  if (ZSTD_isError(found))
    return assay_fail(err, ASSAY_E_FORMAT,
                      "damaged zstd data, or more than the declared %zu bytes: %s", out_bytes,
                      ZSTD_getErrorName(found));
  return found == out_bytes ? ASSAY_OK : fail_shorter("zstd", out_bytes, found, err);
}

/* ---- snappy -------------------------------------------------------------------------------------
 */

static assay_status unpack_snappy(assay_span packed, uint8_t *out, size_t out_bytes,
                                  assay_error *err) {
  const char *in = (const char *)packed.data;
  size_t found;
  if (snappy_uncompressed_length(in, packed.size_bytes, &found) != SNAPPY_OK)
    return assay_fail(err, ASSAY_E_FORMAT, "damaged snappy data: no length in front");
  if (found > out_bytes) return fail_longer("snappy", out_bytes, err);
  if (found < out_bytes) return fail_shorter("snappy", out_bytes, found, err);
  if (snappy_uncompress(in, packed.size_bytes, (char *)out, &found) != SNAPPY_OK)
    return assay_fail(err, ASSAY_E_FORMAT, "damaged snappy data");
  return ASSAY_OK;
}

assay_status assay_codec_unpack(assay_codec_state *state, assay_codec codec, assay_span packed,
                                uint8_t *out, size_t out_bytes, assay_error *err) {
  assert(out != NULL && codec != ASSAY_CODEC_NONE);
  if (packed.size_bytes == 0)
    return assay_fail(err, ASSAY_E_FORMAT, "no %s data where there must be some",
                      assay_codec_name((uint8_t)codec));
  switch (codec) {
  case ASSAY_CODEC_BROTLI:
    return unpack_brotli(packed, out, out_bytes, err);
  case ASSAY_CODEC_SNAPPY:
    return unpack_snappy(packed, out, out_bytes, err);
  default:
    return unpack_zstd(state, packed, out, out_bytes, err);
  }
}
