/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector type of four AES blocks: VAES on ZMM registers (Ice Lake servers, Zen 4 and their
 * successors). simd/vector.h says what each function does. */
#ifndef TR_X86_VEC512_H
#define TR_X86_VEC512_H

#include "x86/block.h"
#include "x86/x86.h"

#include <immintrin.h>

#define TR_TARGET                                                                                  \
    __attribute__((target("aes,pclmul,vaes,vpclmulqdq,avx2,avx512f,avx512bw,avx512vl,bmi2")))
#define VBLOCKS 4
#if defined(__x86_64__)
#    define V_REGISTERS 32
#else
#    define V_REGISTERS 8
#endif
#define V_MASKED      1
#define V_FEW         0
#define V_FEW_NAME    TR_VAES256_FEW
#define V_NAME(mode)  tr_vaes512_##mode
#define V_SHORT_CALL  (2 * TR_FEW)
#define V_SHORT_NAME  TR_VAES256_ANY
#define V_NARROWER(n) ((n) <= 4 ? &tr_aesni : (n) <= 8 ? &tr_vaes256 : NULL)

typedef __m512i V;
#define MM(name)       _mm512_##name
#define MM_WHOLE(name) _mm512_##name##_si512
#define MM_EACH(name)  _mm512_##name##_epi128

V_OPERATION(V, v_broadcast, (B x), _mm512_broadcast_i32x4(x))
#include "x86/vec.h"

/* Two blocks in a YMM register. */
typedef __m256i W;
V_OPERATION(W, w_of, (B a, B b), _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1))
V_OPERATION(W, w_xor, (W a, W b), a ^ b)
V_OPERATION(W, w_constant, (uint64_t high_1, uint64_t low_1, uint64_t high_0, uint64_t low_0),
            _mm256_set_epi64x((int64_t)high_1, (int64_t)low_1, (int64_t)high_0, (int64_t)low_0))
/* Lanes 0 and 1, or lanes 2 and 3 if `high`. */
V_OPERATION(W, v_half, (V x, unsigned high),
            high ? _mm512_extracti64x4_epi64(x, 1) : _mm512_castsi512_si256(x))
V_OPERATION(W, w_fold_to_two, (V x), w_xor(v_half(x, 0), v_half(x, 1)))

/* The zero-extension hides the value from gcc 12, which generates slower GCM code if it knows that
 * the value is zero. */
V_OPERATION(V, v_zero, (void), _mm512_zextsi128_si512(_mm_setzero_si128()))
/* v_load_part() and v_store_part() access n blocks, 1 to 3, in pieces of 16 and 32 bytes.
 * Successive calls often use the same short buffer. A masked store would not be forwarded to the
 * next call's load. This stall would take 17 cycles (Zen 4). */
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    const __m128i *last = (const __m128i *)(p + (n - 1) * TR_BLOCK);
    if (n == 1)
        return _mm512_zextsi128_si512(_mm_loadu_si128(last));
    V x = _mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i *)p));
    return n == 2 ? x : _mm512_inserti32x4(x, _mm_loadu_si128(last), 2);
}
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    __m128i *last = (__m128i *)(p + (n - 1) * TR_BLOCK);
    if (n == 1) {
        _mm_storeu_si128(last, _mm512_castsi512_si128(x));
        return;
    }
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(x));
    if (n == 3)
        _mm_storeu_si128(last, _mm512_extracti32x4_epi32(x, 2));
}
V_OPERATION(V, v_shift_in, (V before, V x), _mm512_alignr_epi64(x, before, 6))

V_OPERATION(V, v_xor3, (V a, V b, V c), _mm512_ternarylogic_epi64(a, b, c, 0x96))

TR_INLINE TR_TARGET V v_counters64(uint64_t low, uint64_t high)
{
    V first = _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)high, (int64_t)low));
    return _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0));
}

V_OPERATION(V, v_add_lane_number, (V x),
            _mm512_add_epi8(x, _mm512_set_epi64(3LL << 56, 0, 2LL << 56, 0, 1LL << 56, 0, 0, 0)))
TR_INLINE TR_TARGET B v_fold(V x)
{
    const W y = w_fold_to_two(x);
    return b_xor(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
}
V_OPERATION(V, v_zero_extend, (B x), _mm512_zextsi128_si512(x))
TR_INLINE TR_TARGET V v_counters32(uint64_t low, uint64_t high)
{
    V first = _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)high, (int64_t)low));
    return _mm512_add_epi32(first,
                            _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0));
}
V_OPERATION(V, v_in_lanes_0_1, (B a, B b), _mm512_zextsi256_si512(w_of(a, b)))
V_OPERATION(V, v_in_lanes_2_3, (B a, B b),
            _mm512_inserti64x4(_mm512_setzero_si512(), w_of(a, b), 1))
/* As v_zero_extend() and v_in_lanes_0_1(), but the other lanes have any value. */
V_OPERATION(V, v_widen, (B x), _mm512_castsi128_si512(x))
V_OPERATION(V, v_widen_two, (B a, B b), _mm512_castsi256_si512(w_of(a, b)))
V_OPERATION(V, v_join_low_halves, (V a, V b), _mm512_inserti64x4(a, v_half(b, 0), 1))
/* The first n bytes, 1 to 64. */
TR_INLINE TR_TARGET __mmask64 bytes_mask(size_t n)
{
#if defined(__x86_64__)
    return _bzhi_u64(~(__mmask64)0, (unsigned)n);
#else
    return ~(__mmask64)0 >> (64 - n);
#endif
}
V_OPERATION(V, v_load_masked, (const uint8_t *p, size_t n),
            _mm512_maskz_loadu_epi8(bytes_mask(n), p))
TR_INLINE TR_TARGET void v_store_masked(uint8_t *p, V x, size_t n)
{
    _mm512_mask_storeu_epi8(p, bytes_mask(n), x);
}
V_OPERATION(V, v_first_bytes, (V x, size_t n), _mm512_maskz_mov_epi8(bytes_mask(n), x))
V_OPERATION(V, v_shift_left_by_lane, (V x, unsigned n),
            _mm512_sllv_epi64(x, _mm512_set_epi64(n + 3, n + 3, n + 2, n + 2, n + 1, n + 1, n, n)))
TR_INLINE TR_TARGET V v_shifted_out_by_lane(V x, unsigned n)
{
    n = 64 - n;
    return _mm512_srlv_epi64(x, _mm512_set_epi64(n - 3, n - 3, n - 2, n - 2, n - 1, n - 1, n, n));
}
V_OPERATION(B, v_block_0, (V x), _mm512_castsi512_si128(x))
TR_INLINE TR_TARGET V v_gray(B l0, B l1)
{
    V x = _mm512_inserti32x4(_mm512_zextsi128_si512(l0), b_xor(l0, l1), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(x, l1, 2), l1, 3);
}
V_OPERATION(V, v_in_last_lane, (B x), _mm512_inserti32x4(_mm512_setzero_si512(), x, 3))
V_OPERATION(B, b_load_masked, (const uint8_t *p, size_t n),
            _mm_maskz_loadu_epi8((__mmask16)_bzhi_u32(~0u, (unsigned)n), p))
TR_INLINE TR_TARGET void b_store_masked(uint8_t *p, B x, size_t n)
{
    _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), x);
}
V_OPERATION(B, b_merge_bytes, (B over, B x, unsigned at, size_t n),
            _mm_mask_mov_epi8(over, (__mmask16)(((1u << n) - 1) << at), x))
TR_INLINE TR_TARGET V v_insert_block(V x, size_t i, B b)
{
    if (__builtin_constant_p(i) && i == VBLOCKS - 1)
        return _mm512_inserti32x4(x, b, VBLOCKS - 1);
    return _mm512_mask_broadcast_i32x4(x, (__mmask16)(0xf << 4 * i), b);
}
TR_INLINE TR_TARGET B v_block_at(V x, size_t i)
{
    const B place = _mm_set_epi64x((int64_t)(2 * i + 1), (int64_t)(2 * i));
    return _mm512_castsi512_si128(_mm512_permutexvar_epi64(_mm512_castsi128_si512(place), x));
}
V_OPERATION(V, v_merge_bytes, (V over, V x, size_t n), _mm512_mask_mov_epi8(over, bytes_mask(n), x))
V_OPERATION(V, v_last_bytes_from, (unsigned n),
            _mm512_set_epi64((int64_t)(uint64_t)(n + 3) << 56, 0, (int64_t)(uint64_t)(n + 2) << 56,
                             0, (int64_t)(uint64_t)(n + 1) << 56, 0, (int64_t)(uint64_t)n << 56, 0))
V_OPERATION(V, v_last_bytes_and_j0, (unsigned n),
            _mm512_set_epi64(1LL << 56, 0, (int64_t)(uint64_t)(n + 2) << 56, 0,
                             (int64_t)(uint64_t)(n + 1) << 56, 0, (int64_t)(uint64_t)n << 56, 0))
V_OPERATION(B, b_shift_right64, (B x, int n), _mm_srli_epi64(x, n))
V_OPERATION(B, b_swap_halves, (B x), _mm_shuffle_epi32(x, 0x4e))
V_OPERATION(B, b_clmul_ll, (B a, B b), _mm_clmulepi64_si128(a, b, 0x00))
V_OPERATION(W, w_zero_extend, (B x), _mm256_zextsi128_si256(x))
V_OPERATION(B, w_block_0, (W x), _mm256_castsi256_si128(x))
V_OPERATION(B, w_block_1, (W x), _mm256_extracti128_si256(x, 1))
V_OPERATION(W, w_load, (const uint8_t *p), _mm256_loadu_si256((const __m256i *)p))
TR_INLINE TR_TARGET void w_store(uint8_t *p, W x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}
V_OPERATION(W, w_broadcast, (B x), _mm256_broadcastsi128_si256(x))
V_OPERATION(W, w_load_all, (const uint8_t *p), w_broadcast(b_load(p)))
V_OPERATION(W, w_aesenc, (W x, W key), _mm256_aesenc_epi128(x, key))
V_OPERATION(W, w_aesenclast, (W x, W key), _mm256_aesenclast_epi128(x, key))
V_OPERATION(V, v_of_two, (W a, W b), _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1))
V_OPERATION(W, w_xor3, (W a, W b, W c), _mm256_ternarylogic_epi64(a, b, c, 0x96))
V_OPERATION(W, w_swap_halves, (W x), _mm256_shuffle_epi32(x, 0x4e))
/* In v_clmul_two_*, the instruction clears the other lanes. With intrinsics, gcc clears them
 * again. */
#define TWO_PRODUCTS(name, which)                                                                  \
    V_OPERATION(W, w_clmul_##name, (W a, W b), _mm256_clmulepi64_epi128(a, b, which))              \
    TR_INLINE TR_TARGET V v_clmul_two_##name(V a, V b)                                             \
    {                                                                                              \
        V product;                                                                                 \
        __asm__("vpclmulqdq %3, %t2, %t1, %t0" : "=v"(product) : "v"(a), "v"(b), "i"(which));      \
        return product;                                                                            \
    }
TWO_PRODUCTS(ll, 0x00)
TWO_PRODUCTS(lh, 0x10)
TWO_PRODUCTS(hl, 0x01)
TWO_PRODUCTS(hh, 0x11)
#undef TWO_PRODUCTS
V_OPERATION(B, v_block_1, (V x), _mm512_extracti32x4_epi32(x, 1))
V_OPERATION(B, v_block_2, (V x), _mm512_extracti32x4_epi32(x, 2))
V_OPERATION(B, v_block_3, (V x), _mm512_extracti32x4_epi32(x, 3))
/* As b_load_12(). Blends instead of shuffles make most messages of GCM 1.01 to 1.05 times as fast,
 * but sealing 113 to 256 bytes would take 1.03 to 1.25 times as long (Emerald Rapids). */
TR_INLINE TR_TARGET B b_load_12_by_blends(const uint8_t *p)
{
    int32_t first, middle, last;
    __builtin_memcpy(&first, p, 4);
    __builtin_memcpy(&middle, p + 4, 4);
    __builtin_memcpy(&last, p + 8, 4);
    B second = _mm_set1_epi32(middle), third = _mm_set1_epi32(last);
    __asm__("" : "+x"(second), "+x"(third)); /* keeps gcc from using shuffles */
    return _mm_blend_epi32(_mm_blend_epi32(_mm_cvtsi32_si128(first), second, 2), third, 4);
}
V_OPERATION(V, v_tiny_counters, (void),
            _mm512_set_epi64(1ll << 56, 0, 0, 0, 3ll << 56, 0, 2ll << 56, 0))
TR_INLINE TR_TARGET V v_tiny_powers(const uint8_t *p, unsigned blocks)
{
    static const uint64_t place[3][8] __attribute__((aligned(64))) = {
        {4, 5, 4, 5, 6, 7, 4, 5}, {4, 5, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1}};
    return _mm512_permutexvar_epi64(_mm512_load_si512(place[blocks]), v_load(p));
}

TR_INLINE TR_TARGET void v_scatter_pointers(uint8_t *const *p, V x)
{
    /* Upper halves of YMM registers: gcc stores them without a shuffle. */
    const __m256i low = _mm512_castsi512_si256(x), high = _mm512_extracti64x4_epi64(x, 1);
    b_store(p[0], _mm256_castsi256_si128(low));
    b_store(p[1], _mm256_extracti128_si256(low, 1));
    b_store(p[2], _mm256_castsi256_si128(high));
    b_store(p[3], _mm256_extracti128_si256(high, 1));
}
TR_INLINE TR_TARGET V v_of_blocks(B a, B b, B c, B d)
{
    V x = _mm512_inserti32x4(_mm512_castsi128_si512(a), b, 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(x, c, 2), d, 3);
}
/* (a ^ b) & mask */
V_OPERATION(V, v_xor_and, (V a, V b, V mask), _mm512_ternarylogic_epi64(a, b, mask, 0x28))
V_OPERATION(V, v_gather_pointers, (const uint8_t *const *p),
            v_of_blocks(b_load(p[0]), b_load(p[1]), b_load(p[2]), b_load(p[3])))
/* Ones in the first n bytes, in all if n is more than 16. */
V_OPERATION(B, b_first_bytes, (size_t n),
            _mm_maskz_set1_epi8((__mmask16)_bzhi_u32(~0u, n < 16 ? (unsigned)n : 16), -1))
/* The order of bytes for v_shuffle_bytes() that does the same as v_byteswap(). */
V_OPERATION(V, v_byteswap_order, (void),
            v_broadcast(_mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f)))
V_OPERATION(V, v_shuffle_bytes, (V x, V order), _mm512_shuffle_epi8(x, order))
V_OPERATION(V, v_low_by_two, (V a, V b),
            _mm512_permutex2var_epi64(a, _mm512_set_epi64(14, 12, 6, 4, 10, 8, 2, 0), b))
V_OPERATION(V, v_high_by_two, (V a, V b),
            _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 13, 7, 5, 11, 9, 3, 1), b))
V_OPERATION(V, v_join_high_halves, (V a, V b), _mm512_shuffle_i64x2(a, b, 0xee))
V_OPERATION(int, v_unequal_halves, (V a, V b), _mm512_cmpneq_epi64_mask(a, b))
V_OPERATION(unsigned, v_nonzero_halves, (V x), _mm512_test_epi64_mask(x, x))
/* x | (a ^ b) */
V_OPERATION(V, v_or_xor, (V x, V a, V b), _mm512_ternarylogic_epi64(x, a, b, 0xf6))
/* Lane i, a constant, in all lanes. */
V_OPERATION(V, v_lane_in_all, (V x, int i),
            i == 0   ? _mm512_shuffle_i32x4(x, x, 0x00)
            : i == 1 ? _mm512_shuffle_i32x4(x, x, 0x55)
            : i == 2 ? _mm512_shuffle_i32x4(x, x, 0xaa)
                     : _mm512_shuffle_i32x4(x, x, 0xff))
V_OPERATION(V, v_even_blocks, (V a, V b), _mm512_shuffle_i32x4(a, b, 0x88))
V_OPERATION(V, v_odd_blocks, (V a, V b), _mm512_shuffle_i32x4(a, b, 0xdd))

#endif
