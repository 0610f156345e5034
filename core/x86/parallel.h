/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes for one width of vector: ECB in both directions, decryption in CBC and CFB,
 * CTR. Included by each x86 backend after its vector block (vec128.h, vec256.h or vec512.h).
 *
 * Bound. A round of one block is one AES operation; the units take 16 bytes (XMM) to 32 bytes (YMM,
 * ZMM) each per cycle, so AES-128 costs 10 cycles for 64 bytes on VAES. All else must fit beside
 * it. For a vector that is: CTR an addition, a byte shuffle and two xors; CBC and CFB decryption
 * two xors and one load that crosses a cache line; ECB one xor; and a load, a store, and for every
 * eight vectors one broadcast load a round. Latency (3 to 4 cycles a round, 1 to 2 operations
 * started each cycle) is hidden by eight vectors in flight.
 *
 * Last round. AESENCLAST ends with an xor of the last round key; whatever the mode adds to the
 * result is xored into that key first, beside the chain of rounds instead of behind it.
 */
#include "../util.h"

/* Loops over the vectors in flight are unrolled, so that the vectors stay in registers. */
#if defined(__clang__)
#    define UNROLL _Pragma("clang loop unroll(full)")
#else
#    define UNROLL _Pragma("GCC unroll 16")
#endif

#define IN_FLIGHT 8
#define VBYTES    (VBLOCKS * TR_BLOCK)

struct run {
    const uint8_t *keys, *last_key; /* round key 0, and the last */
    const uint8_t *in;
    uint8_t *out;
    V chain; /* CBC, CFB: the input vector before in; CTR: the counters, little-endian */
};

TR_INLINE TR_TARGET void rounds(V x[IN_FLIGHT], unsigned u, const struct run *r, int inverse)
{
    for (const uint8_t *key = r->keys + TR_BLOCK; key != r->last_key; key += TR_BLOCK) {
        V k = v_all(key);
        UNROLL
        for (unsigned j = 0; j < u; j++)
            x[j] = inverse ? v_aesdec(x[j], k) : v_aesenc(x[j], k);
    }
}

/* u vectors at once, of which the last (and then only) one has but part blocks if that is not 0.
 * All is read before anything is written, so in == out is fine. */
TR_INLINE TR_TARGET void group(enum tr_op op, struct run *r, unsigned u, unsigned part)
{
    const int inverse = op == TR_OP_ECB_DECRYPT || op == TR_OP_CBC_DECRYPT;
    const int chained = op == TR_OP_CBC_DECRYPT || op == TR_OP_CFB_DECRYPT;
    V x[IN_FLIGHT], k = v_all(r->keys), before = r->chain;
    if (chained) {
        V first = part ? v_load_part(r->in, part) : v_load(r->in);
        before = v_shift_in(r->chain, first);
        r->chain = u > 1 ? v_load(r->in + (size_t)(u - 1) * VBYTES) : first;
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *in = r->in + (size_t)j * VBYTES;
        if (op == TR_OP_CTR)
            x[j] = v_reverse(v_add(r->chain, j * VBLOCKS));
        else if (op == TR_OP_CFB_DECRYPT)
            x[j] = j == 0 ? before : v_load(in - TR_BLOCK);
        else
            x[j] = part ? v_load_part(in, part) : v_load(in);
        x[j] = v_xor(x[j], k);
    }
    rounds(x, u, r, inverse);
    k = v_all(r->last_key);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *in = r->in + (size_t)j * VBYTES;
        V last = k;
        if (op == TR_OP_CBC_DECRYPT)
            last = v_xor(k, j == 0 ? before : v_load(in - TR_BLOCK));
        else if (op == TR_OP_CFB_DECRYPT || op == TR_OP_CTR)
            last = v_xor(k, part ? v_load_part(in, part) : v_load(in));
        x[j] = inverse ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        if (part)
            v_store_part(r->out, x[j], part);
        else
            v_store(r->out + (size_t)j * VBYTES, x[j]);
    }
    if (op == TR_OP_CTR)
        r->chain = v_add(r->chain, u * VBLOCKS);
    r->in += (size_t)u * VBYTES;
    r->out += (size_t)u * VBYTES;
}

TR_INLINE TR_TARGET void all_groups(enum tr_op op, struct run *r, size_t blocks)
{
    for (; blocks >= IN_FLIGHT * VBLOCKS; blocks -= IN_FLIGHT * VBLOCKS)
        group(op, r, IN_FLIGHT, 0);
    if (blocks & 4 * VBLOCKS)
        group(op, r, 4, 0);
    if (blocks & 2 * VBLOCKS)
        group(op, r, 2, 0);
    if (blocks & VBLOCKS)
        group(op, r, 1, 0);
    if (blocks & (VBLOCKS - 1))
        group(op, r, 1, blocks & (VBLOCKS - 1));
}

TR_INLINE TR_TARGET struct run start(const struct tr_aes_key *key, const uint8_t round_keys[][16],
                                     uint8_t *out, const uint8_t *in)
{
    return (struct run){
        .keys = round_keys[0], .last_key = round_keys[key->rounds], .in = in, .out = out};
}

static TR_TARGET void ecb_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv)
{
    (void)iv;
    struct run r = start(key, key->enc, out, in);
    all_groups(TR_OP_ECB_ENCRYPT, &r, blocks);
}

static TR_TARGET void ecb_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv)
{
    (void)iv;
    struct run r = start(key, key->dec, out, in);
    all_groups(TR_OP_ECB_DECRYPT, &r, blocks);
}

static TR_TARGET void cbc_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv)
{
    struct run r = start(key, key->dec, out, in);
    r.chain = v_all(iv);
    __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
    all_groups(TR_OP_CBC_DECRYPT, &r, blocks);
}

static TR_TARGET void cfb_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv)
{
    struct run r = start(key, key->enc, out, in);
    r.chain = v_all(iv);
    __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
    all_groups(TR_OP_CFB_DECRYPT, &r, blocks);
}

/* The vectors count in 64 bits; where the low half of the counter wraps, the run is cut in two. */
static TR_TARGET void ctr(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                          size_t blocks, uint8_t *counter)
{
    struct run r = start(key, key->enc, out, in);
    while (blocks != 0) {
        uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
        size_t n = low != 0 && blocks > 0 - low ? (size_t)(0 - low) : blocks;
        r.chain = v_counters(low, high);
        all_groups(TR_OP_CTR, &r, n);
        tr_counter_add(counter, n);
        blocks -= n;
    }
}

#define TR_PARALLEL_OPS                                                                            \
    [TR_OP_ECB_ENCRYPT] = ecb_encrypt, [TR_OP_ECB_DECRYPT] = ecb_decrypt,                          \
    [TR_OP_CBC_DECRYPT] = cbc_decrypt, [TR_OP_CFB_DECRYPT] = cfb_decrypt, [TR_OP_CTR] = ctr
