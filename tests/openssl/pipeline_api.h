/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenSSL's functions for pipelines of ciphers, EVP_CipherPipelineEncryptInit(3), new in 3.5.
 * find_pipeline_api() looks them up by name, so that a program built with older headers can test a
 * newer libcrypto. The program has to define _GNU_SOURCE, for RTLD_DEFAULT. */
#ifndef TENROUNDS_TESTS_PIPELINE_API_H
#define TENROUNDS_TESTS_PIPELINE_API_H

#include <dlfcn.h>
#include <openssl/evp.h>
#include <stdbool.h>

typedef int pipeline_init_fn(EVP_CIPHER_CTX *, const EVP_CIPHER *, const unsigned char *, size_t,
                             size_t, const unsigned char **, size_t);
static struct {
    int (*can)(const EVP_CIPHER *, int);
    pipeline_init_fn *encrypt_init, *decrypt_init;
    int (*update)(EVP_CIPHER_CTX *, unsigned char **, size_t *, const size_t *,
                  const unsigned char **, const size_t *);
    int (*final)(EVP_CIPHER_CTX *, unsigned char **, size_t *, const size_t *);
} pipeline_api;

static bool find_pipeline_api(void)
{
    *(void **)&pipeline_api.can = dlsym(RTLD_DEFAULT, "EVP_CIPHER_can_pipeline");
    *(void **)&pipeline_api.encrypt_init = dlsym(RTLD_DEFAULT, "EVP_CipherPipelineEncryptInit");
    *(void **)&pipeline_api.decrypt_init = dlsym(RTLD_DEFAULT, "EVP_CipherPipelineDecryptInit");
    *(void **)&pipeline_api.update = dlsym(RTLD_DEFAULT, "EVP_CipherPipelineUpdate");
    *(void **)&pipeline_api.final = dlsym(RTLD_DEFAULT, "EVP_CipherPipelineFinal");
    return pipeline_api.can != NULL && pipeline_api.encrypt_init != NULL &&
           pipeline_api.decrypt_init != NULL && pipeline_api.update != NULL &&
           pipeline_api.final != NULL;
}

/* Starts n pipes. Passes no cipher if the context already has one. If libcrypto (3.5.5, 4.0.3) got
 * a cipher again, it would reset the number of pipes that it has just stored. */
static inline int pipeline_start(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, size_t n,
                                 const uint8_t *key, uint8_t ivs[][16], size_t iv_len, bool encrypt)
{
    const unsigned char *iv[32];
    for (size_t i = 0; ivs != NULL && i < n; i++)
        iv[i] = ivs[i];
    return (encrypt ? pipeline_api.encrypt_init : pipeline_api.decrypt_init)(
        ctx, EVP_CIPHER_CTX_get0_cipher(ctx) == NULL ? cipher : NULL, key,
        key != NULL ? (size_t)EVP_CIPHER_get_key_length(cipher) : 0, n, ivs != NULL ? iv : NULL,
        iv_len);
}

/* The test of a libcrypto without pipelines. */
static inline int without_pipelines(void)
{
    tap_plan(1);
    tap_ok(OPENSSL_VERSION_NUMBER < 0x30500000 && OpenSSL_version_num() < 0x30500000,
           "%s has no pipelines, which came with 3.5: nothing to test",
           OpenSSL_version(OPENSSL_VERSION));
    return tap_done();
}

#endif
