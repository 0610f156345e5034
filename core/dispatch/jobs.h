/* SPDX-License-Identifier: BSD-2-Clause */
/* Multi-buffer interface: runs serial chains in lanes. One chain of CBC encryption is bound by the
 * latency of the rounds; several interleaved chains fill the execution units. A backend takes any
 * number of jobs of any lengths, and keeps its lanes full. */
#ifndef TR_DISPATCH_JOBS_H
#define TR_DISPATCH_JOBS_H

#include "tenrounds.h"

/* How a chain processes a block. CBC stores E(chain ^ in), CFB stores E(chain) ^ in; E is AES
 * encryption. The stored block is the next chaining value. MAC is CBC without output. */
enum tr_mb_op { TR_MB_CBC, TR_MB_CFB, TR_MB_MAC };

struct tr_job {
    const struct tr_aes_key *key;
    uint8_t *chain; /* 16 bytes, updated */
    const uint8_t *in;
    /* Begins at or before `in`, and is disjoint from all other jobs. Not used by MAC. */
    uint8_t *out;
    size_t blocks;
};

/* A list of jobs, and totals over the list. One pass over the jobs computes the totals. */
struct tr_jobs {
    const struct tr_job *list;
    size_t count;
    /* The blocks of all jobs, and the blocks of the longest job. */
    size_t blocks, longest;
    /* The approximate cycles if the jobs run one after the other. */
    uint64_t serial;
    /* The flag `own` is 1 if the jobs have different keys. The flag `tails` is 1 if the number of
     * blocks of some job is no multiple of 4. */
    int own, tails;
};

/*
 * Adds a job to the totals. The caller has stored the job at list[count].
 *
 * The cycles are those of CBC with AES-128 on Zen 4. A block of a chain takes 41 cycles: one for
 * the XOR, and 4 for each of 10 rounds. The reorder window overlaps the first five blocks of a
 * chain with the previous chain. They take only 27 cycles each, 5 * 14 = 70 less in all.
 */
static inline void tr_jobs_add(struct tr_jobs *jobs, const struct tr_job *job)
{
    const size_t blocks = job->blocks;
    jobs->count++;
    jobs->blocks += blocks;
    jobs->longest = blocks > jobs->longest ? blocks : jobs->longest;
    jobs->serial += blocks <= 5 ? 27 * (uint64_t)blocks : 41 * (uint64_t)blocks - 70;
    jobs->own |= job->key != jobs->list->key;
    jobs->tails |= blocks % 4 != 0;
}

/* Fills list[0] to list[count - 1] with the jobs of the caller's array from index `first` on. */
typedef void tr_list_jobs_fn(struct tr_job *list, const void *jobs, size_t first, size_t count);

/* The tr_list_jobs_fn for an array of struct tr_stream. */
static inline void tr_list_streams(struct tr_job *list, const void *jobs, size_t first,
                                   size_t count)
{
    const struct tr_stream *of = (const struct tr_stream *)jobs + first;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct tr_job){of[i].key, of[i].iv, of[i].in, of[i].out, of[i].len / TR_BLOCK};
}

/* Runs two or more jobs of at least one block each, whose keys have one size and one backend. Jobs
 * start in list order, so the longest should come first. If only one job remains, the backend may
 * leave the last blocks of this job to the caller. The backend then describes these blocks in
 * *last. Otherwise the backend sets last->blocks to 0. */
typedef void tr_multibuffer_fn(enum tr_mb_op op, const struct tr_jobs *jobs, struct tr_job *last);

/* Runs `count` jobs to their ends. The lengths, key sizes and backends of the jobs may differ. The
 * modes call this function. */
void tr_multibuffer(enum tr_mb_op op, tr_list_jobs_fn *list_jobs, const void *jobs, size_t count);

/* The known-answer tests of multi-buffer code. The backend or a weaker one must have such code.
 * These tests need more stack than the other tests, so only the first multi-buffer call runs
 * them. */
enum tr_status tr_kat_multibuffer(const struct tr_backend *backend);

#endif
