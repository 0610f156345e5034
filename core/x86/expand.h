/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Key expansion, FIPS-197 section 5.2. SubWord comes from AESENCLAST, which takes 3 or 4 cycles
 * where AESKEYGENASSIST takes 12 and more: with the word in all four columns, ShiftRows changes
 * nothing, and the round key operand adds Rcon. So sub_word() returns SubWord(w) + rcon in all
 * columns, w being a word of x, rotated or not as the shuffle says.
 */
#define WORD_3_ROTATED 0x0c0f0e0d
#define WORD_3         0x0f0e0d0c
#define WORD_1_ROTATED 0x04070605

TR_INLINE TR_TARGET V sub_word(V x, uint32_t word, uint32_t rcon)
{
    return b_sub_columns(b_columns(x, word), rcon);
}

/* Every word becomes the sum of those up to it, and t is added to all: the chain of xors that makes
 * w[i] = w[i-1] + w[i-Nk]. */
TR_INLINE TR_TARGET V chain_words(V x, V t)
{
    x = v_xor(x, v_shift_bytes_left(x, 4));
    x = v_xor(x, v_shift_bytes_left(x, 8));
    return v_xor(x, t);
}

/* Rcon[i], FIPS-197 section 5.2. */
static const uint8_t rcon[10] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36};

static TR_TARGET void expand_128(uint8_t enc[][16], const uint8_t *raw)
{
    V k = v_load(raw);
    v_store(enc[0], k);
    for (unsigned i = 0; i < 10; i++) {
        k = chain_words(k, sub_word(k, WORD_3_ROTATED, rcon[i]));
        v_store(enc[i + 1], k);
    }
}

/* Six words a step: four in a, two in the lower half of b. */
static TR_TARGET void expand_192(uint8_t enc[][16], const uint8_t *raw)
{
    uint8_t *w = enc[0];
    V a = v_load(raw), b = b_load_half(raw + 16);
    for (unsigned i = 0;; i++, w += 24) {
        v_store(w, a);
        if (i == 8)
            break;
        b_store_half(w + 16, b);
        a = chain_words(a, sub_word(b, WORD_1_ROTATED, rcon[i]));
        b = v_xor(b, v_shift_bytes_left(b, 4));
        b = v_xor(b, b_columns(a, WORD_3));
    }
}

static TR_TARGET void expand_256(uint8_t enc[][16], const uint8_t *raw)
{
    V a = v_load(raw), b = v_load(raw + 16);
    v_store(enc[0], a);
    v_store(enc[1], b);
    for (unsigned i = 0; i < 7; i++) {
        a = chain_words(a, sub_word(b, WORD_3_ROTATED, rcon[i]));
        v_store(enc[2 * i + 2], a);
        if (i == 6)
            break;
        b = chain_words(b, sub_word(a, WORD_3, 0));
        v_store(enc[2 * i + 3], b);
    }
}

/* Both halves of the schedule: dec is that of the equivalent inverse cipher, section 5.3.5. */
static TR_TARGET void expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    unsigned n = key->rounds;
    if (n == 10)
        expand_128(key->enc, raw);
    else if (n == 12)
        expand_192(key->enc, raw);
    else
        expand_256(key->enc, raw);
    v_store(key->dec[0], v_load(key->enc[n]));
    for (unsigned i = 1; i < n; i++)
        v_store(key->dec[i], b_inv_mix_columns(v_load(key->enc[n - i])));
    v_store(key->dec[n], v_load(key->enc[0]));
}
