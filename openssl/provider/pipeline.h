/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipelines of AES-CBC, EVP_CipherPipelineEncryptInit(3) of OpenSSL 3.5 and later: one key and up
 * to 32 messages, each with its own IV. Encryption of one CBC message is latency-bound, so several
 * messages run in one multi-buffer call. gcm_pipeline.h has those of AES-GCM. Other parallel modes
 * need no pipelines, because one message keeps the execution units busy. The default provider has
 * no pipelines.
 */
#ifndef TENROUNDS_PROVIDER_PIPELINE_H
#define TENROUNDS_PROVIDER_PIPELINE_H

#include "cipher.h"

#define TRP_MAX_PIPES 32 /* EVP_MAX_PIPES */

/* Function numbers of OpenSSL 3.5; older headers lack them. */
#ifndef OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT
#    define OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT 15
#    define OSSL_FUNC_CIPHER_PIPELINE_DECRYPT_INIT 16
#    define OSSL_FUNC_CIPHER_PIPELINE_UPDATE       17
#    define OSSL_FUNC_CIPHER_PIPELINE_FINAL        18
#endif

/* The entries of a function table. */
#define TRP_PIPELINE(family)                                                                       \
    TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT, family##_pipeline_encrypt_init),          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_DECRYPT_INIT, family##_pipeline_decrypt_init),      \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_UPDATE, family##_pipeline_update),                  \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_FINAL, family##_pipeline_final),

static inline int trp_overlap(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    const uintptr_t ahead = (uintptr_t)b - (uintptr_t)a;
    return ahead < a_len || 0 - ahead < b_len;
}

/* The pipes of a context, one for each message. Each pipe uses the key of the context, and its own
 * `pipes` pointer is NULL. */
struct trp_pipes {
    size_t n;
    struct trp_cipher pipe[];
};

void trp_pipes_free(const struct trp_provider *provider, struct trp_pipes *pipes);

/* Gives a copied context its own copy of the pipes. If memory is exhausted, returns 0 and leaves
 * the context without pipes. */
int trp_pipes_copy(struct trp_keyed *ctx);

/*
 * The functions of libcrypto's interface. An init without a key keeps the old key. An init without
 * IVs removes the pipes until the next init. If update or final fails for a pipe, the out_len of
 * this pipe is 0, the other pipes continue, and the call returns 0.
 */
int trp_pipeline_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[]);
int trp_pipeline_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[]);
int trp_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                        const size_t *out_size, const unsigned char **in, const size_t *in_len);
int trp_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                       const size_t *out_size);

#endif
