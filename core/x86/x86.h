/* SPDX-License-Identifier: BSD-2-Clause */
/* Features and functions that the x86 backends share. A backend's features include the features of
 * its weaker backend, which does the operations that the backend leaves NULL. */
#ifndef TR_X86_H
#define TR_X86_H

#include "dispatch/backend.h"
#include "dispatch/shape.h"

#define TR_AESNI_FEATURES   (TR_FEATURE_AES | TR_FEATURE_SSSE3)
#define TR_VAES256_FEATURES (TR_AESNI_FEATURES | TR_FEATURE_VAES | TR_FEATURE_AVX2 | TR_FEATURE_AVX)
#define TR_VAES512_FEATURES (TR_VAES256_FEATURES | TR_FEATURE_AVX512)

/* Functions of a narrower backend that a wider one uses. */
#define TR_AESNI_FEW(mode)   tr_aesni_few_##mode
#define TR_VAES256_FEW(mode) tr_vaes256_few_##mode
#define TR_VAES256_ANY(mode) tr_vaes256_##mode##_any
tr_blocks_fn TR_SHAPE_FUNCTIONS(TR_AESNI_FEW), TR_SHAPE_FUNCTIONS(TR_VAES256_FEW),
    TR_SHAPE_FUNCTIONS(TR_VAES256_ANY);
tr_cts_fn TR_AESNI_FEW(cts_decrypt), TR_VAES256_FEW(cts_decrypt);

void tr_aesni_expand_key(struct tr_aes_key *key, const uint8_t *raw);
void tr_aesni_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw);

/* Sets `enc` but not `dec`, and sets h to the encrypted block of zeros. */
void tr_aesni_hash_key(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK]);

/* Defines tr_backend.gcm_key. Key expansion and the encryption of the block of zeros overlap. */
#define TR_X86_GCM_KEY                                                                             \
    TR_TARGET void V_NAME(gcm_key)(struct tr_aes_key * key, struct tr_ghash_key * hash,            \
                                   const uint8_t *raw)                                             \
    {                                                                                              \
        tr_aesni_hash_key(key, raw, hash->h);                                                      \
        V_NAME(ghash_key)(hash);                                                                   \
    }

/* Fields of each x86 backend with AES instructions, and of those with carry-less multiplication. */
#define TR_X86_KEYS                                                                                \
    .expand_key = tr_aesni_expand_key, .expand_encryption_key = tr_aesni_expand_encryption_key,    \
    .multibuffer = TR_MULTIBUFFER
#define TR_X86_HASH_KEYS                                                                           \
    .ghash_key = V_NAME(ghash_key), .ghash_key_refused = tr_portable_ghash_powers,                 \
    .gcm_key = V_NAME(gcm_key)

#endif
