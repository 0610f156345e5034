/* SPDX-License-Identifier: BSD-2-Clause */
/* Features and target attributes of the backends for 64-bit Arm. */
#ifndef TR_ARM_H
#define TR_ARM_H

#include "dispatch/backend.h"

#define TR_ARMCE_FEATURES (TR_FEATURE_NEON | TR_FEATURE_AES)

/* Target attributes differ between gcc and clang. Up to gcc 13, only "crypto" as a whole enables
 * AESE. */
#if defined(__clang__)
#    define TR_TARGET_AES  __attribute__((target("aes")))
#    define TR_TARGET_EOR3 __attribute__((target("aes,sha3")))
#else
#    define TR_TARGET_AES  __attribute__((target("+crypto")))
#    define TR_TARGET_EOR3 __attribute__((target("arch=armv8.2-a+crypto+sha3")))
#endif

void tr_armce_expand_key(struct tr_aes_key *key, const uint8_t *raw);
void tr_armce_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw);

#endif
