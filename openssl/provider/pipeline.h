/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipelines of OpenSSL 3.5, EVP_CipherPipelineEncryptInit(3): one key, and up to 32 messages with IVs
 * of their own that go on together. The pipes are copies of the context with the key, which stay in
 * one piece of memory, so a context may hold no pointer into itself.
 */
#ifndef TENROUNDS_PROVIDER_PIPELINE_H
#define TENROUNDS_PROVIDER_PIPELINE_H

#include "dispatch.h"
#include "param.h"

#define TRP_MAX_PIPES 32 /* EVP_MAX_PIPES */

/* Since 3.5. */
#ifndef OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT
#    define OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT 15
#    define OSSL_FUNC_CIPHER_PIPELINE_DECRYPT_INIT 16
#    define OSSL_FUNC_CIPHER_PIPELINE_UPDATE       17
#    define OSSL_FUNC_CIPHER_PIPELINE_FINAL        18
#endif

/* An array of as many pointers to tags as there are pipes; the size is that of one tag. */
#define TRP_PIPELINE_TAG  "pipeline-tag"
#define TRP_PIPELINE_TAGS TRP_ENTRY(TRP_PIPELINE_TAG, OSSL_PARAM_OCTET_PTR, 0)

struct trp_pipes {
    size_t n, context_size;
    uint8_t contexts[] TR_ALIGNED(16);
};

static inline void *trp_pipe(struct trp_pipes *pipes, size_t i)
{
    return pipes->contexts + i * pipes->context_size;
}

void trp_pipes_free(const struct trp_provider *provider, struct trp_pipes *pipes);

/* Puts a copy in the place of the pipes, if there are any: 1, or 0 without memory. */
int trp_pipes_copy(const struct trp_provider *provider, struct trp_pipes **pipes);

/* Gives the context, whose pipes are *pipes, the key, and begins anew with n pipes. No key: the one
 * set before stays. No IVs: there are no pipes until the next call. */
int trp_pipes_init(const struct trp_provider *provider, struct trp_pipes **pipes, void *ctx,
                   size_t context_size, OSSL_FUNC_cipher_encrypt_init_fn *init, const uint8_t *key,
                   size_t key_len, size_t n, const uint8_t **iv, size_t iv_len,
                   const OSSL_PARAM params[]);

/* One update or final of each pipe. If one fails, its out_len is 0, and 0 is returned after all. */
typedef int trp_pipes_update_fn(const struct trp_provider *provider, struct trp_pipes *pipes,
                                OSSL_FUNC_cipher_update_fn *update, size_t n, uint8_t **out,
                                size_t *out_len, const size_t *out_size, const uint8_t **in,
                                const size_t *in_len);
trp_pipes_update_fn trp_pipes_update;
/* Of struct trp_cipher in CBC: what is whole blocks to encrypt goes on side by side. */
trp_pipes_update_fn trp_cbc_pipes_update;
int trp_pipes_final(const struct trp_provider *provider, struct trp_pipes *pipes,
                    OSSL_FUNC_cipher_final_fn *final, size_t n, uint8_t **out, size_t *out_len,
                    const size_t *out_size);

/*
 * The four functions <name>_pipeline_... of a family whose contexts begin with a struct type, of
 * context_size(ctx) bytes in all, from its functions for a single message and that which updates all.
 */
#define TRP_PIPELINE_FUNCTIONS(name, type, context_size, encrypt_init, decrypt_init, pipes_update, \
                               update, final)                                                      \
    static int name##_pipeline_encrypt_init(void *ctx, const unsigned char *key, size_t key_len,   \
                                            size_t n, const unsigned char **iv, size_t iv_len,     \
                                            const OSSL_PARAM params[])                             \
    {                                                                                              \
        struct type *c = ctx;                                                                      \
        return trp_pipes_init(c->provider, &c->pipes, c, context_size, encrypt_init, key, key_len, \
                              n, iv, iv_len, params);                                              \
    }                                                                                              \
    static int name##_pipeline_decrypt_init(void *ctx, const unsigned char *key, size_t key_len,   \
                                            size_t n, const unsigned char **iv, size_t iv_len,     \
                                            const OSSL_PARAM params[])                             \
    {                                                                                              \
        struct type *c = ctx;                                                                      \
        return trp_pipes_init(c->provider, &c->pipes, c, context_size, decrypt_init, key, key_len, \
                              n, iv, iv_len, params);                                              \
    }                                                                                              \
    static int name##_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,   \
                                      const size_t *out_size, const unsigned char **in,            \
                                      const size_t *in_len)                                        \
    {                                                                                              \
        struct type *c = ctx;                                                                      \
        return pipes_update(c->provider, c->pipes, update, n, out, out_len, out_size, in, in_len); \
    }                                                                                              \
    static int name##_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,    \
                                     const size_t *out_size)                                       \
    {                                                                                              \
        struct type *c = ctx;                                                                      \
        return trp_pipes_final(c->provider, c->pipes, final, n, out, out_len, out_size);           \
    }

/* Their entries of a table of functions. */
#define TRP_PIPELINE(name)                                                                         \
    TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_ENCRYPT_INIT, name##_pipeline_encrypt_init),            \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_DECRYPT_INIT, name##_pipeline_decrypt_init),        \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_UPDATE, name##_pipeline_update),                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_PIPELINE_FINAL, name##_pipeline_final),

#endif
