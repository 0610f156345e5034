/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases that interrupt messages: low memory, the end of a thread, other contexts, fork, signals and
 * longjmp(). The provider's test (faults.c) and the engine's test (engine_faults.c) share these
 * cases. The engine's test also runs with OpenSSL 1.1.1, so the cases use only calls of that
 * version.
 */
#ifndef TENROUNDS_TESTS_UNFINISHED_H
#define TENROUNDS_TESTS_UNFINISHED_H

#include "tap.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTEXTS 10000
#define BYTES    1000
#define HALF     400
#define NAMES    4
#define CASES    (LIMIT_WORKS ? 6 : 5) /* results of unfinished_cases() */

static const char *const names[NAMES] = {"AES-128-CBC", "AES-256-CTR", "AES-128-GCM",
                                         "AES-256-CFB"};

/* Whether the address space can be limited. AddressSanitizer reserves more address space than the
 * limit allows, and the emulator of the cross build ignores the limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(EMULATED)
#    define LIMIT_WORKS false
#else
#    define LIMIT_WORKS true
#endif

/* The ciphers under test. In the engine's test, `engine` implements these ciphers of libcrypto. */
static const EVP_CIPHER *ciphers[NAMES];
static ENGINE *engine;

static uint8_t key[32], iv[16], data[BYTES], expected[NAMES][BYTES + 16];
static int expected_len[NAMES];

/* ---- Messages in two halves ----------------------------------------------------------------- */

static bool begin_with(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, ENGINE *e, uint8_t *out,
                       int *len)
{
    return EVP_EncryptInit_ex(ctx, cipher, e, key, iv) > 0 &&
           EVP_EncryptUpdate(ctx, out, len, data, HALF) > 0;
}

static bool first_half(EVP_CIPHER_CTX *ctx, unsigned i, uint8_t *out, int *len)
{
    return begin_with(ctx, ciphers[i], engine, out, len);
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
static bool message_in(EVP_CIPHER_CTX *ctx, unsigned i)
{
    uint8_t out[BYTES + 32];
    int len;
    return ctx != NULL && first_half(ctx, i, out, &len) && second_half(ctx, out, &len) &&
           is_expected(i, out, len);
}

static bool message(unsigned i)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = message_in(ctx, i);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Draws key, IV and data. */
static void unfinished_draw(void)
{
    struct tap_random random = tap_random(0);
    tap_fill(&random, key, sizeof(key));
    tap_fill(&random, iv, sizeof(iv));
    tap_fill(&random, data, sizeof(data));
}

/* Sets the expected bytes of message i, which another implementation computes. */
static bool unfinished_expect(unsigned i, const EVP_CIPHER *other)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = begin_with(ctx, other, NULL, expected[i], &expected_len[i]) &&
                      second_half(ctx, expected[i], &expected_len[i]);
    EVP_CIPHER_CTX_free(ctx);
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
        good = many[i].ctx != NULL && first_half(many[i].ctx, i % NAMES, many[i].out, &many[i].len);
    }
    for (unsigned n = 0; n < CONTEXTS; n++) {
        const unsigned i = (unsigned)(n * 7919ul % CONTEXTS); /* coprime, so each once */
        good = good && second_half(many[i].ctx, many[i].out, &many[i].len) &&
               is_expected(i % NAMES, many[i].out, many[i].len);
        EVP_CIPHER_CTX_free(many[i].ctx);
        many[i].ctx = NULL;
    }
    return good;
}

/* Begins one message of each cipher in many[0], many[1], .. */
static bool begin_each(void)
{
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        many[i].ctx = EVP_CIPHER_CTX_new();
        good = good && first_half(many[i].ctx, i, many[i].out, &many[i].len);
    }
    return good;
}

static bool end_each(void)
{
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        good = good && second_half(many[i].ctx, many[i].out, &many[i].len) &&
               is_expected(i, many[i].out, many[i].len);
        EVP_CIPHER_CTX_free(many[i].ctx);
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
           first_half(many[n].ctx, n % NAMES, many[n].out, &many[n].len))
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
    return begin_each() ? arg : NULL;
}

static void *end_in_thread(void *arg)
{
    return end_each() ? arg : NULL;
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

/* ---- fork ----------------------------------------------------------------------------------- */

/* Forks in the middle of messages. Child and parent must both complete them. */
static bool halves_across_fork(void)
{
    const bool begun = begin_each();
    const bool child_ends = in_child(end_each);
    return end_each() && begun && child_ends;
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
    if (EVP_EncryptInit_ex(of_handler[i], NULL, NULL, NULL, iv) <= 0 ||
        EVP_EncryptUpdate(of_handler[i], out, &len, data, BYTES) <= 0 ||
        EVP_EncryptFinal_ex(of_handler[i], out + len, &n) <= 0 || len + n != expected_len[i] ||
        memcmp(out, expected[i], (size_t)(len + n)) != 0)
        wrong_in_handler = 1;
    signals++;
    errno = error;
}

/* Sends SIGPROF after each millisecond of CPU time, or stops that. */
static void interrupt_often(bool often)
{
    const struct itimerval every = {{0, often ? 1000 : 0}, {0, often ? 1000 : 0}};
    setitimer(ITIMER_PROF, &every, NULL);
}

/* Interrupts messages at random with a timer of CPU time. The handler encrypts with the same vector
 * registers. The interrupted messages and the handler's messages must both be right. */
static bool signals_interrupt(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, old;
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        of_handler[i] = EVP_CIPHER_CTX_new();
        good = good && EVP_EncryptInit_ex(of_handler[i], ciphers[i], engine, key, iv) > 0;
    }
    sigaction(SIGPROF, &action, &old);
    interrupt_often(true);
    for (unsigned i = 0; good && signals < 300 && i < 10000000; i++)
        good = message(i % NAMES);
    interrupt_often(false);
    sigaction(SIGPROF, &old, NULL);
    for (unsigned i = 0; i < NAMES; i++)
        EVP_CIPHER_CTX_free(of_handler[i]);
    tap_diag("%d signals", (int)signals);
    return good && !wrong_in_handler && signals >= 300;
}

/* ---- longjmp() ------------------------------------------------------------------------------ */

static sigjmp_buf out_of_call;
static volatile sig_atomic_t inside; /* in a call that the handler may leave */

static void jump(int number)
{
    (void)number;
    if (!inside)
        return;
    inside = 0;
    siglongjmp(out_of_call, 1);
}

/* Encrypts until the signal handler leaves the call. Nearly all the time is in the cipher, because
 * an update has 64 KiB. */
static void encrypt_until_jump(EVP_CIPHER_CTX *ctx)
{
    static uint8_t large[1 << 16], out[sizeof(large) + 32];
    int n;
    if (sigsetjmp(out_of_call, 1) != 0)
        return;
    inside = 1;
    while (EVP_EncryptUpdate(ctx, out, &n, large, (int)sizeof(large)) > 0)
        ;
    inside = 0;
}

/* Leaves calls by siglongjmp() out of a signal handler. The interrupted context `left` is a copy.
 * The original must complete its message. After a new init, `left` must encrypt a whole message.
 * So must a new context. */
static bool handler_jumps(void)
{
    struct sigaction action = {.sa_handler = jump, .sa_flags = SA_RESTART}, old;
    bool good = true;
    sigaction(SIGPROF, &action, &old);
    interrupt_often(true);
    for (unsigned n = 0; good && n < 10 * NAMES; n++) {
        const unsigned i = n % NAMES;
        uint8_t out[BYTES + 32];
        int len;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *left = EVP_CIPHER_CTX_new();
        good = ctx != NULL && left != NULL && first_half(ctx, i, out, &len) &&
               EVP_CIPHER_CTX_copy(left, ctx) > 0;
        if (good)
            encrypt_until_jump(left);
        good = good && second_half(ctx, out, &len) && is_expected(i, out, len) &&
               message_in(left, i) && message(i);
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_CTX_free(left);
    }
    interrupt_often(false);
    sigaction(SIGPROF, &old, NULL);
    return good;
}

/* ---- The cases ------------------------------------------------------------------------------ */

static void unfinished_cases(void)
{
    /* Must be the first test: memory that another test has freed could be used again without
     * reaching the limit. */
    if (LIMIT_WORKS)
        tap_ok(in_child(within_limit),
               "messages begin until memory ends; those that began are right");
    tap_ok(many_contexts(), "%d messages at once", CONTEXTS);
    tap_ok(threads_end(), "messages go on after the thread that began them has ended");
    tap_ok(halves_across_fork(), "parent and child complete messages that began before fork");
    tap_ok(signals_interrupt(), "a signal handler may encrypt with contexts of its own");
    tap_ok(handler_jumps(), "a signal handler may leave a call by siglongjmp()");
}

#endif
