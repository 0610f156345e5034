/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CTR (SP 800-38A section 6.5) for one vector type. parallel.h has the loop over groups.
 *
 * The bound is AES throughput, as in parallel.h. Each vector also needs an addition, a byte swap
 * and two XORs. Three methods reduce this work (figures: docs/tuning/parallel.md):
 *
 *   - calls below SHORT_CTR blocks increment only the last byte of the counter;
 *   - longer calls in XMM, YMM and NEON registers start groups at counters that are multiples of
 *     GROUP;
 *   - very long calls skip two rounds of most blocks (ctr_states.h).
 */
#ifndef TR_SIMD_CTR_H
#define TR_SIMD_CTR_H

#include "simd/cleanse.h"
#include "simd/ctr_states.h"
#include "simd/parallel.h"

/* Calls are split where the low 40 bits of the counter wrap. The table of states (ctr_states.h) is
 * valid only up to such a wrap. */
#define CTR_WRAP ((uint64_t)1 << 40) /* blocks */

#if CTR_STATES
/* Processes blocks from counter (high, low) on. The low 40 bits do not wrap within the call. This
 * function is not inlined, because it needs 4 KiB of stack. */
static NOT_INLINE TR_TARGET void V_NAME(ctr_long)(const struct tr_aes_key *key, uint8_t *out,
                                                  const uint8_t *in, size_t blocks, uint64_t high,
                                                  uint64_t low)
{
    struct bulk b = bulk_start(key, key->enc, out, in);
    const struct group g = {.shape = TR_SHAPE_CTR, .aligned = 0};
    size_t lead = (size_t)(0 - low) % GROUP;
    b.chain = v_counters64(low, high);
    small_group(g, &b, lead);
    size_t left = ctr_by_states(&b, high, low + lead, blocks - lead);
    b.chain = v_counters64(low + blocks - left, high);
    small_group(g, &b, left);
}
#endif

#if V_KEY_FIRST
/*
 * Processes full groups on Arm, where a vector is one block. The first counter is a multiple of
 * GROUP, so the counter of vector j of a group is the counter of vector 0 with j XORed into the
 * last byte. AESE XORs its two operands. Here the first operand is the first round key with j XORed
 * in, from the array `keys`. The second operand is the counter of vector 0. So no vector needs an
 * XOR for its counter. A block of AES-128 then needs 12 operations in the vector units instead of
 * 13: 10 for AES (AESE and AESMC fused), an EOR3, and the store.
 */
TR_INLINE TR_TARGET size_t aligned_groups(struct bulk *b, size_t blocks)
{
    uint8_t keys[IN_FLIGHT][VBYTES] TR_ALIGNED(16);
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(keys[j], v_xor(v_load_all(b->keys[0]), v_last_bytes(j * VBLOCKS)));
    /* Hides the contents of `keys` from gcc. Otherwise gcc keeps them in registers and copies
     * them. */
    const uint8_t(*table)[VBYTES] = keys;
    __asm__("" : "+r"(table) : : "memory");
    for (; blocks >= GROUP; blocks -= GROUP) {
        V x[IN_FLIGHT], first = v_byteswap(b->chain);
        b->chain = v_add64(b->chain, GROUP);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++) {
            x[j] = v_load(table[j]);
            V_KEEP(x[j]); /* otherwise gcc copies `first` for each x[j] */
            x[j] = v_aesenc(x[j], first);
            V_KEEP(x[j]);
        }
        V k = middle_rounds_from(x, IN_FLIGHT, 0, b, b->keys + 2);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            x[j] = v_xor3(x[j], k, v_load(b->in + (size_t)j * VBYTES));
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            v_store(b->out + (size_t)j * VBYTES, x[j]);
        bulk_advance(b, (size_t)GROUP * TR_BLOCK);
    }
    cleanse_vectors(keys, sizeof(keys));
    return blocks;
}
#else
TR_INLINE TR_TARGET size_t aligned_groups(struct bulk *b, size_t blocks)
{
    return full_groups((struct group){.shape = TR_SHAPE_CTR, .aligned = 1}, IN_FLIGHT, b, blocks);
}
#endif

/*
 * Processes blocks from counter (high, low) on. The half `low` does not wrap within the call.
 *
 * In XMM, YMM and NEON registers, calls of at least 8 groups begin with a smaller group, up to a
 * counter that is a multiple of GROUP. From there on, the counters of a vector need one XOR on x86
 * (first_state()) and none on Arm (aligned_groups()). On x86, eight vectors in flight only just
 * hide the latency of a round. AES cannot regain an issue slot that another operation takes.
 * XMM reaches 95 % of the AES rate instead of 90 %, and YMM reaches 93 % instead of 86 % (Zen 4).
 * ZMM gains nothing.
 */
TR_INLINE TR_TARGET void ctr_blocks(struct bulk *b, uint64_t high, uint64_t low, size_t blocks)
{
    struct group g = {.shape = TR_SHAPE_CTR, .aligned = 0};
    if (VBLOCKS < 4 && blocks >= 8 * GROUP) {
        size_t lead = (size_t)(0 - low) % GROUP;
        b->chain = v_counters64(low, high);
        small_group(g, b, lead);
        b->chain = v_counters64(low + lead, high);
        g.aligned = 1;
        blocks = aligned_groups(b, blocks - lead);
        small_group(g, b, blocks);
    } else {
        b->chain = v_counters64(low, high);
        all_groups(g, b, blocks);
    }
}

/*
 * Calls of fewer than SHORT_CTR blocks increment only the last byte of the counter, if that byte
 * does not wrap within the call. The counters then need no byte swap and no general registers.
 * Calls of 256 bytes in ZMM reach 83 % of the AES rate instead of 75 % (Zen 4).
 */
#define SHORT_CTR 128u /* blocks */

TR_INLINE TR_TARGET void ctr_last_bytes(struct bulk *b, uint8_t *counter, size_t blocks)
{
    b->chain = v_add_lane_number(v_broadcast(b_load_halves(counter)));
    tr_counter_add(counter, blocks);
    all_groups((struct group){.shape = TR_SHAPE_CTR, .bytes = 1}, b, blocks);
}

static NOT_INLINE TR_TARGET void V_NAME(ctr_any)(BULK_ARGUMENTS)
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
         * Keeps gcc from merging the two loads into one of 16 bytes. That load would cause a
         * store-forwarding stall, because the previous call stored each half separately.
         */
        __asm__("" : "+r"(low));
        uint64_t before_wrap = CTR_WRAP - low % CTR_WRAP;
        size_t n = blocks > before_wrap ? (size_t)before_wrap : blocks;
#if CTR_STATES
        if (n >= CTR_LONG_FROM) {
            V_NAME(ctr_long)(key, b.out, b.in, n, high, low);
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
        V_NAME(ctr_any)(key, out, in, blocks, iv);
        return TR_OK;
    }
    few(TR_SHAPE_CTR, key, out, in, blocks, iv);
    /* The last byte does not wrap, so only the low half of the counter changes. The next call loads
     * each half separately (b_load_halves()), so the processor can forward this store. */
    tr_store64_be(counter + 8, tr_load64_be(counter + 8) + blocks);
    return TR_OK;
}
#endif

NOT_INLINE TR_TARGET void V_NAME(ctr)(BULK_ARGUMENTS)
{
    if (!DO_SHORT_CALL(ctr))
        V_NAME(ctr_any)(key, out, in, blocks, iv);
}

#endif
