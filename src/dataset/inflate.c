/* gzip and zlib streams. The only file that sees zlib. */
#include "dataset/inflate.h"

#include <limits.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"

#define WINDOW_BITS      15 /* the most there is */
#define WINDOW_BITS_GZIP (WINDOW_BITS + 16)
#define PIECE_BYTES      ((size_t)1 << 30) /* zlib counts in unsigned int */

struct assay_inflate {
  z_stream z;
  assay_span packed;
  size_t n_taken; /* bytes of packed that zlib has been given */
  assay_inflate_kind kind;
  bool ended; /* behind the last stream */
};

static void *zlib_alloc(void *arg, unsigned n, unsigned size_bytes) {
  size_t total;
  (void)arg;
  return assay_size_mul(n, size_bytes, &total) ? assay_alloc_plain(total) : NULL;
}

static void zlib_free(void *arg, void *block) {
  (void)arg;
  assay_free(block);
}

static const char *kind_name(const assay_inflate *inflate) {
  return inflate->kind == ASSAY_INFLATE_GZIP ? "gzip" : "zlib";
}

assay_status assay_inflate_open(assay_span packed, assay_inflate_kind kind, assay_inflate **out,
                                assay_error *err) {
  assay_inflate *inflate = assay_alloc(sizeof *inflate);
  if (inflate == NULL) return assay_fail_memory(err, sizeof *inflate);
  inflate->packed = packed;
  inflate->kind = kind;
  inflate->z.zalloc = zlib_alloc;
  inflate->z.zfree = zlib_free;
  if (inflateInit2(&inflate->z, kind == ASSAY_INFLATE_GZIP ? WINDOW_BITS_GZIP : WINDOW_BITS) !=
      Z_OK) {
    assay_free(inflate);
    return assay_fail_memory(err, 0);
  }
  *out = inflate;
  return ASSAY_OK;
}

void assay_inflate_close(assay_inflate *inflate) {
  if (inflate == NULL) return;
  inflateEnd(&inflate->z);
  assay_free(inflate);
}

/* Gives zlib more of the data when it has none left. */
static void feed(assay_inflate *inflate) {
  if (inflate->z.avail_in > 0) return;
  size_t n = inflate->packed.size_bytes - inflate->n_taken;
  if (n > PIECE_BYTES) n = PIECE_BYTES;
  inflate->z.next_in = n > 0 ? inflate->packed.data + inflate->n_taken : (const uint8_t *)"";
  inflate->z.avail_in = (unsigned)n;
  inflate->n_taken += n;
}

static size_t packed_position(const assay_inflate *inflate) {
  return inflate->n_taken - inflate->z.avail_in;
}

/* A stream has ended: either all is at an end, or another gzip member begins. */
static assay_status end_stream(assay_inflate *inflate, assay_error *err) {
  size_t at = packed_position(inflate), left = inflate->packed.size_bytes - at;
  if (left == 0) {
    inflate->ended = true;
    return ASSAY_OK;
  }
  if (inflate->kind == ASSAY_INFLATE_ZLIB || inflate->packed.data[at] != 0x1f)
    return assay_fail(err, ASSAY_E_FORMAT, "corrupt: %zu bytes stand behind the %s data", left,
                      kind_name(inflate));
  return inflateReset(&inflate->z) == Z_OK
             ? ASSAY_OK
             : assay_fail(err, ASSAY_E_INTERNAL, "zlib would not begin another member");
}

static assay_status step(assay_inflate *self, assay_error *err) {
  feed(self);
  int code = inflate(&self->z, Z_NO_FLUSH);
  size_t at = packed_position(self);
  switch (code) {
  case Z_OK:
    return ASSAY_OK;
  case Z_STREAM_END:
    return end_stream(self, err);
  case Z_BUF_ERROR:
    return assay_fail(err, ASSAY_E_FORMAT, "truncated: the %s data end at byte %zu, in mid-stream",
                      kind_name(self), at);
  case Z_MEM_ERROR:
    return assay_fail_memory(err, 0);
  default:
    return assay_fail(err, ASSAY_E_FORMAT, "corrupt: damaged %s data near byte %zu: %s",
                      kind_name(self), at,
                      self->z.msg != NULL ? self->z.msg : "a preset dictionary");
  }
}

assay_status assay_inflate_read(assay_inflate *inflate, uint8_t *out, size_t size_bytes,
                                size_t *out_got, assay_error *err) {
  size_t got = 0;
  while (got < size_bytes && !inflate->ended) {
    size_t n = size_bytes - got < PIECE_BYTES ? size_bytes - got : PIECE_BYTES;
    inflate->z.next_out = out + got;
    inflate->z.avail_out = (unsigned)n;
    ASSAY_TRY(step(inflate, err));
    got += n - inflate->z.avail_out;
  }
  *out_got = got;
  return ASSAY_OK;
}
