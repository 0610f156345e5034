/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles simd/bitslice.h alone (scripts/lint), with parameters for 128 bits. */
#include <stdint.h>
#include <tmmintrin.h>

#define TR_TARGET     __attribute__((target("ssse3")))
#define VBLOCKS       1
#define MIN_BLOCKS    5
#define SMALL_BACKEND tr_vperm
#define TERNARY_GATES 0
typedef uint64_t V __attribute__((vector_size(16)));
#define v_lanes(p)          ((V)(_mm_load_si128((const __m128i *)(p))))
#define v_shuffle(x, index) ((V)_mm_shuffle_epi8((__m128i)(x), (__m128i)(index)))
#include "simd/bitslice.h"
