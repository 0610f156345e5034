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
/* Processes full groups from counter (high, low) on, a multiple of GROUP. The low 40 bits do not
 * wrap within the call. Returns the blocks that remain. This function is not inlined, because it
 * needs 4 KiB of stack. */
static NOT_INLINE TR_TARGET size_t V_NAME(ctr_long)(const struct tr_aes_key *key, uint8_t *out,
                                                    const uint8_t *in, size_t blocks, uint64_t high,
                                                    uint64_t low)
{
    struct bulk b = bulk_start(key, key->enc, out, in);
    return ctr_by_states(&b, high, low, blocks);
}
#endif

#if V_KEY_FIRST
/*
 * Processes full groups on Arm, where a vector is one block. The first counter is a multiple of
 * GROUP. The counter of vector j is therefore that of vector 0 with j XORed into the last byte.
 * AESE XORs its two operands. Here the first operand is the first round key with j XORed in, from
 * the array `keys`. The second operand is the counter of vector 0. So no vector needs an XOR for
 * its counter. A block of AES-128 then needs 13 operations in the vector units, not 14. They are 10
 * for AES (AESE and AESMC fused), two XORs, and the store.
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

/* Calls of fewer than SHORT_CTR blocks increment only the last byte of the counter, if that byte
 * does not wrap. The counters then need no byte swap. Calls of 256 bytes in ZMM reach 83 % of the
 * AES rate instead of 75 % (Zen 4). */
#define SHORT_CTR 128u /* blocks */
/* Whether a call starts groups at counters that are multiples of GROUP. From there on, the counters
 * of a vector need one XOR on x86 (first_state()) and none on Arm (aligned_groups()). On x86, eight
 * vectors in flight only just hide the latency of a round. AES cannot regain an issue slot that
 * another operation takes (docs/tuning/parallel.md). ZMM gains nothing, but ctr_states.h needs such
 * counters. */
#if CTR_STATES
#    define CTR_LONG(blocks) ((blocks) >= CTR_LONG_FROM)
#else
#    define CTR_LONG(blocks) 0
#endif
#define CTR_ALIGNED(blocks) ((VBLOCKS < 4 && (blocks) >= 8 * GROUP) || CTR_LONG(blocks))

/* The blocks up to a wrap of the counter's last byte, 1 to 256. */
TR_INLINE size_t before_wrap(const uint8_t *counter)
{
    return 256u - counter[TR_BLOCK - 1];
}

/* Processes full groups from counter (high, low) on. If `low` is no multiple of GROUP, its low 40
 * bits do not wrap within `blocks` blocks. Returns the blocks processed. */
TR_INLINE TR_TARGET size_t ctr_full_groups(const struct tr_aes_key *key, uint8_t *out,
                                           const uint8_t *in, size_t blocks, uint64_t high,
                                           uint64_t low)
{
    struct bulk b = bulk_start(key, key->enc, out, in);
    const uint64_t to_wrap = CTR_WRAP - low % CTR_WRAP;
    const size_t n = blocks > to_wrap ? (size_t)to_wrap : blocks;
    b.chain = v_counters64(low, high);
    if (low % GROUP == 0 && CTR_ALIGNED(n)) {
#if CTR_STATES
        if (CTR_LONG(n))
            return n - V_NAME(ctr_long)(key, out, in, n, high, low);
#endif
        return n - aligned_groups(&b, n);
    }
    /* `.aligned = 0` avoids a false warning of gcc 10. */
    return n - full_groups((struct group){.shape = TR_SHAPE_CTR, .aligned = 0}, IN_FLIGHT, &b, n);
}

/* Returns the counters of a first vector, of which the last bytes do not wrap, and advances the
 * counter by the n blocks of a call. After the rounds, that would delay the next call: 128 bytes in
 * XMM would take 1.3 times as long (Emerald Rapids). The barrier makes gcc 12 load the counter
 * again. One load to general registers, with moves from there, made 144 to 768 bytes take 1.1 times
 * as long (Zen 4). */
TR_INLINE TR_TARGET V take_counters(uint8_t *counter, size_t n)
{
    V counters = v_add_lane_number(v_broadcast(b_load_halves(counter)));
    __asm__("" : "+r"(counter));
    tr_counter_add(counter, n);
    return counters;
}

/* Processes less than a full group. The last byte of the counter does not wrap before the end. */
static NOT_INLINE TR_TARGET enum tr_status V_NAME(ctr_small)(BULK_ARGUMENTS)
{
    struct bulk b = bulk_start(key, key->enc, out, in);
    b.chain = take_counters(iv, blocks);
    small_group((struct group){.shape = TR_SHAPE_CTR, .bytes = 1}, &b, blocks);
    return TR_OK;
}

/* Processes full groups, in which the last byte of the counter does not wrap, and the blocks after
 * them. A jump to V_NAME(ctr_small) for the last blocks would take 3 ns more (Emerald Rapids). */
static NOT_INLINE TR_TARGET enum tr_status V_NAME(ctr_short)(BULK_ARGUMENTS)
{
    const struct group g = {.shape = TR_SHAPE_CTR, .bytes = 1};
    struct bulk b = bulk_start(key, key->enc, out, in);
    b.chain = take_counters(iv, blocks);
    small_group(g, &b, full_groups(g, IN_FLIGHT, &b, blocks));
    return TR_OK;
}

/* Processes long calls, and calls in which the last byte of the counter wraps: first some blocks,
 * then the others by V_ANY_NAME(ctr). */
static NOT_INLINE TR_TARGET enum tr_status V_NAME(ctr_groups)(BULK_ARGUMENTS)
{
    uint8_t *counter = iv;
    const uint64_t high = tr_load64_be(counter);
    uint64_t low = tr_load64_be(counter + 8);
    /* Keeps gcc from merging the two loads into one of 16 bytes. That load would cause a
     * store-forwarding stall, because the previous call stored each half separately. */
    __asm__("" : "+r"(low));
    size_t n = (size_t)(0 - low) % GROUP; /* up to a multiple of GROUP */
    if (n != 0 && (blocks < GROUP || CTR_ALIGNED(blocks) || blocks > CTR_WRAP - low % CTR_WRAP)) {
        (void)V_ANY_NAME(ctr)(key, out, in, n, iv);
    } else {
        n = ctr_full_groups(key, out, in, blocks, high, low);
        tr_counter_add(counter, n);
    }
    if (blocks == n)
        return TR_OK;
    return V_ANY_NAME(ctr)(key, out + n * TR_BLOCK, in + n * TR_BLOCK, blocks - n, iv);
}

TR_TARGET enum tr_status V_ANY_NAME(ctr)(BULK_ARGUMENTS)
{
    if (blocks >= SHORT_CTR || blocks > before_wrap(iv))
        return V_NAME(ctr_groups)(key, out, in, blocks, iv);
    DO_SHORT_CALL(ctr, 0);
    if (blocks < GROUP)
        return V_NAME(ctr_small)(key, out, in, blocks, iv);
    return V_NAME(ctr_short)(key, out, in, blocks, iv);
}
BULK_MODE(ctr)

#if V_FEW
/* Adds n to a counter whose last byte does not wrap: to the highest byte of its second half, in the
 * byte order of x86, which saves two byte swaps. The next call loads each half separately
 * (b_load_halves()), so the processor can forward this store. */
TR_INLINE void add_to_last_byte(uint8_t *counter, size_t n)
{
    uint64_t half;
    __builtin_memcpy(&half, counter + 8, 8);
    half += (uint64_t)n << 56;
    __builtin_memcpy(counter + 8, &half, 8);
}

TR_TARGET enum tr_status V_FEW_NAME(ctr)(BULK_ARGUMENTS)
{
    uint8_t *counter = iv;
    if (counter[TR_BLOCK - 1] >= 256 - TR_FEW)
        return V_ANY_NAME(ctr)(key, out, in, blocks, iv);
    few(TR_SHAPE_CTR, key, out, in, blocks, iv);
    add_to_last_byte(counter, blocks);
    return TR_OK;
}
#endif

#endif
