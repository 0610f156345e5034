/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many short GCM messages of one length, each under its own key, four at a time. AES cannot share
 * round keys, so a vector has the counter blocks of one message. From there on, each lane belongs
 * to one message: the powers of H are gathered from the four keys, and the messages share a
 * reduction.
 */
#ifndef TR_SIMD_GCM_MANY_KEYS_H
#define TR_SIMD_GCM_MANY_KEYS_H

#include "simd/gcm/many.h"
#include "simd/gcm/short.h"

#if MANY_MESSAGES
/* Returns the number of jobs up to the first whose key has fewer than n powers of H. Computes them
 * for the keys that lack them, unless another thread does this. */
TR_INLINE TR_TARGET size_t keys_with_powers(const struct tr_gcm_job *jobs, size_t count, size_t n)
{
    size_t i = 0;
    if (stage_for(n) == 0) /* each key has so many */
        return count;
    for (; i < count; i++) {
        const struct tr_ghash_key *k = &jobs[i].key->hash;
        uintptr_t before;
        if (__builtin_expect(have_powers(k, n), 1))
            continue;
        if (!tr_ghash_claim(k, &before))
            break;
        V_NAME(append_powers)(k, before, stage_for(n));
    }
    return i;
}

/* The sum of the lanes of each of four vectors. */
TR_INLINE TR_TARGET V lane_sums(V a, V b, V c, V d)
{
    V ab = v_xor(v_even_blocks(a, b), v_odd_blocks(a, b)),
      cd = v_xor(v_even_blocks(c, d), v_odd_blocks(c, d));
    return v_xor(v_even_blocks(ab, cd), v_odd_blocks(ab, cd));
}

/* Does a round of the counter blocks x[] and of the J0s. */
TR_INLINE TR_TARGET void keys_round(const uint8_t (*const key[QUAD])[TR_BLOCK], size_t round, V *x,
                                    B *mask)
{
    UNROLL
    for (unsigned i = 0; i < QUAD; i++) {
        const V k = v_load_all(key[i][round]);
        x[i] = v_aesenc(x[i], k);
        V_KEEP(x[i]);
        mask[i] = b_aesenc(mask[i], v_block_0(k));
    }
}

/* Encrypts the counter blocks of a quad but for the last round, and the J0s. */
TR_INLINE TR_TARGET void keys_rounds(const struct tr_gcm_job *j, size_t rounds, V *x, B *mask)
{
    const uint8_t(*key[QUAD])[TR_BLOCK];
    UNROLL
    for (unsigned i = 0; i < QUAD; i++) {
        key[i] = j[i].key->aes.enc;
        const V iv = v_xor(v_broadcast(b_load_masked(j[i].iv, 12)), v_load_all(key[i][0]));
        x[i] = v_xor(iv, v_last_bytes_from(2));
        mask[i] = v_block_0(v_xor(iv, v_last_bytes(1)));
    }
    for (size_t round = 1; round < rounds - 9; round++)
        keys_round(key, round, x, mask);
    UNROLL
    for (unsigned i = 0; i < QUAD; i++)
        key[i] += rounds - 9;
    UNROLL
    for (unsigned t = 0; t < 9; t++)
        keys_round(key, t, x, mask);
    UNROLL
    for (unsigned i = 0; i < QUAD; i++)
        mask[i] = b_aesenclast(mask[i], b_load(key[i][9]));
}

/* Processes the data of four messages of at most one block. A YMM register has the counter block
 * and J0 of a message. Returns the product of data and powers, and the encrypted J0s in *mask. */
TR_INLINE TR_TARGET struct product keys_blocks(const struct many *m, struct tr_gcm_job *j, W *x,
                                               V *mask)
{
    struct product p = no_product();
    UNROLL
    for (unsigned i = 0; i < QUAD; i++)
        x[i] = w_aesenclast(x[i], w_load_all(j[i].key->aes.enc[m->rounds]));
    const V a = v_of_two(x[0], x[1]), b = v_of_two(x[2], x[3]),
            c = many_block(m, j, v_even_blocks(a, b)), h = many_power_of(m, j, 2, 1);
    *mask = v_odd_blocks(a, b);
    multiply_add_3(&p, v_shuffle_bytes(c, m->byteswap), h, xor_of_halves(h));
    return p;
}

/* Does the last round of four messages of one vector. Returns the product of data and powers. */
TR_INLINE TR_TARGET struct product keys_vectors(const struct many *m, struct tr_gcm_job *j, V *x)
{
    const size_t n = TR_GHASH_POWERS - many_blocks(m->len) - 1, len = m->len;
    struct product p[QUAD];
    UNROLL
    for (unsigned i = 0; i < QUAD; i++) {
        const V in = v_load_masked(j[i].in, len), h = v_load(j[i].key->hash.power[n]);
        x[i] = v_aesenclast(x[i], v_xor(v_load_all(j[i].key->aes.enc[m->rounds]), in));
        v_store_masked(j[i].out, x[i], len);
        const V c = v_first_bytes(v_select(m->decrypt, in, x[i]), len);
        p[i] = no_product();
        multiply_add_3(&p[i], v_shuffle_bytes(c, m->byteswap), h, xor_of_halves(h));
    }
    return (struct product){lane_sums(p[0].low, p[1].low, p[2].low, p[3].low),
                            lane_sums(p[0].middle, p[1].middle, p[2].middle, p[3].middle),
                            lane_sums(p[0].high, p[1].high, p[2].high, p[3].high)};
}

/* Adds the product of the lengths to p, and computes the tags of a quad. */
TR_INLINE TR_TARGET void keys_tags(struct many *m, struct tr_gcm_job *j, struct product p, V mask)
{
    const V h = many_power_of(m, j, 1, 1);
    multiply_add_3(&p, v_broadcast(b_of((uint64_t)m->len * 8, (uint64_t)m->aad_len * 8)), h,
                   xor_of_halves(h));
    many_tags(m, j, p, mask, 1);
}

/* Processes jobs of one block with a key each. The tags of a quad are computed during the AES rounds
 * of the next one. */
static NOT_INLINE TR_TARGET void V_NAME(keys_of_blocks)(struct many *m, struct tr_gcm_job *jobs,
                                                        size_t count)
{
    struct product p = no_product();
    V mask = v_zero();
    for (size_t i = 0;; i += QUAD) {
        struct tr_gcm_job *j = jobs + i;
        W x[QUAD] = {{0}};
        B last_key;
        UNROLL
        for (unsigned k = 0; k < QUAD && i < count; k++)
            x[k] = block_rounds(&j[k].key->aes, j[k].iv, &last_key, 1);
        if (i != 0)
            keys_tags(m, j - QUAD, p, mask);
        if (i == count)
            return;
        p = keys_blocks(m, j, x, &mask);
    }
}

/* The same for jobs of at most one vector. */
static NOT_INLINE TR_TARGET void V_NAME(keys_of_vectors)(struct many *m, struct tr_gcm_job *jobs,
                                                         size_t count)
{
    struct product p = no_product();
    V last = v_zero();
    for (size_t i = 0;; i += QUAD) {
        struct tr_gcm_job *j = jobs + i;
        V x[QUAD] = {{0}};
        B mask[QUAD] = {{0}};
        if (i < count)
            keys_rounds(j, m->rounds, x, mask);
        if (i != 0)
            keys_tags(m, j - QUAD, p, last);
        if (i == count)
            return;
        p = keys_vectors(m, j, x);
        last = v_of_blocks(mask[0], mask[1], mask[2], mask[3]);
    }
}
#endif

#endif
