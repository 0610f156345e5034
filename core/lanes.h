/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serial chains side by side. One chain of CBC encryption waits for the latency of every round; as many as
 * fill the AES units do not. A backend takes any number of chains, of any lengths, and keeps its lanes full.
 */
#ifndef TR_LANES_H
#define TR_LANES_H

#include "tenrounds.h"

/* What a chain does with a block: CBC stores E(chain + in), CFB stores E(chain) + in, and either is the next
 * chaining value; MAC is CBC that stores nothing. */
enum tr_lanes_op { TR_LANES_CBC, TR_LANES_CFB, TR_LANES_MAC };

struct tr_lane {
    const struct tr_aes_key *key;
    uint8_t *chain; /* 16 bytes, updated */
    const uint8_t *in;
    uint8_t *out; /* in, or disjoint from every lane's in and out; MAC: not used */
    size_t blocks;
};

/* The chain of job i. */
typedef struct tr_lane tr_lane_of_fn(const void *jobs, size_t i);

/* The jobs that are still to begin, of which a backend takes those with keys like this one. */
struct tr_lane_queue {
    const void *jobs;
    size_t count, next;
    tr_lane_of_fn *of;
    const struct tr_aes_key *like;
};

/* Whether there is another chain of at least one block; if so, it is taken from the queue. */
int tr_lane_next(struct tr_lane_queue *queue, struct tr_lane *lane);

/* Runs chains until the queue is empty and at most one is left, which is stored in *last; its blocks are 0 if
 * there is none. */
typedef void tr_lanes_fn(enum tr_lanes_op op, struct tr_lane_queue *queue, struct tr_lane *last);

/* Runs count chains, with keys of any size and backend, to their ends. What the modes call. */
void tr_lanes(enum tr_lanes_op op, tr_lane_of_fn *of, const void *jobs, size_t count);

#endif
