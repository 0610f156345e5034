/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The serial modes, a block at a time: encryption in CBC and CFB, and OFB.
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
 * Where the key comes first (KEY_FIRST, parallel.h), KN + F is one of two keys that the next AESE would add:
 * they are added up beside the chain, which then consists of nothing but the instructions of the rounds.
 *
 * Round keys come from memory as operands, not from registers: on x86 a register last written by an
 * instruction of the floating-point domain would cost a cycle of bypass delay in every round.
 */
struct state {
    V s, key; /* their sum */
};

/* The middle rounds, and with KEY_FIRST the substitution of the last. */
TR_INLINE TR_TARGET V serial_rounds(struct state x, const uint8_t keys[][16], unsigned n)
{
    V s = x.s;
#if KEY_FIRST
    s = v_aesenc(s, v_xor(x.key, v_load(keys[0])));
    UNROLL
    for (unsigned r = 1; r < n - 1; r++)
        s = v_aesenc(s, v_load(keys[r]));
    return v_sub(s, v_load(keys[n - 1]));
#else
    UNROLL
    for (unsigned r = 1; r < n; r++)
        s = v_aesenc(s, v_load(keys[r]));
    return s;
#endif
}

/* The last round with this key. */
TR_INLINE TR_TARGET struct state serial_last(V s, V key)
{
#if KEY_FIRST
    return (struct state){s, key};
#else
    return (struct state){v_aesenclast(s, key), b_zero()};
#endif
}

TR_INLINE TR_TARGET V sum_of(struct state x)
{
    return KEY_FIRST ? v_xor(x.s, x.key) : x.s;
}

TR_INLINE TR_TARGET void serial(enum tr_op op, const struct tr_aes_key *key, unsigned n,
                                uint8_t *out, const uint8_t *in, size_t blocks, void *iv)
{
    const uint8_t(*keys)[16] = key->enc;
    V k0 = first_key(keys[0]), kn = v_load(keys[n]);
    V p = v_load(in), f, c;
    /* The chain goes on from the call before, through iv, which therefore meets one xor as well; gcc
     * would put it first of two. With one block a call that is a cycle in 45. */
    f = op == TR_OP_CBC_ENCRYPT ? v_xor(k0, p) : k0;
    __asm__("" : "+" V_REGISTER(f));
    struct state s = {KEY_FIRST ? v_load(iv) : v_xor(v_load(iv), f), f};
    for (; blocks > 1; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        V next = v_load(in + TR_BLOCK);
        f = op == TR_OP_OFB ? k0 : v_xor(k0, op == TR_OP_CBC_ENCRYPT ? next : p);
        s = serial_last(serial_rounds(s, keys, n), v_xor(kn, f));
        c = v_xor(sum_of(s), op == TR_OP_CBC_ENCRYPT ? f : k0);
        v_store(out, op == TR_OP_OFB ? v_xor(c, p) : c);
        p = next;
    }
    f = op == TR_OP_CFB_ENCRYPT ? p : b_zero();
    c = v_aesenclast(serial_rounds(s, keys, n), v_xor(kn, f));
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
