/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitsliced AES of eight blocks in vectors of 16 bytes. Bit k of byte i of word b is bit b of byte
 * i of block k. So slicing moves no bytes, and a shuffle moves the rows of all eight blocks.
 *
 * ShiftRows takes no operation (row_moves.h): after round r, the words hold S^-r of the state.
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

TR_INLINE TR_TARGET x64 sliced_rows_up(x64 x, unsigned n, unsigned r)
{
    return (x64)v_shuffle((V)x, v_lanes(row_moves[r][n]));
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
            k = v_shuffle(k, v_lanes(row_moves[r][0])) ^ (uint8_t)SLICED_CONSTANT;
        UNROLL
        for (unsigned i = 0; i < 8; i++) {
            const V bit = (V){0} + (uint8_t)(1u << i);
            round[r][i] = (x64)((k & bit) == bit);
        }
    }
}

/* Encrypts or decrypts eight blocks in place. The number of rounds n is even, so S^-n is its own
 * inverse. Leaves spilled words of q on the stack. Cleansing q would keep all its words in memory,
 * and decryption would take 1.07 times as long (ECB, Emerald Rapids). */
TR_INLINE TR_TARGET void sliced8_crypt(const x64 round[15][8], unsigned n, uint8_t *b, int inverse)
{
    const V last = v_lanes(row_moves[n][0]);
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
