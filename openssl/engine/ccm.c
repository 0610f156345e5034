/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CCM as libcrypto 1.1.1 has it: the total length is told by a call without in and out, or is that of
 * the one call with data; the AAD is one call. Tag and nonce have the lengths of the time when the key
 * is set. After EVP_CTRL_AEAD_TLS1_AAD every call is a record of TLS 1.2 (RFC 6655).
 */
#include "aead.h"

struct ccm {
    struct tr_ccm core;
    uint64_t len;                    /* of the message begun */
    uint8_t iv_len, tag_len;         /* as set now */
    uint8_t key_iv_len, key_tag_len; /* as they were when the key was set */
    uint8_t key_set, iv_set, tag_set, len_set;
    uint8_t open; /* nonce and len are those of a message whose data has not come */
    uint8_t has_aad;
    uint8_t tls; /* buffer holds the AAD of a record, not a tag to be compared */
    uint8_t buffer[TAG_BYTES];
    uint8_t nonce[TR_BLOCK];
    uint8_t tag[TAG_BYTES]; /* of the message encrypted */
};

static int init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc)
{
    struct ccm *c = tre_evp.data(ctx);
    (void)enc;
    if (key != NULL) {
        if (tr_ccm_set_key(&c->core, tre_backend(), key, (size_t)tre_evp.key_len(ctx)) != TR_OK)
            return 0;
        c->key_iv_len = c->iv_len;
        c->key_tag_len = c->tag_len;
        c->key_set = 1;
        c->open = 0;
    }
    if (iv != NULL) {
        memcpy(tre_evp.iv(ctx), iv, c->iv_len);
        c->iv_set = 1;
    }
    return 1;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int begin(EVP_CIPHER_CTX *ctx, struct ccm *c, size_t len)
{
    /* The key fixes the nonce length. Encryption refuses a longer IV: the nonce would be its prefix,
     * and two IVs could become one nonce. */
    if (c->iv_len < c->key_iv_len || (tre_evp.encrypting(ctx) && c->iv_len != c->key_iv_len))
        return 0;
    memcpy(c->nonce, tre_evp.iv(ctx), sizeof(c->nonce));
    c->len = len;
    c->len_set = c->open = 1;
    c->has_aad = 0;
    return 1;
}

/* Another AAD takes the place of one that came before. One that comes after the data is dropped. */
static int aad(struct ccm *c, const uint8_t *in, size_t len)
{
    if (len == 0 || !c->open)
        return 1;
    if (tr_ccm_start(&c->core, c->nonce, c->key_iv_len, c->key_tag_len, len, c->len) != TR_OK)
        return 0;
    c->has_aad = 1;
    return tr_ccm_aad(&c->core, in, len) == TR_OK;
}

/* All of the data; what follows is the tag. */
static int data(struct ccm *c, int encrypting, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!c->open || len != c->len)
        return 0;
    if (!c->has_aad &&
        tr_ccm_start(&c->core, c->nonce, c->key_iv_len, c->key_tag_len, 0, len) != TR_OK)
        return 0;
    c->open = 0;
    return (encrypting ? tr_ccm_encrypt(&c->core, out, in, len)
                       : tr_ccm_decrypt(&c->core, out, in, len)) == TR_OK;
}

/* Leaves nothing of a message whose tag is wrong. */
static int check(struct ccm *c, uint8_t *out, size_t len, const uint8_t *tag)
{
    if (c->tag_len == c->key_tag_len && tr_ccm_check(&c->core, tag) == TR_OK)
        return 1;
    tr_cleanse(out, len);
    return 0;
}

/* One whole record in place: explicit nonce, text, tag. */
static int record(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    const int encrypting = tre_evp.encrypting(ctx);
    const size_t frame = (size_t)EXPLICIT + c->tag_len;
    if (in == NULL || out != in || len < frame)
        return -1;
    /* The nonce ends in the sequence number, which the AAD begins with. */
    if (encrypting)
        memcpy(out, c->buffer, EXPLICIT);
    memcpy(tre_evp.iv(ctx) + FIXED, in, EXPLICIT);
    uint8_t *text = out + EXPLICIT;
    len -= frame;
    if (!begin(ctx, c, len) || !aad(c, c->buffer, AAD_BYTES) ||
        !data(c, encrypting, text, text, len))
        return -1;
    if (!encrypting)
        return check(c, text, len, text + len) ? (int)len : -1;
    if (c->tag_len != c->key_tag_len || tr_ccm_tag(&c->core, text + len) != TR_OK)
        return -1;
    return (int)(len + frame);
}

static int encrypt_data(struct ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    if (!data(c, 1, out, in, len) || tr_ccm_tag(&c->core, c->tag) != TR_OK)
        return 0;
    c->tag_set = 1;
    return 1;
}

/* After a wrong tag the nonce stays set, so that what follows without a new one fails. */
static int decrypt_data(struct ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    const int good = data(c, 0, out, in, len) && check(c, out, len, c->buffer);
    c->tag_set = c->len_set = 0;
    if (good)
        c->iv_set = 0;
    return good;
}

static int message(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    const int encrypting = tre_evp.encrypting(ctx);
    if (out == NULL && in == NULL)
        return begin(ctx, c, len);
    if (out == NULL)
        return (c->len_set || len == 0) && aad(c, in, len);
    if ((!encrypting && !c->tag_set) || (!c->len_set && !begin(ctx, c, len)))
        return 0;
    return encrypting ? encrypt_data(c, out, in, len) : decrypt_data(c, out, in, len);
}

/* A message whose data has not come has none: it is ended here, and its tag compared. (1.1.1 does
 * nothing here, and so lets a forged empty message pass.) */
static int finish(EVP_CIPHER_CTX *ctx, struct ccm *c)
{
    static const uint8_t no_in[1];
    uint8_t no_out[1];
    if (!c->iv_set || (tre_evp.encrypting(ctx) && c->tag_set))
        return 0;
    return message(ctx, c, no_out, no_in, 0) ? 0 : -1;
}

static int crypt(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    struct ccm *c = tre_evp.data(ctx);
    if (!c->key_set)
        return -1;
    if (c->tls)
        return record(ctx, c, out, in, len);
    if (in == NULL && out != NULL)
        return finish(ctx, c);
    return c->iv_set && message(ctx, c, out, in, len) ? (int)len : -1;
}

/* ---- What else libcrypto asks --------------------------------------------------------------- */

static int restart(struct ccm *c)
{
    c->key_set = c->iv_set = c->tag_set = c->len_set = c->open = c->tls = 0;
    c->iv_len = 7;
    c->tag_len = 12;
    return 1;
}

static int set_iv_len(struct ccm *c, int len)
{
    if (len < 7 || len > 13)
        return 0;
    /* A new length invalidates the IV: two IVs with a common prefix would become one nonce. */
    if (len != c->iv_len)
        c->iv_set = 0;
    c->iv_len = (uint8_t)len;
    return 1;
}

static int set_tag(EVP_CIPHER_CTX *ctx, struct ccm *c, const uint8_t *tag, int len)
{
    if (len % 2 != 0 || len < 4 || len > TAG_BYTES || (tre_evp.encrypting(ctx) && tag != NULL))
        return 0;
    if (tag != NULL) {
        memcpy(c->buffer, tag, (size_t)len);
        c->tag_set = 1;
    }
    c->tag_len = (uint8_t)len;
    return 1;
}

/* Ends the message. */
static int get_tag(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *tag, int len)
{
    if (!tre_evp.encrypting(ctx) || !c->tag_set || len != c->key_tag_len || tag == NULL)
        return 0;
    memcpy(tag, c->tag, (size_t)len);
    c->tag_set = c->iv_set = c->len_set = 0;
    return 1;
}

static int set_fixed_iv(EVP_CIPHER_CTX *ctx, const uint8_t *iv, int len)
{
    if (len != FIXED || iv == NULL)
        return 0;
    memcpy(tre_evp.iv(ctx), iv, FIXED);
    return 1;
}

static int set_tls_aad(EVP_CIPHER_CTX *ctx, struct ccm *c, const uint8_t *in, int len)
{
    const int grows = tre_take_aad(c->buffer, in, len, tre_evp.encrypting(ctx), c->tag_len);
    if (grows > 0)
        c->tls = 1;
    return grows;
}

static int ctrl(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr)
{
    struct ccm *c = tre_evp.data(ctx);
    switch (type) {
    case EVP_CTRL_INIT:
        return restart(c);
    case EVP_CTRL_GET_IVLEN:
        *(int *)ptr = c->iv_len;
        return 1;
    case EVP_CTRL_AEAD_SET_IVLEN:
        return set_iv_len(c, arg);
    case EVP_CTRL_CCM_SET_L:
        return set_iv_len(c, 15 - arg);
    case EVP_CTRL_AEAD_SET_TAG:
        return set_tag(ctx, c, ptr, arg);
    case EVP_CTRL_AEAD_GET_TAG:
        return get_tag(ctx, c, ptr, arg);
    case EVP_CTRL_CCM_SET_IV_FIXED:
        return set_fixed_iv(ctx, ptr, arg);
    case EVP_CTRL_AEAD_TLS1_AAD:
        return set_tls_aad(ctx, c, ptr, arg);
    case EVP_CTRL_COPY:
        return 1; /* libcrypto has copied the contexts, byte for byte */
    }
    return -1;
}

const struct tre_mode tre_ccm = {.flags = EVP_CIPH_CCM_MODE | AEAD_FLAGS,
                                 .block_size = 1,
                                 .iv_len = 12,
                                 .context_size = sizeof(struct ccm),
                                 .init = init,
                                 .crypt = crypt,
                                 .ctrl = ctrl};
