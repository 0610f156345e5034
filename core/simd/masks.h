/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One block of ECB encryption for each of many samples at any addresses: masks of header protection
 * (RFC 9001 section 5.4).
 *
 * With one key, a vector holds VBLOCKS samples. On Zen 4, a sample takes 2.5 cycles for AES-128,
 * and 1.5 to gather and scatter it: 1.1 ns. With a key for each sample, the bound is the loads of
 * round keys. On Emerald Rapids, a sample takes 1.2 ns and 3.1 ns, a single call 4.5
 * (docs/tuning/gcm-many.md).
 */
#ifndef TR_SIMD_MASKS_H
#define TR_SIMD_MASKS_H

#include "simd/rounds.h"
#include "simd/table.h"

#if MANY_MESSAGES

#    define MASKS     16u
#    define OWN_MASKS 8u

/* Encrypts MASKS samples under one key. */
TR_INLINE TR_TARGET void masks_one_key(const struct tr_mask_job *j)
{
    enum { U = MASKS / VBLOCKS };
    const struct tr_aes_key *key = j->key;
    const struct bulk b = bulk_start(key, key->enc, NULL, NULL);
    V x[U], k = first_key(b.keys);
    UNROLL
    for (unsigned i = 0; i < U; i++) {
        const struct tr_mask_job *q = j + i * VBLOCKS;
        const uint8_t *const from[] = {q[0].sample, q[1].sample, q[2].sample, q[3].sample};
        x[i] = v_xor(v_gather_pointers(from), k);
    }
    k = middle_rounds(x, U, 0, &b);
    UNROLL
    for (unsigned i = 0; i < U; i++) {
        const struct tr_mask_job *q = j + i * VBLOCKS;
        uint8_t *const to[] = {q[0].mask, q[1].mask, q[2].mask, q[3].mask};
        v_scatter_pointers(to, v_aesenclast(x[i], k));
    }
}

/* Encrypts OWN_MASKS samples, each under its own key; these have one size. An XMM register has a
 * sample, so that the AES instructions load the round keys: eight addresses fit in registers. */
TR_INLINE TR_TARGET void masks_own_keys(const struct tr_mask_job *j)
{
    const uint8_t(*key[OWN_MASKS])[TR_BLOCK];
    B x[OWN_MASKS];
    UNROLL
    for (unsigned i = 0; i < OWN_MASKS; i++) {
        key[i] = j[i].key->enc;
        x[i] = b_xor(b_load(j[i].sample), b_load(*key[i]++));
    }
    for (unsigned more = j->key->rounds - 10; more != 0; more--) {
        UNROLL
        for (unsigned i = 0; i < OWN_MASKS; i++)
            x[i] = b_aesenc(x[i], b_load(*key[i]++));
    }
    UNROLL
    for (unsigned round = 0; round < 9; round++) {
        UNROLL
        for (unsigned i = 0; i < OWN_MASKS; i++) {
            x[i] = b_aesenc(x[i], b_load(key[i][round]));
            V_KEEP(x[i]);
        }
    }
    UNROLL
    for (unsigned i = 0; i < OWN_MASKS; i++)
        b_store(j[i].mask, b_aesenclast(x[i], b_load(key[i][9])));
}

TR_TARGET size_t V_NAME(masks)(const struct tr_mask_job *jobs, size_t count, int own_keys)
{
    size_t i = 0;
    for (; own_keys && count - i >= OWN_MASKS; i += OWN_MASKS)
        masks_own_keys(jobs + i);
    for (; !own_keys && count - i >= MASKS; i += MASKS)
        masks_one_key(jobs + i);
    return i;
}
#endif

#endif
