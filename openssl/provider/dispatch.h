/* SPDX-License-Identifier: BSD-2-Clause */
/* The function tables that libcrypto fetches, one for each cipher. */
#ifndef TENROUNDS_DISPATCH_H
#define TENROUNDS_DISPATCH_H

#include "cipher.h"
#include "param.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#define TRP_FUNCTION(id, function)                                                                 \
    {                                                                                              \
        id, (void (*)(void))(function)                                                             \
    }

/*
 * Defines a cipher, kind_<name>, and its function table, trp_<name>_functions. The last arguments
 * are the cipher's constants. `entries` has more entries of the table, in parentheses. The other
 * arguments choose the functions:
 * - <init>_encrypt_init and _decrypt_init, <data>_update, and <final>;
 * - <params>_get_ctx_params and _set_ctx_params;
 * - <lists>_gettable_ctx_params and _settable_ctx_params.
 */
#define TRP_ENTRIES(...) __VA_ARGS__
#define TRP_TABLE(name, init, data, final, params, lists, entries, ...)                            \
    static const struct trp_kind kind_##name = {__VA_ARGS__};                                      \
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
        TRP_ENTRIES entries TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##name),          \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, trp_gettable_params),                       \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, params##_get_ctx_params),                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, lists##_gettable_ctx_params),           \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, params##_set_ctx_params),                    \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, lists##_settable_ctx_params),           \
        {0, NULL}}

/* The same for keys of 128, 192 and 256 bits, or for pairs of such keys if `keys` is 2. */
#define TRP_TABLES(name, keys, init, data, final, params, lists, entries, ...)                     \
    TRP_TABLE(name##_128, init, data, final, params, lists, entries, .key_len = (keys)*16,         \
              __VA_ARGS__);                                                                        \
    TRP_TABLE(name##_192, init, data, final, params, lists, entries, .key_len = (keys)*24,         \
              __VA_ARGS__);                                                                        \
    TRP_TABLE(name##_256, init, data, final, params, lists, entries, .key_len = (keys)*32,         \
              __VA_ARGS__)

/* An entry: the function for EVP_Cipher(). Without one, EVP_Cipher() calls the update or the final
 * function. */
#define TRP_CIPHER(family) TRP_FUNCTION(OSSL_FUNC_CIPHER_CIPHER, family##_cipher),

/* Defines <family>_encrypt_init and <family>_decrypt_init from
 * <family>_init(TRP_INIT_PARAMETERS, int encrypt). The first argument is `static` or nothing. */
#define TRP_INITS(linkage, family)                                                                 \
    linkage int family##_encrypt_init(TRP_INIT_PARAMETERS)                                         \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 1);                            \
    }                                                                                              \
    linkage int family##_decrypt_init(TRP_INIT_PARAMETERS)                                         \
    {                                                                                              \
        return family##_init(ctx, key, key_len, iv, iv_len, params, 0);                            \
    }

#endif
