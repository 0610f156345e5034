/* SPDX-License-Identifier: BSD-2-Clause */
#include "libcrypto.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <string.h>

static OSSL_LIB_CTX *libctx;
static OSSL_PROVIDER *provider;

bool lc_start(void)
{
    libctx = OSSL_LIB_CTX_new();
    provider = libctx == NULL ? NULL : OSSL_PROVIDER_load(libctx, "default");
    return provider != NULL;
}

void lc_end(void)
{
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
}

static bool set_up(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const struct lc_message *m)
{
    size_t iv_len = m->iv_len, tag_len = m->tag_len;
    OSSL_PARAM params[4], *p = params;
    EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    if (EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, NULL) != 1)
        return false;
    if (m->bits)
        EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPH_FLAG_LENGTH_BITS);
    if (tag_len != 0 && iv_len != 0) {
        *p++ = OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, &iv_len);
        if (EVP_CIPHER_get_mode(cipher) != EVP_CIPH_GCM_MODE) /* any length, asked for at the end */
            *p++ = OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, tag_len);
    }
    if (m->cts != NULL)
        *p++ = OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)m->cts, 0);
    *p = OSSL_PARAM_construct_end();
    return EVP_CIPHER_CTX_set_params(ctx, params) == 1 &&
           EVP_EncryptInit_ex2(ctx, NULL, m->key, m->iv, NULL) == 1;
}

static bool run(EVP_CIPHER_CTX *ctx, const struct lc_message *m, uint8_t *out, size_t *out_len,
                uint8_t *tag)
{
    int n = 0, end = 0, mode = EVP_CIPHER_CTX_get_mode(ctx);
    if (mode == EVP_CIPH_CCM_MODE && EVP_EncryptUpdate(ctx, NULL, &n, NULL, (int)m->len) != 1)
        return false;
    for (unsigned i = 0; i < m->components; i++)
        if ((m->aad_len[i] != 0 || mode == EVP_CIPH_SIV_MODE) &&
            EVP_EncryptUpdate(ctx, NULL, &n, m->aad[i], (int)m->aad_len[i]) != 1)
            return false;
    n = 0;
    if (mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_SIV_MODE || m->len != 0)
        if (EVP_EncryptUpdate(ctx, out, &n, m->in, (int)m->len) != 1)
            return false;
    if (EVP_EncryptFinal_ex(ctx, out + n, &end) != 1)
        return false;
    if (out_len != NULL)
        *out_len = (size_t)(n + end);
    return m->tag_len == 0 ||
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_len, tag) == 1;
}

bool lc_encrypt(const struct lc_message *m, uint8_t *out, size_t *out_len, uint8_t *tag)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, m->name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good =
        cipher != NULL && ctx != NULL && set_up(ctx, cipher, m) && run(ctx, m, out, out_len, tag);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

bool lc_cmac(const char *name, const uint8_t *key, size_t key_len, const uint8_t *data, size_t len,
             uint8_t tag[16])
{
    size_t tag_len = 0;
    EVP_MAC *mac = EVP_MAC_fetch(libctx, "CMAC", NULL);
    EVP_MAC_CTX *ctx = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    OSSL_PARAM params[2] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)name, 0),
        OSSL_PARAM_construct_end()};
    bool good = ctx != NULL && EVP_MAC_init(ctx, key, key_len, params) == 1 &&
                EVP_MAC_update(ctx, data, len) == 1 && EVP_MAC_final(ctx, tag, &tag_len, 16) == 1 &&
                tag_len == 16;
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    return good;
}
