/* CRC-32 by tables of eight bytes at a time, or by carry-less multiplication where the processor
 * has it. Sources: PKWARE APPNOTE.TXT 6.3.10 section 4.4.7; V. Gopal and others, "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009, whose constants for
 * this polynomial are below. */
#include "checkpoint/crc32.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define POLYNOMIAL 0xedb88320u
#define N_TABLES   8

typedef struct tables {
  uint32_t at[N_TABLES][256]; /* at[k][b]: CRC of byte b followed by k zero bytes */
} tables;

/* 2048 divisions: less than one page of data takes. */
static void make_tables(tables *t) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    t->at[0][byte] = crc;
  }
  for (int k = 1; k < N_TABLES; k++) {
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t crc = t->at[k - 1][byte];
      t->at[k][byte] = crc >> 8 ^ t->at[0][crc & 0xff];
    }
  }
}

static uint32_t u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* crc is kept inverted, as the algorithm has it. */
static uint32_t by_tables(uint32_t crc, const uint8_t *p, size_t n) {
  tables t;
  make_tables(&t);
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t a = crc ^ u32(p), b = u32(p + 4);
    crc = t.at[7][a & 0xff] ^ t.at[6][a >> 8 & 0xff] ^ t.at[5][a >> 16 & 0xff] ^ t.at[4][a >> 24] ^
          t.at[3][b & 0xff] ^ t.at[2][b >> 8 & 0xff] ^ t.at[1][b >> 16 & 0xff] ^ t.at[0][b >> 24];
  }
  for (; n > 0; n--, p++) crc = crc >> 8 ^ t.at[0][(crc ^ *p) & 0xff];
  return crc;
}

uint32_t crc32_of_by_tables(const void *bytes, size_t size_bytes) {
  return ~by_tables(~0u, bytes, size_bytes);
}

#if defined(__x86_64__)

#define FOLD_BYTES_MIN 64

__attribute__((target("pclmul,sse4.1"))) static __m128i load(const uint8_t *p) {
  __m128i x;
  memcpy(&x, p, sizeof x);
  return x;
}

/* x moved ahead by the distance that k stands for, and added to what lies there. */
__attribute__((target("pclmul,sse4.1"))) static __m128i fold(__m128i x, __m128i k, __m128i there) {
  __m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

/* n >= 64 and a multiple of 16. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t by_folding(uint32_t crc, const uint8_t *p,
                                                                    size_t n) {
  const __m128i k12 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4); /* ahead by 64 bytes */
  const __m128i k34 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0); /* ahead by 16 bytes */
  const __m128i k5 = _mm_set_epi64x(0, 0x163cd6124);
  const __m128i reduce = _mm_set_epi64x(0x1f7011641, 0x1db710641); /* mu, polynomial */
  const __m128i low32 = _mm_setr_epi32(~0, 0, ~0, 0);
  __m128i x[4];
  for (int i = 0; i < 4; i++) x[i] = load(p + 16 * i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    for (int i = 0; i < 4; i++) x[i] = fold(x[i], k12, load(p + 16 * i));
  }
  for (int i = 1; i < 4; i++) x[0] = fold(x[0], k34, x[i]);
  for (; n >= 16; p += 16, n -= 16) x[0] = fold(x[0], k34, load(p));
  /* 128 bits to 64, to 32. */
  __m128i y = _mm_xor_si128(_mm_srli_si128(x[0], 8), _mm_clmulepi64_si128(x[0], k34, 0x10));
  y = _mm_xor_si128(_mm_srli_si128(y, 4), _mm_clmulepi64_si128(_mm_and_si128(y, low32), k5, 0x00));
  __m128i q = _mm_clmulepi64_si128(_mm_and_si128(y, low32), reduce, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), reduce, 0x00);
  return (uint32_t)_mm_extract_epi32(_mm_xor_si128(y, q), 1);
}

static bool can_fold(void) {
  return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

uint32_t crc32_more(uint32_t before, const void *bytes, size_t size_bytes) {
  const uint8_t *p = bytes;
  uint32_t crc = ~before;
  if (size_bytes >= FOLD_BYTES_MIN && can_fold()) {
    size_t n = size_bytes / 16 * 16;
    crc = by_folding(crc, p, n);
    p += n;
    size_bytes -= n;
  }
  for (; size_bytes > 0 && size_bytes < 16; size_bytes--, p++) { /* too few for a table */
    crc ^= *p;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
  }
  return ~(size_bytes > 0 ? by_tables(crc, p, size_bytes) : crc);
}

#else

uint32_t crc32_more(uint32_t before, const void *bytes, size_t size_bytes) {
  return ~by_tables(~before, bytes, size_bytes);
}

#endif

uint32_t crc32_of(const void *bytes, size_t size_bytes) {
  return crc32_more(/*before=*/0, bytes, size_bytes);
}
