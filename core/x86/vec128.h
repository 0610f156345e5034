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
#define V_REGISTER         "v"
#define V_KEY_FIRST        0
#define V_EQUAL_HALVES     0
#define V_MASKED           0
#define V_LONG_GCM         1
#define V_MULTIBUFFER      1
#define V_FEW              1
#define V_NAME(mode)       tr_aesni_##mode
#define V_FEW_NAME(mode)   tr_aesni_few_##mode
#define V_SHORT_CALL       TR_FEW
#define V_SHORT_NAME(mode) tr_aesni_few_##mode
#define V_NARROWER(n)      ((void)(n), (const struct tr_backend *)NULL)

typedef __m128i V;

TR_INLINE TR_TARGET V v_zero(void)
{
    return _mm_setzero_si128();
}
TR_INLINE TR_TARGET V v_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    _mm_storeu_si128((__m128i *)p, x);
}
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    return (void)n, v_load(p);
}
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, v_store(p, x);
}
TR_INLINE TR_TARGET V v_load_all(const uint8_t *p)
{
    return v_load(p);
}
TR_INLINE TR_TARGET V v_broadcast(B x)
{
    return x;
}
TR_INLINE TR_TARGET V v_shift_in(V before, V x)
{
    return (void)x, before;
}

TR_INLINE TR_TARGET V v_xor(V a, V b)
{
    return _mm_xor_si128(a, b);
}
TR_INLINE TR_TARGET V v_xor3(V a, V b, V c)
{
    return v_xor(v_xor(a, b), c);
}
TR_INLINE TR_TARGET V v_aesenc(V x, V k)
{
    return _mm_aesenc_si128(x, k);
}
TR_INLINE TR_TARGET V v_aesenclast(V x, V k)
{
    return _mm_aesenclast_si128(x, k);
}
TR_INLINE TR_TARGET V v_aesdec(V x, V k)
{
    return _mm_aesdec_si128(x, k);
}
TR_INLINE TR_TARGET V v_aesdeclast(V x, V k)
{
    return _mm_aesdeclast_si128(x, k);
}

TR_INLINE TR_TARGET V v_counters64(uint64_t low, uint64_t high)
{
    return _mm_set_epi64x((int64_t)high, (int64_t)low);
}
TR_INLINE TR_TARGET V v_add64(V x, unsigned n)
{
    return _mm_add_epi64(x, _mm_set_epi64x(0, n));
}
TR_INLINE TR_TARGET V v_byteswap(V x)
{
    return _mm_shuffle_epi8(x, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}
TR_INLINE TR_TARGET V v_last_bytes(unsigned n)
{
    return _mm_set_epi64x((int64_t)((uint64_t)n << 56), 0);
}

TR_INLINE TR_TARGET V v_add_last_byte(V x, unsigned n)
{
    return _mm_add_epi8(x, v_last_bytes(n));
}
TR_INLINE TR_TARGET V v_add_lane_number(V x)
{
    return x;
}
TR_INLINE TR_TARGET V v_add32(V x, unsigned n)
{
    return _mm_add_epi32(x, _mm_set_epi32(0, 0, 0, (int)n));
}

TR_INLINE TR_TARGET V v_clmul_ll(V a, V b)
{
    return _mm_clmulepi64_si128(a, b, 0x00);
}
TR_INLINE TR_TARGET V v_clmul_lh(V a, V b)
{
    return _mm_clmulepi64_si128(a, b, 0x10);
}
TR_INLINE TR_TARGET V v_clmul_hl(V a, V b)
{
    return _mm_clmulepi64_si128(a, b, 0x01);
}
TR_INLINE TR_TARGET V v_clmul_hh(V a, V b)
{
    return _mm_clmulepi64_si128(a, b, 0x11);
}
TR_INLINE TR_TARGET B v_fold(V x)
{
    return x;
}
TR_INLINE TR_TARGET V v_zero_extend(B x)
{
    return x;
}
TR_INLINE TR_TARGET V v_swap_halves(V x)
{
    return _mm_shuffle_epi32(x, 0x4e);
}
TR_INLINE TR_TARGET V v_low_halves(uint64_t x)
{
    return _mm_set_epi64x(0, (int64_t)x);
}
TR_INLINE TR_TARGET V v_counters32(uint64_t low, uint64_t high)
{
    return v_counters64(low, high);
}
TR_INLINE TR_TARGET V v_and(V a, V b)
{
    return _mm_and_si128(a, b);
}
#define v_shift_left64(x, n)      _mm_slli_epi64((x), (n))
#define v_shift_right64(x, n)     _mm_srli_epi64((x), (n))
#define v_shift_bytes_left(x, n)  _mm_slli_si128((x), (n))
#define v_shift_bytes_right(x, n) _mm_srli_si128((x), (n))
#define v_low_to_high(x)          _mm_slli_si128((x), 8)
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

TR_INLINE TR_TARGET V v_unpack_low(V a, V b)
{
    return _mm_unpacklo_epi64(a, b);
}
TR_INLINE TR_TARGET V v_unpack_high(V a, V b)
{
    return _mm_unpackhi_epi64(a, b);
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
