/* SPDX-License-Identifier: BSD-2-Clause */
/* The block type B of the x86 vector types, in an XMM register. simd/vector.h says what each
 * function does. */
#ifndef TR_X86_BLOCK_H
#define TR_X86_BLOCK_H

#include "util.h"

#include <emmintrin.h>
#include <tmmintrin.h>
#include <wmmintrin.h>

typedef __m128i B;

/* The target of each vector type includes these features, so that its functions can inline the
 * functions below. */
#define TR_BLOCK_TARGET __attribute__((target("aes,ssse3")))

/* Functions over B and over V: the type of the result, the name, the parameters, the result. */
#define B_OPERATION(...) TR_OPERATION(TR_BLOCK_TARGET, __VA_ARGS__)
#define V_OPERATION(...) TR_OPERATION(TR_TARGET, __VA_ARGS__)

B_OPERATION(B, b_load, (const uint8_t *p), _mm_loadu_si128((const __m128i *)p))
B_OPERATION(B, b_load_halves, (const uint8_t *p),
            _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)p),
                               _mm_loadl_epi64((const __m128i *)(p + 8))))
TR_INLINE TR_BLOCK_TARGET B b_load_12(const uint8_t *p)
{
    int32_t first, middle, last;
    __builtin_memcpy(&first, p, 4);
    __builtin_memcpy(&middle, p + 4, 4);
    __builtin_memcpy(&last, p + 8, 4);
#ifdef __clang__ /* would combine two loads */
    __asm__("" : "+r"(middle));
#endif
    return _mm_set_epi32(0, last, middle, first);
}
TR_INLINE TR_BLOCK_TARGET void b_store(uint8_t *p, B x)
{
    _mm_storeu_si128((__m128i *)p, x);
}
TR_INLINE TR_BLOCK_TARGET void b_store_halves(uint8_t *p, B x)
{
    _mm_storel_epi64((__m128i *)p, x);
    _mm_storel_epi64((__m128i *)(p + 8), _mm_unpackhi_epi64(x, x));
}
B_OPERATION(B, b_zero, (void), _mm_setzero_si128())
B_OPERATION(B, b_of, (uint64_t low, uint64_t high), _mm_set_epi64x((int64_t)high, (int64_t)low))
B_OPERATION(B, b_xor, (B a, B b), _mm_xor_si128(a, b))
B_OPERATION(B, b_and, (B a, B b), _mm_and_si128(a, b))
B_OPERATION(B, b_shift_left64, (B x, int n), _mm_slli_epi64(x, n))
B_OPERATION(B, b_aesenc, (B x, B k), _mm_aesenc_si128(x, k))
B_OPERATION(B, b_aesenclast, (B x, B k), _mm_aesenclast_si128(x, k))
B_OPERATION(B, b_aesdec, (B x, B k), _mm_aesdec_si128(x, k))
B_OPERATION(B, b_aesdeclast, (B x, B k), _mm_aesdeclast_si128(x, k))
B_OPERATION(B, b_add64, (B x, unsigned n), _mm_add_epi64(x, _mm_set_epi64x(0, n)))
B_OPERATION(B, b_byteswap, (B x),
            _mm_shuffle_epi8(x, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f)))
B_OPERATION(B, b_load_half, (const uint8_t *p), _mm_loadl_epi64((const __m128i *)p))
TR_INLINE TR_BLOCK_TARGET void b_store_half(uint8_t *p, B x)
{
    _mm_storel_epi64((__m128i *)p, x);
}
B_OPERATION(B, b_column_bytes, (B x, uint32_t bytes),
            _mm_shuffle_epi8(x, _mm_set1_epi32((int)bytes)))
B_OPERATION(B, b_select_bytes, (B x, B indices), _mm_shuffle_epi8(x, indices))
B_OPERATION(B, b_sub_columns, (B x, uint32_t rcon),
            _mm_aesenclast_si128(x, _mm_set1_epi32((int)rcon)))
B_OPERATION(B, b_inv_mix_columns, (B x), _mm_aesimc_si128(x))
B_OPERATION(int, b_equal, (B a, B b), _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xffff)
#define b_shift_bytes_left(x, n) _mm_slli_si128((x), (n))

#endif
