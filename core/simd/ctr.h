/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CTR (SP 800-38A section 6.5) for one vector type, over the driver of parallel.h.
 *
 * Bound: AES throughput as in parallel.h, and beside it an addition, a byte swap and two XORs a
 * vector. Three ways cut that: below SHORT_CTR only the last byte counts; longer calls in XMM and
 * YMM start groups at aligned counters; very long calls skip two rounds (ctr_states.h). Figures:
 * docs/tuning/parallel.md.
 */
#ifndef TR_SIMD_CTR_H
#define TR_SIMD_CTR_H

#include "simd/ctr_states.h"
#include "simd/parallel.h"

/*
 * The vectors count in 64 bits, the states of ctr_states.h in 40: a call is cut in two where the
 * lower number wraps.
 */
#define CTR_WRAP ((uint64_t)1 << 40) /* blocks */

#if CTR_STATES
/* Blocks from the counter low on, which do not wrap. A function of its own, for its stack. */
static NOT_INLINE TR_TARGET void ctr_long(const struct tr_aes_key *key, uint8_t *out,
                                          const uint8_t *in, size_t blocks, uint64_t high,
                                          uint64_t low)
{
    struct bulk b = bulk_start(key, key->enc, out, in);
    const struct group g = {.shape = TR_SHAPE_CTR};
    size_t lead = (size_t)(0 - low) % GROUP;
    b.chain = v_counters64(low, high);
    small_group(g, &b, lead);
    size_t left = ctr_by_states(&b, high, low + lead, blocks - lead);
    b.chain = v_counters64(low + blocks - left, high);
    small_group(g, &b, left);
}
#endif

/*
 * Blocks from the counter low on, which do not wrap. In XMM and YMM eight vectors in flight just
 * cover the latency, and every operation beside the rounds may take an AES port's issue slot. From
 * 8 groups on the counter is therefore brought to a multiple of GROUP first: XMM goes from 0.90 to
 * 0.95, YMM from 0.86 to 0.93 of the AES rate (Zen 4). ZMM gains nothing.
 */
TR_INLINE TR_TARGET void ctr_blocks(struct bulk *b, uint64_t high, uint64_t low, size_t blocks)
{
    struct group g = {.shape = TR_SHAPE_CTR};
    if (VBLOCKS < 4 && blocks >= 8 * GROUP) {
        size_t lead = (size_t)(0 - low) % GROUP;
        b->chain = v_counters64(low, high);
        small_group(g, b, lead);
        b->chain = v_counters64(low + lead, high);
        g.aligned = 1;
        blocks = full_groups(g, IN_FLIGHT, b, blocks - lead);
        small_group(g, b, blocks);
    } else {
        b->chain = v_counters64(low, high);
        all_groups(g, b, blocks);
    }
}

/*
 * Calls of fewer blocks whose counters differ in the last byte only: such counters need no byte
 * swap, and the first one goes to all lanes without passing general registers. 256 bytes in ZMM:
 * 0.75 of the AES rate without, 0.83 with (Zen 4).
 */
#define SHORT_CTR 128u /* blocks */

TR_INLINE TR_TARGET void ctr_last_bytes(struct bulk *b, uint8_t *counter, size_t blocks)
{
    b->chain = v_add_lane_number(v_broadcast(b_load_halves(counter)));
    tr_counter_add(counter, blocks);
    all_groups((struct group){.shape = TR_SHAPE_CTR, .bytes = 1}, b, blocks);
}

static NOT_INLINE TR_TARGET void ctr_any(BULK_ARGUMENTS)
{
    uint8_t *counter = iv;
    struct bulk b = bulk_start(key, key->enc, out, in);
    if (blocks < SHORT_CTR && blocks <= 256u - counter[TR_BLOCK - 1]) {
        ctr_last_bytes(&b, counter, blocks);
        return;
    }
    while (blocks != 0) {
        uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
        /*
         * gcc would merge the loads into one of 16 bytes: a store-forwarding stall behind the
         * previous call's stores.
         */
        __asm__("" : "+r"(low));
        uint64_t before_wrap = CTR_WRAP - low % CTR_WRAP;
        size_t n = blocks > before_wrap ? (size_t)before_wrap : blocks;
#if CTR_STATES
        if (n >= CTR_LONG_FROM) {
            ctr_long(key, b.out, b.in, n, high, low);
            bulk_advance(&b, n * TR_BLOCK);
        } else
#endif
            ctr_blocks(&b, high, low, n);
        tr_counter_add(counter, n);
        blocks -= n;
    }
}

#if V_FEW
NOT_INLINE TR_TARGET enum tr_status V_FEW_NAME(ctr)(BULK_ARGUMENTS)
{
    uint8_t *counter = iv;
    if (counter[TR_BLOCK - 1] >= 256 - TR_FEW) {
        ctr_any(key, out, in, blocks, iv);
        return TR_OK;
    }
    few(TR_SHAPE_CTR, key, out, in, blocks, iv);
    /* No carry leaves the last byte. Stores of 8 bytes forward to the next call's loads. */
    tr_store64_be(counter + 8, tr_load64_be(counter + 8) + blocks);
    return TR_OK;
}
#endif

V_LINKAGE NOT_INLINE TR_TARGET void V_NAME(ctr)(BULK_ARGUMENTS)
{
    if (!DO_SHORT_CALL(ctr))
        ctr_any(key, out, in, blocks, iv);
}

#define TR_PARALLEL_OPS TR_SHAPE_ENTRIES(V_NAME)

#endif
