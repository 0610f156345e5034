/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles simd/permute.h alone (scripts/lint), with parameters for 256 bits. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define TR_TARGET     __attribute__((target("avx2")))
#define VBLOCKS       2u
#define GROUP_VECTORS 4u
typedef uint8_t V __attribute__((vector_size(32)));
typedef uint64_t x64 __attribute__((vector_size(32)));
#define v_load(p)             ((V)_mm256_loadu_si256((const __m256i *)(p)))
#define v_store(p, x)         _mm256_storeu_si256((__m256i *)(p), (__m256i)(x))
#define v_load_part(p, n)     ((void)(n), v_load(p))
#define v_store_part(p, x, n) ((void)(n), v_store(p, x))
#define v_broadcast(x)        ((V)_mm256_broadcastsi128_si256(x))
#define v_lanes(p)            v_broadcast(_mm_load_si128((const __m128i *)(p)))
#define v_shuffle(x, index)   ((V)_mm256_shuffle_epi8((__m256i)(x), (__m256i)(index)))
#define v_shift_in(before, x) ((V)_mm256_permute2x128_si256((__m256i)(before), (__m256i)(x), 0x21))
struct schedule {
    unsigned rounds;
};
#define prepare(s, key, inverse)     ((s)->rounds = (key)->rounds, (void)(inverse))
#define cleanse_schedule(s)          ((s)->rounds = 0)
#define crypt(s, x, n, inverse, two) ((void)(s), (void)(x), (void)(n), (void)(inverse), (void)(two))
#include "simd/permute.h"
