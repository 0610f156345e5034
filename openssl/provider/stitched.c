/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-CBC-HMAC-SHA1 and AES-CBC-HMAC-SHA256: contexts and parameters. */
#include "stitched.h"

#include "aead.h"

#include <limits.h>
#include <openssl/prov_ssl.h>

#define MAX_PLAIN 16384u /* bytes of a record's payload (RFC 5246 section 6.2.1) */

static void stitched_begin(void *ctx)
{
    struct trp_stitched *c = ctx;
    trp_keyed_begin(c);
    const struct trp_head *const head = &c->base.cipher.head;
    c->sha = (head->kind->mac_len == 20 ? trossl_sha1 : trossl_sha256)(
        trossl_features(&head->provider->selection));
    c->payload_len = TRP_NO_PAYLOAD;
}

static const struct trp_family stitched = {.context_size = sizeof(struct trp_stitched),
                                           .begin = stitched_begin,
                                           .copied = trp_keyed_copied};

/* ---- Data ------------------------------------------------------------------------------------ */

static int stitched_cipher(TRP_DATA_PARAMETERS)
{
    struct trp_stitched *c = ctx;
    if (!c->base.cipher.key_set)
        return trp_failed(c, PROV_R_NO_KEY_SET);
    if (out_size < len)
        return trp_failed(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!trp_stitched_crypt(c, out, in, len))
        return trp_failed(c, PROV_R_CIPHER_OPERATION_FAILED);
    *out_len = len;
    return 1;
}

static int stitched_update(TRP_DATA_PARAMETERS)
{
    struct trp_stitched *c = ctx;
    if (len == 0 && c->base.cipher.key_set) {
        *out_len = 0;
        return 1;
    }
    if (!stitched_cipher(ctx, out, out_len, out_size, in, len))
        return 0;
    if (c->base.cipher.core.decrypt && c->base.cipher.tls_version != 0) {
        /* The payload is not moved: except in SSL 3.0 and TLS 1.0, it follows the explicit IV in
         * `out`. *out_len counts only the payload. The padding length is public, because the MAC is
         * verified. */
        size_t removed = out[len - 1] + (size_t)1 + c->tls_removed;
        if (*out_len < removed)
            return 0;
        *out_len -= removed;
    }
    return 1;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Stores a record's AAD (RFC 5246 section 6.2.3.1). When sealing, the length field from libssl
 * counts the explicit IV; the stored field does not. */
static int stitched_set_aad(void *ctx, OSSL_PARAM *p)
{
    struct trp_stitched *c = ctx;
    const uint8_t *aad = p->data;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TRP_AAD || aad == NULL)
        return 0;
    memcpy(c->aad, aad, TRP_AAD);
    if (c->base.cipher.core.decrypt) {
        c->payload_len = 0;
        c->tls_pad = c->sha->digest_len;
        return 1;
    }
    size_t n = (size_t)aad[11] << 8 | aad[12];
    c->payload_len = n;
    if ((aad[9] << 8 | aad[10]) >= TLS1_1_VERSION) {
        if (n < TR_BLOCK)
            return 0;
        n -= TR_BLOCK;
        c->aad[11] = (uint8_t)(n >> 8);
        c->aad[12] = (uint8_t)n;
    }
    c->tls_pad = (n + c->sha->digest_len + TR_BLOCK) / TR_BLOCK * TR_BLOCK - n;
    return 1;
}

static int stitched_set_tls_version(void *ctx, OSSL_PARAM *p)
{
    struct trp_stitched *c = ctx;
    size_t version;
    if (!trp_take_number(c, p, UINT_MAX, &version))
        return 0;
    c->base.cipher.tls_version = (unsigned)version;
    /* SSL 3.0 and TLS 1.0 have no explicit IV to remove. As in the default provider, a second
     * call with such a version subtracts another block. */
    if (version == SSL3_VERSION || version == TLS1_VERSION) {
        if (c->tls_removed < TR_BLOCK)
            return trp_failed(c, ERR_R_INTERNAL_ERROR);
        c->tls_removed -= TR_BLOCK;
    }
    return 1;
}

/* Reads the number of records: 4 or 8. */
static int stitched_get_interleave(const OSSL_PARAM params[], size_t *records)
{
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE);
    uint64_t n;
    if (p == NULL || !trp_param_get_number(p, UINT_MAX, &n) || (n != 4 && n != 8))
        return 0;
    *records = (size_t)n;
    return 1;
}

/* Plans the sealing of several records. The AAD contains their total length. If that length is 0,
 * data_size is the total length, although the parameter's data has only 13 bytes
 * (EVP_EncryptInit(3), EVP_CTRL_TLS1_1_MULTIBLOCK_AAD). */
static int stitched_plan_many(void *ctx, OSSL_PARAM *p)
{
    struct trp_stitched *c = ctx;
    size_t records, len;
    const uint8_t *aad = p->data;
    if (p->data_type != OSSL_PARAM_OCTET_STRING || aad == NULL || p->data_size < TRP_AAD ||
        !stitched_get_interleave(c->params, &records) || p->data_size > records * MAX_PLAIN)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    len = (size_t)aad[11] << 8 | aad[12];
    if (len > MAX_PLAIN)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (c->base.cipher.core.decrypt || (aad[9] << 8 | aad[10]) < TLS1_1_VERSION ||
        (len != 0 && len < 4096))
        return 0;
    if (len == 0)
        len = p->data_size;
    else
        records = len >= 8192 && (trossl_features(&c->base.cipher.head.provider->selection) &
                                  TR_FEATURE_AVX2) != 0
                      ? 8
                      : 4;
    memcpy(c->aad, aad, TRP_AAD);
    c->interleave = (unsigned)records;
    c->packed_len = (unsigned)trp_stitched_cut(c, len, records).packed;
    return 1;
}

static int stitched_seal_many(void *ctx, OSSL_PARAM *out)
{
    struct trp_stitched *c = ctx;
    const OSSL_PARAM *in = trp_param_find(c->params, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_IN);
    size_t records;
    /* stitched_plan_many() has told the caller the output size, but EVP_CIPHER_CTX_ctrl() passes
     * the input size as out->data_size. This check refuses only a size below the input size. The
     * default provider accepts only the input size since OpenSSL 3.5.9. */
    if (out->data_type != OSSL_PARAM_OCTET_STRING || out->data == NULL || in == NULL ||
        in->data_type != OSSL_PARAM_OCTET_STRING || in->data == NULL || in->data_size == 0 ||
        out->data_size < in->data_size || !stitched_get_interleave(c->params, &records) ||
        in->data_size > records * MAX_PLAIN)
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (!c->base.cipher.key_set || c->base.cipher.core.decrypt)
        return 0;
    c->sealed_len = trp_stitched_seal_many(c, out->data, in->data, in->data_size, records);
    return c->sealed_len != 0;
}

static int stitched_set_mac_key(void *ctx, OSSL_PARAM *p)
{
    struct trp_stitched *c = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING || (p->data == NULL && p->data_size != 0))
        return trp_failed(c, PROV_R_FAILED_TO_GET_PARAMETER);
    trp_stitched_mac_key(c, p->data, p->data_size);
    return 1;
}

static int stitched_set_max_fragment(void *ctx, OSSL_PARAM *p)
{
    struct trp_stitched *c = ctx;
    size_t bytes;
    if (!trp_take_number(c, p, SIZE_MAX, &bytes))
        return 0;
    c->max_fragment = bytes;
    return 1;
}

/* The parameters in the order in which the default provider handles them. */
static const struct trp_aead_param stitched_set[] = {
    {OSSL_CIPHER_PARAM_AEAD_MAC_KEY, stitched_set_mac_key},
    {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_SEND_FRAGMENT, stitched_set_max_fragment},
    {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD, stitched_plan_many},
    {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC, stitched_seal_many},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, stitched_set_aad},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_set_key_len},
    {OSSL_CIPHER_PARAM_TLS_VERSION, stitched_set_tls_version},
    {NULL, NULL}};

static int stitched_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_stitched *c = ctx;
    c->params = params;
    return trp_aead_act(ctx, stitched_set, params);
}

/* The size of a sealed record with the largest payload. */
static size_t stitched_max_bufsize(const struct trp_stitched *c)
{
    return 5 + TR_BLOCK + (c->max_fragment + c->sha->digest_len + TR_BLOCK) / TR_BLOCK * TR_BLOCK;
}

static int stitched_get_all(const struct trp_stitched *c, OSSL_PARAM params[])
{
    const struct trp_cipher *cipher = &c->base.cipher;
    const struct {
        const char *key;
        size_t value, size;
    } numbers[] = {
        {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_BUFSIZE, stitched_max_bufsize(c), sizeof(size_t)},
        {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE, c->interleave, sizeof(unsigned)},
        {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD_PACKLEN, c->packed_len, sizeof(unsigned)},
        {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_LEN, c->sealed_len, sizeof(size_t)},
        {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, c->tls_pad, sizeof(size_t)},
        {OSSL_CIPHER_PARAM_KEYLEN, cipher->head.kind->key_len, sizeof(size_t)},
        {OSSL_CIPHER_PARAM_IVLEN, cipher->head.kind->iv_len, sizeof(size_t)}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        OSSL_PARAM *const p = (OSSL_PARAM *)trp_param_find(params, numbers[i].key);
        if (p != NULL && ((i == 0 && c->max_fragment == 0) ||
                          !trp_param_set_number(p, numbers[i].value, numbers[i].size)))
            return 0;
    }
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_IV);
    if (p != NULL && !trp_param_set_octets(p, cipher->original_iv, TR_BLOCK))
        return 0;
    p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    return p == NULL || trp_param_set_octets(p, cipher->core.iv, TR_BLOCK);
}

static int stitched_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct trp_stitched *c = ctx;
    /* Fast path: libssl reads only this parameter for each record. */
    const int is_pad = params != NULL && params[0].key != NULL && params[1].key == NULL &&
                       strcmp(params[0].key, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD) == 0;
    return (is_pad ? trp_param_set_number(params, c->tls_pad, sizeof(size_t))
                   : stitched_get_all(c, params)) ||
           trp_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

static TRP_LIST(stitched_gettable_ctx_params,
                TRP_SIZE(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_BUFSIZE),
                TRP_UINT(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE),
                TRP_UINT(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD_PACKLEN),
                TRP_SIZE(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_LEN),
                TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD), TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN), TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
                TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV))

static TRP_LIST(stitched_settable_ctx_params,
                TRP_SIZE(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_MAX_SEND_FRAGMENT),
                TRP_OCTETS(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD),
                TRP_UINT(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_INTERLEAVE),
                TRP_OCTETS(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC),
                TRP_OCTETS(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_ENC_IN),
                TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_MAC_KEY),
                TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD), TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                TRP_UINT(OSSL_CIPHER_PARAM_TLS_VERSION))

/* ---- Keys, and the function tables ----------------------------------------------------------- */

static inline int stitched_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_stitched *c = ctx;
    /* An AAD that was set for encryption does not apply to decryption, and vice versa. */
    if (c->base.cipher.core.decrypt == encrypt)
        c->payload_len = TRP_NO_PAYLOAD;
    if (!(encrypt ? trp_encrypt_init : trp_decrypt_init)(c, key, key_len, iv, iv_len, NULL))
        return 0;
    if (key != NULL) {
        /* Until a MAC key is set, `head` and `tail` are the initial hash state. */
        trossl_sha_begin(c->sha, &c->head);
        c->tail = c->head;
        c->payload_len = TRP_NO_PAYLOAD;
        c->tls_removed = c->sha->digest_len + TR_BLOCK;
    }
    return stitched_set_ctx_params(c, params);
}

TRP_INITS(static, stitched)

#define STITCHED(bits, hash, len)                                                                  \
    TRP_TABLE(stitched_##bits##_##hash, stitched, stitched, trp_stream_final, stitched, stitched,  \
              (TRP_CIPHER(stitched)), .family = &stitched, .mode = TR_CBC,                         \
              .evp_mode = EVP_CIPH_CBC_MODE, .key_len = bits / 8, .iv_len = TR_BLOCK,              \
              .block_size = TR_BLOCK, .aead = 1, .tls1_multiblock = 1, .tests = TR_TEST_CBC,       \
              .mac_len = len)

STITCHED(128, sha1, 20);
STITCHED(256, sha1, 20);
STITCHED(128, sha256, 32);
STITCHED(256, sha256, 32);
