/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures what a short program pays: loading the provider, loading it into a second library
 * context, and the first use of each mode. Compares tenrounds with the default provider. Each
 * measurement runs in a new process, because a process runs the known-answer tests of an operation
 * only once. Prints medians in µs. No time is a failure; a failed call is.
 *
 *     OPENSSL_MODULES=build/c/openssl/provider build/c/tests/openssl/openssl-first_use 101
 *
 * The argument is the number of processes per median.
 */
#define _POSIX_C_SOURCE 200809L
#include "sides.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOAD, ANOTHER, FIRST, AGAIN, TIMES };
#define MOST 1001

static const char *const ciphers[] = {
    "AES-128-ECB", "AES-128-CBC", "AES-128-CFB",  "AES-128-OFB",     "AES-128-CTR",  "AES-128-GCM",
    "AES-256-GCM", "AES-128-CCM", "AES-128-XTS",  "AES-256-XTS",     "AES-128-OCB",  "AES-128-SIV",
    "AES-256-CBC", "AES-256-CTR", "AES-128-CFB8", "AES-128-CBC-CTS", "AES-128-WRAP",
};
#define CIPHERS (sizeof(ciphers) / sizeof(*ciphers))

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Encrypts 64 bytes with a new context. Fetches the cipher before the time begins. Returns the time
 * in µs, or a negative number if a call fails. */
static double use(OSSL_LIB_CTX *libctx, const char *name)
{
    static const unsigned char raw[64] = "two different halves, because XTS refuses equal halves";
    static const unsigned char iv[16], in[64];
    unsigned char out[80];
    int n = 0, last = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (cipher == NULL || ctx == NULL)
        return -1;
    EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    const double begin = now();
    const bool good = EVP_EncryptInit_ex2(ctx, cipher, raw, iv, NULL) == 1 &&
                      EVP_EncryptUpdate(ctx, out, &n, in, sizeof(in)) == 1 &&
                      EVP_EncryptFinal_ex(ctx, out + n, &last) == 1;
    const double end = now();
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good ? end - begin : -1;
}

static bool measure(const char *provider, const char *cipher, double times[TIMES])
{
    /* libcrypto's own first steps take 0.3 ms, whatever the provider. */
    OSSL_LIB_CTX *other = OSSL_LIB_CTX_new();
    if (OSSL_PROVIDER_load(other, "default") == NULL || use(other, "ChaCha20") < 0)
        return false;
    OSSL_LIB_CTX *libctx[2] = {OSSL_LIB_CTX_new(), OSSL_LIB_CTX_new()};
    double begin = now();
    if (OSSL_PROVIDER_load(libctx[0], provider) == NULL)
        return false;
    times[LOAD] = now() - begin;
    begin = now();
    if (OSSL_PROVIDER_load(libctx[1], provider) == NULL)
        return false;
    times[ANOTHER] = now() - begin;
    times[FIRST] = use(libctx[0], cipher);
    times[AGAIN] = use(libctx[0], cipher);
    return times[FIRST] >= 0 && times[AGAIN] >= 0;
}

static bool in_a_process(const char *provider, const char *cipher, double times[TIMES])
{
    int ends[2], status;
    if (pipe(ends) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        const bool good = measure(provider, cipher, times);
        _exit(good && write(ends[1], times, TIMES * sizeof(*times)) > 0 ? 0 : 1);
    }
    close(ends[1]);
    const bool good =
        read(ends[0], times, TIMES * sizeof(*times)) == (ssize_t)(TIMES * sizeof(*times));
    close(ends[0]);
    return waitpid(child, &status, 0) == child && status == 0 && good;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const providers[2] = {"default", "tenrounds"};
    static double samples[2][TIMES][MOST];
    const int n = argc > 1 ? atoi(argv[1]) : 3;
    if (n < 1 || n > MOST) {
        fprintf(stderr, "usage: %s [PROCESSES], from 1 to %d\n", argv[0], MOST);
        return 2;
    }
    tap_plan(CIPHERS);
    tap_diag("medians of %d processes, in µs: default, tenrounds", n);
    for (size_t c = 0; c < CIPHERS; c++) {
        bool good = true;
        for (int i = 0; i < n; i++) {
            for (int p = 0; p < 2; p++) {
                double times[TIMES] = {0};
                good &= in_a_process(providers[p], ciphers[c], times);
                for (int t = 0; t < TIMES; t++)
                    samples[p][t][i] = times[t];
            }
        }
        for (int p = 0; p < 2; p++)
            for (int t = 0; t < TIMES; t++)
                qsort(samples[p][t], (size_t)n, sizeof(double), by_size);
        const int m = n / 2;
        tap_ok(good,
               "%s: load %.1f, %.1f; another context %.1f, %.1f; first use %.1f, %.1f; second use "
               "%.1f, %.1f",
               ciphers[c], samples[0][LOAD][m], samples[1][LOAD][m], samples[0][ANOTHER][m],
               samples[1][ANOTHER][m], samples[0][FIRST][m], samples[1][FIRST][m],
               samples[0][AGAIN][m], samples[1][AGAIN][m]);
    }
    return tap_done();
}
