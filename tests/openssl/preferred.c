/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests a program that prefers tenrounds ("?provider=tenrounds"). The program uses CMAC and GMAC
 * with AES and with other ciphers, and algorithms of the default provider that use CMAC. The
 * results must equal the results without tenrounds. The counters must show which provider's code
 * ran.
 */
#define _GNU_SOURCE
#include "sides.h"

#include "counted.h"

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

int main(void)
{
    const struct counting counting = counting_new();
    setenv("TENROUNDS_COUNTERS", counting.path, 1);
    counters = trossl_counters_open(counting.path, TROSSL_HOST_PROVIDER);
    if (counters == NULL)
        return 2;
    tap_plan(2 * MAC_CASES + USERS);

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
    OSSL_PROVIDER_unload(also);
    evp_close(&us);
    evp_close(&them);
    trossl_counters_close((struct trossl_counters_file *)counters);
    return tap_done();
}
