/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the three x86 vector types have in common: macros of simd/vector.h, and the functions that
 * are the same instruction. This is a template. A vector type defines these names before it
 * includes the template:
 *
 *   V, VBLOCKS, TR_TARGET  as simd/vector.h describes
 *   v_broadcast(x)         the block x in each lane
 *   MM(name)               the intrinsic of that name: _mm_name, _mm256_name or _mm512_name
 *   MM_WHOLE(name)         one on whole registers, with its suffix: si128, si256 or si512
 *   MM_EACH(name)          one on each lane, with its suffix: si128 or epi128
 */
#ifndef TR_X86_VEC_H
#define TR_X86_VEC_H

#define V_REGISTER     "v"
#define V_KEY_FIRST    0
#define V_EQUAL_HALVES 0
#define V_LONG_GCM     1
#define V_MULTIBUFFER  1

/* The same two halves in each lane, the high one first. gcc 12 makes no constant of a broadcast to
 * YMM, and repeats a broadcast to ZMM in each branch, so V_CONSTANT() does not use it. */
#define V_HALVES(high, low) v_broadcast(_mm_set_epi64x((int64_t)(high), (int64_t)(low)))
#if VBLOCKS == 2
#    define V_CONSTANT(high, low)                                                                  \
        _mm256_set_epi64x((int64_t)(high), (int64_t)(low), (int64_t)(high), (int64_t)(low))
#elif VBLOCKS == 4
#    define V_CONSTANT(high, low)                                                                  \
        _mm512_set4_epi64((int64_t)(high), (int64_t)(low), (int64_t)(high), (int64_t)(low))
#else
#    define V_CONSTANT V_HALVES
#endif

typedef V V_unaligned __attribute__((aligned(1), may_alias));
V_OPERATION(V, v_load, (const uint8_t *p), *(const V_unaligned *)p)
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    *(V_unaligned *)p = x;
}
V_OPERATION(V, v_load_all, (const uint8_t *p), v_broadcast(b_load(p)))
/* With `a ^ b`, whose elements are signed, gcc 12 makes GCM of 16 KiB 4 % slower on YMM. */
V_OPERATION(V, v_xor, (V a, V b), MM_WHOLE (xor)(a, b))
V_OPERATION(V, v_and, (V a, V b), MM_WHOLE (and)(a, b))
V_OPERATION(V, v_aesenc, (V x, V k), MM_EACH(aesenc)(x, k))
V_OPERATION(V, v_aesenclast, (V x, V k), MM_EACH(aesenclast)(x, k))
V_OPERATION(V, v_aesdec, (V x, V k), MM_EACH(aesdec)(x, k))
V_OPERATION(V, v_aesdeclast, (V x, V k), MM_EACH(aesdeclast)(x, k))

V_OPERATION(V, v_add64, (V x, unsigned n), MM(add_epi64)(x, V_CONSTANT(0, n)))
V_OPERATION(V, v_add32, (V x, unsigned n), MM(add_epi32)(x, V_CONSTANT(0, n)))
V_OPERATION(V, v_last_bytes, (unsigned n), V_HALVES((uint64_t)n << 56, 0))
V_OPERATION(V, v_add_last_byte, (V x, unsigned n), MM(add_epi8)(x, v_last_bytes(n)))
V_OPERATION(V, v_byteswap, (V x),
            MM(shuffle_epi8)(x, V_CONSTANT(0x0001020304050607, 0x08090a0b0c0d0e0f)))
V_OPERATION(V, v_swap_halves, (V x), MM(shuffle_epi32)(x, 0x4e))
V_OPERATION(V, v_low_halves, (uint64_t x), V_CONSTANT(0, x))
V_OPERATION(V, v_unpack_low, (V a, V b), MM(unpacklo_epi64)(a, b))
V_OPERATION(V, v_unpack_high, (V a, V b), MM(unpackhi_epi64)(a, b))
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
