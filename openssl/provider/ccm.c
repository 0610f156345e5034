/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-CCM as EVP has it: the total length is told by an update without in and out, or is that of the
 * one update with data; the AAD is one update. Tag and nonce length are those at the time when the
 * key is set. After the parameter "tlsaad" every update is a record of TLS 1.2 (RFC 6655).
 */
#include "aead.h"

struct trp_ccm {
    struct trp_aead a; /* its IV is there or not; its buffer may hold the tag to be compared */
    struct tr_ccm core;
    size_t key_iv_len, key_tag_len; /* as they were when the key was set */
    uint64_t len;                   /* of the message begun */
    uint8_t tag_set;
    uint8_t open; /* nonce and len are those of a message whose data has not come */
    uint8_t len_set;
    uint8_t has_aad;
    uint8_t nonce[TR_BLOCK];
    uint8_t tag[TR_BLOCK]; /* of the message encrypted */
};

/* ---- Messages ------------------------------------------------------------------------------- */

static int begin(struct trp_ccm *c, size_t len)
{
    /* The key fixes the nonce length. Encryption refuses a longer IV: the nonce would be its prefix,
     * and two IVs could become one nonce. */
    if (c->a.iv_len < c->key_iv_len || (c->a.encrypt && c->a.iv_len != c->key_iv_len))
        return 0;
    memcpy(c->nonce, c->a.iv, sizeof(c->nonce));
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
    enum tr_status status = c->a.encrypt ? tr_ccm_encrypt(&c->core, out, in, len)
                                         : tr_ccm_decrypt(&c->core, out, in, len);
    if (status == TR_ERR_OVERLAP)
        return trp_aead_status(c, status);
    c->open = 0;
    return status == TR_OK;
}

static int check(struct trp_ccm *c, uint8_t *out, size_t len, const uint8_t *tag)
{
    if (c->a.tag_len == c->key_tag_len && tr_ccm_check(&c->core, tag) == TR_OK)
        return 1;
    tr_cleanse(out, len);
    return 0;
}

/* One whole record in place: explicit nonce, text, tag. */
static int record(struct trp_ccm *c, uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    size_t frame = TRP_TLS_EXPLICIT + c->a.tag_len;
    *out_len = 0;
    if (in == NULL || out != in || len < frame)
        return 0;
    /* The nonce ends in the sequence number, which the AAD begins with. */
    if (c->a.encrypt)
        memcpy(out, c->a.buffer, TRP_TLS_EXPLICIT);
    memcpy(c->a.iv + TRP_TLS_FIXED, in, TRP_TLS_EXPLICIT);
    uint8_t *text = out + TRP_TLS_EXPLICIT;
    len -= frame;
    if (!begin(c, len) || !aad(c, c->a.buffer, TRP_TLS_AAD) || !data(c, text, text, len))
        return 0;
    if (c->a.encrypt) {
        if (c->a.tag_len != c->key_tag_len || tr_ccm_tag(&c->core, c->tag) != TR_OK)
            return 0;
        memcpy(text + len, c->tag, c->a.tag_len);
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
    if (!c->tag_set || !data(c, out, in, len) || !check(c, out, len, c->a.buffer))
        return 0;
    c->a.iv_state = TRP_IV_NONE;
    c->tag_set = c->len_set = 0;
    return 1;
}

static int crypt(struct trp_ccm *c, uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    int good;
    *out_len = 0;
    if (!c->a.key_set)
        return 0;
    if (c->a.tls)
        return record(c, out, out_len, in, len);
    if (in == NULL && out != NULL)
        return 1; /* the end, which has nothing to do */
    if (c->a.iv_state == TRP_IV_NONE)
        return 0;
    if (out == NULL && in == NULL)
        good = begin(c, len);
    else if (out == NULL)
        good = (c->len_set || len == 0) && aad(c, in, len);
    else if (!c->len_set && !begin(c, len))
        good = 0;
    else
        good = c->a.encrypt ? encrypt_data(c, out, in, len) : decrypt_data(c, out, in, len);
    if (good)
        *out_len = len;
    return good;
}

static int ccm_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return trp_aead_failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return crypt(c, out, out_len, in, len) || trp_aead_failed(c, PROV_R_CIPHER_OPERATION_FAILED);
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
    if (!c->a.key_set)
        return 0;
    return c->a.iv_state == TRP_IV_NONE || (c->a.encrypt && c->tag_set) ||
           crypt(c, no_out, out_len, no_in, 0);
}

static int ccm_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return trp_aead_failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == NULL)
        return ccm_final(c, out, out_len, out_size);
    if (!crypt(c, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const OSSL_PARAM ccm_gettable[] = {TRP_AEAD_GETTABLE, TRP_AEAD_GETTABLE_TLS, TRP_END};
static const OSSL_PARAM ccm_settable[] = {TRP_AEAD_SETTABLE, TRP_AEAD_SETTABLE_TLS, TRP_END};
TRP_AEAD_LISTS(ccm)

/* As many bytes as are asked for, of the block that ends in whatever was there. */
static int get_iv(void *ctx, OSSL_PARAM *p)
{
    const struct trp_ccm *c = ctx;
    if (p->data_size < c->a.iv_len)
        return trp_aead_failed(c, PROV_R_INVALID_IV_LENGTH);
    size_t len = p->data_size < TR_BLOCK ? p->data_size : TR_BLOCK;
    return trp_param_set_octets(p, c->a.iv, len) ||
           trp_aead_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

/* Ends the message. */
static int get_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (!c->a.encrypt || !c->tag_set)
        return trp_aead_failed(c, PROV_R_TAG_NOT_SET);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_aead_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
    if (p->data == NULL || p->data_size != c->key_tag_len)
        return 0;
    if (LIKELY(p->data_size == TR_BLOCK)) /* without a call */
        memcpy(p->data, c->tag, TR_BLOCK);
    else
        memcpy(p->data, c->tag, p->data_size);
    c->a.iv_state = TRP_IV_NONE;
    c->tag_set = c->len_set = 0;
    return 1;
}

static const struct trp_aead_param ccm_get[] = {
    {OSSL_CIPHER_PARAM_IVLEN, trp_aead_get_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, trp_aead_get_tag_len},
    {OSSL_CIPHER_PARAM_IV, get_iv},
    {OSSL_CIPHER_PARAM_UPDATED_IV, get_iv},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, trp_aead_get_tls_pad},
    {OSSL_CIPHER_PARAM_AEAD_TAG, get_tag},
    {NULL, NULL}};

static int set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_aead_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size % 2 != 0 || p->data_size < 4 || p->data_size > TR_BLOCK)
        return trp_aead_failed(c, PROV_R_INVALID_TAG_LENGTH);
    if (p->data != NULL) {
        if (c->a.encrypt)
            return trp_aead_failed(c, PROV_R_TAG_NOT_NEEDED);
        memcpy(c->a.buffer, p->data, p->data_size);
        c->tag_set = 1;
    }
    c->a.tag_len = p->data_size;
    return 1;
}

static int set_iv_len(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    size_t len;
    if (!trp_aead_take_number(c, p, &len))
        return 0;
    if (len < 7 || len > 13)
        return trp_aead_failed(c, PROV_R_INVALID_IV_LENGTH);
    /* A new length invalidates the IV: two IVs with a common prefix would become one nonce. */
    if (len != c->a.iv_len)
        c->a.iv_state = TRP_IV_NONE;
    c->a.iv_len = len;
    return 1;
}

static int set_tls_aad(void *ctx, OSSL_PARAM *p)
{
    const struct trp_ccm *c = ctx;
    return trp_aead_set_tls_aad(ctx, p, c->a.tag_len, PROV_R_INVALID_DATA);
}

static int set_fixed_iv(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_aead_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TRP_TLS_FIXED || p->data == NULL)
        return trp_aead_failed(c, PROV_R_INVALID_IV_LENGTH);
    memcpy(c->a.iv, p->data, TRP_TLS_FIXED);
    return 1;
}

static const struct trp_aead_param ccm_set[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, set_tag},
    {OSSL_CIPHER_PARAM_AEAD_IVLEN, set_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, set_tls_aad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, set_fixed_iv},
    {NULL, NULL}};

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static enum tr_status set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                              size_t key_len)
{
    struct trp_ccm *c = ctx;
    c->key_iv_len = c->a.iv_len;
    c->key_tag_len = c->a.tag_len;
    c->open = 0;
    return tr_ccm_set_key(&c->core, backend, key, key_len);
}

static const struct trp_aead_mode ccm_mode = {.context_size = sizeof(struct trp_ccm),
                                              .tag_len = 12,
                                              .set_key = set_key,
                                              .get_tag = get_tag,
                                              .get = ccm_get,
                                              .set = ccm_set};

#define CCM(bits)                                                                                  \
    TRP_AEAD(ccm, bits, .evp_mode = EVP_CIPH_CCM_MODE, .iv_len = 12, .default_iv_len = 7,          \
             .block_size = 1)

CCM(128);
CCM(192);
CCM(256);
