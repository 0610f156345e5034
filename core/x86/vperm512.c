/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by byte permutation in ZMM registers (AVX-512 VBMI). VPERMI2B looks up bytes in a table of
 * 128 bytes in two registers. The S-box is therefore two look-ups, and a blend by each byte's
 * highest bit. Unlike in vperm.h, the round keys need no conversion. No address depends on data,
 * because the S-box tables are loaded whole. Valgrind does not support AVX-512: `make
 * constant-time` checks this backend with crates/taint.
 *
 * The bound on Zen 4 is 7.2 cycles for a round of 64 bytes, measured in a loop of its operations
 * alone. With eight vectors in flight, it takes 8.2 cycles. Encryption of one or two blocks, and
 * the serial modes, are latency-bound. A round then takes at least 12 cycles, 7 for a look-up and 5
 * for shuffles and XORs. It takes 12.6 here (docs/tuning/software.md).
 */
#include "dispatch/backend.h"
#include "util.h"
#if TR_WIDE_BITSLICE
#    include <immintrin.h>
#    define TR_TARGET     __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vbmi")))
#    define VBLOCKS       4u
#    define GROUP_VECTORS 8

typedef uint8_t V __attribute__((vector_size(64)));
typedef uint64_t x64 __attribute__((vector_size(64)));

#    include "simd/row_moves.h"
#    include "simd/unroll.h"
#    include "simd/vperm_tables.h"

TR_INLINE TR_TARGET V v_load(const uint8_t *p)
{
    return (V)_mm512_loadu_si512(p);
}
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    _mm512_storeu_si512(p, (__m512i)x);
}
/* The next two functions load or store the first n blocks, 1 to 3. A load sets the other blocks to
 * 0. A store leaves their memory unchanged. */
TR_INLINE TR_TARGET V v_load_part(const uint8_t *p, unsigned n)
{
    return (V)_mm512_maskz_loadu_epi64((__mmask8)((1u << 2 * n) - 1), p);
}
/* Uses no mask, so that the store is forwarded to later loads. */
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    if (n == 1) {
        _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128((__m512i)x));
        return;
    }
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256((__m512i)x));
    if (n == 3)
        _mm_storeu_si128((__m128i *)(p + 32), _mm512_extracti32x4_epi32((__m512i)x, 2));
}
TR_INLINE TR_TARGET V v_broadcast(__m128i x)
{
    return (V)_mm512_broadcast_i32x4(x);
}
TR_INLINE TR_TARGET V v_all(const uint8_t *p)
{
    return v_broadcast(_mm_loadu_si128((const __m128i *)p));
}
TR_INLINE TR_TARGET V v_lanes(const uint8_t *p)
{
    return v_all(p);
}
TR_INLINE TR_TARGET V v_shuffle(V x, V index)
{
    return (V)_mm512_shuffle_epi8((__m512i)x, (__m512i)index);
}
TR_INLINE TR_TARGET V v_shift_in(V before, V x)
{
    return (V)_mm512_alignr_epi64((__m512i)x, (__m512i)before, 6);
}
TR_INLINE TR_TARGET V v_rows_up(V x, unsigned rows)
{
    return (V)(rows == 1 ? _mm512_ror_epi32((__m512i)x, 8) : _mm512_ror_epi32((__m512i)x, 16));
}
TR_INLINE TR_TARGET V xor3(V a, V b, V c)
{
    return (V)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
}

/* ---- The round ---- */

struct table {
    V part[4];
};

TR_INLINE TR_TARGET struct table load_table(const uint8_t bytes[256])
{
    return (struct table){
        {v_load(bytes), v_load(bytes + 64), v_load(bytes + 128), v_load(bytes + 192)}};
}

TR_INLINE TR_TARGET V look_up(const struct table *t, V x)
{
    __m512i low = _mm512_permutex2var_epi8((__m512i)t->part[0], (__m512i)x, (__m512i)t->part[1]);
    __m512i high = _mm512_permutex2var_epi8((__m512i)t->part[2], (__m512i)x, (__m512i)t->part[3]);
    return (V)_mm512_mask_blend_epi8(_mm512_movepi8_mask((__m512i)x), low, high);
}

/*
 * The reduction of a doubling: 0x1b for bytes whose high bit is set, else 0 (FIPS-197 section
 * 4.2.1). The double of each byte of x is x + x, XORed with reduction(x).
 */
TR_INLINE TR_TARGET V reduction(V x)
{
    __mmask64 high = _mm512_movepi8_mask((__m512i)x);
    return (V)_mm512_maskz_mov_epi8(high, _mm512_set1_epi8(0x1b));
}

/*
 * MixColumns and the XOR of a round key. Let a1, a2 and a3 be the rows after row a0. MixColumns is
 * 2 a0 ^ 3 a1 ^ a2 ^ a3. Let t = a0 ^ a1, and let t2 = a2 ^ a3, which is t moved by two rows. The
 * code computes 2 t ^ a1 ^ t2.
 */
TR_INLINE TR_TARGET V mix_columns(V x, V key)
{
    V a1 = v_rows_up(x, 1), t = x ^ a1;
    return xor3(xor3(t + t, a1, v_rows_up(t, 2)), reduction(t), key);
}

/* InvMixColumns is MixColumns after a product with the circulant matrix of {5, 0, 4, 0}. Computes
 * that product as a ^ 4 (a ^ a2), where a2 is a moved by two rows. */
TR_INLINE TR_TARGET V times_5_0_4_0(V x)
{
    V w = x ^ v_rows_up(x, 2), w2 = (w + w) ^ reduction(w);
    return xor3(x, w2 + w2, reduction(w2));
}

/* ShiftRows and its inverse. */
static const uint8_t shift_rows[2][16] TR_ALIGNED(16) = {ROW_MOVES(1, 0, 0), ROW_MOVES(-1, 0, 0)};

struct schedule {
    const uint8_t (*round)[TR_BLOCK];
    unsigned rounds;
};

TR_INLINE TR_TARGET void prepare(struct schedule *s, const struct tr_aes_key *key, int inverse)
{
    *s = (struct schedule){inverse ? key->dec : key->enc, key->rounds};
}

TR_INLINE TR_TARGET void cleanse_schedule(struct schedule *s)
{
    (void)s;
}

TR_INLINE TR_TARGET V substitute(const struct table *t, V x, V shift)
{
    return v_shuffle(look_up(t, x), shift);
}

/* ---- Encryption of one block or two ---- */

/*
 * This code is latency-bound. A second S-box table includes the factor 2 of MixColumns. ShiftRows
 * and MixColumns together take four shuffles, one for each term of MixColumns. All operations
 * except the look-ups use 256-bit registers: two 256-bit shuffles start each cycle, but only one
 * 512-bit shuffle.
 */
typedef uint8_t B __attribute__((vector_size(32)));

struct chain {
    struct table one, two;
    B row[4];
};

/* Shuffle indices: rows_up[i] does ShiftRows, then replaces each row r by row r + i. */
static const uint8_t rows_up[4][16] TR_ALIGNED(16) = {ROW_MOVES(1, 0, 0), ROW_MOVES(1, 1, 0),
                                                      ROW_MOVES(1, 2, 0), ROW_MOVES(1, 3, 0)};

TR_INLINE TR_TARGET B b_load(const uint8_t *p)
{
    return (B)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

TR_INLINE TR_TARGET void b_store(uint8_t *p, B x)
{
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128((__m256i)x));
}

TR_INLINE TR_TARGET B b_shuffle(B x, B index)
{
    return (B)_mm256_shuffle_epi8((__m256i)x, (__m256i)index);
}

TR_INLINE TR_TARGET B b_xor3(B a, B b, B c)
{
    return (B)_mm256_ternarylogic_epi64((__m256i)a, (__m256i)b, (__m256i)c, 0x96);
}

TR_INLINE TR_TARGET B b_look_up(const struct table *t, B x)
{
    __m512i i = _mm512_castsi256_si512((__m256i)x);
    __m512i low = _mm512_permutex2var_epi8((__m512i)t->part[0], i, (__m512i)t->part[1]);
    __m512i high = _mm512_permutex2var_epi8((__m512i)t->part[2], i, (__m512i)t->part[3]);
    return (B)_mm256_mask_blend_epi8(_mm256_movepi8_mask((__m256i)x), _mm512_castsi512_si256(low),
                                     _mm512_castsi512_si256(high));
}

TR_INLINE TR_TARGET B chain_round(const struct chain *c, B x, B key)
{
    B one = b_look_up(&c->one, x), two = b_look_up(&c->two, x);
    B sum = b_xor3(b_shuffle(one, c->row[2]), b_shuffle(one, c->row[3]), key);
    B last = b_shuffle(one ^ two, c->row[1]);
    return b_xor3(b_shuffle(two, c->row[0]), last, sum);
}

TR_INLINE TR_TARGET struct chain chain_tables(void)
{
    return (struct chain){
        load_table(sub_bytes),
        load_table(sub_bytes_2),
        {b_load(rows_up[0]), b_load(rows_up[1]), b_load(rows_up[2]), b_load(rows_up[3])}};
}

/* Does the n rounds after the XOR of the first round key. The last round key is `last`. */
TR_INLINE TR_TARGET B chain_rounds(const struct chain *c, const uint8_t (*keys)[TR_BLOCK],
                                   unsigned n, B x, B last)
{
    for (unsigned r = 1; r < n; r++)
        x = chain_round(c, x, b_load(keys[r]));
    return b_shuffle(b_look_up(&c->one, x), c->row[0]) ^ last;
}

/* ---- More blocks ---- */

TR_INLINE TR_TARGET void crypt(const struct schedule *s, V x[], unsigned n, int inverse, int two)
{
    if (two && !inverse) {
        const struct chain c = chain_tables();
        B b = (B)_mm512_castsi512_si256((__m512i)x[0]) ^ b_load(s->round[0]);
        b = chain_rounds(&c, s->round, s->rounds, b, b_load(s->round[s->rounds]));
        x[0] = (V)_mm512_castsi256_si512((__m256i)b);
        return;
    }
    const struct table t = load_table(inverse ? inv_sub_bytes : sub_bytes);
    const V shift = v_lanes(shift_rows[inverse]);
    V k = v_all(s->round[0]);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] ^= k;
    for (unsigned r = 1; r < s->rounds; r++) {
        k = v_all(s->round[r]);
        UNROLL
        for (unsigned j = 0; j < n; j++) {
            x[j] = substitute(&t, x[j], shift);
            x[j] = mix_columns(inverse ? times_5_0_4_0(x[j]) : x[j], k);
        }
    }
    k = v_all(s->round[s->rounds]);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] = substitute(&t, x[j], shift) ^ k;
}

#    include "simd/permute.h"

/* ---- The serial modes ---- */

/*
 * As in simd/serial.h, the last round of a block also does the first XOR of the next block, with
 * the operand f of the table below. The code XORs f into the last round key outside the chain.
 * After the last round, x is therefore the state of the next block. With K[0] as the first round
 * key:
 *
 *     OFB   f = K[0]                        output = x ^ f (the keystream block)
 *     CBC   f = K[0] ^ next input block     output = x ^ f
 *     CFB   f = K[0] ^ current input block  output = x ^ K[0]
 */
TR_INLINE TR_TARGET void serial(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                size_t blocks, uint8_t *iv, enum tr_op op)
{
    const struct chain c = chain_tables();
    const unsigned n = key->rounds;
    const B first = b_load(key->enc[0]), last = b_load(key->enc[n]);
    B x = b_load(iv) ^ (op == TR_OP_CBC_ENCRYPT ? first ^ b_load(in) : first), output = x;
    for (; blocks != 0; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        B f = first;
        if (op == TR_OP_CFB_ENCRYPT)
            f ^= b_load(in);
        else if (op == TR_OP_CBC_ENCRYPT && blocks > 1)
            f ^= b_load(in + TR_BLOCK);
        x = chain_rounds(&c, key->enc, n, x, last ^ f);
        output = x ^ (op == TR_OP_CFB_ENCRYPT ? first : f);
        b_store(out, op == TR_OP_OFB ? output ^ b_load(in) : output);
    }
    b_store(iv, output);
}

#    define SERIAL(name, op)                                                                       \
        TR_TARGET static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,  \
                                   size_t blocks, void *iv)                                        \
        {                                                                                          \
            serial(key, out, in, blocks, iv, op);                                                  \
        }
SERIAL(cbc_encrypt, TR_OP_CBC_ENCRYPT)
SERIAL(cfb_encrypt, TR_OP_CFB_ENCRYPT)
SERIAL(ofb, TR_OP_OFB)

const struct tr_backend tr_vperm512 = {
    .name = "vperm512",
    .features = TR_FEATURE_SSSE3 | TR_FEATURE_AVX | TR_FEATURE_AVX2 | TR_FEATURE_AVX512 |
                TR_FEATURE_AVX512VBMI,
    .weaker = &tr_bitslice512,
    .expand_key = tr_vperm_expand_key,
    .bulk = {TR_PERMUTE_OPS, [TR_OP_CBC_ENCRYPT] = cbc_encrypt, [TR_OP_CFB_ENCRYPT] = cfb_encrypt,
             [TR_OP_OFB] = ofb},
};
#endif
