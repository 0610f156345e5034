/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests key objects (EVP_SKEY of OpenSSL 3.5) where tenrounds is preferred as `tenrounds enable`
 * does it. The default provider is activated first. "AES" keys must work with AES of tenrounds,
 * also if the program derived a key before. "GENERIC-SECRET" keys must work with ciphers that only
 * the default provider has. Keys that a KDF or a key exchange derives (OpenSSL 3.6), and
 * "GENERIC-SECRET" keys, need EVP_SKEY_to_provider() for AES of tenrounds.
 */
#define _GNU_SOURCE
#include "sides.h"

#include <dlfcn.h>
#include <openssl/kdf.h>

/* ---- Key managers, without libcrypto --------------------------------------------------------- */

/* OSSL_OP_SKEYMGMT, its functions, and the selection of the secret key. The headers of OpenSSL 3.0
 * lack these. */
#define SKEYMGMT    15
#define SKEY_FREE   1
#define SKEY_IMPORT 2
#define SKEY_EXPORT 3
#define SECRET_KEY  2

static void (*function(const OSSL_DISPATCH *table, int id))(void)
{
    while (table->function_id != 0 && table->function_id != id)
        table++;
    return table->function;
}

struct exported {
    unsigned calls;
    size_t len;
    uint8_t bytes[64];
};

static int keep(const OSSL_PARAM params[], void *arg)
{
    struct exported *e = arg;
    const OSSL_PARAM *p = OSSL_PARAM_locate_const(params, "raw-bytes");
    e->calls++;
    void *to = e->bytes;
    return p != NULL && OSSL_PARAM_get_octet_string(p, &to, sizeof(e->bytes), &e->len);
}

/* Whether the default provider's key manager of this type accepts a key of this length. */
static bool takes(const char *type, size_t len)
{
    return strcmp(type, "AES") == 0 ? len == 16 || len == 24 || len == 32 : len != 0;
}

/* Tests a key manager of tenrounds with direct calls, because libcrypto calls key managers only
 * since 3.5. The key manager must export keys of valid lengths unchanged. It must refuse other
 * lengths, and selections without the secret key. */
static bool manager_keeps_keys(const struct evp_side *us, const OSSL_ALGORITHM *manager)
{
    const OSSL_DISPATCH *const table = manager->implementation;
    void *(*import)(void *, int, const OSSL_PARAM[]) =
        (void *(*)(void *, int, const OSSL_PARAM[]))function(table, SKEY_IMPORT);
    int (*export)(void *, int, OSSL_CALLBACK *, void *) =
        (int (*)(void *, int, OSSL_CALLBACK *, void *))function(table, SKEY_EXPORT);
    void (*release)(void *) = (void (*)(void *))function(table, SKEY_FREE);
    void *const provctx = OSSL_PROVIDER_get0_provider_ctx(us->provider);
    uint8_t bytes[64];
    struct tap_random random = tap_random(2);
    tap_fill(&random, bytes, sizeof(bytes));
    bool good = true;
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string("raw-bytes", bytes, len),
                               OSSL_PARAM_END};
        OSSL_PARAM text[] = {params[0], OSSL_PARAM_END};
        text[0].data_type = OSSL_PARAM_UTF8_STRING;
        struct exported e = {0};
        void *key = import(provctx, SECRET_KEY, params);
        if (takes(manager->algorithm_names, len))
            good &= key != NULL && export(key, 3, keep, &e) == 1 && e.len == len &&
                    memcmp(e.bytes, bytes, len) == 0 && export(key, 1, keep, &e) == 0 &&
                    e.calls == 1;
        else
            good &= key == NULL;
        release(key);
        good &= import(provctx, SECRET_KEY, text) == NULL;
        good &= import(provctx, 1, params) == NULL;
    }
    return good && import(provctx, SECRET_KEY, NULL) == NULL;
}

static bool table_keeps_keys(const struct evp_side *us)
{
    int no_cache;
    const OSSL_ALGORITHM *list = OSSL_PROVIDER_query_operation(us->provider, SKEYMGMT, &no_cache);
    return list != NULL && strcmp(list[0].algorithm_names, "AES") == 0 &&
           strcmp(list[1].algorithm_names, "GENERIC-SECRET") == 0 &&
           list[2].algorithm_names == NULL && manager_keeps_keys(us, &list[0]) &&
           manager_keeps_keys(us, &list[1]);
}

/* ---- Key objects ---------------------------------------------------------------------------- */

/* The functions of EVP_SKEY, if libcrypto has them. */
static struct {
    void *(*import)(OSSL_LIB_CTX *, const char *, unsigned char *, size_t, const char *);
    int (*init)(EVP_CIPHER_CTX *, const EVP_CIPHER *, void *, const unsigned char *, size_t, int,
                const OSSL_PARAM[]);
    const char *(*provider)(const void *);
    void *(*to_provider)(void *, OSSL_LIB_CTX *, OSSL_PROVIDER *, const char *);
    void (*release)(void *);
    /* Since OpenSSL 3.6. */
    void *(*fetch)(OSSL_LIB_CTX *, const char *, const char *);
    void (*release_manager)(void *);
    void *(*by_kdf)(EVP_KDF_CTX *, void *manager, const char *type, const char *properties, size_t,
                    const OSSL_PARAM[]);
    void *(*by_exchange)(EVP_PKEY_CTX *, void *manager, const char *type, const char *properties,
                         size_t, const OSSL_PARAM[]);
} skey;

static bool skey_found(void)
{
    *(void **)&skey.import = dlsym(RTLD_DEFAULT, "EVP_SKEY_import_raw_key");
    *(void **)&skey.init = dlsym(RTLD_DEFAULT, "EVP_CipherInit_SKEY");
    *(void **)&skey.provider = dlsym(RTLD_DEFAULT, "EVP_SKEY_get0_provider_name");
    *(void **)&skey.to_provider = dlsym(RTLD_DEFAULT, "EVP_SKEY_to_provider");
    *(void **)&skey.release = dlsym(RTLD_DEFAULT, "EVP_SKEY_free");
    *(void **)&skey.fetch = dlsym(RTLD_DEFAULT, "EVP_SKEYMGMT_fetch");
    *(void **)&skey.release_manager = dlsym(RTLD_DEFAULT, "EVP_SKEYMGMT_free");
    *(void **)&skey.by_kdf = dlsym(RTLD_DEFAULT, "EVP_KDF_derive_SKEY");
    *(void **)&skey.by_exchange = dlsym(RTLD_DEFAULT, "EVP_PKEY_derive_SKEY");
    return skey.import != NULL && skey.init != NULL && skey.provider != NULL &&
           skey.to_provider != NULL && skey.release != NULL;
}

static bool belongs_to(const void *object, const char *provider)
{
    return object != NULL && strcmp(skey.provider(object), provider) == 0;
}

/* A library context as `tenrounds enable` configures it. */
struct enabled {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *theirs, *ours;
};

static struct enabled enable(void)
{
    struct enabled e = {OSSL_LIB_CTX_new(), NULL, NULL};
    e.theirs = OSSL_PROVIDER_load(e.libctx, "default");
    e.ours = OSSL_PROVIDER_load(e.libctx, "tenrounds");
    if (e.theirs == NULL || e.ours == NULL ||
        EVP_set_default_properties(e.libctx, "?tenrounds.aes=yes") <= 0) {
        ERR_print_errors_fp(stderr);
        exit(2);
    }
    return e;
}

static void disable(struct enabled *e)
{
    OSSL_PROVIDER_unload(e->ours);
    OSSL_PROVIDER_unload(e->theirs);
    OSSL_LIB_CTX_free(e->libctx);
}

/* Encrypts 64 bytes with a key object, decrypts them, and compares the result with that of the raw
 * key, whose bytes are `key`. */
static bool cipher_takes(const EVP_CIPHER *cipher, void *object, const uint8_t *key)
{
    uint8_t text[64] = {1}, iv[16] = {2}, with_object[128] = {0}, with_bytes[128] = {0}, back[128];
    int n = 0, m = 0, k = 0;
    const size_t iv_len = (size_t)EVP_CIPHER_get_iv_length(cipher);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new(), *c = EVP_CIPHER_CTX_new();
    const bool good = object != NULL && skey.init(a, cipher, object, iv, iv_len, 1, NULL) > 0 &&
                      EVP_CipherUpdate(a, with_object, &n, text, sizeof(text)) > 0 &&
                      EVP_CipherInit_ex2(b, cipher, key, iv, 1, NULL) > 0 &&
                      EVP_CipherUpdate(b, with_bytes, &m, text, sizeof(text)) > 0 && n == m &&
                      n > 0 && memcmp(with_object, with_bytes, (size_t)n) == 0 &&
                      skey.init(c, cipher, object, iv, iv_len, 0, NULL) > 0 &&
                      EVP_CIPHER_CTX_set_padding(c, 0) > 0 &&
                      EVP_CipherUpdate(c, back, &k, with_object, n) > 0 && k == (int)sizeof(text) &&
                      memcmp(back, text, sizeof(text)) == 0;
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_CTX_free(c);
    ERR_clear_error();
    return good;
}

static const uint8_t raw[64] = {3, 1, 4, 1, 5, 9, [32] = 2, 6, 5};

/* Imports a key for the cipher. Checks that the key belongs to this provider, and that the cipher
 * takes the key, or its copy of the cipher's provider. */
static bool imported_works(const struct enabled *e, const char *name, const char *type,
                           const char *owner)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(e->libctx, name, NULL);
    void *key = skey.import(e->libctx, type, (unsigned char *)raw,
                            (size_t)EVP_CIPHER_get_key_length(cipher), NULL);
    OSSL_PROVIDER *const user = (OSSL_PROVIDER *)EVP_CIPHER_get0_provider(cipher);
    /* OpenSSL 3.5 releases a manager too often if the key already belongs to the provider. */
    const bool same = belongs_to(key, OSSL_PROVIDER_get0_name(user));
    void *copy = same ? NULL : skey.to_provider(key, e->libctx, user, NULL);
    const bool good = belongs_to(key, owner) && cipher_takes(cipher, same ? key : copy, raw);
    if (!good)
        tap_diag("%s of %s, key of type %s of %s", name, OSSL_PROVIDER_get0_name(user), type,
                 key == NULL ? "nobody" : skey.provider(key));
    skey.release(copy);
    skey.release(key);
    EVP_CIPHER_free(cipher);
    return good;
}

static bool imported_aes_works(const struct enabled *e)
{
    DIFFERS("key-object-imported");
    static const char *const names[] = {"AES-128-ECB",  "AES-128-CBC", "AES-192-CFB",
                                        "AES-256-OFB",  "AES-256-CTR", "AES-128-GCM",
                                        "AES-256-WRAP", "AES-128-XTS"};
    bool good = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        good &= imported_works(e, names[i], "AES", "tenrounds");
    return good;
}

static bool generic_works(const struct enabled *e)
{
    DIFFERS("key-object-derived");
    /* Of the default provider, and of tenrounds. */
    static const char *const names[] = {"ChaCha20",    "CAMELLIA-256-CTR", "ARIA-128-CBC",
                                        "AES-256-CTR", "AES-128-GCM",      "AES-256-XTS"};
    bool good = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        good &= imported_works(e, names[i], "GENERIC-SECRET", "default");
    return good;
}

/* ---- Derived keys ---------------------------------------------------------------------------- */

static void *derive_by_kdf(const struct enabled *e, void *manager)
{
    uint8_t secret[32] = "secret";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, sizeof(secret)),
        OSSL_PARAM_END};
    EVP_KDF *kdf = EVP_KDF_fetch(e->libctx, "HKDF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    void *key = skey.by_kdf(ctx, manager, "AES", NULL, 32, params);
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return key;
}

static void *derive_by_exchange(const struct enabled *e, void *manager)
{
    EVP_PKEY *own = EVP_PKEY_Q_keygen(e->libctx, NULL, "X25519");
    EVP_PKEY *peer = EVP_PKEY_Q_keygen(e->libctx, NULL, "X25519");
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(e->libctx, own, NULL);
    void *key = EVP_PKEY_derive_init(ctx) > 0 && EVP_PKEY_derive_set_peer(ctx, peer) > 0
                    ? skey.by_exchange(ctx, manager, "AES", NULL, 32, NULL)
                    : NULL;
    EVP_PKEY_CTX_free(ctx);
    EVP_PKEY_free(own);
    EVP_PKEY_free(peer);
    return key;
}

/* The bytes of a key object, which the derivation alone knows. */
static bool bytes_of(void *object, uint8_t bytes[64])
{
    int (*get)(const void *, const unsigned char **, size_t *);
    const unsigned char *key = NULL;
    size_t len = 0;
    *(void **)&get = dlsym(RTLD_DEFAULT, "EVP_SKEY_get0_raw_key");
    if (object == NULL || get == NULL || get(object, &key, &len) <= 0 || len != 32)
        return false;
    memcpy(bytes, key, len);
    return true;
}

/* Derives a key in a new library context. It must work with AES of the default provider as it is,
 * and with AES of tenrounds after EVP_SKEY_to_provider(). Imports must still give keys of
 * tenrounds. A derivation with a fetched key manager gives a key of tenrounds. */
static bool derived_works(void *(*derive)(const struct enabled *, void *))
{
    DIFFERS("key-object-derived");
    struct enabled e = enable();
    uint8_t bytes[64];
    /* A provider that is activated later empties libcrypto's cache of algorithms. */
    EVP_KDF_free(EVP_KDF_fetch(e.libctx, "HKDF", NULL));
    OSSL_PROVIDER *later = OSSL_PROVIDER_load(e.libctx, "null");
    void *key = derive(&e, NULL);
    const bool imports = imported_works(&e, "AES-256-GCM", "AES", "tenrounds") &&
                         imported_works(&e, "ChaCha20", "GENERIC-SECRET", "default");
    EVP_CIPHER *ours = EVP_CIPHER_fetch(e.libctx, "AES-256-GCM", NULL);
    EVP_CIPHER *theirs = EVP_CIPHER_fetch(e.libctx, "AES-256-GCM", "provider=default");
    void *copy = skey.to_provider(key, e.libctx, e.ours, NULL);
    bool good = EVP_CIPHER_get0_provider(ours) == e.ours && bytes_of(key, bytes) &&
                belongs_to(copy, "tenrounds") && cipher_takes(ours, copy, bytes) &&
                cipher_takes(theirs, key, bytes);
    if (!good)
        tap_diag("derived key of %s, its copy of %s", key == NULL ? "nobody" : skey.provider(key),
                 copy == NULL ? "nobody" : skey.provider(copy));
    else if (cipher_takes(ours, key, bytes))
        tap_diag("this libcrypto takes a derived key without EVP_SKEY_to_provider(), too");
    void *manager = skey.fetch(e.libctx, "AES", NULL), *direct = derive(&e, manager);
    good = good && bytes_of(direct, bytes) && belongs_to(direct, "tenrounds") &&
           cipher_takes(ours, direct, bytes);
    skey.release(direct);
    skey.release_manager(manager);
    skey.release(copy);
    skey.release(key);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(theirs);
    OSSL_PROVIDER_unload(later);
    disable(&e);
    return good && imports;
}

int main(void)
{
    const char *const version = OpenSSL_version(OPENSSL_VERSION_STRING);
    const unsigned long number = OpenSSL_version_num();
    struct evp_side us = evp_open("tenrounds");
    tap_plan(6);
    tap_ok(table_keeps_keys(&us), "key managers accept the key lengths of the default provider");
    evp_close(&us);
    if (!skey_found()) {
        for (int i = 0; i < 5; i++)
            tap_ok(number < 0x30500000, "OpenSSL %s has no key objects", version);
        return tap_done();
    }
    struct enabled e = enable();
    tap_ok(imported_aes_works(&e), "\"AES\" keys belong to tenrounds and work with its ciphers");
    tap_ok(generic_works(&e), "\"GENERIC-SECRET\" keys work with ciphers of the default provider, "
                              "and with AES as copies");
    disable(&e);
    e = enable();
    tap_ok(generic_works(&e) && imported_aes_works(&e), "the same if the other type comes first");
    disable(&e);
    if (skey.by_kdf == NULL || skey.by_exchange == NULL || skey.fetch == NULL) {
        for (int i = 0; i < 2; i++)
            tap_ok(number < 0x30600000, "OpenSSL %s derives no key objects", version);
        return tap_done();
    }
    tap_ok(derived_works(derive_by_kdf), "keys that HKDF derives, and imports after that, work");
    tap_ok(derived_works(derive_by_exchange),
           "keys that X25519 derives, and imports after that, work");
    return tap_done();
}
