/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures single windows on request, so that a script can alternate between different programs
 * (scripts/bench-i386). Reads lines and answers each with one line after a window of 2 ms:
 *
 *     limit THROUGHPUT            bytes per second through 10 rounds, on the widest registers
 *     limit LATENCY               the same for a chain of dependent blocks
 *     PROVIDER CIPHER enc|dec     bytes per second of updates of 16 KiB, in place;
 *                                 PROVIDER is "default" or "tenrounds"
 *
 * The answer is the rate and this thread's share of the window's wall-clock time, or "error WHY".
 */
#define _GNU_SOURCE
#include "../crates/measure/c/limit.h"

#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BYTES  16384
#define WARM   0.0002 /* seconds, not timed */
#define WINDOW 0.002
#define KEPT   64

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One subject: work() does some of its work and returns the bytes, or 0 on error. */
struct subject {
    char name[80];
    uint64_t (*work)(struct subject *);
    EVP_CIPHER_CTX *ctx;
    enum tr_limit limit;
};

static uint8_t buffer[BYTES + 16] __attribute__((aligned(64)));

static uint64_t update(struct subject *s)
{
    int n = 0;
    return EVP_CipherUpdate(s->ctx, buffer, &n, buffer, BYTES) == 1 && n == BYTES ? BYTES : 0;
}

static uint64_t rounds(struct subject *s)
{
    return tr_limit_run(s->limit, 4800) / 10;
}

static enum tr_limit widest(void)
{
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    for (int limit = TR_LIMIT_ZMM; limit > TR_LIMIT_XMM; limit--) {
        if ((tr_limit_features(limit) & ~cpu.usable) == 0)
            return (enum tr_limit)limit;
    }
    return TR_LIMIT_XMM;
}

/* Initialises a context; the cipher must come from the requested provider and no other. */
static bool begin(struct subject *s, const char *provider, const char *name, bool encrypt)
{
    static const uint8_t key[32] = {1}, iv[16] = {2};
    char properties[40];
    snprintf(properties, sizeof(properties), "provider=%s", provider);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, properties);
    s->ctx = EVP_CIPHER_CTX_new();
    s->work = update;
    bool good = cipher != NULL && s->ctx != NULL &&
                EVP_CipherInit_ex2(s->ctx, cipher, key, iv, encrypt, NULL) == 1 &&
                EVP_CIPHER_CTX_set_padding(s->ctx, 0) == 1;
    EVP_CIPHER_free(cipher);
    return good;
}

static struct subject *find(const char *line)
{
    static struct subject subjects[KEPT];
    static unsigned count;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(subjects[i].name, line) == 0)
            return &subjects[i];
    char first[20], second[40], third[8];
    const int words = sscanf(line, "%19s %39s %7s", first, second, third);
    if (count == KEPT || strlen(line) >= sizeof(subjects->name) || words < 2)
        return NULL;
    struct subject *s = &subjects[count];
    if (words == 2 && strcmp(first, "limit") == 0) {
        s->limit = strcmp(second, "LATENCY") == 0 ? TR_LIMIT_CHAIN : widest();
        s->work = rounds;
    } else if (words != 3 || !begin(s, first, second, strcmp(third, "enc") == 0)) {
        return NULL;
    }
    snprintf(s->name, sizeof(s->name), "%s", line);
    count++;
    return s;
}

static uint64_t work_for(struct subject *s, double time, double *wall)
{
    const double start = seconds(CLOCK_MONOTONIC);
    uint64_t bytes = 0;
    do {
        const uint64_t n = s->work(s);
        if (n == 0)
            return 0;
        bytes += n;
        *wall = seconds(CLOCK_MONOTONIC) - start;
    } while (*wall < time);
    return bytes;
}

int main(void)
{
    OSSL_PROVIDER *usual = OSSL_PROVIDER_load(NULL, "default");
    OSSL_PROVIDER *ours = OSSL_PROVIDER_load(NULL, "tenrounds");
    char line[100];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        struct subject *s = find(line);
        double wall = 0;
        if (s == NULL || work_for(s, WARM, &wall) == 0) {
            printf("error cannot measure '%s'\n", line);
        } else {
            const double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
            const uint64_t bytes = work_for(s, WINDOW, &wall);
            printf("%.0f %.3f\n", (double)bytes / wall,
                   (seconds(CLOCK_THREAD_CPUTIME_ID) - cpu) / wall);
        }
        fflush(stdout);
    }
    OSSL_PROVIDER_unload(ours);
    OSSL_PROVIDER_unload(usual);
    return 0;
}
