/* SPDX-License-Identifier: BSD-2-Clause */
#include "evp.h"

#include "libcrypto.h"

#include <stddef.h>

struct tre_evp tre_evp;

/* The name of each function in OpenSSL 1.1.1, and its name in 3.x if that differs. */
static const struct {
    size_t offset;
    const char *name, *later;
} functions[] = {
    {offsetof(struct tre_evp, data), "EVP_CIPHER_CTX_get_cipher_data", NULL},
    {offsetof(struct tre_evp, iv), "EVP_CIPHER_CTX_iv_noconst", NULL},
    {offsetof(struct tre_evp, buffer), "EVP_CIPHER_CTX_buf_noconst", NULL},
    {offsetof(struct tre_evp, encrypting), "EVP_CIPHER_CTX_encrypting",
     "EVP_CIPHER_CTX_is_encrypting"},
    {offsetof(struct tre_evp, key_len), "EVP_CIPHER_CTX_key_length",
     "EVP_CIPHER_CTX_get_key_length"},
    {offsetof(struct tre_evp, num), "EVP_CIPHER_CTX_num", "EVP_CIPHER_CTX_get_num"},
    {offsetof(struct tre_evp, set_num), "EVP_CIPHER_CTX_set_num", NULL},
    {offsetof(struct tre_evp, meth_new), "EVP_CIPHER_meth_new", NULL},
    {offsetof(struct tre_evp, meth_free), "EVP_CIPHER_meth_free", NULL},
    {offsetof(struct tre_evp, meth_set_iv_length), "EVP_CIPHER_meth_set_iv_length", NULL},
    {offsetof(struct tre_evp, meth_set_flags), "EVP_CIPHER_meth_set_flags", NULL},
    {offsetof(struct tre_evp, meth_set_size), "EVP_CIPHER_meth_set_impl_ctx_size", NULL},
    {offsetof(struct tre_evp, meth_set_init), "EVP_CIPHER_meth_set_init", NULL},
    {offsetof(struct tre_evp, meth_set_crypt), "EVP_CIPHER_meth_set_do_cipher", NULL},
    {offsetof(struct tre_evp, meth_set_cleanup), "EVP_CIPHER_meth_set_cleanup", NULL},
    {offsetof(struct tre_evp, meth_set_ctrl), "EVP_CIPHER_meth_set_ctrl", NULL},
    {offsetof(struct tre_evp, engine_set_id), "ENGINE_set_id", NULL},
    {offsetof(struct tre_evp, engine_set_name), "ENGINE_set_name", NULL},
    {offsetof(struct tre_evp, engine_set_ciphers), "ENGINE_set_ciphers", NULL},
    {offsetof(struct tre_evp, engine_set_destroy), "ENGINE_set_destroy_function", NULL},
    {offsetof(struct tre_evp, random), "RAND_bytes", NULL},
    {offsetof(struct tre_evp, malloc), "CRYPTO_malloc", NULL},
    {offsetof(struct tre_evp, clear_free), "CRYPTO_clear_free", NULL},
};

_Static_assert(sizeof(struct tre_evp) ==
                   sizeof(functions) / sizeof(functions[0]) * sizeof(void (*)(void)),
               "each function has a name");

int tre_evp_find(const void *address)
{
    struct trossl_libcrypto library;
    int all = 1;
    if (!trossl_libcrypto_open(&library, address))
        return 0;
    for (size_t i = 0; all && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = (char *)&tre_evp + functions[i].offset;
        all = trossl_libcrypto_find(&library, functions[i].name, function) ||
              (functions[i].later != NULL &&
               trossl_libcrypto_find(&library, functions[i].later, function));
    }
    return all;
}
