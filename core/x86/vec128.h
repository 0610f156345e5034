/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector block of one AES block: AES-NI on XMM registers. */
#include <tmmintrin.h>
#include <wmmintrin.h>

#define TR_TARGET __attribute__((target("aes,ssse3")))
#define VBLOCKS   1

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
/* The blocks of x moved up by one place, with the last block of before in front. */
TR_INLINE TR_TARGET V v_shift_in(V before, V x)
{
    return (void)x, before;
}

TR_INLINE TR_TARGET V v_xor(V a, V b)
{
    return _mm_xor_si128(a, b);
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
