/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function tr_backend.gcm_key for one x86 vector type. Key expansion and the encryption of the
 * block of zeros overlap.
 */
#ifndef TR_X86_GCM_KEY_H
#define TR_X86_GCM_KEY_H

#include "simd/gcm/ghash.h"
#include "x86/x86.h"

TR_TARGET void V_NAME(gcm_key)(struct tr_aes_key *key, struct tr_ghash_key *ghash,
                               const uint8_t *raw)
{
    tr_aesni_hash_key(key, raw, ghash->h);
    V_NAME(ghash_key)(ghash);
}

#endif
