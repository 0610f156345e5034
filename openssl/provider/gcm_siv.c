/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM-SIV as EVP defines it since OpenSSL 3.2, here for every version. An update with output
 * processes the whole message. Each init allows one message, unless the parameter "speed" is set.
 * The last nonce stays until another one; it is zero at first. The AAD stays for later messages,
 * even after an init, and further AAD updates append to it; one of 0 bytes removes it. An update
 * with a NULL input acts as final.
 *
 * On tag mismatch, update succeeds and writes zeros, not the plaintext as the default provider
 * does; final reports the mismatch. A final without an update processes a message of 0 bytes, as in
 * OpenSSL 4.0. Earlier versions refuse to seal it; before 3.6, they open it with the tag of an
 * earlier message, or with zeros.
 */
#include "aead.h"
#include "util.h"

#include <limits.h>

#ifndef EVP_CIPH_GCM_SIV_MODE /* since OpenSSL 3.2 */
#    define EVP_CIPH_GCM_SIV_MODE 0x10005
#endif

#define NONCE     12
#define FIRST_AAD 64 /* bytes of the first allocation */

struct trp_gcm_siv {
    struct trp_aead a; /* a.iv is the nonce, and a.buffer the expected tag */
    struct tr_gcm_siv_key key;
    uint8_t *aad;
    size_t aad_len, aad_room;
    uint8_t speed;          /* the parameter "speed": one init allows any number of messages */
    uint8_t sealed, opened; /* a message was sealed or opened since the last init */
    uint8_t tag_set;        /* an expected tag has been set */
    uint8_t tag_is_made;    /* a message since the last init has set `tag` */
    uint8_t authentic;      /* the tag of that message matched */
    uint8_t tag[TR_BLOCK];
};

/* ---- AAD ------------------------------------------------------------------------------------- */

/* Makes room for len bytes of AAD and keeps the stored bytes. */
static int gcm_siv_make_room(struct trp_gcm_siv *g, size_t len)
{
    size_t room = g->aad_room != 0 ? g->aad_room : FIRST_AAD;
    while (room < len)
        room *= 2;
    if (room == g->aad_room)
        return 1;
    uint8_t *aad = g->a.head.provider->malloc(room, __FILE__, __LINE__);
    if (aad == NULL)
        return 0;
    if (g->aad_len != 0)
        memcpy(aad, g->aad, g->aad_len);
    trp_clear_free(g->a.head.provider, g->aad, g->aad_room);
    g->aad = aad;
    g->aad_room = room;
    return 1;
}

static int gcm_siv_more_aad(struct trp_gcm_siv *g, const uint8_t *in, size_t len)
{
    if (len == 0) {
        g->aad_len = 0;
        return 1;
    }
    if (len > SIZE_MAX / 4 - g->aad_len || !gcm_siv_make_room(g, g->aad_len + len))
        return 0;
    memcpy(g->aad + g->aad_len, in, len);
    g->aad_len += len;
    return 1;
}

static int gcm_siv_copied(void *ctx)
{
    struct trp_gcm_siv *copy = ctx;
    const uint8_t *const aad = copy->aad;
    const size_t len = copy->aad_len;
    copy->aad = NULL;
    copy->aad_len = copy->aad_room = 0;
    return len == 0 || gcm_siv_more_aad(copy, aad, len);
}

static void gcm_siv_release(void *ctx)
{
    struct trp_gcm_siv *g = ctx;
    trp_clear_free(g->a.head.provider, g->aad, g->aad_room);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int gcm_siv_seal(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (g->sealed && !g->speed)
        return 0;
    g->sealed = 1;
    g->tag_is_made =
        tr_gcm_siv_seal(&g->key, g->a.iv, g->aad, g->aad_len, out, in, len, g->tag) == TR_OK;
    return g->tag_is_made;
}

static int gcm_siv_open(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (g->opened && !g->speed)
        return 0;
    g->opened = 1;
    memcpy(g->tag, g->a.buffer, TR_BLOCK);
    const enum tr_status status =
        tr_gcm_siv_open(&g->key, g->a.iv, g->aad, g->aad_len, out, in, len, g->tag);
    g->authentic = status == TR_OK;
    g->tag_is_made = status == TR_OK || status == TR_ERR_TAG;
    return g->tag_is_made;
}

static int gcm_siv_message(struct trp_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!g->a.key_set)
        return trp_failed(g, PROV_R_NO_KEY_SET);
    if (tr_bad_overlap(out, in, len))
        return trp_aead_status(g, TR_ERR_OVERLAP);
    g->tag_is_made = g->authentic = 0;
    return g->a.encrypt ? gcm_siv_seal(g, out, in, len) : gcm_siv_open(g, out, in, len);
}

static int gcm_siv_finish(struct trp_gcm_siv *g)
{
    if (!g->tag_is_made && !gcm_siv_message(g, NULL, NULL, 0))
        return 0;
    return g->a.encrypt ||
           (g->tag_set && g->authentic && TR_PUBLIC(tr_equal(g->tag, g->a.buffer, TR_BLOCK)));
}

static int gcm_siv_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    *out_len = 0;
    return gcm_siv_finish(ctx);
}

static int gcm_siv_update(TRP_DATA_PARAMETERS)
{
    struct trp_gcm_siv *g = ctx;
    *out_len = 0;
    if (out_size < len)
        return trp_failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    const int good = in == NULL    ? gcm_siv_finish(g)
                     : out == NULL ? gcm_siv_more_aad(g, in, len)
                                   : gcm_siv_message(g, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

#define gcm_siv_cipher gcm_siv_update

/* ---- Parameters ----------------------------------------------------------------------------- */

static int gcm_siv_get_tag(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm_siv *g = ctx;
    return trp_siv_put_tag(g, p, g->a.encrypt && g->tag_is_made ? g->tag : NULL);
}

static const struct trp_aead_param gcm_siv_get[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, gcm_siv_get_tag},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, trp_aead_get_tag_len},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {NULL, NULL}};

static int gcm_siv_set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm_siv *g = ctx;
    /* To set the tag length for encryption, programs pass NULL data and the size 16. */
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data_size != TR_BLOCK ||
        (p->data == NULL && !g->a.encrypt))
        return trp_failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    if (!g->a.encrypt) {
        memcpy(g->a.buffer, p->data, TR_BLOCK);
        g->tag_set = 1;
    }
    return 1;
}

static int gcm_siv_set_speed(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm_siv *g = ctx;
    size_t speed;
    if (!trp_take_number(g, p, UINT_MAX, &speed))
        return 0;
    g->speed = speed != 0;
    return 1;
}

static const struct trp_aead_param gcm_siv_set[] = {{OSSL_CIPHER_PARAM_AEAD_TAG, gcm_siv_set_tag},
                                                    {OSSL_CIPHER_PARAM_SPEED, gcm_siv_set_speed},
                                                    {OSSL_CIPHER_PARAM_KEYLEN, trp_set_key_len},
                                                    {NULL, NULL}};

#define gcm_siv_gettable_ctx_params trp_siv_gettable_ctx_params
#define gcm_siv_settable_ctx_params trp_siv_settable_ctx_params

/* ---- Keys, and the function tables ---------------------------------------------------------- */

static enum tr_status gcm_siv_set_key(void *ctx, const struct tr_backend *backend,
                                      const uint8_t *key, size_t key_len)
{
    struct trp_gcm_siv *g = ctx;
    return tr_gcm_siv_set_key(&g->key, backend, key, key_len);
}

static void gcm_siv_restart(void *ctx)
{
    struct trp_gcm_siv *g = ctx;
    g->sealed = g->opened = g->tag_is_made = g->authentic = 0;
}

static const struct trp_aead_mode gcm_siv_mode = {
    .family = {.context_size = sizeof(struct trp_gcm_siv),
               .begin = trp_aead_begin,
               .copied = gcm_siv_copied,
               .release = gcm_siv_release},
    .tag_len = TR_BLOCK,
    .tests = TR_TEST_GCM_SIV,
    .set_key = gcm_siv_set_key,
    .get_tag = gcm_siv_get_tag,
    .restart = gcm_siv_restart,
    .get = gcm_siv_get,
    .set = gcm_siv_set};

TRP_AEAD(gcm_siv, 1, .evp_mode = EVP_CIPH_GCM_SIV_MODE, .iv_len = NONCE, .block_size = 1);
