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

#endif
