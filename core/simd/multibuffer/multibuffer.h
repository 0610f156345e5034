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
 *   refill    a lane whose job has ended gets the next job
 *   segment   the batches between two refills; its last batch is the first one in which a job ends
 *   idle      a lane without a job; it repeats the job of another lane
 *   width     the number of vectors of a step, stored as an index of MB_WIDTHS
 *
 * A batch, with lanes 0 to 7 in two vectors of four lanes; a3 is block 3 of job a in this batch:
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
 * The transfers on the left overlap the rounds. Each transfer moves a whole cache line of a job.
 * Messages whose addresses differ by a multiple of 4096 conflict in one cache set. With transfers
 * of single blocks, each block of such a message would fetch its line again. The code would then
 * reach 16 % of the AES rate (Zen 4). Two files arrange the lines into vectors: multibuffer/lines.h
 * (512 bits) and multibuffer/rows.h (128 and 256 bits).
 *
 * The bounds are AES throughput and the longest job, because a job is serial. On vaes512, 16
 * messages of 16 KiB with AES-128 in CBC reach 85 % of the AES rate (Zen 4;
 * docs/tuning/multibuffer.md). In addition to its steps, a call of vaes256 costs 350 cycles with 8
 * jobs and 530 cycles with 16 jobs (Zen 3). On Zen 4, each segment costs 250 cycles for pipeline
 * fill and drain, and each refill of a lane costs 20 cycles.
 *
 * Rules for speed:
 *
 * - Load chaining values from where they were stored. A wide load of a copy made by narrow stores
 *   causes a store-forwarding stall.
 * - Pass no structure by value to a function that is not inline, for the same reason.
 * - Run the longest job first.
 * - Use fewer lanes when the longest job is the bound. A step is then shorter, so the longest
 *   job ends sooner.
 */
#ifndef TR_SIMD_MULTIBUFFER_H
#define TR_SIMD_MULTIBUFFER_H

#include "dispatch/tuning.h"
#include "simd/multibuffer/lines.h"
#include "simd/multibuffer/rows.h"

#if MULTIBUFFER
TR_INLINE TR_TARGET uint8_t *mb_chain(struct multibuffer *m, unsigned lane)
{
    return (uint8_t *)m->chain + lane * TR_BLOCK;
}

/* Returns the number of blocks in the last batch of a lane's job, or 0 if that batch is whole. */
TR_INLINE unsigned mb_tail(const struct multibuffer *m, unsigned lane)
{
    return m->job[lane]->blocks % MB_STEPS;
}

TR_INLINE TR_TARGET void mb_copy_keys(struct multibuffer *m, unsigned lane,
                                      const struct tr_aes_key *key)
{
    for (unsigned r = 0; r <= key->rounds; r++)
        b_store(mb_own_key_of(m, lane, r), b_load(key->enc[r]));
}

TR_INLINE TR_TARGET size_t mb_begin(struct multibuffer *m, unsigned lane, const struct tr_job *job,
                                    size_t now)
{
    const size_t end = now + (job->blocks - 1) / MB_STEPS + 1;
    m->job[lane] = job;
    m->in[lane] = mb_base_of(job->in, now);
    m->out[lane] = mb_base_of(job->out, now);
    m->from[lane] = job->chain;
    if (m->own)
        mb_copy_keys(m, lane, job->key);
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

/* Starts jobs in lanes whose segment has ended, and computes the end of the next segment. Ends the
 * lanes' old jobs, unless the call `begins`. */
TR_INLINE TR_TARGET void mb_next_jobs(enum tr_mb_op op, struct multibuffer *m, int begins)
{
    const struct tr_job *next = m->next, *const behind = m->behind;
    const size_t now = m->now;
    const unsigned lanes = m->lanes;
    size_t first_end = SIZE_MAX;
    unsigned busy = 0, first = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        size_t end = begins ? now : m->end[lane];
        m->from[lane] = mb_chain(m, lane);
        if (end == now) {
            if (!begins)
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

/* Refills lanes between two segments. */
static TR_TARGET void V_NAME(mb_refill)(enum tr_mb_op op, struct multibuffer *m)
{
    mb_next_jobs(op, m, 0);
}

TR_INLINE unsigned mb_lanes(unsigned width)
{
    return mb_widths[width] * VBLOCKS;
}

/* Switches to a narrower width. Moves jobs from the lanes that disappear to idle lanes. */
static TR_TARGET void V_NAME(mb_narrow)(struct multibuffer *m, unsigned width)
{
    const unsigned lanes = mb_lanes(width);
    unsigned to = 0;
    for (unsigned lane = lanes; lane < m->lanes; lane++) {
        if (m->end[lane] == SIZE_MAX)
            continue;
        while (m->end[to] != SIZE_MAX)
            to++;
        m->first = m->first == lane ? to : m->first;
        m->end[to] = m->end[lane];
        m->job[to] = m->job[lane];
        m->in[to] = m->in[lane];
        m->out[to] = m->out[lane];
        m->from[to] = m->from[lane];
        if (m->own)
            mb_copy_keys(m, to, m->job[to]->key);
    }
    m->width = width;
    m->lanes = lanes;
}

/* Prepares batch end - 1, the last of a segment. A segment accesses whole batches, but the last
 * batch of a job can be partial. For a partial batch, the lane reads a copy of the job's last
 * blocks, in m->tail, and stores to m->nowhere. After the segment, mb_end() stores the blocks to
 * the job's output. */
static TR_TARGET void V_NAME(mb_cut)(struct multibuffer *m, size_t end)
{
    m->last_in = m->in;
    m->last_out = m->out;
    for (unsigned lane = 0; m->tails && lane < m->lanes; lane++) {
        unsigned tail;
        if (m->end[lane] != end || (tail = mb_tail(m, lane)) == 0)
            continue;
        if (m->last_in == m->in) {
            __builtin_memcpy(m->cut_in, m->in, m->lanes * sizeof(m->in[0]));
            __builtin_memcpy(m->cut_out, m->out, m->lanes * sizeof(m->out[0]));
            m->last_in = m->cut_in;
            m->last_out = m->cut_out;
        }
        const struct tr_job *job = m->job[lane];
        mb_pad(m->tail[lane], job->in + (job->blocks - tail) * TR_BLOCK, tail);
        m->cut_in[lane] = mb_base_of(m->tail[lane], end - 1);
        m->cut_out[lane] = mb_base_of(m->nowhere, end - 1);
    }
}

/* Lets idle lanes repeat the job of lane m->first. All these lanes compute the same blocks at the
 * same time, so they may store them to the same place. */
static TR_TARGET void V_NAME(mb_occupy)(struct multibuffer *m)
{
    const unsigned first = m->first;
    for (unsigned lane = 0; lane < m->lanes; lane++) {
        if (m->end[lane] != SIZE_MAX)
            continue;
        m->from[lane] = m->from[first];
        m->in[lane] = m->in[first];
        m->out[lane] = m->out[first];
        m->cut_in[lane] = m->last_in[first];
        m->cut_out[lane] = m->last_out[first];
        if (m->own)
            mb_copy_keys(m, lane, m->job[first]->key);
    }
}

/* Hands the only remaining job back to the caller, because serial code is faster for one chain. */
static TR_TARGET void V_NAME(mb_leave_one)(struct multibuffer *m, struct tr_job *last)
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

/*
 * Chooses the width. A step of more lanes takes longer, so more lanes pay only if the jobs keep
 * them busy. For vectors of 4 blocks, the function has a rule. For narrower vectors, it chooses the
 * width with the lowest cost. The cost is an estimate in cycles, for AES-128:
 *
 * - A step takes the larger of two times: its vectors' issue slots (MB_VECTOR_CYCLES), and the
 *   latency of 10 rounds.
 * - The number of steps is estimated as the largest of three lower bounds. The first is the number
 *   of blocks of the longest job. The second is the number of all blocks, divided by the number of
 *   lanes. The third is the largest value, over all k >= 1, of k + 1 times the number of blocks of
 *   job k * lanes. Jobs 0 to k * lanes are k * lanes + 1 jobs, so some lane runs at least k + 1 of
 *   them. Each of these jobs is about as long as job k * lanes, or longer: jobs are sorted longest
 *   first, except within a length class (modes/multibuffer.c).
 * - The number of segments is estimated as the number of jobs divided by the number of lanes,
 *   rounded up. Each segment adds 150 cycles.
 *
 * Returns the width as an index of MB_WIDTHS.
 */
TR_INLINE unsigned mb_width(const struct tr_jobs *jobs)
{
    const size_t blocks = jobs->blocks, longest = jobs->longest;
#    if VBLOCKS == 4
    /* Returns 0 for the wide (or only) width, 1 for the narrow width. Different keys always take
     * the narrow width. Otherwise the quotient blocks / longest decides. Up to MB_LANES_NARROW, the
     * longest job is the bound even with the narrow width. Above MB_LANES, even the wide width
     * needs refills. The wide width pays only between these limits. */
    return MB_LANES > MB_LANES_NARROW &&
           (jobs->own || blocks <= MB_LANES_NARROW * longest || blocks > MB_LANES * longest);
#    else
    if (MB_WIDTH_COUNT == 1)
        return 0;
    const unsigned chain = 10u * tr_tuning()->aes_latency + 3;
    uint64_t least = UINT64_MAX;
    unsigned best = 0;
    for (unsigned width = 0; width < MB_WIDTH_COUNT; width++) {
        const unsigned lanes = mb_lanes(width);
        uint64_t steps = blocks / lanes > longest ? blocks / lanes : longest;
        unsigned segments = 1;
        for (size_t i = lanes; i < jobs->count; i += lanes) {
            const uint64_t both = ++segments * (uint64_t)jobs->list[i].blocks;
            steps = both > steps ? both : steps;
        }
        const unsigned issue = mb_widths[width] * MB_VECTOR_CYCLES(jobs->own != 0);
        const uint64_t cycles = steps * (issue > chain ? issue : chain) + segments * 150u;
        best = cycles < least ? width : best;
        least = cycles < least ? cycles : least;
    }
    return best;
#    endif
}

static TR_TARGET void V_NAME(mb_set_up)(struct multibuffer *m, const struct tr_jobs *jobs)
{
    m->own = jobs->own;
    m->tails = jobs->tails;
    m->width = mb_width(jobs);
    m->lanes = m->widest = mb_lanes(m->width);
    m->key = jobs->list->key;
#    if VBLOCKS == 4
    V_NAME(mb_prepare)(m);
#    endif
    m->next = jobs->list;
    m->behind = jobs->list + jobs->count;
    m->now = 0;
    m->deep = 0;
    mb_next_jobs(TR_MB_MAC, m, 1); /* the operation matters only where jobs end */
}

static TR_TARGET void V_NAME(mb_cleanse)(enum tr_mb_op op, struct multibuffer *m)
{
    V_NAME(mb_cleanse_batches)(op, m);
    cleanse_vectors(m->chain, sizeof(m->chain));
    if (m->tails)
        cleanse_vectors(m->tail, sizeof(m->tail));
}

TR_TARGET void V_NAME(multibuffer)(enum tr_mb_op op, const struct tr_jobs *jobs,
                                   struct tr_job *last)
{
    struct multibuffer m;
    V_NAME(mb_set_up)(&m, jobs);
    for (; m.busy > 1; V_NAME(mb_refill)(op, &m)) {
        unsigned width = m.width;
        while (width + 1 < MB_WIDTH_COUNT && m.busy <= mb_lanes(width + 1))
            width++;
        if (width != m.width)
            V_NAME(mb_narrow)(&m, width);
        const size_t end = m.first_end;
        V_NAME(mb_cut)(&m, end);
        if (m.busy < m.lanes)
            V_NAME(mb_occupy)(&m);
        V_NAME(mb_run)(op, &m, end - m.now);
        m.half = (end - m.now - 1) % 2;
        m.deep |= end - m.now > 1;
        m.now = end;
    }
    last->blocks = 0;
    if (m.busy != 0)
        V_NAME(mb_leave_one)(&m, last);
    V_NAME(mb_cleanse)(op, &m);
}
#endif

#endif
