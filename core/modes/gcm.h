/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM functions shared by the streaming (gcm.c) and one-shot (gcm_message.c) calls. */
#ifndef TR_GCM_H
#define TR_GCM_H

#include "part.h"

/* The length of an IV that needs no hashing, in bytes (SP 800-38D section 7.1 step 2). */
#define TR_GCM_IV 12u

/* The longest message in bytes (SP 800-38D section 5.2.1.1). */
#define TR_GCM_MAX_DATA 0xfffffffe0u

/* J0 of a 96-bit IV: the IV, then the 32-bit number 1, big-endian. */
TR_INLINE struct part tr_gcm_j0(const uint8_t iv[TR_GCM_IV])
{
    struct part j0 = part_load(iv, TR_GCM_IV);
    j0.high |= (uint64_t)1 << 56;
    return j0;
}

#endif
