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

/* Returns job i of an array of struct tr_stream. */
static inline struct tr_job tr_stream_job(const void *jobs, size_t i)
{
    const struct tr_stream *job = (const struct tr_stream *)jobs + i;
    return (struct tr_job){job->key, job->iv, job->in, job->out, job->len / TR_BLOCK};
}

/* Returns job i of the caller's array. */
typedef struct tr_job tr_job_at_fn(const void *jobs, size_t i);

/* Runs `count` jobs, 2 or more, each of at least one block, with keys of one size and backend. Jobs
 * start in their order, so the longest should come first. If only one job remains, the backend may
 * hand it back: *last describes its remaining blocks. Otherwise it sets last->blocks to 0. */
typedef void tr_multibuffer_fn(enum tr_mb_op op, const struct tr_job *jobs, size_t count,
                               struct tr_job *last);

/* Runs `count` jobs to their ends. Their lengths, key sizes and backends may differ. The modes call
 * this function. */
void tr_multibuffer(enum tr_mb_op op, tr_job_at_fn *of, const void *jobs, size_t count);

#endif
