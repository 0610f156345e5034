/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by vector permutation, for processors with SSSE3 but no AES instructions: PSHUFB looks sixteen
 * bytes up in a table of sixteen that is a register, so nothing depends on memory. The idea is Hamburg's
 * ("Accelerating AES with Vector Permute Instructions", CHES 2009).
 *
 * The inverse. Let K = GF(16) in GF(256), a in K such that t^2 + a t + a is irreducible over K, and w a
 * root of it. An element is k + i w, two nibbles. Its norm is N = k^2 + a i k + a i^2, and its inverse
 * ((k + a i) + i w) / N. With j = i + k,
 *
 *     io = 1 / (1/i + a/k) + j = N / (k + a i)
 *     jo = 1 / (1/j + a/k) + i = N / (k + a i + a k)
 *
 * (put each over its denominator to see it): five look-ups in tables of K. Then 1/io and 1/jo are p = (k +
 * a i)/N and q = p + a k/N, of which the inverse is a linear function, p + w (p + (p + q)/a)/a. So any
 * function that is linear in the inverse, such as the S-box without its constant, is the sum of a table
 * at io and a table at jo. Division by zero is a byte with its high bit set, which PSHUFB looks up as
 * zero, the inverse of infinity.
 *
 * The round. The state is kept in nibbles (i, k). When decrypting it has the inverse affine map
 * behind it as well, so that no table is needed before the inverse. The tables after it include the
 * factors of MixColumns, which with ShiftRows is then four permutations. The constant 0x63 of the S-box
 * passes MixColumns unchanged and is part of the round keys. scripts/vperm-tables writes the tables.
 *
 * Bound: encryption 13 shuffles and some 16 other operations a round and block; the latency of a
 * round is about 14 operations, which four blocks at once hide.
 */
#include "../backend.h"
#include "../part.h"
#include "../util.h"
#if TR_X86
#    include "vperm_tables.h"

#    include <tmmintrin.h>

#    define TR_TARGET __attribute__((target("ssse3")))
#    define BLOCKS    4u
#    if defined(__clang__)
#        define UNROLL _Pragma("clang loop unroll(full)")
#    else
#        define UNROLL _Pragma("GCC unroll 4")
#    endif

typedef __m128i V;

TR_INLINE TR_TARGET V load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

TR_INLINE TR_TARGET V look_up(const uint8_t table[16], V x)
{
    return _mm_shuffle_epi8(_mm_load_si128((const __m128i *)table), x);
}

TR_INLINE TR_TARGET V high_nibbles(V x)
{
    return _mm_and_si128(_mm_srli_epi16(x, 4), _mm_set1_epi8(0x0f));
}

TR_INLINE TR_TARGET V low_nibbles(V x)
{
    return _mm_and_si128(x, _mm_set1_epi8(0x0f));
}

/* The sum of a table at a and a table at b. */
TR_INLINE TR_TARGET V look_up_both(const uint8_t table[2][16], V a, V b)
{
    return _mm_xor_si128(look_up(table[0], a), look_up(table[1], b));
}

/* A linear map of bytes, by nibbles. */
TR_INLINE TR_TARGET V map_bytes(const uint8_t table[2][16], V x)
{
    return look_up_both(table, low_nibbles(x), high_nibbles(x));
}

struct inverse {
    V io, jo;
};

TR_INLINE TR_TARGET struct inverse invert_bytes(V x)
{
    V i = high_nibbles(x), k = low_nibbles(x), j = _mm_xor_si128(i, k);
    V ak = look_up(invert[1], k);
    V iak = _mm_xor_si128(look_up(invert[0], i), ak),
      jak = _mm_xor_si128(look_up(invert[0], j), ak);
    return (struct inverse){_mm_xor_si128(look_up(invert[0], iak), j),
                            _mm_xor_si128(look_up(invert[0], jak), i)};
}

/* ShiftRows (or its inverse), and then each row takes the place of the one rows above it: byte 4 c + r of
 * the result comes from row r + rows, in the column that ShiftRows brings to c. */
#    define FROM(r, c, rows, step)                                                                 \
        (char)(4 * (((c) + (step) * (((r) + (rows)) % 4) + 12) % 4) + ((r) + (rows)) % 4)
#    define COLUMN(c, rows, step)                                                                  \
        FROM(0, c, rows, step), FROM(1, c, rows, step), FROM(2, c, rows, step),                    \
            FROM(3, c, rows, step)
#    define ROWS(rows, step)                                                                       \
        _mm_setr_epi8(COLUMN(0, rows, step), COLUMN(1, rows, step), COLUMN(2, rows, step),         \
                      COLUMN(3, rows, step))

TR_INLINE TR_TARGET V encrypt_round(V x, V key)
{
    struct inverse v = invert_bytes(x);
    V one = look_up_both(sub_1, v.io, v.jo), two = look_up_both(sub_2, v.io, v.jo);
    V three = _mm_xor_si128(one, two);
    key = _mm_xor_si128(key, _mm_shuffle_epi8(two, ROWS(0, 1)));
    key = _mm_xor_si128(key, _mm_shuffle_epi8(three, ROWS(1, 1)));
    one = _mm_xor_si128(_mm_shuffle_epi8(one, ROWS(2, 1)), _mm_shuffle_epi8(one, ROWS(3, 1)));
    return _mm_xor_si128(key, one);
}

TR_INLINE TR_TARGET V decrypt_round(V x, V key)
{
    struct inverse v = invert_bytes(x);
    V e = look_up_both(inv_sub_e, v.io, v.jo), b = look_up_both(inv_sub_b, v.io, v.jo);
    V d = look_up_both(inv_sub_d, v.io, v.jo), nine = look_up_both(inv_sub_9, v.io, v.jo);
    key = _mm_xor_si128(key, _mm_shuffle_epi8(e, ROWS(0, -1)));
    key = _mm_xor_si128(key, _mm_shuffle_epi8(b, ROWS(1, -1)));
    key = _mm_xor_si128(key, _mm_shuffle_epi8(d, ROWS(2, -1)));
    return _mm_xor_si128(key, _mm_shuffle_epi8(nine, ROWS(3, -1)));
}

/* ---- Keys ---- */

struct schedule {
    uint8_t enc[15][TR_BLOCK], dec[15][TR_BLOCK];
    unsigned rounds;
} TR_ALIGNED(16);

/* The first and last round keys stay as they are but for the constant; those between are in the
 * state's basis. */
TR_TARGET static void prepare(struct schedule *s, const struct tr_aes_key *key)
{
    const V c = _mm_set1_epi8(0x63);
    unsigned n = key->rounds;
    s->rounds = n;
    for (unsigned r = 0; r <= n; r++) {
        V e = load(key->enc[r]), d = load(key->dec[r]);
        e = r == 0 ? e : _mm_xor_si128(e, c);
        d = r == n ? d : _mm_xor_si128(d, c);
        e = r == 0 || r == n ? e : map_bytes(enter_encryption, e);
        d = r == 0 || r == n ? d : map_bytes(enter_decryption, d);
        _mm_store_si128((__m128i *)s->enc[r], e);
        _mm_store_si128((__m128i *)s->dec[r], d);
    }
}

/* SubWord on all four words, without a table. */
TR_TARGET static V sub_words(V x)
{
    struct inverse v = invert_bytes(map_bytes(enter_encryption, x));
    return _mm_xor_si128(look_up_both(sub_last, v.io, v.jo), _mm_set1_epi8(0x63));
}

TR_INLINE TR_TARGET V twice(V x)
{
    V carry = _mm_and_si128(_mm_cmpgt_epi8(_mm_setzero_si128(), x), _mm_set1_epi8(0x1b));
    return _mm_xor_si128(_mm_add_epi8(x, x), carry);
}

/* FIPS-197 section 5.3.3: 14, 11, 13 and 9 times the rows r, r + 1, r + 2 and r + 3. */
TR_TARGET static V inv_mix_columns(V x)
{
    V x2 = twice(x), x4 = twice(x2), x8 = twice(x4), x9 = _mm_xor_si128(x8, x);
    V e = _mm_xor_si128(x8, _mm_xor_si128(x4, x2));
    V b = _mm_shuffle_epi8(_mm_xor_si128(x9, x2), ROWS(1, 0));
    V d = _mm_shuffle_epi8(_mm_xor_si128(x9, x4), ROWS(2, 0));
    return _mm_xor_si128(_mm_xor_si128(e, b), _mm_xor_si128(d, _mm_shuffle_epi8(x9, ROWS(3, 0))));
}

static uint32_t load32(const uint8_t *p)
{
    return (uint32_t)part_load32(p);
}

/* KeyExpansion, FIPS-197 figure 11, on little-endian words: RotWord is then a rotation to the right. */
TR_TARGET static void expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    unsigned nk = key->rounds - 6, total = 4 * (key->rounds + 1);
    uint8_t *w = key->enc[0];
    uint32_t rcon = 1, last = load32(raw + 4 * (size_t)(nk - 1));
    __builtin_memcpy(w, raw, 4 * (size_t)nk);
    for (unsigned i = nk; i < total; i++) {
        if (i % nk == 0) {
            last = last >> 8 | last << 24;
            last = (uint32_t)_mm_cvtsi128_si32(sub_words(_mm_cvtsi32_si128((int)last))) ^ rcon;
            rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
        } else if (nk == 8 && i % nk == 4) {
            last = (uint32_t)_mm_cvtsi128_si32(sub_words(_mm_cvtsi32_si128((int)last)));
        }
        last ^= load32(w + 4 * (size_t)(i - nk));
        part_store32(w + 4 * (size_t)i, last);
    }
    unsigned n = key->rounds;
    for (unsigned r = 0; r <= n; r++) {
        V k = load(key->enc[n - r]);
        _mm_storeu_si128((__m128i *)key->dec[r], r == 0 || r == n ? k : inv_mix_columns(k));
    }
}

/* ---- Blocks ---- */

TR_INLINE TR_TARGET void crypt_blocks(const struct schedule *s, uint8_t *b, unsigned n, int inverse)
{
    const uint8_t(*keys)[16] = inverse ? s->dec : s->enc;
    V x[BLOCKS], k = load(keys[0]);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        x[j] = _mm_xor_si128(k, load(b + j * TR_BLOCK));
        x[j] = map_bytes(inverse ? enter_decryption : enter_encryption, x[j]);
    }
    for (unsigned r = 1; r < s->rounds; r++) {
        k = load(keys[r]);
        UNROLL
        for (unsigned j = 0; j < n; j++)
            x[j] = inverse ? decrypt_round(x[j], k) : encrypt_round(x[j], k);
    }
    k = load(keys[s->rounds]);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        struct inverse v = invert_bytes(x[j]);
        V last = inverse ? _mm_shuffle_epi8(look_up_both(inv_sub_last, v.io, v.jo), ROWS(0, -1))
                         : _mm_shuffle_epi8(look_up_both(sub_last, v.io, v.jo), ROWS(0, 1));
        _mm_storeu_si128((__m128i *)(b + j * TR_BLOCK), _mm_xor_si128(last, k));
    }
}

TR_TARGET static void encrypt(const struct schedule *s, uint8_t *b, unsigned n)
{
    if (n == 1)
        crypt_blocks(s, b, 1, 0);
    else
        crypt_blocks(s, b, BLOCKS, 0);
}

TR_TARGET static void decrypt(const struct schedule *s, uint8_t *b, unsigned n)
{
    if (n == 1)
        crypt_blocks(s, b, 1, 1);
    else
        crypt_blocks(s, b, BLOCKS, 1);
}

#    include "../portable/loops.h"

const struct tr_backend tr_vperm = {
    .name = "vperm",
    .features = TR_FEATURE_SSSE3,
    .weaker = &tr_bitslice,
    .expand_key = expand_key,
    .bulk = {TR_PORTABLE_OPS},
};
#endif
