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

/*
 * Runs count chains, 2 or more, each of at least one block, with keys of one size and backend; taken in their
 * order, so the longest should come first. One may be left over, if nothing goes on beside it: what it has still to do
 * is stored in *last, whose blocks are else 0.
 */
typedef void tr_lanes_fn(enum tr_lanes_op op, const struct tr_lane *jobs, size_t count,
                         struct tr_lane *last);

/* Runs count chains, of any lengths and with keys of any size and backend, to their ends. What the modes call. */
void tr_lanes(enum tr_lanes_op op, tr_lane_of_fn *of, const void *jobs, size_t count);

#endif
