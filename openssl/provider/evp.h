/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EVP functions of the libcrypto that has loaded us, for what has to be handed on to another
 * provider; see libcrypto.h.
 */
#ifndef TENROUNDS_PROVIDER_EVP_H
#define TENROUNDS_PROVIDER_EVP_H

#include <openssl/evp.h>

struct trp_evp {
    __typeof__(EVP_MAC_fetch) *mac_fetch; /* NULL: they were not found */
    __typeof__(EVP_MAC_free) *mac_free;
    __typeof__(EVP_MAC_CTX_new) *mac_ctx_new;
    __typeof__(EVP_MAC_CTX_free) *mac_ctx_free;
    __typeof__(EVP_MAC_CTX_dup) *mac_ctx_dup;
    __typeof__(EVP_MAC_init) *mac_init;
    __typeof__(EVP_MAC_update) *mac_update;
    __typeof__(EVP_MAC_final) *mac_final;
    __typeof__(EVP_MAC_CTX_get_params) *mac_ctx_get_params;
    __typeof__(EVP_MAC_CTX_set_params) *mac_ctx_set_params;
};

/*
 * Finds them all in the loaded object that contains the address, or none: a program may contain
 * libcrypto statically without exporting its functions. Returns whether it found them.
 */
int trp_evp_find(struct trp_evp *evp, const void *address);

#endif
