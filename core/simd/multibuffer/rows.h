/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a segment (multibuffer/multibuffer.h) in vectors of 1 or 2 blocks. The code copies 64-byte lines from
 * the jobs' input into rows (below). A step gathers blocks from the input rows into vectors, and
 * stores whole vectors to the output rows. Then the code copies blocks from the output rows to the
 * jobs' output. On Zen 4, extracting a block from a register would cost more than this store and
 * load.
 *
 * The bound is AES throughput together with the loads and lane insertions that gather blocks. On
 * Zen 3, a step of vaes256 takes 77 cycles with 16 lanes (8 vectors) and 55 with 12. So 16 lanes
 * process 0.21 blocks a cycle, and 12 lanes 0.22; the cause of this loss is not known. For messages
 * of 16 KiB that are a multiple of 4096 bytes apart, vaes256 reaches 56 % of the AES rate of VAES.
 * The backend aesni reaches 37 % of that rate. The limit of aesni is 50 %, because AESENC processes
 * one block where VAES processes two (Zen 4; docs/tuning/multibuffer.md).
 *
 * Transposed lines, as in multibuffer/lines.h, are slower here, because there are fewer registers,
 * and more round keys come from memory.
 *
 * The vectors are one or more rounds apart (MB_AHEAD). Loads and insertions are therefore spread
 * evenly and overlap the rounds of other vectors.
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
 * round key r aliases row r. The shared round keys (m->shared) and the jobs' pointers may alias
 * output rows; a layout in which they alias only input rows was not faster on Zen 3.
 */
TR_INLINE unsigned mb_input_row(unsigned lanes, size_t batch)
{
    return batch % 2 * MB_STEPS * lanes * TR_BLOCK;
}
TR_INLINE unsigned mb_output_row(unsigned lanes, size_t batch, unsigned step)
{
    const unsigned row = lanes * TR_BLOCK, half = batch % 2;
    return (2 * MB_STEPS + half * MB_STEPS + step) * row;
}
TR_INLINE unsigned mb_own_key(unsigned r)
{
    return (16 + r) * MB_LANES_NARROW * TR_BLOCK;
}

/* Returns round key r of vector j. */
TR_INLINE TR_TARGET V mb_key(const struct multibuffer *m, const V held[MB_HELD], int own,
                             unsigned j, unsigned r)
{
    if (own)
        return v_load(m->rows + mb_own_key(r) + j * VBYTES);
    return r + 1 <= MB_KEYS_HELD ? held[r] : v_load(m->shared[r]);
}

/* Returns the input of the first round: the state XORed with the first key and, except in CFB, the
 * data. */
TR_INLINE TR_TARGET V mb_enter(enum tr_mb_op op, unsigned j, V s, V k, const uint8_t *from)
{
    if (op == TR_MB_CFB)
        return v_xor(s, k);
    return v_xor3(s, v_gather(from + j * VBLOCKS * MB_BATCH_BYTES, MB_BATCH_BYTES), k);
}

/* Does the last round of vector j and stores the output. */
TR_INLINE TR_TARGET V mb_leave(enum tr_mb_op op, unsigned j, V s, V k, const uint8_t *from,
                               uint8_t *to)
{
    if (op == TR_MB_CFB)
        k = v_xor(k, v_gather(from + j * VBLOCKS * MB_BATCH_BYTES, MB_BATCH_BYTES));
    s = v_aesenclast(s, k);
    MB_IN_ORDER(s);
    v_store(to + j * VBYTES, s);
    return s;
}

/* mb_copy_in() copies a lane's input of a batch into the rows. mb_copy_out() copies a lane's output
 * of a batch to its job. */
TR_INLINE TR_TARGET void mb_copy_in(struct multibuffer *m, unsigned lanes, const mb_base *in,
                                    unsigned lane, size_t batch)
{
    const uint8_t *from = mb_at(in[lane], (m->now + batch) * MB_BATCH_BYTES);
    uint8_t *to = m->rows + mb_input_row(lanes, batch) + lane * MB_BATCH_BYTES;
    UNROLL
    for (unsigned i = 0; i < MB_BATCH_BYTES; i += VBYTES)
        v_store(to + i, v_load(from + i));
}
TR_INLINE TR_TARGET void mb_copy_out(uint8_t *to, const uint8_t *from, const uint8_t *last,
                                     unsigned row)
{
    UNROLL
    for (unsigned i = 0; i < MB_STEPS - 1; i++)
        b_store(to + i * TR_BLOCK, b_load(from + i * row));
    b_store(to + (MB_STEPS - 1) * TR_BLOCK, b_load(last));
}

/*
 * The copies that a step does for a quarter of the lanes. These are the next batch's input and the
 * previous batch's output. The first step of a batch copies for the last quarter. The vectors of
 * this quarter are furthest ahead (MB_AHEAD), so they need the next input first.
 */
struct mb_share {
    const mb_base *in;
    size_t in_offset;
    uint8_t *before;
    const mb_base *out;
    size_t out_offset;
    const uint8_t *after, *after_last;
};

/* Returns the copies of a step. The last batch has no next input, so it copies its own again. The
 * first batch has no previous output, so it copies old bytes to m->nowhere. */
TR_INLINE struct mb_share mb_share(struct multibuffer *m, unsigned lanes, size_t step,
                                   size_t batches)
{
    const size_t batch = step / MB_STEPS, next = batch + 1 < batches ? batch + 1 : batch;
    const unsigned lane = (MB_STEPS - 1 - step % MB_STEPS) * (lanes / MB_STEPS);
    const uint8_t *rows = m->rows + lane * TR_BLOCK;
    return (struct mb_share){
        (next + 1 == batches ? m->last_in : m->in) + lane,
        (m->now + next) * MB_BATCH_BYTES,
        m->rows + mb_input_row(lanes, next) + lane * MB_BATCH_BYTES,
        (batch == 0 ? m->none : m->out) + lane,
        batch == 0 ? 0 : (m->now + batch - 1) * MB_BATCH_BYTES,
        rows + mb_output_row(lanes, batch + 1, 0),
        rows + mb_output_row(lanes, batch + 1, MB_STEPS - 1),
    };
}

TR_INLINE TR_TARGET void mb_copy(enum tr_mb_op op, const struct mb_share *share, unsigned lanes,
                                 unsigned i)
{
    const uint8_t *from = mb_at(share->in[i], share->in_offset);
    UNROLL
    for (unsigned k = 0; k < MB_BATCH_BYTES; k += VBYTES)
        v_store(share->before + i * MB_BATCH_BYTES + k, v_load(from + k));
    if (op != TR_MB_MAC)
        mb_copy_out(mb_at(share->out[i], share->out_offset), share->after + i * TR_BLOCK,
                    share->after_last + i * TR_BLOCK, lanes * TR_BLOCK);
}

/* Copies the output of a batch to the jobs in the first `count` lanes. */
static TR_TARGET void mb_put(struct multibuffer *m, const mb_base *out, unsigned lanes,
                             unsigned count, size_t batch)
{
    const uint8_t *from = m->rows + mb_output_row(lanes, batch, 0);
    const uint8_t *last = m->rows + mb_output_row(lanes, batch, MB_STEPS - 1);
    for (unsigned lane = 0; lane < count; lane++)
        mb_copy_out(mb_at(out[lane], (m->now + batch) * MB_BATCH_BYTES), from + lane * TR_BLOCK,
                    last + lane * TR_BLOCK, lanes * TR_BLOCK);
}

/* The number of rounds by which vector j is ahead of vector 0. These distances spread the vectors'
 * last rounds evenly. */
#    define MB_AHEAD(j) ((j)*n / vectors)

/* Processes a segment. The number of rounds, n, is a constant, as are `vectors` and `own`. */
TR_INLINE TR_TARGET void mb_segment(enum tr_mb_op op, struct multibuffer *m, unsigned n,
                                    unsigned vectors, int own, size_t batches)
{
    const unsigned lanes = vectors * VBLOCKS, part = lanes / MB_STEPS;
    const size_t last = batches * MB_STEPS - 1;
    V s[MB_VECTORS], held[MB_HELD];
    UNROLL
    for (unsigned r = 0; r <= n; r++) {
        if (own || r + 1 > MB_KEYS_HELD)
            continue;
        held[r] = v_load_all(m->key->enc[r]);
        __asm__("" : "+" V_REGISTER(held[r]));
    }
    for (unsigned lane = 0; lane < lanes; lane++)
        mb_copy_in(m, lanes, batches == 1 ? m->last_in : m->in, lane, 0);
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        s[j] = mb_enter(op, j, v_gather_pointers(m->from + j * VBLOCKS), mb_key(m, held, own, j, 0),
                        m->rows);
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < vectors; j++) {
            if (r <= MB_AHEAD(j))
                s[j] = v_aesenc(s[j], mb_key(m, held, own, j, r));
        }
    }
    for (size_t step = 0; step != last; step++) {
        const uint8_t *from =
            m->rows + mb_input_row(lanes, step / MB_STEPS) + step % MB_STEPS * TR_BLOCK;
        const uint8_t *next =
            m->rows + mb_input_row(lanes, (step + 1) / MB_STEPS) + (step + 1) % MB_STEPS * TR_BLOCK;
        uint8_t *to = m->rows + mb_output_row(lanes, step / MB_STEPS, step % MB_STEPS);
        const struct mb_share share = mb_share(m, lanes, step, batches);
        UNROLL
        for (unsigned t = 1; t <= n; t++) {
            UNROLL
            for (unsigned j = 0; j < vectors; j++) {
                const unsigned r = MB_AHEAD(j) + t;
                if (r == n) {
                    s[j] = mb_leave(op, j, s[j], mb_key(m, held, own, j, n), from, to);
                    s[j] = mb_enter(op, j, s[j], mb_key(m, held, own, j, 0), next);
                } else {
                    s[j] = v_aesenc(s[j], mb_key(m, held, own, j, r < n ? r : r - n));
                }
                MB_IN_ORDER(s[j]);
            }
            if (t <= part)
                mb_copy(op, &share, lanes, part - t);
        }
    }
    UNROLL
    for (unsigned r = 1; r < n; r++) {
        UNROLL
        for (unsigned j = 0; j < vectors; j++) {
            if (r > MB_AHEAD(j))
                s[j] = v_aesenc(s[j], mb_key(m, held, own, j, r));
        }
    }
    const uint8_t *from = m->rows + mb_input_row(lanes, batches - 1) + (MB_STEPS - 1) * TR_BLOCK;
    uint8_t *to = m->rows + mb_output_row(lanes, batches - 1, MB_STEPS - 1);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        s[j] = mb_leave(op, j, s[j], mb_key(m, held, own, j, n), from, to);
        v_store(m->chain[j], s[j]);
    }
    /* The last step is not in the loop. Its copies follow here, and then the last batch's
     * output. */
    if (op != TR_MB_MAC && batches > 1)
        mb_put(m, m->out, lanes, part, batches - 2);
    if (op != TR_MB_MAC)
        mb_put(m, m->last_out, lanes, lanes, batches - 1);
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
static TR_TARGET void mb_prepare(struct multibuffer *m, const struct tr_aes_key *key)
{
    mb_broadcast_keys(m, key);
    /* Sets all lanes, because gcc vectorizes only a loop of constant length. */
    for (unsigned lane = 0; lane < MB_LANES; lane++)
        m->none[lane] = mb_base_of(m->nowhere, 0);
}
/*
 * Cleanses copied input, keys, and secret output that no job receives. MAC jobs receive no output.
 * In CFB, the output beyond a job's end is keystream XORed with repeated or old data.
 */
static TR_TARGET void mb_cleanse_batches(enum tr_mb_op op, struct multibuffer *m)
{
    const unsigned lanes = m->widest;
    const int beyond = op == TR_MB_CFB && m->tails;
    /* After mb_narrow(), output rows lie where input rows were before. In the next segment, the
     * first batch has no previous output, so it copies old input to m->nowhere. */
    mb_cleanse_lines(m->nowhere, sizeof(m->nowhere));
    /* mb_narrow() makes the rows shorter. The narrow layout stays inside the widest layout, and its
     * input rows inside the widest input rows. So cleansing the widest layout is enough. */
    if (op == TR_MB_MAC || beyond)
        mb_cleanse_lines(m->rows, mb_output_row(lanes, 2, 0) + 2 * MB_STEPS * lanes * TR_BLOCK);
    else
        mb_cleanse_lines(m->rows, mb_input_row(lanes, m->deep) + lanes * MB_BATCH_BYTES);
    if (m->own)
        mb_cleanse_lines(m->rows + mb_own_key(0),
                         (m->key->rounds + 1) * MB_LANES_NARROW * TR_BLOCK);
}
#endif

#endif
