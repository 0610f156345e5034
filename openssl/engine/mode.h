/* SPDX-License-Identifier: BSD-2-Clause */
/* A mode as an EVP_CIPHER, EVP_CIPHER_meth_new(3). libcrypto allocates and zeroes the mode's
 * context, and cleanses it at the end. The context is a key object of the core, or a struct that
 * the mode defines. */
#ifndef TENROUNDS_ENGINE_MODE_H
#define TENROUNDS_ENGINE_MODE_H

#include "evp.h"
#include "tls_aead.h"

#include <string.h>

/* EVP_CIPH_FLAG_DEFAULT_ASN1 of OpenSSL 1.1.1: stores the IV in the algorithm parameters of CMS and
 * PKCS#8. OpenSSL 3.x does that without a flag and does not use this bit. */
#define TRE_DEFAULT_ASN1 0x1000

struct tre_mode {
    unsigned long flags;
    int block_size, iv_len;
    size_t context_size;
    int (*init)(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc);
    /* Returns 1 or 0. With EVP_CIPH_FLAG_CUSTOM_CIPHER, returns the number of bytes, or -1. */
    int (*crypt)(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len);
    int (*cleanup)(EVP_CIPHER_CTX *ctx);                            /* may be NULL */
    int (*ctrl)(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr); /* may be NULL */
};

extern const struct tre_mode tre_ecb, tre_cbc, tre_cfb, tre_ofb, tre_ctr, tre_xts, tre_gcm, tre_ccm;

/* Returns the backend to expand keys for. */
const struct tr_backend *tre_backend(void);

/* The flags of GCM and CCM. */
#define TRE_AEAD_FLAGS                                                                             \
    (TRE_DEFAULT_ASN1 | EVP_CIPH_FLAG_AEAD_CIPHER | EVP_CIPH_CUSTOM_IV |                           \
     EVP_CIPH_FLAG_CUSTOM_CIPHER | EVP_CIPH_ALWAYS_CALL_INIT | EVP_CIPH_CTRL_INIT |                \
     EVP_CIPH_CUSTOM_COPY | EVP_CIPH_CUSTOM_IV_LENGTH)

/* EVP_CTRL_AEAD_TLS1_AAD: stores the AAD of a record and sets *tls. Returns how many bytes the tag
 * adds to the record, or 0 if the AAD is wrong. */
static inline int tre_take_aad(EVP_CIPHER_CTX *ctx, uint8_t buffer[TROSSL_TLS_AAD], uint8_t *tls,
                               const uint8_t *aad, int len, unsigned tag_len)
{
    if (len != (int)TROSSL_TLS_AAD || aad == NULL ||
        !trossl_tls_take_aad(buffer, aad, tre_evp.encrypting(ctx), tag_len))
        return 0;
    *tls = 1;
    return (int)tag_len;
}

#endif
