/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the MACs share. They are fetched by name before anybody knows with which cipher, so that we
 * get those for all ciphers: AES is done here, and for any other cipher the same MAC of another
 * provider is fetched, and does everything.
 */
#ifndef TENROUNDS_PROVIDER_MAC_H
#define TENROUNDS_PROVIDER_MAC_H

#include "provider.h"

enum trp_whose { TRP_NOBODYS, TRP_OURS, TRP_OTHERS };

/* What the parameters of a MAC say about its cipher. */
struct trp_mac_cipher {
    enum trp_whose whose;            /* TRP_NOBODYS: nothing */
    const OSSL_ALGORITHM *algorithm; /* ours */
    size_t key_len;                  /* of ours */
    OSSL_PARAM params[4];            /* all that says it, for another's */
};

/* mode is the end of the names of the ciphers that are ours, "-CBC" or "-GCM". Returns 0, and
 * nothing else happened, if a parameter is not of its type. */
int trp_mac_cipher(struct trp_mac_cipher *cipher, const OSSL_PARAM params[], const char *mode);

/* A context of that MAC of any provider but ours; NULL, and an error in the queue, if there is none. */
EVP_MAC_CTX *trp_mac_other(const struct trp_provider *provider, const char *mac);

/* Gives another's context a key (NULL: the parameter has no data). */
int trp_mac_other_set_key(const struct trp_provider *provider, EVP_MAC_CTX *other, const void *key,
                          size_t key_len);
int trp_mac_other_set_octets(const struct trp_provider *provider, EVP_MAC_CTX *other,
                             const char *param, const void *bytes, size_t len);

extern const OSSL_DISPATCH trp_cmac_functions[], trp_gmac_functions[];

#endif
