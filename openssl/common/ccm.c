/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccm.h"

#include "partial_block.h"

#include <string.h>

enum tr_status trossl_ccm_set_key(struct trossl_ccm *c, const struct tr_backend *backend,
                                  const uint8_t *raw, size_t key_len, size_t iv_len, size_t tag_len)
{
    c->key_iv_len = iv_len;
    c->key_tag_len = tag_len;
    c->open = 0;
    return tr_ccm_set_key(&c->key, backend, raw, key_len);
}

static enum tr_status trossl_ccm_begin(struct trossl_ccm *c, const struct trossl_ccm_settings *now,
                                       size_t len)
{
    /* The nonce length is the IV length at the time when the key was set. A shorter IV cannot fill
     * the nonce. Encryption refuses a longer IV, too. Otherwise the nonce would be a prefix of the
     * IV, so two IVs could give the same nonce. */
    if (now->iv_len < c->key_iv_len || (now->encrypt && now->iv_len != c->key_iv_len))
        return TR_ERR_IV_LENGTH;
    /* The caller may have just stored the IV as 8 and 4 bytes. One load of 16 bytes would be a
     * store-forwarding stall, in which the message waits for the end of the one before. */
    partial_store_vector(c->nonce, now->iv_len == 12 ? partial_load_nonce(now->iv)
                                                     : partial_load_block(now->iv));
    c->len = len;
    c->len_set = c->open = 1;
    c->has_aad = 0;
    return TR_OK;
}

static enum tr_status trossl_ccm_start(struct trossl_ccm *c, size_t aad_len)
{
    return tr_ccm_start(&c->message, &c->key, c->nonce, c->key_iv_len, c->key_tag_len, aad_len,
                        c->len);
}

/* A second AAD replaces the first. AAD after the data is ignored. */
static enum tr_status trossl_ccm_take_aad(struct trossl_ccm *c, const uint8_t *in, size_t len)
{
    if (len == 0 || !c->open)
        return TR_OK;
    const enum tr_status status = trossl_ccm_start(c, len);
    if (status != TR_OK)
        return status;
    c->has_aad = 1;
    return tr_ccm_aad(&c->message, in, len);
}

/* Encrypts or decrypts all of the data, without the tag. */
static enum tr_status trossl_ccm_crypt(struct trossl_ccm *c, int encrypt, uint8_t *out,
                                       const uint8_t *in, size_t len)
{
    if (!c->open || len != c->len)
        return TR_ERR_LENGTH;
    enum tr_status status = c->has_aad ? TR_OK : trossl_ccm_start(c, 0);
    if (status != TR_OK)
        return status;
    status = encrypt ? tr_ccm_encrypt(&c->message, out, in, len)
                     : tr_ccm_decrypt(&c->message, out, in, len);
    if (status != TR_ERR_OVERLAP)
        c->open = 0;
    return status;
}

/* Compares the tag; on mismatch cleanses the plaintext. */
static enum tr_status trossl_ccm_check(struct trossl_ccm *c, const struct trossl_ccm_settings *now,
                                       uint8_t *out, size_t len, const uint8_t *tag)
{
    if (now->tag_len == c->key_tag_len && tr_ccm_check(&c->message, tag) == TR_OK)
        return TR_OK;
    tr_cleanse(out, len);
    return TR_ERR_TAG;
}

static enum tr_status trossl_ccm_data(struct trossl_ccm *c, const struct trossl_ccm_settings *now,
                                      uint8_t *out, const uint8_t *in, size_t len)
{
    if (!now->encrypt && !c->tag_set)
        return TR_ERR_STATE;
    enum tr_status status = trossl_ccm_crypt(c, now->encrypt, out, in, len);
    if (status != TR_OK)
        return status;
    if (now->encrypt) {
        status = tr_ccm_tag(&c->message, c->tag);
        c->tag_set |= status == TR_OK;
        return status;
    }
    status = trossl_ccm_check(c, now, out, len, now->expected);
    if (status == TR_OK)
        c->tag_set = c->len_set = 0;
    return status;
}

enum tr_status trossl_ccm_update(struct trossl_ccm *c, const struct trossl_ccm_settings *now,
                                 uint8_t *out, const uint8_t *in, size_t len)
{
    if (out == NULL && in == NULL)
        return trossl_ccm_begin(c, now, len);
    if (out == NULL)
        return c->len_set || len == 0 ? trossl_ccm_take_aad(c, in, len) : TR_ERR_STATE;
    if (!c->len_set) {
        const enum tr_status status = trossl_ccm_begin(c, now, len);
        if (status != TR_OK)
            return status;
    }
    return trossl_ccm_data(c, now, out, in, len);
}

enum tr_status trossl_ccm_final(struct trossl_ccm *c, const struct trossl_ccm_settings *now)
{
    static const uint8_t no_in[1];
    uint8_t no_out[1];
    if (now->encrypt && c->tag_set)
        return TR_OK;
    return trossl_ccm_update(c, now, no_out, no_in, 0);
}

int trossl_ccm_record(struct trossl_ccm *c, const struct trossl_ccm_settings *now, uint8_t *iv,
                      const uint8_t aad[TROSSL_TLS_AAD], uint8_t *record, size_t len,
                      size_t *out_len)
{
    const size_t frame = TROSSL_TLS_EXPLICIT + now->tag_len;
    if (len < frame)
        return 0;
    /* When sealing, the explicit part of the nonce is the sequence number, which is the first 8
     * bytes of the AAD. */
    if (now->encrypt)
        memcpy(record, aad, TROSSL_TLS_EXPLICIT);
    memcpy(iv + TROSSL_TLS_FIXED, record, TROSSL_TLS_EXPLICIT);
    uint8_t *const text = record + TROSSL_TLS_EXPLICIT;
    const size_t text_len = len - frame;
    if (trossl_ccm_begin(c, now, text_len) != TR_OK ||
        trossl_ccm_take_aad(c, aad, TROSSL_TLS_AAD) != TR_OK ||
        trossl_ccm_crypt(c, now->encrypt, text, text, text_len) != TR_OK)
        return 0;
    *out_len = now->encrypt ? len : text_len;
    if (!now->encrypt)
        return trossl_ccm_check(c, now, text, text_len, text + text_len) == TR_OK;
    if (now->tag_len != c->key_tag_len || tr_ccm_tag(&c->message, c->tag) != TR_OK)
        return 0;
    memcpy(text + text_len, c->tag, now->tag_len);
    return 1;
}
