/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vector type of one AES block: AES-NI on XMM registers. simd/vector.h says what each function
 * does.
 */
#ifndef TR_X86_VEC128_H
#define TR_X86_VEC128_H

#include "x86/block.h"
#include "x86/x86.h"

#include <tmmintrin.h>
#include <wmmintrin.h>

#define TR_TARGET __attribute__((target("aes,ssse3,pclmul")))
#define VBLOCKS   1
#if defined(__x86_64__)
#    define V_REGISTERS 16
#else
#    define V_REGISTERS 8
#endif
#define V_REGISTER     "v"
#define V_KEY_FIRST    0
#define V_EQUAL_HALVES 0
#define V_MASKED       0
#define V_LONG_GCM     1
#define V_MULTIBUFFER  1
#define V_FEW          1
#define V_NAME(mode)   tr_aesni_##mode
#define V_FEW_NAME     TR_AESNI_FEW
#define V_SHORT_CALL   0
#define V_NARROWER(n)  ((void)(n), (const struct tr_backend *)NULL)

typedef __m128i V;
#define MM(name)       _mm_##name
#define MM_WHOLE(name) _mm_##name##_si128
#define MM_EACH(name)  _mm_##name##_si128

TR_INLINE TR_TARGET V v_broadcast(B x)
{
    return x;
}
#include "x86/vec.h"

TR_INLINE TR_TARGET V v_zero(void)
{
    return _mm_setzero_si128();
}
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    return (void)n, v_load(p);
}
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, v_store(p, x);
}
TR_INLINE TR_TARGET V v_shift_in(V before, V x)
{
    return (void)x, before;
}

TR_INLINE TR_TARGET V v_xor3(V a, V b, V c)
{
    return v_xor(v_xor(a, b), c);
}

TR_INLINE TR_TARGET V v_counters64(uint64_t low, uint64_t high)
{
    return _mm_set_epi64x((int64_t)high, (int64_t)low);
}

TR_INLINE TR_TARGET V v_add_lane_number(V x)
{
    return x;
}

TR_INLINE TR_TARGET B v_fold(V x)
{
    return x;
}
TR_INLINE TR_TARGET V v_zero_extend(B x)
{
    return x;
}
TR_INLINE TR_TARGET V v_counters32(uint64_t low, uint64_t high)
{
    return v_counters64(low, high);
}
TR_INLINE TR_TARGET V v_and(V a, V b)
{
    return _mm_and_si128(a, b);
}
TR_INLINE TR_TARGET V v_shift_left_by_lane(V x, unsigned n)
{
    return _mm_slli_epi64(x, (int)n);
}
TR_INLINE TR_TARGET V v_shifted_out_by_lane(V x, unsigned n)
{
    return _mm_srli_epi64(x, 64 - (int)n);
}
TR_INLINE TR_TARGET B v_block_0(V x)
{
    return x;
}
TR_INLINE TR_TARGET V v_gray(B l0, B l1)
{
    return (void)l0, (void)l1, b_zero();
}
TR_INLINE TR_TARGET V v_in_last_lane(B x)
{
    return x;
}

TR_INLINE TR_TARGET V v_gather(const uint8_t *p, size_t stride)
{
    return (void)stride, v_load(p);
}
TR_INLINE TR_TARGET V v_gather_pointers(const uint8_t *const *p)
{
    return v_load(p[0]);
}

#endif
