/* SPDX-License-Identifier: BSD-2-Clause */
/* Code shared by CMAC and GMAC. A program fetches a MAC before it sets the cipher, so this provider
 * also receives MACs with ciphers other than AES. For such a cipher, this provider fetches another
 * provider's MAC and forwards every call. */
#ifndef TENROUNDS_PROVIDER_MAC_H
#define TENROUNDS_PROVIDER_MAC_H

#include "provider.h"

/* The provider that implements the named cipher: this one or another. NONE: no cipher is named. */
enum trp_whose { TRP_OWNER_NONE, TRP_OWNER_SELF, TRP_OWNER_OTHER };

/* The cipher named in the parameters of a MAC. */
struct trp_mac_cipher {
    enum trp_whose whose; /* TRP_OWNER_NONE if no cipher is named */
    size_t key_len;       /* for TRP_OWNER_SELF */
    OSSL_PARAM params[4]; /* for TRP_OWNER_OTHER: the parameters to forward */
};

/* Finds the cipher named in the parameters. The argument `mode` is the mode part of cipher names,
 * "-CBC" or "-GCM". Returns 0 if a parameter has a wrong type. */
int trp_mac_cipher(struct trp_mac_cipher *cipher, const OSSL_PARAM params[], const char *mode);

/* Sets the cipher of another provider's context. If *other is NULL, creates a context of the MAC
 * `name`. On failure, *other stays. */
int trp_mac_other_set_cipher(const struct trp_provider *provider, EVP_MAC_CTX **other,
                             const char *name, const struct trp_mac_cipher *cipher);

/* Sets the key of another provider's context by EVP_MAC_init(). If `key` is NULL, instead sets the
 * parameter OSSL_MAC_PARAM_KEY with a NULL data pointer. */
int trp_mac_other_set_key(const struct trp_provider *provider, EVP_MAC_CTX *other, const void *key,
                          size_t key_len);
int trp_mac_other_set_octets(const struct trp_provider *provider, EVP_MAC_CTX *other,
                             const char *param, const void *bytes, size_t len);

extern const OSSL_DISPATCH trp_cmac_functions[], trp_gmac_functions[];

#endif
