/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitsliced AES on 128-bit registers: eight blocks at once. */
#include "dispatch/backend.h"
#if TR_WIDE_BITSLICE
#    include <tmmintrin.h>
#    define TR_TARGET     __attribute__((target("ssse3")))
#    define VBLOCKS       1
#    define TERNARY_GATES 0
#    define MIN_BLOCKS    5
#    define SMALL_BACKEND tr_vperm
typedef uint64_t V __attribute__((vector_size(16)));
#    define v_lanes(p)          ((V)(_mm_load_si128((const __m128i *)(p))))
#    define v_shuffle(x, index) ((V)_mm_shuffle_epi8((__m128i)(x), (__m128i)(index)))

#    include "simd/bitslice.h"

const struct tr_backend tr_bitslice128 = {
    .name = "bitslice128",
    .features = TR_FEATURE_SSSE3,
    .weaker = &tr_vperm,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_BITSLICE_OPS},
};
#endif
