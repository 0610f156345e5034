/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector block of one AES block: AES-NI on XMM registers. */
#include <tmmintrin.h>
#include <wmmintrin.h>

#define TR_TARGET __attribute__((target("aes,ssse3,pclmul")))
#define VBLOCKS   1

#include "block.h"

typedef __m128i V;

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
/* One block in every place. */
TR_INLINE TR_TARGET V v_all(const uint8_t *p)
{
    return v_load(p);
}
/* The same from a register. */
TR_INLINE TR_TARGET V v_spread(B x)
{
    return x;
}
/* The blocks of x moved up by one place, with the last block of before in front. */
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

/* Little-endian counters: the first of them, n added to each, and the order of bytes reversed. */
TR_INLINE TR_TARGET V v_counters(uint64_t low, uint64_t high)
{
    return _mm_set_epi64x((int64_t)high, (int64_t)low);
}
TR_INLINE TR_TARGET V v_add(V x, unsigned n)
{
    return _mm_add_epi64(x, _mm_set_epi64x(0, n));
}
TR_INLINE TR_TARGET V v_reverse(V x)
{
    return _mm_shuffle_epi8(x, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}
/* n in the last byte of every block. */
TR_INLINE TR_TARGET V v_last_byte(unsigned n)
{
    return _mm_set_epi64x((int64_t)((uint64_t)n << 56), 0);
}

/* n added to the last byte of every block, and of each the number of its place. */
TR_INLINE TR_TARGET V v_add8(V x, unsigned n)
{
    return _mm_add_epi8(x, v_last_byte(n));
}
TR_INLINE TR_TARGET V v_count_bytes(V x)
{
    return x;
}
/* n added to the lowest 32 bits of each counter, as GCM counts. */
TR_INLINE TR_TARGET V v_add32(V x, unsigned n)
{
    return _mm_add_epi32(x, _mm_set_epi32(0, 0, 0, (int)n));
}

/* Carry-less products of the low and high halves of each block. */
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
/* The sum of all blocks. */
TR_INLINE TR_TARGET B v_sum(V x)
{
    return x;
}
/* A block in the first place, zeros in the others. */
TR_INLINE TR_TARGET V v_first(B x)
{
    return x;
}
/* The halves of each block exchanged. */
TR_INLINE TR_TARGET V v_swap_halves(V x)
{
    return _mm_shuffle_epi32(x, 0x4e);
}
/* x in the low half of each block. */
TR_INLINE TR_TARGET V v_low_halves(uint64_t x)
{
    return _mm_set_epi64x(0, (int64_t)x);
}
/* The counters of GCM, of which 32 bits count; low and high are those of the first. */
TR_INLINE TR_TARGET V v_counters32(uint64_t low, uint64_t high)
{
    return v_counters(low, high);
}
TR_INLINE TR_TARGET V v_and(V a, V b)
{
    return _mm_and_si128(a, b);
}
/* Shifts of each 64 bits, and of each block by bytes; the counts are constants. */
#define v_shift_left(x, n)        _mm_slli_epi64((x), (n))
#define v_shift_right(x, n)       _mm_srli_epi64((x), (n))
#define v_shift_bytes_left(x, n)  _mm_slli_si128((x), (n))
#define v_shift_bytes_right(x, n) _mm_srli_si128((x), (n))
#define v_low_to_high(x)          _mm_slli_si128((x), 8)
/* Each 64 bits of the block in place i shifted left by n + i, and what that shifts out; n is a constant, n + i at
 * most 63. */
TR_INLINE TR_TARGET V v_shift_left_from(V x, unsigned n)
{
    return _mm_slli_epi64(x, (int)n);
}
TR_INLINE TR_TARGET V v_shifted_out_from(V x, unsigned n)
{
    return _mm_srli_epi64(x, 64 - (int)n);
}
TR_INLINE TR_TARGET B v_block_0(V x)
{
    return x;
}
/* For ocb.h: l0, l0 + l1, l1, as far as there are places before the last, whose block is that of the place before. */
TR_INLINE TR_TARGET V v_gray(B l0, B l1)
{
    return (void)l0, (void)l1, b_zero();
}
/* A block in the last place, zeros in the others. */
TR_INLINE TR_TARGET V v_last(B x)
{
    return x;
}
/* For expand.h: half a block, the rest zero. */
TR_INLINE TR_TARGET V b_load_half(const uint8_t *p)
{
    return _mm_loadl_epi64((const __m128i *)p);
}
TR_INLINE TR_TARGET void b_store_half(uint8_t *p, V x)
{
    _mm_storel_epi64((__m128i *)p, x);
}
/* The same four bytes of x in every column, the lowest 8 bits of bytes saying which comes first. */
TR_INLINE TR_TARGET V b_columns(V x, uint32_t bytes)
{
    return _mm_shuffle_epi8(x, _mm_set1_epi32((int)bytes));
}
/* SubWord in every column, which are all the same, and rcon added. */
TR_INLINE TR_TARGET V b_sub_columns(V x, uint32_t rcon)
{
    return v_aesenclast(x, _mm_set1_epi32((int)rcon));
}
TR_INLINE TR_TARGET V b_inv_mix_columns(V x)
{
    return _mm_aesimc_si128(x);
}

/* For gcm_long.h: the low halves, and the high ones, of two vectors, block by block. */
TR_INLINE TR_TARGET V v_low_of(V a, V b)
{
    return _mm_unpacklo_epi64(a, b);
}
TR_INLINE TR_TARGET V v_high_of(V a, V b)
{
    return _mm_unpackhi_epi64(a, b);
}

/* For lanes.h: how many vectors go on side by side, at least and at most, and how many shared round keys stay in
 * registers; blocks that lie so many bytes apart. */
#define LANE_VECTORS_NARROW IN_FLIGHT
#define LANE_VECTORS        IN_FLIGHT
#define LANE_KEYS_HELD      (IN_FLIGHT == 8 ? 5 : 0)
#define LANE_OWN_KEYS_HELD  0
TR_INLINE TR_TARGET V v_gather(const uint8_t *p, size_t stride)
{
    return (void)stride, v_load(p);
}
TR_INLINE TR_TARGET V v_gather_from(const uint8_t *const *p)
{
    return v_load(p[0]);
}
