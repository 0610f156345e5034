/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry point of the provider, and its parameters. */
#include "provider.h"

#include "param.h"

#include <openssl/core_names.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CACHE_LINE 64u

/* The parameters that only this provider has. */
#define PARAM_BACKEND     "selected-backend"
#define PARAM_MASKED      "masked-features"
#define PARAM_PASSED_OVER "passed-over"
#define PARAM_MASK_ERROR  "mask-error"

/* Allocates `size` bytes that share no cache line with other memory. Stores the pointer for free()
 * just before these bytes. */
static void *provider_lines(const struct trp_provider *provider, size_t size)
{
    size = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
    char *all = provider->malloc(sizeof(all) + CACHE_LINE - 1 + size, __FILE__, __LINE__);
    if (all == NULL)
        return NULL;
    char *p = all + sizeof(all);
    p += -(uintptr_t)p % CACHE_LINE;
    memcpy(p - sizeof(all), &all, sizeof(all));
    return p;
}

void *trp_context(const struct trp_provider *provider, size_t size)
{
    void *p = provider_lines(provider, size);
    return p == NULL ? NULL : memset(p, 0, size);
}

/* Not inline: with a constant size, the compiler would replace memcpy() by code that uses narrower
 * registers than the library's memcpy(). */
void *trp_context_copy(const struct trp_provider *provider, const void *from, size_t size)
{
    void *p = provider_lines(provider, size);
    return p == NULL ? NULL : memcpy(p, from, size);
}

void trp_context_free(const struct trp_provider *provider, void *p, size_t size)
{
    if (p == NULL)
        return;
    tr_cleanse(p, size);
    void *all;
    memcpy(&all, (char *)p - sizeof(all), sizeof(all));
    provider->free(all, __FILE__, __LINE__);
}

int trp_raise(const struct trp_provider *provider, const char *file, int line, const char *function,
              int lib, int reason, const char *format, ...)
{
    va_list args;
    provider->new_error(provider->core);
    provider->set_error_debug(provider->core, file, line, function);
    va_start(args, format);
    provider->vset_error(provider->core, (uint32_t)ERR_PACK(lib, 0, reason), format, args);
    va_end(args);
    return 0;
}

#define TEXT(key) TRP_ENTRY(key, OSSL_PARAM_UTF8_PTR, 0)
static TRP_LIST_OF_ALGORITHM(provider_gettable_params, TEXT(OSSL_PROV_PARAM_NAME),
                             TEXT(OSSL_PROV_PARAM_VERSION), TEXT(OSSL_PROV_PARAM_BUILDINFO),
                             TRP_INT(OSSL_PROV_PARAM_STATUS), TEXT(PARAM_BACKEND),
                             TEXT(PARAM_MASKED), TEXT(PARAM_PASSED_OVER), TEXT(PARAM_MASK_ERROR))

const struct tr_backend *trp_no_backend(const struct trp_provider *provider)
{
    trp_raise(provider, __FILE__, __LINE__, __func__, ERR_LIB_PROV, PROV_R_SELF_TEST_KAT_FAILURE,
              "tenrounds: no implementation of AES passed its known-answer tests");
    return NULL;
}

/* The results of all known-answer tests, in words. */
struct trp_report {
    const char *backend;
    char passed_over[TROSSL_TEXT], build_info[4 * TROSSL_TEXT];
};

/* Writes the build info, because `openssl list -providers -verbose` shows only name, version and
 * build info. */
static void provider_describe(const struct trossl_selection *s, struct trp_report *r)
{
    const struct tr_backend *const backend = trossl_selection_test(s, r->passed_over);
    const char *const error = s->choice.mask_error;
    const int bad_mask = strcmp(error, "none") != 0;
    r->backend = backend != NULL ? tr_backend_name(backend) : "none";
    snprintf(r->build_info, sizeof(r->build_info),
             "built with " TRP_COMPILER "; selected backend: %s; masked features: %s; "
             "passed over: %s%s%s",
             r->backend, s->choice.masked, r->passed_over, bad_mask ? "; error: " : "",
             bad_mask ? error : "");
}

/* Runs all known-answer tests first, because the selected backend is the strongest that passes
 * them. Only the first call does this. If threads race, each writes a report, and all use the one
 * that was stored first. Returns NULL if memory is exhausted. */
static const struct trp_report *provider_report(struct trp_provider *provider)
{
    struct trp_report *found = __atomic_load_n(&provider->report, __ATOMIC_ACQUIRE);
    if (found != NULL)
        return found;
    struct trp_report *const made = provider->zalloc(sizeof(*made), __FILE__, __LINE__);
    if (made == NULL)
        return NULL;
    provider_describe(&provider->selection, made);
    if (__atomic_compare_exchange_n(&provider->report, &found, made, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    provider->free(made, __FILE__, __LINE__);
    return found;
}

/* Stores the value of a text parameter. Returns 0 on failure. Ignores other parameters. */
static int provider_get_text(struct trp_provider *provider, OSSL_PARAM *p)
{
    const struct {
        const char *key, *text;
    } texts[] = {{OSSL_PROV_PARAM_NAME, "tenrounds: AES at the processor's speed"},
                 {OSSL_PROV_PARAM_VERSION, TR_VERSION_STRING},
                 {PARAM_MASKED, provider->selection.choice.masked},
                 {PARAM_MASK_ERROR, provider->selection.choice.mask_error}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(p->key, texts[i].key) == 0)
            return trp_param_set_text(p, texts[i].text);
    }
    const int backend = strcmp(p->key, PARAM_BACKEND) == 0,
              passed_over = strcmp(p->key, PARAM_PASSED_OVER) == 0;
    if (!backend && !passed_over && strcmp(p->key, OSSL_PROV_PARAM_BUILDINFO) != 0)
        return 1;
    const struct trp_report *const r = provider_report(provider);
    return r != NULL && trp_param_set_text(p, backend       ? r->backend
                                              : passed_over ? r->passed_over
                                                            : r->build_info);
}

static int provider_get_params(void *provctx, OSSL_PARAM params[])
{
    for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (!provider_get_text(provctx, p) || (strcmp(p->key, OSSL_PROV_PARAM_STATUS) == 0 &&
                                               !trp_param_set_number(p, 1, sizeof(int))))
            return 0;
    }
    return 1;
}

static const OSSL_ALGORITHM *provider_query(void *provctx, int operation, int *no_cache)
{
    const struct trp_provider *provider = provctx;
    const tr_features usable = trossl_features(&provider->selection);
    *no_cache = 0;
    switch (operation) {
    case OSSL_OP_CIPHER:
        return trossl_sha1(usable) != NULL && trossl_sha256(usable) != NULL
                   ? trp_ciphers
                   : trp_ciphers + TRP_SHA_CIPHERS;
    case OSSL_OP_MAC:
        return provider->evp.mac_fetch != NULL ? trp_macs : NULL;
    case OSSL_OP_SKEYMGMT:
        return trp_skeymgmts;
    case OSSL_OP_KDF: /* a key derivation may follow */
    case OSSL_OP_KEYEXCH:
        trp_skeymgmt_first(provctx);
        return NULL;
    }
    return NULL;
}

static void provider_teardown(void *provctx)
{
    struct trp_provider *provider = provctx;
    trossl_selection_end(&provider->selection);
    provider->free(provider->report, __FILE__, __LINE__);
    provider->clear_free(provider, sizeof(*provider), __FILE__, __LINE__);
}

static const OSSL_DISPATCH provider_functions[] = {
    {OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))provider_teardown},
    {OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, (void (*)(void))provider_gettable_params},
    {OSSL_FUNC_PROVIDER_GET_PARAMS, (void (*)(void))provider_get_params},
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))provider_query},
    {0, NULL}};

#define NEEDED(member, function, id, optional)                                                     \
    {OSSL_FUNC_##id, optional, offsetof(struct trp_provider, member)},
static const struct {
    int id, optional;
    size_t offset;
} needed[] = {TRP_CORE_FUNCTIONS(NEEDED)};

/* Stores the functions that libcrypto passes. Returns 0 if one that is not optional is missing. */
static int provider_take_functions(struct trp_provider *provider, const OSSL_DISPATCH *in)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        const OSSL_DISPATCH *found = in;
        while (found->function_id != 0 && found->function_id != needed[i].id)
            found++;
        if (found->function_id != 0)
            memcpy((char *)provider + needed[i].offset, &found->function, sizeof(found->function));
        else if (!needed[i].optional)
            return 0;
    }
    return 1;
}

/* Reads a decimal number and moves *text behind it. The first call of sscanf() in a process takes
 * 6 µs. */
static unsigned provider_number(const char **text)
{
    unsigned n = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        n = 10 * n + (unsigned)(**text - '0');
    return n;
}

/* Returns TRP_LIBCRYPTO() of the version text, such as "3.0.22", or 0 if libcrypto gives no
 * version. */
static unsigned provider_libcrypto(const struct trp_provider *provider)
{
    const char *text = NULL;
    OSSL_PARAM params[] = {{OSSL_PROV_PARAM_CORE_VERSION, OSSL_PARAM_UTF8_PTR, (void *)&text, 0, 0},
                           TRP_END};
    if (provider->get_params == NULL || !provider->get_params(provider->core, params) ||
        text == NULL)
        return 0;
    const unsigned major = provider_number(&text);
    if (*text++ != '.')
        return 0;
    return TRP_LIBCRYPTO(major, provider_number(&text));
}

OSSL_provider_init_fn OSSL_provider_init;

/* The entry point. libcrypto calls it once for each library context, perhaps while its random
 * generator waits for this provider's AES. The function therefore draws no random numbers, fetches
 * nothing, and takes no lock but the dynamic linker's. */
__attribute__((visibility("default"))) int OSSL_provider_init(const OSSL_CORE_HANDLE *handle,
                                                              const OSSL_DISPATCH *in,
                                                              const OSSL_DISPATCH **out,
                                                              void **provctx)
{
    struct trp_provider functions = {.core = handle};
    if (!provider_take_functions(&functions, in))
        return 0;
    struct trp_provider *provider = functions.zalloc(sizeof(*provider), __FILE__, __LINE__);
    if (provider == NULL)
        return 0;
    *provider = functions;
    trossl_selection_begin(&provider->selection, TROSSL_HOST_PROVIDER);
    provider->libcrypto = provider_libcrypto(provider);
    if (provider->get_libctx != NULL)
        trp_evp_find(&provider->evp, *(void **)&provider->get_libctx);
    *provctx = provider;
    *out = provider_functions;
    return 1;
}
