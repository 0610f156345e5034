/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many GCM messages of at most one block, each under its own key, four at a time. AES cannot share
 * round keys, so a YMM register has the counter block and J0 of one message. From there on, each
 * lane belongs to one message. The powers of H are gathered from the four keys, and the messages
 * share a reduction.
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

/* Adds the product of the lengths to p, and computes the tags of a quad. */
TR_INLINE TR_TARGET void keys_tags(struct many *m, struct tr_gcm_job *j, struct product p, V mask)
{
    const V h = many_power_of(m, j, 1, 1);
    multiply_add_3(&p, v_broadcast(b_of((uint64_t)m->len * 8, (uint64_t)m->aad_len * 8)), h,
                   xor_of_halves(h));
    many_tags(m, j, p, mask, 1);
}

/* Processes jobs of at most one block with a key each. The tags of a quad are computed during the
 * AES rounds of the next one. */
static NOT_INLINE TR_TARGET void V_NAME(keys_of_blocks)(struct many *m, struct tr_gcm_job *jobs,
                                                        size_t count)
{
    struct product p = no_product();
    V mask = v_zero();
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
            keys_tags(m, j - QUAD, p, mask);
        if (i == count)
            return;
        p = keys_blocks(m, j, x, &mask);
    }
}
#endif

#endif
