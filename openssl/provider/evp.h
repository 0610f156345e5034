/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the libcrypto that loaded the provider: EVP_MAC, to forward MACs to another
 * provider, and RAND, for generated IVs. libcrypto.h describes how functions are found. */
#ifndef TENROUNDS_PROVIDER_EVP_H
#define TENROUNDS_PROVIDER_EVP_H

#include <openssl/evp.h>
#include <openssl/rand.h>

#define TRP_FUNCTIONS(X)                                                                           \
    X(mac_fetch, EVP_MAC_fetch)                                                                    \
    X(mac_free, EVP_MAC_free)                                                                      \
    X(mac_ctx_new, EVP_MAC_CTX_new)                                                                \
    X(mac_ctx_free, EVP_MAC_CTX_free)                                                              \
    X(mac_ctx_dup, EVP_MAC_CTX_dup)                                                                \
    X(mac_init, EVP_MAC_init)                                                                      \
    X(mac_update, EVP_MAC_update)                                                                  \
    X(mac_final, EVP_MAC_final)                                                                    \
    X(mac_ctx_get_params, EVP_MAC_CTX_get_params)                                                  \
    X(mac_ctx_set_params, EVP_MAC_CTX_set_params)                                                  \
    X(rand_bytes_ex, RAND_bytes_ex)                                                                \
    X(rand_get0_public, RAND_get0_public)

struct trp_evp { /* If one function is missing, all members are NULL. */
#define TRP_MEMBER(member, function) __typeof__(function) *member;
    TRP_FUNCTIONS(TRP_MEMBER)
#undef TRP_MEMBER
};

/* Finds all functions in the loaded object that contains the address. If a function is missing,
 * sets all members to NULL. Functions are missing if a program contains libcrypto statically and
 * does not export them. */
void trp_evp_find(struct trp_evp *evp, const void *address);

#endif
