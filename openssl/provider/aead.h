/* SPDX-License-Identifier: BSD-2-Clause */
/* Code shared by the authenticated ciphers: contexts, keys, IVs, parameters, and the AAD of TLS
 * 1.2. Each mode has update and final functions, a constant struct trp_aead_mode, and a context
 * that begins with a struct trp_aead. */
#ifndef TENROUNDS_PROVIDER_AEAD_H
#define TENROUNDS_PROVIDER_AEAD_H

#include "dispatch.h"
#include "tls_aead.h"

#define TRP_MAX_IV 128
#define TRP_TAG    16

enum trp_iv_state {
    TRP_IV_NONE,
    TRP_IV_GIVEN,  /* the IV is set, but no message has begun */
    TRP_IV_IN_USE, /* the message with this IV has begun */
    TRP_IV_SPENT   /* the message with this IV has ended */
};

struct trp_aead {
    struct trp_head head;
    size_t iv_len, tag_len; /* current lengths, in bytes */
    uint8_t key_set, encrypt;
    uint8_t iv_state; /* enum trp_iv_state */
    uint8_t tls;      /* `buffer` holds the AAD of a TLS record */
    uint8_t tls_pad;  /* bytes that the tag adds to a TLS record */
    uint8_t buffer[TRP_TAG] __attribute__((aligned(16))); /* within a cache line */
    uint8_t iv[TRP_MAX_IV];
};

/* A parameter, and the function that gets or sets it. The function returns 1 on success and 0 on
 * failure. TRP_IGNORE_REST also means success, but the call ignores the remaining parameters. A
 * NULL key ends an array of parameters. */
#define TRP_IGNORE_REST (-1)
struct trp_aead_param {
    const char *key;
    int (*act)(void *ctx, OSSL_PARAM *p);
};

struct trp_aead_mode {
    struct trp_family family; /* its contexts begin with a struct trp_aead */
    size_t tag_len;           /* tag length of a new context */
    /* An IV has 1 to max_iv bytes. If max_iv is 0, an IV has the context's iv_len bytes. */
    size_t max_iv;
    uint8_t no_iv;  /* 1: the init functions ignore IVs */
    uint8_t halves; /* 1: a key consists of two AES keys */
    uint16_t tests; /* the known-answer tests of a key, a set of enum tr_test */
    enum tr_status (*set_key)(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                              size_t key_len);
    /* Writes the tag. The array `get` also contains this function, but a fast path calls it
     * directly. */
    int (*get_tag)(void *ctx, OSSL_PARAM *p);
    void (*restart)(void *ctx); /* called by each init function, or NULL */
    /* The parameters to get and to set; see trp_aead_act(). */
    const struct trp_aead_param *get, *set;
};

void trp_aead_begin(void *ctx); /* the function of a struct trp_family */
OSSL_FUNC_cipher_encrypt_init_fn trp_aead_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn trp_aead_decrypt_init;
OSSL_FUNC_cipher_get_ctx_params_fn trp_aead_get_ctx_params;
OSSL_FUNC_cipher_set_ctx_params_fn trp_aead_set_ctx_params;

/* Calls the function of each parameter in the order of `table`, up to the first function that fails
 * or returns TRP_IGNORE_REST. */
int trp_aead_act(void *ctx, const struct trp_aead_param *table, const OSSL_PARAM params[]);

/* Raises an error for TR_ERR_OVERLAP only. Returns 0. */
int trp_aead_status(const void *ctx, enum tr_status status) __attribute__((cold, noinline));

/* Functions to get and set parameters. trp_aead_get_iv() fails if the caller's buffer is shorter
 * than the IV. */
int trp_aead_put_number(const void *ctx, OSSL_PARAM *p, size_t value);
int trp_aead_get_iv_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_key_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_tag_len(void *ctx, OSSL_PARAM *p);
int trp_aead_get_tls_pad(void *ctx, OSSL_PARAM *p);
int trp_aead_get_iv(void *ctx, OSSL_PARAM *p);

/* Stores the AAD of a TLS 1.2 record whose tag has tag_len bytes (trossl_tls_take_aad()). Raises
 * the error `reason` if the AAD is wrong. */
int trp_aead_set_tls_aad(void *ctx, const OSSL_PARAM *p, size_t tag_len, int reason);

/* The functions of AES-GCM that GMAC calls. */
void *trp_gcm_new(const struct trp_provider *provider, size_t key_len);
OSSL_FUNC_cipher_encrypt_init_fn trp_gcm_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn trp_gcm_decrypt_init;
OSSL_FUNC_cipher_update_fn trp_gcm_update;
OSSL_FUNC_cipher_final_fn trp_gcm_final;
OSSL_FUNC_cipher_get_ctx_params_fn trp_gcm_get_ctx_params;
OSSL_FUNC_cipher_set_ctx_params_fn trp_gcm_set_ctx_params;

/* Parameters that SIV and GCM-SIV share. trp_siv_put_tag() writes a tag of 16 bytes, and fails if
 * `tag` is NULL. */
OSSL_FUNC_cipher_gettable_ctx_params_fn trp_siv_gettable_ctx_params;
OSSL_FUNC_cipher_settable_ctx_params_fn trp_siv_settable_ctx_params;
int trp_siv_put_tag(const void *ctx, OSSL_PARAM *p, const uint8_t *tag);

/* Entries of parameter lists. */
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

/* Defines three ciphers (TRP_TABLES()) of the mode <name>_mode, with the functions <name>_update,
 * <name>_final, <name>_cipher and the lists of context parameters. */
#define TRP_AEAD(name, keys, ...)                                                                  \
    TRP_TABLES(name, keys, trp_aead, name, name##_final, trp_aead, name, (TRP_CIPHER(name)),       \
               TRP_AEAD_CONSTANTS(name), __VA_ARGS__)
#define TRP_AEAD_CONSTANTS(name)                                                                   \
    .family = &name##_mode.family, .aead_mode = &name##_mode, .aead = 1, .custom_iv = 1

#endif
