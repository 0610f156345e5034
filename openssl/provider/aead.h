/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the authenticated ciphers have in common as EVP has them: contexts, keys and IVs, parameters,
 * and the AAD of TLS 1.2. A mode is a context that begins with a struct trp_aead, a struct
 * trp_aead_mode, and its functions for update and final.
 */
#ifndef TENROUNDS_PROVIDER_AEAD_H
#define TENROUNDS_PROVIDER_AEAD_H

#include "dispatch.h"
#include "param.h"
#include "pipeline.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define TRP_MAX_IV       128
#define TRP_TAG          16
#define TRP_TLS_AAD      13
#define TRP_TLS_FIXED    4 /* at least so much of an IV is fixed, */
#define TRP_TLS_EXPLICIT 8 /* and so much of it is in the record */

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

enum trp_iv_state {
    TRP_IV_NONE,
    TRP_IV_GIVEN, /* but the message has not begun */
    TRP_IV_IN_USE,
    TRP_IV_SPENT /* its message has ended */
};

struct trp_aead {
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    struct trp_pipes *pipes; /* of those modes that have pipelines */
    size_t iv_len, tag_len;  /* as set now */
    size_t tls_pad;          /* how much a TLS record grows by the tag */
    uint8_t key_set, encrypt;
    uint8_t iv_state; /* enum trp_iv_state */
    uint8_t tls;      /* buffer holds the AAD of a TLS record */
    uint8_t buffer[TRP_TAG];
    uint8_t iv[TRP_MAX_IV];
};

/* What to do with a parameter that the caller has named: returns 1, or 0 with an error raised. A
 * table of them ends with no key. */
struct trp_aead_param {
    const char *key;
    int (*act)(void *ctx, OSSL_PARAM *p);
};

struct trp_aead_mode {
    size_t context_size; /* of memory that begins with a struct trp_aead, and is zero at first */
    size_t room;    /* more bytes behind it, no secrets, which are not set, copied or cleansed */
    size_t tag_len; /* of a new context */
    size_t max_iv;  /* IVs have 1 to so many bytes; 0: as many as iv_len says */
    enum tr_status (*set_key)(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                              size_t key_len);
    void (*restart)(void *ctx);               /* what else an init does; may be NULL */
    int (*get_tag)(void *ctx, OSSL_PARAM *p); /* which is in get, too */
    /* Of several parameters a wrong one leaves those undone that are looked at after it. The default
     * provider looks in the order of these tables; in some modes, from 3.2 to 3.5, in the caller's. */
    const struct trp_aead_param *get, *set;
    uint8_t callers_order;
};

void *trp_aead_new(void *provctx, const struct trp_kind *kind);
OSSL_FUNC_cipher_freectx_fn trp_aead_free;
OSSL_FUNC_cipher_dupctx_fn trp_aead_dup;
OSSL_FUNC_cipher_encrypt_init_fn trp_aead_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn trp_aead_decrypt_init;
OSSL_FUNC_cipher_get_ctx_params_fn trp_aead_get_ctx_params;
OSSL_FUNC_cipher_set_ctx_params_fn trp_aead_set_ctx_params;

/* Both return 0. A status that is no overlap raises nothing. */
int trp_aead_failed(const void *ctx, int reason) __attribute__((cold, noinline));
int trp_aead_status(const void *ctx, enum tr_status status) __attribute__((cold, noinline));

/* For the tables of parameters. trp_aead_get_iv() wants room for the IV and gives no more. */
int trp_aead_put_number(const void *ctx, OSSL_PARAM *p, size_t value);
int trp_aead_take_number(const void *ctx, const OSSL_PARAM *p, size_t *value);
int trp_aead_get_iv_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_key_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_tag_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_tls_pad(void *ctx, OSSL_PARAM *p);
int trp_aead_get_iv(void *ctx, OSSL_PARAM *p);

/* The AAD of TLS 1.2 with tags of tag_len bytes into the buffer; it then counts the plaintext, as
 * the caller's counts everything (RFC 5246 section 6.2.3.3). reason is that of a wrong one. */
int trp_aead_set_tls_aad(void *ctx, const OSSL_PARAM *p, size_t tag_len, int reason);

/* Of lists of parameters. */
#define TRP_AEAD_GETTABLE                                                                          \
    TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN), TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN),                         \
        TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN), TRP_OCTETS(OSSL_CIPHER_PARAM_IV),                 \
        TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV), TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG)
#define TRP_AEAD_GETTABLE_TLS                                                                      \
    TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD),                                                 \
        TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN)
#define TRP_AEAD_SETTABLE                                                                          \
    TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_IVLEN), TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG)
#define TRP_AEAD_SETTABLE_TLS                                                                      \
    TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD), TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED), \
        TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV)

/* The lists of a family's parameters, from arrays <family>_gettable and <family>_settable. */
#define TRP_AEAD_LISTS(family)                                                                     \
    static const OSSL_PARAM *family##_gettable_ctx_params(void *ctx, void *provctx)                \
    {                                                                                              \
        (void)ctx;                                                                                 \
        (void)provctx;                                                                             \
        return family##_gettable;                                                                  \
    }                                                                                              \
    static const OSSL_PARAM *family##_settable_ctx_params(void *ctx, void *provctx)                \
    {                                                                                              \
        (void)ctx;                                                                                 \
        (void)provctx;                                                                             \
        return family##_settable;                                                                  \
    }

/* The cipher trp_<family>_<bits>_functions of the mode <family>_mode, from <family>_update, _final,
 * _cipher; more of its struct trp_kind follows. functions: more of these, each with a comma. */
#define TRP_AEAD(family, bits, ...) TRP_AEAD_WITH(family, bits, , __VA_ARGS__)
#define TRP_AEAD_WITH(family, bits, functions, ...)                                                \
    TRP_AEAD_BY(trp_aead, family, bits, functions, __VA_ARGS__)
#define TRP_AEAD_BY(host, family, bits, functions, ...)                                            \
    static const struct trp_kind kind_##family##_##bits = {                                        \
        .key_len = bits / 8, .aead = 1, .custom_iv = 1, .aead_mode = &family##_mode, __VA_ARGS__}; \
    TRP_DISPATCH_WITH(family##_##bits, host, family,                                               \
                      TRP_FUNCTION(OSSL_FUNC_CIPHER_CIPHER, family##_cipher), functions)

#endif
