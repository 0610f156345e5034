/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times each call of the EVP interface by itself, with the default provider and tenrounds
 * alternating in one process.
 *
 *     bench-calls [--swap] [--libcrypto FILE] [--before DIR] [--rounds N] CIPHER [BYTES...]
 *     bench-calls --instructions N ...        under callgrind: N calls of each row, one dump a row
 *
 * The program loads libcrypto at run time, so that one binary serves every version. OPENSSL_MODULES
 * is the folder of tenrounds.so.
 *
 *   --before  puts the tenrounds.so of another folder in the place of the default provider, to
 *             compare two versions of tenrounds.
 *   --swap    exchanges the places of the two providers, in time and in memory.
 *
 * Some calls can be repeated as they are: an update of CTR, an init, a whole message. They run on
 * one context. Any other call runs on BATCH contexts, one after the other. Untimed calls bring
 * these contexts into the right state, and the cost of reading the clock twice is subtracted.
 *
 * A window is some microseconds of one row with one provider; the windows of the two alternate. The
 * program prints medians over the rounds, and the median of the ratios within a round.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_CALLGRIND
#    include <valgrind/callgrind.h>
#else
#    define CALLGRIND_TOGGLE_COLLECT
#    define CALLGRIND_ZERO_STATS
#    define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#    define RUNNING_ON_VALGRIND           0
#endif

#define BATCH     16u
#define MAX_BYTES 16384u
#define TAG       16
#define AAD       13
#define NONCE     12
#define WINDOW    2000u /* ns, the minimum */

static __attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench-calls: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* ---- libcrypto ------------------------------------------------------------------------------ */

#define FUNCTIONS(X)                                                                               \
    X(EVP_CIPHER_CTX_new)                                                                          \
    X(EVP_CIPHER_CTX_free)                                                                         \
    X(EVP_CIPHER_CTX_copy)                                                                         \
    X(EVP_CIPHER_CTX_reset)                                                                        \
    X(EVP_CIPHER_CTX_ctrl)                                                                         \
    X(EVP_CIPHER_CTX_set_padding)                                                                  \
    X(EVP_CIPHER_CTX_get_params)                                                                   \
    X(EVP_CIPHER_fetch)                                                                            \
    X(EVP_CIPHER_get_mode)                                                                         \
    X(EVP_CIPHER_get_iv_length)                                                                    \
    X(EVP_CipherInit_ex2)                                                                          \
    X(EVP_CipherUpdate)                                                                            \
    X(EVP_CipherFinal_ex)                                                                          \
    X(OSSL_LIB_CTX_new)                                                                            \
    X(OSSL_PROVIDER_load)                                                                          \
    X(OSSL_PROVIDER_set_default_search_path)                                                       \
    X(OpenSSL_version)

static struct {
#define POINTER(name) __typeof__(&name) name;
    FUNCTIONS(POINTER)
#undef POINTER
} lib;

static void load(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        fail("cannot load '%s': %s", file, dlerror());
#define FIND(name)                                                                                 \
    *(void **)&lib.name = dlsym(handle, #name);                                                    \
    if (lib.name == NULL)                                                                          \
        fail("'%s' has no %s: OpenSSL 3.0 or later is needed", file, #name);
    FUNCTIONS(FIND)
#undef FIND
}

/* ---- Subjects ------------------------------------------------------------------------------- */

struct subject {
    const char *title;
    EVP_CIPHER *cipher;
    int mode, iv_len;
    EVP_CIPHER_CTX *ctx[BATCH], *spare[BATCH];
    uint8_t buffer[MAX_BYTES + 64] __attribute__((aligned(64)));
    uint8_t output[MAX_BYTES + 64] __attribute__((aligned(64)));
    uint8_t sealed[TAG];
};

/* The index of the subject that is tenrounds. The second subject is up to 14 % slower in calls that
 * allocate, because its contexts come later from the heap. */
static unsigned ours = 1;
static uint8_t key[64], iv[16], aad[AAD];
static unsigned bytes; /* of the row's message */

static void must(int result, const char *what, const struct subject *s)
{
    if (result != 1)
        fail("%s fails with provider %s", what, s->title);
}
#define MUST(call) must(call, #call, s)

/* Fetches a cipher from the modules in `folder`, or from libcrypto's own module folder if it is
 * NULL. Each subject has its own library context, because one context cannot hold two modules of
 * the same name. */
static void fetch(struct subject *s, const char *title, const char *provider, const char *folder,
                  const char *name)
{
    char properties[40];
    OSSL_LIB_CTX *context = lib.OSSL_LIB_CTX_new();
    s->title = title;
    if (context == NULL ||
        (folder != NULL && lib.OSSL_PROVIDER_set_default_search_path(context, folder) != 1))
        fail("no memory");
    if (lib.OSSL_PROVIDER_load(context, provider) == NULL)
        fail("provider '%s' cannot be loaded; %s has to name its directory", provider,
             folder != NULL ? "--before" : "OPENSSL_MODULES");
    snprintf(properties, sizeof(properties), "provider=%s", provider);
    s->cipher = lib.EVP_CIPHER_fetch(context, name, properties);
    if (s->cipher == NULL)
        fail("no cipher '%s' in provider '%s' (as in AES-128-GCM, AES-256-XTS)", name, provider);
    s->mode = lib.EVP_CIPHER_get_mode(s->cipher);
    s->iv_len = lib.EVP_CIPHER_get_iv_length(s->cipher);
}

static bool is_aead(const struct subject *s)
{
    return s->mode == EVP_CIPH_GCM_MODE || s->mode == EVP_CIPH_CCM_MODE ||
           s->mode == EVP_CIPH_OCB_MODE;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void new (struct subject *s, unsigned i)
{
    s->ctx[i] = lib.EVP_CIPHER_CTX_new();
}

static void release(struct subject *s, unsigned i)
{
    lib.EVP_CIPHER_CTX_free(s->ctx[i]);
    s->ctx[i] = NULL;
}

/* Sets the cipher alone. CCM needs the lengths of nonce and tag before the key. */
static void set_cipher(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CipherInit_ex2(s->ctx[i], s->cipher, NULL, NULL, 1, NULL));
    if (s->mode == EVP_CIPH_CCM_MODE) {
        MUST(lib.EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_SET_IVLEN, NONCE, NULL));
        MUST(lib.EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_SET_TAG, TAG, NULL));
    }
}

static void init_all(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CipherInit_ex2(s->ctx[i], s->cipher, key, iv, 1, NULL));
}

static void init_key(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CipherInit_ex2(s->ctx[i], NULL, key, iv, 1, NULL));
}

static void init_iv(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CipherInit_ex2(s->ctx[i], NULL, NULL, iv, -1, NULL));
}

static void add_length(struct subject *s, unsigned i)
{
    int n;
    if (s->mode == EVP_CIPH_CCM_MODE)
        MUST(lib.EVP_CipherUpdate(s->ctx[i], NULL, &n, NULL, (int)bytes));
}

static void add_aad(struct subject *s, unsigned i)
{
    int n;
    MUST(lib.EVP_CipherUpdate(s->ctx[i], NULL, &n, aad, AAD));
}

static void update(struct subject *s, unsigned i)
{
    int n;
    MUST(lib.EVP_CipherUpdate(s->ctx[i], s->buffer, &n, s->buffer, (int)bytes));
}

static void update_elsewhere(struct subject *s, unsigned i)
{
    int n;
    MUST(lib.EVP_CipherUpdate(s->ctx[i], s->output, &n, s->buffer, (int)bytes));
}

static void final(struct subject *s, unsigned i)
{
    int n;
    MUST(lib.EVP_CipherFinal_ex(s->ctx[i], s->buffer + bytes, &n));
}

static void get_tag(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_GET_TAG, TAG, s->sealed));
}

static void set_tag(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CIPHER_CTX_ctrl(s->ctx[i], EVP_CTRL_AEAD_SET_TAG, TAG, s->sealed));
}

static void get_iv(struct subject *s, unsigned i)
{
    uint8_t now[16];
    OSSL_PARAM params[] = {
        {OSSL_CIPHER_PARAM_UPDATED_IV, OSSL_PARAM_OCTET_STRING, now, (size_t)s->iv_len, 0},
        {NULL, 0, NULL, 0, 0}};
    MUST(lib.EVP_CIPHER_CTX_get_params(s->ctx[i], params));
}

static void set_padding(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CIPHER_CTX_set_padding(s->ctx[i], 0));
}

static void copy(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CIPHER_CTX_copy(s->spare[i], s->ctx[i]));
}

static void reset_spare(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CIPHER_CTX_reset(s->spare[i]));
}

/* Encrypts a message under the key that is set, as `tenrounds compare` does. */
static void message(struct subject *s, unsigned i)
{
    init_iv(s, i);
    if (is_aead(s)) {
        add_length(s, i);
        add_aad(s, i);
        update(s, i);
        final(s, i);
        get_tag(s, i);
    } else {
        update(s, i);
    }
}

/* Encrypts a message including the context's whole life: new, cipher, key, message, free. */
static void lifetime(struct subject *s, unsigned i)
{
    new (s, i);
    set_cipher(s, i);
    init_key(s, i);
    if (is_aead(s)) {
        add_length(s, i);
        add_aad(s, i);
    } else if (s->mode == EVP_CIPH_CBC_MODE || s->mode == EVP_CIPH_ECB_MODE) {
        set_padding(s, i);
    }
    update(s, i);
    final(s, i);
    if (is_aead(s))
        get_tag(s, i);
    release(s, i);
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Brings a context from any state into the state with a key and an IV. */
static void keyed(struct subject *s, unsigned i)
{
    if (s->ctx[i] == NULL)
        new (s, i);
    set_cipher(s, i);
    init_key(s, i);
    if (s->mode == EVP_CIPH_CBC_MODE || s->mode == EVP_CIPH_ECB_MODE)
        set_padding(s, i);
}

static void nothing(struct subject *s, unsigned i)
{
    if (s->ctx[i] != NULL)
        release(s, i);
}

static void empty(struct subject *s, unsigned i)
{
    nothing(s, i);
    new (s, i);
}

static void ciphered(struct subject *s, unsigned i)
{
    empty(s, i);
    set_cipher(s, i);
}

static void with_length(struct subject *s, unsigned i)
{
    init_iv(s, i);
    add_length(s, i);
}

static void with_aad(struct subject *s, unsigned i)
{
    with_length(s, i);
    add_aad(s, i);
}

static void with_data(struct subject *s, unsigned i)
{
    if (is_aead(s))
        with_aad(s, i);
    else
        init_iv(s, i);
    update(s, i);
}

static void with_final(struct subject *s, unsigned i)
{
    with_data(s, i);
    final(s, i);
}

static void decrypting(struct subject *s, unsigned i)
{
    MUST(lib.EVP_CipherInit_ex2(s->ctx[i], NULL, NULL, iv, 0, NULL));
}

/* ---- Rows ----------------------------------------------------------------------------------- */

enum which { ALL = 1, AEADS = 2, PLAIN = 4, PADDED = 8, DECRYPTING = 16 };

struct row {
    const char *name;
    unsigned which;
    bool sized; /* one row for each size */
    void (*call)(struct subject *, unsigned);
    void (*prepare)(struct subject *, unsigned); /* NULL: the call can be repeated as it is */
};

static const struct row rows[] = {
    {"CTX_new", ALL, false, new, nothing},
    {"first init: cipher alone", ALL, false, set_cipher, empty},
    {"first init: cipher, key, IV", PLAIN, false, init_all, empty},
    {"first key and IV", ALL, false, init_key, ciphered},
    {"init: key and IV", ALL, false, init_key, NULL},
    {"init: IV alone", ALL, false, init_iv, NULL},
    {"set padding", PADDED, false, set_padding, NULL},
    {"get updated IV", ALL, false, get_iv, NULL},
    {"AAD, 13 bytes", AEADS, false, add_aad, with_length},
    {"update", AEADS, true, update, with_aad},
    {"update", PLAIN, true, update, NULL},
    {"update elsewhere", PLAIN, true, update_elsewhere, NULL},
    {"decrypting: update", PADDED | DECRYPTING, true, update, NULL},
    {"decrypting: update elsewhere", PADDED | DECRYPTING, true, update_elsewhere, NULL},
    {"decrypting: whole message", PADDED | DECRYPTING, true, message, NULL},
    {"final", ALL, false, final, with_data},
    {"get tag", AEADS, false, get_tag, with_final},
    {"set tag", AEADS, false, set_tag, decrypting},
    {"CTX_copy", ALL, false, copy, reset_spare},
    {"CTX_reset of the copy", ALL, false, reset_spare, copy},
    {"CTX_free", ALL, false, release, keyed},
    {"whole message, key set", AEADS | PLAIN, true, message, NULL},
    {"from new to free", ALL, true, lifetime, nothing},
};

static bool applies(const struct row *row, const struct subject *s)
{
    unsigned is = ALL | (is_aead(s) ? AEADS : PLAIN);
    if (s->mode == EVP_CIPH_CBC_MODE || s->mode == EVP_CIPH_ECB_MODE)
        is |= PADDED;
    return (row->which & is) != 0;
}

/* Prepares the state in which every row starts: contexts with a key, and copies of them. */
static void begin(struct subject *s)
{
    for (unsigned i = 0; i < BATCH; i++) {
        if (s->spare[i] == NULL)
            s->spare[i] = lib.EVP_CIPHER_CTX_new();
        keyed(s, i);
        MUST(lib.EVP_CIPHER_CTX_copy(s->spare[i], s->ctx[i]));
    }
}

/* ---- Time ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

/* The time of reading the clock twice, in ns. */
static double clock_cost(void)
{
    double costs[101];
    for (unsigned i = 0; i < 101; i++) {
        const double start = now();
        costs[i] = now() - start;
    }
    return median(costs, 101);
}

/* Times one window: ns per call. */
static double window(const struct row *row, struct subject *s, double clock)
{
    double timed = 0;
    unsigned calls = 0;
    while (timed < WINDOW || calls < 4 * BATCH) {
        for (unsigned i = 0; row->prepare != NULL && i < BATCH; i++)
            row->prepare(s, i);
        const double start = now();
        for (unsigned i = 0; i < BATCH; i++)
            row->call(s, row->prepare != NULL ? i : 0);
        timed += now() - start - clock;
        calls += BATCH;
    }
    return timed / calls;
}

static void measure(const struct row *row, struct subject s[2], unsigned rounds)
{
    double *times[2], *ratios = calloc(rounds, sizeof(double));
    const double clock = clock_cost();
    for (unsigned k = 0; k < 2; k++)
        times[k] = calloc(rounds, sizeof(double));
    if (times[0] == NULL || times[1] == NULL || ratios == NULL)
        fail("no memory for %u rounds", rounds);
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned k = 0; k < 2; k++) {
            const unsigned which = (r + k) % 2;
            times[which][r] = window(row, &s[which], clock);
        }
        ratios[r] = times[1 - ours][r] / times[ours][r];
    }
    const double first = median(times[1 - ours], rounds), second = median(times[ours], rounds);
    printf(" %9.1f %9.1f %7.3f\n", first, second, median(ratios, rounds));
    free(times[0]);
    free(times[1]);
    free(ratios);
}

/* ---- Instructions --------------------------------------------------------------------------- */

static void count(const struct row *row, const char *name, struct subject *s, unsigned calls)
{
    char label[120];
    snprintf(label, sizeof(label), "%s|%s|%u", s->title, name, calls);
    /* Two untimed calls keep lazy binding and first-time work out of the count. */
    for (unsigned i = 0; i < 2; i++) {
        if (row->prepare != NULL)
            row->prepare(s, 0);
        row->call(s, 0);
    }
    CALLGRIND_ZERO_STATS;
    for (unsigned i = 0; i < calls; i++) {
        if (row->prepare != NULL)
            row->prepare(s, 0);
        CALLGRIND_TOGGLE_COLLECT;
        row->call(s, 0);
        CALLGRIND_TOGGLE_COLLECT;
    }
    CALLGRIND_DUMP_STATS_AT(label);
}

/* ---- Main --------------------------------------------------------------------------------- */

static void run(const struct row *row, unsigned size, struct subject s[2], unsigned rounds,
                unsigned calls)
{
    char name[80];
    bytes = size;
    snprintf(name, sizeof(name), row->sized ? "%s, %u bytes" : "%s", row->name, size);
    for (unsigned k = 0; k < 2; k++) {
        begin(&s[k]);
        if ((row->which & DECRYPTING) != 0)
            decrypting(&s[k], 0);
    }
    if (calls != 0) {
        count(row, name, &s[0], calls);
        count(row, name, &s[1], calls);
        return;
    }
    printf("%-34s", name);
    fflush(stdout);
    measure(row, s, rounds);
}

static unsigned number(const char *text, unsigned most, const char *what)
{
    char *end;
    const unsigned long n = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || *text == '\0' || *end != '\0' || n == 0 || n > most)
        fail("%s '%s' is no number from 1 to %u", what, text != NULL ? text : "", most);
    return (unsigned)n;
}

int main(int argc, char **argv)
{
    static struct subject subjects[2];
    static const unsigned usual[] = {16, 64, 256};
    const char *file = "libcrypto.so.3", *before = NULL;
    unsigned rounds = 301, calls = 0;
    int arg = 1;
    if (argc > 1 && strcmp(argv[1], "--swap") == 0) {
        ours = 0;
        arg++;
    }
    for (; arg < argc && argv[arg][0] == '-'; arg += 2) {
        const char *value = argv[arg + 1];
        if (strcmp(argv[arg], "--libcrypto") == 0 && value != NULL)
            file = value;
        else if (strcmp(argv[arg], "--before") == 0 && value != NULL)
            before = value;
        else if (strcmp(argv[arg], "--rounds") == 0)
            rounds = number(value, 1000000, "rounds");
        else if (strcmp(argv[arg], "--instructions") == 0)
            calls = number(value, 100000, "calls");
        else
            fail("unknown or incomplete option '%s'; known: --libcrypto FILE, --before DIR, "
                 "--rounds N, --instructions N",
                 argv[arg]);
    }
    if (arg == argc)
        fail("which cipher? As in: bench-calls AES-128-GCM 16 64 256");
    if (calls != 0 && !RUNNING_ON_VALGRIND)
        fail("--instructions needs valgrind --tool=callgrind, and its headers when built");
    for (int i = arg + 1; i < argc; i++)
        (void)number(argv[i], MAX_BYTES, "size");

    load(file);
    for (unsigned i = 0; i < 2; i++) {
        if (i == ours)
            fetch(&subjects[i], "tenrounds", "tenrounds", NULL, argv[arg]);
        else if (before != NULL)
            fetch(&subjects[i], "before", "tenrounds", before, argv[arg]);
        else
            fetch(&subjects[i], "default", "default", NULL, argv[arg]);
    }
    if (subjects[0].mode == EVP_CIPH_SIV_MODE || subjects[0].mode == EVP_CIPH_WRAP_MODE)
        fail("'%s' has calls of its own order, which are not measured here", argv[arg]);
    for (unsigned i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(3 * i + 1);

    if (calls == 0) {
        printf("%s: %s\n%-34s %9s %9s %7s\n", argv[arg], lib.OpenSSL_version(OPENSSL_VERSION),
               "ns a call", subjects[1 - ours].title, subjects[ours].title, "ratio");
    }
    for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        if (!applies(&rows[r], &subjects[0]))
            continue;
        const int sizes = argc - arg - 1;
        if (!rows[r].sized)
            run(&rows[r], 16, subjects, rounds, calls);
        for (int i = 0; rows[r].sized && i < (sizes != 0 ? sizes : 3); i++)
            run(&rows[r], sizes != 0 ? number(argv[arg + 1 + i], MAX_BYTES, "size") : usual[i],
                subjects, rounds, calls);
    }
    return 0;
}
