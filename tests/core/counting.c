/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ran: for each backend and operation exactly the expected table's code, counted, and no other.
 */
#include "counting.h"
#include "common.h"

#include <pthread.h>

/* The parallel operations belong to the backend itself; the serial ones gain nothing from width and
 * are aesni's wherever there are AES instructions. */
static const char *expected_doer(const char *backend, enum tr_op op)
{
    const bool serial = op == TR_OP_CBC_ENCRYPT || op == TR_OP_CFB_ENCRYPT || op == TR_OP_OFB;
    if (!serial || strcmp(backend, "bitslice") == 0 || strcmp(backend, "vperm") == 0)
        return backend;
    return strstr(backend, "-noclmul") != NULL ? "aesni-noclmul" : "aesni";
}

static const struct {
    enum tr_mode mode;
    bool decrypt;
    enum tr_op op;
} calls[] = {
    {TR_ECB, false, TR_OP_ECB_ENCRYPT},
    {TR_ECB, true, TR_OP_ECB_DECRYPT},
    {TR_CBC, false, TR_OP_CBC_ENCRYPT},
    {TR_CBC, true, TR_OP_CBC_DECRYPT},
    {TR_CFB128, false, TR_OP_CFB_ENCRYPT},
    {TR_CFB128, true, TR_OP_CFB_DECRYPT},
    {TR_OFB, false, TR_OP_OFB},
    {TR_CTR, false, TR_OP_CTR},
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static unsigned index_of(const char *name)
{
    return tr_backend_index(tr_backend_by_name(name));
}

static bool same_counts(const struct tr_counters *got, const struct tr_counters *expected)
{
    bool good = true;
    for (unsigned b = 0; b < TR_MAX_BACKENDS; b++) {
        if (got->keys[b] != expected->keys[b]) {
            tap_diag("backend %u expanded %llu keys, expected %llu", b,
                     (unsigned long long)got->keys[b], (unsigned long long)expected->keys[b]);
            good = false;
        }
        for (unsigned op = 0; op < TR_OPS; op++) {
            const struct tr_count *g = &got->bulk[b][op], *e = &expected->bulk[b][op];
            if (g->calls == e->calls && g->bytes == e->bytes)
                continue;
            tap_diag("%s by backend %u: %llu calls, %llu bytes, expected %llu and %llu",
                     tr_op_name(op), b, (unsigned long long)g->calls, (unsigned long long)g->bytes,
                     (unsigned long long)e->calls, (unsigned long long)e->bytes);
            good = false;
        }
    }
    return good;
}

static void add(struct tr_counters *c, const char *backend, enum tr_op op, size_t bytes)
{
    struct tr_count *count = &c->bulk[index_of(expected_doer(backend, op))][op];
    count->calls++;
    count->bytes += bytes;
}

/* Whole blocks, then a broken one for the modes that take it, which costs one block of ECB. */
static void test_operation(const struct tr_backend *b, size_t which)
{
    static const uint8_t raw[32] = {7}, iv[16] = {9};
    struct tr_counters got = {0}, expected = {0};
    struct tr_counting counting;
    struct tr_aes_key key, plain = key_for(b, raw, 24);
    uint8_t text[1000], counted[1000], straight[1000];
    const enum tr_mode mode = calls[which].mode;
    const bool decrypt = calls[which].decrypt;
    const struct tr_backend *front = tr_counting_init(&counting, b, &got);
    const size_t len = mode_is_blocks(mode) ? 992 : 997;
    memset(text, 0x33, sizeof(text));
    key = key_for(front, raw, 24);
    expected.keys[index_of(b->name)]++;
    struct position p = position_at(iv), q = p;
    bool good = mode_run(&key, mode, decrypt, &p, counted, text, len) == TR_OK &&
                mode_run(&plain, mode, decrypt, &q, straight, text, len) == TR_OK &&
                tap_same(counted, straight, len);
    add(&expected, b->name, calls[which].op, 992);
    if (len > 992)
        add(&expected, b->name, TR_OP_ECB_ENCRYPT, 16);
    tap_ok(same_counts(&got, &expected) && good && strcmp(front->name, b->name) == 0,
           "%s: %s is done by %s", b->name, tr_op_name(calls[which].op),
           expected_doer(b->name, calls[which].op));
}

struct shared {
    const struct tr_backend *front;
    bool good;
};

static void *count_in_thread(void *argument)
{
    struct shared *s = argument;
    uint8_t block[160] = {0}, iv[16] = {0}, keystream[16];
    unsigned used = 0;
    struct tr_aes_key key = key_for(s->front, iv, 16);
    s->good = true;
    for (int i = 0; i < 1000; i++)
        s->good &= tr_ctr(&key, iv, keystream, &used, block, block, sizeof(block)) == TR_OK;
    return NULL;
}

/* Counters that several threads add to lose nothing. */
static void test_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct tr_counters got = {0}, expected = {0};
    struct tr_counting counting;
    const struct tr_backend *b = tr_backend_selected();
    struct shared shared[THREADS];
    bool good = true;
    for (int i = 0; i < THREADS; i++)
        shared[i].front = i == 0 ? tr_counting_init(&counting, b, &got) : shared[0].front;
    for (int i = 0; i < THREADS; i++)
        good &= pthread_create(&threads[i], NULL, count_in_thread, &shared[i]) == 0;
    for (int i = 0; i < THREADS; i++)
        good &= pthread_join(threads[i], NULL) == 0 && shared[i].good;
    expected.keys[tr_backend_index(b)] = THREADS;
    expected.bulk[tr_backend_index(b)][TR_OP_CTR] =
        (struct tr_count){THREADS * 1000, THREADS * 160000};
    tap_ok(good && same_counts(&got, &expected), "%d threads count into the same counters",
           THREADS);
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * CALLS + 2);
    tap_ok(CALLS == TR_OP_GHASH, "every operation of the modes of 38A is asked for");
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        for (size_t c = 0; c < CALLS; c++)
            if (!backend_skip(b, 1))
                test_operation(b, c);
    test_threads();
    return tap_done();
}
