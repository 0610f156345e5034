/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes on up to four blocks, in XMM registers whatever the backend's width; included by parallel.h.
 *
 * Bound. One call alone takes the latency of the rounds, 40 cycles for AES-128 on Zen 4. Calls that do not wait for each
 * other overlap, and then what counts is how many instructions a call has from tr_ecb_encrypt() on and how many of its
 * jumps are taken: a block takes but 5 turns of the units. So there are no loop, no table of jumps, nothing saved, and
 * (where the backend has AVX) the round keys are operands in memory. ECB of 16 bytes, calls back to back: 19 cycles when
 * it went through two tables and a switch, 16 when the mode's function called what it jumps to now (a call and its return
 * are four cycles), 11 now, and 13 for decryption; four blocks 21, of which AES takes 20.
 */
TR_INLINE TR_TARGET void few_round(B x[TR_FEW], unsigned n, int inverse, const uint8_t *key)
{
    B k = b_load(key);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] = inverse ? b_aesdec(x[j], k) : b_aesenc(x[j], k);
}

/* Returns the last round key. */
TR_INLINE TR_TARGET B few_rounds(B x[TR_FEW], unsigned n, int inverse, const struct tr_aes_key *key)
{
    const uint8_t *keys = inverse ? key->dec[1] : key->enc[1];
    if (__builtin_expect(key->rounds != 10, 0)) {
        for (unsigned i = key->rounds - 10; i != 0; i--, keys += TR_BLOCK)
            few_round(x, n, inverse, keys);
    }
    UNROLL
    for (unsigned i = 0; i < 9; i++)
        few_round(x, n, inverse, keys + (size_t)i * TR_BLOCK);
    return b_load(keys + (size_t)9 * TR_BLOCK);
}

/* n = 1 to TR_FEW blocks, a constant. The last byte of CTR's counter may not wrap before the last of them. */
TR_INLINE TR_TARGET void few_of(enum tr_op op, unsigned n, const struct tr_aes_key *key,
                                uint8_t *out, const uint8_t *in, void *iv)
{
    const int inverse = op == TR_OP_ECB_DECRYPT || op == TR_OP_CBC_DECRYPT;
    B x[TR_FEW], data[TR_FEW], before = b_zero(), k = b_load(inverse ? key->dec[0] : key->enc[0]);
    if (op == TR_OP_CTR)
        before = b_load_halves(iv);
    else if (op == TR_OP_CBC_DECRYPT || op == TR_OP_CFB_DECRYPT)
        before = b_load(iv);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        data[j] = b_load(in + (size_t)j * TR_BLOCK);
        if (op == TR_OP_CTR)
            x[j] = b_xor(k, j == 0 ? before : b_add_last(before, j));
        else if (op == TR_OP_CFB_DECRYPT)
            x[j] = b_xor(k, j == 0 ? before : data[j - 1]);
        else
            x[j] = b_xor(k, data[j]);
    }
    if (op == TR_OP_CBC_DECRYPT || op == TR_OP_CFB_DECRYPT)
        b_store(iv, data[n - 1]);
    k = few_rounds(x, n, inverse, key);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        B last = k;
        if (op == TR_OP_CBC_DECRYPT)
            last = b_xor(k, j == 0 ? before : data[j - 1]);
        else if (op == TR_OP_CFB_DECRYPT || op == TR_OP_CTR)
            last = b_xor(k, data[j]);
        x[j] = inverse ? b_aesdeclast(x[j], last) : b_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < n; j++)
        b_store(out + (size_t)j * TR_BLOCK, x[j]);
}

TR_INLINE TR_TARGET void few(enum tr_op op, const struct tr_aes_key *key, uint8_t *out,
                             const uint8_t *in, size_t blocks, void *iv)
{
    if (__builtin_expect(blocks == 1, 1))
        few_of(op, 1, key, out, in, iv);
    else if (blocks == 2)
        few_of(op, 2, key, out, in, iv);
    else if (blocks == 3)
        few_of(op, 3, key, out, in, iv);
    else
        few_of(op, 4, key, out, in, iv);
}
