/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcrypto's random generator on top of our AES-256-CTR: the provider is preferred, as a
 * configuration would have it, before anything random is asked for. Start-up, reseeding, sixteen
 * threads and children of fork, in each of which the numbers have to differ.
 */
#define _GNU_SOURCE
#include "sides.h"

#include <openssl/rand.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 16
#define DRAWS   200
#define BYTES   32

static OSSL_LIB_CTX *libctx;

static bool draw(uint8_t *out)
{
    return RAND_bytes_ex(libctx, out, BYTES, 0) > 0;
}

/* What the generators sit on. */
static bool on_ours(void)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "AES-256-CTR", NULL);
    const bool good =
        cipher != NULL &&
        strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), "tenrounds") == 0;
    EVP_CIPHER_free(cipher);
    return good;
}

/* The generator itself, too, is the default provider's CTR-DRBG, on AES-256-CTR. */
static bool is_ctr_drbg(void)
{
    char name[32] = "";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, name, sizeof(name)),
        OSSL_PARAM_END};
    EVP_RAND_CTX *rand = RAND_get0_public(libctx);
    return rand != NULL && EVP_RAND_CTX_get_params(rand, params) > 0 &&
           strcmp(name, "AES-256-CTR") == 0;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, BYTES);
}

static bool all_differ(uint8_t (*drawn)[BYTES], size_t n)
{
    bool differ = true;
    qsort(drawn, n, BYTES, by_bytes);
    for (size_t i = 1; i < n; i++)
        differ = differ && memcmp(drawn[i - 1], drawn[i], BYTES) != 0;
    return differ;
}

static bool reseeds(void)
{
    uint8_t drawn[20][BYTES];
    bool good = true;
    for (int i = 0; i < 20; i++) {
        EVP_RAND_CTX *const generators[] = {RAND_get0_primary(libctx), RAND_get0_public(libctx)};
        for (int g = 0; g < 2; g++)
            good &= EVP_RAND_reseed(generators[g], i % 2, NULL, 0, NULL, 0) > 0;
        good &= draw(drawn[i]);
    }
    return good && all_differ(drawn, 20);
}

/* By itself, after so many requests. */
static bool reseeds_by_itself(void)
{
    unsigned requests = 3;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_REQUESTS, &requests),
                           OSSL_PARAM_END};
    uint8_t drawn[40][BYTES];
    bool good = EVP_RAND_CTX_set_params(RAND_get0_public(libctx), params) > 0;
    for (int i = 0; i < 40; i++)
        good &= draw(drawn[i]);
    return good && all_differ(drawn, 40);
}

static uint8_t in_threads[THREADS][DRAWS][BYTES];

static void *work(void *number)
{
    uint8_t(*const mine)[BYTES] = in_threads[(uintptr_t)number];
    bool good = true;
    for (int i = 0; i < DRAWS; i++)
        good &= i % 50 != 7 || EVP_RAND_reseed(RAND_get0_public(libctx), 0, NULL, 0, NULL, 0) > 0;
    for (int i = 0; i < DRAWS; i++)
        good &= draw(mine[i]);
    return good ? mine : NULL;
}

static bool threads(void)
{
    pthread_t thread[THREADS];
    bool good = true;
    for (uintptr_t i = 0; i < THREADS; i++)
        good &= pthread_create(&thread[i], NULL, work, (void *)i) == 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        good &= pthread_join(thread[i], &result) == 0 && result != NULL;
    }
    return good && all_differ(in_threads[0], THREADS * DRAWS);
}

/* Parent and children go on from one state, and draw different numbers. */
static bool forks(void)
{
    uint8_t drawn[5][BYTES];
    bool good = true;
    for (int i = 0; i < 4; i++) {
        int pipes[2], status = -1;
        if (pipe(pipes) != 0)
            return false;
        const pid_t child = fork();
        if (child == 0)
            _exit(draw(drawn[i]) && write(pipes[1], drawn[i], BYTES) == BYTES ? 0 : 1);
        good &= child > 0 && read(pipes[0], drawn[i], BYTES) == BYTES &&
                waitpid(child, &status, 0) == child && status == 0;
        close(pipes[0]);
        close(pipes[1]);
    }
    return draw(drawn[4]) && good && all_differ(drawn, 5);
}

static bool begins(void)
{
    uint8_t drawn[BYTES], zeros[BYTES] = {0};
    return draw(drawn) && memcmp(drawn, zeros, BYTES) != 0;
}

int main(void)
{
    tap_plan(7);
    libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *of_default = OSSL_PROVIDER_load(libctx, "default");
    OSSL_PROVIDER *of_tenrounds = OSSL_PROVIDER_load(libctx, "tenrounds");
    if (of_default == NULL || of_tenrounds == NULL ||
        EVP_set_default_properties(libctx, "?provider=tenrounds") <= 0) {
        ERR_print_errors_fp(stderr);
        return 2;
    }
    tap_ok(on_ours(), "AES-256-CTR is ours");
    tap_ok(begins(), "the first number");
    tap_ok(is_ctr_drbg(), "the generator is on AES-256-CTR");
    tap_ok(reseeds(), "reseeded, with and without prediction resistance");
    tap_ok(threads(), "%d threads that draw and reseed", THREADS);
    tap_ok(forks(), "children of fork");
    tap_ok(reseeds_by_itself(), "reseeds by itself");
    OSSL_PROVIDER_unload(of_tenrounds);
    OSSL_PROVIDER_unload(of_default);
    OSSL_LIB_CTX_free(libctx);
    return tap_done();
}
