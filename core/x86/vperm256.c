/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by vector permutation (vperm.h) in 256-bit registers, two blocks in each, for the parallel modes: from one block on,
 * where the bitsliced forms need a group to be worth their transposition.
 *
 * The bound: 13 shuffles, of which Zen 4 does two a cycle, and 17 other operations a round and register, four a cycle
 * together: 7.5 cycles. Four registers in flight hide its latency of 19 cycles. Reached are 8.8 cycles (16 KiB of ECB, CTR), which
 * is as fast there as bitslice256; that is to be preferred from 16 blocks on for processors with one shuffle a cycle, Intel's before
 * Ice Lake (not measured). One or two blocks take 60 ns, the 40 of vperm's latency and the conversion of the round keys.
 */
#include "../backend.h"
#include "../util.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET __attribute__((target("avx2")))
#    define VBLOCKS   2u
#    define MOST      4u
#    define KEEP(x)   __asm__("" : "+x"(x))

typedef uint8_t V __attribute__((vector_size(32)));
typedef uint64_t x64 __attribute__((vector_size(32)));

TR_INLINE TR_TARGET V v_load(const uint8_t *p)
{
    return (V)_mm256_loadu_si256((const __m256i *)p);
}
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    _mm256_storeu_si256((__m256i *)p, (__m256i)x);
}
/* A part of two blocks is one. */
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    return (void)n, (V)_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128((__m256i)x));
}
TR_INLINE TR_TARGET V v_spread(__m128i x)
{
    return (V)_mm256_broadcastsi128_si256(x);
}
TR_INLINE TR_TARGET V v_lanes(const uint8_t *p)
{
    return v_spread(_mm_load_si128((const __m128i *)p));
}
TR_INLINE TR_TARGET V v_shuffle(V x, V index)
{
    return (V)_mm256_shuffle_epi8((__m256i)x, (__m256i)index);
}
TR_INLINE TR_TARGET V v_shift_in(V before, V x)
{
    return (V)_mm256_permute2x128_si256((__m256i)before, (__m256i)x, 0x21);
}
TR_INLINE TR_TARGET V high_nibbles(V x)
{
    return (V)((x64)x >> 4) & 0x0f;
}
TR_INLINE TR_TARGET V low_nibbles(V x)
{
    return x & 0x0f;
}

#    include "unroll.h"
#    include "vperm.h"

struct schedule {
    uint8_t round[16][TR_BLOCK];
    unsigned rounds;
} TR_ALIGNED(32);

/* As in vperm.c, two keys at once: those between the first and the last are an odd number. */
TR_INLINE TR_TARGET void prepare(struct schedule *s, const struct tr_aes_key *key, int inverse)
{
    const uint8_t(*keys)[TR_BLOCK] = inverse ? key->dec : key->enc;
    const __m128i c = _mm_set1_epi8(0x63);
    const unsigned n = key->rounds;
    s->rounds = n;
    for (unsigned r = 1; r < n; r += 2)
        v_store(s->round[r],
                map_bytes(inverse ? enter_decryption : enter_encryption, v_load(keys[r]) ^ 0x63));
    __m128i first = _mm_loadu_si128((const __m128i *)keys[0]);
    __m128i last = _mm_loadu_si128((const __m128i *)keys[n]);
    if (inverse)
        first = _mm_xor_si128(first, c);
    else
        last = _mm_xor_si128(last, c);
    _mm_store_si128((__m128i *)s->round[0], first);
    _mm_store_si128((__m128i *)s->round[n], last);
}

TR_INLINE TR_TARGET void forget(struct schedule *s)
{
    for (unsigned r = 0; r < 16; r += 2)
        v_store(s->round[r], (V){0});
    __asm__ volatile("" : : "r"(s) : "memory");
}

TR_INLINE TR_TARGET void crypt(const struct schedule *s, V x[], unsigned n, int inverse)
{
    V k = v_lanes(s->round[0]);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] = map_bytes(inverse ? enter_decryption : enter_encryption, x[j] ^ k);
    for (unsigned r = 1; r < s->rounds; r++) {
        k = v_lanes(s->round[r]);
        UNROLL
        for (unsigned j = 0; j < n; j++)
            x[j] = inverse ? decrypt_round(x[j], k) : encrypt_round(x[j], k);
    }
    k = v_lanes(s->round[s->rounds]);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] = last_round(x[j], k, inverse);
}

#    include "permute.h"

const struct tr_backend tr_vperm256 = {
    .name = "vperm256",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2,
    .weaker = &tr_bitslice128,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_PERMUTE_OPS, TR_WIDE_GHASH_OPS},
};
#endif
