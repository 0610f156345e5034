/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of GHASH (SP 800-38D section 6.4) and of GCM's bulk operations, shared by the mode and the
 * backends. */
#ifndef TR_GHASH_H
#define TR_GHASH_H

#include "tenrounds.h"

#define TR_GHASH_POWERS 32u

struct tr_ghash {
    /* The powers of the hash key in the order and form in which the backend uses them, highest first:
     * power[i] belongs to H^(TR_GHASH_POWERS - i). */
    uint8_t power[TR_GHASH_POWERS][TR_BLOCK];
    uint8_t h[TR_BLOCK];    /* the hash key, as the standard writes it */
    uint8_t hash[TR_BLOCK]; /* the running hash, likewise */
} TR_ALIGNED(16);

/* The state that the bulk operations of GCM take. */
struct tr_gcm_run {
    struct tr_ghash ghash;
    uint8_t counter[TR_BLOCK]; /* the next counter block; its last 32 bits count */
};

#endif
