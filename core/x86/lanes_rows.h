/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A turn of lanes.h for vectors of one or two blocks: lines are copied as they are, blocks inserted into a vector where a step takes
 * them, and given out by way of memory, since an extraction costs Zen 4 more than a store and a load. Transposed as in lanes_lines.h, vaes256
 * reached 0.50 to 0.53 where this has 0.56, and aesni 0.33 of 0.37: more of their keys come from memory, and there are fewer registers.
 *
 * The vectors are a round or two apart, so that loads, stores and insertions come evenly and always have the rounds of other
 * vectors beside them.
 */

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
TR_INLINE TR_TARGET void lanes_copy_in(struct lanes *l, unsigned lanes, uint8_t *const *in,
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
    uint8_t *const *in;
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
#define LANES_AHEAD(j) ((j)*n / vectors)

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
#if LANE_OWN_KEYS_HELD
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
#endif
    for (unsigned lane = 0; lane < lanes; lane++)
        lanes_copy_in(l, lanes, turns == 1 ? l->last_in : l->in, lane, 0);
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] = lanes_enter(op, j, v_gather_from(l->from + j * VBLOCKS),
                           lanes_key(l, held, own, j, 0), l->rows);
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

/* Block i of the last turn's output. */
TR_INLINE const uint8_t *lanes_given(const struct lanes *l, unsigned lane, unsigned i)
{
    return l->rows + lanes_output(l->lanes, l->half, i) + lane * TR_BLOCK;
}
TR_INLINE uint8_t *lanes_own_key_of(struct lanes *l, unsigned lane, unsigned r)
{
    return l->rows + lanes_own_key(r) + lane * TR_BLOCK;
}
static TR_TARGET void lanes_prepare(struct lanes *l, const struct tr_aes_key *key)
{
    lanes_spread_keys(l, key);
    for (unsigned lane = 0; lane < l->lanes; lane++)
        l->none[lane] = l->nowhere;
}
/* Input, keys, and what of the output is none: in CFB what goes on where a lane has ended is the keystream of its next block. */
static TR_TARGET void lanes_wipe_turns(enum tr_lanes_op op, struct lanes *l)
{
    const size_t rows = lanes_output(LANES_NARROW, 0, 0);
    const int beyond = op == TR_LANES_CFB && l->tails;
    if (beyond)
        lanes_wipe(l->nowhere, sizeof(l->nowhere));
    lanes_wipe(l->rows, l->own || op == TR_LANES_MAC || beyond ? sizeof(l->rows) : rows);
}
