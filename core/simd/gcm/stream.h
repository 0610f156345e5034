/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM for streaming calls: counter mode interleaved with GHASH of the ciphertext. After each of the
 * first IN_FLIGHT AES rounds over a group of IN_FLIGHT vectors, the code hashes one vector.
 * Decryption hashes the same group. Encryption hashes the previous group, because this group's
 * ciphertext does not exist yet.
 *
 * There are two bounds on Zen 4. First, AES operations and carry-less multiplications share two
 * ports. A vector needs 10 AES operations (AES-128) and 4 multiplications. Second, all vector
 * operations share four ports. From 1024 bytes on, the second bound is mostly tighter. For long
 * messages, gcm/long.h needs fewer operations.
 */
#ifndef TR_SIMD_GCM_STREAM_H
#define TR_SIMD_GCM_STREAM_H

#include "dispatch/backend.h"
#include "simd/gcm/long.h"
#include "simd/gcm/parts.h"

/* The number of vectors that steady_counters() prepares. A group's first counter modulo GROUP must
 * be at most 2 * VBLOCKS. Modulo GROUP, the last counter of these vectors is then at most
 * 2 * VBLOCKS + STEADY_VECTORS * VBLOCKS - 1 = GROUP - 1. So their counters differ only in the bits
 * that hold the counter modulo GROUP. */
#define STEADY_VECTORS (IN_FLIGHT - 2u)

/*
 * Prepares counters that need no additions. Sets delta and returns 1, or returns 0 if the counter
 * is not suitable.
 *
 * Adding j * VBLOCKS may change only the bits that hold the counter modulo GROUP. The counters of
 * vector j then differ from those of vector 0 by the same bits in every group. One XOR with
 * delta[j] then replaces an addition, a byte swap and an XOR. A message with a 96-bit IV starts
 * with counter 2, so this is true of the first STEADY_VECTORS vectors.
 */
TR_INLINE TR_TARGET int steady_counters(const struct gcm *g, uint32_t count,
                                        V delta[STEADY_VECTORS])
{
    if (count % GROUP > 2 * VBLOCKS)
        return 0;
    for (unsigned j = 0; j < STEADY_VECTORS; j++)
        delta[j] =
            v_xor(v_byteswap(g->bulk.chain), v_byteswap(v_add32(g->bulk.chain, j * VBLOCKS)));
    return 1;
}

/*
 * Multiplies vector j of a full group by its powers of H. XORs the products into g->product.
 *
 * If V_EQUAL_HALVES, an instruction multiplies two low halves or two high halves. In x, the halves
 * of each data block are exchanged. The two products of x and the power are therefore low times
 * high and high times low. For low times low, the code loads from 8 bytes before the power. The
 * power's low half is then in the high half of the register. For high times high, the code loads
 * from 8 bytes after the power's start. So only the first and the last vector need an instruction
 * that exchanges halves (docs/tuning/arm.md).
 */
TR_INLINE TR_TARGET void gcm_hash(struct gcm *g, unsigned j, const uint8_t *data)
{
#if V_EQUAL_HALVES
    const uint8_t *power = g->ghash->power[TR_GHASH_POWERS - GROUP + j * VBLOCKS];
    V x = v_reverse_halves(v_load(data + (size_t)j * VBYTES)), h = v_load(power);
    if (j == 0)
        x = v_xor(x, v_swap_halves(g->y));
    /* `low` has the low half of h in its high half. `high` has the high half of h in its low half.
     * For the first and the last power of the group, one of these loads would read beyond the
     * group's powers. There, the code swaps the halves instead. */
    V low = j == 0 ? v_swap_halves(h) : v_load(power - TR_BLOCK / 2);
    V high = j == IN_FLIGHT - 1 ? v_swap_halves(h) : v_load(power + TR_BLOCK / 2);
    struct product *p = &g->product;
    p->low = v_xor(p->low, v_clmul_hh(x, low));
    p->middle = v_xor3(p->middle, v_clmul_hh(x, h), v_clmul_ll(x, h));
    p->high = v_xor(p->high, v_clmul_ll(x, high));
#else
    V x = v_byteswap(v_load(data + (size_t)j * VBYTES));
    if (j == 0)
        x = v_xor(x, g->y);
    multiply_add(&g->product, x, v_load(g->ghash->power[TR_GHASH_POWERS - GROUP + j * VBLOCKS]));
#endif
    /* A compiler barrier after every two vectors. Without it, gcc would delay the XORs, keep all
     * products, and run out of registers. */
    if (j % 2 == 1)
        __asm__(""
                : "+" V_REGISTER(g->product.low), "+" V_REGISTER(g->product.middle),
                  "+" V_REGISTER(g->product.high));
}

/* Encrypts a full group in counter mode. Between the rounds, hashes the group at `hashed` (NULL:
 * none). The parameter `steady` is the `delta` of steady_counters(), or NULL. */
TR_INLINE TR_TARGET void gcm_group(struct gcm *g, const uint8_t *hashed, const V *steady)
{
    struct bulk *r = &g->bulk;
    V x[IN_FLIGHT], k = first_key(r->keys), chain = r->chain;
    r->chain = v_add32(chain, GROUP);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        if (steady != NULL && j > 0 && j < STEADY_VECTORS)
            x[j] = v_xor(x[0], steady[j]);
        else
            x[j] = v_xor(k, v_byteswap(v_add32(chain, j * VBLOCKS)));
    }
    const uint8_t(*key)[TR_BLOCK] = r->keys + 1;
    if (hashed != NULL) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++, key++) {
            middle_round(x, IN_FLIGHT, 0, key);
            gcm_hash(g, j, hashed);
        }
        gcm_reduce(g);
    }
    xor_keystream(r, x, IN_FLIGHT, 0, middle_rounds_from(x, IN_FLIGHT, 0, r, key));
}

/* Processes full groups. Encryption leaves its last group for the caller to hash. */
TR_INLINE TR_TARGET void gcm_groups(struct gcm *g, size_t len, int decrypt, const V *steady)
{
    const uint8_t *pending = NULL;
    for (; len != 0; len -= (size_t)GROUP * TR_BLOCK) {
        const uint8_t *hashed = decrypt ? g->bulk.in : pending;
        pending = g->bulk.out;
        gcm_group(g, hashed, steady);
    }
}

/* Hashes a full group, without AES. */
TR_INLINE TR_TARGET void gcm_hash_group(struct gcm *g, const uint8_t *data)
{
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        gcm_hash(g, j, data);
    gcm_reduce(g);
}

/* Hashes half a group, without AES. */
TR_INLINE TR_TARGET void gcm_hash_half(struct gcm *g, const uint8_t *data)
{
    UNROLL
    for (unsigned j = 0; j < HALF_GROUP; j++) {
        V x = v_byteswap(v_load(data + (size_t)j * VBYTES));
        multiply_add(&g->product, j == 0 ? v_xor(x, g->y) : x,
                     powers(g, (HALF_GROUP - j) * VBLOCKS, VBLOCKS));
    }
    gcm_reduce(g);
}

/* Work that gcm_last_vectors() does in addition to the last vectors of a call. */
struct gcm_tail {
    /* 1 if the message ends here. The length block is then hashed, too. */
    int whole;
    int is_secret;        /* the counter is derived from H: no branch may depend on it */
    unsigned begun;       /* 1: a block is already XORed into the hash, but not multiplied yet */
    const uint8_t *group; /* an earlier full group, not hashed yet, or NULL */
    const uint8_t *half;  /* an earlier half group, not hashed yet, or NULL */
    B lengths;
};

/* Encrypts or decrypts the last u vectors of a call: len bytes, at most half a group. Hashes them
 * with a single reduction, which at the end of a message includes the length block. In program
 * order, the hash of end->group and end->half comes after AES. Otherwise the instructions of this
 * hash would occupy the schedulers while they wait for earlier AES results. */
TR_INLINE TR_TARGET void gcm_last_vectors(struct gcm *g, unsigned u, size_t len,
                                          const struct gcm_tail *end, int decrypt)
{
    V c[HALF_GROUP];
    size_t last = u == 0 ? 0 : len - (size_t)(u - 1) * VBYTES;
    size_t n = (len + TR_BLOCK - 1) / TR_BLOCK + (end->whole ? 1 : 0);
    if (u != 0)
        gcm_few(g, u, last, c, decrypt);
    if (!decrypt && end->group != NULL)
        gcm_hash_group(g, end->group);
    if (!decrypt && end->half != NULL)
        gcm_hash_half(g, end->half);
    if (end->whole)
        multiply_two(g, v_block_0(g->y), n + end->begun, end->lengths);
    else
        multiply_add(&g->product, g->y,
                     v_zero_extend(b_load(g->ghash->power[TR_GHASH_POWERS - (n + end->begun)])));
    gcm_hash_few(g, u, last, c, n);
}

/* Returns `y` times H. */
static NOT_INLINE TR_TARGET B V_NAME(times_h)(const struct tr_ghash_key *ghash, B y)
{
    return v_block_0(
        multiply(v_zero_extend(y), v_zero_extend(b_load(ghash->power[TR_GHASH_POWERS - 1]))));
}

/* Parameters of gcm_full_groups(). The parameters are not in a structure, because copying a
 * structure just after its fields were stored causes a store-forwarding stall. */
#define GROUPS_PARAMETERS                                                                          \
    const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,                     \
        const struct tr_ghash_key *ghash, uint64_t low, uint64_t high, B y, int is_secret

/* Processes full groups and returns the hash. After encryption, the hash lacks the last group. If
 * `is_secret`, the counter is derived from H, so no branch or index may depend on the counter. */
TR_INLINE TR_TARGET B gcm_full_groups(GROUPS_PARAMETERS, int decrypt)
{
    struct gcm g = gcm_start(bulk_start(key, key->enc, out, in), ghash, y, v_counters32(low, high));
    V delta[STEADY_VECTORS];
    if (!is_secret && steady_counters(&g, (uint32_t)low, delta))
        gcm_groups(&g, len, decrypt, delta);
    else
        gcm_groups(&g, len, decrypt, NULL);
    return v_block_0(g.y);
}

static NOT_INLINE TR_TARGET B V_NAME(encrypt_groups)(GROUPS_PARAMETERS)
{
    return gcm_full_groups(key, out, in, len, ghash, low, high, y, is_secret, 0);
}

static NOT_INLINE TR_TARGET B V_NAME(decrypt_groups)(GROUPS_PARAMETERS)
{
    return gcm_full_groups(key, out, in, len, ghash, low, high, y, is_secret, 1);
}

/* Processes the last len bytes of a call, with the counters in g.bulk.chain, and returns the hash.
 * There are at most HALF_BYTES if the compile-time constant `is_short` is 1, else twice as many. */
TR_INLINE TR_TARGET B gcm_rest(struct gcm g, size_t len, struct gcm_tail end, int decrypt,
                               int is_short)
{
    if (!is_short && len > HALF_BYTES) {
        V c[HALF_GROUP];
        if (decrypt)
            gcm_hash_half(&g, g.bulk.in);
        else
            end.half = g.bulk.out;
        gcm_few(&g, HALF_GROUP, VBYTES, c, decrypt);
        len -= HALF_BYTES;
    }
    /* Without this bound, gcc 14 compiles the case `default` for more bytes than a vector has, too,
     * and warns of an access outside v_first_bytes()'s table. */
    TR_ASSUME(len <= HALF_BYTES);
    switch ((len + VBYTES - 1) / VBYTES) {
    case 0:
        gcm_last_vectors(&g, 0, len, &end, decrypt);
        break;
    case 1:
        gcm_last_vectors(&g, 1, len, &end, decrypt);
        break;
#if V_REGISTERS > 8
    case 2:
        gcm_last_vectors(&g, 2, len, &end, decrypt);
        break;
    case 3:
        gcm_last_vectors(&g, 3, len, &end, decrypt);
        break;
#endif
    default:
        gcm_last_vectors(&g, HALF_GROUP, len, &end, decrypt);
    }
    return v_block_0(g.y);
}

/* Processes len bytes, with counters from (high, low) on. Returns the hash. Except at the end of a
 * message, len is a multiple of 16. The compile-time constant `is_short` may be 1 only if
 * len <= HALF_BYTES. */
TR_INLINE TR_TARGET B gcm_bytes(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                size_t len, const struct tr_ghash_key *ghash, uint64_t low,
                                uint64_t high, B y, struct gcm_tail end, int decrypt, int is_short)
{
    end.group = end.half = NULL;
    if (!is_short && len > HALF_BYTES && end.begun) {
        y = V_NAME(times_h)(ghash, y);
        end.begun = 0;
    }
    if (!is_short && len > 2 * HALF_BYTES) {
        /* Leaves at least one block for gcm_last_vectors(). At the end of a message, that block can
         * be the length block. */
        size_t front = (end.whole ? len : len - 1) / (GROUP * TR_BLOCK) * (GROUP * TR_BLOCK);
#if GCM_LONG
        /* Here, because the frame of encrypt_groups() would stay on the stack during gcm_long(). */
        if (!end.is_secret && takes_long_path(low, front / TR_BLOCK)) {
            y = V_NAME(gcm_long)(bulk_start(key, key->enc, out, in), front / TR_BLOCK, low, high,
                                 ghash, y, decrypt);
        } else
#endif
        {
            y = (decrypt ? V_NAME(decrypt_groups) : V_NAME(encrypt_groups))(
                key, out, in, front, ghash, low, high, y, end.is_secret);
            end.group = decrypt ? NULL : out + front - (size_t)GROUP * TR_BLOCK;
        }
        low = counter_plus(low, front / TR_BLOCK);
        in += front;
        out += front;
        len -= front;
    }
    return gcm_rest(
        gcm_start(bulk_start(key, key->enc, out, in), ghash, y, v_counters32(low, high)), len, end,
        decrypt, is_short);
}

/* Processes whole blocks in the middle of a message. */
TR_INLINE TR_TARGET void gcm(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_gcm *state, int decrypt)
{
    const struct tr_ghash_key *hash = state->ghash.key;
    uint64_t high = tr_load64_be(state->counter), low = tr_load64_be(state->counter + 8);
    uint64_t next = counter_plus(low, blocks);
    if (state->mask_due)
        b_store(state->mask, gcm_keystream(key, counter_plus(low, (size_t)-1), high));
    if (state->keystream_due)
        b_store(state->keystream, gcm_keystream(key, next, high));
    state->mask_due = 0;
    tr_store64_be(state->counter + 8, next);
    struct gcm_tail end = {.begun = state->used != 0, .is_secret = state->counter_is_secret};
    state->used = 0;
    B y = polynomial(state->ghash.hash);
    size_t len = blocks * TR_BLOCK;
    if (len <= HALF_BYTES)
        y = gcm_bytes(key, out, in, len, hash, low, high, y, end, decrypt, 1);
    else
        y = gcm_bytes(key, out, in, len, hash, low, high, y, end, decrypt, 0);
    store_polynomial(state->ghash.hash, y);
}

TR_INLINE TR_TARGET void gcm_any(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 size_t blocks, struct tr_gcm *g, int decrypt)
{
    tr_bulk_fn *const again = decrypt ? V_NAME(gcm_decrypt) : V_NAME(gcm_encrypt);
    if (have_powers(g->ghash.key, blocks + 1))
        gcm(key, out, in, blocks, g, decrypt);
    else
        V_NAME(with_powers)(again, key, out, in, blocks, g, &g->ghash.key, stage_for(blocks + 1));
}
BULK_OPERATION(gcm_encrypt, gcm_any, 0)
BULK_OPERATION(gcm_decrypt, gcm_any, 1)

/* Stores the 16-byte tag of a message at `out`. The length block is at `in`. */
TR_TARGET void V_NAME(gcm_tag)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                               size_t blocks, void *state)
{
    struct tr_gcm *message = state;
    struct gcm g = {.ghash = message->ghash.key, .product = no_product()};
    unsigned begun = message->used != 0;
    (void)blocks;
    B mask;
    if (message->mask_due) {
        uint64_t high = tr_load64_be(message->counter), low = tr_load64_be(message->counter + 8);
        mask = gcm_keystream(key, counter_plus(low, (size_t)-1), high);
    } else {
        mask = b_load(message->mask);
    }
    multiply_two(&g, polynomial(message->ghash.hash), 1 + begun, polynomial(in));
    gcm_reduce(&g);
    b_store(out, b_xor(mask, b_byteswap(v_block_0(g.y))));
}

#endif
