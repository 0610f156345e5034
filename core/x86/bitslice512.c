/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitsliced AES on 512-bit registers: 32 blocks at once, with three-input gates (VPTERNLOG). */
#include "dispatch/backend.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET     __attribute__((target("avx2,avx512f,avx512bw,avx512vl")))
#    define VBLOCKS       4
#    define TERNARY_GATES 1
#    define MIN_BLOCKS    25
#    define SMALL_BACKEND tr_vperm256
typedef uint64_t V __attribute__((vector_size(64)));
#    define TERNARY(a, b, c, f)                                                                    \
        ((V)_mm512_ternarylogic_epi64((__m512i)(a), (__m512i)(b), (__m512i)(c), f))
#    define v_lanes(p)          ((V)_mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(p))))
#    define v_shuffle(x, index) ((V)_mm512_shuffle_epi8((__m512i)(x), (__m512i)(index)))

#    include "simd/bitslice.h"

const struct tr_backend tr_bitslice512 = {
    .name = "bitslice512",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2 | TR_FEATURE_AVX512,
    .weaker = &tr_bitslice256,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_BITSLICE_OPS},
};
#endif
