/* SPDX-License-Identifier: BSD-2-Clause */
/* Many GCM messages of at most one block, each under its own key, four at a time. AES cannot share
 * round keys, so a YMM register has the counter block and J0 of one message. From there on, each
 * lane belongs to one message. The powers of H are gathered from the four keys, and the messages
 * share a reduction. */
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

/* Processes the data of four messages of at most one block. A YMM register has the counter block
 * and J0 of a message. Returns the ciphertext, and the encrypted J0s in *mask. */
TR_INLINE TR_TARGET V keys_blocks(const struct many *m, struct tr_gcm_job *j, W *x, V *mask)
{
    UNROLL
    for (unsigned i = 0; i < QUAD; i++)
        x[i] = w_aesenclast(x[i], w_load_all(j[i].key->aes.enc[m->rounds]));
    const V a = v_of_two(x[0], x[1]), b = v_of_two(x[2], x[3]);
    *mask = v_odd_blocks(a, b);
    return many_block(m, j, m->len, v_even_blocks(a, b), m->decrypt);
}

/* Hashes the data c and the lengths, and computes the tags of a quad. */
TR_INLINE TR_TARGET void keys_tags(struct many *m, struct tr_gcm_job *j, V c, V mask)
{
    const V lengths = v_broadcast(b_of((uint64_t)m->len * 8, (uint64_t)m->aad_len * 8));
    struct folded p = {v_zero(), v_zero()};
    V h = many_power_of(m, j, 2, 1);
    multiply_add_folded(&p, v_shuffle_bytes(c, m->byteswap), h, folded_power(h));
    h = many_power_of(m, j, 1, 1);
    multiply_add_folded(&p, lengths, h, folded_power(h));
    many_aad(m, j, &p, 1);
    many_tags(m, j, p, mask, m->decrypt);
}

/* Processes jobs of at most one block with a key each. The tags of a quad are computed during the
 * AES rounds of the next one. */
static NOT_INLINE TR_TARGET void V_NAME(gcm_many_keys)(struct many *m, struct tr_gcm_job *jobs,
                                                       size_t count)
{
    V c = v_zero(), mask = v_zero();
    for (size_t i = 0;; i += QUAD) {
        struct tr_gcm_job *j = jobs + i;
        W x[QUAD] = {{0}};
        B last_key;
        if (i < count) {
            UNROLL
            for (unsigned k = 0; k < QUAD; k++)
                x[k] = block_rounds(&j[k].key->aes, j[k].iv, &last_key, 1);
        }
        if (i != 0)
            keys_tags(m, j - QUAD, c, mask);
        if (i == count)
            return;
        c = keys_blocks(m, j, x, &mask);
    }
}
#endif

#endif
