/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a segment (multibuffer/multibuffer.h) in vectors of 1 or 2 blocks. The code copies 64-byte
 * lines from the jobs' input into rows (below). A step gathers blocks from the input rows into
 * vectors, and stores whole vectors to the output rows. Then the code copies blocks from the output
 * rows to the jobs' output. On Zen 4, extracting a block from a register would cost more than this
 * store and load.
 *
 * The bound is the number of loads and stores; Zen 4 starts three a cycle. All vectors therefore do
 * the same round at the same time: one load of a round key then serves all of them. With vectors
 * one round apart, each vector would load its own, and vaes256 would lose a fifth
 * (docs/tuning/multibuffer.md).
 *
 * Transposed lines, as in multibuffer/lines.h, are slower here, because there are fewer registers.
 *
 * One body does all three operations: they differ in one branch per step and one per copy.
 */
#ifndef TR_SIMD_MULTIBUFFER_ROWS_H
#define TR_SIMD_MULTIBUFFER_ROWS_H

#include "simd/multibuffer/state.h"

#if MULTIBUFFER && VBLOCKS < 4
/*
 * The layout of m->rows. A row is as large as one block of each lane in use.
 *
 *   rows 0 to 7    input of two batches; a batch takes the space of 4 rows, as 64 contiguous bytes
 *                  for each lane
 *   rows 8 to 15   output of two batches, one row for each step
 *   rows 16 on     one row for each round key, if jobs' keys differ; at every width, the code
 *                  places these rows as for MB_LANES_NARROW lanes
 *
 * 16 rows of 16 lanes fill exactly 4096 bytes, so input and output rows do not alias. If they did,
 * throughput would fall by a quarter (Zen 4; docs/tuning/multibuffer.md). With 16 lanes, the row of
 * round key r aliases row r.
 */
TR_INLINE size_t mb_input_row(unsigned lanes, size_t batch)
{
    return batch % 2 * MB_STEPS * lanes * TR_BLOCK;
}
TR_INLINE size_t mb_output_row(unsigned lanes, size_t batch, unsigned step)
{
    const size_t row = lanes * TR_BLOCK, half = batch % 2;
    return (2 * MB_STEPS + half * MB_STEPS + step) * row;
}
TR_INLINE unsigned mb_own_key(unsigned r)
{
    return (16 + r) * MB_LANES_NARROW * TR_BLOCK;
}

/* Does a round of all vectors with the key at `key`. */
TR_INLINE TR_TARGET void mb_round(V s[MB_VECTORS], unsigned vectors, int own, const uint8_t *key)
{
    V k = own ? v_load(key) : v_load_all(key);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        if (own && j != 0)
            k = v_load(key + j * VBYTES);
        s[j] = v_aesenc(s[j], k);
        MB_IN_ORDER(s[j]);
    }
}

/* mb_copy_in() copies a line of 64 bytes into the input rows. mb_copy_out() copies a lane's blocks
 * from the output rows to its job. */
TR_INLINE TR_TARGET void mb_copy_in(uint8_t *to, const uint8_t *from)
{
    UNROLL
    for (unsigned i = 0; i < MB_BATCH_BYTES; i += VBYTES) {
        V x = v_load(from + i);
        MB_IN_ORDER(x); /* otherwise gcc 12 leaves a copy of the input on the stack */
        v_store(to + i, x);
    }
}
TR_INLINE TR_TARGET void mb_copy_out(uint8_t *to, const uint8_t *from, unsigned row)
{
    UNROLL
    for (unsigned i = 0; i < MB_STEPS; i++)
        b_store(to + i * TR_BLOCK, b_load(from + i * row));
}

/* Ends the block of vector j and begins the next one. Does the last round, stores the output, and
 * XORs the first round key into the state. The input x is the next block, or in CFB the current
 * one. No XOR of x and a key is on the chain. */
TR_INLINE TR_TARGET V mb_next_block(int cfb, V s, V last, V first, V x, uint8_t *to)
{
    V before = cfb ? v_xor(last, x) : last, after = cfb ? first : v_xor(first, x);
    MB_IN_ORDER(after);
    s = v_aesenclast(s, before);
    MB_IN_ORDER(s);
    v_store(to, s);
    s = v_xor(s, after);
    MB_IN_ORDER(s);
    return s;
}
TR_INLINE TR_TARGET void mb_next_blocks(int cfb, V s[MB_VECTORS], unsigned vectors, int own,
                                        const uint8_t *first, const uint8_t *last,
                                        const uint8_t *from, uint8_t *to)
{
    const V k0 = own ? v_zero() : v_load_all(first), kn = own ? k0 : v_load_all(last);
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] = mb_next_block(
            cfb, s[j], own ? v_load(last + j * VBYTES) : kn, own ? v_load(first + j * VBYTES) : k0,
            v_gather(from + j * VBLOCKS * MB_BATCH_BYTES, MB_BATCH_BYTES), to + j * VBYTES);
}

/*
 * Processes a segment. `vectors` and `own` are constants. The last 10 rounds are unrolled. Longer
 * keys add 2 or 4 rounds, which come first, out of line, so that AES-128 takes no branch.
 *
 * Each step copies input of the next batch and output of the previous one, for a quarter of the
 * lanes. Each of its first rounds is followed by the copy of a lane. In the last step the next
 * block is old data, and its state is not used.
 */
TR_INLINE TR_TARGET void mb_segment(enum tr_mb_op op, struct multibuffer *m, unsigned vectors,
                                    int own, size_t batches)
{
    const unsigned lanes = vectors * VBLOCKS, row = lanes * TR_BLOCK, part = lanes / MB_STEPS;
    const unsigned extra = m->key->rounds - 10, size = own ? MB_LANES_NARROW * TR_BLOCK : TR_BLOCK;
    const uint8_t *const keys = own ? m->rows + mb_own_key(0) : m->key->enc[0];
    const uint8_t *const late = keys + extra * size;
    const mb_base *const in = batches == 1 ? m->last_in : m->in;
    V s[MB_VECTORS];
    for (unsigned lane = 0; lane < lanes; lane++)
        mb_copy_in(m->rows + lane * MB_BATCH_BYTES, mb_at(in[lane], m->now * MB_BATCH_BYTES));
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        s[j] = v_gather_pointers(m->from + j * VBLOCKS);
        s[j] = v_xor(s[j], own ? v_load(keys + j * VBYTES) : v_load_all(keys));
        if (op != TR_MB_CFB)
            s[j] = v_xor(s[j], v_gather(m->rows + j * VBLOCKS * MB_BATCH_BYTES, MB_BATCH_BYTES));
        MB_IN_ORDER(s[j]); /* otherwise gcc 12 spills input to the stack */
    }
    for (size_t step = 0; step != batches * MB_STEPS; step++) {
        const size_t batch = step / MB_STEPS, at = step + (op != TR_MB_CFB);
        const size_t offset = (m->now + batch) * MB_BATCH_BYTES;
        const size_t first = step % MB_STEPS * part;
        const mb_base *const next_in = batch + 1 == batches   ? NULL
                                       : batch + 2 == batches ? m->last_in
                                                              : m->in;
        const mb_base *const out = batch == 0 || op == TR_MB_MAC ? NULL : m->out;
        uint8_t *const input = m->rows + mb_input_row(lanes, batch + 1) + first * MB_BATCH_BYTES;
        const uint8_t *const output =
            m->rows + mb_output_row(lanes, batch + 1, 0) + first * TR_BLOCK;
        for (const uint8_t *k = keys; __builtin_expect(k != late, 0);)
            mb_round(s, vectors, own, k += size);
        UNROLL
        for (unsigned r = 1; r < 10; r++) {
            const size_t i = r - 1;
            mb_round(s, vectors, own, late + r * size);
            if (r <= part && __builtin_expect(next_in != NULL, 1))
                mb_copy_in(input + i * MB_BATCH_BYTES,
                           mb_at(next_in[first + i], offset + MB_BATCH_BYTES));
            if (r <= part && __builtin_expect(out != NULL, 1))
                mb_copy_out(mb_at(out[first + i], offset - MB_BATCH_BYTES), output + i * TR_BLOCK,
                            row);
        }
        const uint8_t *const from =
            m->rows + mb_input_row(lanes, at / MB_STEPS) + at % MB_STEPS * TR_BLOCK;
        uint8_t *const to = m->rows + mb_output_row(lanes, batch, step % MB_STEPS);
        if (op == TR_MB_CFB)
            mb_next_blocks(1, s, vectors, own, keys, late + 10 * size, from, to);
        else
            mb_next_blocks(0, s, vectors, own, keys, late + 10 * size, from, to);
    }
    const uint8_t *const output = m->rows + mb_output_row(lanes, batches - 1, 0);
    for (unsigned j = 0; j < vectors; j++)
        v_store(m->chain[j], v_load(output + (MB_STEPS - 1) * row + j * VBYTES));
    for (unsigned lane = 0; op != TR_MB_MAC && lane < lanes; lane++)
        mb_copy_out(mb_at(m->last_out[lane], (m->now + batches - 1) * MB_BATCH_BYTES),
                    output + lane * TR_BLOCK, row);
}

/* Compiles mb_segment() as a separate function for each width. So no variant pushes callee-saved
 * registers that only another variant uses. The widths are the same if jobs' keys differ. */
#    define MB_SEGMENT(vectors, width, own)                                                        \
        static TR_TARGET NOT_INLINE void V_NAME(mb_segment_##own##_##width)(                       \
            enum tr_mb_op op, struct multibuffer * m, size_t batches)                              \
        {                                                                                          \
            mb_segment(op, m, vectors, own, batches);                                              \
        }
MB_WIDTHS(MB_SEGMENT, 0)
MB_WIDTHS(MB_SEGMENT, 1)

#    define MB_ENTRY(vectors, width, own) [width] = V_NAME(mb_segment_##own##_##width),
static TR_TARGET void V_NAME(mb_run)(enum tr_mb_op op, struct multibuffer *m, size_t batches)
{
    /* The indices are whether the jobs' keys differ, and the width. */
    static void (*const table[2][MB_WIDTH_COUNT])(enum tr_mb_op, struct multibuffer *, size_t) = {
        {MB_WIDTHS(MB_ENTRY, 0)}, {MB_WIDTHS(MB_ENTRY, 1)}};
    table[m->own][m->width](op, m, batches);
}

/* Copies the 1 to 3 blocks of a partial last batch. Pads the last vector with the last block, and
 * stores whole vectors: a wide load after narrow stores would cause a store-forwarding stall. */
TR_INLINE TR_TARGET void mb_pad(uint8_t *to, const uint8_t *from, unsigned tail)
{
    for (unsigned i = 0; i < tail; i += VBLOCKS)
        v_store(to + i * TR_BLOCK, i + VBLOCKS <= tail ? v_load(from + i * TR_BLOCK)
                                                       : v_load_all(from + i * TR_BLOCK));
}

/* Returns block i of a lane in the last batch's output. */
TR_INLINE const uint8_t *mb_output_block(const struct multibuffer *m, unsigned lane, unsigned i)
{
    return m->rows + mb_output_row(m->lanes, m->half, i) + lane * TR_BLOCK;
}
TR_INLINE uint8_t *mb_own_key_of(struct multibuffer *m, unsigned lane, unsigned r)
{
    return m->rows + mb_own_key(r) + lane * TR_BLOCK;
}
/* Cleanses copied input, keys, and secret output that no job receives. MAC jobs receive no output.
 * In CFB, the output beyond a job's end is keystream XORed with repeated or old data. */
static TR_TARGET void V_NAME(mb_cleanse_batches)(enum tr_mb_op op, struct multibuffer *m)
{
    const unsigned lanes = m->widest;
    const int beyond = op == TR_MB_CFB && m->tails;
    if (beyond)
        cleanse_vectors(m->nowhere, sizeof(m->nowhere));
    /* mb_narrow() makes the rows shorter. The narrow layout stays inside the widest layout, and its
     * input rows inside the widest input rows. So cleansing the widest layout is enough. */
    if (op == TR_MB_MAC || beyond)
        cleanse_vectors(m->rows, mb_output_row(lanes, 2, 0) + 2 * MB_STEPS * lanes * TR_BLOCK);
    else
        cleanse_vectors(m->rows, mb_input_row(lanes, m->deep) + lanes * MB_BATCH_BYTES);
    if (m->own)
        cleanse_vectors(m->rows + mb_own_key(0), (m->key->rounds + 1) * MB_LANES_NARROW * TR_BLOCK);
}
#endif

#endif
