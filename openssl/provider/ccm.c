/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-CCM as EVP has it: the total length is told by an update without in and out, or is that of the
 * one update with data; the AAD is one update. Tag and nonce length are those at the time when the
 * key is set. After the parameter "tlsaad" every update is a record of TLS 1.2 (RFC 6655).
 */
#include "dispatch.h"
#include "param.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define TLS_AAD      13
#define TLS_FIXED    4
#define TLS_EXPLICIT 8

struct trp_ccm {
    struct tr_ccm core;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    size_t iv_len, tag_len;         /* as set now */
    size_t key_iv_len, key_tag_len; /* as they were when the key was set */
    size_t tls_pad;
    uint64_t len; /* of the message begun */
    uint8_t key_set, iv_set, tag_set, encrypt;
    uint8_t tls;  /* buffer holds the AAD of TLS records */
    uint8_t open; /* nonce and len are those of a message whose data has not come */
    uint8_t len_set;
    uint8_t has_aad;
    uint8_t iv[TR_BLOCK], nonce[TR_BLOCK];
    uint8_t buffer[TR_BLOCK]; /* the tag to be compared, or the AAD */
    uint8_t tag[TR_BLOCK];    /* of the message encrypted */
};

TRP_PLAIN_CONTEXT(ccm)

static void *ccm_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_ccm *c = provider->zalloc(sizeof(*c), __FILE__, __LINE__);
    if (c == NULL)
        return NULL;
    c->provider = provider;
    c->kind = kind;
    c->iv_len = kind->default_iv_len;
    c->tag_len = 12;
    return c;
}

static int __attribute__((cold, noinline)) failed(const struct trp_ccm *c, int reason)
{
    return TRP_RAISE(c->provider, ERR_LIB_PROV, reason);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int begin(struct trp_ccm *c, size_t len)
{
    if (c->iv_len < c->key_iv_len)
        return 0;
    memcpy(c->nonce, c->iv, sizeof(c->nonce));
    c->len = len;
    c->len_set = c->open = 1;
    c->has_aad = 0;
    return 1;
}

/* Another AAD takes the place of one that came before. One that comes after the data is dropped. */
static int aad(struct trp_ccm *c, const uint8_t *in, size_t len)
{
    if (len == 0 || !c->open)
        return 1;
    if (tr_ccm_start(&c->core, c->nonce, c->key_iv_len, c->key_tag_len, len, c->len) != TR_OK)
        return 0;
    c->has_aad = 1;
    return tr_ccm_aad(&c->core, in, len) == TR_OK;
}

/* All of the data; what follows is the tag. */
static int data(struct trp_ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!c->open || len != c->len)
        return 0;
    if (!c->has_aad &&
        tr_ccm_start(&c->core, c->nonce, c->key_iv_len, c->key_tag_len, 0, len) != TR_OK)
        return 0;
    enum tr_status status = c->encrypt ? tr_ccm_encrypt(&c->core, out, in, len)
                                       : tr_ccm_decrypt(&c->core, out, in, len);
    if (status == TR_ERR_OVERLAP)
        return TRP_RAISE(c->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    c->open = 0;
    return status == TR_OK;
}

static int check(struct trp_ccm *c, uint8_t *out, size_t len, const uint8_t *tag)
{
    if (c->tag_len == c->key_tag_len && tr_ccm_check(&c->core, tag) == TR_OK)
        return 1;
    tr_cleanse(out, len);
    return 0;
}

/* One whole record in place: explicit nonce, text, tag. */
static int record(struct trp_ccm *c, uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    size_t frame = TLS_EXPLICIT + c->tag_len;
    *out_len = 0;
    if (in == NULL || out != in || len < frame)
        return 0;
    /* The nonce ends in the sequence number, which the AAD begins with. */
    if (c->encrypt)
        memcpy(out, c->buffer, TLS_EXPLICIT);
    memcpy(c->iv + TLS_FIXED, in, TLS_EXPLICIT);
    uint8_t *text = out + TLS_EXPLICIT;
    len -= frame;
    if (!begin(c, len) || !aad(c, c->buffer, TLS_AAD) || !data(c, text, text, len))
        return 0;
    if (c->encrypt) {
        if (c->tag_len != c->key_tag_len || tr_ccm_tag(&c->core, c->tag) != TR_OK)
            return 0;
        memcpy(text + len, c->tag, c->tag_len);
        *out_len = len + frame;
        return 1;
    }
    if (!check(c, text, len, text + len))
        return 0;
    *out_len = len;
    return 1;
}

static int encrypt_data(struct trp_ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!data(c, out, in, len) || tr_ccm_tag(&c->core, c->tag) != TR_OK)
        return 0;
    c->tag_set = 1;
    return 1;
}

static int decrypt_data(struct trp_ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!c->tag_set || !data(c, out, in, len) || !check(c, out, len, c->buffer))
        return 0;
    c->iv_set = c->tag_set = c->len_set = 0;
    return 1;
}

static int crypt(struct trp_ccm *c, uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    int good;
    *out_len = 0;
    if (!c->key_set)
        return 0;
    if (c->tls)
        return record(c, out, out_len, in, len);
    if (in == NULL && out != NULL)
        return 1; /* the end, which has nothing to do */
    if (!c->iv_set)
        return 0;
    if (out == NULL && in == NULL)
        good = begin(c, len);
    else if (out == NULL)
        good = (c->len_set || len == 0) && aad(c, in, len);
    else if (!c->len_set && !begin(c, len))
        good = 0;
    else
        good = c->encrypt ? encrypt_data(c, out, in, len) : decrypt_data(c, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

static int ccm_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return crypt(c, out, out_len, in, len) || failed(c, PROV_R_CIPHER_OPERATION_FAILED);
}

/* A message whose data has not come has none: it is ended here, and a tag compared. (Versions before
 * 3.0.22 and 4.0 do nothing here, and so let a forged empty message pass.) */
static int ccm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_ccm *c = ctx;
    static const uint8_t no_in[1];
    uint8_t no_out[1];
    (void)out;
    (void)out_size;
    *out_len = 0;
    if (!c->key_set)
        return 0;
    return !c->iv_set || (c->encrypt && c->tag_set) || crypt(c, no_out, out_len, no_in, 0);
}

static int ccm_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == NULL)
        return ccm_final(c, out, out_len, out_size);
    if (!crypt(c, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const OSSL_PARAM *ccm_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN),
                                      TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static const OSSL_PARAM *ccm_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_IVLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV),
                                      TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static int get_number(struct trp_ccm *c, OSSL_PARAM params[], const char *key, size_t value)
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, key);
    return p == NULL || trp_param_set_number(p, value, sizeof(size_t)) ||
           failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

/* As many bytes as are asked for, of the block that ends in whatever was there. */
static int get_iv(struct trp_ccm *c, OSSL_PARAM params[], const char *key)
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, key);
    if (p == NULL)
        return 1;
    if (p->data_size < c->iv_len)
        return failed(c, PROV_R_INVALID_IV_LENGTH);
    size_t len = p->data_size < sizeof(c->iv) ? p->data_size : sizeof(c->iv);
    return trp_param_set_octets(p, c->iv, len) || failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

/* Ends the message. */
static int get_tag(struct trp_ccm *c, OSSL_PARAM params[])
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p == NULL)
        return 1;
    if (!c->encrypt || !c->tag_set)
        return failed(c, PROV_R_TAG_NOT_SET);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
    if (p->data == NULL || p->data_size != c->key_tag_len)
        return 0;
    memcpy(p->data, c->tag, p->data_size);
    c->tag_set = c->iv_set = c->len_set = 0;
    return 1;
}

static int ccm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct trp_ccm *c = ctx;
    return get_number(c, params, OSSL_CIPHER_PARAM_IVLEN, c->iv_len) &&
           get_number(c, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, c->tag_len) &&
           get_iv(c, params, OSSL_CIPHER_PARAM_IV) &&
           get_iv(c, params, OSSL_CIPHER_PARAM_UPDATED_IV) &&
           get_number(c, params, OSSL_CIPHER_PARAM_KEYLEN, c->kind->key_len) &&
           get_number(c, params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, c->tls_pad) &&
           get_tag(c, params);
}

static int set_tag(struct trp_ccm *c, const OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size % 2 != 0 || p->data_size < 4 || p->data_size > TR_BLOCK)
        return failed(c, PROV_R_INVALID_TAG_LENGTH);
    if (p->data != NULL) {
        if (c->encrypt)
            return failed(c, PROV_R_TAG_NOT_NEEDED);
        memcpy(c->buffer, p->data, p->data_size);
        c->tag_set = 1;
    }
    c->tag_len = p->data_size;
    return 1;
}

static int set_iv_len(struct trp_ccm *c, const OSSL_PARAM *p)
{
    uint64_t len;
    if (p == NULL)
        return 1;
    if (!trp_param_get_number(p, SIZE_MAX, &len))
        return failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (len < 7 || len > 13)
        return failed(c, PROV_R_INVALID_IV_LENGTH);
    c->iv_len = (size_t)len;
    return 1;
}

/* The AAD counts the plaintext, the caller everything (RFC 6655 section 3). */
static int take_aad(struct trp_ccm *c, const uint8_t *in, size_t len)
{
    if (len != TLS_AAD || in == NULL)
        return 0;
    memcpy(c->buffer, in, TLS_AAD);
    c->tls = 1;
    size_t n = (size_t)in[11] << 8 | in[12];
    size_t frame = TLS_EXPLICIT + (c->encrypt ? 0 : c->tag_len);
    if (n < frame)
        return 0;
    n -= frame;
    c->buffer[11] = (uint8_t)(n >> 8);
    c->buffer[12] = (uint8_t)n;
    c->tls_pad = c->tag_len;
    return 1;
}

static int set_tls_aad(struct trp_ccm *c, const OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    return take_aad(c, p->data, p->data_size) || failed(c, PROV_R_INVALID_DATA);
}

static int set_fixed_iv(struct trp_ccm *c, const OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TLS_FIXED || p->data == NULL)
        return failed(c, PROV_R_INVALID_IV_LENGTH);
    memcpy(c->iv, p->data, TLS_FIXED);
    return 1;
}

static int ccm_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_ccm *c = ctx;
    return params == NULL ||
           (set_tag(c, trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG)) &&
            set_iv_len(c, trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_IVLEN)) &&
            set_tls_aad(c, trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD)) &&
            set_fixed_iv(c, trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED)));
}

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static inline int ccm_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_ccm *c = ctx;
    c->encrypt = (uint8_t)encrypt;
    if (iv != NULL) {
        if (iv_len != c->iv_len)
            return failed(c, PROV_R_INVALID_IV_LENGTH);
        memcpy(c->iv, iv, iv_len);
        c->iv_set = 1;
    }
    if (key != NULL) {
        if (key_len != c->kind->key_len)
            return failed(c, PROV_R_INVALID_KEY_LENGTH);
        if (tr_ccm_set_key(&c->core, c->provider->selection.backend, key, key_len) != TR_OK)
            return 0;
        c->key_set = 1;
        c->key_iv_len = c->iv_len;
        c->key_tag_len = c->tag_len;
        c->open = 0;
    }
    return ccm_set_ctx_params(c, params);
}

TRP_INITS(ccm)

#define CCM(bits)                                                                                  \
    static const struct trp_kind kind_ccm_##bits = {.evp_mode = EVP_CIPH_CCM_MODE,                 \
                                                    .key_len = bits / 8,                           \
                                                    .iv_len = 12,                                  \
                                                    .default_iv_len = 7,                           \
                                                    .block_size = 1,                               \
                                                    .aead = 1,                                     \
                                                    .custom_iv = 1};                               \
    TRP_DISPATCH(ccm_##bits, ccm)

CCM(128);
CCM(192);
CCM(256);
