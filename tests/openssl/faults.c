/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the provider in a program with little memory, many contexts, threads that end, signals, and
 * unloading in the middle of a message. The expected bytes come from the default provider.
 */
#define _GNU_SOURCE
#include "sides.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTEXTS 10000
#define BYTES    1000
#define HALF     400

static const char *const names[] = {"AES-128-CBC", "AES-256-CTR", "AES-128-GCM", "AES-256-CFB"};
#define NAMES 4

/* Whether the address space can be limited. AddressSanitizer reserves more than a limit would
 * leave, and the emulator of the cross build ignores the limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(EMULATED)
#    define LIMIT_WORKS false
#else
#    define LIMIT_WORKS true
#endif

static struct evp_side ours, theirs;
static EVP_CIPHER *ciphers[NAMES];
static uint8_t key[32], iv[16], data[BYTES], expected[NAMES][BYTES + 16];
static int expected_len[NAMES];

/* ---- Messages in two halves ----------------------------------------------------------------- */

static bool first_half(EVP_CIPHER_CTX *ctx, EVP_CIPHER *cipher, uint8_t *out, int *len)
{
    return EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL) > 0 &&
           EVP_EncryptUpdate(ctx, out, len, data, HALF) > 0;
}

static bool second_half(EVP_CIPHER_CTX *ctx, uint8_t *out, int *len)
{
    int n, m;
    if (EVP_EncryptUpdate(ctx, out + *len, &n, data + HALF, BYTES - HALF) <= 0 ||
        EVP_EncryptFinal_ex(ctx, out + *len + n, &m) <= 0)
        return false;
    *len += n + m;
    return true;
}

static bool is_expected(unsigned i, const uint8_t *out, int len)
{
    return len == expected_len[i] && tap_same(out, expected[i], (size_t)len);
}

/* Whether a whole message is right. */
static bool message(unsigned i)
{
    uint8_t out[BYTES + 32];
    int len;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = ctx != NULL && first_half(ctx, ciphers[i], out, &len) &&
                      second_half(ctx, out, &len) && is_expected(i, out, len);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static bool expect(void)
{
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *cipher = evp_fetch(&theirs, names[i]);
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good = good && first_half(ctx, cipher, expected[i], &expected_len[i]) &&
               second_half(ctx, expected[i], &expected_len[i]);
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    }
    return good;
}

/* ---- Many contexts -------------------------------------------------------------------------- */

static struct {
    EVP_CIPHER_CTX *ctx;
    uint8_t out[BYTES + 32];
    int len;
} many[CONTEXTS];

/* Begins a message in each context, and then ends them in another order. */
static bool many_contexts(void)
{
    bool good = true;
    for (unsigned i = 0; good && i < CONTEXTS; i++) {
        many[i].ctx = EVP_CIPHER_CTX_new();
        good = many[i].ctx != NULL &&
               first_half(many[i].ctx, ciphers[i % NAMES], many[i].out, &many[i].len);
    }
    for (unsigned n = 0; n < CONTEXTS; n++) {
        const unsigned i = (unsigned)(n * 7919ul % CONTEXTS); /* each once: 7919 is prime */
        good = good && second_half(many[i].ctx, many[i].out, &many[i].len) &&
               is_expected(i % NAMES, many[i].out, many[i].len);
        EVP_CIPHER_CTX_free(many[i].ctx);
        many[i].ctx = NULL;
    }
    return good;
}

/* ---- Little memory -------------------------------------------------------------------------- */

/* Begins messages until the limit of the address space (ulimit -v) leaves no room. Then ends all of
 * them, and encrypts new ones. Runs in a child, because the limit cannot be undone. */
static bool within_limit(void)
{
    struct rlimit limit = {0, 0};
    long pages = 0;
    unsigned n = 0;
    bool good = true;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld", &pages) != 1)
        return false;
    fclose(f);
    limit.rlim_cur = limit.rlim_max = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (2u << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    while (n < CONTEXTS && (many[n].ctx = EVP_CIPHER_CTX_new()) != NULL &&
           first_half(many[n].ctx, ciphers[n % NAMES], many[n].out, &many[n].len))
        n++;
    const bool ran_out = n > 100 && n < CONTEXTS;
    ERR_clear_error();
    if (n < CONTEXTS)
        EVP_CIPHER_CTX_free(many[n].ctx);
    for (unsigned i = 0; i < n; i++) {
        good = good && second_half(many[i].ctx, many[i].out, &many[i].len) &&
               is_expected(i % NAMES, many[i].out, many[i].len);
        EVP_CIPHER_CTX_free(many[i].ctx);
    }
    for (unsigned i = 0; i < NAMES; i++)
        good = good && message(i);
    return ran_out && good;
}

static bool in_child(bool (*test)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(test() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* ---- Threads that end ----------------------------------------------------------------------- */

static void *begin_in_thread(void *arg)
{
    for (unsigned i = 0; i < NAMES; i++) {
        many[i].ctx = EVP_CIPHER_CTX_new();
        if (!first_half(many[i].ctx, ciphers[i], many[i].out, &many[i].len))
            return NULL;
    }
    return arg;
}

static void *end_in_thread(void *arg)
{
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        good = good && second_half(many[i].ctx, many[i].out, &many[i].len) &&
               is_expected(i, many[i].out, many[i].len);
        EVP_CIPHER_CTX_free(many[i].ctx);
    }
    return good ? arg : NULL;
}

static bool in_thread(void *(*work)(void *))
{
    static char yes;
    pthread_t thread;
    void *result = NULL;
    return pthread_create(&thread, NULL, work, &yes) == 0 && pthread_join(thread, &result) == 0 &&
           result == &yes;
}

/* One thread begins messages and exits. Another thread ends the messages and frees the contexts
 * that the first thread made. */
static bool threads_end(void)
{
    bool good = true;
    for (int i = 0; good && i < 50; i++)
        good = in_thread(begin_in_thread) && in_thread(end_in_thread);
    return good;
}

/* ---- Signals -------------------------------------------------------------------------------- */

static EVP_CIPHER_CTX *of_handler[NAMES];
static volatile sig_atomic_t signals, wrong_in_handler;

/* Encrypts with contexts that signals_interrupt() has made, because a signal handler must not
 * allocate memory. */
static void handle(int number)
{
    static uint8_t out[BYTES + 32];
    const unsigned i = (unsigned)signals % NAMES;
    const int error = errno;
    int len = 0, n = 0;
    (void)number;
    if (EVP_EncryptInit_ex2(of_handler[i], NULL, NULL, iv, NULL) <= 0 ||
        EVP_EncryptUpdate(of_handler[i], out, &len, data, BYTES) <= 0 ||
        EVP_EncryptFinal_ex(of_handler[i], out + len, &n) <= 0 || len + n != expected_len[i] ||
        memcmp(out, expected[i], (size_t)(len + n)) != 0)
        wrong_in_handler = 1;
    signals++;
    errno = error;
}

/* Interrupts messages at random with a timer of CPU time. The handler encrypts with the same vector
 * registers. The interrupted messages and the handler's messages must both be right. */
static bool signals_interrupt(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, old;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        of_handler[i] = EVP_CIPHER_CTX_new();
        good = good && EVP_EncryptInit_ex2(of_handler[i], ciphers[i], key, iv, NULL) > 0;
    }
    sigaction(SIGPROF, &action, &old);
    setitimer(ITIMER_PROF, &often, NULL);
    for (unsigned i = 0; good && signals < 300 && i < 10000000; i++)
        good = message(i % NAMES);
    setitimer(ITIMER_PROF, &never, NULL);
    sigaction(SIGPROF, &old, NULL);
    for (unsigned i = 0; i < NAMES; i++)
        EVP_CIPHER_CTX_free(of_handler[i]);
    tap_diag("%d signals", (int)signals);
    return good && !wrong_in_handler && signals >= 300;
}

/* ---- Unloading ------------------------------------------------------------------------------ */

/* Unloads the provider and frees its library context in the middle of a message. A cipher context
 * holds a reference to its cipher, and a cipher to its provider. So the module stays loaded until
 * the cipher context is freed. */
static bool unload_with_live_contexts(void)
{
    uint8_t out[NAMES][BYTES + 32];
    int len[NAMES];
    EVP_CIPHER_CTX *ctx[NAMES];
    struct evp_side side = evp_open("tenrounds");
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *cipher = evp_fetch(&side, names[i]);
        ctx[i] = EVP_CIPHER_CTX_new();
        good = good && first_half(ctx[i], cipher, out[i], &len[i]);
        EVP_CIPHER_free(cipher);
    }
    evp_close(&side);
    for (unsigned i = 0; i < NAMES; i++) {
        good = good && second_half(ctx[i], out[i], &len[i]) && is_expected(i, out[i], len[i]);
        EVP_CIPHER_CTX_free(ctx[i]);
    }
    return good;
}

/* Opens the module and closes it in the middle of a message. The module must stay loaded, because
 * libcrypto holds a reference of its own. */
static bool dlclose_with_live_contexts(void)
{
    char path[4096];
    const char *folder = getenv("OPENSSL_MODULES");
    uint8_t out[BYTES + 32];
    int len;
    snprintf(path, sizeof(path), "%s/tenrounds.so", folder != NULL ? folder : ".");
    void *module = dlopen(path, RTLD_NOW);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = module != NULL && first_half(ctx, ciphers[0], out, &len) && dlclose(module) == 0;
    good = good && second_half(ctx, out, &len) && is_expected(0, out, len);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

int main(void)
{
    tap_plan(LIMIT_WORKS ? 6 : 5);
    struct tap_random random = tap_random(0);
    tap_fill(&random, key, sizeof(key));
    tap_fill(&random, iv, sizeof(iv));
    tap_fill(&random, data, sizeof(data));
    theirs = evp_open("default");
    ours = evp_open("tenrounds");
    for (unsigned i = 0; i < NAMES; i++)
        ciphers[i] = evp_fetch(&ours, names[i]);
    if (!expect())
        return 2;
    /* Must be the first test: memory that another test has freed can be used again within the
     * limit. */
    if (LIMIT_WORKS)
        tap_ok(in_child(within_limit),
               "messages begin until memory ends; those that began are right");
    tap_ok(many_contexts(), "%d messages at once", CONTEXTS);
    tap_ok(threads_end(), "messages go on after the thread that began them has ended");
    tap_ok(signals_interrupt(), "a signal handler may encrypt with contexts of its own");
    tap_ok(unload_with_live_contexts(), "messages go on after the provider was unloaded");
    tap_ok(dlclose_with_live_contexts(), "messages go on after dlclose()");
    for (unsigned i = 0; i < NAMES; i++)
        EVP_CIPHER_free(ciphers[i]);
    evp_close(&ours);
    evp_close(&theirs);
    return tap_done();
}
