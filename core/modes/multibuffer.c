/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-buffer scheduling: runs jobs together if the backend can, otherwise one after the other. */
#include "dispatch/selftest.h"
#include "modes/cbc_mac.h"

/* Jobs scheduled at a time: a multiple of every backend's lane count. */
#define MOST 192u

static const enum tr_op counted_as[] = {[TR_MB_CBC] = TR_OP_CBC_ENCRYPT,
                                        [TR_MB_CFB] = TR_OP_CFB_ENCRYPT,
                                        [TR_MB_MAC] = TR_OP_CBC_ENCRYPT};

static void alone(enum tr_mb_op op, const struct tr_job *job)
{
    if (op == TR_MB_MAC)
        tr_cbc_mac(job->key, job->chain, job->in, job->blocks);
    else
        tr_bulk(job->key, counted_as[op], job->out, job->in, job->blocks, job->chain);
}

/* The total number of blocks, for the counters. */
static size_t blocks_of(const struct tr_job *list, size_t count)
{
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++)
        blocks += list[i].blocks;
    return blocks;
}

/*
 * Whether multi-buffer code is faster. Its pipeline takes time to fill and drain. Short chains that
 * run one after the other overlap in the reorder window anyway. Approximate cycles on Zen 4: 17 per
 * block of a chain of at most 4 blocks, 41 per block of a longer chain, 45 per step of all lanes.
 * Different keys cost more, because the round-key schedules of all lanes must first be copied.
 */
static int is_worth_it(const struct tr_job *list, size_t count)
{
    uint64_t serial = 0, longest = 0;
    int own = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t blocks = list[i].blocks;
        own |= list[i].key != list->key;
        serial += blocks <= 4 ? 17 * blocks : 41 * blocks - 120;
        longest = blocks > longest ? blocks : longest;
    }
    return serial > (own ? 700 + 30 * count : 400 + 22 * count) + 45 * longest;
}

/* Whether a backend's multi-buffer code passes its known-answer tests. Runs them before the first
 * use and stores the result in one word, two bits per backend. If the tests fail, jobs run one
 * after the other. Racing threads compute the same result. */
static int are_trusted(const struct tr_backend *b)
{
    static uint32_t verdicts;
    unsigned i = 0;
    /* tr_backend_at() does not list counting tables (counting.h), but they have this pointer. */
    while (tr_backend_at(i)->multibuffer != b->multibuffer)
        i++;
    const uint32_t right = (uint32_t)1 << 2 * i, wrong = (uint32_t)2 << 2 * i;
    uint32_t known = __atomic_load_n(&verdicts, __ATOMIC_RELAXED) & (right | wrong);
    if (known == 0) {
        known = tr_kat_multibuffer(tr_backend_at(i)) == TR_OK ? right : wrong;
        __atomic_fetch_or(&verdicts, known, __ATOMIC_RELAXED);
    }
    return known == right;
}

/* Runs jobs with keys of one size and backend, the longest first. */
static void run(enum tr_mb_op op, const struct tr_job *list, size_t count)
{
    const struct tr_backend *b = tr_backend_with_multibuffer(list->key->backend);
    if (count > 1 && b != NULL && is_worth_it(list, count) && are_trusted(b) &&
        tr_env_vector_begin(b->features)) {
        struct tr_job last;
        b->multibuffer(op, list, count, &last);
        tr_env_vector_end();
        TR_PROBE_BULK(counted_as[op], b->name, (blocks_of(list, count) - last.blocks) * TR_BLOCK);
        if (b->count_blocks != NULL)
            b->count_blocks(b, counted_as[op], blocks_of(list, count) - last.blocks);
        if (last.blocks != 0)
            alone(op, &last);
        return;
    }
    for (size_t i = 0; i < count; i++)
        alone(op, &list[i]);
}

/* The number of length classes. Lengths in a class differ by less than 25 %. Classes of longer jobs
 * have lower numbers. */
#define CLASSES 256u

static unsigned class_of(size_t blocks)
{
    const unsigned bits = 63 - (unsigned)__builtin_clzll(blocks);
    const unsigned next = (unsigned)(((uint64_t)blocks << 2 >> bits) & 3);
    return CLASSES - 1 - (bits << 2 | next);
}

/* Runs the longest jobs first, so that no long job runs at the end while other lanes are idle. */
static void run_in_order(enum tr_mb_op op, const struct tr_job *list, size_t count)
{
    struct tr_job sorted[MOST];
    uint8_t place[CLASSES] = {0};
    unsigned before = 0;
    for (size_t i = 0; i < count; i++)
        place[class_of(list[i].blocks)]++;
    for (unsigned i = 0; i < CLASSES; i++) {
        const unsigned n = place[i];
        place[i] = (uint8_t)before;
        before += n;
    }
    for (size_t i = 0; i < count; i++)
        sorted[place[class_of(list[i].blocks)]++] = list[i];
    run(op, sorted, count);
}

static int is_like(const struct tr_aes_key *a, const struct tr_aes_key *b)
{
    return a == b || (a->backend == b->backend && a->rounds == b->rounds);
}

/* Runs all jobs that have the first job's key size and backend, and removes them from the list.
 * Returns the number of remaining jobs. */
static size_t run_kind(enum tr_mb_op op, struct tr_job *list, size_t count)
{
    struct tr_job kind[MOST];
    const struct tr_aes_key *first = list->key;
    size_t n = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_like(list[i].key, first))
            kind[n++] = list[i];
        else
            list[left++] = list[i];
    }
    run_in_order(op, kind, n);
    return left;
}

void tr_multibuffer(enum tr_mb_op op, tr_job_at_fn *of, const void *jobs, size_t count)
{
    struct tr_job list[MOST];
    for (size_t i = 0; i < count;) {
        size_t n = 0, before = SIZE_MAX;
        int alike = 1, ordered = 1;
        for (; i < count && n < MOST; i++) {
            struct tr_job *job = &list[n];
            *job = of(jobs, i);
            if (job->blocks == 0)
                continue;
            alike &= is_like(job->key, list->key);
            ordered &= job->blocks <= before;
            before = job->blocks;
            n++;
        }
        if (!alike) {
            while (n != 0)
                n = run_kind(op, list, n);
        } else if (!ordered) {
            run_in_order(op, list, n);
        } else if (n != 0) {
            run(op, list, n);
        }
    }
}
