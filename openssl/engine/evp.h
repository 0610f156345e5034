/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of libcrypto that the engine calls. The engine looks them up when it is loaded
 * (libcrypto.h). */
#ifndef TENROUNDS_ENGINE_EVP_H
#define TENROUNDS_ENGINE_EVP_H

#include <openssl/engine.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

/* Calls X() for each function, with our name for it, its name in OpenSSL 1.1.1, and its name in 3.x
 * if that differs. iv() and buffer() each return the address of at least 16 bytes, which the engine
 * may change. */
#define TRE_FUNCTIONS(X)                                                                           \
    X(data, EVP_CIPHER_CTX_get_cipher_data, NULL)                                                  \
    X(iv, EVP_CIPHER_CTX_iv_noconst, NULL)                                                         \
    X(buffer, EVP_CIPHER_CTX_buf_noconst, NULL)                                                    \
    X(encrypting, EVP_CIPHER_CTX_encrypting, "EVP_CIPHER_CTX_is_encrypting")                       \
    X(key_len, EVP_CIPHER_CTX_key_length, "EVP_CIPHER_CTX_get_key_length")                         \
    X(num, EVP_CIPHER_CTX_num, "EVP_CIPHER_CTX_get_num")                                           \
    X(set_num, EVP_CIPHER_CTX_set_num, NULL)                                                       \
    X(meth_new, EVP_CIPHER_meth_new, NULL)                                                         \
    X(meth_free, EVP_CIPHER_meth_free, NULL)                                                       \
    X(meth_set_iv_length, EVP_CIPHER_meth_set_iv_length, NULL)                                     \
    X(meth_set_flags, EVP_CIPHER_meth_set_flags, NULL)                                             \
    X(meth_set_size, EVP_CIPHER_meth_set_impl_ctx_size, NULL)                                      \
    X(meth_set_init, EVP_CIPHER_meth_set_init, NULL)                                               \
    X(meth_set_crypt, EVP_CIPHER_meth_set_do_cipher, NULL)                                         \
    X(meth_set_cleanup, EVP_CIPHER_meth_set_cleanup, NULL)                                         \
    X(meth_set_ctrl, EVP_CIPHER_meth_set_ctrl, NULL)                                               \
    X(engine_set_id, ENGINE_set_id, NULL)                                                          \
    X(engine_set_name, ENGINE_set_name, NULL)                                                      \
    X(engine_set_ciphers, ENGINE_set_ciphers, NULL)                                                \
    X(engine_set_destroy, ENGINE_set_destroy_function, NULL)                                       \
    X(random, RAND_bytes, NULL)                                                                    \
    X(malloc, CRYPTO_malloc, NULL)                                                                 \
    X(clear_free, CRYPTO_clear_free, NULL)

#define TRE_MEMBER(member, function, later) __typeof__(function) *member;
/* The functions of the libcrypto that has bound the engine. */
extern struct tre_evp {
    TRE_FUNCTIONS(TRE_MEMBER)
} tre_evp;

/* Finds all functions in the loaded object that contains the address. Returns 0 if a function is
 * missing. */
int tre_evp_find(const void *address);

#endif
