/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-CCM as EVP defines it: connects ccm.h to the contexts and parameters of a provider. After the
 * parameter "tlsaad", every update processes a TLS 1.2 record. */
#include "ccm.h"

#include "aead.h"

struct trp_ccm {
    struct trp_aead a; /* a.buffer holds the expected tag or the AAD of a record */
    struct trossl_ccm ccm;
};

/* ---- Messages ------------------------------------------------------------------------------- */

static struct trossl_ccm_settings ccm_settings(const struct trp_ccm *c)
{
    return (struct trossl_ccm_settings){c->a.iv, c->a.iv_len, c->a.buffer, c->a.tag_len,
                                        c->a.encrypt};
}

/* Processes AAD, data, or a TLS record. An IV is valid for one message. When encrypting,
 * ccm_get_tag() invalidates the IV. When decrypting, a successful data update invalidates the IV,
 * or ccm_final() if there was no data. */
static int ccm_crypt(struct trp_ccm *c, uint8_t *out, size_t *out_len, const uint8_t *in,
                     size_t len)
{
    const struct trossl_ccm_settings now = ccm_settings(c);
    *out_len = 0;
    if (!c->a.key_set)
        return 0;
    if (c->a.tls)
        return in != NULL && out == in &&
               trossl_ccm_record(&c->ccm, &now, c->a.iv, c->a.buffer, out, len, out_len);
    if (in == NULL && out != NULL)
        return 1; /* an update without input; ccm_final() ends the message */
    if (c->a.iv_state == TRP_IV_NONE)
        return 0;
    const enum tr_status status = trossl_ccm_update(&c->ccm, &now, out, in, len);
    if (status != TR_OK)
        return trp_aead_status(c, status);
    if (out != NULL && !c->a.encrypt)
        c->a.iv_state = TRP_IV_NONE;
    *out_len = len;
    return 1;
}

static int ccm_update(TRP_DATA_PARAMETERS)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return trp_failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return ccm_crypt(c, out, out_len, in, len) || trp_failed(c, PROV_R_CIPHER_OPERATION_FAILED);
}

static int ccm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_ccm *c = ctx;
    const struct trossl_ccm_settings now = ccm_settings(c);
    *out_len = 0;
    if (!c->a.key_set)
        return 0;
    if (c->a.iv_state == TRP_IV_NONE || (c->a.encrypt && c->ccm.tag_set))
        return 1;
    if (c->a.tls || trossl_ccm_final(&c->ccm, &now) != TR_OK)
        return 0;
    if (!c->a.encrypt)
        c->a.iv_state = TRP_IV_NONE;
    return 1;
}

static int ccm_cipher(TRP_DATA_PARAMETERS)
{
    struct trp_ccm *c = ctx;
    if (out_size < len)
        return trp_failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == NULL)
        return ccm_final(c, out, out_len, out_size);
    if (!ccm_crypt(c, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static TRP_LIST(ccm_gettable_ctx_params, TRP_AEAD_GETTABLE, TRP_AEAD_GETTABLE_TLS)
static TRP_LIST(ccm_settable_ctx_params, TRP_AEAD_SETTABLE, TRP_AEAD_SETTABLE_TLS)

/* Copies as many bytes of the IV buffer as the caller asks for, at most 16. Fails if the caller
 * asks for fewer bytes than the IV has. Bytes beyond the IV are zero or belong to an earlier IV. */
static int ccm_get_iv(void *ctx, OSSL_PARAM *p)
{
    const struct trp_ccm *c = ctx;
    if (p->data_size < c->a.iv_len)
        return trp_failed(c, PROV_R_INVALID_IV_LENGTH);
    size_t len = p->data_size < TR_BLOCK ? p->data_size : TR_BLOCK;
    return trp_param_set_octets(p, c->a.iv, len) || trp_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

/* Copies the tag and ends the message. The message's IV cannot be used again. */
static int ccm_get_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (!c->a.encrypt || !c->ccm.tag_set)
        return trp_failed(c, PROV_R_TAG_NOT_SET);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
    if (p->data == NULL || p->data_size != c->ccm.key_tag_len)
        return 0;
    trp_copy(p->data, c->ccm.tag, p->data_size, TR_BLOCK);
    c->a.iv_state = TRP_IV_NONE;
    c->ccm.tag_set = c->ccm.len_set = 0;
    return 1;
}

static const struct trp_aead_param ccm_get[] = {
    {OSSL_CIPHER_PARAM_IVLEN, trp_aead_get_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, trp_aead_get_tag_len},
    {OSSL_CIPHER_PARAM_IV, ccm_get_iv},
    {OSSL_CIPHER_PARAM_UPDATED_IV, ccm_get_iv},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, trp_aead_get_tls_pad},
    {OSSL_CIPHER_PARAM_AEAD_TAG, ccm_get_tag},
    {NULL, NULL}};

static int ccm_set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size % 2 != 0 || p->data_size < 4 || p->data_size > TR_BLOCK)
        return trp_failed(c, PROV_R_INVALID_TAG_LENGTH);
    if (p->data != NULL) {
        if (c->a.encrypt)
            return trp_failed(c, PROV_R_TAG_NOT_NEEDED);
        memcpy(c->a.buffer, p->data, p->data_size);
        c->ccm.tag_set = 1;
    }
    c->a.tag_len = p->data_size;
    return 1;
}

static int ccm_set_iv_len(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    size_t len;
    if (!trp_take_number(c, p, SIZE_MAX, &len))
        return 0;
    if (len < 7 || len > 13)
        return trp_failed(c, PROV_R_INVALID_IV_LENGTH);
    /* A new length invalidates the IV. Otherwise, two IVs could be cut to the same nonce. */
    if (len != c->a.iv_len)
        c->a.iv_state = TRP_IV_NONE;
    c->a.iv_len = len;
    return 1;
}

static int ccm_set_tls_aad(void *ctx, OSSL_PARAM *p)
{
    const struct trp_ccm *c = ctx;
    return trp_aead_set_tls_aad(ctx, p, c->a.tag_len, PROV_R_INVALID_DATA);
}

static int ccm_set_fixed_iv(void *ctx, OSSL_PARAM *p)
{
    struct trp_ccm *c = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TROSSL_TLS_FIXED || p->data == NULL)
        return trp_failed(c, PROV_R_INVALID_IV_LENGTH);
    memcpy(c->a.iv, p->data, TROSSL_TLS_FIXED);
    return 1;
}

static const struct trp_aead_param ccm_set[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, ccm_set_tag},
    {OSSL_CIPHER_PARAM_AEAD_IVLEN, ccm_set_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, ccm_set_tls_aad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, ccm_set_fixed_iv},
    {NULL, NULL}};

/* ---- Keys, and the function tables ---------------------------------------------------------- */

static enum tr_status ccm_set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                                  size_t key_len)
{
    struct trp_ccm *c = ctx;
    return trossl_ccm_set_key(&c->ccm, backend, key, key_len, c->a.iv_len, c->a.tag_len);
}

static int ccm_copied(void *ctx)
{
    struct trp_ccm *c = ctx;
    tr_ccm_rebind(&c->ccm.message, &c->ccm.key);
    return 1;
}

static const struct trp_aead_mode ccm_mode = {.family = {.context_size = sizeof(struct trp_ccm),
                                                         .begin = trp_aead_begin,
                                                         .copied = ccm_copied},
                                              .tag_len = 12,
                                              .tests = TR_TESTS_CCM,
                                              .set_key = ccm_set_key,
                                              .get_tag = ccm_get_tag,
                                              .get = ccm_get,
                                              .set = ccm_set};

TRP_AEAD(ccm, 1, .evp_mode = EVP_CIPH_CCM_MODE, .iv_len = 12, .default_iv_len = 7, .block_size = 1);
