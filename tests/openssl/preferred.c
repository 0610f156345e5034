/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests a program that prefers tenrounds ("?provider=tenrounds"). The program uses CMAC and GMAC
 * with AES and with other ciphers, algorithms of the default provider that use CMAC, and key
 * objects (EVP_SKEY). The results must equal the results without tenrounds. The counters must show
 * which provider's code ran.
 */
#define _GNU_SOURCE
#include "sides.h"

#include "counted.h"

#include <dlfcn.h>
#include <openssl/kdf.h>
#include <unistd.h>

#define MAX_DATA 300

static OSSL_LIB_CTX *preferring, *plain;
static const struct trossl_counters_file *counters;

static uint64_t executed(unsigned op)
{
    uint64_t calls = 0;
    for (unsigned b = 0; b < TR_MAX_BACKENDS; b++)
        calls += counters->counters.bulk[b][op].calls;
    return calls;
}

static uint64_t all_executed(void)
{
    uint64_t calls = 0;
    for (unsigned op = 0; op < TR_OPS; op++)
        calls += executed(op);
    return calls;
}

/* ---- MACs ----------------------------------------------------------------------------------- */

static const struct mac_case {
    const char *mac, *cipher;
    size_t key_len, iv_len;
    bool ours; /* tenrounds has the cipher */
} mac_cases[] = {
    {"CMAC", "AES-128-CBC", 16, 0, true},       {"CMAC", "AES-192-CBC", 24, 0, true},
    {"CMAC", "AES-256-CBC", 32, 0, true},       {"GMAC", "AES-128-GCM", 16, 12, true},
    {"GMAC", "AES-192-GCM", 24, 12, true},      {"GMAC", "AES-256-GCM", 32, 20, true},
    {"CMAC", "DES-EDE3-CBC", 24, 0, false},     {"CMAC", "CAMELLIA-128-CBC", 16, 0, false},
    {"CMAC", "CAMELLIA-256-CBC", 32, 0, false}, {"CMAC", "ARIA-128-CBC", 16, 0, false},
    {"CMAC", "SM4-CBC", 16, 0, false},          {"GMAC", "ARIA-128-GCM", 16, 12, false},
    {"GMAC", "ARIA-256-GCM", 32, 12, false},
};
#define MAC_CASES (sizeof(mac_cases) / sizeof(mac_cases[0]))

/* An operation that only the CMAC of tenrounds uses. The default provider's CMAC encrypts only with
 * CBC. */
#define OUR_CMAC TR_OP_ECB_ENCRYPT

struct message {
    uint8_t key[32], iv[20], data[MAX_DATA];
    /* The bytes of the message, and of the first of its two updates. */
    size_t len, first;
};

/* Computes the MAC in two updates, the second in a copy. Returns the length of the MAC, or 0 on
 * failure. */
static size_t compute(OSSL_LIB_CTX *libctx, const struct mac_case *c, const struct message *m,
                      uint8_t out[64])
{
    EVP_MAC *mac = EVP_MAC_fetch(libctx, c->mac, NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac), *copy = NULL;
    size_t len = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)c->cipher, 0),
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)m->iv, c->iv_len),
        OSSL_PARAM_construct_end()};
    if (c->iv_len == 0)
        params[1] = OSSL_PARAM_construct_end();
    if (ctx == NULL || !EVP_MAC_init(ctx, m->key, c->key_len, params) ||
        !EVP_MAC_update(ctx, m->data, m->first) || (copy = EVP_MAC_CTX_dup(ctx)) == NULL ||
        !EVP_MAC_update(copy, m->data + m->first, m->len - m->first) ||
        !EVP_MAC_final(copy, out, &len, 64))
        len = 0;
    EVP_MAC_CTX_free(copy);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    return len;
}

static bool mac_is_the_same(const struct mac_case *c, struct tap_random *random)
{
    for (int i = 0; i < 50; i++) {
        struct message m;
        uint8_t got[64], expected[64];
        tap_fill(random, &m, sizeof(m));
        m.len = 1 + tap_below(random, MAX_DATA);
        m.first = tap_below(random, m.len + 1);
        const size_t len = compute(plain, c, &m, expected);
        const uint64_t before = all_executed(), cmac = executed(OUR_CMAC);
        const size_t got_len = compute(preferring, c, &m, got);
        const bool ran = all_executed() > before && (c->mac[0] == 'G' || executed(OUR_CMAC) > cmac);
        if (len == 0 || got_len != len || !tap_same(got, expected, len) || ran != c->ours) {
            tap_diag("%zu bytes: MACs of %zu and %zu bytes; our AES ran: %d", m.len, got_len, len,
                     ran);
            ERR_print_errors_fp(stderr);
            return false;
        }
    }
    return true;
}

/* Checks the MAC without other providers: tenrounds must provide the MAC, compute it with AES and
 * refuse other ciphers. */
static bool mac_alone(const struct evp_side *us, const struct mac_case *c)
{
    struct message m = {.len = 100, .first = 50};
    uint8_t out[64];
    EVP_MAC *mac = EVP_MAC_fetch(us->libctx, c->mac, NULL);
    const bool ours = mac != NULL && EVP_MAC_get0_provider(mac) == us->provider;
    EVP_MAC_free(mac);
    const bool good = compute(us->libctx, c, &m, out) == 16;
    const bool told = ERR_peek_error() != 0;
    ERR_clear_error();
    return ours && good == c->ours && told != c->ours;
}

/* ---- Algorithms of the default provider that use CMAC ---------------------------------------- */

static OSSL_PARAM text(const char *key, const char *value)
{
    return OSSL_PARAM_construct_utf8_string(key, (char *)value, 0);
}

static OSSL_PARAM octets(const char *key, const void *value, size_t len)
{
    return OSSL_PARAM_construct_octet_string(key, (void *)value, len);
}

/* Derives a key as in SP 800-108, in counter mode. */
static bool derive(OSSL_LIB_CTX *libctx, const char *cipher, const uint8_t *key, size_t key_len,
                   uint8_t out[64])
{
    const OSSL_PARAM params[] = {text(OSSL_KDF_PARAM_MAC, "CMAC"),
                                 text(OSSL_KDF_PARAM_CIPHER, cipher),
                                 octets(OSSL_KDF_PARAM_KEY, key, key_len),
                                 octets(OSSL_KDF_PARAM_SALT, "label", 5), OSSL_PARAM_END};
    EVP_KDF *kdf = EVP_KDF_fetch(libctx, "KBKDF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    const bool good = EVP_KDF_derive(ctx, out, 64, params) > 0;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return good;
}

/* Computes CMAC as a signature, with an EVP_PKEY_CMAC key. */
static bool sign(OSSL_LIB_CTX *libctx, const char *cipher, const uint8_t *key, size_t key_len,
                 uint8_t out[64])
{
    static const uint8_t data[MAX_DATA];
    const OSSL_PARAM params[] = {text(OSSL_PKEY_PARAM_CIPHER, cipher),
                                 octets(OSSL_PKEY_PARAM_PRIV_KEY, key, key_len), OSSL_PARAM_END};
    size_t len = 64;
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, "CMAC", NULL);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    const bool good = EVP_PKEY_keygen_init(ctx) > 0 && EVP_PKEY_CTX_set_params(ctx, params) > 0 &&
                      EVP_PKEY_generate(ctx, &pkey) > 0 &&
                      EVP_DigestSignInit_ex(md, NULL, NULL, libctx, NULL, pkey, NULL) > 0 &&
                      EVP_DigestSignUpdate(md, data, sizeof(data)) > 0 &&
                      EVP_DigestSignFinal(md, out, &len) > 0 && len > 0;
    EVP_MD_CTX_free(md);
    EVP_PKEY_free(pkey);
    EVP_PKEY_CTX_free(ctx);
    return good;
}

/* Seals with the default provider's SIV, whose S2V uses CMAC. */
static bool seal_siv(OSSL_LIB_CTX *libctx, const char *name, const uint8_t *key, size_t key_len,
                     uint8_t out[64])
{
    int n = 0, end = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, name, "provider=default");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = cipher != NULL && (size_t)EVP_CIPHER_get_key_length(cipher) == key_len &&
                      EVP_EncryptInit_ex2(ctx, cipher, key, NULL, NULL) > 0 &&
                      EVP_EncryptUpdate(ctx, NULL, &n, key, 16) > 0 &&
                      EVP_EncryptUpdate(ctx, out, &n, key, 32) > 0 && n == 32 &&
                      EVP_EncryptFinal_ex(ctx, out + n, &end) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out + 32) > 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

static const struct {
    const char *what, *cipher;
    bool (*compute)(OSSL_LIB_CTX *, const char *, const uint8_t *, size_t, uint8_t[64]);
    size_t key_len;
    bool ours;
} users[] = {
    {"KBKDF", "AES-128-CBC", derive, 16, true},
    {"KBKDF", "CAMELLIA-256-CBC", derive, 32, false},
    {"EVP_PKEY_CMAC", "AES-256-CBC", sign, 32, true},
    {"EVP_PKEY_CMAC", "DES-EDE3-CBC", sign, 24, false},
    {"the default provider's SIV", "AES-128-SIV", seal_siv, 32, true},
    {"the default provider's SIV", "AES-256-SIV", seal_siv, 64, true},
};
#define USERS (sizeof(users) / sizeof(users[0]))

static bool user_is_the_same(unsigned i, struct tap_random *random)
{
    uint8_t key[64], got[64] = {0}, expected[64] = {0};
    tap_fill(random, key, sizeof(key));
    const bool have = users[i].compute(plain, users[i].cipher, key, users[i].key_len, expected);
    const uint64_t before = executed(OUR_CMAC);
    const bool good = users[i].compute(preferring, users[i].cipher, key, users[i].key_len, got);
    if (!have || !good)
        ERR_print_errors_fp(stderr);
    return have && good && tap_same(got, expected, sizeof(got)) &&
           (executed(OUR_CMAC) > before) == users[i].ours;
}

/* ---- Key objects ---------------------------------------------------------------------------- */

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

/* The functions of EVP_SKEY, if libcrypto has them. */
static struct {
    void *(*import)(OSSL_LIB_CTX *, const char *, unsigned char *, size_t, const char *);
    int (*init)(EVP_CIPHER_CTX *, const EVP_CIPHER *, void *, const unsigned char *, size_t, int,
                const OSSL_PARAM[]);
    const char *(*provider)(const void *);
    void *(*to_provider)(void *, OSSL_LIB_CTX *, OSSL_PROVIDER *, const char *);
    void (*release)(void *);
} skey;

static bool skey_found(void)
{
    *(void **)&skey.import = dlsym(RTLD_DEFAULT, "EVP_SKEY_import_raw_key");
    *(void **)&skey.init = dlsym(RTLD_DEFAULT, "EVP_CipherInit_SKEY");
    *(void **)&skey.provider = dlsym(RTLD_DEFAULT, "EVP_SKEY_get0_provider_name");
    *(void **)&skey.to_provider = dlsym(RTLD_DEFAULT, "EVP_SKEY_to_provider");
    *(void **)&skey.release = dlsym(RTLD_DEFAULT, "EVP_SKEY_free");
    return skey.import != NULL && skey.init != NULL && skey.provider != NULL &&
           skey.to_provider != NULL && skey.release != NULL;
}

/* Encrypts 64 bytes with a key object and with the raw key, compares the results, and decrypts. */
static bool object_works(const char *name, const char *type)
{
    uint8_t key[64], iv[16], text[64], with_object[128] = {0}, with_bytes[128] = {0}, back[128];
    int n = 0, m = 0, k = 0;
    struct tap_random random = tap_random(3);
    tap_fill(&random, key, sizeof(key));
    tap_fill(&random, iv, sizeof(iv));
    tap_fill(&random, text, sizeof(text));
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(preferring, name, NULL);
    const size_t key_len = (size_t)EVP_CIPHER_get_key_length(cipher);
    const size_t iv_len = (size_t)EVP_CIPHER_get_iv_length(cipher);
    void *object = skey.import(preferring, type, key, key_len, NULL);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new(), *c = EVP_CIPHER_CTX_new();
    const bool good = object != NULL && strcmp(skey.provider(object), "tenrounds") == 0 &&
                      skey.init(a, cipher, object, iv, iv_len, 1, NULL) > 0 &&
                      EVP_CipherUpdate(a, with_object, &n, text, sizeof(text)) > 0 &&
                      EVP_CipherInit_ex2(b, cipher, key, iv, 1, NULL) > 0 &&
                      EVP_CipherUpdate(b, with_bytes, &m, text, sizeof(text)) > 0 && n == m &&
                      n > 0 && memcmp(with_object, with_bytes, (size_t)n) == 0 &&
                      skey.init(c, cipher, object, iv, iv_len, 0, NULL) > 0 &&
                      EVP_CIPHER_CTX_set_padding(c, 0) > 0 &&
                      EVP_CipherUpdate(c, back, &k, with_object, n) > 0 && k == (int)sizeof(text) &&
                      memcmp(back, text, sizeof(text)) == 0;
    if (!good) {
        tap_diag("%s, key of type %s: %s", name, type,
                 object == NULL ? "no object" : skey.provider(object));
        ERR_print_errors_fp(stderr);
    }
    skey.release(object);
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Checks that the default provider's cipher accepts a key object of tenrounds after
 * EVP_SKEY_to_provider(). */
static bool other_cipher_takes_copy(OSSL_PROVIDER *their_provider)
{
    uint8_t key[32] = {1}, iv[16] = {2};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(preferring, "ChaCha20", NULL);
    void *object = skey.import(preferring, "GENERIC-SECRET", key, sizeof(key), NULL);
    void *copy = skey.to_provider(object, preferring, their_provider, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = copy != NULL && strcmp(skey.provider(copy), "default") == 0 &&
                      skey.init(ctx, cipher, copy, iv, sizeof(iv), 1, NULL) > 0;
    EVP_CIPHER_CTX_free(ctx);
    skey.release(copy);
    skey.release(object);
    EVP_CIPHER_free(cipher);
    return good;
}

static bool objects_work(OSSL_PROVIDER *their_provider)
{
    static const char *const names[] = {"AES-128-ECB",  "AES-128-CBC", "AES-192-CFB",
                                        "AES-256-OFB",  "AES-256-CTR", "AES-128-GCM",
                                        "AES-256-WRAP", "AES-128-XTS"};
    bool good = true;
    if (!skey_found()) {
        const bool early = OPENSSL_version_major() == 3 && OPENSSL_version_minor() < 5;
        tap_diag("OpenSSL %s has no EVP_SKEY", OpenSSL_version(OPENSSL_VERSION_STRING));
        return early;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        good &= object_works(names[i], "AES") && object_works(names[i], "GENERIC-SECRET");
    /* An "AES" key cannot have 64 bytes. */
    return good && object_works("AES-256-XTS", "GENERIC-SECRET") &&
           other_cipher_takes_copy(their_provider);
}

int main(void)
{
    const struct counting counting = counting_new();
    setenv("TENROUNDS_COUNTERS", counting.path, 1);
    counters = trossl_counters_open(counting.path, TROSSL_HOST_PROVIDER);
    if (counters == NULL)
        return 2;
    tap_plan(2 * MAC_CASES + USERS + 2);

    struct evp_side us = evp_open("tenrounds"), them = evp_open("default");
    for (unsigned i = 0; i < MAC_CASES; i++)
        tap_ok(mac_alone(&us, &mac_cases[i]), "%s with %s: %s without other providers",
               mac_cases[i].mac, mac_cases[i].cipher, mac_cases[i].ours ? "works" : "is refused");
    OSSL_PROVIDER *const also = OSSL_PROVIDER_load(us.libctx, "default");
    preferring = us.libctx;
    plain = them.libctx;
    EVP_set_default_properties(preferring, "?provider=tenrounds");
    struct tap_random random = tap_random(1);
    for (unsigned i = 0; i < MAC_CASES; i++)
        tap_ok(mac_is_the_same(&mac_cases[i], &random),
               "%s with %s: same result as without tenrounds, by %s code", mac_cases[i].mac,
               mac_cases[i].cipher, mac_cases[i].ours ? "our" : "the default provider's");
    for (unsigned i = 0; i < USERS; i++)
        tap_ok(user_is_the_same(i, &random),
               "%s with %s: same result as without tenrounds, by %s CMAC", users[i].what,
               users[i].cipher, users[i].ours ? "our" : "the default provider's");
    tap_ok(table_keeps_keys(&us), "key managers accept the key lengths of the default provider");
    tap_ok(objects_work(also), "key objects work with our ciphers, if libcrypto has key objects");
    OSSL_PROVIDER_unload(also);
    evp_close(&us);
    evp_close(&them);
    trossl_counters_close((struct trossl_counters_file *)counters);
    return tap_done();
}
