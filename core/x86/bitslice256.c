/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitsliced AES on 256-bit registers: 16 blocks at once. */
#include "dispatch/backend.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET     __attribute__((target("avx2")))
#    define VBLOCKS       2
#    define TERNARY_GATES 0
#    define MIN_BLOCKS    16
#    define SMALL_BACKEND tr_vperm256
typedef uint64_t V __attribute__((vector_size(32)));
#    define v_lanes(p)          ((V)_mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(p))))
#    define v_shuffle(x, index) ((V)_mm256_shuffle_epi8((__m256i)(x), (__m256i)(index)))

#    include "simd/bitslice.h"

const struct tr_backend tr_bitslice256 = {
    .name = "bitslice256",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2,
    .weaker = &tr_vperm256,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_BITSLICE_OPS},
};
#endif
