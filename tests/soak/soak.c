/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts one host under random load: soak HOST SECONDS [THREADS]. Each result must equal the default
 * provider's. At the end, the counters must be exactly what the messages add up to. The
 * warm-up takes a fifth of SECONDS, or longer, until each thread has processed WARM messages. After
 * the warm-up, resident memory must not grow by more than MAX_GROWTH, and the numbers of
 * descriptors and threads must not change. scripts/soak runs this program.
 */
#define _GNU_SOURCE
#include "soak.h"

#include "counted.h"

#include <dirent.h>
#include <pthread.h>

#define CASES       240
#define MAX_THREADS 64
#define MAX_GROWTH  1024 /* KiB of resident memory */
#define WARM        100  /* messages */

static const struct soak_host *const hosts[] = {
    &soak_core,   &soak_provider,
#ifdef TENROUNDS_HAS_ENGINES
    &soak_engine,
#endif
    &soak_pkcs11, &soak_kernel,
};
#define HOSTS (sizeof(hosts) / sizeof(hosts[0]))
static const struct soak_host *host;

/* ---- Counters ------------------------------------------------------------------------------- */

static struct counting memfd;

void soak_count(void)
{
    memfd = counting_new();
    setenv("TENROUNDS_COUNTERS", memfd.path, 1);
}

const struct tr_counters *soak_counters(enum trossl_host section)
{
    static struct trossl_counters_file *file;
    if (file == NULL)
        file = mmap(NULL, TROSSL_COUNTERS_ROOM, PROT_READ, MAP_SHARED, memfd.fd, 0);
    return &((struct trossl_counters_file *)((char *)file + section * TROSSL_COUNTERS_SECTION))
                ->counters;
}

/* The counts of all backends together. */
struct counts {
    uint64_t calls[TR_OPS], bytes[TR_OPS];
};

static struct counts counts_now(void)
{
    const struct tr_counters *c = host->counters();
    struct counts n = {{0}, {0}};
    for (unsigned b = 0; b < TR_MAX_BACKENDS; b++) {
        for (unsigned op = 0; op < TR_OPS; op++) {
            n.calls[op] += __atomic_load_n(&c->bulk[b][op].calls, __ATOMIC_RELAXED);
            n.bytes[op] += __atomic_load_n(&c->bulk[b][op].bytes, __ATOMIC_RELAXED);
        }
    }
    return n;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static struct soak_case cases[CASES];
static struct counts adds[CASES]; /* what a message of a case adds to the counters */

static void draw_cases(struct tap_random *random)
{
    static const size_t lengths[] = {16, 64, 300, 1500, 4096, MAX_DATA};
    for (unsigned i = 0; i < CASES; i++) {
        struct soak_case *c = &cases[i];
        c->mode = (host->lacks >> i % MODES & 1) != 0 ? CTR : (enum mode)(i % MODES);
        c->encrypt = (int)(i / MODES % 2);
        c->key_len = 16 + 8 * (i / MODES / 2 % 3);
        c->len = 1 + tap_below(random, lengths[tap_below(random, 6)]);
        c->first = tap_below(random, c->len) + 1;
        if (c->mode <= CBC || i % 4 == 0) {
            c->len += -c->len % 16;
            c->first += -c->first % 16;
        }
    }
}

/* Encrypts or decrypts a random message with the host, and compares the result with the default
 * provider's. For GCM decryption, the default provider encrypts the message that the host then
 * decrypts. The host processes half of the messages in place. */
static bool run(unsigned thread, const struct soak_case *c, struct tap_random *random)
{
    static _Thread_local uint8_t in[MAX_DATA + 64], out[MAX_DATA + 64], expected[MAX_DATA + 64];
    struct soak_message m = {.in = in, .out = expected}, theirs;
    tap_fill(random, m.key, sizeof(m.key));
    tap_fill(random, m.iv, sizeof(m.iv));
    tap_fill(random, m.aad, sizeof(m.aad));
    tap_fill(random, in, c->len);
    struct soak_case seal = *c;
    seal.encrypt = 1;
    if (!soak_reference(c->mode == GCM ? &seal : c, &m))
        return false;
    theirs = m;
    if (c->mode == GCM && !c->encrypt) { /* the expected plaintext is `in` */
        m.in = expected;
        expected[c->len] = 0;
    } else {
        memset(m.tag, 0, TAG);
    }
    const uint8_t *const right = m.in == expected ? in : expected;
    const size_t offset = tap_below(random, 32);
    memcpy(out + offset, m.in, c->len);
    m.out = out + offset;
    if (tap_below(random, 2) == 0)
        m.in = m.out;
    return host->crypt(thread, c, &m) && memcmp(m.out, right, c->len) == 0 &&
           (c->mode != GCM || memcmp(m.tag, theirs.tag, TAG) == 0);
}

/* Whether whole blocks of ECB, CBC, CFB, OFB and CTR are counted under the operation of their mode.
 * Also true for other messages, which are not checked. */
static bool counts_blocks(const struct soak_case *c, const struct counts *n)
{
    static const unsigned ops[GCM][2] = {{TR_OP_ECB_DECRYPT, TR_OP_ECB_ENCRYPT},
                                         {TR_OP_CBC_DECRYPT, TR_OP_CBC_ENCRYPT},
                                         {TR_OP_CFB_DECRYPT, TR_OP_CFB_ENCRYPT},
                                         {TR_OP_OFB, TR_OP_OFB},
                                         {TR_OP_CTR, TR_OP_CTR}};
    return c->mode == GCM || c->len % 16 != 0 || c->first % 16 != 0 ||
           n->bytes[ops[c->mode][c->encrypt]] == c->len;
}

/* Finds out what one message of each case adds to the counters. Checks that a second message adds
 * the same. */
static bool calibrate(struct tap_random *random)
{
    for (unsigned i = 0; i < CASES; i++) {
        struct counts n[3];
        n[0] = counts_now();
        for (int j = 1; j < 3; j++) {
            if (!run(0, &cases[i], random))
                return false;
            n[j] = counts_now();
        }
        for (unsigned op = 0; op < TR_OPS; op++) {
            adds[i].calls[op] = n[1].calls[op] - n[0].calls[op];
            adds[i].bytes[op] = n[1].bytes[op] - n[0].bytes[op];
            if (n[2].calls[op] - n[1].calls[op] != adds[i].calls[op] ||
                n[2].bytes[op] - n[1].bytes[op] != adds[i].bytes[op])
                return false;
        }
        if (!counts_blocks(&cases[i], &adds[i]))
            return false;
    }
    return true;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static bool stop;
/* Each message holds this lock for reading. While usage_now() holds it for writing, no message has
 * open descriptors. */
static pthread_rwlock_t in_message;
static struct worker {
    pthread_t thread;
    unsigned number;
    uint64_t done[CASES], wrong;
    unsigned messages;
} workers[MAX_THREADS];

static void *work(void *arg)
{
    struct worker *w = arg;
    struct tap_random random = tap_random(w->number + 1);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const unsigned i = (unsigned)tap_below(&random, CASES);
        pthread_rwlock_rdlock(&in_message);
        w->wrong += !run(w->number, &cases[i], &random);
        w->done[i]++;
        __atomic_fetch_add(&w->messages, 1, __ATOMIC_RELAXED);
        if (host->churn != NULL && tap_below(&random, 2000) == 0)
            w->wrong += !host->churn();
        pthread_rwlock_unlock(&in_message);
    }
    return NULL;
}

struct usage {
    long resident, descriptors, threads; /* `resident` is in KiB, the others are counts */
};

/* Counts the entries of /proc/self/fd without ".", ".." and the descriptor that opendir() adds. For
 * any other directory, the result is 1 too low. */
static long entries(const char *path)
{
    long n = -3;
    DIR *dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* Returns the usage while no message is being processed. Takes resident memory from smaps_rollup,
 * because the kernel counts the pages when a program reads that file. The number in statm can be
 * wrong by 32 pages or more for each processor (lib/percpu_counter.c in Linux). */
static struct usage usage_now(void)
{
    pthread_rwlock_wrlock(&in_message);
    struct usage u = {0, entries("/proc/self/fd"), entries("/proc/self/task") + 1};
    char line[256];
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f != NULL && u.resident == 0 && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "Rss: %ld kB", &u.resident) != 1)
            u.resident = 0;
    if (u.resident == 0) {
        perror("/proc/self/smaps_rollup");
        exit(2);
    }
    fclose(f);
    pthread_rwlock_unlock(&in_message);
    return u;
}

static void wait_seconds(double seconds)
{
    const struct timespec time = {(time_t)seconds,
                                  (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Waits until each thread has processed WARM messages, and so has touched its memory. On a busy
 * machine, a thread may start late. */
static void wait_until_warm(unsigned threads)
{
    for (unsigned t = 0; t < threads; t++)
        while (__atomic_load_n(&workers[t].messages, __ATOMIC_RELAXED) < WARM)
            wait_seconds(0.01);
}

/* Whether the counters are what the messages add up to. */
static bool counters_are_exact(struct counts should, unsigned threads)
{
    const struct counts is = counts_now();
    bool good = true;
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned i = 0; i < CASES; i++) {
            for (unsigned op = 0; op < TR_OPS; op++) {
                should.calls[op] += workers[t].done[i] * adds[i].calls[op];
                should.bytes[op] += workers[t].done[i] * adds[i].bytes[op];
            }
        }
    }
    for (unsigned op = 0; op < TR_OPS; op++) {
        if (is.calls[op] == should.calls[op] && is.bytes[op] == should.bytes[op])
            continue;
        printf("%s: %s has %llu calls and %llu bytes, should have %llu and %llu\n", host->name,
               tr_op_name(op), (unsigned long long)is.calls[op], (unsigned long long)is.bytes[op],
               (unsigned long long)should.calls[op], (unsigned long long)should.bytes[op]);
        good = false;
    }
    return good;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
    const unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2;
    for (unsigned i = 0; argc > 1 && i < HOSTS; i++)
        host = strcmp(hosts[i]->name, argv[1]) == 0 ? hosts[i] : host;
    if (host == NULL || seconds <= 0 || threads == 0 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: soak core|provider|engine|pkcs11|kernel SECONDS [THREADS]\n");
        return 2;
    }
    struct tap_random random = tap_random(0);
    draw_cases(&random);
    soak_open_reference();
    host->open();
    if (!calibrate(&random)) {
        printf("%s: a message is wrong, or is counted wrongly\n", host->name);
        return 1;
    }
    const struct counts before = counts_now();
    /* By default, a writer would wait until there is no reader, which may be never. */
    pthread_rwlockattr_t writers_first;
    pthread_rwlockattr_init(&writers_first);
    pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&in_message, &writers_first);
    for (unsigned t = 0; t < threads; t++) {
        workers[t].number = t;
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    const double warm_up = seconds / 5;
    wait_seconds(warm_up);
    wait_until_warm(threads);
    const struct usage first = usage_now();
    wait_seconds(seconds - warm_up);
    const struct usage last = usage_now();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    uint64_t messages = 0, bytes = 0, wrong = 0;
    for (unsigned t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        wrong += workers[t].wrong;
        for (unsigned i = 0; i < CASES; i++) {
            messages += workers[t].done[i];
            bytes += workers[t].done[i] * cases[i].len;
        }
    }
    const bool exact = counters_are_exact(before, threads);
    const bool flat = last.resident - first.resident <= MAX_GROWTH &&
                      last.descriptors == first.descriptors && last.threads == first.threads;
    printf("%-8s %9llu %8.1f %5llu  %-5s  %6ld %6ld  %3ld %3ld  %3ld %3ld  %s\n", host->name,
           (unsigned long long)messages, (double)bytes / 1e9, (unsigned long long)wrong,
           exact ? "exact" : "WRONG", first.resident, last.resident, first.descriptors,
           last.descriptors, first.threads, last.threads,
           wrong == 0 && exact && flat && messages > 0 ? "ok" : "FAILED");
    return wrong == 0 && exact && flat && messages > 0 ? 0 : 1;
}
