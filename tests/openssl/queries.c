/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests which provider serves each form of property query that programs use. The configuration
 * prefers tenrounds by its property (?tenrounds.aes=yes), or by its name (?provider=tenrounds) as
 * older configurations do.
 *
 * A query that names a property replaces the default query's clause of the same property. So
 * "provider!=fips" cancels "?provider=tenrounds", but not "?tenrounds.aes=yes". Distributions may
 * ship no FIPS provider, so a provider with that name and property is built into this program.
 */
#include "tap.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

/* ---- A provider whose cipher can be fetched, but computes nothing ---------------------------- */

static void *new_context(void *provider)
{
    return provider;
}

static void free_context(void *context)
{
    (void)context;
}

static int cipher(void *context, unsigned char *out, size_t *out_len, size_t out_size,
                  const unsigned char *in, size_t in_len)
{
    (void)context, (void)out, (void)out_len, (void)out_size, (void)in, (void)in_len;
    return 0;
}

static int get_params(OSSL_PARAM params[])
{
    (void)params;
    return 1;
}

static const OSSL_DISPATCH cipher_functions[] = {
    {OSSL_FUNC_CIPHER_NEWCTX, (void (*)(void))new_context},
    {OSSL_FUNC_CIPHER_FREECTX, (void (*)(void))free_context},
    {OSSL_FUNC_CIPHER_CIPHER, (void (*)(void))cipher},
    {OSSL_FUNC_CIPHER_GET_PARAMS, (void (*)(void))get_params},
    {0, NULL}};

static const OSSL_ALGORITHM ciphers[] = {
    {"AES-128-GCM:id-aes128-GCM", "provider=fips,fips=yes", cipher_functions, NULL},
    {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM *query_operation(void *provider, int operation, int *no_cache)
{
    (void)provider;
    *no_cache = 0;
    return operation == OSSL_OP_CIPHER ? ciphers : NULL;
}

static const OSSL_DISPATCH provider_functions[] = {
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query_operation}, {0, NULL}};

static int fips_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                     const OSSL_DISPATCH **out, void **provider)
{
    static char one;
    (void)handle, (void)in;
    *out = provider_functions;
    *provider = &one;
    return 1;
}

/* ---- The queries ----------------------------------------------------------------------------- */

#define NOBODY "nobody"

/* A program's query, and the provider that serves it in four cases. If the configuration prefers
 * tenrounds by property: `alone` without a FIPS provider, else `with_fips`. If the configuration
 * prefers tenrounds by name: `by_name` without a FIPS provider, else `by_name_with_fips`. */
static const struct {
    const char *query, *alone, *with_fips, *by_name, *by_name_with_fips;
} cases[] = {
    {NULL, "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"fips!=yes", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"-fips", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"fips=yes", NOBODY, "fips", NOBODY, "fips"},
    {"fips", NOBODY, "fips", NOBODY, "fips"},
    {"fips=yes,?tenrounds.aes=yes", NOBODY, "fips", NOBODY, "fips"},
    {"fips=yes,?provider=tenrounds", NOBODY, "fips", NOBODY, "fips"},
    {"?fips=yes", "tenrounds", "fips", "tenrounds", "fips"},
    {"provider!=fips", "tenrounds", "tenrounds", "default", "default"},
    {"provider!=default", "tenrounds", "tenrounds", "tenrounds", "fips"},
    {"provider!=tenrounds", "default", "default", "default", "default"},
    {"provider=default", "default", "default", "default", "default"},
    {"?provider=default", "default", "default", "default", "default"},
    {"provider=fips", NOBODY, "fips", NOBODY, "fips"},
    {"?provider=fips", "tenrounds", "fips", "default", "fips"},
    {"provider=tenrounds", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"?provider=tenrounds", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
    {"-provider", "tenrounds", "tenrounds", "default", "default"},
    {"-tenrounds.aes", "default", "default", "tenrounds", "tenrounds"},
    {"tenrounds.aes!=yes", "default", "default", "default", "default"},
    {"?tenrounds.aes=no", "default", "default", "default", "default"},
    {"tenrounds.aes=yes", "tenrounds", "tenrounds", "tenrounds", "tenrounds"},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Queries whose provider does not depend on the order of activation. A configuration should not
 * activate tenrounds first. Even if it does, tenrounds must not serve a program that demands
 * FIPS. */
static const char *const of_any_order[] = {"fips=yes",
                                           "fips",
                                           "fips=yes,?tenrounds.aes=yes",
                                           "fips=yes,?provider=tenrounds",
                                           "provider!=tenrounds",
                                           "provider=default",
                                           "provider=fips",
                                           "tenrounds.aes!=yes"};
#define OF_ANY_ORDER (sizeof(of_any_order) / sizeof(of_any_order[0]))

static bool is_of_any_order(const char *query)
{
    for (size_t i = 0; query != NULL && i < OF_ANY_ORDER; i++)
        if (strcmp(query, of_any_order[i]) == 0)
            return true;
    return false;
}

#define PROVIDERS 3
static const char *const orders[2][PROVIDERS] = {{"default", "fips", "tenrounds"},
                                                 {"tenrounds", "default", "fips"}};

/* Opens a library context with the providers in the order of a usual configuration, or with
 * tenrounds first. Exits on failure. */
static OSSL_LIB_CTX *context(const char *properties, bool with_fips, bool ours_first,
                             OSSL_PROVIDER *providers[PROVIDERS])
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    bool good = libctx != NULL && OSSL_PROVIDER_add_builtin(libctx, "fips", fips_init);
    for (int i = 0; good && i < PROVIDERS; i++) {
        const char *name = orders[ours_first][i];
        if (with_fips || strcmp(name, "fips") != 0)
            good = (providers[i] = OSSL_PROVIDER_load(libctx, name)) != NULL;
    }
    if (!good || !EVP_set_default_properties(libctx, properties)) {
        ERR_print_errors_fp(stderr);
        exit(2);
    }
    return libctx;
}

static bool served_by(OSSL_LIB_CTX *libctx, const char *query, const char *wanted)
{
    EVP_CIPHER *found = EVP_CIPHER_fetch(libctx, "AES-128-GCM", query);
    const char *name =
        found == NULL ? NOBODY : OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(found));
    const bool good = strcmp(name, wanted) == 0;
    if (!good)
        tap_diag("served by %s, expected %s", name, wanted);
    EVP_CIPHER_free(found);
    ERR_clear_error();
    return good;
}

static void all(const char *properties, bool by_name, bool with_fips, bool ours_first)
{
    OSSL_PROVIDER *providers[PROVIDERS] = {NULL};
    OSSL_LIB_CTX *libctx = context(properties, with_fips, ours_first, providers);
    for (size_t i = 0; i < CASES; i++) {
        if (ours_first && !is_of_any_order(cases[i].query))
            continue;
        const char *wanted = by_name ? (with_fips ? cases[i].by_name_with_fips : cases[i].by_name)
                                     : (with_fips ? cases[i].with_fips : cases[i].alone);
        tap_ok(served_by(libctx, cases[i].query, wanted),
               "query '%s', default query '%s', %s a FIPS provider%s: served by %s",
               cases[i].query == NULL ? "(NULL)" : cases[i].query, properties,
               with_fips ? "with" : "without", ours_first ? ", tenrounds first" : "", wanted);
    }
    for (int i = 0; i < PROVIDERS; i++)
        if (providers[i] != NULL)
            OSSL_PROVIDER_unload(providers[i]);
    OSSL_LIB_CTX_free(libctx);
}

int main(void)
{
    tap_plan(4 * (CASES + OF_ANY_ORDER));
    for (int ours_first = 0; ours_first < 2; ours_first++)
        for (int with_fips = 0; with_fips < 2; with_fips++) {
            all("?tenrounds.aes=yes", false, with_fips, ours_first);
            all("?provider=tenrounds", true, with_fips, ours_first);
        }
    return tap_done();
}
