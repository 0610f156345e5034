/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the provider in a busy program: eight threads, children of fork, several library contexts,
 * and repeated loading and unloading. The expected bytes come from the default provider.
 */
#define _GNU_SOURCE
#include "sides.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define BYTES   4096

static struct evp_side us;
static uint8_t expected[EVP_CIPHERS][BYTES];
static const uint8_t key[32] = "a key that is 32 bytes long, no", iv[16] = "sixteen bytes..";

static bool encrypt(const struct evp_side *side, unsigned i, uint8_t *out)
{
    static const uint8_t zeros[BYTES];
    int n, m = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(side->libctx, evp_cipher_name(i), NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = cipher != NULL && EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL) > 0 &&
                      EVP_CIPHER_CTX_set_padding(ctx, 0) > 0 &&
                      EVP_CipherUpdate(ctx, out, &n, zeros, BYTES) > 0 &&
                      EVP_CipherFinal_ex(ctx, out + n, &m) > 0 && n + m == BYTES;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

static bool all_ciphers(const struct evp_side *side)
{
    uint8_t out[BYTES + 16];
    bool good = true;
    for (unsigned i = 0; good && i < EVP_CIPHERS; i++)
        good = encrypt(side, i, out) && memcmp(out, expected[i], BYTES) == 0;
    return good;
}

static void *in_one_context(void *result)
{
    bool good = true;
    for (int i = 0; good && i < 30; i++)
        good = all_ciphers(&us);
    *(bool *)result = good;
    return NULL;
}

static void *in_own_context(void *result)
{
    bool good = true;
    for (int i = 0; good && i < 5; i++) {
        struct evp_side own = evp_open("tenrounds");
        good = all_ciphers(&own);
        evp_close(&own);
    }
    *(bool *)result = good;
    return NULL;
}

/* ---- MACs of tenrounds; the second MAC uses a cipher of the default provider ----------------- */

#define MACS 3
static const struct {
    const char *mac, *cipher;
    size_t key_len, len;
} macs[MACS] = {{"CMAC", "AES-256-CBC", 32, 16},
                {"CMAC", "DES-EDE3-CBC", 24, 8},
                {"GMAC", "AES-128-GCM", 16, 16}};
static uint8_t expected_tags[MACS][16];
static struct both {
    struct evp_side us;
    OSSL_PROVIDER *also; /* the default provider */
} both;

static bool tag_of(const struct evp_side *side, unsigned i, uint8_t tag[16])
{
    static const uint8_t zeros[BYTES];
    size_t len = 0;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)macs[i].cipher, 0),
        macs[i].mac[0] == 'G' ? OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)iv, 12)
                              : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(side->libctx, macs[i].mac, NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac), *copy = NULL;
    const bool good = EVP_MAC_init(ctx, key, macs[i].key_len, params) > 0 &&
                      EVP_MAC_update(ctx, zeros, 1001) > 0 &&
                      (copy = EVP_MAC_CTX_dup(ctx)) != NULL &&
                      EVP_MAC_update(copy, zeros, BYTES - 1001) > 0 &&
                      EVP_MAC_final(copy, tag, &len, 16) > 0 && len == macs[i].len;
    EVP_MAC_CTX_free(copy);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    return good;
}

static bool all_macs(const struct evp_side *side)
{
    uint8_t tag[16];
    bool good = true;
    for (unsigned i = 0; good && i < MACS; i++)
        good = tag_of(side, i, tag) && memcmp(tag, expected_tags[i], macs[i].len) == 0;
    return good;
}

static struct both open_both(void)
{
    struct both both_of = {evp_open("tenrounds"), NULL};
    both_of.also = OSSL_PROVIDER_load(both_of.us.libctx, "default");
    if (both_of.also == NULL ||
        !EVP_set_default_properties(both_of.us.libctx, "?provider=tenrounds"))
        exit(2);
    return both_of;
}

static void close_both(struct both *both_of)
{
    OSSL_PROVIDER_unload(both_of->also);
    evp_close(&both_of->us);
}

static void *macs_in_one_context(void *result)
{
    bool good = true;
    for (int i = 0; good && i < 100; i++)
        good = all_macs(&both.us);
    *(bool *)result = good;
    return NULL;
}

static void *macs_in_own_context(void *result)
{
    bool good = true;
    for (int i = 0; good && i < 5; i++) {
        struct both own = open_both();
        good = all_macs(&own.us);
        close_both(&own);
    }
    *(bool *)result = good;
    return NULL;
}

/* Checks MACs after a fork, in parent and child. The library context was opened before the fork. */
static bool macs_across_fork(void)
{
    int status = -1;
    const pid_t child = fork();
    const bool good = child >= 0 && all_macs(&both.us);
    if (child == 0)
        _exit(good ? 0 : 1);
    return good && waitpid(child, &status, 0) == child && status == 0;
}

static bool in_threads(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    bool good[THREADS] = {false}, all = true;
    for (int i = 0; i < THREADS; i++)
        all &= pthread_create(&threads[i], NULL, work, &good[i]) == 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all &= good[i];
    }
    return all;
}

/* Forks in the middle of a message, which parent and child must both complete. */
static bool across_fork(unsigned i)
{
    static const uint8_t zeros[BYTES];
    uint8_t out[BYTES + 16];
    int n, m = 0, status = -1;
    EVP_CIPHER *cipher = evp_fetch(&us, evp_cipher_name(i));
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL) > 0 &&
                EVP_CIPHER_CTX_set_padding(ctx, 0) > 0 &&
                EVP_CipherUpdate(ctx, out, &n, zeros, 1001) > 0;
    const pid_t child = fork();
    good = good && child >= 0 && EVP_CipherUpdate(ctx, out + n, &m, zeros, BYTES - 1001) > 0 &&
           n + m == BYTES && memcmp(out, expected[i], BYTES) == 0;
    if (child == 0)
        _exit(good && all_ciphers(&us) ? 0 : 1);
    good = good && waitpid(child, &status, 0) == child && status == 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Uses four library contexts at once, and closes them one by one while the others are in use. */
static bool several_contexts(void)
{
    struct evp_side sides[4];
    bool good = true;
    for (int i = 0; i < 4; i++)
        sides[i] = evp_open("tenrounds");
    for (int i = 0; i < 4; i++) {
        for (int j = i; j < 4; j++)
            good &= all_ciphers(&sides[j]);
        evp_close(&sides[i]);
    }
    return good;
}

static bool load_and_unload(void)
{
    bool good = true;
    for (int i = 0; good && i < 50; i++) {
        struct evp_side side = evp_open("tenrounds");
        good = i % 10 != 0 || all_ciphers(&side);
        evp_close(&side);
    }
    return good;
}

/* Checks that loading is fast. Takes the minimum of 20 loads, in CPU time so that other processes
 * have no effect. */
static bool quick_to_load(void)
{
    double best = 1;
    for (int i = 0; i < 20; i++) {
        struct timespec a, b;
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, "tenrounds");
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        const double seconds =
            (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
        best = seconds < best ? seconds : best;
        OSSL_PROVIDER_unload(provider);
        OSSL_LIB_CTX_free(libctx);
    }
    tap_diag("loading takes %.3f ms", best * 1e3);
    return best * 1e3 < LOAD_LIMIT_MS;
}

/* Checks that a cipher works after its provider was unloaded, because the cipher holds a reference
 * to the provider. */
static bool cipher_outlives_unload(void)
{
    uint8_t out[BYTES + 16], zeros[BYTES] = {0};
    int n;
    struct evp_side side = evp_open("tenrounds");
    EVP_CIPHER *cipher = evp_fetch(&side, "AES-256-CTR");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = EVP_CipherInit_ex2(ctx, cipher, key, iv, 1, NULL) > 0;
    OSSL_PROVIDER_unload(side.provider);
    good = good && EVP_CipherUpdate(ctx, out, &n, zeros, BYTES) > 0 &&
           memcmp(out, expected[14], BYTES) == 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    OSSL_LIB_CTX_free(side.libctx);
    return good;
}

int main(void)
{
    tap_plan(9 + EVP_CIPHERS);
    struct evp_side them = evp_open("default");
    for (unsigned i = 0; i < EVP_CIPHERS; i++) {
        uint8_t out[BYTES + 16];
        if (!encrypt(&them, i, out)) {
            tap_ok(false, "the default provider has no %s", evp_cipher_name(i));
            return tap_done();
        }
        memcpy(expected[i], out, BYTES);
    }
    for (unsigned i = 0; i < MACS; i++) {
        if (!tag_of(&them, i, expected_tags[i])) {
            tap_ok(false, "the default provider has no %s", macs[i].cipher);
            return tap_done();
        }
    }
    us = evp_open("tenrounds");
    both = open_both();
    tap_ok(in_threads(macs_in_one_context),
           "MACs are right in %d threads that share a library context", THREADS);
    tap_ok(in_threads(macs_in_own_context),
           "MACs are right in %d threads that load and unload the provider", THREADS);
    tap_ok(macs_across_fork(), "MACs are right in parent and child after fork");
    close_both(&both);
    tap_ok(in_threads(in_one_context),
           "ciphers are right in %d threads that share a library context", THREADS);
    tap_ok(in_threads(in_own_context),
           "ciphers are right in %d threads that load and unload the provider", THREADS);
    for (unsigned i = 0; i < EVP_CIPHERS; i++)
        tap_ok(across_fork(i), "%s: parent and child complete a message that began before fork",
               evp_cipher_name(i));
    evp_close(&us);
    tap_ok(several_contexts(), "library contexts work while others are closed");
    tap_ok(load_and_unload(), "the provider loads and unloads 50 times");
    tap_ok(quick_to_load(), "loading takes less than %d ms", LOAD_LIMIT_MS);
    tap_ok(cipher_outlives_unload(), "a cipher works after its provider was unloaded");
    evp_close(&them);
    return tap_done();
}
