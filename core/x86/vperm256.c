/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by vector permutation (vperm.h) in YMM registers, two blocks in each, for the parallel modes.
 * Below 16 blocks, this is faster than bitslicing, which has to transpose its blocks.
 *
 * The bound is the number of operations. An encryption round of one register has 13 shuffles and 17
 * other operations. Zen 4 starts four operations a cycle, at most two of them shuffles, so a round
 * takes at least 7.5 cycles. With four registers in flight, a round takes 8.8 cycles
 * (docs/tuning/software.md).
 */
#include "dispatch/backend.h"
#include "modes/ghash.h"
#include "util.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET     __attribute__((target("avx2")))
#    define VBLOCKS       2u
#    define GROUP_VECTORS 4u
#    define KEEP(x)       __asm__("" : "+x"(x))

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
/* A partial vector has one block. */
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    return (void)n, (V)_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128((__m256i)x));
}
TR_INLINE TR_TARGET V v_broadcast(__m128i x)
{
    return (V)_mm256_broadcastsi128_si256(x);
}
TR_INLINE TR_TARGET V v_lanes(const uint8_t *p)
{
    return v_broadcast(_mm_load_si128((const __m128i *)p));
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

#    include "simd/unroll.h"
#    include "simd/vperm.h"

struct schedule {
    uint8_t round[16][TR_BLOCK];
    unsigned rounds;
} TR_ALIGNED(32);

/* As prepare() in vperm.c, but converts two round keys at once. The last pair includes round key n,
 * whose converted form the last line overwrites. */
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

TR_INLINE TR_TARGET void cleanse_schedule(struct schedule *s)
{
    for (unsigned r = 0; r < 16; r += 2)
        v_store(s->round[r], (V){0});
    __asm__ volatile("" : : "r"(s) : "memory");
}

TR_INLINE TR_TARGET void crypt(const struct schedule *s, V x[], unsigned n, int inverse, int two)
{
    (void)two;
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

#    include "simd/permute.h"

/*
 * ---- GHASH ----
 *
 * On Zen 4, a single block takes 42 cycles and is latency-bound. Two blocks together take 46
 * cycles, because they share the byte moves and the reduction. They need the multiplication tables
 * of H^2, which are in the key object. From GHASH_LONG blocks on, ghash_groups() of vperm_ghash.h
 * hashes one block in each lane and takes 16 cycles a block.
 */

#    define v_lanes_unaligned(p) v_broadcast(_mm_loadu_si128((const __m128i *)(p)))
#    define GHASH_LANES          2u
#    include "simd/vperm_ghash.h"

/* Shuffle indices for j = 0 to 15: [0][j] moves a lane up by j bytes, and [1][j] moves a lane down
 * by 16 - j bytes. */
#    define BYTE(n) (uint8_t)((n) < 0 || (n) > 15 ? 0x80 : (n))
#    define EIGHT(n)                                                                               \
        BYTE(n), BYTE((n) + 1), BYTE((n) + 2), BYTE((n) + 3), BYTE((n) + 4), BYTE((n) + 5),        \
            BYTE((n) + 6), BYTE((n) + 7)
#    define ROW(n)                                                                                 \
        {                                                                                          \
            EIGHT(n), EIGHT((n) + 8)                                                               \
        }
static const uint8_t ghash_rows[2][16][16] TR_ALIGNED(32) = {
    {ROW(0), ROW(-1), ROW(-2), ROW(-3), ROW(-4), ROW(-5), ROW(-6), ROW(-7), ROW(-8), ROW(-9),
     ROW(-10), ROW(-11), ROW(-12), ROW(-13), ROW(-14), ROW(-15)},
    {ROW(16), ROW(15), ROW(14), ROW(13), ROW(12), ROW(11), ROW(10), ROW(9), ROW(8), ROW(7), ROW(6),
     ROW(5), ROW(4), ROW(3), ROW(2), ROW(1)}};

TR_INLINE TR_TARGET V sum_of_lanes(V x)
{
    return x ^ (V)_mm256_permute4x64_epi64((__m256i)x, 0x4e);
}

/*
 * Returns x[0] h^n XOR .. XOR x[n - 1] h, modulo the polynomial. Each x and the result are the same
 * in both lanes. In step j (0, 2, .. 14), lane l (0 or 1) looks up its nibbles in multiplication
 * table j + l. A block therefore takes eight steps of two look-ups. In each step, `sum` is the XOR
 * of the look-ups of all blocks. The code moves lane l of `sum` up by j + l bytes, and XORs the
 * result into `first`. The move shifts j + l bytes out of the lane. To keep them, the code also
 * moves lane l of `sum` down by 16 - j - l bytes, and XORs that result into `second`.
 */
TR_INLINE TR_TARGET V multiply_and_add(const struct ghash_tables *const power[], const V x[],
                                       unsigned n)
{
    V high[2], low[2], first = {0}, second = {0};
    UNROLL
    for (unsigned i = 0; i < n; i++) {
        high[i] = high_nibbles(x[i]);
        low[i] = low_nibbles(x[i]);
    }
    UNROLL
    for (unsigned j = 0; j < TR_BLOCK; j += 2) {
        V sum = {0};
        UNROLL
        for (unsigned i = n; i-- > 0;) { /* x[0] last, as it needs the previous product */
            const struct ghash_tables *t = power[n - 1 - i];
            sum ^= v_shuffle(v_load(t->byte[0][j]), high[i]);
            sum ^= v_shuffle(v_load(t->byte[1][j]), low[i]);
        }
        second ^= v_shuffle(sum, v_load(ghash_rows[1][j]));
        first ^= v_shuffle(sum, v_load(ghash_rows[0][j]));
    }
    second = sum_of_lanes(second);
    V h = high_nibbles(second), l = low_nibbles(second);
    V beyond = look_up_both(ghash_fold[1], l, h), within = look_up_both(ghash_fold[0], l, h);
    return sum_of_lanes(first) ^ within ^ ghash_move(beyond, 15);
}

/*
 * Computes the multiplication tables of h^2, when a call first needs them. Returns 0 if another
 * thread is computing them. The caller then hashes without them (modes/ghash.h).
 */
static __attribute__((__noinline__)) TR_TARGET int make_square(const struct tr_ghash_key *k,
                                                               const struct ghash_tables *h)
{
    uint8_t square[TR_BLOCK];
    uintptr_t state;
    if (!tr_ghash_claim(k, &state))
        return 0;
    if (state != (uintptr_t)k) { /* another thread has published the tables meanwhile */
        tr_ghash_publish(k, 1);
        return 1;
    }
    V x = v_lanes_unaligned(k->h);
    v_store_part(square, multiply_and_add(&h, &x, 1), 1);
    tr_vperm_ghash_tables((struct ghash_tables *)(uintptr_t)k->square, square);
    tr_cleanse_inline(square, sizeof(square));
    tr_ghash_publish(k, 1);
    return 1;
}

/* The shortest call, in blocks, that gains from ghash_groups(), which first computes the
 * multiplication tables of more powers. */
#    define GHASH_LONG 96u

TR_TARGET void tr_vperm256_ghash(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 size_t blocks, void *state)
{
    struct tr_ghash *g = state;
    const struct ghash_tables *const power[2] = {(const struct ghash_tables *)g->key->power,
                                                 (const struct ghash_tables *)g->key->square};
    (void)key, (void)out;
    if (blocks >= GHASH_LONG) {
        size_t done = ghash_groups(g, in, blocks);
        in += done * TR_BLOCK;
        blocks -= done;
    }
    const int square =
        blocks > 1 && (tr_ghash_published(g->key) != 0 || make_square(g->key, power[0]));
    V y = v_lanes_unaligned(g->hash);
    for (; square && blocks > 1; blocks -= 2, in += 2 * (size_t)TR_BLOCK) {
        V x[2] = {y ^ v_lanes_unaligned(in), v_lanes_unaligned(in + TR_BLOCK)};
        y = multiply_and_add(power, x, 2);
    }
    for (; blocks != 0; blocks--, in += TR_BLOCK) {
        y ^= v_lanes_unaligned(in);
        y = multiply_and_add(power, &y, 1);
    }
    v_store_part(g->hash, y, 1);
}

const struct tr_backend tr_vperm256 = {
    .name = "vperm256",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2,
    .weaker = &tr_bitslice128,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_PERMUTE_OPS, TR_WIDE_GHASH_OPS},
};
#endif
