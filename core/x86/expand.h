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

/* A block that is being encrypted while the keys come; of no interest where its result is not used. Round i of n. */
TR_INLINE TR_TARGET V next_round(V x, V k, unsigned i, unsigned n)
{
#if KEY_FIRST
    return (void)k, (void)i, (void)n, x;
#else
    return i == 0 ? v_xor(x, k) : i == n ? v_aesenclast(x, k) : v_aesenc(x, k);
#endif
}

TR_INLINE TR_TARGET V expand_128(uint8_t enc[][16], const uint8_t *raw, V x)
{
    V k = v_load(raw);
    v_store(enc[0], k);
    x = next_round(x, k, 0, 10);
    UNROLL
    for (unsigned i = 0; i < 10; i++) {
        k = chain_words(k, sub_word(k, WORD_3_ROTATED, rcon[i]));
        v_store(enc[i + 1], k);
        x = next_round(x, k, i + 1, 10);
    }
    return x;
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

TR_INLINE TR_TARGET V expand_256(uint8_t enc[][16], const uint8_t *raw, V x)
{
    V a = v_load(raw), b = v_load(raw + 16);
    v_store(enc[0], a);
    v_store(enc[1], b);
    x = next_round(next_round(x, a, 0, 14), b, 1, 14);
    UNROLL
    for (unsigned i = 0; i < 7; i++) {
        a = chain_words(a, sub_word(b, WORD_3_ROTATED, rcon[i]));
        v_store(enc[2 * i + 2], a);
        x = next_round(x, a, 2 * i + 2, 14);
        if (i == 6)
            break;
        b = chain_words(b, sub_word(a, WORD_3, 0));
        v_store(enc[2 * i + 3], b);
        x = next_round(x, b, 2 * i + 3, 14);
    }
    return x;
}

#if !KEY_FIRST
/* enc alone, and in h the block of zeros encrypted, whose rounds go on as the keys come. With 192 bits these come in pieces
 * of 8 bytes, and the block waits for all. */
TR_INLINE TR_TARGET void expand_and_encrypt(struct tr_aes_key *key, const uint8_t *raw, uint8_t *h)
{
    V x = b_zero();
    if (key->rounds == 10) {
        x = expand_128(key->enc, raw, x);
    } else if (key->rounds == 14) {
        x = expand_256(key->enc, raw, x);
    } else {
        expand_192(key->enc, raw);
        x = gcm_block(key, 0, 0);
    }
    b_store(h, x);
}
#endif

/* Both halves of the schedule: dec is that of the equivalent inverse cipher, section 5.3.5. */
static TR_TARGET void expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    unsigned n = key->rounds;
    if (n == 10)
        (void)expand_128(key->enc, raw, b_zero());
    else if (n == 12)
        expand_192(key->enc, raw);
    else
        (void)expand_256(key->enc, raw, b_zero());
    v_store(key->dec[0], v_load(key->enc[n]));
    for (unsigned i = 1; i < n; i++)
        v_store(key->dec[i], b_inv_mix_columns(v_load(key->enc[n - i])));
    v_store(key->dec[n], v_load(key->enc[0]));
}
