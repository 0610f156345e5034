/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-buffer scheduling: runs jobs together if the backend can, otherwise one after the other. */
#include "modes/cbc_mac.h"

/* Jobs scheduled at a time: a multiple of every backend's lane count. Without multi-buffer code the
 * jobs run one after the other, and short lists save stack. */
#if TR_ENV_STACK >= 65536
#    define MOST 192u
#else
#    define MOST 16u
#endif

static const enum tr_op counted_as[] = {[TR_MB_CBC] = TR_OP_CBC_ENCRYPT,
                                        [TR_MB_CFB] = TR_OP_CFB_ENCRYPT,
                                        [TR_MB_MAC] = TR_OP_CBC_ENCRYPT};

static void multibuffer_alone(enum tr_mb_op op, const struct tr_job *job)
{
    if (op == TR_MB_MAC)
        tr_cbc_mac(job->key, job->chain, job->in, job->blocks);
    else
        tr_bulk(job->key, counted_as[op], job->out, job->in, job->blocks, job->chain);
}

/*
 * Whether multi-buffer code is faster than running the jobs one after the other. The pipeline of
 * multi-buffer code takes time to fill and drain. When short jobs run one after the other, the
 * processor overlaps them, because its reorder window reaches into the next job. The estimate, in
 * cycles on Zen 4:
 *
 * - Jobs one after the other take `serial` cycles (struct tr_jobs).
 * - Multi-buffer code takes 500, plus 28 for each job, plus 48 for each step (one block of each
 *   lane). Different keys add 350, plus 10 for each job: the code copies the round-key schedules of
 *   all lanes. If any job ends in a partial batch, each job adds 30: the code copies the input and
 *   output of such batches.
 *
 * Multi-buffer code has 8 lanes without VAES, and at least 16 with VAES. 32-bit code has half as
 * many lanes. The estimate ignores this. In 32-bit code, it may therefore choose multi-buffer code
 * where running the jobs one after the other is a little faster.
 */
static int multibuffer_is_worth_it(const struct tr_backend *b, const struct tr_jobs *jobs)
{
    const uint64_t count = jobs->count;
    const unsigned lanes = b->features & TR_FEATURE_VAES ? 16 : 8;
    const uint64_t steps =
        jobs->blocks / lanes > jobs->longest ? jobs->blocks / lanes : jobs->longest;
    return jobs->serial > 500 + 28 * count + 48 * steps + (jobs->own ? 350 + 10 * count : 0) +
                              (jobs->tails ? 30 * count : 0);
}

/* Whether a backend's multi-buffer code passes its known-answer tests. If they fail, jobs run one
 * after the other. */
static int multibuffer_are_trusted(const struct tr_backend *b)
{
    static uint32_t verdicts;
    unsigned i = 0;
    /* `b` can be a counting table (dispatch/counting.h), which tr_backend_at() does not list. So
     * the loop compares `multibuffer` pointers: a counting table has that of its backend. */
    while (tr_backend_at(i)->multibuffer != b->multibuffer)
        i++;
    return tr_passes_once(&verdicts, i, tr_kat_multibuffer);
}

/* Runs jobs whose keys have the same size and backend. The caller has put the longest jobs
 * first. */
static void multibuffer_run(enum tr_mb_op op, const struct tr_jobs *jobs)
{
    const struct tr_backend *b = tr_backend_with_multibuffer(jobs->list->key->backend);
    if (jobs->count > 1 && b != NULL && multibuffer_is_worth_it(b, jobs) &&
        multibuffer_are_trusted(b) && tr_env_vector_begin(b->features)) {
        struct tr_job last;
        b->multibuffer(op, jobs, &last);
        tr_env_vector_end();
        TR_PROBE_BULK(counted_as[op], b->name, (jobs->blocks - last.blocks) * TR_BLOCK);
        if (b->count_blocks != NULL)
            b->count_blocks(b, counted_as[op], jobs->blocks - last.blocks);
        if (last.blocks != 0)
            multibuffer_alone(op, &last);
        return;
    }
    for (size_t i = 0; i < jobs->count; i++)
        multibuffer_alone(op, &jobs->list[i]);
}

/* The number of length classes. Lengths in one class differ by less than 25 %. A class of longer
 * jobs has a lower number. */
#define CLASSES 256u

static unsigned multibuffer_class_of(size_t blocks)
{
    const unsigned bits = 63 - (unsigned)__builtin_clzll(blocks);
    const unsigned next = (unsigned)(((uint64_t)blocks << 2 >> bits) & 3);
    return CLASSES - 1 - (bits << 2 | next);
}

/* Sorts the jobs by class and runs the longest first, so that no long job runs at the end while
 * other lanes are idle. */
static void multibuffer_run_in_order(enum tr_mb_op op, const struct tr_jobs *jobs)
{
    const struct tr_job *list = jobs->list;
    const size_t count = jobs->count;
    struct tr_job sorted[MOST];
    struct tr_jobs ordered = *jobs;
    uint8_t place[CLASSES] = {0};
    unsigned before = 0;
    for (size_t i = 0; i < count; i++)
        place[multibuffer_class_of(list[i].blocks)]++;
    for (unsigned i = 0; i < CLASSES; i++) {
        const unsigned n = place[i];
        place[i] = (uint8_t)before;
        before += n;
    }
    for (size_t i = 0; i < count; i++)
        sorted[place[multibuffer_class_of(list[i].blocks)]++] = list[i];
    ordered.list = sorted;
    multibuffer_run(op, &ordered);
}

/* Runs all jobs that have the first job's key size and backend, and removes them from the list.
 * Returns the number of remaining jobs. */
static size_t multibuffer_run_kind(enum tr_mb_op op, struct tr_job *list, size_t count)
{
    struct tr_job kind[MOST];
    struct tr_jobs jobs = {.list = kind};
    const struct tr_aes_key *first = list->key;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (!tr_are_like(list[i].key, first)) {
            list[left++] = list[i];
            continue;
        }
        struct tr_job *job = &kind[jobs.count];
        *job = list[i];
        tr_jobs_add(&jobs, job);
    }
    multibuffer_run_in_order(op, &jobs);
    return left;
}

/* Runs the jobs of a list. Overwrites the list to remove empty jobs, and jobs that have run. */
static void multibuffer_run_list(enum tr_mb_op op, struct tr_job *list, size_t count)
{
    struct tr_jobs jobs = {.list = list};
    size_t before = SIZE_MAX;
    int alike = 1, ordered = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t blocks = list[i].blocks;
        if (blocks == 0)
            continue;
        if (i != jobs.count)
            list[jobs.count] = list[i];
        alike &= tr_are_like(list[i].key, list->key);
        ordered &= blocks <= before;
        before = blocks;
        tr_jobs_add(&jobs, &list[i]);
    }
    /* The calls below pass the address of this copy. If they passed the address of `jobs`, gcc
     * would keep the totals of `jobs` in memory during the loop, not in registers. */
    const struct tr_jobs summed = jobs;
    if (!alike) {
        for (size_t left = jobs.count; left != 0;)
            left = multibuffer_run_kind(op, list, left);
    } else if (!ordered) {
        multibuffer_run_in_order(op, &summed);
    } else if (jobs.count != 0) {
        multibuffer_run(op, &summed);
    }
}

void tr_multibuffer(enum tr_mb_op op, tr_list_jobs_fn *list_jobs, const void *jobs, size_t count)
{
    struct tr_job list[MOST];
    for (size_t i = 0; i < count; i += MOST) {
        const size_t n = count - i < MOST ? count - i : MOST;
        list_jobs(list, jobs, i, n);
        multibuffer_run_list(op, list, n);
    }
}
