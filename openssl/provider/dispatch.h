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
 * Defines the table trp_<name>_functions of the cipher kind_<name>, with the functions
 * <init>_encrypt_init and _decrypt_init, <data>_update, <final>, <params>_get_ctx_params and
 * _set_ctx_params, <lists>_gettable_ctx_params and _settable_ctx_params. More entries may follow.
 */
#define TRP_TABLE(name, init, data, final, params, lists, ...)                                     \
    static void *new_##name(void *provctx)                                                         \
    {                                                                                              \
        return trp_new(provctx, &kind_##name);                                                     \
    }                                                                                              \
    static int get_params_##name(OSSL_PARAM p[])                                                   \
    {                                                                                              \
        return trp_get_params(p, &kind_##name);                                                    \
    }                                                                                              \
    const OSSL_DISPATCH trp_##name##_functions[] = {                                               \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, new_##name),                                         \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FREECTX, trp_free),                                          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, trp_dup),                                            \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, init##_encrypt_init),                          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, init##_decrypt_init),                          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_UPDATE, data##_update),                                      \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FINAL, final),                                               \
        __VA_ARGS__ TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##name),                  \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, trp_gettable_params),                       \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, params##_get_ctx_params),                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, lists##_gettable_ctx_params),           \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, params##_set_ctx_params),                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, lists##_settable_ctx_params),           \
        {0, NULL}}

/* The function for EVP_Cipher(). Without one, EVP_Cipher() calls the update or the final function. */
#define TRP_CIPHER(family) TRP_FUNCTION(OSSL_FUNC_CIPHER_CIPHER, family##_cipher),

/* Defines <family>_encrypt_init and <family>_decrypt_init from <family>_init(ctx, key, key_len, iv,
 * iv_len, params, encrypt). The first argument is `static` or nothing. */
#define TRP_INITS(linkage, family)                                                                 \
    linkage int family##_encrypt_init(void *ctx, const unsigned char *key, size_t key_len,         \
                                      const unsigned char *iv, size_t iv_len,                      \
                                      const OSSL_PARAM params[])                                   \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 1);                            \
    }                                                                                              \
    linkage int family##_decrypt_init(void *ctx, const unsigned char *key, size_t key_len,         \
                                      const unsigned char *iv, size_t iv_len,                      \
                                      const OSSL_PARAM params[])                                   \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 0);                            \
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
