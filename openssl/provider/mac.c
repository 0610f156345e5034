/* SPDX-License-Identifier: BSD-2-Clause */
#include "mac.h"

#include "param.h"

#include <openssl/core_names.h>
#include <string.h>
#include <strings.h>

/* A parameter of OpenSSL before 4.0, which names an engine for the cipher. */
#define PARAM_ENGINE "engine"

/* Whether a colon-separated list contains the name, ignoring case. */
static int mac_has_name(const char *names, const char *name)
{
    const size_t len = strlen(name);
    while (len != 0) {
        const size_t n = strcspn(names, ":");
        if (n == len && strncasecmp(names, name, n) == 0)
            return 1;
        if (names[n] == '\0')
            break;
        names += n + 1;
    }
    return 0;
}

/* Finds this provider's cipher by any of its names. The first name of each cipher is "AES-", the
 * key bits and the mode. */
static int mac_find_ours(struct trp_mac_cipher *cipher, const char *name, const char *mode)
{
    for (const OSSL_ALGORITHM *a = trp_ciphers; a->algorithm_names != NULL; a++) {
        const char *const first = a->algorithm_names;
        const size_t end = strlen("AES-256"), mode_len = strlen(mode);
        if (strcspn(first, ":") != end + mode_len || strncmp(first + end, mode, mode_len) != 0 ||
            !mac_has_name(first, name))
            continue;
        cipher->whose = TRP_OWNER_SELF;
        cipher->key_len = first[4] == '1' && first[5] == '2' ? 16 : first[4] == '1' ? 24 : 32;
        return 1;
    }
    return 0;
}

/* Whether a property query is empty, or asks only for this provider. */
static int mac_may_be_ours(const char *query)
{
    if (*query == '?')
        query++;
    /* A property without a value has the value "yes". */
    return *query == '\0' || strcmp(query, "provider=tenrounds") == 0 ||
           strcmp(query, "tenrounds.aes=yes") == 0 || strcmp(query, "tenrounds.aes") == 0;
}

int trp_mac_cipher(struct trp_mac_cipher *cipher, const OSSL_PARAM params[], const char *mode)
{
    const OSSL_PARAM *const name = trp_param_find(params, OSSL_MAC_PARAM_CIPHER),
                            *const query = trp_param_find(params, OSSL_MAC_PARAM_PROPERTIES),
                            *const engine = trp_param_find(params, PARAM_ENGINE);
    const OSSL_PARAM end = TRP_END;
    OSSL_PARAM *p = cipher->params;
    cipher->whose = TRP_OWNER_NONE;
    cipher->key_len = 0;
    if (name == NULL)
        return 1;
    if (name->data_type != OSSL_PARAM_UTF8_STRING ||
        (query != NULL && query->data_type != OSSL_PARAM_UTF8_STRING))
        return 0;
    if (name->data != NULL && engine == NULL &&
        (query == NULL || query->data == NULL || mac_may_be_ours(query->data)) &&
        mac_find_ours(cipher, name->data, mode))
        return 1;
    cipher->whose = TRP_OWNER_OTHER;
    *p++ = *name;
    if (query != NULL)
        *p++ = *query;
    if (engine != NULL)
        *p++ = *engine;
    *p = end;
    return 1;
}

int trp_mac_other_set_cipher(const struct trp_provider *provider, EVP_MAC_CTX **other,
                             const char *name, const struct trp_mac_cipher *cipher)
{
    const struct trp_evp *const evp = &provider->evp;
    if (*other != NULL)
        return evp->mac_ctx_set_params(*other, cipher->params);
    EVP_MAC *const mac = evp->mac_fetch(trp_libctx(provider), name, "provider!=tenrounds");
    EVP_MAC_CTX *const ctx = mac == NULL ? NULL : evp->mac_ctx_new(mac);
    evp->mac_free(mac); /* the context holds a reference */
    if (ctx != NULL && evp->mac_ctx_set_params(ctx, cipher->params))
        *other = ctx;
    else
        evp->mac_ctx_free(ctx);
    return *other != NULL;
}

int trp_mac_other_set_octets(const struct trp_provider *provider, EVP_MAC_CTX *other,
                             const char *param, const void *bytes, size_t len)
{
    const OSSL_PARAM params[] = {
        {param, OSSL_PARAM_OCTET_STRING, (void *)bytes, len, OSSL_PARAM_UNMODIFIED}, TRP_END};
    return provider->evp.mac_ctx_set_params(other, params);
}

int trp_mac_other_set_key(const struct trp_provider *provider, EVP_MAC_CTX *other, const void *key,
                          size_t key_len)
{
    if (key != NULL)
        return provider->evp.mac_init(other, key, key_len, NULL);
    return trp_mac_other_set_octets(provider, other, OSSL_MAC_PARAM_KEY, NULL, key_len);
}

const OSSL_ALGORITHM trp_macs[] = {{"CMAC", TRP_PROPERTIES, trp_cmac_functions, NULL},
                                   {"GMAC:1.0.9797.3.4", TRP_PROPERTIES, trp_gmac_functions, NULL},
                                   {NULL, NULL, NULL, NULL}};
