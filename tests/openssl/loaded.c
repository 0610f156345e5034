/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that tenrounds finds the libcrypto that loaded it. The CMAC of tenrounds calls functions of
 * that libcrypto for ciphers other than AES. A program may open libcrypto with RTLD_LOCAL, as
 * language runtimes do (LIBCRYPTO_OPENED), or contain and export libcrypto (LIBCRYPTO_EXPORTED). If
 * a program contains libcrypto without exporting it (LIBCRYPTO_CONTAINED), tenrounds cannot find
 * the functions. The CMAC of tenrounds must then be absent, even if the process has another
 * libcrypto.
 */
#define _GNU_SOURCE
#include "tap.h"

#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#define TEXT(number)    TEXT_OF(number)
#define TEXT_OF(number) #number
#define SHARED          "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)

#ifdef LIBCRYPTO_OPENED
#    define WHOSE           "tenrounds"
#    define LIBCRYPTO(name) ((__typeof__(name) *)dlsym(library, #    name))
static void *library;
#else
#    ifdef LIBCRYPTO_EXPORTED
#        define WHOSE "tenrounds"
#    else
#        define WHOSE "default"
#    endif
#    define LIBCRYPTO(name) name
#endif

/* Examples of SP 800-38B, appendices D.1 and D.4. */
static const struct {
    const char *cipher;
    size_t key_len, len, tag_len;
    uint8_t key[24], message[16], tag[16];
} cases[] = {
    {"AES-128-CBC",
     16,
     16,
     16,
     {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f,
      0x3c},
     {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17,
      0x2a},
     {0x07, 0x0a, 0x16, 0xb4, 0x6b, 0x4d, 0x41, 0x44, 0xf7, 0x9b, 0xdd, 0x9d, 0xd0, 0x4a, 0x28,
      0x7c}},
    {"DES-EDE3-CBC",
     24,
     8,
     8,
     {0x8a, 0xa8, 0x3b, 0xf8, 0xcb, 0xda, 0x10, 0x62, 0x0b, 0xc1, 0xbf, 0x19,
      0xfb, 0xb6, 0xcd, 0x58, 0xbc, 0x31, 0x3d, 0x4a, 0x37, 0x1c, 0xa8, 0xb5},
     {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96},
     {0x8e, 0x8f, 0x29, 0x31, 0x36, 0x28, 0x37, 0x97}},
};

static bool tag_is_right(OSSL_LIB_CTX *libctx, int i, const char *whose)
{
    uint8_t tag[16];
    size_t len = 0;
    const OSSL_PARAM params[] = {{OSSL_MAC_PARAM_CIPHER, OSSL_PARAM_UTF8_STRING,
                                  (char *)cases[i].cipher, strlen(cases[i].cipher), 0},
                                 {NULL, 0, NULL, 0, 0}};
    EVP_MAC *mac = LIBCRYPTO(EVP_MAC_fetch)(libctx, "CMAC", NULL);
    EVP_MAC_CTX *ctx = LIBCRYPTO(EVP_MAC_CTX_new)(mac);
    const char *const provider =
        LIBCRYPTO(OSSL_PROVIDER_get0_name)(LIBCRYPTO(EVP_MAC_get0_provider)(mac));
    const bool good = LIBCRYPTO(EVP_MAC_init)(ctx, cases[i].key, cases[i].key_len, params) > 0 &&
                      LIBCRYPTO(EVP_MAC_update)(ctx, cases[i].message, cases[i].len) > 0 &&
                      LIBCRYPTO(EVP_MAC_final)(ctx, tag, &len, sizeof(tag)) > 0 &&
                      len == cases[i].tag_len && tap_same(tag, cases[i].tag, len) &&
                      strcmp(provider, whose) == 0;
    if (!good)
        tap_diag("the provider %s returned a MAC of %zu bytes", provider, len);
    LIBCRYPTO(EVP_MAC_CTX_free)(ctx);
    LIBCRYPTO(EVP_MAC_free)(mac);
    return good;
}

int main(void)
{
    tap_plan(3);
#ifdef LIBCRYPTO_OPENED
    library = dlopen(SHARED, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        tap_ok(false, "%s", dlerror());
        return tap_done();
    }
#else
    /* Loads a second libcrypto, which the provider must not use by mistake. The test also works if
     * dlopen() fails. */
    dlopen(SHARED, RTLD_NOW | RTLD_GLOBAL);
#endif
    OSSL_LIB_CTX *libctx = LIBCRYPTO(OSSL_LIB_CTX_new)();
    OSSL_PROVIDER *us = LIBCRYPTO(OSSL_PROVIDER_load)(libctx, "tenrounds");
    OSSL_PROVIDER *them = LIBCRYPTO(OSSL_PROVIDER_load)(libctx, "default");
    LIBCRYPTO(EVP_set_default_properties)(libctx, "?provider=tenrounds");
    EVP_CIPHER *cipher = LIBCRYPTO(EVP_CIPHER_fetch)(libctx, "AES-128-CBC", NULL);
    tap_ok(us != NULL && them != NULL && LIBCRYPTO(EVP_CIPHER_get0_provider)(cipher) == us,
           "the ciphers come from tenrounds");
    LIBCRYPTO(EVP_CIPHER_free)(cipher);
    for (int i = 0; i < 2; i++)
        tap_ok(tag_is_right(libctx, i, WHOSE), "CMAC with %s is right and comes from " WHOSE,
               cases[i].cipher);
    LIBCRYPTO(OSSL_PROVIDER_unload)(us);
    LIBCRYPTO(OSSL_PROVIDER_unload)(them);
    LIBCRYPTO(OSSL_LIB_CTX_free)(libctx);
    return tap_done();
}
