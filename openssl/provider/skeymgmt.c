/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys as objects, EVP_SKEY(3), of OpenSSL 3.5 and later. libcrypto refuses a key of one provider's
 * to a cipher of another's, so a program that gets its AES from us has to get its AES keys from us.
 * The ciphers see the bytes: where they have no init for objects, libcrypto exports and hands over
 * those. provider-skeymgmt(7).
 *
 * Only "AES": the keys of "GENERIC-SECRET" are also for ciphers that we do not have, and would then
 * be refused there.
 */
#include "param.h"
#include "provider.h"

#include <string.h>

/* Not in the headers before 3.5; part of the binary interface, which does not change. */
#ifndef OSSL_FUNC_SKEYMGMT_FREE
#    define OSSL_FUNC_SKEYMGMT_FREE                1
#    define OSSL_FUNC_SKEYMGMT_IMPORT              2
#    define OSSL_FUNC_SKEYMGMT_EXPORT              3
#    define OSSL_FUNC_SKEYMGMT_IMP_SETTABLE_PARAMS 6
#    define OSSL_SKEYMGMT_SELECT_SECRET_KEY        0x02
#endif

#define RAW_BYTES   "raw-bytes"
#define MAX_AES_KEY 32

struct skey {
    const struct trp_provider *provider;
    size_t len;
    uint8_t bytes[MAX_AES_KEY];
};

static void skey_free(void *keydata)
{
    struct skey *key = keydata;
    if (key != NULL)
        trp_clear_free(key->provider, key, sizeof(*key));
}

static void *skey_import(void *provctx, int selection, const OSSL_PARAM params[])
{
    const struct trp_provider *provider = provctx;
    const OSSL_PARAM *raw = trp_param_find(params, RAW_BYTES);
    if ((selection & OSSL_SKEYMGMT_SELECT_SECRET_KEY) == 0 || raw == NULL)
        return NULL;
    struct skey *key = provider->zalloc(sizeof(*key), __FILE__, __LINE__);
    if (key == NULL)
        return NULL;
    key->provider = provider;
    if (trp_param_get_octets(raw, key->bytes, MAX_AES_KEY, &key->len) &&
        (key->len == 16 || key->len == 24 || key->len == 32))
        return key;
    skey_free(key);
    return NULL;
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

static const OSSL_PARAM *skey_settable(void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_OCTETS(RAW_BYTES), TRP_END};
    (void)provctx;
    return list;
}

static const OSSL_DISPATCH functions[] = {
    {OSSL_FUNC_SKEYMGMT_FREE, (void (*)(void))skey_free},
    {OSSL_FUNC_SKEYMGMT_IMPORT, (void (*)(void))skey_import},
    {OSSL_FUNC_SKEYMGMT_EXPORT, (void (*)(void))skey_export},
    {OSSL_FUNC_SKEYMGMT_IMP_SETTABLE_PARAMS, (void (*)(void))skey_settable},
    {0, NULL}};

const OSSL_ALGORITHM trp_skeymgmts[] = {{"AES", "provider=tenrounds", functions, NULL},
                                        {NULL, NULL, NULL, NULL}};
