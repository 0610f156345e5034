/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles simd/sliced8.h alone (scripts/lint), with its parameters. */
#include <stdint.h>
#include <tmmintrin.h>

#define TR_TARGET __attribute__((target("ssse3")))
typedef uint8_t V __attribute__((vector_size(16)));
typedef uint64_t x64 __attribute__((vector_size(16)));
#define load(p)             ((V)_mm_loadu_si128((const __m128i *)(p)))
#define store(p, x)         _mm_storeu_si128((__m128i *)(p), (__m128i)(x))
#define v_lanes(p)          ((V)_mm_load_si128((const __m128i *)(p)))
#define v_shuffle(x, index) ((V)_mm_shuffle_epi8((__m128i)(x), (__m128i)(index)))
#include "simd/sliced8.h"
