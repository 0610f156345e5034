/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of a test: a library context with only the default provider, and a library context
 * with only tenrounds. */
#ifndef TENROUNDS_TESTS_SIDES_H
#define TENROUNDS_TESTS_SIDES_H

#include "tap.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

/* Names an entry of DIFFERENCES in OSSL_PROVIDER-tenrounds(7), where a test requires this
 * difference or leaves out the calls that show it. differences.sh compares names and entries. */
#define DIFFERS(name) ((void)0)

static const char *const evp_modes[] = {"ECB", "CBC", "CFB", "OFB", "CTR"};
static const unsigned evp_key_bits[] = {128, 192, 256};
#define EVP_MODES   5
#define EVP_CIPHERS 15

/* Returns the name of cipher i: from "AES-128-ECB" for 0 to "AES-256-CTR" for 14. */
static inline const char *evp_cipher_name(unsigned i)
{
    static char names[EVP_CIPHERS][16];
    snprintf(names[i], sizeof(names[i]), "AES-%u-%s", evp_key_bits[i % 3], evp_modes[i / 3]);
    return names[i];
}

struct evp_side {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
};

/* Opens a library context with only this provider. Exits on failure. For tenrounds, OPENSSL_MODULES
 * must name the directory of the module. */
static inline struct evp_side evp_open(const char *provider)
{
    struct evp_side side = {OSSL_LIB_CTX_new(), NULL};
    if (side.libctx != NULL)
        side.provider = OSSL_PROVIDER_load(side.libctx, provider);
    if (side.provider == NULL) {
        ERR_print_errors_fp(stderr);
        fprintf(stderr, "cannot load the provider %s; OPENSSL_MODULES=%s\n", provider,
                getenv("OPENSSL_MODULES") ? getenv("OPENSSL_MODULES") : "(not set)");
        OSSL_LIB_CTX_free(side.libctx);
        exit(2);
    }
    return side;
}

static inline void evp_close(struct evp_side *side)
{
    OSSL_PROVIDER_unload(side->provider);
    OSSL_LIB_CTX_free(side->libctx);
}

/* Fetches a cipher. Exits if the provider does not have the cipher. */
static inline EVP_CIPHER *evp_fetch(const struct evp_side *side, const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(side->libctx, name, NULL);
    if (cipher == NULL) {
        ERR_print_errors_fp(stderr);
        fprintf(stderr, "no cipher %s in the provider %s\n", name,
                OSSL_PROVIDER_get0_name(side->provider));
        exit(2);
    }
    return cipher;
}

/* Returns a text parameter of the provider, or "" if the provider does not have this parameter. */
static inline const char *evp_provider_text(const OSSL_PROVIDER *provider, const char *key)
{
    char *text = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_ptr(key, &text, 0), OSSL_PARAM_END};
    return OSSL_PROVIDER_get_params(provider, params) && text != NULL ? text : "";
}

#endif
