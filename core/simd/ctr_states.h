/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CTR for long calls: most blocks skip the first two rounds.
 *
 * In a run of 256 counters that starts at a multiple of 256, only the last byte changes. Let b be
 * this byte. Round 1 moves b, with bytes 0, 5 and 10, to the first column and nowhere else. Round 2
 * moves each byte of that column to a different column. In each column, one byte then depends on b,
 * and MixColumns XORs this byte's contribution with those of the other three. So the state s after
 * two rounds is
 *
 *     s(b, higher bytes) = e(b) ^ s(0, higher bytes)
 *
 * where e depends on b, the key and bytes 0, 5 and 10 of the counter. These three bytes stay the
 * same until the counter's last 40 bits wrap. For the first 256 blocks of a call, the code stores
 * e(b) in a table. For each later run of 256 blocks, it computes s(0, ..) once. One XOR with a
 * memory operand then replaces a block's first two rounds, its counter and the byte swap. No table
 * index is secret: b is part of the counter. This method is FACE (Park and Lee, CHES 2018). For
 * GCM, gcm/long.h uses the same method.
 *
 * The bound is AES throughput. From block 257 on, a block skips 2 of the 10 AES operations of
 * AES-128, so long calls exceed the AES rate. Calls of 16 KiB with AES-128 reach 108 % of the AES
 * rate on ZMM, 106 % on YMM and 111 % on XMM (Zen 4; docs/tuning/parallel.md).
 */
#ifndef TR_SIMD_CTR_STATES_H
#define TR_SIMD_CTR_STATES_H

#include "dispatch/env.h"
#include "simd/parallel.h"

/* Whether this code is compiled. The code needs 4 KiB of stack, and AES instructions that XOR the
 * key at the end of a round. */
#if !V_KEY_FIRST && TR_ENV_STACK >= 16384
#    define CTR_STATES 1
#else
#    define CTR_STATES 0
#endif

#if CTR_STATES
/* The number of blocks whose e(b) the table stores. */
#    define CTR_PERIOD    256u
/* Shortest call, in blocks, that is faster with the table. The code in ctr.h compares the length
 * twice: the second time without the blocks before the first counter that is a multiple of
 * GROUP. */
#    define CTR_LONG_FROM (CTR_PERIOD + GROUP + (VBLOCKS == 1 ? 32u : 112u))

/* Does the remaining rounds of a group whose first two rounds are done. */
TR_INLINE TR_TARGET void ctr_later_rounds(V x[IN_FLIGHT], struct bulk *b)
{
    struct bulk later = *b;
    later.keys += 2;
    later.rounds -= 2;
    xor_keystream(b, x, IN_FLIGHT, 0, middle_rounds(x, IN_FLIGHT, 0, &later));
}

/* Processes a group from counter b->chain, a multiple of GROUP. Fills the group's table entries at
 * `e`. */
TR_INLINE TR_TARGET void ctr_first_time(struct bulk *b, uint8_t *e, V base)
{
    V x[IN_FLIGHT], first = v_xor(v_load_all(b->keys[0]), v_byteswap(b->chain));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor(first, v_last_bytes(j * VBLOCKS));
    middle_round(x, IN_FLIGHT, 0, b->keys + 1);
    middle_round(x, IN_FLIGHT, 0, b->keys + 2);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(e + (size_t)j * VBYTES, v_xor(x[j], base));
    b->chain = v_add64(b->chain, GROUP);
    ctr_later_rounds(x, b);
}

/* Processes a group from its table entries at e. If `cleanse`, cleanses the entries, because no
 * later group reads them. */
TR_INLINE TR_TARGET void ctr_next_time(struct bulk *b, uint8_t *e, V base, int cleanse)
{
    V x[IN_FLIGHT];
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor(base, v_load(e + (size_t)j * VBYTES));
    UNROLL
    for (unsigned j = 0; cleanse && j < IN_FLIGHT; j++)
        v_store(e + (size_t)j * VBYTES, v_zero());
    ctr_later_rounds(x, b);
}

/* Returns s(0, ..) for the run of 256 counters that contains (high, low). */
TR_INLINE TR_TARGET V ctr_base(const struct bulk *b, uint64_t high, uint64_t low)
{
    B x = b_byteswap(b_of(low & ~(uint64_t)(CTR_PERIOD - 1), high));
    x = b_aesenc(b_xor(x, b_load(b->keys[0])), b_load(b->keys[1]));
    return v_broadcast(b_aesenc(x, b_load(b->keys[2])));
}

/* A stage of a call. Each group fills its table entries (CTR_KEEP), ignores them because no later
 * group reads them (CTR_PLAIN), reads them (CTR_USE), or reads and cleanses them (CTR_LAST). */
enum ctr_stage { CTR_KEEP, CTR_PLAIN, CTR_USE, CTR_LAST };

/* Does one stage. The numbers `blocks` and `low` are multiples of GROUP. Returns the next counter's
 * low half. */
TR_INLINE TR_TARGET uint64_t ctr_stage(enum ctr_stage stage, struct bulk *b, uint8_t *e,
                                       uint64_t high, uint64_t low, size_t blocks)
{
    V base = ctr_base(b, high, low);
    for (; blocks != 0; low += GROUP, blocks -= GROUP) {
        uint8_t *at = e + low % CTR_PERIOD * TR_BLOCK;
        if (low % CTR_PERIOD == 0)
            base = ctr_base(b, high, low);
        if (stage == CTR_KEEP)
            ctr_first_time(b, at, base);
        else if (stage == CTR_PLAIN)
            do_group((struct group){.shape = TR_SHAPE_CTR, .vectors = IN_FLIGHT, .aligned = 1}, b);
        else
            ctr_next_time(b, at, base, stage == CTR_LAST);
    }
    return low;
}

/* Encrypts all full groups with the table. The number `blocks` is at least CTR_LONG_FROM - GROUP,
 * and `low` is a multiple of GROUP. Returns the number of blocks that remain, fewer than GROUP. */
TR_INLINE TR_TARGET size_t ctr_by_states(struct bulk *b, uint64_t high, uint64_t low, size_t blocks)
{
    uint8_t e[CTR_PERIOD * TR_BLOCK] TR_ALIGNED(64);
    const size_t again = blocks - blocks % GROUP - CTR_PERIOD;
    const size_t last = again < CTR_PERIOD ? again : CTR_PERIOD;
    b->chain = v_counters64(low, high);
    low = ctr_stage(CTR_KEEP, b, e, high, low, last);
    low = ctr_stage(CTR_PLAIN, b, e, high, low, CTR_PERIOD - last);
    low = ctr_stage(CTR_USE, b, e, high, low, again - last);
    (void)ctr_stage(CTR_LAST, b, e, high, low, last);
    __asm__ volatile("" : : "r"(e) : "memory");
    return blocks % GROUP;
}
#endif

#endif
