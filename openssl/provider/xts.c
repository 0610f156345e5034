/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-XTS: every update processes one whole data unit. The IV is the number of the data unit. */
#include "dispatch.h"
#include "util.h"

#define MAX_UNIT (TR_BLOCK << 20) /* IEEE 1619 section 5.1: 2^20 blocks */

struct trp_xts {
    struct trp_cipher cipher;
    struct tr_xts_key key;
};

static void xts_begin(void *ctx)
{
    struct trp_xts *x = ctx;
    x->cipher.core.padding = 1; /* what the parameter "padding" reads, as in the default provider */
}

static const struct trp_family xts = {.context_size = sizeof(struct trp_xts), .begin = xts_begin};

/* Accepts only the key length of the cipher. */
static int xts_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    const struct trp_xts *x = ctx;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_KEYLEN);
    size_t len;
    return p == NULL ||
           (trp_take_number(x, p, SIZE_MAX, &len) && len == x->cipher.head.kind->key_len);
}

static TRP_LIST(xts_settable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN))

/* Sets both keys. Encryption refuses equal keys. Decryption accepts equal keys, because old data
 * may have been encrypted with them. */
static int xts_set_key(struct trp_xts *x, const uint8_t *key, size_t len, int encrypt)
{
    if (len != x->cipher.head.kind->key_len)
        return trp_failed(x, PROV_R_INVALID_KEY_LENGTH);
    if (encrypt && TR_PUBLIC(tr_equal(key, key + len / 2, len / 2)))
        return trp_failed(x, PROV_R_XTS_DUPLICATED_KEYS);
    const struct tr_backend *backend = trp_backend(x->cipher.head.provider, TR_TEST_XTS, len / 2);
    if (backend == NULL || tr_xts_set_key(&x->key, backend, key, len) != TR_OK)
        return 0;
    x->cipher.key_set = 1;
    return 1;
}

static inline int xts_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_xts *x = ctx;
    x->cipher.core.decrypt = !encrypt;
    return (iv == NULL || trp_set_iv(&x->cipher, iv, iv_len)) &&
           (key == NULL || xts_set_key(x, key, key_len, encrypt)) && xts_set_ctx_params(x, params);
}

TRP_INITS(static, xts)

/* Processes one data unit. The buffer `out` must have room for all of the data unit. */
static int xts_crypt(struct trp_xts *x, uint8_t *out, size_t *out_len, const uint8_t *in,
                     size_t len)
{
    if (!x->cipher.key_set || !x->cipher.iv_set || out == NULL || in == NULL || len < TR_BLOCK)
        return 0;
    if (len > MAX_UNIT)
        return trp_failed(x, PROV_R_XTS_DATA_UNIT_IS_TOO_LARGE);
    enum tr_status status = x->cipher.core.decrypt
                                ? tr_xts_decrypt(&x->key, x->cipher.core.iv, out, in, len)
                                : tr_xts_encrypt(&x->key, x->cipher.core.iv, out, in, len);
    if (__builtin_expect(status != TR_OK, 0))
        return trp_raise_status(&x->cipher, status);
    *out_len = len;
    return 1;
}

static int xts_cipher(TRP_DATA_PARAMETERS)
{
    return out_size < len ? trp_failed(ctx, PROV_R_OUTPUT_BUFFER_TOO_SMALL)
                          : xts_crypt(ctx, out, out_len, in, len);
}

static int xts_update(TRP_DATA_PARAMETERS)
{
    struct trp_xts *x = ctx;
    if (out_size < len)
        return trp_failed(x, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return xts_crypt(x, out, out_len, in, len) || trp_failed(x, PROV_R_CIPHER_OPERATION_FAILED);
}

#define xts_get_ctx_params      trp_get_ctx_params
#define xts_gettable_ctx_params trp_gettable_ctx_params

#define XTS(bits)                                                                                  \
    TRP_TABLE(xts_##bits, xts, xts, trp_no_final, xts, xts, (TRP_CIPHER(xts)), .family = &xts,     \
              .evp_mode = EVP_CIPH_XTS_MODE, .key_len = 2 * bits / 8, .iv_len = TR_BLOCK,          \
              .block_size = 1, .custom_iv = 1)

XTS(128);
XTS(256);
