/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM, SP 800-38D section 7, for one width of vector: counter mode as in parallel.h, and in the same
 * instruction stream the hash of the ciphertext as in ghash.h. Between two rounds of a group of vectors
 * one vector is hashed: of the same group when decrypting; of the one before when encrypting, because
 * this one's ciphertext is not there yet.
 */

#define STEADY (IN_FLIGHT - 2u) /* vectors: 2 VBLOCKS + STEADY VBLOCKS - 1 < GROUP */

struct gcm {
    struct run run;
    struct tr_ghash *ghash;
    struct product product;
    V y;             /* the hash, in the first place */
    V delta[STEADY]; /* see steady_counters() */
};

/*
 * A group's counters are c, c + 1, .. If none of those of vector j carries into the bits that count
 * groups, vector j differs from vector 0 by the same bits in every group, since c advances by whole
 * groups: one xor makes it, instead of an addition, a shuffle and an xor. A message with an IV of 96
 * bits begins at c = 2, so for it this holds for all but the last vectors. The differences are taken
 * from the first group.
 */
TR_INLINE TR_TARGET int steady_counters(struct gcm *g, const uint8_t *counter)
{
    if (counter[15] % GROUP > 2 * VBLOCKS)
        return 0;
    for (unsigned j = 0; j < STEADY; j++)
        g->delta[j] = v_xor(v_reverse(g->run.chain), v_reverse(v_add32(g->run.chain, j * VBLOCKS)));
    return 1;
}

TR_INLINE TR_TARGET void gcm_hash(struct gcm *g, unsigned j, const uint8_t *data)
{
    V x = v_reverse(v_load(data + (size_t)j * VBYTES));
    if (j == 0)
        x = v_xor(x, g->y);
    multiply_add(&g->product, x, v_load(g->ghash->power[TR_GHASH_POWERS - GROUP + j * VBLOCKS]));
    /* Added up now, two vectors at a time: gcc would keep the products for a sum in another order, and
     * have no registers left. */
    if (j % 2 == 1)
        __asm__(""
                : "+" V_REGISTER(g->product.low), "+" V_REGISTER(g->product.middle),
                  "+" V_REGISTER(g->product.high));
}

TR_INLINE TR_TARGET void gcm_reduce(struct gcm *g)
{
    g->y = v_first(v_sum(reduce(&g->product)));
    g->product = no_product();
}

/* A full group. hashed: the full group to hash, or NULL. */
TR_INLINE TR_TARGET void gcm_group(struct gcm *g, const uint8_t *hashed, int steady)
{
    struct run *r = &g->run;
    V x[IN_FLIGHT], k = first_key(r->keys), chain = r->chain;
    r->chain = v_add32(chain, GROUP);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        if (steady && j > 0 && j < STEADY)
            x[j] = v_xor(x[0], g->delta[j]);
        else
            x[j] = v_xor(k, v_reverse(v_add32(chain, j * VBLOCKS)));
    }
    const uint8_t *key = r->keys + TR_BLOCK, *last = r->keys + (size_t)r->rounds * TR_BLOCK;
    if (hashed != NULL) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++, key += TR_BLOCK) {
            middle_round(x, IN_FLIGHT, 0, key);
            gcm_hash(g, j, hashed);
        }
        gcm_reduce(g);
    }
    for (; key != last; key += TR_BLOCK)
        middle_round(x, IN_FLIGHT, 0, key);
    last_substitution(x, IN_FLIGHT, 0, last);
    k = v_all(last);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_aesenclast(x[j], v_xor(k, v_load(r->in + (size_t)j * VBYTES)));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* All full groups of blocks; the counters' last 32 bits wrap as they should. */
TR_INLINE TR_TARGET size_t gcm_groups(struct gcm *g, size_t blocks, int decrypt, int steady)
{
    const uint8_t *pending = NULL;
    for (; blocks >= GROUP; blocks -= GROUP) {
        const uint8_t *hashed = decrypt ? g->run.in : pending;
        pending = g->run.out;
        gcm_group(g, hashed, steady);
    }
    if (!decrypt && pending != NULL) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            gcm_hash(g, j, pending);
        gcm_reduce(g);
    }
    return blocks;
}

/* Counter mode alone, for less than a group: as ctr(), but the count is 32 bits. */
TR_INLINE TR_TARGET void gcm_counter_mode(const struct tr_aes_key *key, uint8_t *out,
                                          const uint8_t *in, size_t blocks, uint8_t *counter)
{
    struct run r = start(key, key->enc, out, in);
    while (blocks != 0) {
        uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
        uint32_t before_wrap = 0 - (uint32_t)low;
        size_t n = before_wrap != 0 && blocks > before_wrap ? before_wrap : blocks;
        r.chain = v_counters(low, high);
        small_groups((struct how){.op = TR_OP_CTR}, &r, n);
        tr_counter_add32(counter, (uint32_t)n);
        blocks -= n;
    }
}

TR_INLINE TR_TARGET void gcm(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_gcm_run *state, int decrypt)
{
    size_t whole = blocks - blocks % GROUP, rest = blocks % GROUP;
    uint8_t *counter = state->counter;
#ifdef LONG_FROM /* gcm_long.h */
    if (is_long(counter, whole)) {
        gcm_long(key, out, in, whole, state, decrypt);
        in += whole * TR_BLOCK;
        out += whole * TR_BLOCK;
        whole = 0;
    }
#endif
    if (whole != 0) {
        struct gcm g = {.run = start(key, key->enc, out, in),
                        .ghash = &state->ghash,
                        .product = no_product(),
                        .y = v_first(polynomial(state->ghash.hash))};
        /* The vectors count in 32 bits from the first counter, without a carry. */
        g.run.chain = v_counters32(counter);
        if (steady_counters(&g, counter))
            gcm_groups(&g, whole, decrypt, 1);
        else
            gcm_groups(&g, whole, decrypt, 0);
        store_polynomial(state->ghash.hash, v_sum(g.y));
        tr_counter_add32(counter, (uint32_t)whole);
        in += whole * TR_BLOCK;
        out += whole * TR_BLOCK;
    }
    if (rest != 0) {
        if (decrypt)
            ghash(key, NULL, in, rest, &state->ghash);
        gcm_counter_mode(key, out, in, rest, counter);
        if (!decrypt)
            ghash(key, NULL, out, rest, &state->ghash);
    }
}

static TR_TARGET void gcm_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    gcm(key, out, in, blocks, state, 0);
}

static TR_TARGET void gcm_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    gcm(key, out, in, blocks, state, 1);
}

#define TR_GCM_OPS                                                                                 \
    [TR_OP_GHASH] = ghash, [TR_OP_GCM_ENCRYPT] = gcm_encrypt, [TR_OP_GCM_DECRYPT] = gcm_decrypt
