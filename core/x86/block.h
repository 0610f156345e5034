/* SPDX-License-Identifier: BSD-2-Clause */
/* A single AES block in an XMM register, beside the vectors of any width; included by the vector blocks. */
#include <emmintrin.h>
#include <tmmintrin.h>
#include <wmmintrin.h>

typedef __m128i B;

/* AESENC adds the round key last, after MixColumns. */
#define KEY_FIRST  0
/* The kind of register that holds a vector, as a constraint of asm. */
#define V_REGISTER "v"

TR_INLINE TR_TARGET B b_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}
/* In two loads of half a block, each of which a store of half a block reaches. */
TR_INLINE TR_TARGET B b_load_halves(const uint8_t *p)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)p),
                              _mm_loadl_epi64((const __m128i *)(p + 8)));
}
TR_INLINE TR_TARGET void b_store(uint8_t *p, B x)
{
    _mm_storeu_si128((__m128i *)p, x);
}
/* In two stores of half a block. */
TR_INLINE TR_TARGET void b_store_halves(uint8_t *p, B x)
{
    _mm_storel_epi64((__m128i *)p, x);
    _mm_storel_epi64((__m128i *)(p + 8), _mm_unpackhi_epi64(x, x));
}
TR_INLINE TR_TARGET B b_zero(void)
{
    return _mm_setzero_si128();
}
TR_INLINE TR_TARGET B b_of(uint64_t low, uint64_t high)
{
    return _mm_set_epi64x((int64_t)high, (int64_t)low);
}
TR_INLINE TR_TARGET B b_xor(B a, B b)
{
    return _mm_xor_si128(a, b);
}
TR_INLINE TR_TARGET B b_aesenc(B x, B k)
{
    return _mm_aesenc_si128(x, k);
}
TR_INLINE TR_TARGET B b_aesenclast(B x, B k)
{
    return _mm_aesenclast_si128(x, k);
}
TR_INLINE TR_TARGET B b_aesdec(B x, B k)
{
    return _mm_aesdec_si128(x, k);
}
TR_INLINE TR_TARGET B b_aesdeclast(B x, B k)
{
    return _mm_aesdeclast_si128(x, k);
}
/* n added to the last byte. */
TR_INLINE TR_TARGET B b_add_last(B x, unsigned n)
{
    return _mm_add_epi8(x, _mm_set_epi64x((int64_t)((uint64_t)n << 56), 0));
}
/* The order of bytes reversed. */
TR_INLINE TR_TARGET B b_reverse(B x)
{
    return _mm_shuffle_epi8(x, _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f));
}
