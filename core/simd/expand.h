/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Key expansion (FIPS-197 section 5.2) with AES instructions.
 *
 * AESENCLAST computes SubWord in 3 or 4 cycles, while AESKEYGENASSIST takes 12 cycles or more. A
 * byte shuffle first copies the word w, rotated or not, to all four columns, so that ShiftRows
 * changes nothing. The round-key operand of AESENCLAST is Rcon. So sub_word() returns
 * SubWord(w) ^ rcon in all columns.
 *
 * The bound is the latency of one shuffle, one AESENCLAST and one XOR for each round key
 * (docs/tuning/serial.md).
 */
#ifndef TR_SIMD_EXPAND_H
#define TR_SIMD_EXPAND_H

#include "simd/rounds.h"
#include "simd/table.h"

#define WORD_3_ROTATED 0x0c0f0e0d
#define WORD_3         0x0f0e0d0c
#define WORD_1_ROTATED 0x04070605

TR_INLINE TR_TARGET B sub_word(B x, uint32_t word, uint32_t rcon)
{
    return b_sub_columns(b_column_bytes(x, word), rcon);
}

/* Computes w[i] = w[i-1] ^ w[i-Nk] for four words: each word of x becomes the XOR of itself, all
 * words before it, and t. */
TR_INLINE TR_TARGET B chain_words(B x, B t)
{
    x = b_xor(x, b_shift_bytes_left(x, 4));
    x = b_xor(x, b_shift_bytes_left(x, 8));
    return b_xor(x, t);
}

/* Rcon[i], FIPS-197 section 5.2. */
static const uint8_t rcon[10] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};

/* Does round i of n on a block that is encrypted during key expansion. The compiler removes this
 * round where the result is not used. If V_KEY_FIRST is 1, no caller uses the result, so the
 * function returns x unchanged. */
TR_INLINE TR_TARGET B next_round(B x, B k, unsigned i, unsigned n)
{
#if V_KEY_FIRST
    return (void)k, (void)i, (void)n, x;
#else
    return i == 0 ? b_xor(x, k) : i == n ? b_aesenclast(x, k) : b_aesenc(x, k);
#endif
}

TR_INLINE TR_TARGET B expand_128(uint8_t enc[][16], const uint8_t *raw, B x)
{
    B k = b_load(raw);
    b_store(enc[0], k);
    x = next_round(x, k, 0, 10);
    UNROLL
    for (unsigned i = 0; i < 10; i++) {
        k = chain_words(k, sub_word(k, WORD_3_ROTATED, rcon[i]));
        b_store(enc[i + 1], k);
        x = next_round(x, k, i + 1, 10);
    }
    return x;
}

/* Sets `enc` from a 192-bit key. Each step computes six words: four in `a`, and two in the low half
 * of `b`. */
static TR_TARGET void V_NAME(expand_192)(uint8_t enc[][16], const uint8_t *raw)
{
    uint8_t *w = enc[0];
    B a = b_load(raw), b = b_load_half(raw + 16);
    for (unsigned i = 0;; i++, w += 24) {
        b_store(w, a);
        if (i == 8)
            break;
        b_store_half(w + 16, b);
        a = chain_words(a, sub_word(b, WORD_1_ROTATED, rcon[i]));
        b = b_xor(b, b_shift_bytes_left(b, 4));
        b = b_xor(b, b_column_bytes(a, WORD_3));
    }
}

TR_INLINE TR_TARGET B expand_256(uint8_t enc[][16], const uint8_t *raw, B x)
{
    B a = b_load(raw), b = b_load(raw + 16);
    b_store(enc[0], a);
    b_store(enc[1], b);
    x = next_round(next_round(x, a, 0, 14), b, 1, 14);
    UNROLL
    for (unsigned i = 0; i < 7; i++) {
        a = chain_words(a, sub_word(b, WORD_3_ROTATED, rcon[i]));
        b_store(enc[2 * i + 2], a);
        x = next_round(x, a, 2 * i + 2, 14);
        if (i == 6)
            break;
        b = chain_words(b, sub_word(a, WORD_3, 0));
        b_store(enc[2 * i + 3], b);
        x = next_round(x, b, 2 * i + 3, 14);
    }
    return x;
}

#if !V_KEY_FIRST
/* Sets `enc`, not `dec`, and sets h to the encryption of a block of zeros. The rounds of this block
 * overlap the expansion. With 192-bit keys the rounds follow the expansion, because some round keys
 * are split between two registers. */
TR_TARGET void V_NAME(hash_key)(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK])
{
    B x = b_zero();
    if (key->rounds == 10) {
        x = expand_128(key->enc, raw, x);
    } else if (key->rounds == 14) {
        x = expand_256(key->enc, raw, x);
    } else {
        V_NAME(expand_192)(key->enc, raw);
        x = encrypt_block(key, x);
    }
    b_store(h, x);
}
#endif

/* Sets `enc`, not `dec`. */
TR_TARGET void V_NAME(expand_encryption_key)(struct tr_aes_key *key, const uint8_t *raw)
{
    if (key->rounds == 10)
        (void)expand_128(key->enc, raw, b_zero());
    else if (key->rounds == 12)
        V_NAME(expand_192)(key->enc, raw);
    else
        (void)expand_256(key->enc, raw, b_zero());
}

/* Sets `enc`, and `dec` for the equivalent inverse cipher (section 5.3.5). */
TR_TARGET void V_NAME(expand_key)(struct tr_aes_key *key, const uint8_t *raw)
{
    unsigned n = key->rounds;
    V_NAME(expand_encryption_key)(key, raw);
    b_store(key->dec[0], b_load(key->enc[n]));
    for (unsigned i = 1; i < n; i++)
        b_store(key->dec[i], b_inv_mix_columns(b_load(key->enc[n - i])));
    b_store(key->dec[n], b_load(key->enc[0]));
}

#endif
