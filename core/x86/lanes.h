/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of CBC or CFB encryption, or of CBC-MAC, side by side (lanes.h): a block of each of VBLOCKS chains in a
 * vector, and as many vectors as cover the latency of a round. Included after the vector block.
 *
 * Bound: the AES units, rounds operations a vector, as in the parallel modes; and, since Zen 4's rounds take four cycles, the latency of
 * 40 cycles a block, which sixteen chains fill exactly: what holds up one round is lost. The longest chain is a bound, too: 64 messages
 * of 64 bytes to 16 KiB, 190 KiB in all, cannot exceed 0.74. Beside the rounds blocks come from and go to as many places. A line of each lane
 * is moved at a time, because messages a multiple of 4096 bytes apart share a set of the first cache, which has eight places: block by block,
 * each line would be fetched again (0.16). How lines become vectors depends on the width: lanes_lines.h (512 bits), lanes_rows.h.
 *
 * On Zen 4, of what independent rounds reach with VAES, AES-128 in CBC, 16 messages (of 64 or 24: as many):
 *
 *              16 KiB   16 KiB, a multiple   the same, not      the same, keys   1 KiB   64 of    128     64 of 64 bytes
 *                       of 4096 apart        aligned to 16      of their own             1 KiB    bytes   to 16 KiB
 *   vaes512    0.85     0.61 to 0.64         0.41               0.58             0.69    0.70     0.28    0.47
 *   vaes256             0.56                                    0.44             0.53             0.24    0.37
 *   aesni               0.37                                    0.27             0.35             0.19
 *
 * MACs on vaes512, which write nothing, 0.82; one chain alone 0.06. A call takes some 700 cycles beside its steps: a run, as the time from one end
 * of a lane to the next is called, must wait for the last round and then for the first, 250 cycles or more, and each lane that ends and begins costs
 * some 20. 16 lines in and out that share a set take 120 cycles (copied alone; apart, 65 to 80), nearly the 160 of their rounds, and the stores
 * hold these up: with four lines of a lane at a time the copy takes 76 (not done).
 *
 * What made the difference:
 *   - Chaining values are loaded from where they are: loads of a vector wait for the narrow stores that put it together. For the
 *     same reason no structure goes to a function by value.
 *   - Round keys are spread where they are held, and only what was used is wiped.
 *   - The longest first, and fewer lanes where one long chain is what the others wait for.
 *
 * A lane whose chain has ended takes the next one at the end of the turn. When there is none to begin, an idle lane reads
 * what another does and writes it nowhere, and the last chain is left to the serial code, which is faster.
 */
#include "unroll.h"

#if TR_ENV_LARGE_STACK
#    define LANES         (LANE_VECTORS * VBLOCKS)
#    define LANES_NARROW  (LANE_VECTORS_NARROW * VBLOCKS)
/* A turn is so many steps, each of a block in every lane: a cache line of most messages. */
#    define LANE_TURN     4u
#    define TURN_BYTES    (LANE_TURN * TR_BLOCK)
/* Idle lanes go on for so many turns at a time, and write into a place where nobody looks. */
#    define LANES_NOWHERE 16u
#    define LANES_ROWS    31u
#    define LANES_HELD    24u

/* For 512 bits: see lanes_lines.h for why what lies where. */
struct lanes {
#    if VBLOCKS == 4
    union {
        struct {
            uint8_t out_turn[2][LANES * TURN_BYTES];
            /* Input and output: offsets count from the beginning of all. */
            uint8_t *in[LANES], *out[LANES], *none[LANES];
            const uint8_t *from[LANES]; /* where the chains' values are */
            uint8_t *lines[LANES];      /* of out_turn[0] or in_turn[1] */
        };
        uint8_t page[4096];
    };
    union {
        struct {
            uint8_t in_turn[2][LANES * TURN_BYTES]; /* of odd turns, of even ones */
            uint8_t shared[15][VBYTES];             /* round keys, the same for all lanes */
            uint8_t chain[LANE_VECTORS][VBYTES];
        };
        uint8_t page_too[4096 + 1280];
    };
    uint8_t own_keys[15][LANES_NARROW * TR_BLOCK];
#    else
    uint8_t shared[15][VBYTES]; /* round keys, the same for all lanes */
    uint8_t chain[LANE_VECTORS][VBYTES];
    uint8_t rows[LANES_ROWS * LANES_NARROW * TR_BLOCK]; /* see lanes_rows.h */
    /* Input and output: offsets count from the beginning of all. */
    uint8_t *in[LANES], *out[LANES], *none[LANES];
    const uint8_t *from[LANES]; /* where the chains' values are */
#    endif
    uint8_t tail[LANES][TURN_BYTES]; /* input of a turn in which a lane ends */
    uint8_t nowhere[LANES_NOWHERE * TURN_BYTES];
    uint8_t *cut_in[LANES], *cut_out[LANES]; /* for the last turn of a run */
    uint8_t *const *last_in;
    uint8_t *const *last_out;
    size_t end[LANES]; /* in turns from the beginning of all; SIZE_MAX: the lane is idle */
    const struct tr_lane *of[LANES];
    const struct tr_aes_key *key;
    const struct tr_lane *next, *behind; /* jobs that are still to begin */
    size_t now;                          /* turns from the beginning of all */
    size_t first_end;                    /* where the first lane ends, */
    unsigned first, busy;                /* which that is, and how many lanes run */
    unsigned half;                       /* of the two turns' output, where the last turn's is */
    unsigned lanes, widest;              /* in use, and at most: LANES or LANES_NARROW */
    int own, tails;                      /* keys differ; lengths do that are no whole turns */
} TR_ALIGNED(64);

/* n is a multiple of VBYTES. */
TR_INLINE TR_TARGET void lanes_wipe(void *p, size_t n)
{
    const V zero = v_first(b_zero());
    for (size_t i = 0; i < n; i += VBYTES)
        v_store((uint8_t *)p + i, zero);
    __asm__ volatile("" : : "r"(p) : "memory");
}
TR_INLINE TR_TARGET void lanes_spread_keys(struct lanes *l, const struct tr_aes_key *key)
{
    for (unsigned r = 0; !l->own && r <= key->rounds; r++)
        v_store(l->shared[r], v_all(key->enc[r]));
}

/* Keeps the value in a register, and what has an effect in its order. */
#    define LANES_HERE(x) __asm__ volatile("" : "+" V_REGISTER(x)::"memory")

#    if VBLOCKS == 4
#        include "lanes_lines.h"
#    else
#        include "lanes_rows.h"
#    endif

/* A function for each operation, number of rounds and kind of lanes, so that registers are not kept for another. */
#    define LANES_RUN(name, op, n, vectors, own)                                                   \
        static TR_TARGET __attribute__((__noinline__)) void name(struct lanes *l, size_t turns)    \
        {                                                                                          \
            lanes_run(op, l, n, vectors, own, turns);                                              \
        }
#    if LANE_VECTORS > LANE_VECTORS_NARROW
#        define LANES_RUNS(name, op, n)                                                            \
            LANES_RUN(name##_own, op, n, LANE_VECTORS_NARROW, 1)                                   \
            LANES_RUN(name##_shared, op, n, LANE_VECTORS_NARROW, 0)                                \
            LANES_RUN(name##_wide, op, n, LANE_VECTORS, 0)
#        define LANES_ROW(name)                                                                    \
            {                                                                                      \
                name##_shared, name##_own, name##_wide                                             \
            }
#    else
#        define LANES_RUNS(name, op, n)                                                            \
            LANES_RUN(name##_own, op, n, LANE_VECTORS_NARROW, 1)                                   \
            LANES_RUN(name##_shared, op, n, LANE_VECTORS_NARROW, 0)
#        define LANES_ROW(name)                                                                    \
            {                                                                                      \
                name##_shared, name##_own, NULL                                                    \
            }
#    endif
#    define LANES_OP(name, op)                                                                     \
        LANES_RUNS(name##_10, op, 10) LANES_RUNS(name##_12, op, 12) LANES_RUNS(name##_14, op, 14)
LANES_OP(lanes_cbc, TR_LANES_CBC)
LANES_OP(lanes_cfb, TR_LANES_CFB)
LANES_OP(lanes_mac, TR_LANES_MAC)

#    define LANES_TABLE(name)                                                                      \
        {                                                                                          \
            LANES_ROW(name##_10), LANES_ROW(name##_12), LANES_ROW(name##_14)                       \
        }
/* By operation, size of key, and shared keys, own keys, all lanes. */
static void (*const lanes_table[3][3][3])(struct lanes *l,
                                          size_t turns) = {[TR_LANES_CBC] = LANES_TABLE(lanes_cbc),
                                                           [TR_LANES_CFB] = LANES_TABLE(lanes_cfb),
                                                           [TR_LANES_MAC] = LANES_TABLE(lanes_mac)};

TR_INLINE TR_TARGET uint8_t *lanes_chain(struct lanes *l, unsigned lane)
{
    return (uint8_t *)l->chain + lane * TR_BLOCK;
}

/* Made from integers: what it would point at without an offset may be nothing. */
TR_INLINE uint8_t *lanes_base(const uint8_t *p, size_t turns)
{
    return (uint8_t *)((uintptr_t)p - turns * TURN_BYTES);
}

/* The blocks of a lane's last turn; 0: all. */
TR_INLINE unsigned lanes_tail(const struct lanes *l, unsigned lane)
{
    return l->of[lane]->blocks % LANE_TURN;
}

TR_INLINE TR_TARGET size_t lanes_begin(struct lanes *l, unsigned lane, const struct tr_lane *job,
                                       size_t now)
{
    const size_t end = now + (job->blocks - 1) / LANE_TURN + 1;
    l->of[lane] = job;
    l->in[lane] = lanes_base(job->in, now);
    l->out[lane] = lanes_base(job->out, now);
    l->from[lane] = job->chain;
    for (unsigned r = 0; l->own && r <= job->key->rounds; r++)
        b_store(lanes_own_key_of(l, lane, r), b_load(job->key->enc[r]));
    return end;
}

TR_INLINE TR_TARGET void lanes_end(enum tr_lanes_op op, struct lanes *l, unsigned lane)
{
    const struct tr_lane *job = l->of[lane];
    const unsigned tail = lanes_tail(l, lane);
    B chain = b_load(lanes_chain(l, lane));
    for (unsigned i = 0; i < tail; i++) {
        chain = b_load(lanes_given(l, lane, i));
        if (op != TR_LANES_MAC)
            b_store(job->out + (job->blocks - tail + i) * TR_BLOCK, chain);
    }
    b_store(job->chain, chain);
}

/* Ends what has come to its end, begins what can be begun, and looks which lane ends first. */
static TR_TARGET void lanes_refill(enum tr_lanes_op op, struct lanes *l)
{
    const struct tr_lane *next = l->next, *const behind = l->behind;
    const size_t now = l->now;
    const unsigned lanes = l->lanes;
    size_t first_end = SIZE_MAX;
    unsigned busy = 0, first = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        size_t end = l->end[lane];
        l->from[lane] = lanes_chain(l, lane);
        if (end == now) {
            if (now != 0)
                lanes_end(op, l, lane);
            end = next != behind ? lanes_begin(l, lane, next++, now) : SIZE_MAX;
            l->end[lane] = end;
        }
        busy += end != SIZE_MAX;
        first = end < first_end ? lane : first;
        first_end = end < first_end ? end : first_end;
    }
    l->next = next;
    l->busy = busy;
    l->first = first;
    l->first_end = first_end;
}

/* Moves the lanes that run to the first places. */
static TR_TARGET void lanes_narrow(struct lanes *l)
{
    unsigned to = 0;
    for (unsigned lane = LANES_NARROW; lane < LANES; lane++) {
        if (l->end[lane] == SIZE_MAX)
            continue;
        while (l->end[to] != SIZE_MAX)
            to++;
        l->first = l->first == lane ? to : l->first;
        l->end[to] = l->end[lane];
        l->of[to] = l->of[lane];
        l->in[to] = l->in[lane];
        l->out[to] = l->out[lane];
        l->from[to] = lanes_chain(l, lane);
    }
    l->lanes = LANES_NARROW;
}

/* Lanes that end within the turn before end read it from a copy, and what they write goes nowhere. */
static TR_TARGET void lanes_cut(struct lanes *l, size_t end)
{
    l->last_in = l->in;
    l->last_out = l->out;
    if (!l->tails)
        return;
    __builtin_memcpy(l->cut_in, l->in, sizeof(l->in));
    __builtin_memcpy(l->cut_out, l->out, sizeof(l->out));
    l->last_in = l->cut_in;
    l->last_out = l->cut_out;
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        unsigned tail;
        if (l->end[lane] != end || (tail = lanes_tail(l, lane)) == 0)
            continue;
        const struct tr_lane *job = l->of[lane];
        for (unsigned i = 0; i < tail; i++)
            b_store(l->tail[lane] + i * TR_BLOCK,
                    b_load(job->in + (job->blocks - tail + i) * TR_BLOCK));
        l->cut_in[lane] = lanes_base(l->tail[lane], end - 1);
        l->cut_out[lane] = lanes_base(l->nowhere, end - 1);
    }
}

/* Idle lanes read what the first one reads. */
static void lanes_occupy(struct lanes *l)
{
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        if (l->end[lane] != SIZE_MAX)
            continue;
        l->from[lane] = l->from[l->first];
        l->in[lane] = l->in[l->first];
        l->cut_in[lane] = l->last_in[l->first];
        l->out[lane] = l->cut_out[lane] = lanes_base(l->nowhere, l->now);
    }
}

/* What the only chain left has still to do. */
static TR_TARGET void lanes_leave_one(struct lanes *l, struct tr_lane *last)
{
    const struct tr_lane *job = l->of[l->first];
    const size_t turns = (job->blocks - 1) / LANE_TURN + 1 - (l->first_end - l->now);
    *last = *job;
    b_store(last->chain, b_load(l->from[l->first]));
    last->blocks -= turns * LANE_TURN;
    last->in += turns * TURN_BYTES;
    if (last->out != NULL)
        last->out += turns * TURN_BYTES;
}

static TR_TARGET void lanes_set_up(struct lanes *l, const struct tr_lane *jobs, size_t count)
{
    uint64_t blocks = 0, longest = 0;
    l->own = l->tails = 0;
    for (const struct tr_lane *job = jobs; job != jobs + count; job++) {
        blocks += job->blocks;
        longest = job->blocks > longest ? job->blocks : longest;
        l->own |= job->key != jobs->key;
        l->tails |= job->blocks % LANE_TURN != 0;
    }
    /* A step of all lanes takes longer, which pays where they spare a second run, and no long chain goes on alone. */
    l->lanes = LANES_NARROW;
    if (LANES > LANES_NARROW && !l->own && blocks > LANES_NARROW * longest &&
        blocks <= LANES * longest)
        l->lanes = LANES;
    l->widest = l->lanes;
    l->key = jobs->key;
    lanes_prepare(l, jobs->key);
    l->next = jobs;
    l->behind = jobs + count;
    l->now = 0;
    for (unsigned lane = 0; lane < l->lanes; lane++)
        l->end[lane] = 0;
}

static TR_TARGET void lanes_cleanse(enum tr_lanes_op op, struct lanes *l)
{
    lanes_wipe_turns(op, l);
    lanes_wipe(l->chain, sizeof(l->chain));
    if (!l->own && (VBLOCKS != 4 || LANE_KEYS_HELD == 0))
        lanes_wipe(l->shared, (l->key->rounds + 1) * VBYTES);
    if (l->tails)
        lanes_wipe(l->tail, sizeof(l->tail));
}

static TR_TARGET void lanes(enum tr_lanes_op op, const struct tr_lane *jobs, size_t count,
                            struct tr_lane *last)
{
    struct lanes l;
    lanes_set_up(&l, jobs, count);
    for (lanes_refill(op, &l); l.busy > 1; lanes_refill(op, &l)) {
        if (l.busy <= LANES_NARROW && l.lanes > LANES_NARROW)
            lanes_narrow(&l);
        size_t end = l.first_end;
        if (l.busy < l.lanes && end > l.now + LANES_NOWHERE)
            end = l.now + LANES_NOWHERE;
        lanes_cut(&l, end);
        if (l.busy < l.lanes)
            lanes_occupy(&l);
        lanes_table[op][jobs->key->rounds / 2 - 5][l.lanes > LANES_NARROW ? 2 : l.own](&l,
                                                                                       end - l.now);
        l.half = (end - l.now - 1) % 2;
        l.now = end;
    }
    last->blocks = 0;
    if (l.busy != 0)
        lanes_leave_one(&l, last);
    lanes_cleanse(op, &l);
}

#    define TR_LANES lanes
#else
#    define TR_LANES NULL
#endif
