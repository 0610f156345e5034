/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles simd/vperm_ghash.h alone (scripts/lint), with parameters for 128 bits. */
#include <stdint.h>
#include <tmmintrin.h>

#define TR_TARGET   __attribute__((target("ssse3")))
#define KEEP(x)     __asm__("" : "+x"(x))
#define GHASH_LANES 1u
typedef uint8_t V __attribute__((vector_size(16)));
typedef uint64_t x64 __attribute__((vector_size(16)));
#define v_load(p)            ((V)_mm_loadu_si128((const __m128i *)(p)))
#define v_store(p, x)        _mm_storeu_si128((__m128i *)(p), (__m128i)(x))
#define v_lanes(p)           ((V)_mm_load_si128((const __m128i *)(p)))
#define v_lanes_unaligned(p) v_load(p)
#define v_shuffle(x, index)  ((V)_mm_shuffle_epi8((__m128i)(x), (__m128i)(index)))
#include "simd/vperm_ghash.h"
