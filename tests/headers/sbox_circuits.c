/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles simd/sbox_circuits.h alone (scripts/lint), with parameters for gates of three inputs. */
#include <immintrin.h>
#include <stdint.h>

#define TR_TARGET     __attribute__((target("avx512f")))
#define TERNARY_GATES 1
typedef uint64_t V __attribute__((vector_size(64)));
#define TERNARY(a, b, c, f)                                                                        \
    ((V)_mm512_ternarylogic_epi64((__m512i)(a), (__m512i)(b), (__m512i)(c), f))
#include "simd/sbox_circuits.h"
