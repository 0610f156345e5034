/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitsliced AES in wide registers, for all register widths. Eight vectors hold eight blocks for
 * each 128-bit lane. In vector i, byte p of a lane collects bit i of byte p from these eight
 * blocks. SubBytes is a circuit of logic gates (sbox_circuits.h). Byte shuffles within lanes move
 * the bytes (Käsper and Schwabe, "Faster and Timing-Attack Resistant AES-GCM", CHES 2009).
 *
 * The rounds omit ShiftRows, so after round r the state lacks r ShiftRows. The shuffles of
 * MixColumns and the byte order of the round keys therefore depend on r. Four ShiftRows change
 * nothing, so there are four variants of these shuffles and orders. A shuffle after the last round
 * does the missing ShiftRows. (Adomnicai and Peyrin, "Fixslicing AES-like Ciphers", CHES 2021.) The
 * S-box's constant 0x63 is XORed into the round keys.
 *
 * The bound is the number of operations. The S-box has 115 gates, or 74 if gates may have three
 * inputs. A round of eight registers also has 16 shuffles, 35 gates of MixColumns and AddRoundKey,
 * and 10 loads. With two-input gates, these are 176 operations. Zen 4 does four 256-bit or two
 * 512-bit operations a cycle, so the bounds are 44 and 88 cycles. A 256-bit round takes 69 cycles,
 * because 16 registers are too few for the S-box. A 512-bit round takes 91 cycles (Zen 4;
 * docs/tuning/software.md).
 *
 * This is a template. Define these names before you include it:
 *
 *   V                    the vector type, of 64-bit words
 *   VBLOCKS              the number of 128-bit lanes in a vector
 *   TR_TARGET            the target attribute of every function over V
 *   v_lanes(p)           loads the 16 bytes at p into every lane
 *   v_shuffle(x, index)  shuffles the bytes of x within lanes
 *   MIN_BLOCKS           the fewest blocks for which bitslicing is faster than SMALL_BACKEND
 *   SMALL_BACKEND        the backend for fewer than MIN_BLOCKS blocks
 *   TERNARY_GATES        1 if TERNARY is defined, else 0
 *   TERNARY(a, b, c, f)  a Boolean function of three inputs in one instruction. Its truth table is
 *                        the byte f, as in VPTERNLOG
 */
#ifndef TR_SIMD_BITSLICE_H
#define TR_SIMD_BITSLICE_H

#include "dispatch/backend.h"
#include "util.h"

#include <tmmintrin.h>

_Static_assert(TERNARY_GATES == 0 || TERNARY_GATES == 1, "0 or 1");
#if TERNARY_GATES
#    define XOR3(a, b, c)      TERNARY(a, b, c, 0x96)
#    define SELECT(mask, a, b) TERNARY(mask, a, b, 0xca)
#else
#    define XOR3(a, b, c)      ((a) ^ (b) ^ (c))
#    define SELECT(mask, a, b) ((b) ^ (((a) ^ (b)) & (mask)))
#endif
#include "modes/shape.h"
#include "simd/row_moves.h"
#include "simd/sbox_circuits.h"

/* The number of blocks in a group. The blocks of a group go through the rounds together. */
#define GROUP (8 * VBLOCKS)

TR_INLINE TR_TARGET V v_load(const uint8_t *p)
{
    V x;
    __builtin_memcpy(&x, p, sizeof(x));
    return x;
}

TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    __builtin_memcpy(p, &x, sizeof(x));
}

/* ---- Movements of bytes ---- */

/*
 * Byte shuffles that move rows up by one or two. Entry n is for a state that lacks n ShiftRows. The
 * shuffle does ShiftRows n times, moves the rows, and undoes the n ShiftRows.
 */
static const uint8_t up_1[4][16] TR_ALIGNED(16) = {ROW_MOVES(0, 1, -0), ROW_MOVES(1, 1, -1),
                                                   ROW_MOVES(2, 1, -2), ROW_MOVES(3, 1, -3)};
static const uint8_t up_2[4][16] TR_ALIGNED(16) = {ROW_MOVES(0, 2, -0), ROW_MOVES(1, 2, -1),
                                                   ROW_MOVES(2, 2, -2), ROW_MOVES(3, 2, -3)};
/* Entry n does ShiftRows n times. The inverse of entry n is entry 4 - n (modulo 4). */
static const uint8_t shift_rows[4][16] TR_ALIGNED(16) = {ROW_MOVES(0, 0, 0), ROW_MOVES(1, 0, 0),
                                                         ROW_MOVES(2, 0, 0), ROW_MOVES(3, 0, 0)};

/*
 * The number of ShiftRows that the state lacks after r rounds, modulo 4. In the inverse cipher, the
 * state lacks r inverse ShiftRows, which count as -r.
 */
#define MISSING(r, inverse) (((inverse) ? 16 - (r) : (r)) % 4)

/* ---- Slicing ---- */

/* Swaps the bits of y that `mask` selects with the bits of x that `mask << shift` selects. */
TR_INLINE TR_TARGET void swap(V *x, V *y, uint64_t mask, unsigned shift)
{
    const V m = (V){0} + mask;
#if TERNARY_GATES
    V up = *y << shift;
    *y = SELECT(m, *x >> shift, *y);
    *x = SELECT(m, *x, up);
#else
    V t = (*x >> shift ^ *y) & m;
    *y ^= t;
    *x ^= t << shift;
#endif
}

/* Transposes the 8 x 8 bits at each byte position. A second call undoes the first. */
TR_INLINE TR_TARGET void transpose(V q[8])
{
    const uint64_t ones = 0x5555555555555555u, twos = 0x3333333333333333u,
                   fours = 0x0f0f0f0f0f0f0f0fu;
    swap(&q[0], &q[1], ones, 1), swap(&q[2], &q[3], ones, 1);
    swap(&q[4], &q[5], ones, 1), swap(&q[6], &q[7], ones, 1);
    swap(&q[0], &q[2], twos, 2), swap(&q[1], &q[3], twos, 2);
    swap(&q[4], &q[6], twos, 2), swap(&q[5], &q[7], twos, 2);
    swap(&q[0], &q[4], fours, 4), swap(&q[1], &q[5], fours, 4);
    swap(&q[2], &q[6], fours, 4), swap(&q[3], &q[7], fours, 4);
}

/* ---- Keys ---- */

struct schedule {
    uint8_t round[15][8][TR_BLOCK];
    unsigned rounds;
} TR_ALIGNED(16);

/*
 * Bitslices the round keys. The key object has no room for the result, so every call repeats this
 * step. The step takes 10 % of the time of one group.
 */
TR_TARGET static void prepare(struct schedule *s, const struct tr_aes_key *key, int inverse)
{
    unsigned n = key->rounds;
    s->rounds = n;
    for (unsigned r = 0; r <= n; r++) {
        const uint8_t *k = inverse ? key->dec[r] : key->enc[r];
        __m128i x = _mm_loadu_si128((const __m128i *)k);
        const uint8_t *order = shift_rows[MISSING(r, !inverse)];
        x = _mm_shuffle_epi8(x, _mm_load_si128((const __m128i *)order));
        if (r != (inverse ? n : 0))
            x = _mm_xor_si128(x, _mm_set1_epi8(0x63));
        for (unsigned i = 0; i < 8; i++) {
            __m128i bit = _mm_set1_epi8((char)(1u << i));
            __m128i word = _mm_cmpeq_epi8(_mm_and_si128(x, bit), bit);
            _mm_store_si128((__m128i *)s->round[r][i], word);
        }
    }
}

/* ---- The round ---- */

/*
 * MixColumns and AddRoundKey. Let a0 be a byte of the state, and a1 to a3 the bytes below it in its
 * column. MixColumns is 2 a0 ^ 3 a1 ^ a2 ^ a3. Let t = a0 ^ a1, and let t2 = a2 ^ a3, which is t
 * moved by two rows. The code computes 2 t ^ a1 ^ t2.
 */
TR_INLINE TR_TARGET void mix_columns(V q[8], unsigned missing, const uint8_t key[8][TR_BLOCK])
{
    const V one = v_lanes(up_1[missing]), two = v_lanes(up_2[missing]);
    V a1[8], t[8];
    for (unsigned i = 0; i < 8; i++) {
        a1[i] = v_shuffle(q[i], one);
        t[i] = q[i] ^ a1[i];
    }
    for (unsigned i = 0; i < 8; i++) {
        V k = v_lanes(key[i]), sum = XOR3(v_shuffle(t[i], two), t[(i + 7) % 8], a1[i]);
        /* x^8 = x^4 + x^3 + x + 1 (FIPS-197 section 4.2.1) */
        q[i] = i == 1 || i == 3 || i == 4 ? XOR3(sum, k, t[7]) : sum ^ k;
    }
}

/* Multiplies each column by the circulant matrix of {5, 0, 4, 0}. With MixColumns after it, this is
 * InvMixColumns. Computes 5 a0 ^ 4 a2 as a0 ^ 4 (a0 ^ a2), where a2 is two rows below a0. */
TR_INLINE TR_TARGET void times_5_0_4_0(V q[8], unsigned missing)
{
    const V two = v_lanes(up_2[missing]);
    V w[8];
    for (unsigned i = 0; i < 8; i++)
        w[i] = q[i] ^ v_shuffle(q[i], two);
    V w67 = w[6] ^ w[7];
    q[0] ^= w[6];
    q[1] ^= w67;
    q[2] = XOR3(q[2], w[0], w[7]);
    q[3] = XOR3(q[3], w[1], w[6]);
    q[4] = XOR3(q[4], w[2], w67);
    q[5] = XOR3(q[5], w[3], w[7]);
    q[6] ^= w[4];
    q[7] ^= w[5];
}

TR_INLINE TR_TARGET void crypt_group(const struct schedule *s, V q[8], int inverse)
{
    unsigned n = s->rounds;
    transpose(q);
    for (unsigned i = 0; i < 8; i++)
        q[i] ^= v_lanes(s->round[0][i]);
    for (unsigned r = 1; r < n; r++) {
        unsigned missing = MISSING(r, inverse);
        if (inverse) {
            inv_sub(q);
            times_5_0_4_0(q, missing);
        } else {
            sub(q);
        }
        mix_columns(q, missing, s->round[r]);
    }
    if (inverse)
        inv_sub(q);
    else
        sub(q);
    const V order = v_lanes(shift_rows[MISSING(n, inverse)]);
    for (unsigned i = 0; i < 8; i++)
        q[i] = v_shuffle(q[i] ^ v_lanes(s->round[n][i]), order);
    transpose(q);
}

/* ---- Modes ---- */

/* Returns one vector: the IV, then the first VBLOCKS - 1 blocks of the input. */
TR_INLINE TR_TARGET V before(const uint8_t *in, const uint8_t iv[16])
{
    uint8_t shifted[VBLOCKS * TR_BLOCK];
    __builtin_memcpy(shifted, iv, TR_BLOCK);
    __builtin_memcpy(shifted + TR_BLOCK, in, sizeof(shifted) - TR_BLOCK);
    return v_load(shifted);
}

/* Sets q to the counter blocks of a group. */
TR_INLINE TR_TARGET void counters(V q[8], const uint8_t counter[16])
{
    static const uint8_t reverse[16] TR_ALIGNED(16) = {15, 14, 13, 12, 11, 10, 9, 8,
                                                       7,  6,  5,  4,  3,  2,  1, 0};
    uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
    V x;
    for (unsigned i = 0; i < 2 * VBLOCKS; i += 2) {
        x[i] = low + i / 2;
        x[i + 1] = high + (low + i / 2 < low);
    }
    V step;
    for (unsigned i = 0; i < 2 * VBLOCKS; i += 2) {
        step[i] = VBLOCKS;
        step[i + 1] = 0;
    }
    for (unsigned j = 0; j < 8; j++, x += step) {
        q[j] = v_shuffle(x, v_lanes(reverse));
    }
}

/* Processes a group: n blocks of data, then padding. The IV advances by n blocks. */
TR_INLINE TR_TARGET void group(const struct schedule *s, uint8_t *out, const uint8_t *in, size_t n,
                               uint8_t *iv, struct tr_shape shape)
{
    const size_t size = sizeof(V);
    uint8_t blocks[GROUP * TR_BLOCK], next[TR_BLOCK];
    V q[8];
    if (shape.source == FROM_COUNTER && tr_load64_be(iv + 8) <= UINT64_MAX - GROUP) {
        counters(q, iv);
        tr_counter_add(iv, n);
    } else if (shape.source == FROM_COUNTER) {
        for (unsigned i = 0; i < GROUP; i++) {
            __builtin_memcpy(blocks + (size_t)i * TR_BLOCK, iv, TR_BLOCK);
            tr_counter_add(iv, i < n);
        }
        for (unsigned j = 0; j < 8; j++)
            q[j] = v_load(blocks + j * size);
    } else if (shape.source == FROM_INPUT_BEFORE) {
        q[0] = before(in, iv);
        for (unsigned j = 1; j < 8; j++)
            q[j] = v_load(in + j * size - TR_BLOCK);
    } else {
        for (unsigned j = 0; j < 8; j++)
            q[j] = v_load(in + j * size);
    }
    crypt_group(s, q, shape.inverse);
    if (shape.addend == ADD_INPUT) {
        for (unsigned j = 0; j < 8; j++)
            q[j] ^= v_load(in + j * size);
    } else if (shape.addend == ADD_INPUT_BEFORE) {
        q[0] ^= before(in, iv);
        for (unsigned j = 1; j < 8; j++)
            q[j] ^= v_load(in + j * size - TR_BLOCK);
    }
    if (tr_shape_shifts(shape))
        __builtin_memcpy(next, in + (n - 1) * TR_BLOCK, TR_BLOCK);
    for (unsigned j = 0; j < 8; j++)
        v_store(out + j * size, q[j]);
    if (tr_shape_shifts(shape))
        __builtin_memcpy(iv, next, TR_BLOCK);
}

TR_INLINE TR_TARGET void parallel(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv, struct tr_shape shape)
{
    if (blocks >= MIN_BLOCKS) {
        struct schedule s;
        prepare(&s, key, shape.inverse);
        for (; blocks >= GROUP; blocks -= GROUP) {
            group(&s, out, in, GROUP, iv, shape);
            in += GROUP * TR_BLOCK;
            out += GROUP * TR_BLOCK;
        }
        if (blocks >= MIN_BLOCKS) {
            uint8_t rest[GROUP * TR_BLOCK] = {0};
            __builtin_memcpy(rest, in, blocks * TR_BLOCK);
            group(&s, rest, rest, blocks, iv, shape);
            __builtin_memcpy(out, rest, blocks * TR_BLOCK);
            tr_cleanse(rest, sizeof(rest));
            blocks = 0;
        }
        tr_cleanse(&s, sizeof(s));
    }
    if (blocks != 0)
        SMALL_BACKEND.bulk[shape.op](key, out, in, blocks, iv);
}

#define PARALLEL(name, shape)                                                                      \
    TR_TARGET static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,      \
                               size_t blocks, void *iv)                                            \
    {                                                                                              \
        parallel(key, out, in, blocks, iv, shape);                                                 \
    }
TR_SHAPES(PARALLEL)

#define IDENTITY(name)  name
#define TR_BITSLICE_OPS TR_SHAPE_ENTRIES(IDENTITY)

#endif
