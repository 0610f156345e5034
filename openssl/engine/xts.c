/* SPDX-License-Identifier: BSD-2-Clause */
/* XTS: every call processes one whole data unit. The IV is the number of the data unit. */
#include "mode.h"
#include "util.h"

struct xts {
    struct tr_xts_key key;
    uint8_t key_set, iv_set;
};

static int xts_ctrl(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr)
{
    struct xts *x = tre_evp.data(ctx);
    if (type != EVP_CTRL_INIT)
        return -1;
    x->key_set = x->iv_set = 0;
    return 1;
}

/* Sets the key and the IV. Encryption refuses a key with equal halves. Decryption accepts such a
 * key, because old data may have been encrypted with it. */
static int xts_init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc)
{
    struct xts *x = tre_evp.data(ctx);
    if (key != NULL) {
        const size_t len = (size_t)tre_evp.key_len(ctx);
        if (enc && TR_PUBLIC(tr_equal(key, key + len / 2, len / 2)))
            return 0;
        if (tr_xts_set_key(&x->key, tre_backend(), key, len) != TR_OK)
            return 0;
        x->key_set = 1;
    }
    if (iv != NULL) {
        memcpy(tre_evp.iv(ctx), iv, TR_BLOCK);
        x->iv_set = 1;
    }
    return 1;
}

static int xts_crypt(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    const struct xts *x = tre_evp.data(ctx);
    if (!x->key_set || !x->iv_set || out == NULL || in == NULL)
        return 0;
    return (tre_evp.encrypting(ctx)
                ? tr_xts_encrypt(&x->key, tre_evp.iv(ctx), out, in, len)
                : tr_xts_decrypt(&x->key, tre_evp.iv(ctx), out, in, len)) == TR_OK;
}

const struct tre_mode tre_xts = {.flags = EVP_CIPH_XTS_MODE | TRE_DEFAULT_ASN1 |
                                          EVP_CIPH_CUSTOM_IV | EVP_CIPH_ALWAYS_CALL_INIT |
                                          EVP_CIPH_CTRL_INIT,
                                 .block_size = 1,
                                 .iv_len = TR_BLOCK,
                                 .context_size = sizeof(struct xts),
                                 .init = xts_init,
                                 .crypt = xts_crypt,
                                 .ctrl = xts_ctrl};
