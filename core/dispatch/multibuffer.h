/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-buffer interface: runs serial chains in lanes. One chain of CBC encryption is bound by the
 * latency of each round. Several chains together fill the AES units. A backend takes any number of
 * jobs of any lengths, and keeps its lanes full. */
#ifndef TR_DISPATCH_MULTIBUFFER_H
#define TR_DISPATCH_MULTIBUFFER_H

#include "tenrounds.h"

/* How a chain processes a block. CBC stores E(chain XOR in), CFB stores E(chain) XOR in. The result
 * is the next chaining value. MAC is CBC without output. */
enum tr_mb_op { TR_MB_CBC, TR_MB_CFB, TR_MB_MAC };

struct tr_job {
    const struct tr_aes_key *key;
    uint8_t *chain; /* 16 bytes, updated */
    const uint8_t *in;
    uint8_t *out; /* `in`, or disjoint from every job's `in` and `out`; MAC: not used */
    size_t blocks;
};

/* A list of jobs, and sums over them, so that one pass over the list is enough. */
struct tr_jobs {
    const struct tr_job *list;
    size_t count;
    size_t blocks, longest; /* of all jobs; of the longest job */
    uint64_t serial;        /* approximate cycles of all jobs one after the other */
    int own, tails;         /* 1: keys differ; 1: some job's blocks are no multiple of 4 */
};

/*
 * Adds a job to the sums. The caller has stored the job at list[count].
 *
 * A block of a chain takes 41 cycles (one XOR, and 10 rounds of 4 cycles each), but each of the
 * first five only 17, because successive chains overlap in the reorder window (Zen 4; 14 to 20 on
 * Zen 3).
 */
static inline void tr_jobs_add(struct tr_jobs *jobs, const struct tr_job *job)
{
    const size_t blocks = job->blocks;
    jobs->count++;
    jobs->blocks += blocks;
    jobs->longest = blocks > jobs->longest ? blocks : jobs->longest;
    jobs->serial += blocks <= 4 ? 17 * (uint64_t)blocks : 41 * (uint64_t)blocks - 120;
    jobs->own |= job->key != jobs->list->key;
    jobs->tails |= blocks % 4 != 0;
}

/* Sets list[0] to list[count - 1] to the jobs of the caller's array from index `first` on. */
typedef void tr_list_jobs_fn(struct tr_job *list, const void *jobs, size_t first, size_t count);

/* The same for an array of struct tr_stream. */
static inline void tr_list_streams(struct tr_job *list, const void *jobs, size_t first,
                                   size_t count)
{
    const struct tr_stream *of = (const struct tr_stream *)jobs + first;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct tr_job){of[i].key, of[i].iv, of[i].in, of[i].out, of[i].len / TR_BLOCK};
}

/* Runs jobs, 2 or more, each of at least one block, with keys of one size and backend. Jobs start
 * in list order, so the longest should come first. If only one job remains, the backend may hand it
 * back: *last then describes the remaining blocks. Otherwise last->blocks is 0. */
typedef void tr_multibuffer_fn(enum tr_mb_op op, const struct tr_jobs *jobs, struct tr_job *last);

/* Runs `count` jobs to their ends. Their lengths, key sizes and backends may differ. The modes call
 * this function. */
void tr_multibuffer(enum tr_mb_op op, tr_list_jobs_fn *list_jobs, const void *jobs, size_t count);

#endif
