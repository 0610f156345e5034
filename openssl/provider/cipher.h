/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cipher context: struct tr_cipher of the core, and what libcrypto's interface,
 * provider-cipher(7), asks for beyond it. What happens where the manual leaves it open is what the
 * default provider does; the tests hold the two side by side.
 */
#ifndef TENROUNDS_PROVIDER_CIPHER_H
#define TENROUNDS_PROVIDER_CIPHER_H

#include "provider.h"

/* What distinguishes the ciphers. */
struct trp_kind {
    enum tr_mode mode; /* of the fifteen that are a struct tr_cipher */
    unsigned evp_mode; /* EVP_CIPH_..._MODE */
    unsigned key_len, iv_len;
    unsigned block_size; /* as EVP sees it: 1 for the modes that take any length */
    /* Of the parameters with the same names. */
    uint8_t aead, custom_iv, cts, has_rand_key;
    uint8_t tls1_multiblock;
    uint8_t mac_len;        /* of the HMAC that the cipher comes with */
    uint8_t inverse;        /* key wrap with the inverse cipher */
    uint8_t default_iv_len; /* where a context begins with another than iv_len */
    const struct trp_aead_mode *aead_mode;
};

#define TRP_MAX_MAC 64 /* EVP_MAX_MD_SIZE */

struct trp_cipher {
    struct tr_cipher core; /* core.used is EVP's "num" for CFB, OFB and CTR */
    uint8_t original_iv[TR_BLOCK];
    const struct trp_kind *kind;
    const struct trp_provider *provider;
    struct trp_pipes *pipes; /* of CBC; see pipeline.h */
    uint8_t key_set, iv_set;
    uint8_t use_bits; /* lengths of CFB1 are in bits */
    unsigned num;     /* EVP's "num" for ECB and CBC, where it is a number without a meaning */

    /* TLS before 1.3, see tls_record.h. */
    unsigned tls_version;
    size_t tls_mac_size;
    const uint8_t *tls_mac; /* NULL, or into tls_mac_copy, or into the caller's data */
    uint8_t tls_mac_copy[TRP_MAX_MAC];
};

/* What a context begins with, in memory that is zero. */
void trp_begin(struct trp_cipher *cipher, const struct trp_provider *provider,
               const struct trp_kind *kind);
int trp_set_iv(struct trp_cipher *cipher, const uint8_t *iv, size_t iv_len);
int trp_set_key(struct trp_cipher *cipher, const uint8_t *key, size_t key_len);

/*
 * Starts a message. No key: the one set before stays. No IV: CBC, CFB and OFB go back to the one
 * set before; CTR goes on counting (and drops the rest of the block). An IV for ECB is ignored.
 */
int trp_init(struct trp_cipher *cipher, const uint8_t *key, size_t key_len, const uint8_t *iv,
             size_t iv_len, const OSSL_PARAM params[], int decrypt);

/* The bytes of update and final: ECB and CBC, with padding; and the modes of any length. */
OSSL_FUNC_cipher_update_fn trp_ecb_update, trp_cbc_update;
OSSL_FUNC_cipher_update_fn trp_cfb_update, trp_ofb_update, trp_ctr_update;
OSSL_FUNC_cipher_update_fn trp_cfb8_update, trp_cfb1_update;
OSSL_FUNC_cipher_final_fn trp_block_final, trp_stream_final;

/* One call on whole blocks (ECB, CBC) or any length, past buffer and padding. */
OSSL_FUNC_cipher_cipher_fn trp_ecb_cipher, trp_cbc_cipher;
OSSL_FUNC_cipher_cipher_fn trp_cfb_cipher, trp_ofb_cipher, trp_ctr_cipher;
OSSL_FUNC_cipher_cipher_fn trp_cfb8_cipher, trp_cfb1_cipher;

/* Parameters. */
int trp_get_params(OSSL_PARAM params[], const struct trp_kind *kind);
OSSL_FUNC_cipher_gettable_params_fn trp_gettable_params;
OSSL_FUNC_cipher_gettable_ctx_params_fn trp_gettable_ctx_params;
OSSL_FUNC_cipher_settable_ctx_params_fn trp_settable_ctx_params;
OSSL_FUNC_cipher_get_ctx_params_fn trp_get_ctx_params;
OSSL_FUNC_cipher_set_ctx_params_fn trp_set_ctx_params;

/* Puts what a status of the core means to users of libcrypto into the error queue. Returns 0. */
int trp_raise_status(const struct trp_cipher *cipher, enum tr_status status)
    __attribute__((cold, noinline));

#endif
