/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM-SIV as EVP has it since OpenSSL 3.2, and here with any version: an update with output is the whole
 * message, one for each init. Without a nonce it is zeros, without a new one the last. AAD stays for the
 * following messages, to which more can be added, until an update without output of no bytes.
 *
 * Opening, an update succeeds and final tells whether the tag was right. The default provider hands out
 * what it could not authenticate; ours is zeros then.
 *
 * A final without an update is a message of no bytes, as from 4.0 on. Earlier versions refuse to seal it,
 * and before 3.6 compare the tag with that of an earlier message, or with zeros.
 */
#include "dispatch.h"
#include "param.h"
#include "siv.h"
#include "util.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#ifndef EVP_CIPH_GCM_SIV_MODE /* since 3.2 */
#    define EVP_CIPH_GCM_SIV_MODE 0x10005
#endif

#define NONCE     12
#define FIRST_AAD 64 /* bytes of room */

struct trp_gcm_siv {
    struct tr_gcm_siv core;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    uint8_t *aad;
    size_t aad_len, aad_room;
    uint8_t key_set, encrypt;
    uint8_t speed;       /* any number of messages without an init */
    uint8_t sealed;      /* a message since init */
    uint8_t opened;      /* the same */
    uint8_t tag_set;     /* one to compare with, ever */
    uint8_t tag_is_made; /* tag is that of a message since init */
    uint8_t authentic;   /* and the message was */
    uint8_t nonce[NONCE];
    uint8_t tag[TR_BLOCK];     /* of the message */
    uint8_t set_tag[TR_BLOCK]; /* to compare with */
};

/* ---- Contexts ------------------------------------------------------------------------------- */

static void *gcm_siv_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_gcm_siv *g = trp_context(provider, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->provider = provider;
    g->kind = kind;
    return g;
}

static void gcm_siv_free(void *ctx)
{
    struct trp_gcm_siv *g = ctx;
    if (g == NULL)
        return;
    trp_clear_free(g->provider, g->aad, g->aad_room);
    trp_context_free(g->provider, g, sizeof(*g));
}

/* Room for len bytes of AAD, with what is there already. */
static int make_room(struct trp_gcm_siv *g, size_t len)
{
    size_t room = g->aad_room != 0 ? g->aad_room : FIRST_AAD;
    while (room < len)
        room *= 2;
    if (room == g->aad_room)
        return 1;
    uint8_t *aad = g->provider->malloc(room, __FILE__, __LINE__);
    if (aad == NULL)
        return 0;
    if (g->aad_len != 0)
        memcpy(aad, g->aad, g->aad_len);
    trp_clear_free(g->provider, g->aad, g->aad_room);
    g->aad = aad;
    g->aad_room = room;
    return 1;
}

static void *gcm_siv_dup(void *ctx)
{
    const struct trp_gcm_siv *from = ctx;
    struct trp_gcm_siv *copy = trp_context_copy(from->provider, from, sizeof(*from));
    if (copy == NULL)
        return NULL;
    copy->aad = NULL;
    copy->aad_len = copy->aad_room = 0;
    if (from->aad_len != 0) {
        if (!make_room(copy, from->aad_len)) {
            gcm_siv_free(copy);
            return NULL;
        }
        memcpy(copy->aad, from->aad, from->aad_len);
        copy->aad_len = from->aad_len;
    }
    return copy;
}

static int __attribute__((cold, noinline)) failed(const struct trp_gcm_siv *g, int reason)
{
    return TRP_RAISE(g->provider, ERR_LIB_PROV, reason);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int more_aad(struct trp_gcm_siv *g, const uint8_t *in, size_t len)
{
    if (len == 0) {
        g->aad_len = 0;
        return 1;
    }
    if (len > SIZE_MAX / 4 - g->aad_len || !make_room(g, g->aad_len + len))
        return 0;
    memcpy(g->aad + g->aad_len, in, len);
    g->aad_len += len;
    return 1;
}

static int seal(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (g->sealed && !g->speed)
        return 0;
    g->sealed = 1;
    g->tag_is_made =
        tr_gcm_siv_seal(&g->core, g->nonce, g->aad, g->aad_len, out, in, len, g->tag) == TR_OK;
    return g->tag_is_made;
}

static int open(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (g->opened && !g->speed)
        return 0;
    g->opened = 1;
    memcpy(g->tag, g->set_tag, TR_BLOCK);
    const enum tr_status status =
        tr_gcm_siv_open(&g->core, g->nonce, g->aad, g->aad_len, out, in, len, g->tag);
    g->authentic = status == TR_OK;
    g->tag_is_made = status == TR_OK || status == TR_ERR_TAG;
    return g->tag_is_made;
}

static int message(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!g->key_set)
        return failed(g, PROV_R_NO_KEY_SET);
    if (tr_partial_overlap(out, in, len))
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    g->tag_is_made = g->authentic = 0;
    return g->encrypt ? seal(g, out, in, len) : open(g, out, in, len);
}

static int finish(struct trp_gcm_siv *g)
{
    if (!g->tag_is_made && !message(g, NULL, NULL, 0))
        return 0;
    return g->encrypt || (g->tag_set && g->authentic && tr_equal(g->tag, g->set_tag, TR_BLOCK));
}

static int gcm_siv_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    (void)out;
    (void)out_size;
    *out_len = 0;
    return finish(ctx);
}

static int gcm_siv_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                          const unsigned char *in, size_t len)
{
    struct trp_gcm_siv *g = ctx;
    *out_len = 0;
    if (out_size < len)
        return failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const int good = in == NULL    ? finish(g)
                     : out == NULL ? more_aad(g, in, len)
                                   : message(g, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

#define gcm_siv_cipher gcm_siv_update

/* ---- Parameters ----------------------------------------------------------------------------- */

static int gcm_siv_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct trp_gcm_siv *g = ctx;
    return trp_siv_get_params(g->provider, g->kind, g->encrypt && g->tag_is_made ? g->tag : NULL,
                              params);
}

static int gcm_siv_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_gcm_siv *g = ctx;
    uint64_t len;
    unsigned speed = g->speed;
    if (params == NULL) /* as at most inits */
        return 1;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p != NULL) {
        /* When encrypting, programs set the tag length with a NULL tag of 16 bytes. */
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data_size != TR_BLOCK ||
            (p->data == NULL && !g->encrypt))
            return failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
        if (!g->encrypt) {
            memcpy(g->set_tag, p->data, TR_BLOCK);
            g->tag_set = 1;
        }
    }
    if (!trp_siv_get_speed(g->provider, params, &speed))
        return 0;
    g->speed = speed != 0;
    p = trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    if (p == NULL)
        return 1;
    if (!trp_param_get_number(p, SIZE_MAX, &len))
        return failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    return len == g->kind->key_len || failed(g, PROV_R_INVALID_KEY_LENGTH);
}

#define gcm_siv_gettable_ctx_params trp_siv_gettable_ctx_params
#define gcm_siv_settable_ctx_params trp_siv_settable_ctx_params

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static inline int gcm_siv_init(void *ctx, const unsigned char *key, size_t key_len,
                               const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                               int encrypt)
{
    struct trp_gcm_siv *g = ctx;
    g->encrypt = (uint8_t)encrypt;
    if (key != NULL) {
        if (key_len != g->kind->key_len)
            return failed(g, PROV_R_INVALID_KEY_LENGTH);
        if (tr_gcm_siv_set_key(&g->core, g->provider->selection.backend, key, key_len) != TR_OK)
            return 0;
        g->key_set = 1;
    }
    if (iv != NULL) {
        if (iv_len != NONCE)
            return failed(g, PROV_R_INVALID_IV_LENGTH);
        memcpy(g->nonce, iv, NONCE);
    }
    g->sealed = g->opened = g->tag_is_made = g->authentic = 0;
    return gcm_siv_set_ctx_params(g, params);
}

TRP_INITS(gcm_siv)

#define GCM_SIV(bits)                                                                              \
    static const struct trp_kind kind_gcm_siv_##bits = {.evp_mode = EVP_CIPH_GCM_SIV_MODE,         \
                                                        .key_len = bits / 8,                       \
                                                        .iv_len = NONCE,                           \
                                                        .block_size = 1,                           \
                                                        .aead = 1,                                 \
                                                        .custom_iv = 1};                           \
    TRP_DISPATCH(gcm_siv_##bits, gcm_siv)

GCM_SIV(128);
GCM_SIV(192);
GCM_SIV(256);
