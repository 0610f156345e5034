/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multi-buffer: many chains of CBC or CFB encryption, or of CBC-MAC, at once. One chain is bound by
 * latency (serial.h) and leaves most AES issue slots unused. Many chains, in the lanes of several
 * vectors, fill these slots.
 *
 * Terms
 *   job       a chain with its key, chaining value and blocks: struct tr_job, as the modes pass it
 *   lane      the 128 bits of a vector in which one job runs; lanes are numbered across all vectors
 *   step      one block of each lane goes through all rounds, all vectors interleaved
 *   batch     MB_STEPS steps: 64 bytes of each lane, one cache line if aligned
 *   segment   the batches between two refills: it ends when the first job ends. A segment with idle
 *             lanes also ends after MB_IDLE_BATCHES batches
 *   idle      a lane without a job; it reads the input of another lane and stores to a scratch
 *             buffer (nowhere)
 *
 * A batch, with lanes 0 to 7 in two vectors of four; a3 is block 3 of this batch of job a:
 *
 *      memory                 buffers          registers
 *                                              vector 0     vector 1
 *      next batch        -->  in_batch
 *      64 B a job
 *                             in_batch step 0  a0 b0 c0 d0  e0 f0 g0 h0  n rounds -> out_batch
 *                                      step 1  a1 b1 c1 d1  e1 f1 g1 h1  n rounds -> out_batch
 *                                      step 2  a2 b2 c2 d2  e2 f2 g2 h2  n rounds -> out_batch
 *                                      step 3  a3 b3 c3 d3  e3 f3 g3 h3  n rounds -> out_batch
 *      previous batch    <--  out_batch
 *      64 B a job
 *
 * The transfers on the left overlap the rounds. Each moves a whole cache line of a job. Messages
 * whose addresses differ by a multiple of 4096 conflict in one cache set. If they were moved block
 * by block, each block would fetch its line again, at 16 % of the AES rate. multibuffer_lines.h
 * (512 bits) and multibuffer_rows.h (128 and 256 bits) make vectors of the lines.
 *
 * Bound: AES throughput, and the longest job, because it is serial. 16 messages of 16 KiB, AES-128
 * in CBC, reach 85 % of the AES rate on vaes512 (Zen 4; docs/tuning/multibuffer.md). Each call
 * costs 700 cycles besides its steps, each segment 250 for pipeline fill and drain, and each refill
 * of a lane 20.
 *
 * Rules for speed:
 *
 * - Load chaining values from where they are: wide loads of copies stall (store forwarding).
 * - Pass no structure by value, for the same reason.
 * - Run the longest job first.
 * - Use fewer lanes when one long job would run alone at the end.
 */
#ifndef TR_SIMD_MULTIBUFFER_H
#define TR_SIMD_MULTIBUFFER_H

#include "simd/multibuffer_lines.h"
#include "simd/multibuffer_rows.h"

#if MULTIBUFFER
/*
 * Defines mb_segment() once for each operation, number of rounds and kind of keys, so that no
 * variant pushes registers that only another one uses.
 */
#    define MB_SEGMENT(name, op, n, vectors, own)                                                  \
        static TR_TARGET __attribute__((__noinline__)) void name(struct multibuffer *m,            \
                                                                 size_t batches)                   \
        {                                                                                          \
            mb_segment(op, m, n, vectors, own, batches);                                           \
        }
#    if MB_VECTORS > MB_VECTORS_NARROW
#        define MB_SEGMENTS(name, op, n)                                                           \
            MB_SEGMENT(name##_own, op, n, MB_VECTORS_NARROW, 1)                                    \
            MB_SEGMENT(name##_shared, op, n, MB_VECTORS_NARROW, 0)                                 \
            MB_SEGMENT(name##_wide, op, n, MB_VECTORS, 0)
#        define MB_ENTRY(name)                                                                     \
            {                                                                                      \
                name##_shared, name##_own, name##_wide                                             \
            }
#    else
#        define MB_SEGMENTS(name, op, n)                                                           \
            MB_SEGMENT(name##_own, op, n, MB_VECTORS_NARROW, 1)                                    \
            MB_SEGMENT(name##_shared, op, n, MB_VECTORS_NARROW, 0)
#        define MB_ENTRY(name)                                                                     \
            {                                                                                      \
                name##_shared, name##_own, NULL                                                    \
            }
#    endif
#    define MB_OP(name, op)                                                                        \
        MB_SEGMENTS(name##_10, op, 10) MB_SEGMENTS(name##_12, op, 12) MB_SEGMENTS(name##_14, op, 14)
MB_OP(mb_cbc, TR_MB_CBC)
MB_OP(mb_cfb, TR_MB_CFB)
MB_OP(mb_mac, TR_MB_MAC)

#    define MB_TABLE(name)                                                                         \
        {                                                                                          \
            MB_ENTRY(name##_10), MB_ENTRY(name##_12), MB_ENTRY(name##_14)                          \
        }
/* Indices: operation; key size; 0: shared key, 1: own keys, 2: shared key and MB_LANES lanes. */
static void (*const mb_table[3][3][3])(struct multibuffer *m, size_t batches) = {
    [TR_MB_CBC] = MB_TABLE(mb_cbc), [TR_MB_CFB] = MB_TABLE(mb_cfb), [TR_MB_MAC] = MB_TABLE(mb_mac)};

TR_INLINE TR_TARGET uint8_t *mb_chain(struct multibuffer *m, unsigned lane)
{
    return (uint8_t *)m->chain + lane * TR_BLOCK;
}

/* The number of blocks in the last batch of a lane's job; 0 if that batch is whole. */
TR_INLINE unsigned mb_tail(const struct multibuffer *m, unsigned lane)
{
    return m->job[lane]->blocks % MB_STEPS;
}

TR_INLINE TR_TARGET size_t mb_begin(struct multibuffer *m, unsigned lane, const struct tr_job *job,
                                    size_t now)
{
    const size_t end = now + (job->blocks - 1) / MB_STEPS + 1;
    m->job[lane] = job;
    m->in[lane] = mb_base_of(job->in, now);
    m->out[lane] = mb_base_of(job->out, now);
    m->from[lane] = job->chain;
    for (unsigned r = 0; m->own && r <= job->key->rounds; r++)
        b_store(mb_own_key_of(m, lane, r), b_load(job->key->enc[r]));
    return end;
}

TR_INLINE TR_TARGET void mb_end(enum tr_mb_op op, struct multibuffer *m, unsigned lane)
{
    const struct tr_job *job = m->job[lane];
    const unsigned tail = mb_tail(m, lane);
    B chain = b_load(mb_chain(m, lane));
    for (unsigned i = 0; i < tail; i++) {
        chain = b_load(mb_output_block(m, lane, i));
        if (op != TR_MB_MAC)
            b_store(job->out + (job->blocks - tail + i) * TR_BLOCK, chain);
    }
    b_store(job->chain, chain);
}

/*
 * Refills lanes between two segments: ends jobs, starts other jobs in their lanes, and computes the
 * end of the next segment.
 */
static TR_TARGET void mb_refill(enum tr_mb_op op, struct multibuffer *m)
{
    const struct tr_job *next = m->next, *const behind = m->behind;
    const size_t now = m->now;
    const unsigned lanes = m->lanes;
    size_t first_end = SIZE_MAX;
    unsigned busy = 0, first = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        size_t end = m->end[lane];
        m->from[lane] = mb_chain(m, lane);
        if (end == now) {
            if (now != 0)
                mb_end(op, m, lane);
            end = next != behind ? mb_begin(m, lane, next++, now) : SIZE_MAX;
            m->end[lane] = end;
        }
        busy += end != SIZE_MAX;
        first = end < first_end ? lane : first;
        first_end = end < first_end ? end : first_end;
    }
    m->next = next;
    m->busy = busy;
    m->first = first;
    m->first_end = first_end;
}

/* Moves the jobs of all higher lanes to idle lanes among the first MB_LANES_NARROW. */
static TR_TARGET void mb_narrow(struct multibuffer *m)
{
    unsigned to = 0;
    for (unsigned lane = MB_LANES_NARROW; lane < MB_LANES; lane++) {
        if (m->end[lane] == SIZE_MAX)
            continue;
        while (m->end[to] != SIZE_MAX)
            to++;
        m->first = m->first == lane ? to : m->first;
        m->end[to] = m->end[lane];
        m->job[to] = m->job[lane];
        m->in[to] = m->in[lane];
        m->out[to] = m->out[lane];
        m->from[to] = mb_chain(m, lane);
    }
    m->lanes = MB_LANES_NARROW;
}

/*
 * Prepares the last batch before `end`. A job that ends within this batch reads a padded copy of
 * its input and stores to m->nowhere; mb_end() then stores the job's last blocks.
 */
static TR_TARGET void mb_cut(struct multibuffer *m, size_t end)
{
    m->last_in = m->in;
    m->last_out = m->out;
    if (!m->tails)
        return;
    __builtin_memcpy(m->cut_in, m->in, sizeof(m->in));
    __builtin_memcpy(m->cut_out, m->out, sizeof(m->out));
    m->last_in = m->cut_in;
    m->last_out = m->cut_out;
    for (unsigned lane = 0; lane < m->lanes; lane++) {
        unsigned tail;
        if (m->end[lane] != end || (tail = mb_tail(m, lane)) == 0)
            continue;
        const struct tr_job *job = m->job[lane];
        for (unsigned i = 0; i < tail; i++)
            b_store(m->tail[lane] + i * TR_BLOCK,
                    b_load(job->in + (job->blocks - tail + i) * TR_BLOCK));
        m->cut_in[lane] = mb_base_of(m->tail[lane], end - 1);
        m->cut_out[lane] = mb_base_of(m->nowhere, end - 1);
    }
}

/* Lets idle lanes read the input of lane m->first and store to m->nowhere. */
static void mb_occupy(struct multibuffer *m)
{
    for (unsigned lane = 0; lane < m->lanes; lane++) {
        if (m->end[lane] != SIZE_MAX)
            continue;
        m->from[lane] = m->from[m->first];
        m->in[lane] = m->in[m->first];
        m->cut_in[lane] = m->last_in[m->first];
        m->out[lane] = m->cut_out[lane] = mb_base_of(m->nowhere, m->now);
    }
}

/* Hands the only remaining job back to the caller, because serial code is faster for one chain. */
static TR_TARGET void mb_leave_one(struct multibuffer *m, struct tr_job *last)
{
    const struct tr_job *job = m->job[m->first];
    const size_t batches = (job->blocks - 1) / MB_STEPS + 1 - (m->first_end - m->now);
    *last = *job;
    b_store(last->chain, b_load(m->from[m->first]));
    last->blocks -= batches * MB_STEPS;
    last->in += batches * MB_BATCH_BYTES;
    if (last->out != NULL)
        last->out += batches * MB_BATCH_BYTES;
}

static TR_TARGET void mb_set_up(struct multibuffer *m, const struct tr_job *jobs, size_t count)
{
    uint64_t blocks = 0, longest = 0;
    m->own = m->tails = 0;
    for (const struct tr_job *job = jobs; job != jobs + count; job++) {
        blocks += job->blocks;
        longest = job->blocks > longest ? job->blocks : longest;
        m->own |= job->key != jobs->key;
        m->tails |= job->blocks % MB_STEPS != 0;
    }
    /*
     * A step of MB_LANES lanes takes longer than one of MB_LANES_NARROW. More lanes pay only if
     * they avoid refills and leave no long job to run alone.
     */
    m->lanes = MB_LANES_NARROW;
    if (MB_LANES > MB_LANES_NARROW && !m->own && blocks > MB_LANES_NARROW * longest &&
        blocks <= MB_LANES * longest)
        m->lanes = MB_LANES;
    m->widest = m->lanes;
    m->key = jobs->key;
    mb_prepare(m, jobs->key);
    m->next = jobs;
    m->behind = jobs + count;
    m->now = 0;
    for (unsigned lane = 0; lane < m->lanes; lane++)
        m->end[lane] = 0;
}

static TR_TARGET void mb_cleanse(enum tr_mb_op op, struct multibuffer *m)
{
    mb_cleanse_batches(op, m);
    cleanse_vectors(m->chain, sizeof(m->chain));
    if (!m->own && (VBLOCKS != 4 || MB_KEYS_HELD == 0))
        cleanse_vectors(m->shared, (m->key->rounds + 1) * VBYTES);
    if (m->tails)
        cleanse_vectors(m->tail, sizeof(m->tail));
}

static TR_TARGET void multibuffer(enum tr_mb_op op, const struct tr_job *jobs, size_t count,
                                  struct tr_job *last)
{
    struct multibuffer m;
    mb_set_up(&m, jobs, count);
    for (mb_refill(op, &m); m.busy > 1; mb_refill(op, &m)) {
        if (m.busy <= MB_LANES_NARROW && m.lanes > MB_LANES_NARROW)
            mb_narrow(&m);
        size_t end = m.first_end;
        if (m.busy < m.lanes && end > m.now + MB_IDLE_BATCHES)
            end = m.now + MB_IDLE_BATCHES;
        mb_cut(&m, end);
        if (m.busy < m.lanes)
            mb_occupy(&m);
        mb_table[op][jobs->key->rounds / 2 - 5][m.lanes > MB_LANES_NARROW ? 2 : m.own](&m,
                                                                                       end - m.now);
        m.half = (end - m.now - 1) % 2;
        m.now = end;
    }
    last->blocks = 0;
    if (m.busy != 0)
        mb_leave_one(&m, last);
    mb_cleanse(op, &m);
}

#    define TR_MULTIBUFFER multibuffer
#else
#    define TR_MULTIBUFFER NULL
#endif

#endif
