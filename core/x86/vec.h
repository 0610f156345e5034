/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of simd/vector.h that are the same instruction in the three x86 vector types. This
 * is a template. A vector type defines these names before it includes the template:
 *
 *   V, VBLOCKS, TR_TARGET  as simd/vector.h describes
 *   v_broadcast(x)         the block x in each lane
 *   MM(name)               the intrinsic of that name: _mm_name, _mm256_name or _mm512_name
 *   MM_WHOLE(name)         one on whole registers, with its suffix: si128, si256 or si512
 *   MM_EACH(name)          one on each lane, with its suffix: si128 or epi128
 */
#ifndef TR_X86_VEC_H
#define TR_X86_VEC_H

/* The same two halves in each lane, the high one first. gcc 12 makes no constant of a broadcast to
 * YMM, so V_CONSTANT() does not use it. */
#define V_HALVES(high, low) v_broadcast(_mm_set_epi64x((int64_t)(high), (int64_t)(low)))
#if VBLOCKS == 2
#    define V_CONSTANT(high, low)                                                                  \
        _mm256_set_epi64x((int64_t)(high), (int64_t)(low), (int64_t)(high), (int64_t)(low))
#else
#    define V_CONSTANT V_HALVES
#endif

typedef V V_unaligned __attribute__((aligned(1), may_alias));
TR_INLINE TR_TARGET V v_load(const uint8_t *p)
{
    return *(const V_unaligned *)p;
}
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    *(V_unaligned *)p = x;
}
TR_INLINE TR_TARGET V v_load_all(const uint8_t *p)
{
    return v_broadcast(b_load(p));
}
TR_INLINE TR_TARGET V v_xor(V a, V b)
{
    return MM_WHOLE(xor)(a, b);
}
TR_INLINE TR_TARGET V v_aesenc(V x, V k)
{
    return MM_EACH(aesenc)(x, k);
}
TR_INLINE TR_TARGET V v_aesenclast(V x, V k)
{
    return MM_EACH(aesenclast)(x, k);
}
TR_INLINE TR_TARGET V v_aesdec(V x, V k)
{
    return MM_EACH(aesdec)(x, k);
}
TR_INLINE TR_TARGET V v_aesdeclast(V x, V k)
{
    return MM_EACH(aesdeclast)(x, k);
}

TR_INLINE TR_TARGET V v_add64(V x, unsigned n)
{
    return MM(add_epi64)(x, V_CONSTANT(0, n));
}
TR_INLINE TR_TARGET V v_add32(V x, unsigned n)
{
    return MM(add_epi32)(x, V_CONSTANT(0, n));
}
TR_INLINE TR_TARGET V v_last_bytes(unsigned n)
{
    return V_HALVES((uint64_t)n << 56, 0);
}
TR_INLINE TR_TARGET V v_add_last_byte(V x, unsigned n)
{
    return MM(add_epi8)(x, v_last_bytes(n));
}
TR_INLINE TR_TARGET V v_byteswap(V x)
{
    return MM(shuffle_epi8)(x, V_HALVES(0x0001020304050607, 0x08090a0b0c0d0e0f));
}
TR_INLINE TR_TARGET V v_swap_halves(V x)
{
    return MM(shuffle_epi32)(x, 0x4e);
}
TR_INLINE TR_TARGET V v_low_halves(uint64_t x)
{
    return V_CONSTANT(0, x);
}
TR_INLINE TR_TARGET V v_unpack_low(V a, V b)
{
    return MM(unpacklo_epi64)(a, b);
}
TR_INLINE TR_TARGET V v_unpack_high(V a, V b)
{
    return MM(unpackhi_epi64)(a, b);
}
#define v_clmul_ll(a, b)          MM_EACH(clmulepi64)((a), (b), 0x00)
#define v_clmul_lh(a, b)          MM_EACH(clmulepi64)((a), (b), 0x10)
#define v_clmul_hl(a, b)          MM_EACH(clmulepi64)((a), (b), 0x01)
#define v_clmul_hh(a, b)          MM_EACH(clmulepi64)((a), (b), 0x11)
#define v_shift_left64(x, n)      MM(slli_epi64)((x), (n))
#define v_shift_right64(x, n)     MM(srli_epi64)((x), (n))
#define v_shift_bytes_left(x, n)  MM_EACH(bslli)((x), (n))
#define v_shift_bytes_right(x, n) MM_EACH(bsrli)((x), (n))
#define v_low_to_high(x)          MM_EACH(bslli)((x), 8)

#endif
