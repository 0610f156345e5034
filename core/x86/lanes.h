/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of CBC or CFB encryption, or of CBC-MAC, side by side (lanes.h): LANE_VECTORS vectors, each lane
 * of each with a key of its own. Included after parallel.h.
 *
 * Bound: the AES units, rounds operations a vector, as in the parallel modes, since LANE_VECTORS dependent
 * chains cover the latency. Beside them, a vector of VBLOCKS blocks from as many places costs that many loads
 * (all but the first insert a block), one or two xors, and the same number of stores behind extractions; the
 * round keys are operands in memory, because no register file holds them all.
 *
 * On Zen 4, of what independent rounds reach with VAES, for AES-128 in CBC: vaes512 0.49 (1 KiB) to 0.65 (16 KiB,
 * aligned to 64 bytes; 0.49 not), vaes256 0.42 to 0.53, aesni 0.32 to 0.35 of at most 0.5. One chain alone is at
 * 0.06. Without the stores (MAC) a loop of nothing else reaches 0.92, so they are what limits; masked stores were
 * slower, and so were extractions from ZMM registers, more vectors, and prefetching.
 *
 * A lane whose chain has ended takes the next one at once: all run on for as many blocks as the shortest has
 * left. When there is none to begin, an idle lane does what another does, into the same place, and the last
 * chain is left to the serial code, which is faster.
 */
#if TR_ENV_LARGE_STACK
#    define LANES (LANE_VECTORS * VBLOCKS)

struct lanes {
    uint8_t keys[LANE_VECTORS][15][VBYTES];
    uint8_t chain[LANE_VECTORS][VBYTES];
    const uint8_t *in[LANES];
    uint8_t *out[LANES];
    struct tr_lane of[LANES];            /* blocks: how many are left; 0: the lane is idle */
    const struct tr_aes_key *key[LANES]; /* which is in keys */
} TR_ALIGNED(64);

/* A block in every lane: x is what goes in, and becomes what comes out. */
TR_INLINE TR_TARGET void lanes_step(enum tr_lanes_op op, const struct lanes *l, unsigned n,
                                    V s[LANE_VECTORS], V x[LANE_VECTORS][LANE_STEPS], unsigned step)
{
    UNROLL
    for (unsigned j = 0; j < LANE_VECTORS; j++) {
        V k = v_load(l->keys[j][0]);
        s[j] = v_xor(s[j], op == TR_LANES_CFB ? k : v_xor(x[j][step], k));
    }
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < LANE_VECTORS; j++)
            s[j] = v_aesenc(s[j], v_load(l->keys[j][r]));
    }
    UNROLL
    for (unsigned j = 0; j < LANE_VECTORS; j++) {
        V k = v_load(l->keys[j][n]);
        s[j] = v_aesenclast(s[j], op == TR_LANES_CFB ? v_xor(x[j][step], k) : k);
        x[j][step] = s[j];
    }
}

TR_INLINE TR_TARGET void lanes_run(enum tr_lanes_op op, struct lanes *l, unsigned n, size_t blocks)
{
    V s[LANE_VECTORS], x[LANE_VECTORS][LANE_STEPS];
    size_t offset = 0;
    UNROLL
    for (unsigned j = 0; j < LANE_VECTORS; j++)
        s[j] = v_load(l->chain[j]);
    for (; blocks >= LANE_STEPS; blocks -= LANE_STEPS, offset += LANE_STEPS * TR_BLOCK) {
        UNROLL
        for (unsigned j = 0; j < LANE_VECTORS; j++)
            v_gather_steps(x[j], l->in + j * VBLOCKS, offset);
        UNROLL
        for (unsigned step = 0; step < LANE_STEPS; step++)
            lanes_step(op, l, n, s, x, step);
        UNROLL
        for (unsigned j = 0; op != TR_LANES_MAC && j < LANE_VECTORS; j++)
            v_scatter_steps(l->out + j * VBLOCKS, offset, x[j]);
    }
    for (; blocks != 0; blocks--, offset += TR_BLOCK) {
        UNROLL
        for (unsigned j = 0; j < LANE_VECTORS; j++)
            x[j][0] = v_gather(l->in + j * VBLOCKS, offset);
        lanes_step(op, l, n, s, x, 0);
        UNROLL
        for (unsigned j = 0; op != TR_LANES_MAC && j < LANE_VECTORS; j++)
            v_scatter(l->out + j * VBLOCKS, offset, x[j][0]);
    }
    UNROLL
    for (unsigned j = 0; j < LANE_VECTORS; j++)
        v_store(l->chain[j], s[j]);
}

static TR_TARGET void lanes_any(enum tr_lanes_op op, struct lanes *l, unsigned rounds,
                                size_t blocks)
{
#    define LANES_CASE(o)                                                                          \
        (rounds == 10   ? lanes_run(o, l, 10, blocks)                                              \
         : rounds == 12 ? lanes_run(o, l, 12, blocks)                                              \
                        : lanes_run(o, l, 14, blocks))
    if (op == TR_LANES_CBC)
        LANES_CASE(TR_LANES_CBC);
    else if (op == TR_LANES_CFB)
        LANES_CASE(TR_LANES_CFB);
    else
        LANES_CASE(TR_LANES_MAC);
#    undef LANES_CASE
}

TR_INLINE TR_TARGET uint8_t *lanes_chain(struct lanes *l, unsigned lane)
{
    return l->chain[lane / VBLOCKS] + lane % VBLOCKS * TR_BLOCK;
}

TR_INLINE TR_TARGET void lanes_set_key(struct lanes *l, unsigned lane, const struct tr_aes_key *key)
{
    if (l->key[lane] == key)
        return;
    l->key[lane] = key;
    for (unsigned r = 0; r <= key->rounds; r++)
        b_store(l->keys[lane / VBLOCKS][r] + lane % VBLOCKS * TR_BLOCK, b_load(key->enc[r]));
}

TR_INLINE TR_TARGET void lanes_begin(struct lanes *l, unsigned lane)
{
    const struct tr_lane *of = &l->of[lane];
    lanes_set_key(l, lane, of->key);
    b_store(lanes_chain(l, lane), b_load(of->chain));
    l->in[lane] = of->in;
    l->out[lane] = of->out;
}

/* Lets an idle lane do what another does. */
TR_INLINE TR_TARGET void lanes_double(struct lanes *l, unsigned lane, unsigned other)
{
    lanes_set_key(l, lane, l->of[other].key);
    b_store(lanes_chain(l, lane), b_load(lanes_chain(l, other)));
    l->in[lane] = l->in[other];
    l->out[lane] = l->out[other];
}

/* Fills what lanes it can, and makes the others double one. Returns how many chains run, and for how many
 * blocks they can. */
static TR_TARGET unsigned lanes_fill(struct lanes *l, struct tr_lane_queue *queue, size_t *blocks)
{
    unsigned busy = 0, one = 0;
    *blocks = SIZE_MAX;
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (l->of[lane].blocks == 0 && tr_lane_next(queue, &l->of[lane]))
            lanes_begin(l, lane);
        size_t left = l->of[lane].blocks;
        if (left != 0) {
            busy++;
            one = lane;
            *blocks = left < *blocks ? left : *blocks;
        }
    }
    for (unsigned lane = 0; busy > 1 && busy < LANES && lane < LANES; lane++) {
        if (l->of[lane].blocks == 0)
            lanes_double(l, lane, one);
    }
    return busy;
}

/* After a run of so many blocks. */
static TR_TARGET void lanes_advance(struct lanes *l, enum tr_lanes_op op, size_t blocks)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct tr_lane *of = &l->of[lane];
        l->in[lane] += blocks * TR_BLOCK;
        if (op != TR_LANES_MAC)
            l->out[lane] += blocks * TR_BLOCK;
        if (of->blocks == 0)
            continue;
        of->blocks -= blocks;
        if (of->blocks == 0)
            b_store(of->chain, b_load(lanes_chain(l, lane)));
    }
}

/* What the only chain left has still to do. */
static TR_TARGET void lanes_leave(struct lanes *l, struct tr_lane *last)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (l->of[lane].blocks == 0)
            continue;
        *last = l->of[lane];
        b_store(last->chain, b_load(lanes_chain(l, lane)));
        last->in = l->in[lane];
        last->out = l->out[lane];
    }
}

static TR_TARGET void lanes(enum tr_lanes_op op, struct tr_lane_queue *queue, struct tr_lane *last)
{
    struct lanes l;
    size_t blocks;
    for (unsigned lane = 0; lane < LANES; lane++) {
        l.of[lane].blocks = 0;
        l.key[lane] = NULL;
    }
    last->blocks = 0;
    while (lanes_fill(&l, queue, &blocks) > 1) {
        lanes_any(op, &l, queue->like->rounds, blocks);
        lanes_advance(&l, op, blocks);
    }
    lanes_leave(&l, last);
    tr_cleanse(&l, sizeof(l));
}

#    define TR_LANES lanes
#else
#    define TR_LANES NULL
#endif
