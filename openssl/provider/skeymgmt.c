/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opaque keys, EVP_SKEY(3), of OpenSSL 3.5 and later: the types "AES" and "GENERIC-SECRET".
 * EVP_CipherInit_SKEY() refuses a key whose manager and cipher belong to different providers.
 * Programs that prefer this provider's AES therefore need its "AES" manager, too. A
 * "GENERIC-SECRET" key may be for ChaCha20, Camellia or ARIA, so a preference for tenrounds.aes
 * does not choose that manager. It exists for EVP_SKEY_to_provider(), which keys from a KDF or a
 * key exchange need.
 *
 * The ciphers have no init for opaque keys: libcrypto exports the bytes of the key and calls the
 * usual init. provider-skeymgmt(7) describes the interface.
 */
#include "libcrypto.h"
#include "param.h"
#include "provider.h"

#include <limits.h>

/* Constants of OpenSSL's binary interface; headers before 3.5 lack them. */
#ifndef OSSL_FUNC_SKEYMGMT_FREE
#    define OSSL_FUNC_SKEYMGMT_FREE                1
#    define OSSL_FUNC_SKEYMGMT_IMPORT              2
#    define OSSL_FUNC_SKEYMGMT_EXPORT              3
#    define OSSL_FUNC_SKEYMGMT_IMP_SETTABLE_PARAMS 6
#    define OSSL_SKEYMGMT_SELECT_SECRET_KEY        0x02
#endif

#define RAW_BYTES "raw-bytes"

struct skey {
    const struct trp_provider *provider;
    size_t len;
    uint8_t bytes[];
};

static void skey_free(void *keydata)
{
    struct skey *key = keydata;
    if (key != NULL)
        trp_clear_free(key->provider, key, sizeof(*key) + key->len);
}

/* Imports a key of any length but 0, like the default provider's GENERIC-SECRET. */
static void *skey_import_generic(void *provctx, int selection, const OSSL_PARAM params[])
{
    const struct trp_provider *provider = provctx;
    const OSSL_PARAM *raw = trp_param_find(params, RAW_BYTES);
    if ((selection & OSSL_SKEYMGMT_SELECT_SECRET_KEY) == 0 || raw == NULL || raw->data_size == 0 ||
        raw->data_size > INT_MAX)
        return NULL;
    struct skey *key = provider->malloc(sizeof(*key) + raw->data_size, __FILE__, __LINE__);
    if (key == NULL)
        return NULL;
    key->provider = provider;
    key->len = raw->data_size;
    if (trp_param_get_octets(raw, key->bytes, key->len, &key->len))
        return key;
    skey_free(key);
    return NULL;
}

static void *skey_import_aes(void *provctx, int selection, const OSSL_PARAM params[])
{
    const OSSL_PARAM *raw = trp_param_find(params, RAW_BYTES);
    const size_t len = raw == NULL ? 0 : raw->data_size;
    if (len != 16 && len != 24 && len != 32)
        return NULL;
    return skey_import_generic(provctx, selection, params);
}

static int skey_export(void *keydata, int selection, OSSL_CALLBACK *callback, void *arg)
{
    struct skey *key = keydata;
    if (key == NULL || (selection & OSSL_SKEYMGMT_SELECT_SECRET_KEY) == 0)
        return 0;
    OSSL_PARAM params[] = {
        {RAW_BYTES, OSSL_PARAM_OCTET_STRING, key->bytes, key->len, OSSL_PARAM_UNMODIFIED}, TRP_END};
    return callback(params, arg);
}

static TRP_LIST_OF_ALGORITHM(skey_settable, TRP_OCTETS(RAW_BYTES))

#define MANAGER(type)                                                                              \
    static const OSSL_DISPATCH type##_functions[] = {                                              \
        {OSSL_FUNC_SKEYMGMT_FREE, (void (*)(void))skey_free},                                      \
        {OSSL_FUNC_SKEYMGMT_IMPORT, (void (*)(void))skey_import_##type},                           \
        {OSSL_FUNC_SKEYMGMT_EXPORT, (void (*)(void))skey_export},                                  \
        {OSSL_FUNC_SKEYMGMT_IMP_SETTABLE_PARAMS, (void (*)(void))skey_settable},                   \
        {0, NULL}}
MANAGER(aes);
MANAGER(generic);

const OSSL_ALGORITHM trp_skeymgmts[] = {
    {"AES", TRP_PROPERTIES, aes_functions, NULL},
    {"GENERIC-SECRET", "provider=tenrounds", generic_functions, NULL},
    {NULL, NULL, NULL, NULL}};

/*
 * Fetches the "AES" key manager before a key derivation. EVP_KDF_derive_SKEY() and
 * EVP_PKEY_derive_SKEY() of OpenSSL 3.6 and 4.0 take the manager of the provider that derives.
 * libcrypto caches it as the answer to a fetch without properties. This provider's AES would then
 * refuse keys that are imported later. The first answer in the cache wins, so a fetch before the
 * derivation keeps the preferred manager. Activating a provider empties the cache, so each query
 * repeats the fetch; libcrypto then holds no lock. Does nothing if libcrypto cannot derive opaque
 * keys, or if the program does not export its functions.
 */
void trp_skeymgmt_first(const struct trp_provider *provider)
{
    void *(*fetch)(OSSL_LIB_CTX *, const char *, const char *);
    void (*release)(void *), (*derive)(void);
    struct trossl_libcrypto library;
    if (provider->get_libctx != NULL &&
        trossl_libcrypto_open(&library, *(void *const *)&provider->get_libctx) &&
        trossl_libcrypto_find(&library, "EVP_KDF_derive_SKEY", &derive) &&
        trossl_libcrypto_find(&library, "EVP_SKEYMGMT_fetch", &fetch) &&
        trossl_libcrypto_find(&library, "EVP_SKEYMGMT_free", &release)) {
        provider->set_error_mark(provider->core);
        release(fetch(trp_libctx(provider), "AES", NULL));
        provider->pop_error_to_mark(provider->core);
    }
}
