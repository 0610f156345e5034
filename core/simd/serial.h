/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The serial modes, a block at a time: encryption in CBC and CFB, and OFB.
 *
 * The bound is latency: a block takes the number of rounds times the latency of AESENC. For AES-128
 * this is 30 cycles if the latency of AESENC is 3 cycles, and 40 if the latency is 4.
 *
 * No XOR is on the chain, because the last round of a block also does the first XOR of the next
 * block. Let F be the operand of that XOR, and let K[0] and K[N] be the first and the last round
 * key. The last round takes K[N] ^ F as its key, so the result s includes the next block's first
 * XOR. The code computes the output from s, and no later block waits for the output. P, C and O are
 * the plaintext, ciphertext and output blocks of SP 800-38A:
 *
 *     CBC   F = K[0] ^ P[i+1]     C[i] = s ^ F
 *     CFB   F = K[0] ^ P[i]       C[i] = s ^ K[0]
 *     OFB   F = K[0]              O[i] = s ^ K[0],  C[i] = P[i] ^ O[i]
 *
 * If V_KEY_FIRST (rounds.h), the key K[N] ^ F goes to the next block's first AESE instead. This key
 * does not depend on the chain, so the chain consists of the rounds' instructions alone.
 *
 * Round keys are memory operands. On x86, a floating-point instruction may have written a register
 * last. A key in it would cost a bypass delay of one cycle in every round.
 */
#ifndef TR_SIMD_SERIAL_H
#define TR_SIMD_SERIAL_H

#include "dispatch/backend.h"
#include "simd/rounds.h"
#include "simd/table.h"

/* The state before a block's first round: s ^ key if V_KEY_FIRST, else s alone. */
struct serial_state {
    B s, key;
};

/* Does the middle rounds and returns the state; if V_KEY_FIRST, also does SubBytes and ShiftRows of
 * the last round. The number of rounds, n, is a constant. */
TR_INLINE TR_TARGET B serial_rounds(struct serial_state x, const uint8_t keys[][16], unsigned n)
{
    B s = x.s;
#if V_KEY_FIRST
    s = b_aesenc(s, b_xor(x.key, b_load(keys[0])));
    UNROLL
    for (unsigned r = 1; r < n - 1; r++)
        s = b_aesenc(s, b_load(keys[r]));
    return v_aese(s, b_load(keys[n - 1]));
#else
    UNROLL
    for (unsigned r = 1; r < n; r++)
        s = b_aesenc(s, b_load(keys[r]));
    return s;
#endif
}

/* Ends the last round, whose round key is `key`. Returns the next block's state. */
TR_INLINE TR_TARGET struct serial_state serial_last(B s, B key)
{
#if V_KEY_FIRST
    return (struct serial_state){s, key};
#else
    return (struct serial_state){b_aesenclast(s, key), b_zero()};
#endif
}

TR_INLINE TR_TARGET B serial_sum(struct serial_state x)
{
    return V_KEY_FIRST ? b_xor(x.s, x.key) : x.s;
}

TR_INLINE TR_TARGET void serial(enum tr_op op, const struct tr_aes_key *key, unsigned n,
                                uint8_t *out, const uint8_t *in, size_t blocks, void *iv)
{
    const uint8_t(*keys)[16] = key->enc;
    B k0 = first_block_key(keys), kn = b_load(keys[n]);
    B p = b_load(in), f, c;
    /* The chain passes from call to call through iv, so each XOR with iv adds latency. Without
     * V_KEEP(), gcc does two such XORs. The second adds 1 cycle to the 45 of a one-block call. */
    f = op == TR_OP_CBC_ENCRYPT ? b_xor(k0, p) : k0;
    V_KEEP(f);
    struct serial_state s = {V_KEY_FIRST ? b_load(iv) : b_xor(b_load(iv), f), f};
    for (; blocks > 1; blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        B next = b_load(in + TR_BLOCK);
        f = op == TR_OP_OFB ? k0 : b_xor(k0, op == TR_OP_CBC_ENCRYPT ? next : p);
        s = serial_last(serial_rounds(s, keys, n), b_xor(kn, f));
        c = b_xor(serial_sum(s), op == TR_OP_CBC_ENCRYPT ? f : k0);
        b_store(out, op == TR_OP_OFB ? b_xor(c, p) : c);
        p = next;
    }
    f = op == TR_OP_CFB_ENCRYPT ? p : b_zero();
    c = b_aesenclast(serial_rounds(s, keys, n), b_xor(kn, f));
    b_store(out, op == TR_OP_OFB ? b_xor(c, p) : c);
    b_store(iv, c);
}

/* Calls serial() with a constant number of rounds, so that they are unrolled. The end of a loop
 * over the rounds would be mispredicted once a block. */
TR_INLINE TR_TARGET void serial_any(BULK_ARGUMENTS, enum tr_op op)
{
    if (key->rounds == 10)
        serial(op, key, 10, out, in, blocks, iv);
    else if (key->rounds == 12)
        serial(op, key, 12, out, in, blocks, iv);
    else
        serial(op, key, 14, out, in, blocks, iv);
}

BULK_OPERATION(cbc_encrypt, serial_any, TR_OP_CBC_ENCRYPT)
BULK_OPERATION(cfb_encrypt, serial_any, TR_OP_CFB_ENCRYPT)
BULK_OPERATION(ofb, serial_any, TR_OP_OFB)

#endif
