/* SPDX-License-Identifier: BSD-2-Clause */
/* ECB, CBC, CFB, OFB and CTR. For ECB and CBC, libcrypto handles partial blocks and padding.
 * libcrypto's context stores the IV, the keystream block, and how many bytes of that block were
 * used ("num"). */
#include "mode.h"

static int plain_init(EVP_CIPHER_CTX *ctx, const uint8_t *key, const uint8_t *iv, int enc)
{
    return tr_aes_set_key(tre_evp.data(ctx), tre_backend(), key, (size_t)tre_evp.key_len(ctx)) ==
           TR_OK;
}

/* Returns the key, or NULL if no key was set. The caller then fails. */
static const struct tr_aes_key *plain_key_of(const EVP_CIPHER_CTX *ctx)
{
    const struct tr_aes_key *key = tre_evp.data(ctx);
    return key != NULL && key->backend != NULL ? key : NULL;
}

/* Defines the function of a mode from a call of the core, which sees the locals of the function. */
#define CRYPT(name, call)                                                                          \
    static int name##_crypt(EVP_CIPHER_CTX *ctx, uint8_t *out, const uint8_t *in, size_t len)      \
    {                                                                                              \
        const struct tr_aes_key *key = plain_key_of(ctx);                                          \
        return key != NULL && (call) == TR_OK;                                                     \
    }
/* As CRYPT(), with "num", which is stored if it has changed. */
#define CRYPT_STREAM(name, call)                                                                   \
    static int name##_crypt(EVP_CIPHER_CTX *ctx, uint8_t *out, const uint8_t *in, size_t len)      \
    {                                                                                              \
        const struct tr_aes_key *key = plain_key_of(ctx);                                          \
        const int num = tre_evp.num(ctx);                                                          \
        unsigned used = (unsigned)num;                                                             \
        if (key == NULL || (call) != TR_OK)                                                        \
            return 0;                                                                              \
        if ((int)used != num)                                                                      \
            tre_evp.set_num(ctx, (int)used);                                                       \
        return 1;                                                                                  \
    }

CRYPT(ecb, tre_evp.encrypting(ctx) ? tr_ecb_encrypt(key, out, in, len - len % TR_BLOCK)
                                   : tr_ecb_decrypt(key, out, in, len - len % TR_BLOCK))
CRYPT(cbc, tre_evp.encrypting(ctx) ? tr_cbc_encrypt(key, tre_evp.iv(ctx), out, in, len)
                                   : tr_cbc_decrypt(key, tre_evp.iv(ctx), out, in, len))
CRYPT_STREAM(cfb, tre_evp.encrypting(ctx)
                      ? tr_cfb128_encrypt(key, tre_evp.iv(ctx), &used, out, in, len)
                      : tr_cfb128_decrypt(key, tre_evp.iv(ctx), &used, out, in, len))
CRYPT_STREAM(ofb, tr_ofb(key, tre_evp.iv(ctx), &used, out, in, len))
CRYPT_STREAM(ctr, tr_ctr(key, tre_evp.iv(ctx), tre_evp.buffer(ctx), &used, out, in, len))

#define PLAIN(name, mode, flag, block, iv)                                                         \
    const struct tre_mode tre_##name = {.flags = EVP_CIPH_##mode##_MODE | (flag),                  \
                                        .block_size = block,                                       \
                                        .iv_len = iv,                                              \
                                        .context_size = sizeof(struct tr_aes_key),                 \
                                        .init = plain_init,                                        \
                                        .crypt = name##_crypt}

PLAIN(ecb, ECB, TRE_DEFAULT_ASN1, TR_BLOCK, 0);
PLAIN(cbc, CBC, TRE_DEFAULT_ASN1, TR_BLOCK, TR_BLOCK);
PLAIN(cfb, CFB, TRE_DEFAULT_ASN1, 1, TR_BLOCK);
PLAIN(ofb, OFB, TRE_DEFAULT_ASN1, 1, TR_BLOCK);
PLAIN(ctr, CTR, 0, 1, TR_BLOCK);
