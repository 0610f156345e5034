/* SPDX-License-Identifier: BSD-2-Clause */
/* What the x86 backends share besides the body: each one's features include the weaker one's,
 * because it inherits operations from it. */
#ifndef TR_X86_H
#define TR_X86_H

#define TR_AESNI_FEATURES   (TR_FEATURE_AES | TR_FEATURE_SSSE3)
#define TR_VAES256_FEATURES (TR_AESNI_FEATURES | TR_FEATURE_VAES | TR_FEATURE_AVX2 | TR_FEATURE_AVX)
#define TR_VAES512_FEATURES (TR_VAES256_FEATURES | TR_FEATURE_AVX512)

/* vaes512's short calls are vaes256's (parallel.h). */
#define TR_PARALLEL_OF(backend)                                                                    \
    tr_bulk_fn tr_##backend##_ecb_encrypt, tr_##backend##_ecb_decrypt, tr_##backend##_cbc_decrypt, \
        tr_##backend##_cfb_decrypt, tr_##backend##_ctr
TR_PARALLEL_OF(aesni);
TR_PARALLEL_OF(vaes256);
TR_PARALLEL_OF(vaes512);

void tr_aesni_expand_key(struct tr_aes_key *key, const uint8_t *raw);

/* enc alone, and in h the block of zeros encrypted. */
void tr_aesni_hash_key(struct tr_aes_key *key, const uint8_t *raw, uint8_t h[TR_BLOCK]);

#endif
