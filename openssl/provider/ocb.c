/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-OCB as EVP has it: the size of a block is 16, so that the last bytes of data come out at the
 * end; the length of the tag is set before the message, 16 at first.
 */
#include "dispatch.h"
#include "param.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define MAX_IV     15
#define DEFAULT_IV 12

enum iv_state { IV_NONE, IV_GIVEN, IV_IN_USE, IV_SPENT };

struct trp_ocb {
    struct tr_ocb core;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    size_t iv_len, tag_len;
    size_t message_tag_len; /* as it was when the message began */
    unsigned used;          /* bytes of data that wait for a whole block */
    size_t aad_used;        /* and of AAD, in the core */
    uint8_t key_set, encrypt;
    uint8_t iv_state; /* enum iv_state */
    uint8_t iv[TR_BLOCK], tag[TR_BLOCK], buffer[TR_BLOCK];
};

TRP_PLAIN_CONTEXT(ocb)

static void *ocb_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_ocb *o = provider->zalloc(sizeof(*o), __FILE__, __LINE__);
    if (o == NULL)
        return NULL;
    o->provider = provider;
    o->kind = kind;
    o->iv_len = DEFAULT_IV;
    o->tag_len = TR_BLOCK;
    return o;
}

static int __attribute__((cold, noinline)) failed(const struct trp_ocb *o, int reason)
{
    return TRP_RAISE(o->provider, ERR_LIB_PROV, reason);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int begun(struct trp_ocb *o)
{
    if (o->iv_state == IV_IN_USE)
        return o->key_set;
    if (!o->key_set || o->iv_state != IV_GIVEN ||
        tr_ocb_start(&o->core, o->iv, o->iv_len, o->tag_len) != TR_OK)
        return 0;
    o->message_tag_len = o->tag_len;
    o->iv_state = IV_IN_USE;
    return 1;
}

static enum tr_status crypt(struct trp_ocb *o, uint8_t *out, const uint8_t *in, size_t len)
{
    return o->encrypt ? tr_ocb_encrypt(&o->core, out, in, len)
                      : tr_ocb_decrypt(&o->core, out, in, len);
}

static int crypt_failed(const struct trp_ocb *o, enum tr_status status)
{
    if (status == TR_ERR_OVERLAP)
        return TRP_RAISE(o->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    return failed(o, PROV_R_CIPHER_OPERATION_FAILED);
}

static int data(struct trp_ocb *o, uint8_t *out, size_t *out_len, size_t out_size,
                const uint8_t *in, size_t len)
{
    enum tr_status status = TR_OK;
    size_t done = 0;
    if (o->used != 0) {
        size_t n = TR_BLOCK - o->used < len ? TR_BLOCK - o->used : len;
        memcpy(o->buffer + o->used, in, n);
        o->used += (unsigned)n;
        in += n;
        len -= n;
        if (o->used < TR_BLOCK) {
            *out_len = 0;
            return 1;
        }
        if (out_size < TR_BLOCK)
            return failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        done = TR_BLOCK;
    }
    size_t whole = len - len % TR_BLOCK;
    if (out_size < done + whole)
        return failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (done != 0) {
        uint8_t block[TR_BLOCK];
        status = crypt(o, block, o->buffer, TR_BLOCK);
        if (status != TR_OK)
            return crypt_failed(o, status);
        /* In place the block goes where input of this call may still lie. */
        if (whole != 0 && out < in + whole && in < out + TR_BLOCK)
            return crypt_failed(o, TR_ERR_OVERLAP);
        memcpy(o->buffer, in + whole, len % TR_BLOCK);
        memcpy(out, block, TR_BLOCK);
        tr_cleanse(block, sizeof(block));
    } else {
        memcpy(o->buffer, in + whole, len % TR_BLOCK);
    }
    o->used = len % TR_BLOCK;
    if (whole != 0)
        status = crypt(o, out + done, in, whole);
    if (status != TR_OK)
        return crypt_failed(o, status);
    *out_len = done + whole;
    return 1;
}

static int ocb_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ocb *o = ctx;
    if (!begun(o))
        return 0;
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out != NULL)
        return data(o, out, out_len, out_size, in, len);
    if (tr_ocb_aad(&o->core, in, len) != TR_OK)
        return failed(o, PROV_R_CIPHER_OPERATION_FAILED);
    /* What is buffered of AAD is none of the caller's business, but the default provider counts only
     * whole blocks here. */
    *out_len = (o->aad_used + len) / TR_BLOCK * TR_BLOCK;
    o->aad_used = (o->aad_used + len) % TR_BLOCK;
    return 1;
}

/* The bytes that wait, and the tag. */
static int ocb_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_ocb *o = ctx;
    *out_len = 0;
    if (!begun(o))
        return 0;
    if (o->used != 0) {
        if (out_size < o->used)
            return failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        if (crypt(o, out, o->buffer, o->used) != TR_OK)
            return 0;
        *out_len = o->used;
        o->used = 0;
    }
    if (o->tag_len != o->message_tag_len ||
        (o->encrypt ? tr_ocb_tag(&o->core, o->tag) : tr_ocb_check(&o->core, o->tag)) != TR_OK)
        return 0;
    o->iv_state = IV_SPENT;
    return 1;
}

/* A call past the buffer. */
static int ocb_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ocb *o = ctx;
    if (out_size < len)
        return failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!begun(o) || out == NULL || in == NULL)
        return failed(o, PROV_R_CIPHER_OPERATION_FAILED);
    enum tr_status status = crypt(o, out, in, len);
    if (status != TR_OK)
        return crypt_failed(o, status);
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const OSSL_PARAM *ocb_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG),
                                      TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static const OSSL_PARAM *ocb_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_IVLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG), TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static int get_number(struct trp_ocb *o, OSSL_PARAM params[], const char *key, size_t value)
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, key);
    return p == NULL || trp_param_set_number(p, value, sizeof(size_t)) ||
           failed(o, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_iv(struct trp_ocb *o, OSSL_PARAM params[], const char *key)
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, key);
    if (p == NULL)
        return 1;
    if (p->data_size < o->iv_len)
        return failed(o, PROV_R_INVALID_IV_LENGTH);
    return trp_param_set_octets(p, o->iv, o->iv_len) || failed(o, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_tag(struct trp_ocb *o, OSSL_PARAM params[])
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
    if (!o->encrypt || p->data_size != o->tag_len || p->data == NULL)
        return failed(o, PROV_R_INVALID_TAG_LENGTH);
    memcpy(p->data, o->tag, o->tag_len);
    return 1;
}

static int ocb_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct trp_ocb *o = ctx;
    return get_number(o, params, OSSL_CIPHER_PARAM_IVLEN, o->iv_len) &&
           get_number(o, params, OSSL_CIPHER_PARAM_KEYLEN, o->kind->key_len) &&
           get_number(o, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, o->tag_len) &&
           get_iv(o, params, OSSL_CIPHER_PARAM_IV) &&
           get_iv(o, params, OSSL_CIPHER_PARAM_UPDATED_IV) && get_tag(o, params);
}

/* Without bytes it is the length of the tag. */
static int set_tag(struct trp_ocb *o, const OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data == NULL) {
        if (p->data_size > TR_BLOCK)
            return failed(o, PROV_R_INVALID_TAG_LENGTH);
        o->tag_len = p->data_size;
        return 1;
    }
    if (o->encrypt)
        return failed(o, ERR_R_PASSED_INVALID_ARGUMENT);
    if (p->data_size != o->tag_len)
        return failed(o, PROV_R_INVALID_TAG_LENGTH);
    memcpy(o->tag, p->data, p->data_size);
    return 1;
}

static int ocb_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_ocb *o = ctx;
    const OSSL_PARAM *p;
    uint64_t value;
    if (!set_tag(o, trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG)))
        return 0;
    p = trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_IVLEN);
    if (p != NULL) {
        if (!trp_param_get_number(p, SIZE_MAX, &value))
            return failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
        if (value < 1 || value > MAX_IV)
            return 0;
        o->iv_len = (size_t)value;
    }
    p = trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    if (p == NULL)
        return 1;
    if (!trp_param_get_number(p, SIZE_MAX, &value))
        return failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
    return value == o->kind->key_len || failed(o, PROV_R_INVALID_KEY_LENGTH);
}

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static inline int ocb_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_ocb *o = ctx;
    o->used = 0;
    o->aad_used = 0;
    o->encrypt = (uint8_t)encrypt;
    if (iv != NULL) {
        if (iv_len < 1 || iv_len > MAX_IV)
            return failed(o, PROV_R_INVALID_IV_LENGTH);
        o->iv_len = iv_len;
        memcpy(o->iv, iv, iv_len);
        o->iv_state = IV_GIVEN;
    }
    if (key != NULL) {
        if (key_len != o->kind->key_len)
            return failed(o, PROV_R_INVALID_KEY_LENGTH);
        if (tr_ocb_set_key(&o->core, o->provider->selection.backend, key, key_len) != TR_OK)
            return 0;
        o->key_set = 1;
    }
    return ocb_set_ctx_params(o, params);
}

TRP_INITS(ocb)

#define OCB(bits)                                                                                  \
    static const struct trp_kind kind_ocb_##bits = {.evp_mode = EVP_CIPH_OCB_MODE,                 \
                                                    .key_len = bits / 8,                           \
                                                    .iv_len = DEFAULT_IV,                          \
                                                    .block_size = TR_BLOCK,                        \
                                                    .aead = 1,                                     \
                                                    .custom_iv = 1};                               \
    TRP_DISPATCH(ocb_##bits, ocb)

OCB(128);
OCB(192);
OCB(256);
