/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-XTS: every update processes one whole data unit. The IV is the number of the data unit. */
#include "dispatch.h"
#include "param.h"
#include "util.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define MAX_UNIT (TR_BLOCK << 20) /* IEEE 1619 section 5.1: 2^20 blocks */

struct trp_xts {
    struct tr_xts_key key;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    uint8_t iv[TR_BLOCK];
    uint8_t key_set, iv_set, decrypt;
};

static void *xts_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_xts *x = trp_context(provider, sizeof(*x));
    if (x == NULL)
        return NULL;
    x->provider = provider;
    x->kind = kind;
    return x;
}

static void xts_free(void *ctx)
{
    struct trp_xts *x = ctx;
    if (x != NULL)
        trp_context_free(x->provider, x, sizeof(*x));
}

static void *xts_dup(void *ctx)
{
    const struct trp_xts *from = ctx;
    return trp_context_copy(from->provider, from, sizeof(*from));
}

/* Writes one parameter. XTS has no padding and no position in a block, so "padding" always reads
 * as 1 and "num" as 0, their defaults. */
static int get_one(const struct trp_xts *x, OSSL_PARAM *p)
{
    if (trp_param_is(p, OSSL_CIPHER_PARAM_IVLEN))
        return trp_param_set_number(p, x->kind->iv_len, sizeof(size_t));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_KEYLEN))
        return trp_param_set_number(p, x->kind->key_len, sizeof(size_t));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_PADDING))
        return trp_param_set_number(p, 1, sizeof(unsigned));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_NUM))
        return trp_param_set_number(p, 0, sizeof(unsigned));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_IV) || trp_param_is(p, OSSL_CIPHER_PARAM_UPDATED_IV))
        return trp_param_set_octets(p, x->iv, TR_BLOCK);
    if (trp_param_is(p, OSSL_CIPHER_PARAM_TLS_MAC))
        return trp_param_set_octet_ptr(p, NULL, 0);
    return 1;
}

static int xts_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct trp_xts *x = ctx;
    for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (!get_one(x, p))
            return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_FAILED_TO_SET_PARAMETER);
    }
    return 1;
}

/* Accepts only the key length of the cipher. */
static int xts_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    const struct trp_xts *x = ctx;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    uint64_t len;
    if (p == NULL)
        return 1;
    if (!trp_param_get_number(p, SIZE_MAX, &len))
        return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_FAILED_TO_GET_PARAMETER);
    return len == x->kind->key_len;
}

static TRP_LIST(xts_settable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN))

/* Sets both keys. Encryption refuses equal keys. Decryption accepts equal keys, because old data
 * may have been encrypted with them. */
static int set_key(struct trp_xts *x, const uint8_t *key, size_t len, int encrypt)
{
    if (len != x->kind->key_len)
        return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_INVALID_KEY_LENGTH);
    if (encrypt && TR_PUBLIC(tr_equal(key, key + len / 2, len / 2)))
        return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_XTS_DUPLICATED_KEYS);
    const struct tr_backend *backend = trp_backend(x->provider, TR_TEST_XTS, len / 2);
    if (backend == NULL || tr_xts_set_key(&x->key, backend, key, len) != TR_OK)
        return 0;
    x->key_set = 1;
    return 1;
}

static inline int xts_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_xts *x = ctx;
    x->decrypt = !encrypt;
    if (iv != NULL) {
        if (iv_len != TR_BLOCK)
            return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_INVALID_IV_LENGTH);
        memcpy(x->iv, iv, TR_BLOCK);
        x->iv_set = 1;
    }
    return (key == NULL || set_key(x, key, key_len, encrypt)) && xts_set_ctx_params(x, params);
}

TRP_INITS(xts)

static int crypt_failed(const struct trp_xts *x, enum tr_status status)
{
    if (status == TR_ERR_EQUAL_KEYS)
        return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_XTS_DUPLICATED_KEYS);
    if (status == TR_ERR_OVERLAP)
        return TRP_RAISE(x->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_CIPHER_OPERATION_FAILED);
}

static int too_small(const struct trp_xts *x)
{
    return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
}

/* Processes one data unit. The buffer `out` must have room for all of the data unit. */
static int crypt(struct trp_xts *x, uint8_t *out, size_t *out_len, const uint8_t *in, size_t len)
{
    if (!x->key_set || !x->iv_set || out == NULL || in == NULL || len < TR_BLOCK)
        return 0;
    if (len > MAX_UNIT)
        return TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_XTS_DATA_UNIT_IS_TOO_LARGE);
    enum tr_status status = x->decrypt ? tr_xts_decrypt(&x->key, x->iv, out, in, len)
                                       : tr_xts_encrypt(&x->key, x->iv, out, in, len);
    if (__builtin_expect(status != TR_OK, 0))
        return crypt_failed(x, status);
    *out_len = len;
    return 1;
}

static int xts_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    return out_size < len ? too_small(ctx) : crypt(ctx, out, out_len, in, len);
}

static int xts_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_xts *x = ctx;
    if (out_size < len)
        return too_small(x);
    return crypt(x, out, out_len, in, len) ||
           TRP_RAISE(x->provider, ERR_LIB_PROV, PROV_R_CIPHER_OPERATION_FAILED);
}

#define xts_final               trp_no_final
#define xts_gettable_ctx_params trp_gettable_ctx_params

#define XTS(bits)                                                                                  \
    static const struct trp_kind kind_xts_##bits = {.evp_mode = EVP_CIPH_XTS_MODE,                 \
                                                    .key_len = 2 * bits / 8,                       \
                                                    .iv_len = TR_BLOCK,                            \
                                                    .block_size = 1,                               \
                                                    .custom_iv = 1};                               \
    TRP_DISPATCH(xts_##bits, xts)

XTS(128);
XTS(256);
