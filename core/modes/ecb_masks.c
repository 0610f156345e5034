/* SPDX-License-Identifier: BSD-2-Clause */
/* One block of ECB encryption for each of many samples: masks of header protection. */
#include "dispatch/many.h"
#include "modes/modes.h"

#if TR_ENV_ALL_MODES
/* Not 0 if the key of one of four jobs is not this one. A branch for each job would take a third as
 * long as the job's AES rounds. */
static uintptr_t ecb_masks_differing(const struct tr_mask_job *j, const struct tr_aes_key *key)
{
    const uintptr_t k = (uintptr_t)key;
    return ((uintptr_t)j[0].key ^ k) | ((uintptr_t)j[1].key ^ k) | ((uintptr_t)j[2].key ^ k) |
           ((uintptr_t)j[3].key ^ k);
}

enum tr_status tr_ecb_masks(const struct tr_mask_job *jobs, size_t count)
{
    size_t done = 0, i = 0;
    if (count == 0)
        return TR_OK;
    const struct tr_aes_key *first = jobs->key;
    if (!tr_is_set(first))
        return TR_ERR_STATE;
    while (count - i >= 4 && ecb_masks_differing(jobs + i, first) == 0)
        i += 4;
    while (i < count && jobs[i].key == first)
        i++;
    const int own_keys = i < count;
    while (i < count && tr_are_like(jobs[i].key, first))
        i++;
    const int alike = i == count;
    for (; i < count; i++) {
        if (!tr_is_set(jobs[i].key))
            return TR_ERR_STATE;
    }
    if (alike) {
        tr_masks_fn *masks = tr_whole_calls(first)->masks;
        if (masks != NULL && tr_many_passes(first->backend)) {
            done = masks(jobs, count, own_keys);
            TR_PROBE_BULK(TR_OP_ECB_ENCRYPT, first->backend->name, done * TR_BLOCK);
        }
    }
    for (; done < count; done++) {
        uint8_t block[TR_BLOCK];
        __builtin_memcpy(block, jobs[done].sample, TR_BLOCK);
        tr_short_bulk(jobs[done].key, TR_OP_ECB_ENCRYPT, jobs[done].mask, block, 1, NULL);
    }
    return TR_OK;
}
#endif
