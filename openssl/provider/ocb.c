/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-OCB as EVP defines it. EVP's block size is 16, so update buffers a partial block, and final
 * writes it. The caller sets the tag length before the message; the default is 16. */
#include "aead.h"
#include "util.h"

#define MAX_IV 15

struct trp_ocb {
    struct trp_aead a; /* a.buffer holds a partial block of data */
    struct tr_ocb_key key;
    struct tr_ocb core;
    size_t message_tag_len; /* the tag length when the message began */
    unsigned used;          /* bytes of data in a.buffer */
    size_t aad_used;        /* bytes of AAD beyond the last whole block */
    uint8_t tag[TR_BLOCK];
};

/* ---- Messages ------------------------------------------------------------------------------- */

static int ocb_begun(struct trp_ocb *o)
{
    if (o->a.iv_state == TRP_IV_IN_USE)
        return o->a.key_set;
    if (!o->a.key_set || o->a.iv_state != TRP_IV_GIVEN ||
        tr_ocb_start(&o->core, &o->key, o->a.iv, o->a.iv_len, o->a.tag_len) != TR_OK)
        return 0;
    o->message_tag_len = o->a.tag_len;
    o->a.iv_state = TRP_IV_IN_USE;
    return 1;
}

static enum tr_status ocb_crypt(struct trp_ocb *o, uint8_t *out, const uint8_t *in, size_t len)
{
    return o->a.encrypt ? tr_ocb_encrypt(&o->core, out, in, len)
                        : tr_ocb_decrypt(&o->core, out, in, len);
}

static int ocb_crypt_failed(const struct trp_ocb *o, enum tr_status status)
{
    return status == TR_ERR_OVERLAP ? trp_aead_status(o, status)
                                    : trp_failed(o, PROV_R_CIPHER_OPERATION_FAILED);
}

/* Whether the buffers allow an update that processes `whole` bytes from `in` to out + before. If
 * `before` is TR_BLOCK, the update first writes the buffered block to `out`. That block must not
 * overwrite the bytes at `in`, which are still unprocessed. */
static int ocb_fits(const uint8_t *out, size_t before, const uint8_t *in, size_t whole)
{
    if (whole == 0)
        return 1;
    return !tr_bad_overlap(out + before, in, whole) &&
           (before == 0 || out >= in + whole || in >= out + TR_BLOCK);
}

/* Processes data. If `out` is too small or ocb_fits() refuses it, changes nothing, so that the
 * caller can repeat the update with another buffer. */
static int ocb_data(struct trp_ocb *o, uint8_t *out, size_t *out_len, size_t out_size,
                    const uint8_t *in, size_t len)
{
    if (len < TR_BLOCK - o->used) {
        memcpy(o->a.buffer + o->used, in, len);
        o->used += (unsigned)len;
        *out_len = 0;
        return 1;
    }
    const size_t before = o->used != 0 ? TR_BLOCK : 0, fill = before != 0 ? TR_BLOCK - o->used : 0;
    const size_t tail = (len - fill) % TR_BLOCK, whole = len - fill - tail;
    if (out_size < before || out_size - before < whole)
        return trp_failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!ocb_fits(out, before, in + fill, whole))
        return ocb_crypt_failed(o, TR_ERR_OVERLAP);
    enum tr_status status = TR_OK;
    uint8_t last[TR_BLOCK];
    if (tail != 0)
        memcpy(last, in + len - tail, tail);
    if (before != 0) {
        memcpy(o->a.buffer + o->used, in, fill);
        status = ocb_crypt(o, out, o->a.buffer, TR_BLOCK);
    }
    if (status == TR_OK && whole != 0)
        status = ocb_crypt(o, out + before, in + fill, whole);
    if (tail != 0) {
        memcpy(o->a.buffer, last, tail);
        tr_cleanse(last, sizeof(last));
    }
    o->used = (unsigned)tail;
    if (status != TR_OK)
        return ocb_crypt_failed(o, status);
    *out_len = before + whole;
    return 1;
}

static int ocb_update(TRP_DATA_PARAMETERS)
{
    struct trp_ocb *o = ctx;
    if (!ocb_begun(o))
        return 0;
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out != NULL)
        return ocb_data(o, out, out_len, out_size, in, len);
    if (tr_ocb_aad(&o->core, in, len) != TR_OK)
        return trp_failed(o, PROV_R_CIPHER_OPERATION_FAILED);
    /* The core has processed all AAD. Like the default provider, reports only whole blocks. */
    *out_len = (o->aad_used + len) / TR_BLOCK * TR_BLOCK;
    o->aad_used = (o->aad_used + len) % TR_BLOCK;
    return 1;
}

/* Writes the partial block, and computes or checks the tag. */
static int ocb_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_ocb *o = ctx;
    *out_len = 0;
    /* The nonce contains the tag length, so the message cannot end with another tag length. */
    if (!ocb_begun(o) || o->a.tag_len != o->message_tag_len)
        return 0;
    if (o->used != 0) {
        if (out == NULL || out_size < o->used)
            return trp_failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        if (ocb_crypt(o, out, o->a.buffer, o->used) != TR_OK)
            return 0;
        *out_len = o->used;
        o->used = 0;
    }
    o->a.iv_state = TRP_IV_SPENT;
    return (o->a.encrypt ? tr_ocb_tag(&o->core, o->tag) : tr_ocb_check(&o->core, o->tag)) == TR_OK;
}

/* The function for EVP_Cipher(). Data bypasses the buffer, and NULL input ends the message. In
 * OpenSSL before 3.0.22 and 3.5.8, the default provider succeeds on NULL input without comparing
 * the tag (CVE-2026-75803). */
static int ocb_cipher(TRP_DATA_PARAMETERS)
{
    struct trp_ocb *o = ctx;
    if (in == NULL)
        return ocb_final(o, out, out_len, out_size);
    if (out_size < len)
        return trp_failed(o, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!ocb_begun(o) || (out == NULL && len != 0))
        return trp_failed(o, PROV_R_CIPHER_OPERATION_FAILED);
    enum tr_status status = ocb_crypt(o, out, in, len);
    if (status != TR_OK)
        return ocb_crypt_failed(o, status);
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static TRP_LIST(ocb_gettable_ctx_params, TRP_AEAD_GETTABLE)
static TRP_LIST(ocb_settable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN), TRP_AEAD_SETTABLE)

static int ocb_get_tag(void *ctx, OSSL_PARAM *p)
{
    const struct trp_ocb *o = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
    if (!o->a.encrypt || p->data_size != o->a.tag_len || p->data == NULL)
        return trp_failed(o, PROV_R_INVALID_TAG_LENGTH);
    trp_copy(p->data, o->tag, o->a.tag_len, TR_BLOCK);
    return 1;
}

static const struct trp_aead_param ocb_get[] = {
    {OSSL_CIPHER_PARAM_IVLEN, trp_aead_get_iv_len},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, trp_aead_get_tag_len},
    {OSSL_CIPHER_PARAM_IV, trp_aead_get_iv},
    {OSSL_CIPHER_PARAM_UPDATED_IV, trp_aead_get_iv},
    {OSSL_CIPHER_PARAM_AEAD_TAG, ocb_get_tag},
    {NULL, NULL}};

/* Sets the expected tag. NULL data sets only the tag length. */
static int ocb_set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_ocb *o = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(o, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data == NULL) {
        if (p->data_size > TR_BLOCK)
            return trp_failed(o, PROV_R_INVALID_TAG_LENGTH);
        o->a.tag_len = p->data_size;
        return 1;
    }
    if (o->a.encrypt)
        return trp_failed(o, ERR_R_PASSED_INVALID_ARGUMENT);
    if (p->data_size != o->a.tag_len)
        return trp_failed(o, PROV_R_INVALID_TAG_LENGTH);
    memcpy(o->tag, p->data, p->data_size);
    return 1;
}

static int ocb_set_iv_len(void *ctx, OSSL_PARAM *p)
{
    struct trp_ocb *o = ctx;
    size_t len;
    if (!trp_take_number(o, p, SIZE_MAX, &len) || len < 1 || len > MAX_IV)
        return 0;
    /* A new length invalidates the IV. Otherwise, two IVs could be cut to the same nonce. */
    if (len != o->a.iv_len)
        o->a.iv_state = TRP_IV_NONE;
    o->a.iv_len = len;
    return 1;
}

static const struct trp_aead_param ocb_set[] = {{OSSL_CIPHER_PARAM_AEAD_TAG, ocb_set_tag},
                                                {OSSL_CIPHER_PARAM_AEAD_IVLEN, ocb_set_iv_len},
                                                {OSSL_CIPHER_PARAM_KEYLEN, trp_set_key_len},
                                                {NULL, NULL}};

/* ---- Keys, and the function tables ---------------------------------------------------------- */

static enum tr_status ocb_set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                                  size_t key_len)
{
    struct trp_ocb *o = ctx;
    if (o->a.iv_state == TRP_IV_IN_USE) /* a message cannot continue under another key */
        o->a.iv_state = TRP_IV_SPENT;
    return tr_ocb_set_key(&o->key, backend, key, key_len);
}

static int ocb_copied(void *ctx)
{
    struct trp_ocb *o = ctx;
    tr_ocb_rebind(&o->core, &o->key);
    return 1;
}

static void ocb_restart(void *ctx)
{
    struct trp_ocb *o = ctx;
    /* Every init drops the buffered data and sets aad_used to 0. Without a new IV, the message
     * continues, unless that dropped a partial block of data or AAD. The default provider would
     * continue without the block; here the message ends. */
    if (o->a.iv_state == TRP_IV_IN_USE && (o->used != 0 || o->aad_used != 0))
        o->a.iv_state = TRP_IV_SPENT;
    o->used = 0;
    o->aad_used = 0;
}

static const struct trp_aead_mode ocb_mode = {.family = {.context_size = sizeof(struct trp_ocb),
                                                         .begin = trp_aead_begin,
                                                         .copied = ocb_copied},
                                              .tag_len = TR_BLOCK,
                                              .max_iv = MAX_IV,
                                              .tests = TR_TEST_OCB,
                                              .set_key = ocb_set_key,
                                              .restart = ocb_restart,
                                              .get_tag = ocb_get_tag,
                                              .get = ocb_get,
                                              .set = ocb_set};

TRP_AEAD(ocb, 1, .evp_mode = EVP_CIPH_OCB_MODE, .iv_len = 12, .block_size = TR_BLOCK);
