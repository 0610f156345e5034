/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM (SP 800-38D) for one vector type: gcm/stream.h has streaming calls, gcm/message.h one-shot
 * messages.
 */
#ifndef TR_SIMD_GCM_H
#define TR_SIMD_GCM_H

#include "simd/gcm/message.h"
#include "simd/gcm/stream.h"

#define TR_GCM_OPS                                                                                 \
    [TR_OP_GHASH] = ghash, [TR_OP_GCM_ENCRYPT] = gcm_encrypt, [TR_OP_GCM_DECRYPT] = gcm_decrypt,   \
    [TR_OP_GCM_SEAL] = gcm_seal, [TR_OP_GCM_OPEN] = gcm_open, [TR_OP_GCM_TAG] = gcm_tag

#endif
