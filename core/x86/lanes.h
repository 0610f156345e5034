/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of CBC or CFB encryption, or of CBC-MAC, side by side (lanes.h): a block of each of VBLOCKS chains in a
 * vector, and as many vectors as cover the latency of a round. Included after the vector block.
 *
 * Bound: the AES units, rounds operations a vector, as in the parallel modes. Beside them a vector takes an insertion for each
 * block but the first, an xor, a store, and, because blocks come from and go to as many places, a share of copying: for each
 * lane a load and store of 64 bytes in, and four loads and stores of 16 bytes out, every fourth step. On Zen 4, of what
 * independent rounds reach with VAES, AES-128 in CBC, 16 messages or (in brackets) 24 that share a key:
 *
 *                         16 messages     16, a multiple of      16 not aligned   1 KiB         128 bytes     16 with keys
 *                         of 16 KiB       4096 bytes apart       to 16 bytes                                  of their own
 *   vaes512               0.64 to 0.79    0.60 to 0.66           0.67             0.63 (0.66)   0.24 (0.27)   0.61
 *   24 sharing a key      0.78 to 0.88
 *   vaes256               0.60                                                    0.51          0.24          0.48
 *   aesni                 0.39                                                    0.36          0.13          0.28
 *
 * 200 messages of 64 bytes to 16 KiB 0.49, MACs on vaes512, which write nothing, 0.88 with 24 lanes, one chain alone 0.06. Where two figures
 * stand, it is from process to process, presumably by where stack and buffers lie. A step
 * of 16 lanes takes 50 cycles, 40 of which are the rounds' latency; a call 500 cycles and each of its messages 40.
 * Own keys are a load of a whole vector for each round, which is all that the load units can do, so some stay in registers; not aligned to
 * 16 bytes, and on vaes256 and aesni, where none can, they are slower than a loop without the copying (0.59, 0.50, 0.34).
 *
 * What made the difference:
 *   - The vectors are a round or two apart, so that loads, stores and insertions come evenly and always have the
 *     rounds of other vectors beside them. In step, all of it comes at once: 0.61 where this reached 0.79.
 *   - Blocks come out of a vector by way of memory. An extraction costs Zen 4 more than a store and a load.
 *   - Whole lines at a time: messages a multiple of 4096 bytes apart share a set of the first cache, which has eight
 *     places. Block by block, each line would be fetched again: 0.16 instead of 0.66.
 *   - The longest first, and fewer lanes where one long chain is what the others wait for.
 * What did not: masked stores, prefetching, transposing in registers (as many shuffles as insertions), stores of 32 or 64 bytes put
 * together by insertions, copies through general registers, 8 ZMM vectors, VAES on YMM registers with AVX-512's 32 of them.
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

struct lanes {
    uint8_t shared[15][VBYTES]; /* round keys, the same for all lanes */
    uint8_t chain[LANE_VECTORS][VBYTES];
    uint8_t rows[LANES_ROWS * LANES_NARROW * TR_BLOCK]; /* see below */
    uint8_t tail[LANES][TURN_BYTES];                    /* input of a turn in which a lane ends */
    uint8_t nowhere[LANES_NOWHERE * TURN_BYTES];
    /* For offsets that count from the beginning of all; and those for the last turn of a run. */
    const uint8_t *in[LANES], *cut_in[LANES];
    uint8_t *out[LANES], *cut_out[LANES], *none[LANES];
    const uint8_t *const *last_in;
    uint8_t *const *last_out;
    size_t end[LANES]; /* in turns from the beginning of all; SIZE_MAX: the lane is idle */
    const struct tr_lane *of[LANES];
    const struct tr_lane *next, *behind; /* jobs that are still to begin */
    size_t now;                          /* turns from the beginning of all */
    size_t first_end;                    /* where the first lane ends, */
    unsigned first, busy;                /* which that is, and how many lanes run */
    unsigned half;                       /* of the two turns' output, where the last turn's is */
    unsigned lanes;                      /* in use: LANES or LANES_NARROW */
    int own, tails;                      /* keys differ; lengths do that are no whole turns */
} TR_ALIGNED(64);

/*
 * Rows of a block for each lane in use: eight for the input of two turns, a lane's blocks of a turn behind each other;
 * eight for the output of two turns, one for each step; and one for each round key, if the lanes have their own.
 *
 * A load is taken for one of what an earlier store writes if their addresses are equal but for a multiple of 4096, and
 * waits for it (Zen 4: with input and output 4096 bytes apart 0.58 instead of 0.78). What a step stores is ready only at its end, so the loads of a step must not be mixed up with it. 16 rows of
 * 16 lanes are 4096 bytes, and among the keys such a load is of the vector itself. Of 24 lanes, each turn's
 * output lies so with the input of the turn before and the turn after, but for the last step, which has a place of its own.
 */
TR_INLINE unsigned lanes_input(unsigned lanes, size_t turn)
{
    return turn % 2 * LANE_TURN * lanes * TR_BLOCK;
}
TR_INLINE unsigned lanes_output(unsigned lanes, size_t turn, unsigned step)
{
    const unsigned row = lanes * TR_BLOCK, half = turn % 2;
    if (lanes == LANES_NARROW)
        return (8 + half * LANE_TURN + step) * row;
    return step == LANE_TURN - 1 ? (8 + half) * row : 4096 + ((1 - half) * LANE_TURN + step) * row;
}
TR_INLINE unsigned lanes_own_key(unsigned r)
{
    return (16 + r) * LANES_NARROW * TR_BLOCK;
}

/* A key of round r for vector j. */
TR_INLINE TR_TARGET V lanes_key(const struct lanes *l, const V held[LANES_HELD], int own,
                                unsigned j, unsigned r)
{
    if (own && r + 1 <= LANE_OWN_KEYS_HELD)
        return held[j * LANE_OWN_KEYS_HELD + r];
    if (own)
        return v_load(l->rows + lanes_own_key(r) + j * VBYTES);
    return r + 1 <= LANE_KEYS_HELD ? held[r] : v_load(l->shared[r]);
}

/* Keeps the value in a register, and what has an effect in its order. */
#    define LANES_HERE(x) __asm__ volatile("" : "+" V_REGISTER(x)::"memory")

/* What the first round takes. */
TR_INLINE TR_TARGET V lanes_enter(enum tr_lanes_op op, unsigned j, V s, V k, const uint8_t *from)
{
    if (op == TR_LANES_CFB)
        return v_xor(s, k);
    return v_xor3(s, v_gather(from + j * VBLOCKS * TURN_BYTES, TURN_BYTES), k);
}

/* The last round. */
TR_INLINE TR_TARGET V lanes_leave(enum tr_lanes_op op, unsigned j, V s, V k, const uint8_t *from,
                                  uint8_t *to)
{
    if (op == TR_LANES_CFB)
        k = v_xor(k, v_gather(from + j * VBLOCKS * TURN_BYTES, TURN_BYTES));
    s = v_aesenclast(s, k);
    LANES_HERE(s);
    v_store(to + j * VBYTES, s);
    return s;
}

/* A lane's blocks of a turn. */
TR_INLINE TR_TARGET void lanes_copy_in(struct lanes *l, unsigned lanes, const uint8_t *const *in,
                                       unsigned lane, size_t turn)
{
    const uint8_t *from = in[lane] + (l->now + turn) * TURN_BYTES;
    uint8_t *to = l->rows + lanes_input(lanes, turn) + lane * TURN_BYTES;
    UNROLL
    for (unsigned i = 0; i < TURN_BYTES; i += VBYTES)
        v_store(to + i, v_load(from + i));
}
TR_INLINE TR_TARGET void lanes_copy_out(uint8_t *to, const uint8_t *from, const uint8_t *last,
                                        unsigned row)
{
    UNROLL
    for (unsigned i = 0; i < LANE_TURN - 1; i++)
        b_store(to + i * TR_BLOCK, b_load(from + i * row));
    b_store(to + (LANE_TURN - 1) * TR_BLOCK, b_load(last));
}

/* What is copied beside the rounds of a step: the input of the next turn and the output of the turn before, for a share
 * of the lanes; those first whose vectors are ahead. */
struct lanes_share {
    const uint8_t *const *in;
    size_t in_offset;
    uint8_t *before;
    uint8_t *const *out;
    size_t out_offset;
    const uint8_t *after, *after_last;
};

/* In the last turn the input is that of the same turn once more, and in the first one the output goes nowhere. */
TR_INLINE struct lanes_share lanes_share(struct lanes *l, unsigned lanes, size_t step, size_t turns)
{
    const size_t turn = step / LANE_TURN, next = turn + 1 < turns ? turn + 1 : turn;
    const unsigned lane = (LANE_TURN - 1 - step % LANE_TURN) * (lanes / LANE_TURN);
    const uint8_t *rows = l->rows + lane * TR_BLOCK;
    return (struct lanes_share){
        (next + 1 == turns ? l->last_in : l->in) + lane,
        (l->now + next) * TURN_BYTES,
        l->rows + lanes_input(lanes, next) + lane * TURN_BYTES,
        (turn == 0 ? l->none : l->out) + lane,
        turn == 0 ? 0 : (l->now + turn - 1) * TURN_BYTES,
        rows + lanes_output(lanes, turn + 1, 0),
        rows + lanes_output(lanes, turn + 1, LANE_TURN - 1),
    };
}

TR_INLINE TR_TARGET void lanes_copy(enum tr_lanes_op op, const struct lanes_share *share,
                                    unsigned lanes, unsigned i)
{
    const uint8_t *from = share->in[i] + share->in_offset;
    UNROLL
    for (unsigned k = 0; k < TURN_BYTES; k += VBYTES)
        v_store(share->before + i * TURN_BYTES + k, v_load(from + k));
    if (op != TR_LANES_MAC)
        lanes_copy_out(share->out[i] + share->out_offset, share->after + i * TR_BLOCK,
                       share->after_last + i * TR_BLOCK, lanes * TR_BLOCK);
}

/* The output of a turn, of the first lanes. */
static TR_TARGET void lanes_put(struct lanes *l, uint8_t *const *out, unsigned lanes,
                                unsigned count, size_t turn)
{
    const uint8_t *from = l->rows + lanes_output(lanes, turn, 0);
    const uint8_t *last = l->rows + lanes_output(lanes, turn, LANE_TURN - 1);
    for (unsigned lane = 0; lane < count; lane++)
        lanes_copy_out(out[lane] + (l->now + turn) * TURN_BYTES, from + lane * TR_BLOCK,
                       last + lane * TR_BLOCK, lanes * TR_BLOCK);
}

/* The rounds that vector j has behind it where the others begin: so the vectors' ends are spread evenly. */
#    define LANES_AHEAD(j) ((j)*n / vectors)

/* Turns. n, vectors and own are constants. */
TR_INLINE TR_TARGET void lanes_run(enum tr_lanes_op op, struct lanes *l, unsigned n,
                                   unsigned vectors, int own, size_t turns)
{
    const unsigned lanes = vectors * VBLOCKS, part = lanes / LANE_TURN;
    const size_t last = turns * LANE_TURN - 1;
    V s[LANE_VECTORS], held[LANES_HELD];
    UNROLL
    for (unsigned r = 0; r <= n; r++) {
        if (own || r + 1 > LANE_KEYS_HELD)
            continue;
        held[r] = v_load(l->shared[r]);
        __asm__("" : "+" V_REGISTER(held[r]));
    }
#    if LANE_OWN_KEYS_HELD
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        UNROLL
        for (unsigned r = 0; r < LANE_OWN_KEYS_HELD; r++) {
            const unsigned i = j * LANE_OWN_KEYS_HELD + r;
            if (!own)
                continue;
            held[i] = v_load(l->rows + lanes_own_key(r) + j * VBYTES);
            __asm__("" : "+" V_REGISTER(held[i]));
        }
    }
#    endif
    for (unsigned lane = 0; lane < lanes; lane++)
        lanes_copy_in(l, lanes, turns == 1 ? l->last_in : l->in, lane, 0);
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] = lanes_enter(op, j, v_load(l->chain[j]), lanes_key(l, held, own, j, 0), l->rows);
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < vectors; j++) {
            if (r <= LANES_AHEAD(j))
                s[j] = v_aesenc(s[j], lanes_key(l, held, own, j, r));
        }
    }
    for (size_t step = 0; step != last; step++) {
        const uint8_t *from =
            l->rows + lanes_input(lanes, step / LANE_TURN) + step % LANE_TURN * TR_BLOCK;
        const uint8_t *next = l->rows + lanes_input(lanes, (step + 1) / LANE_TURN) +
                              (step + 1) % LANE_TURN * TR_BLOCK;
        uint8_t *to = l->rows + lanes_output(lanes, step / LANE_TURN, step % LANE_TURN);
        const struct lanes_share share = lanes_share(l, lanes, step, turns);
        UNROLL
        for (unsigned t = 1; t <= n; t++) {
            UNROLL
            for (unsigned j = 0; j < vectors; j++) {
                const unsigned r = LANES_AHEAD(j) + t;
                if (r == n) {
                    s[j] = lanes_leave(op, j, s[j], lanes_key(l, held, own, j, n), from, to);
                    s[j] = lanes_enter(op, j, s[j], lanes_key(l, held, own, j, 0), next);
                } else {
                    s[j] = v_aesenc(s[j], lanes_key(l, held, own, j, r < n ? r : r - n));
                }
                LANES_HERE(s[j]);
            }
            if (t <= part)
                lanes_copy(op, &share, lanes, part - t);
        }
    }
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < vectors; j++) {
            if (r > LANES_AHEAD(j))
                s[j] = v_aesenc(s[j], lanes_key(l, held, own, j, r));
        }
    }
    const uint8_t *from = l->rows + lanes_input(lanes, turns - 1) + (LANE_TURN - 1) * TR_BLOCK;
    uint8_t *to = l->rows + lanes_output(lanes, turns - 1, LANE_TURN - 1);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        s[j] = lanes_leave(op, j, s[j], lanes_key(l, held, own, j, n), from, to);
        v_store(l->chain[j], s[j]);
    }
    /* The share of the step that the loop left out, and the last turn. */
    if (op != TR_LANES_MAC && turns > 1)
        lanes_put(l, l->out, lanes, part, turns - 2);
    if (op != TR_LANES_MAC)
        lanes_put(l, l->last_out, lanes, lanes, turns - 1);
}

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
    return l->chain[0] + lane * TR_BLOCK;
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

TR_INLINE TR_TARGET void lanes_begin(struct lanes *l, unsigned lane)
{
    const struct tr_lane *job = l->next++;
    l->of[lane] = job;
    l->end[lane] = l->now + (job->blocks - 1) / LANE_TURN + 1;
    l->in[lane] = lanes_base(job->in, l->now);
    l->out[lane] = lanes_base(job->out, l->now);
    b_store(lanes_chain(l, lane), b_load(job->chain));
    for (unsigned r = 0; l->own && r <= job->key->rounds; r++)
        b_store(l->rows + lanes_own_key(r) + lane * TR_BLOCK, b_load(job->key->enc[r]));
}

TR_INLINE TR_TARGET void lanes_end(enum tr_lanes_op op, struct lanes *l, unsigned lane)
{
    const struct tr_lane *job = l->of[lane];
    const unsigned tail = lanes_tail(l, lane);
    B chain = b_load(lanes_chain(l, lane));
    for (unsigned i = 0; i < tail; i++) {
        chain = b_load(l->rows + lanes_output(l->lanes, l->half, i) + lane * TR_BLOCK);
        if (op != TR_LANES_MAC)
            b_store(job->out + (job->blocks - tail + i) * TR_BLOCK, chain);
    }
    b_store(job->chain, chain);
}

/* Ends what has come to its end, begins what can be begun, and looks which lane ends first. */
static TR_TARGET void lanes_refill(enum tr_lanes_op op, struct lanes *l)
{
    l->busy = l->first = 0;
    l->first_end = SIZE_MAX;
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        if (l->end[lane] == l->now) {
            if (l->now != 0)
                lanes_end(op, l, lane);
            if (l->next != l->behind)
                lanes_begin(l, lane);
            else
                l->end[lane] = SIZE_MAX;
        }
        const size_t end = l->end[lane];
        l->busy += end != SIZE_MAX;
        l->first = end < l->first_end ? lane : l->first;
        l->first_end = end < l->first_end ? end : l->first_end;
    }
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
        b_store(lanes_chain(l, to), b_load(lanes_chain(l, lane)));
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
    b_store(last->chain, b_load(lanes_chain(l, l->first)));
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
    /* All lanes are better than some, unless a long chain goes on when the others have ended, because a step then takes
     * longer, or the jobs fill the narrow lanes twice but all of them not. */
    l->lanes = LANES_NARROW;
    if (LANES > LANES_NARROW && !l->own && blocks > LANES_NARROW * longest &&
        (blocks <= LANES * longest || blocks > 2 * LANES_NARROW * longest))
        l->lanes = LANES;
    for (unsigned r = 0; !l->own && r <= jobs->key->rounds; r++)
        v_store(l->shared[r], v_all(jobs->key->enc[r]));
    l->next = jobs;
    l->behind = jobs + count;
    l->now = 0;
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        l->end[lane] = 0;
        l->none[lane] = l->nowhere;
    }
}

/* Input, keys, and what of the output is none. */
static void lanes_cleanse(enum tr_lanes_op op, struct lanes *l)
{
    size_t rows = lanes_output(LANES_NARROW, 0, 0);
    if (LANES > LANES_NARROW)
        rows = lanes_output(LANES, 0, LANE_TURN - 1);
    tr_cleanse(l->shared, sizeof(l->shared) + sizeof(l->chain));
    tr_cleanse(l->rows, l->own || op == TR_LANES_MAC ? sizeof(l->rows) : rows);
    if (l->tails)
        tr_cleanse(l->tail, sizeof(l->tail));
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
