/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Features and functions that the x86 backends share. A backend's features include the features of
 * its weaker backend, which does the operations that the backend leaves NULL.
 */
#ifndef TR_X86_H
#define TR_X86_H

#include "dispatch/backend.h"

#define TR_AESNI_FEATURES   (TR_FEATURE_AES | TR_FEATURE_SSSE3)
#define TR_VAES256_FEATURES (TR_AESNI_FEATURES | TR_FEATURE_VAES | TR_FEATURE_AVX2 | TR_FEATURE_AVX)
#define TR_VAES512_FEATURES (TR_VAES256_FEATURES | TR_FEATURE_AVX512)

/* The parallel modes. For few blocks, vaes512 uses vaes256's functions. */
#define TR_PARALLEL_OF(backend)                                                                    \
    tr_bulk_fn tr_##backend##_ecb_encrypt, tr_##backend##_ecb_decrypt, tr_##backend##_cbc_decrypt, \
        tr_##backend##_cfb_decrypt, tr_##backend##_ctr
#define TR_PARALLEL_FEW_OF(backend)                                                                \
    tr_few_fn tr_##backend##_few_ecb_encrypt, tr_##backend##_few_ecb_decrypt,                      \
        tr_##backend##_few_cbc_decrypt, tr_##backend##_few_cfb_decrypt, tr_##backend##_few_ctr
TR_PARALLEL_OF(aesni);
TR_PARALLEL_FEW_OF(aesni);
TR_PARALLEL_OF(vaes256);
TR_PARALLEL_FEW_OF(vaes256);
TR_PARALLEL_OF(vaes512);
tr_cts_fn tr_aesni_few_cts_decrypt, tr_vaes256_few_cts_decrypt;
/* Entries of struct tr_whole_calls. */
#define TR_FEW_CALLS(backend)                                                                      \
    .few = {[TR_OP_ECB_ENCRYPT] = tr_##backend##_few_ecb_encrypt,                                  \
            [TR_OP_ECB_DECRYPT] = tr_##backend##_few_ecb_decrypt,                                  \
            [TR_OP_CBC_DECRYPT] = tr_##backend##_few_cbc_decrypt,                                  \
            [TR_OP_CFB_DECRYPT] = tr_##backend##_few_cfb_decrypt,                                  \
            [TR_OP_CTR] = tr_##backend##_few_ctr},                                                 \
    .cts_decrypt = tr_##backend##_few_cts_decrypt

void tr_aesni_expand_key(struct tr_aes_key *key, const uint8_t *raw);
void tr_aesni_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw);

/* Sets `enc` but not `dec`, and sets h to the encrypted block of zeros. */
void tr_aesni_hash_key(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK]);

#endif
