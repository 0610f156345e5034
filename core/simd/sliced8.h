/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitsliced AES of eight blocks in vectors of 16 bytes. Bit k of byte i of word b is bit b of byte
 * i of block k. So slicing moves no bytes, and a shuffle moves the rows of all eight blocks.
 *
 * ShiftRows takes no operation. Let S be ShiftRows. After round r, the words hold S^-r of the
 * state. MixColumns of round r then becomes S^-r MixColumns S^r, and its row moves become other
 * shuffles. They repeat every four rounds. Adomnicai and Peyrin have this idea ("Fixslicing
 * AES-like Ciphers", TCHES 2021).
 *
 * The bound is the number of operations: 166 per round of encryption (portable/sliced.h), 200 of
 * decryption. Slicing and the way back take 144 more. Emerald Rapids starts three a cycle: 55 and
 * 67 cycles for a round of eight blocks (docs/tuning/software.md). Not measured on Zen 4.
 *
 * This is a template. Its parameters are those of vperm.h, load() and store() for 16 bytes, and a
 * vector type x64 with elements of 64 bits.
 */
#ifndef TR_SIMD_SLICED8_H
#define TR_SIMD_SLICED8_H

#include "simd/row_moves.h"
#include "unroll.h"
#include "util.h"

#define SLICED_BLOCKS 8u

/* sliced_moves[r][n] is S^-r (the move by n rows) S^r, but S^-r if n is 0. */
#define SLICED_MOVES(r)                                                                            \
    {                                                                                              \
        ROW_MOVES(-(r), 0, 0), ROW_MOVES(r, 1, -(r)), ROW_MOVES(r, 2, -(r))                        \
    }
#define SLICED_FOUR SLICED_MOVES(0), SLICED_MOVES(1), SLICED_MOVES(2), SLICED_MOVES(3)
static const uint8_t sliced_moves[16][3][16] TR_ALIGNED(16) = {SLICED_FOUR, SLICED_FOUR,
                                                               SLICED_FOUR, SLICED_FOUR};

TR_INLINE TR_TARGET x64 sliced_rows_up(x64 x, unsigned n, unsigned r)
{
    return (x64)v_shuffle((V)x, v_lanes(sliced_moves[r][n]));
}

#define WORD              x64
#define rows_up(x, n, r)  sliced_rows_up(x, n, r)
#define shift_rows(q)     ((void)(q))
#define inv_shift_rows(q) ((void)(q))
#include "portable/sliced.h"

/* Slices the round keys, for both directions. */
TR_INLINE TR_TARGET void sliced8_keys(x64 round[15][8], const struct tr_aes_key *key)
{
    DO_NOT_UNROLL
    for (unsigned r = 0; r <= key->rounds; r++) {
        V k = load(key->enc[r]);
        if (r != 0)
            k = v_shuffle(k, v_lanes(sliced_moves[r][0])) ^ (uint8_t)SLICED_CONSTANT;
        UNROLL
        for (unsigned i = 0; i < 8; i++) {
            const V bit = (V){0} + (uint8_t)(1u << i);
            round[r][i] = (x64)((k & bit) == bit);
        }
    }
}

/* Encrypts or decrypts eight blocks in place. The number of rounds n is even, so S^-n is its own
 * inverse. */
TR_INLINE TR_TARGET void sliced8_crypt(const x64 round[15][8], unsigned n, uint8_t *b, int inverse)
{
    const V last = v_lanes(sliced_moves[n][0]);
    x64 q[8];
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        V x = load(b + i * TR_BLOCK);
        q[i] = (x64)(inverse ? v_shuffle(x, last) : x);
    }
    sliced_transpose(q);
    if (inverse)
        sliced_decrypt(q, round, n);
    else
        sliced_encrypt(q, round, n);
    sliced_transpose(q);
    UNROLL
    for (unsigned i = 0; i < 8; i++)
        store(b + i * TR_BLOCK, inverse ? (V)q[i] : v_shuffle((V)q[i], last));
}

#endif
