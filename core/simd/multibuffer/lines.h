/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a segment (multibuffer/multibuffer.h) in vectors of 4 blocks. The input of a batch is a line
 * of 64 bytes for each lane. Shuffles transpose the four lines of a vector, so that the four blocks
 * of each step form one vector. The output is transposed back in the same way. Both transpositions
 * overlap the rounds:
 *
 *                  line of 64 bytes                      one vector in in_batch or out_batch
 *        job a     a0 a1 a2 a3                           step 0    a0 b0 c0 d0
 *        job b     b0 b1 b2 b3      - transposed ->      step 1    a1 b1 c1 d1
 *        job c     c0 c1 c2 c3      <- transposed -      step 2    a2 b2 c2 d2
 *        job d     d0 d1 d2 d3                           step 3    a3 b3 c3 d3
 *
 * The bound is AES throughput. In addition to its rounds, each vector of a step needs three XORs, a
 * load and a store. Each of the two transpositions takes another load, two shuffles and a store.
 * Ports without AES can execute these operations. However, Zen 4 assigns ports when operations
 * enter the schedulers. An operation can therefore take an AES issue slot and delay a round.
 * Sixteen chains (4 vectors) fill the AES issue slots exactly, so the code cannot make up for a
 * delay. A test loop with single operations between rounds reaches 91 % of the AES rate. With pairs
 * of operations, the loop reaches 100 %. The code therefore issues loads, shuffles, stores and XORs
 * in pairs (docs/tuning/multibuffer.md).
 *
 * As in serial.h, no XOR lies on the chain. The code XORs two values into the last round's key: the
 * first round key, and the next plaintext block (in CFB, the current one). A later XOR removes both
 * values from the output, and no round waits for this XOR. In CFB, this XOR removes only the round
 * key, because CFB XORs the plaintext into the output anyway.
 */
#ifndef TR_SIMD_MULTIBUFFER_LINES_H
#define TR_SIMD_MULTIBUFFER_LINES_H

#include "simd/multibuffer/state.h"

#if MULTIBUFFER && VBLOCKS == 4
/* Returns the offset, in the buffer of a batch, at which vector j's blocks of a step begin. */
TR_INLINE unsigned mb_line_of(unsigned j, size_t step)
{
    step %= MB_STEPS;
    return (j * VBLOCKS + (unsigned)step % VBLOCKS) * MB_BATCH_BYTES +
           (unsigned)step / VBLOCKS * VBYTES;
}

/* Round keys in registers: all of them if jobs share a key, else 5 for each vector. */
#    define MB_OWN_KEYS_HELD 5u
#    define MB_HELD          (MB_VECTORS_NARROW * MB_OWN_KEYS_HELD)
_Static_assert(MB_HELD >= 15, "AES-256 has 15 round keys");

/* Returns round key r of vector j. */
TR_INLINE TR_TARGET V mb_key(const struct multibuffer *m, const V held[MB_HELD], int own,
                             unsigned j, unsigned r)
{
    if (!own)
        return held[r];
    return r < MB_OWN_KEYS_HELD ? held[j * MB_OWN_KEYS_HELD + r]
                                : v_load(m->own_keys[r] + j * VBYTES);
}

/* A move copies and transposes the lines of the four lanes of a vector. */
struct mb_move {
    const mb_base *from, *to; /* four bases each, one for each lane */
    size_t from_offset, to_offset;
};

TR_INLINE TR_TARGET void mb_transpose_pair(V *a, V *b)
{
    const V odd = v_odd_blocks(*a, *b);
    *a = v_even_blocks(*a, *b);
    *b = odd;
    MB_IN_ORDER(*a);
    MB_IN_ORDER(*b);
}

/* Does one of the MB_PIECES pieces of a move. Each piece has its loads, shuffles and stores in
 * pairs. */
#    define MB_PIECES 6u
TR_INLINE TR_TARGET void mb_piece(const struct mb_move *move, V a[4], unsigned piece)
{
    const unsigned i = piece % 2;
    if (piece < 2) {
        a[2 * i] = v_load(mb_at(move->from[2 * i], move->from_offset));
        a[2 * i + 1] = v_load(mb_at(move->from[2 * i + 1], move->from_offset));
        mb_transpose_pair(&a[2 * i], &a[2 * i + 1]);
    } else if (piece < 4) {
        mb_transpose_pair(&a[i], &a[i + 2]);
    } else {
        v_store(mb_at(move->to[2 * i], move->to_offset), a[2 * i]);
        v_store(mb_at(move->to[2 * i + 1], move->to_offset), a[2 * i + 1]);
    }
}
TR_INLINE TR_TARGET void mb_move_all(struct mb_move move, unsigned lanes)
{
    for (unsigned lane = 0; lane < lanes; lane += VBLOCKS) {
        V a[4];
        UNROLL
        for (unsigned piece = 0; piece < MB_PIECES; piece++)
            mb_piece(&move, a, piece);
        move.from += VBLOCKS;
        move.to += VBLOCKS;
    }
}

/* mb_move_in() returns the move of a batch's input, and mb_move_out() the move of its output. Each
 * move is for one vector, whose first lane is `lane`. */
TR_INLINE struct mb_move mb_move_in(struct multibuffer *m, unsigned lane, size_t batch,
                                    size_t batches)
{
    return (struct mb_move){
        (batch + 1 == batches ? m->last_in : m->in) + lane,
        m->lines + lane,
        (m->now + batch) * MB_BATCH_BYTES,
        MB_PAGE + (batch + 1) % 2 * sizeof(m->in_batch[0]),
    };
}
TR_INLINE struct mb_move mb_move_out(struct multibuffer *m, unsigned lane, size_t batch,
                                     size_t batches)
{
    return (struct mb_move){
        m->lines + lane,
        (batch + 1 == batches ? m->last_out : m->out) + lane,
        batch % 2 * sizeof(m->out_batch[0]),
        (m->now + batch) * MB_BATCH_BYTES,
    };
}

/*
 * Sets the two moves that overlap the rounds of a batch: the next batch's input and the previous
 * batch's output. After the last batch there is no input, so the last batch moves its own input
 * again. The first batch has no previous output, so its second move copies old bytes to m->nowhere.
 */
TR_INLINE void mb_interleaved(struct multibuffer *m, struct mb_move move[2], size_t batch,
                              size_t batches)
{
    move[0] = mb_move_in(m, 0, batch + 1 < batches ? batch + 1 : batch, batches);
    move[1] = mb_move_out(m, 0, batch - 1, batches);
    if (batch == 0)
        move[1] = (struct mb_move){m->lines, m->none, 0, 0};
}

/* Does the last round of a vector with the key last ^ first ^ input, and stores the output. Returns
 * the state from which the next block's rounds begin. The input, at `from`, is the next block, or
 * in CFB the current block. These operations, too, are in pairs: two XORs before the round, and an
 * XOR and a store after it. */
TR_INLINE TR_TARGET V mb_next_block(enum tr_mb_op op, V s, V last, V first, const uint8_t *from,
                                    uint8_t *to)
{
    V x = v_xor(first, v_load(from));
    MB_IN_ORDER(x);
    last = v_xor(last, x);
    MB_IN_ORDER(last);
    s = v_aesenclast(s, last);
    MB_IN_ORDER(s);
    x = v_xor(s, op == TR_MB_CFB ? first : x);
    MB_IN_ORDER(x);
    v_store(to, x);
    return s;
}

/* Does a step of all lanes. Pieces of the moves are spread evenly over its rounds. */
TR_INLINE TR_TARGET void mb_step(enum tr_mb_op op, const struct multibuffer *m, V s[MB_VECTORS],
                                 const V held[MB_HELD], unsigned n, unsigned vectors, int own,
                                 size_t batch, unsigned step, const struct mb_move beside[2])
{
    const unsigned in_steps = op == TR_MB_MAC ? MB_STEPS : MB_STEPS / 2;
    const unsigned moves = (vectors + in_steps - 1) / in_steps;
    const unsigned slots = vectors * (n - 1), pieces = moves * MB_PIECES;
    const size_t at = batch * MB_STEPS + step + (op != TR_MB_CFB);
    const uint8_t *from = m->in_batch[(at / MB_STEPS + 1) % 2] + mb_line_of(0, at);
    uint8_t *to = (uint8_t *)m->out_batch[batch % 2] + mb_line_of(0, step);
    struct mb_move move[(MB_VECTORS + 1) / 2];
    V a[4];
    UNROLL
    for (unsigned i = 0; i < moves; i++) {
        unsigned j = step % in_steps * moves + i;
        if (vectors % in_steps != 0 && j >= vectors)
            j = vectors - 1;
        if (op == TR_MB_MAC)
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
            s[j] = v_aesenc(s[j], mb_key(m, held, own, j, r));
            MB_IN_ORDER(s[j]);
            const unsigned slot = (r - 1) * vectors + j, piece = slot * pieces / slots;
            if ((slot + 1) * pieces / slots != piece)
                mb_piece(&move[piece / MB_PIECES], a, piece % MB_PIECES);
        }
    }
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] =
            mb_next_block(op, s[j], mb_key(m, held, own, j, n), mb_key(m, held, own, j, 0),
                          from + j * VBLOCKS * MB_BATCH_BYTES, to + j * VBLOCKS * MB_BATCH_BYTES);
}

/* Processes a segment. The number of rounds, n, is a constant, as are `vectors` and `own`. */
TR_INLINE TR_TARGET void mb_segment(enum tr_mb_op op, struct multibuffer *m, unsigned n,
                                    unsigned vectors, int own, size_t batches)
{
    V s[MB_VECTORS], held[MB_HELD];
    UNROLL
    for (unsigned r = 0; !own && r <= n; r++) {
        held[r] = v_load_all(m->key->enc[r]);
        V_KEEP(held[r]);
    }
    UNROLL
    for (unsigned j = 0; own && j < vectors; j++) {
        UNROLL
        for (unsigned r = 0; r < MB_OWN_KEYS_HELD; r++) {
            V *k = &held[j * MB_OWN_KEYS_HELD + r];
            *k = v_load(m->own_keys[r] + j * VBYTES);
            V_KEEP(*k);
        }
    }
    mb_move_all(mb_move_in(m, 0, 0, batches), vectors * VBLOCKS);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        s[j] = v_xor(v_gather_pointers(m->from + j * VBLOCKS), mb_key(m, held, own, j, 0));
        if (op != TR_MB_CFB)
            s[j] = v_xor(s[j], v_load(m->in_batch[1] + mb_line_of(j, 0)));
    }
    for (size_t batch = 0; batch != batches; batch++) {
        struct mb_move beside[2];
        mb_interleaved(m, beside, batch, batches);
        for (unsigned step = 0; step != MB_STEPS; step++)
            mb_step(op, m, s, held, n, vectors, own, batch, step, beside);
    }
    const uint8_t *last = m->out_batch[(batches - 1) % 2] + mb_line_of(0, MB_STEPS - 1);
    for (unsigned j = 0; j < vectors; j++)
        v_store(m->chain[j], v_load(last + j * VBLOCKS * MB_BATCH_BYTES));
    if (op != TR_MB_MAC)
        mb_move_all(mb_move_out(m, 0, batches - 1, batches), vectors * VBLOCKS);
}

/* Compiles mb_segment() as a separate function for each operation, number of rounds and width. So
 * no variant pushes callee-saved registers that only another variant uses. The widths are MB_WIDTHS
 * if jobs share a key, else MB_OWN_WIDTHS. */
#    define MB_SEGMENT(vectors, width, name, op, n, own)                                           \
        static TR_TARGET NOT_INLINE void V_NAME(name##_##width)(struct multibuffer * m,            \
                                                                size_t batches)                    \
        {                                                                                          \
            mb_segment(op, m, n, vectors, own, batches);                                           \
        }
#    define MB_SEGMENTS(name, op, n)                                                               \
        MB_WIDTHS(MB_SEGMENT, name##_shared, op, n, 0)                                             \
        MB_OWN_WIDTHS(MB_SEGMENT, name##_own, op, n, 1)
#    define MB_OP(name, op)                                                                        \
        MB_SEGMENTS(name##_10, op, 10) MB_SEGMENTS(name##_12, op, 12) MB_SEGMENTS(name##_14, op, 14)
MB_OP(mb_cbc, TR_MB_CBC)
MB_OP(mb_cfb, TR_MB_CFB)
MB_OP(mb_mac, TR_MB_MAC)

#    define MB_ITEM(vectors, width, name) [width] = V_NAME(name##_##width),
#    define MB_ENTRY(name)                                                                         \
        {                                                                                          \
            {MB_WIDTHS(MB_ITEM, name##_shared)}, {MB_OWN_WIDTHS(MB_ITEM, name##_own)},             \
        }
#    define MB_TABLE(name)                                                                         \
        {                                                                                          \
            MB_ENTRY(name##_10), MB_ENTRY(name##_12), MB_ENTRY(name##_14)                          \
        }
/* The indices are the operation, the key size, whether the jobs' keys differ, and the width. */
static void (*const mb_table[3][3][2][MB_WIDTH_COUNT])(struct multibuffer *m, size_t batches) = {
    [TR_MB_CBC] = MB_TABLE(mb_cbc), [TR_MB_CFB] = MB_TABLE(mb_cfb), [TR_MB_MAC] = MB_TABLE(mb_mac)};

static TR_TARGET void V_NAME(mb_run)(enum tr_mb_op op, struct multibuffer *m, size_t batches)
{
    mb_table[op][m->key->rounds / 2 - 5][m->own][m->width](m, batches);
}

/* Copies the 1 to 3 blocks of a partial last batch. */
TR_INLINE TR_TARGET void mb_pad(uint8_t *to, const uint8_t *from, unsigned tail)
{
    for (unsigned i = 0; i < tail; i++)
        b_store(to + i * TR_BLOCK, b_load(from + i * TR_BLOCK));
}

/* Returns block i of a lane in the last batch's output. */
TR_INLINE const uint8_t *mb_output_block(const struct multibuffer *m, unsigned lane, unsigned i)
{
    return m->out_batch[m->half] + mb_line_of(lane / VBLOCKS, i) + lane % VBLOCKS * TR_BLOCK;
}
TR_INLINE uint8_t *mb_own_key_of(struct multibuffer *m, unsigned lane, unsigned r)
{
    return m->own_keys[r] + lane * TR_BLOCK;
}
static TR_TARGET void V_NAME(mb_prepare)(struct multibuffer *m)
{
    for (unsigned lane = 0; lane < m->lanes; lane++) {
        m->none[lane] = mb_base_of(m->nowhere, 0);
        m->lines[lane] = mb_base_of(m->out_batch[0] + lane * MB_BATCH_BYTES, 0);
    }
}
/* Cleanses input, keys, and secret output that no job receives. MAC jobs receive no output. In CFB,
 * the output beyond a job's end is keystream XORed with old data. */
static TR_TARGET void V_NAME(mb_cleanse_batches)(enum tr_mb_op op, struct multibuffer *m)
{
    const size_t n = m->widest * MB_BATCH_BYTES;
    const int beyond = op == TR_MB_CFB && m->tails;
    if (beyond)
        cleanse_vectors(m->nowhere, sizeof(m->nowhere));
    for (unsigned i = 0; i < 2; i++) {
        cleanse_vectors(m->in_batch[i], n);
        if (op == TR_MB_MAC || beyond)
            cleanse_vectors(m->out_batch[i], n);
    }
    if (m->own)
        cleanse_vectors(m->own_keys, (m->key->rounds + 1) * sizeof(m->own_keys[0]));
}
#endif

#endif
