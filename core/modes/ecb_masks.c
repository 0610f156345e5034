/* SPDX-License-Identifier: BSD-2-Clause */
/* One block of ECB encryption for each of many samples: masks of header protection. */
#include "dispatch/many.h"
#include "modes/modes.h"

#if TR_ENV_ALL_MODES
enum tr_status tr_ecb_masks(const struct tr_mask_job *jobs, size_t count)
{
    size_t done = 0;
    int own_keys = 0;
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && jobs[i].key == jobs[0].key)
            continue;
        if (!tr_is_set(jobs[i].key))
            return TR_ERR_STATE;
        own_keys |= i != 0;
    }
    if (count != 0 && !own_keys) {
        const struct tr_backend *b = jobs[0].key->backend;
        tr_masks_fn *masks = tr_whole_calls(jobs[0].key)->masks;
        if (masks != NULL && tr_many_passes(b)) {
            done = masks(jobs, count);
            TR_PROBE_BULK(TR_OP_ECB_ENCRYPT, b->name, done * TR_BLOCK);
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
