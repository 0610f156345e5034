/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of libcrypto that the engine calls. The engine looks them up when it is loaded
 * (libcrypto.h). Some have different names in OpenSSL 1.1.1 and 3.x; the engine tries both. */
#ifndef TENROUNDS_ENGINE_EVP_H
#define TENROUNDS_ENGINE_EVP_H

#include <openssl/engine.h>
#include <openssl/evp.h>

struct tre_evp {
    /* Return or set parts of a cipher context. iv() and buffer() each return the address of at
     * least 16 bytes, which the engine may change. */
    void *(*data)(const EVP_CIPHER_CTX *ctx);
    unsigned char *(*iv)(EVP_CIPHER_CTX *ctx);
    unsigned char *(*buffer)(EVP_CIPHER_CTX *ctx);
    int (*encrypting)(const EVP_CIPHER_CTX *ctx);
    int (*key_len)(const EVP_CIPHER_CTX *ctx);
    int (*num)(const EVP_CIPHER_CTX *ctx);
    int (*set_num)(EVP_CIPHER_CTX *ctx, int num);

    EVP_CIPHER *(*meth_new)(int type, int block_size, int key_len);
    void (*meth_free)(EVP_CIPHER *cipher);
    int (*meth_set_iv_length)(EVP_CIPHER *cipher, int len);
    int (*meth_set_flags)(EVP_CIPHER *cipher, unsigned long flags);
    int (*meth_set_size)(EVP_CIPHER *cipher, int size);
    int (*meth_set_init)(EVP_CIPHER *cipher, int (*init)(EVP_CIPHER_CTX *, const unsigned char *,
                                                         const unsigned char *, int));
    int (*meth_set_crypt)(EVP_CIPHER *cipher, int (*crypt)(EVP_CIPHER_CTX *, unsigned char *,
                                                           const unsigned char *, size_t));
    int (*meth_set_cleanup)(EVP_CIPHER *cipher, int (*cleanup)(EVP_CIPHER_CTX *));
    int (*meth_set_ctrl)(EVP_CIPHER *cipher, int (*ctrl)(EVP_CIPHER_CTX *, int, int, void *));

    int (*engine_set_id)(ENGINE *e, const char *id);
    int (*engine_set_name)(ENGINE *e, const char *name);
    int (*engine_set_ciphers)(ENGINE *e, ENGINE_CIPHERS_PTR f);
    int (*engine_set_destroy)(ENGINE *e, ENGINE_GEN_INT_FUNC_PTR f);

    int (*random)(unsigned char *out, int len); /* RAND_bytes(3) */

    void *(*malloc)(size_t size, const char *file, int line);
    void (*clear_free)(void *memory, size_t size, const char *file, int line);
};

/* The functions of the libcrypto that has bound the engine. */
extern struct tre_evp tre_evp;

/* Finds all functions in the loaded object that contains the address. Returns 0 if a function is
 * missing. */
int tre_evp_find(const void *address);

#endif
