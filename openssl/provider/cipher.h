/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts of the unauthenticated ciphers: the core's struct tr_cipher, and the other fields that
 * libcrypto's interface needs. The man page provider-cipher(7) describes this interface. Where that
 * page leaves behaviour open, this code behaves like the default provider; differential tests
 * compare the two. */
#ifndef TENROUNDS_PROVIDER_CIPHER_H
#define TENROUNDS_PROVIDER_CIPHER_H

#include "provider.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

/* The beginning of every context. */
struct trp_head {
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    struct trp_pipes *pipes; /* NULL, or the messages of a pipeline (pipeline.h) */
};

/* How the contexts of a family of ciphers are made, copied and freed. */
struct trp_family {
    size_t context_size;
    void (*begin)(void *ctx); /* initializes a new context, which is zero but for its head */
    /* Each of these may be NULL. `copied` makes a copied context independent of the original, and
     * returns 0 if memory is exhausted. `release` frees the memory that the context points to. No
     * family has both `release` and `pipeline`: if the pipes cannot be copied, the copy is freed
     * before `copied` was called. */
    int (*copied)(void *copy);
    void (*release)(void *ctx);
    const struct trp_pipeline *pipeline; /* NULL if the ciphers have no pipelines */
};

/* The constants of a cipher. */
struct trp_kind {
    const struct trp_family *family;
    enum tr_mode mode; /* for ciphers that use struct tr_cipher */
    unsigned evp_mode; /* EVP_CIPH_..._MODE */
    unsigned key_len, iv_len;
    unsigned block_size; /* EVP's block size: 1 for the modes that take any length */
    /* Values of the parameters with the same names. */
    uint8_t aead, custom_iv, cts, has_rand_key;
    uint8_t tls1_multiblock;
    uint8_t mac_len; /* bytes of the HMAC in AES-CBC-HMAC */
    uint8_t inverse; /* key wrap with the inverse cipher */
    uint16_t tests;  /* the known-answer tests of a key, a set of enum tr_test */
    /* The IV length of a new context; 0 means iv_len. For CCM, this member is 7 and iv_len 12. */
    uint8_t default_iv_len;
    const struct trp_aead_mode *aead_mode;
};

/* The parameters of OSSL_FUNC_cipher_encrypt_init_fn, and those of OSSL_FUNC_cipher_update_fn. */
#define TRP_INIT_PARAMETERS                                                                        \
    void *ctx, const unsigned char *key, size_t key_len, const unsigned char *iv, size_t iv_len,   \
        const OSSL_PARAM params[]
#define TRP_DATA_PARAMETERS                                                                        \
    void *ctx, unsigned char *out, size_t *out_len, size_t out_size, const unsigned char *in,      \
        size_t len

void *trp_new(void *provctx, const struct trp_kind *kind);
OSSL_FUNC_cipher_freectx_fn trp_free;
OSSL_FUNC_cipher_dupctx_fn trp_dup;

/* Raises an error of a context, and returns 0. */
int trp_failed(const void *ctx, int reason) __attribute__((cold, noinline));

#define TRP_MAX_MAC 64 /* EVP_MAX_MD_SIZE */

/* The state of one message: a context without its key. The members that each call reads share
 * a cache line. */
struct trp_cipher {
    struct trp_head head;
    /* TLS records before TLS 1.3; see tls_record.h. */
    const uint8_t *tls_mac; /* CFB, OFB, CTR: NULL, or points into the caller's data */
    size_t tls_mac_size;
    uint64_t tls_records; /* opened records, for the substitute of a MAC */
    uint8_t original_iv[TR_BLOCK];

    struct tr_cipher core; /* core.used is EVP's "num" for CFB, OFB and CTR */
    uint8_t key_set, iv_set;
    uint8_t use_bits;     /* lengths of CFB1 are in bits */
    uint8_t has_mac_copy; /* ECB, CBC: tls_mac_copy is the MAC of a TLS record */
    unsigned num;         /* "num" of ECB and CBC, which has no effect */
    unsigned tls_version;
    uint8_t tls_mac_copy[TRP_MAX_MAC];
};

/* A context. The pointer cipher.core.key points to the member `key`. */
struct trp_keyed {
    struct trp_cipher cipher;
    struct tr_aes_key key;
};

/* The functions of a struct trp_family, for contexts that begin with a struct trp_keyed. */
void trp_keyed_begin(void *ctx);
int trp_keyed_copied(void *copy);

int trp_set_key(struct trp_keyed *ctx, const uint8_t *key, size_t key_len);

/* memcpy(), inline if `len` has the usual value, which is a constant. */
static inline __attribute__((always_inline)) void trp_copy(void *to, const void *from, size_t len,
                                                           size_t usual)
{
    if (LIKELY(len == usual))
        memcpy(to, from, usual);
    else
        memcpy(to, from, len);
}

static inline int trp_set_iv(struct trp_cipher *cipher, const uint8_t *iv, size_t iv_len)
{
    if (iv_len != cipher->head.kind->iv_len)
        return trp_failed(cipher, PROV_R_INVALID_IV_LENGTH);
    trp_copy(cipher->core.iv, iv, iv_len, TR_BLOCK);
    trp_copy(cipher->original_iv, iv, iv_len, TR_BLOCK);
    cipher->iv_set = 1;
    return 1;
}

/* Start a message. If `key` is NULL, the old key stays. A NULL `iv` restarts CBC, CFB and OFB from
 * the last IV that was set; CTR continues with the next counter block. ECB ignores an IV. */
OSSL_FUNC_cipher_encrypt_init_fn trp_encrypt_init;
OSSL_FUNC_cipher_decrypt_init_fn trp_decrypt_init;

/* The update and final functions. ECB and CBC handle padding; the other modes take any length. */
OSSL_FUNC_cipher_update_fn trp_ecb_update, trp_cbc_update, trp_cfb_update, trp_ofb_update,
    trp_ctr_update, trp_cfb8_update, trp_cfb1_update;
OSSL_FUNC_cipher_final_fn trp_block_final, trp_stream_final;
/* Final for modes in which update processes the whole message. */
OSSL_FUNC_cipher_final_fn trp_no_final;

/* The functions for EVP_Cipher(), without buffering and padding. ECB and CBC take whole blocks, the
 * other modes any length. */
OSSL_FUNC_cipher_cipher_fn trp_ecb_cipher, trp_cbc_cipher, trp_cfb_cipher, trp_ofb_cipher,
    trp_ctr_cipher, trp_cfb8_cipher, trp_cfb1_cipher;

int trp_get_params(OSSL_PARAM params[], const struct trp_kind *kind);
OSSL_FUNC_cipher_gettable_params_fn trp_gettable_params;
OSSL_FUNC_cipher_gettable_ctx_params_fn trp_gettable_ctx_params;
OSSL_FUNC_cipher_settable_ctx_params_fn trp_settable_ctx_params;
OSSL_FUNC_cipher_get_ctx_params_fn trp_get_ctx_params;
OSSL_FUNC_cipher_set_ctx_params_fn trp_set_ctx_params;

/* Reads a number of at most `max`, or raises an error. */
int trp_take_number(const void *ctx, const OSSL_PARAM *p, size_t max, size_t *value);
/* Sets the key length: accepts only that of the cipher. */
int trp_set_key_len(void *ctx, OSSL_PARAM *p);

/* Raises the error that the default provider raises for this status. Returns 0. */
int trp_raise_status(const struct trp_cipher *cipher, enum tr_status status)
    __attribute__((cold, noinline));

#endif
