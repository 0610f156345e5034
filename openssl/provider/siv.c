/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-SIV as EVP has it: each update without output is one string of the vector, an update with output is
 * the whole message, and the key is set again for the next one. A context goes on where its last message
 * left it: strings that come then are added to those of that message, and "speed" allows another.
 *
 * Final returns the result of the last message. An init or a new tag resets that result; other
 * parameters do not. Default providers without the fix of CVE-2026-45446 keep it in all cases, those with
 * the fix reset it at any parameter. Distributions backport that fix under old version numbers, so
 * following it by version is not possible.
 */
#include "siv.h"

#include "dispatch.h"
#include "param.h"
#include "util.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

struct trp_siv {
    struct tr_siv core;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    uint8_t key_set, encrypt;
    uint8_t one_more, any_more; /* messages that may come; "speed" is the latter */
    uint8_t done;          /* a message was sealed, or opened and authentic: what final tells */
    uint8_t tag[TR_BLOCK]; /* made, or to be compared with */
};

TRP_PLAIN_CONTEXT(siv)

static void *siv_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_siv *s = trp_context(provider, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->provider = provider;
    s->kind = kind;
    return s;
}

static int __attribute__((cold, noinline)) failed(const struct trp_provider *provider, int reason)
{
    return TRP_RAISE(provider, ERR_LIB_PROV, reason);
}

/* ---- Messages ------------------------------------------------------------------------------- */

/* A string of the vector. The standard (RFC 5297 section 2.6) allows 126; the default provider counts none,
 * and programs that feed AAD in small pieces, though each is a string of its own, work with it. */
static int string(struct trp_siv *s, const uint8_t *in, size_t len)
{
    s->core.components = 0;
    return tr_siv_aad(&s->core, in, len) == TR_OK;
}

static int message(struct trp_siv *s, uint8_t *out, const uint8_t *in, size_t len)
{
    if (tr_partial_overlap(out, in, len))
        return TRP_RAISE(s->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    s->done = 0;
    if (!s->one_more && !s->any_more)
        return 0;
    s->one_more = 0;
    if (s->encrypt)
        s->done = tr_siv_encrypt(&s->core, out, in, len, s->tag) == TR_OK;
    else
        s->done = tr_siv_decrypt(&s->core, out, in, len, s->tag) == TR_OK;
    /* What a later message goes on with; the default provider keeps the sum as it doubled it. */
    if (len < TR_BLOCK)
        tr_double(s->core.sum, s->core.sum);
    (void)tr_siv_again(&s->core);
    return s->done;
}

static int siv_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    const struct trp_siv *s = ctx;
    (void)out;
    (void)out_size;
    *out_len = 0;
    return s->key_set ? s->done : failed(s->provider, PROV_R_NO_KEY_SET);
}

/* Before 3.2 an update of no bytes is no message, and one of some bytes may follow. */
static int skips_empty(const struct trp_siv *s)
{
    return s->provider->libcrypto < TRP_LIBCRYPTO(3, 2);
}

static int siv_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_siv *s = ctx;
    *out_len = 0;
    if (!s->key_set)
        return failed(s->provider, PROV_R_NO_KEY_SET);
    if (out != NULL && len == 0 && skips_empty(s))
        return 1;
    if (out != NULL && out_size < len)
        return failed(s->provider, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const int good = in == NULL    ? s->done
                     : out == NULL ? string(s, in, len)
                                   : message(s, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

#define siv_cipher siv_update

/* ---- Parameters ----------------------------------------------------------------------------- */

const OSSL_PARAM *trp_siv_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG), TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

const OSSL_PARAM *trp_siv_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_UINT(OSSL_CIPHER_PARAM_SPEED),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG), TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static int get_number(const struct trp_provider *provider, OSSL_PARAM params[], const char *key,
                      size_t value)
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, key);
    return p == NULL || trp_param_set_number(p, value, sizeof(size_t)) ||
           failed(provider, PROV_R_FAILED_TO_SET_PARAMETER);
}

int trp_siv_get_params(const struct trp_provider *provider, const struct trp_kind *kind,
                       const uint8_t *tag, OSSL_PARAM params[])
{
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    /* As another type it is nobody's, but 4.0's SIV. */
    const int ours =
        p != NULL &&
        (p->data_type == OSSL_PARAM_OCTET_STRING ||
         (kind->evp_mode == EVP_CIPH_SIV_MODE && provider->libcrypto >= TRP_LIBCRYPTO(4, 0)));
    if (ours && (p->data_type != OSSL_PARAM_OCTET_STRING || tag == NULL ||
                 p->data_size != TR_BLOCK || !trp_param_set_octets(p, tag, TR_BLOCK)))
        return failed(provider, PROV_R_FAILED_TO_SET_PARAMETER);
    return get_number(provider, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, TR_BLOCK) &&
           get_number(provider, params, OSSL_CIPHER_PARAM_KEYLEN, kind->key_len);
}

int trp_siv_get_speed(const struct trp_provider *provider, const OSSL_PARAM params[],
                      unsigned *speed)
{
    uint64_t value;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_SPEED);
    if (p == NULL)
        return 1;
    if (!trp_param_get_number(p, UINT_MAX, &value))
        return failed(provider, PROV_R_FAILED_TO_GET_PARAMETER);
    *speed = (unsigned)value;
    return 1;
}

static int siv_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct trp_siv *s = ctx;
    return trp_siv_get_params(s->provider, s->kind, s->encrypt ? s->tag : NULL, params);
}

static int siv_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_siv *s = ctx;
    uint64_t len;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p != NULL) {
        size_t tag_len;
        if (s->encrypt)
            return 1; /* with whatever else is in params */
        if (p->data_size != TR_BLOCK || !trp_param_get_octets(p, s->tag, TR_BLOCK, &tag_len))
            return failed(s->provider, PROV_R_FAILED_TO_GET_PARAMETER);
        s->done = 0;
    }
    if (trp_param_find(params, OSSL_CIPHER_PARAM_SPEED) != NULL) {
        unsigned speed = 0;
        if (!trp_siv_get_speed(s->provider, params, &speed))
            return 0;
        s->any_more = speed == 1;
        s->one_more = 1;
    }
    p = trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    if (p != NULL) {
        if (!trp_param_get_number(p, SIZE_MAX, &len))
            return failed(s->provider, PROV_R_FAILED_TO_GET_PARAMETER);
        if (len != s->kind->key_len)
            return 0;
    }
    return 1;
}

#define siv_gettable_ctx_params trp_siv_gettable_ctx_params
#define siv_settable_ctx_params trp_siv_settable_ctx_params

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static inline int siv_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_siv *s = ctx;
    (void)iv; /* the nonce is the last string */
    (void)iv_len;
    s->encrypt = (uint8_t)encrypt;
    if (key != NULL) {
        if (key_len != s->kind->key_len)
            return failed(s->provider, PROV_R_INVALID_KEY_LENGTH);
        if (tr_siv_set_key(&s->core, s->provider->selection.backend, key, key_len) != TR_OK ||
            tr_siv_start(&s->core) != TR_OK)
            return 0;
        s->key_set = s->one_more = 1;
        s->any_more = 0;
    }
    s->done = 0;
    return siv_set_ctx_params(s, params);
}

TRP_INITS(siv)

#define SIV(bits)                                                                                  \
    static const struct trp_kind kind_siv_##bits = {.evp_mode = EVP_CIPH_SIV_MODE,                 \
                                                    .key_len = 2 * bits / 8,                       \
                                                    .block_size = 1,                               \
                                                    .aead = 1,                                     \
                                                    .custom_iv = 1};                               \
    TRP_DISPATCH(siv_##bits, siv)

SIV(128);
SIV(192);
SIV(256);
