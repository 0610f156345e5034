/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the libcrypto that loaded the provider: EVP_MAC, to forward MACs to another
 * provider, and RAND, for generated IVs. libcrypto.h describes how functions are found. */
#ifndef TENROUNDS_PROVIDER_EVP_H
#define TENROUNDS_PROVIDER_EVP_H

#include <openssl/evp.h>
#include <openssl/rand.h>

struct trp_evp {
    /* If one function is missing, all members are NULL. */
    __typeof__(EVP_MAC_fetch) *mac_fetch;
    __typeof__(EVP_MAC_free) *mac_free;
    __typeof__(EVP_MAC_CTX_new) *mac_ctx_new;
    __typeof__(EVP_MAC_CTX_free) *mac_ctx_free;
    __typeof__(EVP_MAC_CTX_dup) *mac_ctx_dup;
    __typeof__(EVP_MAC_init) *mac_init;
    __typeof__(EVP_MAC_update) *mac_update;
    __typeof__(EVP_MAC_final) *mac_final;
    __typeof__(EVP_MAC_CTX_get_params) *mac_ctx_get_params;
    __typeof__(EVP_MAC_CTX_set_params) *mac_ctx_set_params;
    __typeof__(RAND_bytes_ex) *rand_bytes_ex;
    __typeof__(RAND_get0_public) *rand_get0_public;
};

/*
 * Finds all functions in the loaded object that contains the address. If a function is missing,
 * sets all members to NULL and returns 0. Functions are missing if a program contains libcrypto
 * statically and does not export them.
 */
int trp_evp_find(struct trp_evp *evp, const void *address);

#endif
