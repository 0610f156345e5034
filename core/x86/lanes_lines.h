/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A turn of lanes.h for vectors of four blocks: the lines of a vector's lanes are transposed in registers on their way in, and again on their way
 * out. Beside 10 rounds a vector takes a load, 2 shuffles and a store each way, 3 xors and a store, and these have units of their own to run on.
 *
 * Zen 4 deals operations out to its units as they come, and sixteen chains have no cycle to spare: where a
 * single operation stands between rounds, be it an xor, the loop reaches 0.91 (as if it were a round), with two of them 1.00. So they stand in
 * pairs: shuffles, stores, two xors before the last round and two after it. In a loop of its own that reaches 0.92; all the xors before the last rounds of all
 * vectors, and those after them beside the next first round, 0.96 (not done).
 *   - The next block, and both keys, are in what the last round adds, so that the chain is rounds alone. The
 *     block given out is the sum of the state and that block again.
 *   - Vectors in step: here it makes no difference, and a run has less to do before it begins.
 * What did not help: prefetching, a whole move at once (0.72 instead of 0.84), moves in and out by turns within a step (0.80).
 *
 * A load is taken for one of what an earlier store writes if their addresses are equal but for a multiple of 4096, and waits for it (Zen 4).
 * What a step gives out is stored only when its rounds have ended, so what is read beside them must not lie like that.
 * In struct lanes input lies like the output of the turn before, and the rest that is read, with what lanes_run() has on the
 * stack, in the part of the page that is left; so do most keys of lanes that have their own.
 */

/* What a turn takes in and gives out: a line of memory for each lane, but transposed within each vector's lanes, so that the blocks
 * of a step lie beside each other. Of either there are two turns, one of which is moved while the other is at work. */
TR_INLINE unsigned lanes_at(unsigned j, size_t step)
{
    step %= LANE_TURN;
    return (j * VBLOCKS + (unsigned)step % VBLOCKS) * TURN_BYTES +
           (unsigned)step / VBLOCKS * VBYTES;
}

/* A key of round r for vector j. */
TR_INLINE TR_TARGET V lanes_key(const struct lanes *l, const V held[LANES_HELD], int own,
                                unsigned j, unsigned r)
{
    if (own && r + 1 <= LANE_OWN_KEYS_HELD)
        return held[j * LANE_OWN_KEYS_HELD + r];
    if (own)
        return v_load(l->own_keys[r] + j * VBYTES);
    return r + 1 <= LANE_KEYS_HELD ? held[r] : v_load(l->shared[r]);
}

/* Lines of the lanes of a vector, and where they go, transposed. */
struct lanes_move {
    uint8_t *const *from;
    uint8_t *const *to;
    size_t from_offset, to_offset;
};

TR_INLINE TR_TARGET void lanes_sort(V *a, V *b)
{
    const V odd = v_odd_blocks(*a, *b);
    *a = v_even_blocks(*a, *b);
    *b = odd;
    LANES_HERE(*a);
    LANES_HERE(*b);
}

/* A move in pieces of two operations each. */
#define LANES_PIECES 6u
TR_INLINE TR_TARGET void lanes_piece(const struct lanes_move *m, V a[4], unsigned piece)
{
    const unsigned i = piece % 2;
    if (piece < 2) {
        a[2 * i] = v_load(m->from[2 * i] + m->from_offset);
        a[2 * i + 1] = v_load(m->from[2 * i + 1] + m->from_offset);
        lanes_sort(&a[2 * i], &a[2 * i + 1]);
    } else if (piece < 4) {
        lanes_sort(&a[i], &a[i + 2]);
    } else {
        v_store(m->to[2 * i] + m->to_offset, a[2 * i]);
        v_store(m->to[2 * i + 1] + m->to_offset, a[2 * i + 1]);
    }
}
TR_INLINE TR_TARGET void lanes_move_all(struct lanes_move m, unsigned lanes)
{
    for (unsigned lane = 0; lane < lanes; lane += VBLOCKS) {
        V a[4];
        UNROLL
        for (unsigned piece = 0; piece < LANES_PIECES; piece++)
            lanes_piece(&m, a, piece);
        m.from += VBLOCKS;
        m.to += VBLOCKS;
    }
}

/* The input of a turn, beginning with the lane; that of the last one is a case of its own. */
TR_INLINE struct lanes_move lanes_move_in(struct lanes *l, unsigned lane, size_t turn, size_t turns)
{
    return (struct lanes_move){
        (turn + 1 == turns ? l->last_in : l->in) + lane,
        l->lines + lane,
        (l->now + turn) * TURN_BYTES,
        4096 + (turn + 1) % 2 * sizeof(l->in_turn[0]),
    };
}
TR_INLINE struct lanes_move lanes_move_out(struct lanes *l, unsigned lane, size_t turn,
                                           size_t turns)
{
    return (struct lanes_move){
        l->lines + lane,
        (turn + 1 == turns ? l->last_out : l->out) + lane,
        turn % 2 * sizeof(l->out_turn[0]),
        (l->now + turn) * TURN_BYTES,
    };
}

/* What is moved beside the rounds of a turn: in its first steps the next one's input, then the output of the one before. In the
 * last turn the input is that of the same turn once more, and in the first one the output goes nowhere. */
TR_INLINE void lanes_beside(struct lanes *l, struct lanes_move m[2], size_t turn, size_t turns)
{
    m[0] = lanes_move_in(l, 0, turn + 1 < turns ? turn + 1 : turn, turns);
    m[1] = lanes_move_out(l, 0, turn - 1, turns);
    if (turn == 0)
        m[1] = (struct lanes_move){l->lines, l->none, 0, 0};
}

/* The last round, and what the first one takes. */
TR_INLINE TR_TARGET V lanes_turn_over(enum tr_lanes_op op, V s, V last, V first,
                                      const uint8_t *from, uint8_t *to)
{
    V x = v_xor(first, v_load(from));
    LANES_HERE(x);
    last = v_xor(last, x);
    LANES_HERE(last);
    s = v_aesenclast(s, last);
    LANES_HERE(s);
    x = v_xor(s, op == TR_LANES_CFB ? first : x);
    LANES_HERE(x);
    v_store(to, x);
    return s;
}

/* A step of all lanes, and its share of what goes on beside. */
TR_INLINE TR_TARGET void lanes_step(enum tr_lanes_op op, const struct lanes *l, V s[LANE_VECTORS],
                                    const V held[LANES_HELD], unsigned n, unsigned vectors, int own,
                                    size_t turn, unsigned step, const struct lanes_move beside[2])
{
    const unsigned in_steps = op == TR_LANES_MAC ? LANE_TURN : LANE_TURN / 2;
    const unsigned moves = (vectors + in_steps - 1) / in_steps;
    const unsigned slots = vectors * (n - 1), pieces = moves * LANES_PIECES;
    const size_t at = turn * LANE_TURN + step + (op != TR_LANES_CFB);
    const uint8_t *from = l->in_turn[(at / LANE_TURN + 1) % 2] + lanes_at(0, at);
    uint8_t *to = (uint8_t *)l->out_turn[turn % 2] + lanes_at(0, step);
    struct lanes_move move[(LANE_VECTORS + 1) / 2];
    V a[4];
    UNROLL
    for (unsigned i = 0; i < moves; i++) {
        unsigned j = step % in_steps * moves + i;
        if (vectors % in_steps != 0 && j >= vectors)
            j = vectors - 1;
        if (op == TR_LANES_MAC)
            j = vectors - 1 - j;
        const unsigned lane = j * VBLOCKS;
        move[i] = beside[step / in_steps];
        move[i].from += lane;
        move[i].to += lane;
    }
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < vectors; j++) {
            s[j] = v_aesenc(s[j], lanes_key(l, held, own, j, r));
            LANES_HERE(s[j]);
            const unsigned slot = (r - 1) * vectors + j, piece = slot * pieces / slots;
            if ((slot + 1) * pieces / slots != piece)
                lanes_piece(&move[piece / LANES_PIECES], a, piece % LANES_PIECES);
        }
    }
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] =
            lanes_turn_over(op, s[j], lanes_key(l, held, own, j, n), lanes_key(l, held, own, j, 0),
                            from + j * VBLOCKS * TURN_BYTES, to + j * VBLOCKS * TURN_BYTES);
}

/* Turns. n, vectors and own are constants. */
TR_INLINE TR_TARGET void lanes_run(enum tr_lanes_op op, struct lanes *l, unsigned n,
                                   unsigned vectors, int own, size_t turns)
{
    V s[LANE_VECTORS], held[LANES_HELD];
    UNROLL
    for (unsigned r = 0; r <= n; r++) {
        if (own || r + 1 > LANE_KEYS_HELD)
            continue;
        held[r] = v_all(l->key->enc[r]);
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
            held[i] = v_load(l->own_keys[r] + j * VBYTES);
            __asm__("" : "+" V_REGISTER(held[i]));
        }
    }
#endif
    lanes_move_all(lanes_move_in(l, 0, 0, turns), vectors * VBLOCKS);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        s[j] = v_xor(v_gather_from(l->from + j * VBLOCKS), lanes_key(l, held, own, j, 0));
        if (op != TR_LANES_CFB)
            s[j] = v_xor(s[j], v_load(l->in_turn[1] + lanes_at(j, 0)));
    }
    for (size_t turn = 0; turn != turns; turn++) {
        struct lanes_move beside[2];
        lanes_beside(l, beside, turn, turns);
        for (unsigned step = 0; step != LANE_TURN; step++)
            lanes_step(op, l, s, held, n, vectors, own, turn, step, beside);
    }
    const uint8_t *last = l->out_turn[(turns - 1) % 2] + lanes_at(0, LANE_TURN - 1);
    for (unsigned j = 0; j < vectors; j++)
        v_store(l->chain[j], v_load(last + j * VBLOCKS * TURN_BYTES));
    if (op != TR_LANES_MAC)
        lanes_move_all(lanes_move_out(l, 0, turns - 1, turns), vectors * VBLOCKS);
}

/* Block i of the last turn's output. */
TR_INLINE const uint8_t *lanes_given(const struct lanes *l, unsigned lane, unsigned i)
{
    return l->out_turn[l->half] + lanes_at(lane / VBLOCKS, i) + lane % VBLOCKS * TR_BLOCK;
}
TR_INLINE uint8_t *lanes_own_key_of(struct lanes *l, unsigned lane, unsigned r)
{
    return l->own_keys[r] + lane * TR_BLOCK;
}
static TR_TARGET void lanes_prepare(struct lanes *l, const struct tr_aes_key *key)
{
    if (LANE_KEYS_HELD == 0)
        lanes_spread_keys(l, key);
    for (unsigned lane = 0; lane < l->lanes; lane++) {
        l->none[lane] = l->nowhere;
        l->lines[lane] = l->out_turn[0] + lane * TURN_BYTES;
    }
}
/* Input, keys, and what of the output is none: in CFB what goes on where a lane has ended is the keystream of its next block. */
static TR_TARGET void lanes_wipe_turns(enum tr_lanes_op op, struct lanes *l)
{
    const size_t n = l->widest * TURN_BYTES;
    const int beyond = op == TR_LANES_CFB && l->tails;
    if (beyond)
        lanes_wipe(l->nowhere, sizeof(l->nowhere));
    for (unsigned i = 0; i < 2; i++) {
        lanes_wipe(l->in_turn[i], n);
        if (op == TR_LANES_MAC || beyond)
            lanes_wipe(l->out_turn[i], n);
    }
    if (l->own)
        lanes_wipe(l->own_keys, (l->key->rounds + 1) * sizeof(l->own_keys[0]));
}
