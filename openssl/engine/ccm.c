/* SPDX-License-Identifier: BSD-2-Clause */
/* CCM as libcrypto 1.1.1 defines it: connects ccm.h to the contexts and controls of EVP_CIPHER.
 * After EVP_CTRL_AEAD_TLS1_AAD, every call processes a TLS 1.2 record. */
#include "ccm.h"

#include "mode.h"

struct ccm {
    struct trossl_ccm ccm;
    uint8_t iv_len, tag_len; /* current lengths, in bytes */
    uint8_t key_set, iv_set;
    uint8_t tls; /* `buffer` holds the AAD of a record, not the expected tag */
    uint8_t buffer[TROSSL_TAG];
};

static int ccm_init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc)
{
    struct ccm *c = tre_evp.data(ctx);
    if (key != NULL) {
        if (trossl_ccm_set_key(&c->ccm, tre_backend(), key, (size_t)tre_evp.key_len(ctx), c->iv_len,
                               c->tag_len) != TR_OK)
            return 0;
        c->key_set = 1;
    }
    if (iv != NULL) {
        memcpy(tre_evp.iv(ctx), iv, c->iv_len);
        c->iv_set = 1;
    }
    return 1;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static struct trossl_ccm_settings ccm_settings(EVP_CIPHER_CTX *ctx, const struct ccm *c)
{
    return (struct trossl_ccm_settings){tre_evp.iv(ctx), c->iv_len, c->buffer, c->tag_len,
                                        tre_evp.encrypting(ctx)};
}

static int ccm_record(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *out, const uint8_t *in,
                      size_t len)
{
    const struct trossl_ccm_settings now = ccm_settings(ctx, c);
    size_t n;
    return in != NULL && out == in &&
                   trossl_ccm_record(&c->ccm, &now, tre_evp.iv(ctx), c->buffer, out, len, &n)
               ? (int)n
               : -1;
}

/* Ends a decrypted message. On success clears iv_set: ccm_finish() then has nothing to do, and the
 * next message needs a new IV. On failure keeps iv_set, so that ccm_finish() fails, too. */
static int ccm_decrypted(struct ccm *c, enum tr_status status)
{
    c->ccm.tag_set = c->ccm.len_set = 0;
    if (status == TR_OK)
        c->iv_set = 0;
    return status == TR_OK;
}

static int ccm_message(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *out, const uint8_t *in,
                       size_t len)
{
    const struct trossl_ccm_settings now = ccm_settings(ctx, c);
    if (out == NULL || now.encrypt)
        return trossl_ccm_update(&c->ccm, &now, out, in, len) == TR_OK;
    return c->ccm.tag_set && ccm_decrypted(c, trossl_ccm_update(&c->ccm, &now, out, in, len));
}

static int ccm_finish(EVP_CIPHER_CTX *ctx, struct ccm *c)
{
    const struct trossl_ccm_settings now = ccm_settings(ctx, c);
    if (!c->iv_set)
        return 0;
    const enum tr_status status = trossl_ccm_final(&c->ccm, &now);
    return (now.encrypt ? status == TR_OK : ccm_decrypted(c, status)) ? 0 : -1;
}

static int ccm_crypt(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    struct ccm *c = tre_evp.data(ctx);
    if (!c->key_set)
        return -1;
    if (c->tls)
        return ccm_record(ctx, c, out, in, len);
    if (in == NULL && out != NULL)
        return ccm_finish(ctx, c);
    return c->iv_set && ccm_message(ctx, c, out, in, len) ? (int)len : -1;
}

/* ---- Controls ------------------------------------------------------------------------------- */

static int ccm_restart(struct ccm *c)
{
    c->key_set = c->iv_set = c->tls = 0;
    c->ccm.tag_set = c->ccm.len_set = c->ccm.open = 0;
    c->iv_len = 7;
    c->tag_len = 12;
    return 1;
}

static int ccm_set_iv_len(struct ccm *c, int len)
{
    if (len < 7 || len > 13)
        return 0;
    /* A new length invalidates the IV. Otherwise, two IVs could be cut to the same nonce. */
    if (len != c->iv_len)
        c->iv_set = 0;
    c->iv_len = (uint8_t)len;
    return 1;
}

static int ccm_set_tag(EVP_CIPHER_CTX *ctx, struct ccm *c, const uint8_t *tag, int len)
{
    if (len % 2 != 0 || len < 4 || len > (int)TROSSL_TAG ||
        (tre_evp.encrypting(ctx) && tag != NULL))
        return 0;
    if (tag != NULL) {
        memcpy(c->buffer, tag, (size_t)len);
        c->ccm.tag_set = 1;
    }
    c->tag_len = (uint8_t)len;
    return 1;
}

/* Copies the tag and ends the message. */
static int ccm_get_tag(EVP_CIPHER_CTX *ctx, struct ccm *c, uint8_t *tag, int len)
{
    if (!tre_evp.encrypting(ctx) || !c->ccm.tag_set || tag == NULL ||
        (size_t)len != c->ccm.key_tag_len)
        return 0;
    memcpy(tag, c->ccm.tag, (size_t)len);
    c->ccm.tag_set = c->ccm.len_set = c->iv_set = 0;
    return 1;
}

static int ccm_set_fixed_iv(EVP_CIPHER_CTX *ctx, const uint8_t *iv, int len)
{
    if (len != (int)TROSSL_TLS_FIXED || iv == NULL)
        return 0;
    memcpy(tre_evp.iv(ctx), iv, TROSSL_TLS_FIXED);
    return 1;
}

/* Corrects the pointers of a context that libcrypto has copied bytewise. */
static int ccm_copy(EVP_CIPHER_CTX *to)
{
    struct ccm *c = tre_evp.data(to);
    tr_ccm_rebind(&c->ccm.message, &c->ccm.key);
    return 1;
}

static int ccm_ctrl(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr)
{
    struct ccm *c = tre_evp.data(ctx);
    switch (type) {
    case EVP_CTRL_INIT:
        return ccm_restart(c);
    case EVP_CTRL_GET_IVLEN:
        *(int *)ptr = c->iv_len;
        return 1;
    case EVP_CTRL_AEAD_SET_IVLEN:
        return ccm_set_iv_len(c, arg);
    case EVP_CTRL_CCM_SET_L:
        return ccm_set_iv_len(c, 15 - arg);
    case EVP_CTRL_AEAD_SET_TAG:
        return ccm_set_tag(ctx, c, ptr, arg);
    case EVP_CTRL_AEAD_GET_TAG:
        return ccm_get_tag(ctx, c, ptr, arg);
    case EVP_CTRL_CCM_SET_IV_FIXED:
        return ccm_set_fixed_iv(ctx, ptr, arg);
    case EVP_CTRL_AEAD_TLS1_AAD:
        return tre_take_aad(ctx, c->buffer, &c->tls, ptr, arg, c->tag_len);
    case EVP_CTRL_COPY:
        return ccm_copy(ptr);
    }
    return -1;
}

const struct tre_mode tre_ccm = {.flags = EVP_CIPH_CCM_MODE | TRE_AEAD_FLAGS,
                                 .block_size = 1,
                                 .iv_len = 12,
                                 .context_size = sizeof(struct ccm),
                                 .init = ccm_init,
                                 .crypt = ccm_crypt,
                                 .ctrl = ccm_ctrl};
