/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests OpenSSL's random generator (CTR_DRBG, SP 800-90A) on top of tenrounds. It draws at the
 * start of a process, after a reseed, after fork, and in 16 threads. Up to OpenSSL 3.3, the
 * generator fetches AES from the preferred provider, and the counters must show that tenrounds ran.
 * From OpenSSL 3.5 on, the generator uses the AES of the provider that contains the generator
 * (providers/implementations/rands/drbg_ctr.c). The counters must then show that tenrounds did not
 * run.
 *
 * Each case runs in a new process, so that the case draws the first random number of the process.
 * The process prefers tenrounds by configuration (OPENSSL_CONF). An alarm ends a process that
 * hangs.
 */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "tap.h"

#include "counted.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS       16
#define DRAWS         200
#define CHILDREN      24
#define LIMIT_SECONDS 60

/* ---- Draws, all different ------------------------------------------------------------------- */

struct draw {
    uint8_t bytes[16];
};

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct draw));
}

static bool all_different(struct draw *draws, size_t n)
{
    static const struct draw zero;
    qsort(draws, n, sizeof(*draws), compare);
    bool good = memcmp(&draws[0], &zero, sizeof(zero)) != 0;
    for (size_t i = 1; i < n; i++)
        good = good && compare(&draws[i - 1], &draws[i]) != 0;
    return good;
}

static bool draw(OSSL_LIB_CTX *libctx, struct draw *d, unsigned i)
{
    return (i % 2 ? RAND_priv_bytes_ex : RAND_bytes_ex)(libctx, d->bytes, sizeof(d->bytes), 0) == 1;
}

/* ---- Threads --------------------------------------------------------------------------------- */

static pthread_barrier_t together;
static struct draw drawn[THREADS][DRAWS];
static bool reseeds_always;

static bool reseed(EVP_RAND_CTX *drbg)
{
    return drbg != NULL && EVP_RAND_reseed(drbg, 1, NULL, 0, NULL, 0) == 1;
}

static void *draw_many(void *row)
{
    struct draw *draws = row;
    bool good = true;
    pthread_barrier_wait(&together);
    for (unsigned i = 0; good && i < DRAWS; i++) {
        good = draw(NULL, &draws[i], i);
        if (reseeds_always && i % 10 == 0)
            good = good && reseed(RAND_get0_public(NULL)) && reseed(RAND_get0_private(NULL)) &&
                   (i % 50 != 0 || reseed(RAND_get0_primary(NULL)));
    }
    return good ? row : NULL;
}

static void *draw_in_own_context(void *row)
{
    struct draw *draws = row;
    bool good = true;
    pthread_barrier_wait(&together);
    for (unsigned i = 0; good && i < 5; i++) {
        OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
        good = libctx != NULL && OSSL_LIB_CTX_load_config(libctx, getenv("OPENSSL_CONF")) == 1 &&
               draw(libctx, &draws[2 * i], 0) && draw(libctx, &draws[2 * i + 1], 1);
        OSSL_LIB_CTX_free(libctx);
    }
    return good ? row : NULL;
}

static bool in_threads(void *(*work)(void *), unsigned draws)
{
    static struct draw all[THREADS * DRAWS];
    pthread_t threads[THREADS];
    bool good = pthread_barrier_init(&together, NULL, THREADS) == 0;
    for (unsigned t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, work, drawn[t]) != 0)
            _exit(3);
    for (unsigned t = 0; t < THREADS; t++) {
        void *result;
        pthread_join(threads[t], &result);
        good = good && result != NULL;
        memcpy(all + t * draws, drawn[t], draws * sizeof(struct draw));
    }
    return good && all_different(all, (size_t)THREADS * draws);
}

/* ---- The cases ------------------------------------------------------------------------------- */

/* Whether the generator is the CTR_DRBG with AES. */
static bool is_on_aes(void)
{
    char name[32] = "";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, name, sizeof(name)),
        OSSL_PARAM_END};
    return EVP_RAND_CTX_get_params(RAND_get0_public(NULL), params) == 1 &&
           strcmp(name, "AES-256-CTR") == 0;
}

static bool at_start(void)
{
    return in_threads(draw_many, DRAWS) && is_on_aes();
}

static bool reseeding(void)
{
    unsigned one = 1;
    const OSSL_PARAM every_request[] = {
        OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_REQUESTS, &one), OSSL_PARAM_END};
    reseeds_always = true;
    return EVP_RAND_CTX_set_params(RAND_get0_primary(NULL), every_request) == 1 &&
           in_threads(draw_many, DRAWS);
}

static bool in_contexts(void)
{
    return in_threads(draw_in_own_context, 10);
}

static volatile bool stop;

static void *keep_drawing(void *unused)
{
    struct draw d;
    for (unsigned i = 0; !stop; i++)
        if (!draw(NULL, &d, i))
            _exit(3);
    return unused;
}

/*
 * Draws random numbers in a child and a grandchild of a process whose threads have drawn random
 * numbers. The threads end before the fork. Otherwise, a child could inherit a lock that a thread
 * holds, and wait forever, with or without tenrounds. The pipe does not mix the children's writes,
 * because each is shorter than PIPE_BUF (pipe(7)).
 */
static void draw_in_child(int out)
{
    struct draw mine[4];
    int status = -1;
    const pid_t grandchild = fork();
    for (unsigned i = 0; i < 2; i++)
        if (!draw(NULL, &mine[i], i))
            _exit(3);
    if (write(out, mine, 2 * sizeof(*mine)) != (ssize_t)(2 * sizeof(*mine)))
        _exit(3);
    if (grandchild > 0 && waitpid(grandchild, &status, 0) == grandchild)
        _exit(status == 0 ? 0 : 3);
    _exit(grandchild == 0 ? 0 : 3);
}

static bool across_fork(void)
{
    static struct draw all[CHILDREN * 5];
    pthread_t threads[4];
    pid_t children[CHILDREN];
    int ends[2];
    struct draw first;
    size_t have = 0;
    bool good = pipe(ends) == 0 && draw(NULL, &first, 0);
    for (unsigned t = 0; t < 4; t++)
        if (pthread_create(&threads[t], NULL, keep_drawing, NULL) != 0)
            return false;
    for (unsigned i = 0; i < 100; i++)
        good = good && draw(NULL, &first, i);
    stop = true;
    for (unsigned t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    for (unsigned c = 0; c < CHILDREN; c++) {
        if ((children[c] = fork()) == 0) {
            alarm(LIMIT_SECONDS);
            draw_in_child(ends[1]);
        }
        good = good && children[c] > 0 && draw(NULL, &all[have++], c);
    }
    close(ends[1]);
    for (unsigned c = 0; c < CHILDREN; c++) {
        int status;
        good = good && waitpid(children[c], &status, 0) == children[c] && status == 0;
    }
    while (good && have < CHILDREN * 5 &&
           read(ends[0], &all[have], sizeof(struct draw)) == sizeof(struct draw))
        have++;
    return good && have == CHILDREN * 5 && all_different(all, have);
}

/*
 * draws_nothing() checks that loading, fetching and encrypting with an IV draw no random numbers.
 * If tenrounds drew a number while the generator calls tenrounds, the process would deadlock. A
 * RAND_METHOD that counts replaces the generator. The test's first call shows that the method
 * counts.
 */
static unsigned asked;

static int count_and_fill(unsigned char *out, int len)
{
    asked++;
    memset(out, 0x55, (size_t)len);
    return 1;
}

static int ready(void)
{
    return 1;
}

static void encrypt_with(EVP_CIPHER *cipher, void *count)
{
    static const uint8_t key[64] = {1, [32] = 2}, iv[16] = {3};
    uint8_t data[64] = {0}, out[96];
    int n;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), "tenrounds") == 0 &&
        EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL) == 1) {
        EVP_EncryptUpdate(ctx, out, &n, data, sizeof(data));
        EVP_EncryptFinal_ex(ctx, out + n, &n);
        ++*(unsigned *)count;
    }
    EVP_CIPHER_CTX_free(ctx);
}

static bool draws_nothing(void)
{
    static const RAND_METHOD counting = {NULL, count_and_fill, NULL, NULL, count_and_fill, ready};
    uint8_t byte;
    unsigned ciphers = 0;
    bool good = RAND_set_rand_method(&counting) == 1 && RAND_bytes(&byte, 1) == 1 && asked == 1;
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, "tenrounds");
    EVP_CIPHER_do_all_provided(libctx, encrypt_with, &ciphers);
    tap_diag("%u ciphers encrypted, %u numbers drawn", ciphers, asked - 1);
    good = good && provider != NULL && ciphers >= 15 && asked == 1;
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    return good;
}

/* ---- Generated IVs --------------------------------------------------------------------------- */

static int fail(unsigned char *out, int len)
{
    (void)out;
    (void)len;
    return 0;
}

static bool all_are(const uint8_t *bytes, size_t n, uint8_t value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* Encrypts with the AES-GCM of tenrounds. The provider generates the whole IV, or the 8 bytes after
 * a fixed part of four 0x33 bytes. Stores the IV, and returns whether encryption works. */
static bool gcm_generates(OSSL_LIB_CTX *libctx, bool with_fixed_part, uint8_t iv[12])
{
    static const uint8_t key[16] = {1}, fixed[4] = {0x33, 0x33, 0x33, 0x33};
    uint8_t data[20] = {0};
    int n;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, "AES-128-GCM", "provider=tenrounds");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_IV, iv, 12),
                        OSSL_PARAM_END};
    const bool good =
        cipher != NULL && EVP_EncryptInit_ex2(ctx, cipher, key, NULL, NULL) == 1 &&
        (!with_fixed_part ||
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, sizeof(fixed), (void *)fixed) == 1) &&
        EVP_EncryptUpdate(ctx, data, &n, data, sizeof(data)) == 1 &&
        EVP_EncryptFinal_ex(ctx, data + n, &n) == 1 && EVP_CIPHER_CTX_get_params(ctx, get) == 1;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Seals four TLS records in one call. Stores the IV of the first record, and returns whether
 * sealing works. */
static bool records_generate(uint8_t iv[16])
{
    static const uint8_t key[16] = {1};
    static uint8_t text[4 * 1024], out[8 * 1024];
    uint8_t aad[13] = {[8] = 23, 3, 3, 0, 0};
    EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM param = {NULL, aad, sizeof(text), 4};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC-HMAC-SHA1", "provider=tenrounds");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = EVP_EncryptInit_ex2(ctx, cipher, key, key, NULL) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, 16, (void *)key) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_AAD, sizeof(param), &param) > 0;
    param.out = out;
    param.inp = text;
    good = good &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_TLS1_1_MULTIBLOCK_ENCRYPT, sizeof(param), &param) > 0;
    memcpy(iv, out + 5, 16);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Checks that IVs come from libcrypto's generator, and that encryption fails if the generator
 * fails. */
static bool ivs_from_generator(void)
{
    static const RAND_METHOD counting = {NULL, count_and_fill, NULL, NULL, count_and_fill, ready};
    static const RAND_METHOD failing = {NULL, fail, NULL, NULL, fail, ready};
    uint8_t iv[16] = {0};
    EVP_CIPHER *stitched = EVP_CIPHER_fetch(NULL, "AES-128-CBC-HMAC-SHA1", "provider=tenrounds");
    EVP_CIPHER_free(stitched); /* NULL without SHA instructions */
    bool good = RAND_set_rand_method(&counting) == 1 && gcm_generates(NULL, false, iv) &&
                all_are(iv, 12, 0x55) && gcm_generates(NULL, true, iv) && all_are(iv, 4, 0x33) &&
                all_are(iv + 4, 8, 0x55) &&
                (stitched == NULL || (records_generate(iv) && all_are(iv, 16, 0x55)));
    tap_diag("%u numbers drawn", asked);
    good = good && RAND_set_rand_method(&failing) == 1 && !gcm_generates(NULL, false, iv) &&
           !gcm_generates(NULL, true, iv) && (stitched == NULL || !records_generate(iv));
    ERR_clear_error();
    return good;
}

/* Tests a library context without a generator, where the IVs come from the kernel. Checks that two
 * generated IVs differ, and that no error remains in the queue. */
static bool ivs_without_generator(void)
{
    uint8_t iv[2][12] = {{0}, {0}};
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, "tenrounds");
    const bool good = provider != NULL && gcm_generates(libctx, false, iv[0]) &&
                      gcm_generates(libctx, false, iv[1]) && memcmp(iv[0], iv[1], 12) != 0 &&
                      ERR_peek_error() == 0;
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    return good;
}

static const struct {
    const char *name, *what;
    bool (*run)(void);
    bool draws; /* uses the generator: beneath() checks the bytes counted for CTR */
} cases[] = {
    {"start", "16 threads draw the first random numbers of a process at once", at_start, true},
    {"reseed", "16 threads draw random numbers while the generators reseed", reseeding, true},
    {"contexts", "16 threads draw random numbers, each from its own library contexts", in_contexts,
     true},
    {"fork", "children and grandchildren draw different numbers after fork", across_fork, true},
    {"quiet", "loading tenrounds and encrypting with it draw no random number", draws_nothing,
     false},
    {"ivs", "generated IVs come from libcrypto's generator", ivs_from_generator, false},
    {"alone", "generated IVs come from the kernel if the library context has no generator",
     ivs_without_generator, false},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* ---- Starting the cases ---------------------------------------------------------------------- */

static struct counting counting;

static uint64_t counted(const char *op)
{
    const struct trossl_counters_file c = counting_read(&counting);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < c.ops && i < TR_OPS; i++)
        for (unsigned b = 0; b < c.backends && b < TR_MAX_BACKENDS; b++)
            if (strcmp(c.op_name[i], op) == 0)
                bytes += c.counters.bulk[b][i].bytes;
    return bytes;
}

/* Whether the generator used the AES of tenrounds as expected. Before OpenSSL 3.4, it must. Since
 * 3.5, it must not. In 3.4, it may. */
static bool beneath(unsigned i, uint64_t bytes)
{
    if (!cases[i].draws)
        return true;
    tap_diag("our code encrypted %llu bytes with CTR", (unsigned long long)bytes);
    if (OpenSSL_version_num() < 0x30400000L)
        return bytes >= 16 * 100;
    return OpenSSL_version_num() < 0x30500000L || bytes == 0;
}

static bool start(const char *self, unsigned i)
{
    int status = -1;
    counting_clear(&counting);
    const pid_t child = fork();
    if (child == 0) {
        setenv("TENROUNDS_COUNTERS", counting.path, 1);
        alarm(LIMIT_SECONDS);
        execl(self, self, cases[i].name, (char *)NULL);
        _exit(127);
    }
    const bool ended = child > 0 && waitpid(child, &status, 0) == child;
    const uint64_t bytes = counted("ctr");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        tap_diag("the case did not end within %d seconds", LIMIT_SECONDS);
    else if (status != 0)
        tap_diag("the case ended with status %#x", (unsigned)status);
    return beneath(i, bytes) && ended && status == 0;
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < CASES; i++) {
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            const bool good = cases[i].run();
            if (!good)
                ERR_print_errors_fp(stderr);
            return good ? 0 : 1;
        }
    }
    tap_plan(CASES);
    tap_diag("%s, OPENSSL_CONF=%s", OpenSSL_version(OPENSSL_VERSION), getenv("OPENSSL_CONF"));
    counting = counting_new();
    for (unsigned i = 0; i < CASES; i++)
        tap_ok(start(argv[0], i), "%s", cases[i].what);
    return tap_done();
}
