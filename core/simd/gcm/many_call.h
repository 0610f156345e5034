/* SPDX-License-Identifier: BSD-2-Clause */
/* Many GCM messages: the backend's function for jobs of one length (tr_gcm_many_fn), with one key
 * (gcm/many.h) or a key for each job (gcm/many_keys.h). */
#ifndef TR_SIMD_GCM_MANY_CALL_H
#define TR_SIMD_GCM_MANY_CALL_H

#include "simd/gcm/many.h"
#include "simd/gcm/many_keys.h"

#if MANY_MESSAGES
/* Overwrites what the functions before have left below the stack pointer: gcc 14 moves states of
 * AES to other registers by way of that memory. */
static NOT_INLINE void V_NAME(many_wipe)(void)
{
    uint8_t below[512];
    tr_cleanse(below, sizeof(below));
}

/* Processes jobs of one length and one kind of key. Returns how many. */
TR_TARGET size_t V_NAME(gcm_many)(struct tr_gcm_job *jobs, size_t count, int decrypt, int own_keys)
{
    struct many m;
    const int blocks = jobs->len <= TR_BLOCK;
    if (own_keys)
        count =
            keys_with_powers(jobs, count, many_blocks(jobs->len) + 1 + many_blocks(jobs->aad_len));
    count -= count % QUAD;
    if (count == 0)
        return 0;
    many_start(&m, jobs, decrypt, own_keys);
    if (own_keys)
        (blocks ? V_NAME(keys_of_blocks) : V_NAME(keys_of_vectors))(&m, jobs, count);
    else
        (blocks ? V_NAME(many_blocks) : V_NAME(many_quads))(&m, jobs, count);
    for (size_t i = 0; __builtin_expect(m.forged != 0, 0) && i < count; i++) {
        if (jobs[i].status != TR_OK)
            tr_cleanse(jobs[i].out, jobs[i].len);
    }
    if (!own_keys)
        V_NAME(many_cleanse)(&m);
    V_NAME(many_wipe)();
    return count;
}
#endif

#endif
