/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector type of two AES blocks: VAES on YMM registers, without AVX-512 (Zen 3, Alder Lake and
 * their successors). simd/vector.h says what each function does. */
#ifndef TR_X86_VEC256_H
#define TR_X86_VEC256_H

#include "x86/block.h"
#include "x86/x86.h"

#include <immintrin.h>

#define TR_TARGET __attribute__((target("aes,pclmul,vaes,vpclmulqdq,avx2")))
#define VBLOCKS   2
#if defined(__x86_64__)
#    define V_REGISTERS 16
#else
#    define V_REGISTERS 8
#endif
#define V_MASKED      0
#define V_FEW         1
#define V_NAME(mode)  tr_vaes256_##mode
#define V_FEW_NAME    TR_VAES256_FEW
#define V_SHORT_CALL  0
#define V_NARROWER(n) ((n) <= 4 ? &tr_aesni : NULL)

typedef __m256i V;
#define MM(name)       _mm256_##name
#define MM_WHOLE(name) _mm256_##name##_si256
#define MM_EACH(name)  _mm256_##name##_epi128

V_OPERATION(V, v_broadcast, (B x), _mm256_broadcastsi128_si256(x))
#include "x86/vec.h"

/* The zero-extension hides the value from gcc 12, which generates slower GCM code if it knows that
 * the value is zero. */
V_OPERATION(V, v_zero, (void), _mm256_zextsi128_si256(_mm_setzero_si128()))
V_OPERATION(V, v_load_part, (const uint8_t *p, unsigned n), (void)n,
            _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p)))
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(x));
}
V_OPERATION(V, v_shift_in, (V before, V x), _mm256_permute2x128_si256(before, x, 0x21))

V_OPERATION(V, v_xor3, (V a, V b, V c), v_xor(v_xor(a, b), c))

TR_INLINE TR_TARGET V v_counters64(uint64_t low, uint64_t high)
{
    int64_t h = (int64_t)high;
    return _mm256_set_epi64x(h, (int64_t)(low + 1), h, (int64_t)low);
}

V_OPERATION(V, v_add_lane_number, (V x), _mm256_add_epi8(x, _mm256_set_epi64x(1LL << 56, 0, 0, 0)))
V_OPERATION(B, v_fold, (V x),
            _mm_xor_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)))
V_OPERATION(V, v_zero_extend, (B x), _mm256_zextsi128_si256(x))
TR_INLINE TR_TARGET V v_counters32(uint64_t low, uint64_t high)
{
    V first = _mm256_broadcastsi128_si256(_mm_set_epi64x((int64_t)high, (int64_t)low));
    return _mm256_add_epi32(first, _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0));
}
V_OPERATION(V, v_in_lanes_0_1, (B a, B b), _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1))
V_OPERATION(B, v_block_1, (V x), _mm256_extracti128_si256(x, 1))
V_OPERATION(V, v_shift_left_by_lane, (V x, unsigned n),
            _mm256_sllv_epi64(x, _mm256_set_epi64x(n + 1, n + 1, n, n)))
TR_INLINE TR_TARGET V v_shifted_out_by_lane(V x, unsigned n)
{
    n = 64 - n;
    return _mm256_srlv_epi64(x, _mm256_set_epi64x(n - 1, n - 1, n, n));
}
V_OPERATION(B, v_block_0, (V x), _mm256_castsi256_si128(x))
V_OPERATION(V, v_gray, (B l0, B l1), (void)l1, v_broadcast(l0))
V_OPERATION(V, v_in_last_lane, (B x), _mm256_inserti128_si256(_mm256_setzero_si256(), x, 1))

V_OPERATION(V, v_gather, (const uint8_t *p, size_t stride),
            _mm256_inserti128_si256(_mm256_castsi128_si256(b_load(p)), b_load(p + stride), 1))
V_OPERATION(V, v_gather_pointers, (const uint8_t *const *p),
            _mm256_inserti128_si256(_mm256_castsi128_si256(b_load(p[0])), b_load(p[1]), 1))

#endif
