/* SPDX-License-Identifier: BSD-2-Clause */
/* Pipelines, EVP_CipherPipelineEncryptInit(3) of OpenSSL 3.5 and later: one key and up to 32
 * messages, each with its own IV. Here is the part for all modes, and AES-CBC; gcm_pipeline.h adds
 * AES-GCM. Encryption of one CBC message is latency-bound, so several messages run in one
 * multi-buffer call. Other parallel modes need no pipelines, because one message keeps the
 * execution units busy. The default provider has no pipelines. */
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
    TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT, trp_pipeline_encrypt_init),               \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_DECRYPT_INIT, trp_pipeline_decrypt_init),           \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_UPDATE, family##_pipeline_update),                  \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_FINAL, family##_pipeline_final),

/* The pipes of a context begin with this. They are one piece of memory, which a copy of the context
 * copies. */
struct trp_pipes {
    const struct trp_provider *provider;
    size_t n, size; /* the number of pipes, and the bytes of all */
};

/* The part of a mode. */
struct trp_pipeline {
    OSSL_FUNC_cipher_encrypt_init_fn *encrypt_init;
    OSSL_FUNC_cipher_decrypt_init_fn *decrypt_init;
    size_t size, each; /* bytes of the pipes' own struct without pipes, and of a pipe */
    /* Starts a message in each pipe of the context. Returns 0 if an IV is missing or wrong. */
    int (*begin)(void *ctx, const uint8_t **iv, size_t iv_len);
};

void trp_pipes_free(struct trp_pipes *pipes);

/* Gives a copied context its own copy of the pipes, if it has any. If memory is exhausted, returns
 * 0 and leaves the context without pipes. */
int trp_pipes_copy(struct trp_head *copy);

/* Whether a context has n pipes. Raises an error if not. */
int trp_has_pipes(const struct trp_head *head, size_t n);

/* Whether two pipes conflict and must run one after the other: one writes memory that the other
 * reads or writes. The pipes with done[i] != 0 join a multi-buffer call that writes done[i] bytes
 * of each. Pipes that do not join cannot conflict with each other, because they run in order. */
int trp_pipes_cross(size_t n, uint8_t **out, const uint8_t **in, const size_t *in_len,
                    const size_t *done);

/* CBC: each pipe uses the key of the context. */
struct trp_cbc_pipes {
    struct trp_pipes head;
    struct trp_cipher pipe[];
};
extern const struct trp_pipeline trp_cbc_pipeline;
void trp_cbc_pipes_rebind(struct trp_keyed *copy);

/* The functions of libcrypto's interface. An init without a key keeps the old key. An init without
 * IVs removes the pipes until the next init. If update or final fails for a pipe, the out_len of
 * this pipe is 0, the other pipes continue, and the call returns 0. */
int trp_pipeline_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[]);
int trp_pipeline_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[]);
int trp_cbc_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                            const size_t *out_size, const unsigned char **in, const size_t *in_len);
int trp_cbc_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                           const size_t *out_size);

#endif
