/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains side by side where the backend of their keys has that, else one after the other. */
#include "cbc_mac.h"

TR_INLINE int is_like(const struct tr_aes_key *a, const struct tr_aes_key *b)
{
    return a->backend == b->backend && a->rounds == b->rounds;
}

int tr_lane_next(struct tr_lane_queue *queue, struct tr_lane *lane)
{
    while (queue->next < queue->count) {
        *lane = queue->of(queue->jobs, queue->next++);
        if (lane->blocks != 0 && is_like(lane->key, queue->like))
            return 1;
    }
    lane->blocks = 0;
    return 0;
}

static const enum tr_op counted_as[] = {[TR_LANES_CBC] = TR_OP_CBC_ENCRYPT,
                                        [TR_LANES_CFB] = TR_OP_CFB_ENCRYPT,
                                        [TR_LANES_MAC] = TR_OP_CBC_ENCRYPT};

static void alone(enum tr_lanes_op op, const struct tr_lane *lane)
{
    if (op == TR_LANES_MAC)
        tr_cbc_mac(lane->key, lane->chain, lane->in, lane->blocks);
    else
        tr_bulk(lane->key, counted_as[op], lane->out, lane->in, lane->blocks, lane->chain);
}

/* Blocks of the chains that the queue gives out, for the counters. */
static uint64_t blocks_of(const struct tr_lane_queue *queue)
{
    struct tr_lane_queue q = *queue;
    struct tr_lane lane;
    uint64_t blocks = 0;
    while (tr_lane_next(&q, &lane))
        blocks += lane.blocks;
    return blocks;
}

/* The chains of one group, at least one of them with blocks. */
static void group(enum tr_lanes_op op, struct tr_lane_queue *queue)
{
    const struct tr_backend *b = tr_backend_with_lanes(queue->like->backend);
    struct tr_lane lane;
    if (b != NULL && tr_env_vector_begin(b->features)) {
        uint64_t blocks = b->done_by_host != NULL ? blocks_of(queue) : 0;
        b->lanes(op, queue, &lane);
        tr_env_vector_end();
        if (b->done_by_host != NULL && blocks != lane.blocks)
            b->done_by_host(b, counted_as[op], (size_t)(blocks - lane.blocks));
        if (lane.blocks != 0)
            alone(op, &lane);
    }
    while (tr_lane_next(queue, &lane))
        alone(op, &lane);
}

/* Kinds of keys, by size and backend, that a call keeps together; jobs of more kinds run alone. */
#define KINDS 8u

static int is_known(const struct tr_aes_key *const kinds[KINDS], unsigned n,
                    const struct tr_aes_key *key)
{
    for (unsigned i = 0; i < n; i++) {
        if (is_like(kinds[i], key))
            return 1;
    }
    return 0;
}

void tr_lanes(enum tr_lanes_op op, tr_lane_of_fn *of, const void *jobs, size_t count)
{
    const struct tr_aes_key *kinds[KINDS];
    unsigned n = 0;
    for (size_t i = 0; i < count; i++) {
        struct tr_lane lane = of(jobs, i);
        if (lane.blocks == 0 || is_known(kinds, n, lane.key))
            continue;
        if (n == KINDS) {
            alone(op, &lane);
            continue;
        }
        kinds[n++] = lane.key;
        struct tr_lane_queue queue = {
            .jobs = jobs, .count = count, .next = i, .of = of, .like = lane.key};
        group(op, &queue);
    }
}
