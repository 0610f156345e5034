/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM functions shared by the streaming (gcm.c) and one-shot (gcm_message.c) calls. */
#ifndef TR_GCM_H
#define TR_GCM_H

#include "partial_block.h"

/* The length of an IV that needs no hashing, in bytes (SP 800-38D section 7.1 step 2). */
#define TR_GCM_IV 12u

/* The longest message in bytes (SP 800-38D section 5.2.1.1). */
#define TR_GCM_MAX_DATA 0xfffffffe0u

/* The counter block of a 96-bit IV with the counter `number`, at most 255. The counter of J0 is 1,
 * that of the first block of data is 2. */
TR_INLINE struct partial_block tr_gcm_counter_block(const uint8_t iv[TR_GCM_IV], unsigned number)
{
    struct partial_block block = partial_load_nonce(iv);
    block.high |= (uint64_t)number << 56;
    return block;
}

#endif
