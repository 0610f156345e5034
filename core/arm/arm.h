/* SPDX-License-Identifier: BSD-2-Clause */
/* Features and key expansion of the backends for 64-bit Arm. */
#ifndef TR_ARM_H
#define TR_ARM_H

#include "dispatch/backend.h"

#define TR_ARMCE_FEATURES (TR_FEATURE_NEON | TR_FEATURE_AES)

void tr_armce_expand_key(struct tr_aes_key *key, const uint8_t *raw);
void tr_armce_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw);

#endif
