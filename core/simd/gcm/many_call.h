/* SPDX-License-Identifier: BSD-2-Clause */
/* Many GCM messages: the backend's function for jobs of one length (tr_gcm_many_fn), with one key
 * (gcm/many.h) or a key for each job (gcm/many_keys.h). */
#ifndef TR_SIMD_GCM_MANY_CALL_H
#define TR_SIMD_GCM_MANY_CALL_H

#include "simd/gcm/many.h"
#include "simd/gcm/many_keys.h"

#if MANY_MESSAGES
_Static_assert(__builtin_offsetof(struct tr_gcm_job, key) == 0 &&
                   __builtin_offsetof(struct tr_gcm_job, iv_len) == 16 &&
                   __builtin_offsetof(struct tr_gcm_job, aad_len) == 32 &&
                   __builtin_offsetof(struct tr_gcm_job, len) == 56 &&
                   __builtin_offsetof(struct tr_gcm_job, tag_len) == 72 &&
                   sizeof(struct tr_gcm_job) == 24 + VBYTES,
               "two vectors cover a job");

/* Compares all jobs with the first (tr_gcm_alike_fn). Two vectors cover a job, so that it takes no
 * branch: with one for each field, this check took 22 % of the time of 16-byte messages. */
TR_TARGET enum tr_alike V_NAME(gcm_alike)(const struct tr_gcm_job *jobs, size_t count)
{
    const uint8_t *at = (const uint8_t *)jobs;
    const V low = v_load(at), high = v_load(at + 24);
    V x = v_zero(), y = v_zero();
    uintptr_t ahead = 0; /* the most bytes from an output to its input, modulo 2^64 */
    for (size_t i = 0; i < count; i++, at += sizeof(*jobs)) {
        x = v_or_xor(x, low, v_load(at));
        y = v_or_xor(y, high, v_load(at + 24));
        const uintptr_t by = (uintptr_t)jobs[i].in - (uintptr_t)jobs[i].out;
        ahead = by > ahead ? by : ahead;
    }
    const unsigned differing = v_nonzero_halves(x);
    /* The jobs differ in iv_len, or in aad_len, len or tag_len. */
    if (ahead > (uintptr_t)0 - jobs->len || (differing & 4) != 0 ||
        (v_nonzero_halves(y) & 0x52) != 0)
        return TR_UNLIKE;
    return (differing & 1) != 0 ? TR_ALIKE_BUT_KEYS : TR_ALIKE;
}

/* Overwrites what the functions before have left below the stack pointer: gcc 14 moves states of
 * AES to other registers by way of that memory. */
static NOT_INLINE TR_TARGET void V_NAME(many_wipe)(void)
{
    V below[8];
    cleanse_vectors(below, sizeof(below));
}

/* Processes jobs of one length and one kind of key. Returns how many. */
TR_TARGET size_t V_NAME(gcm_many)(struct tr_gcm_job *jobs, size_t count, int decrypt, int own_keys)
{
    struct many m;
    if (own_keys)
        count =
            keys_with_powers(jobs, count, many_blocks(jobs->len) + 1 + many_blocks(jobs->aad_len));
    count -= count % QUAD;
    if (count == 0)
        return 0;
    many_start(&m, jobs, decrypt, own_keys);
    if (own_keys)
        V_NAME(keys_of_blocks)(&m, jobs, count);
    else if (jobs->len <= TR_BLOCK)
        V_NAME(many_blocks)(&m, jobs, count);
    else
        V_NAME(many_quads)(&m, jobs, count);
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
