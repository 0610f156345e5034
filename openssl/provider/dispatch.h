/* SPDX-License-Identifier: BSD-2-Clause */
/* The function tables that libcrypto fetches, one for each cipher. */
#ifndef TENROUNDS_DISPATCH_H
#define TENROUNDS_DISPATCH_H

#include "cipher.h"

#define TRP_FUNCTION(id, function)                                                                 \
    {                                                                                              \
        id, (void (*)(void))(function)                                                             \
    }

/*
 * Defines the table trp_<name>_functions of the cipher kind_<name>. The names of its functions
 * begin with the argument `family`: <family>_new(provctx, kind), _free, _dup, _encrypt_init,
 * _decrypt_init, _update, _final, _cipher, and the functions for context parameters. With
 * TRP_DISPATCH_WITH(), the functions that several ciphers share have another prefix, `host`.
 */
#define TRP_DISPATCH(name, family)                                                                 \
    TRP_DISPATCH_WITH(name, family, family,                                                        \
                      TRP_FUNCTION(OSSL_FUNC_CIPHER_CIPHER, family##_cipher), )
/* For a cipher without a function for EVP_Cipher(). EVP_Cipher() then calls the update or the final
 * function. */
#define TRP_DISPATCH_NO_CIPHER(name, family) TRP_DISPATCH_WITH(name, family, family, )
#define TRP_DISPATCH_WITH(name, host, family, ...)                                                 \
    static void *new_##name(void *provctx)                                                         \
    {                                                                                              \
        return host##_new(provctx, &kind_##name);                                                  \
    }                                                                                              \
    static int get_params_##name(OSSL_PARAM params[])                                              \
    {                                                                                              \
        return trp_get_params(params, &kind_##name);                                               \
    }                                                                                              \
    const OSSL_DISPATCH trp_##name##_functions[] = {                                               \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, new_##name),                                         \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FREECTX, host##_free),                                       \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, host##_dup),                                         \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, host##_encrypt_init),                          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, host##_decrypt_init),                          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_UPDATE, family##_update),                                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FINAL, family##_final),                                      \
        __VA_ARGS__ TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##name),                  \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, trp_gettable_params),                       \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, host##_get_ctx_params),                      \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, family##_gettable_ctx_params),          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, host##_set_ctx_params),                      \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, family##_settable_ctx_params),          \
        {0, NULL}}

/* Defines <family>_encrypt_init and <family>_decrypt_init from <family>_init(ctx, key, key_len, iv,
 * iv_len, params, encrypt). */
#define TRP_INITS(family)                                                                          \
    static int family##_encrypt_init(void *ctx, const unsigned char *key, size_t key_len,          \
                                     const unsigned char *iv, size_t iv_len,                       \
                                     const OSSL_PARAM params[])                                    \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 1);                            \
    }                                                                                              \
    static int family##_decrypt_init(void *ctx, const unsigned char *key, size_t key_len,          \
                                     const unsigned char *iv, size_t iv_len,                       \
                                     const OSSL_PARAM params[])                                    \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 0);                            \
    }

/* Defines <family>_new, <family>_free and <family>_dup for contexts of the type
 * struct trp_<family>, whose first member `base` is a struct trp_keyed. No other member points into
 * the context. <family>_begin() initializes the other members. */
#define TRP_KEYED_CONTEXT(family)                                                                  \
    static void *family##_new(void *provctx, const struct trp_kind *kind)                          \
    {                                                                                              \
        struct trp_##family *c = trp_context(provctx, sizeof(*c));                                 \
        if (c == NULL)                                                                             \
            return NULL;                                                                           \
        trp_begin(&c->base, provctx, kind);                                                        \
        family##_begin(c);                                                                         \
        return c;                                                                                  \
    }                                                                                              \
    static void family##_free(void *ctx)                                                           \
    {                                                                                              \
        struct trp_##family *c = ctx;                                                              \
        if (c != NULL)                                                                             \
            trp_context_free(c->base.cipher.provider, c, sizeof(*c));                              \
    }                                                                                              \
    static void *family##_dup(void *ctx)                                                           \
    {                                                                                              \
        const struct trp_##family *from = ctx;                                                     \
        struct trp_##family *copy =                                                                \
            trp_context_copy(from->base.cipher.provider, from, sizeof(*from));                     \
        if (copy != NULL)                                                                          \
            trp_rebind(&copy->base, &from->base);                                                  \
        return copy;                                                                               \
    }

#define TRP_THREE(name)                                                                            \
    extern const OSSL_DISPATCH trp_##name##_128_functions[], trp_##name##_192_functions[],         \
        trp_##name##_256_functions[]
TRP_THREE(gcm);
TRP_THREE(ccm);
TRP_THREE(cts);
TRP_THREE(ocb);
TRP_THREE(siv);
TRP_THREE(gcm_siv);
TRP_THREE(wrap);
TRP_THREE(wrap_pad);
TRP_THREE(wrap_inv);
TRP_THREE(wrap_pad_inv);
extern const OSSL_DISPATCH trp_stitched_128_sha1_functions[], trp_stitched_256_sha1_functions[],
    trp_stitched_128_sha256_functions[], trp_stitched_256_sha256_functions[];
extern const OSSL_DISPATCH trp_xts_128_functions[], trp_xts_256_functions[];

#endif
