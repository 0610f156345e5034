/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-SIV as EVP defines it. Each update without output adds one AAD component. An update with
 * output processes the whole message. A new message needs the key again, unless the parameter
 * "speed" is set. It then keeps the AAD components of the message before, and can add more.
 *
 * Final returns the result of the last message. An init or a new tag resets the result to failure.
 * A default provider without the fix for CVE-2026-45446 never resets it; with the fix, any
 * parameter does. Distributions backport the fix under old version numbers.
 */
#include "aead.h"
#include "util.h"

#include <limits.h>

struct trp_siv {
    struct trp_aead a;
    struct tr_siv_key key;
    struct tr_siv core;
    /* Whether one more message, or any number of messages, may follow. Any value of the parameter
     * "speed" sets one_more. The value 1 also sets any_more; other values clear any_more. */
    uint8_t one_more, any_more;
    uint8_t done;          /* the last message was sealed, or was opened and is authentic */
    uint8_t tag[TR_BLOCK]; /* the computed or expected tag */
};

/* ---- Messages ------------------------------------------------------------------------------- */

/* Adds an AAD component. Resets the core's count of components, because the core accepts only 126
 * (RFC 5297 section 2.6). The default provider has no limit, and programs pass AAD in many small
 * updates. */
static int siv_component(struct trp_siv *s, const uint8_t *in, size_t len)
{
    s->core.components = 0;
    return tr_siv_aad(&s->core, in, len) == TR_OK;
}

static int siv_message(struct trp_siv *s, uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status;
    if (tr_bad_overlap(out, in, len))
        return trp_aead_status(s, TR_ERR_OVERLAP);
    s->done = 0;
    if (!s->one_more && !s->any_more)
        return 0;
    s->one_more = 0;
    status = s->a.encrypt ? tr_siv_encrypt(&s->core, out, in, len, s->tag)
                          : tr_siv_decrypt(&s->core, out, in, len, s->tag);
    s->done = status == TR_OK;
    /* A message below 16 bytes doubles the value D of S2V (RFC 5297 section 2.4). As in the default
     * provider, the next message begins with the doubled D. */
    if (len < TR_BLOCK)
        tr_double(s->core.sum, s->core.sum);
    return tr_siv_again(&s->core) == TR_OK && s->done;
}

static int siv_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    const struct trp_siv *s = ctx;
    *out_len = 0;
    return s->a.key_set ? s->done : trp_failed(s, PROV_R_NO_KEY_SET);
}

static int siv_update(TRP_DATA_PARAMETERS)
{
    struct trp_siv *s = ctx;
    *out_len = 0;
    if (!s->a.key_set)
        return trp_failed(s, PROV_R_NO_KEY_SET);
    /* Before OpenSSL 3.2, an update of 0 bytes is no message, so a message may still follow. No
     * behaviour suits both, so this alone depends on the version. */
    if (out != NULL && len == 0 && s->a.head.provider->libcrypto < TRP_LIBCRYPTO(3, 2))
        return 1;
    if (out != NULL && out_size < len)
        return trp_failed(s, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const int good = in == NULL    ? s->done
                     : out == NULL ? siv_component(s, in, len)
                                   : siv_message(s, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

#define siv_cipher siv_update

/* ---- Parameters ----------------------------------------------------------------------------- */

TRP_LIST(trp_siv_gettable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
         TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN), TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG))

TRP_LIST(trp_siv_settable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
         TRP_UINT(OSSL_CIPHER_PARAM_SPEED), TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG))

int trp_siv_put_tag(const void *ctx, OSSL_PARAM *p, const uint8_t *tag)
{
    const struct trp_aead *a = ctx;
    return (p->data_type == OSSL_PARAM_OCTET_STRING && tag != NULL && p->data_size == TR_BLOCK &&
            trp_param_set_octets(p, tag, TR_BLOCK)) ||
           trp_failed(a, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int siv_get_tag(void *ctx, OSSL_PARAM *p)
{
    const struct trp_siv *s = ctx;
    return trp_siv_put_tag(s, p, s->a.encrypt ? s->tag : NULL);
}

static const struct trp_aead_param siv_get[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, siv_get_tag},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, trp_aead_get_tag_len},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {NULL, NULL}};

static int siv_set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_siv *s = ctx;
    size_t len;
    if (s->a.encrypt)
        return TRP_IGNORE_REST;
    if (p->data_size != TR_BLOCK || !trp_param_get_octets(p, s->tag, TR_BLOCK, &len))
        return trp_failed(s, PROV_R_FAILED_TO_GET_PARAMETER);
    s->done = 0;
    return 1;
}

static int siv_set_speed(void *ctx, OSSL_PARAM *p)
{
    struct trp_siv *s = ctx;
    size_t speed;
    if (!trp_take_number(s, p, UINT_MAX, &speed))
        return 0;
    s->any_more = speed == 1;
    s->one_more = 1;
    return 1;
}

static int siv_set_key_len(void *ctx, OSSL_PARAM *p)
{
    const struct trp_siv *s = ctx;
    size_t len;
    return trp_take_number(s, p, SIZE_MAX, &len) && len == s->a.head.kind->key_len;
}

static const struct trp_aead_param siv_set[] = {{OSSL_CIPHER_PARAM_AEAD_TAG, siv_set_tag},
                                                {OSSL_CIPHER_PARAM_SPEED, siv_set_speed},
                                                {OSSL_CIPHER_PARAM_KEYLEN, siv_set_key_len},
                                                {NULL, NULL}};

#define siv_gettable_ctx_params trp_siv_gettable_ctx_params
#define siv_settable_ctx_params trp_siv_settable_ctx_params

/* ---- Keys, and the function tables ---------------------------------------------------------- */

static enum tr_status siv_set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                                  size_t key_len)
{
    struct trp_siv *s = ctx;
    enum tr_status status = tr_siv_set_key(&s->key, backend, key, key_len);
    if (status == TR_OK)
        status = tr_siv_start(&s->core, &s->key);
    if (status == TR_OK) {
        s->one_more = 1;
        s->any_more = 0;
    }
    return status;
}

static void siv_restart(void *ctx)
{
    struct trp_siv *s = ctx;
    s->done = 0;
}

static int siv_copied(void *ctx)
{
    struct trp_siv *s = ctx;
    tr_siv_rebind(&s->core, &s->key);
    return 1;
}

static const struct trp_aead_mode siv_mode = {.family = {.context_size = sizeof(struct trp_siv),
                                                         .begin = trp_aead_begin,
                                                         .copied = siv_copied},
                                              .tag_len = TR_BLOCK,
                                              .no_iv = 1, /* the nonce is the last AAD component */
                                              .halves = 1,
                                              .tests = TR_TESTS_SIV,
                                              .set_key = siv_set_key,
                                              .get_tag = siv_get_tag,
                                              .restart = siv_restart,
                                              .get = siv_get,
                                              .set = siv_set};

TRP_AEAD(siv, 2, .evp_mode = EVP_CIPH_SIV_MODE, .block_size = 1);
