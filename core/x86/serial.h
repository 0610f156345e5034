/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The serial modes on XMM registers: encryption in CBC and CFB, and OFB.
 *
 * Bound. Each block waits for the one before: rounds x latency of AESENC, 30 cycles (latency 3) or
 * 40 (latency 4) for AES-128. Nothing else is on the chain: the last round's xor takes not the last
 * round key alone but also what the next block's first round would add to the result, i.e. its
 * plaintext (in CBC; in CFB this block's) and the first round key. With K0 and KN the first and
 * last round keys, the chain carries s = AESENCLAST(.., KN + F), which is the next block's state
 * after its first xor, and the ciphertext is s + F beside the chain:
 *
 *     CBC   F = K0 + P[i+1]     C[i] = s + F
 *     CFB   F = K0 + P[i]       C[i] = s + K0
 *     OFB   F = K0              O[i] = s + K0,  C[i] = P[i] + O[i]
 *
 * Round keys come from memory as operands, not from registers: a register last written by an
 * instruction of the floating-point domain would cost a cycle of bypass delay in every round.
 */
TR_INLINE TR_TARGET __m128i serial_rounds(__m128i s, const uint8_t keys[][16], unsigned n)
{
    UNROLL
    for (unsigned r = 1; r < n; r++)
        s = _mm_aesenc_si128(s, v_load(keys[r]));
    return s;
}

TR_INLINE TR_TARGET void serial(enum tr_op op, const struct tr_aes_key *key, unsigned n,
                                uint8_t *out, const uint8_t *in, size_t blocks, void *iv)
{
    const uint8_t(*keys)[16] = key->enc;
    __m128i k0 = v_load(keys[0]), kn = v_load(keys[n]);
    __m128i p = v_load(in), f, c;
    /* The chain goes on from the call before, through iv, which therefore meets one xor as well; gcc
     * would put it first of two. With one block a call that is a cycle in 45. */
    f = op == TR_OP_CBC_ENCRYPT ? v_xor(k0, p) : k0;
    __asm__("" : "+x"(f));
    __m128i s = v_xor(v_load(iv), f);
    for (; blocks > 1; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        __m128i next = v_load(in + TR_BLOCK);
        f = op == TR_OP_OFB ? k0 : v_xor(k0, op == TR_OP_CBC_ENCRYPT ? next : p);
        s = _mm_aesenclast_si128(serial_rounds(s, keys, n), v_xor(kn, f));
        c = v_xor(s, op == TR_OP_CBC_ENCRYPT ? f : k0);
        v_store(out, op == TR_OP_OFB ? v_xor(c, p) : c);
        p = next;
    }
    f = op == TR_OP_CFB_ENCRYPT ? p : _mm_setzero_si128();
    c = _mm_aesenclast_si128(serial_rounds(s, keys, n), v_xor(kn, f));
    v_store(out, op == TR_OP_OFB ? v_xor(c, p) : c);
    v_store(iv, c);
}

/* One copy for each key size, its rounds unrolled: a loop's branch would be mispredicted once a
 * block. */
TR_INLINE TR_TARGET void serial_any(enum tr_op op, const struct tr_aes_key *key, uint8_t *out,
                                    const uint8_t *in, size_t blocks, void *iv)
{
    if (key->rounds == 10)
        serial(op, key, 10, out, in, blocks, iv);
    else if (key->rounds == 12)
        serial(op, key, 12, out, in, blocks, iv);
    else
        serial(op, key, 14, out, in, blocks, iv);
}

static TR_TARGET void cbc_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *iv)
{
    serial_any(TR_OP_CBC_ENCRYPT, key, out, in, blocks, iv);
}

static TR_TARGET void cfb_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *iv)
{
    serial_any(TR_OP_CFB_ENCRYPT, key, out, in, blocks, iv);
}

static TR_TARGET void ofb(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                          size_t blocks, void *iv)
{
    serial_any(TR_OP_OFB, key, out, in, blocks, iv);
}

#define TR_SERIAL_OPS                                                                              \
    [TR_OP_CBC_ENCRYPT] = cbc_encrypt, [TR_OP_CFB_ENCRYPT] = cfb_encrypt, [TR_OP_OFB] = ofb
