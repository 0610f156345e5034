/* SPDX-License-Identifier: BSD-2-Clause */
/* Many GCM messages: the backend's function for jobs of one length (tr_gcm_many_fn), with one key
 * (gcm/many.h) or a key for each job (gcm/many_keys.h). */
#ifndef TR_SIMD_GCM_MANY_CALL_H
#define TR_SIMD_GCM_MANY_CALL_H

#include "simd/gcm/many.h"
#include "simd/gcm/many_keys.h"

#if MANY_MESSAGES
#    define LENGTHS     __builtin_offsetof(struct tr_gcm_job, iv_len)
/* The number of a field's half in a vector from iv_len on, as a bit. */
#    define HALF(field) (1u << (__builtin_offsetof(struct tr_gcm_job, field) - LENGTHS) / 8)
_Static_assert(HALF(aad_len) == 4 && HALF(len) == 32 && HALF(tag_len) == 128,
               "a vector has all lengths of a job");

/* Compares all jobs with the first (tr_gcm_alike_fn). A vector has all lengths, so that a job takes
 * no branch. With a branch for each field, this check took 22 % of the time of 16-byte messages. */
TR_TARGET enum tr_alike V_NAME(gcm_alike)(const struct tr_gcm_job *jobs, size_t count)
{
    const V lengths = v_load((const uint8_t *)jobs + LENGTHS);
    const uintptr_t key = (uintptr_t)jobs->key;
    V x = v_zero();
    uintptr_t keys = 0, ahead = 0; /* the most bytes from an output to its input, modulo 2^64 */
    for (size_t i = 0; i < count; i++) {
        uintptr_t by = (uintptr_t)jobs[i].in - (uintptr_t)jobs[i].out;
        __asm__("" : "+r"(by)); /* not in a vector register */
        ahead = by > ahead ? by : ahead;
        keys |= (uintptr_t)jobs[i].key ^ key;
        x = v_or_xor(x, lengths, v_load((const uint8_t *)(jobs + i) + LENGTHS));
    }
    const unsigned unlike = HALF(iv_len) | HALF(aad_len) | HALF(len) | HALF(tag_len);
    if (ahead > (uintptr_t)0 - jobs->len || (v_nonzero_halves(x) & unlike) != 0)
        return TR_UNLIKE;
    return keys != 0 ? TR_ALIKE_BUT_KEYS : TR_ALIKE;
}
#    undef HALF
#    undef LENGTHS

/* Overwrites what the functions before have left below the stack pointer: gcc 14 moves states of
 * AES to other registers by way of that memory. */
static NOT_INLINE TR_TARGET void V_NAME(gcm_many_wipe)(void)
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
        V_NAME(gcm_many_keys)(&m, jobs, count);
    else if (many_in_blocks(&m))
        (decrypt ? V_NAME(gcm_many_open_blocks) : V_NAME(gcm_many_seal_blocks))(&m, jobs, count);
    else
        V_NAME(gcm_many_quads)(&m, jobs, count);
    for (size_t i = 0; __builtin_expect(m.forged != 0, 0) && i < count; i++) {
        if (jobs[i].status != TR_OK)
            tr_cleanse(jobs[i].out, jobs[i].len);
    }
    if (!own_keys)
        V_NAME(gcm_many_cleanse)(&m);
    V_NAME(gcm_many_wipe)();
    return count;
}
#endif

#endif
