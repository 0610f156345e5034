/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mode as EVP_CIPHER has it, EVP_CIPHER_meth_new(3). The context that libcrypto keeps for it, which
 * is zero at first and is cleansed by libcrypto, is one of the core's objects or begins with one.
 */
#ifndef TENROUNDS_ENGINE_MODE_H
#define TENROUNDS_ENGINE_MODE_H

#include "evp.h"
#include "tenrounds.h"

/* 1.1.1 needs it to put the IV into the parameters of CMS and PKCS#8; in 3.x it is the rule, and 0. */
#define TRE_DEFAULT_ASN1 0x1000

struct tre_mode {
    unsigned long flags;
    int block_size, iv_len;
    size_t context_size;
    int (*init)(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc);
    /* Returns 1 or 0; in modes with EVP_CIPH_FLAG_CUSTOM_CIPHER the bytes done, or -1. */
    int (*crypt)(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len);
    int (*cleanup)(EVP_CIPHER_CTX *ctx);                            /* may be NULL */
    int (*ctrl)(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr); /* may be NULL */
};

extern const struct tre_mode tre_ecb, tre_cbc, tre_cfb, tre_ofb, tre_ctr, tre_xts, tre_gcm, tre_ccm;

/* The table to expand keys for. */
const struct tr_backend *tre_backend(void);

#endif
