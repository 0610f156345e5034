/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The common part of CMAC and GMAC. A program fetches a MAC by name before it sets the cipher, so
 * this provider gets the MACs for all ciphers. It does AES itself. For any other cipher it fetches
 * the same MAC of another provider and hands every call on.
 */
#ifndef TENROUNDS_PROVIDER_MAC_H
#define TENROUNDS_PROVIDER_MAC_H

#include "provider.h"

enum trp_whose { TRP_NOBODYS, TRP_OURS, TRP_OTHERS };

/* The cipher that the parameters of a MAC ask for. */
struct trp_mac_cipher {
    enum trp_whose whose;            /* TRP_NOBODYS: they ask for none */
    const OSSL_ALGORITHM *algorithm; /* if it is ours */
    size_t key_len;                  /* if it is ours */
    OSSL_PARAM params[4];            /* if it is another provider's: the parameters to hand on */
};

/* Reads the parameters. mode is the end of the names of our ciphers, "-CBC" or "-GCM". Returns 0
 * if a parameter has a wrong type. */
int trp_mac_cipher(struct trp_mac_cipher *cipher, const OSSL_PARAM params[], const char *mode);

/* A new context of this MAC, of any provider but ours. NULL if there is none, with an error in the
 * queue. */
EVP_MAC_CTX *trp_mac_other(const struct trp_provider *provider, const char *mac);

/* Sets the key of another provider's context. A NULL key makes a parameter without data. */
int trp_mac_other_set_key(const struct trp_provider *provider, EVP_MAC_CTX *other, const void *key,
                          size_t key_len);
int trp_mac_other_set_octets(const struct trp_provider *provider, EVP_MAC_CTX *other,
                             const char *param, const void *bytes, size_t len);

extern const OSSL_DISPATCH trp_cmac_functions[], trp_gmac_functions[];

#endif
