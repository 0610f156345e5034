/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS for long bulk operations on two kinds of processors (xts_prefers_ring()). The first kind has
 * AES throughput so high that the chain of doublings in xts/long.h would be the bound. On the
 * second kind, carry-less multiplication takes no AES issue slot.
 *
 * A ring in memory holds the tweaks of the next 64 blocks. Each vector of tweaks, once used, is
 * replaced by the tweaks 64 blocks later. With the low half l and the high half h of a tweak t, and
 * x^128 = x^7 + x^2 + x + 1:
 *
 *     t x^64 = l x^64 + h x^128 = (l x^64 + h) + h (x^7 + x^2 + x)
 *
 * where l x^64 + h is the tweak with its halves exchanged. So a vector takes a shuffle, a
 * multiplication and an XOR, and no tweak waits for the one before it.
 *
 * Bound: AES throughput. Zen 5 starts two rounds of ZMM a cycle. There, AES-128 of 16 KiB takes 61
 * % of the time that it takes with xts/long.h (docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_RING_H
#define TR_SIMD_XTS_RING_H

#include "dispatch/tuning.h"
#include "simd/cleanse.h"
#include "simd/xts/group.h"

#define XTS_RING_BLOCKS 64u
/* Shortest call, in blocks. The first 64 tweaks take one more operation each. */
#define XTS_RING_FROM   (XTS_RING_BLOCKS + GROUP)

/* Whether long bulk operations use the ring on this processor. With the chain, a group on ZMM needs
 * 32 doublings, which take 85 cycles. The group's AES-128 rounds take 80 cycles on a processor that
 * starts one round of ZMM a cycle, and 40 if it starts two. Groups on YMM and XMM have fewer
 * blocks, so the chain keeps up with the rounds. If CLMUL has a separate port, as on Intel, bulk
 * operations of all widths use the ring (docs/tuning/xts.md). */
TR_INLINE int xts_prefers_ring(void)
{
    const struct tr_tuning *t = tr_tuning();
    return t->separate_clmul || (VBLOCKS == 4 && t->aes512_per_cycle == 2);
}

struct xts_ring {
    V tweak[XTS_RING_BLOCKS / VBLOCKS];
};

/* Returns t x^64 in each lane. */
TR_INLINE TR_TARGET V times_x64(V t)
{
    return v_xor(v_swap_halves(t), v_clmul_hl(t, v_low_halves(0x86)));
}

/* Processes a group with the tweaks in tweak[]. Replaces them by the tweaks 64 blocks later. */
TR_INLINE TR_TARGET void xts_ring_group(struct bulk *r, V tweak[IN_FLIGHT], int decrypt)
{
    V x[IN_FLIGHT];
    xts_enter(x, tweak, r);
    const V k = middle_rounds(x, IN_FLIGHT, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        V t = tweak[j];
        x[j] = last_round(x[j], v_xor(k, t), decrypt);
        tweak[j] = times_x64(t);
    }
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    bulk_advance(r, GROUP * TR_BLOCK);
}

/* Processes whole groups until 1 to GROUP blocks remain. Updates *run and *blocks, and returns the
 * next tweak. */
TR_INLINE TR_TARGET B xts_ring(struct bulk *run, size_t *blocks, int decrypt, B t)
{
    struct xts_ring ring;
    struct bulk r = *run;
    size_t left = *blocks;
    xts_tweaks(ring.tweak, t);
    UNROLL
    for (unsigned j = IN_FLIGHT; j < XTS_RING_BLOCKS / VBLOCKS; j++)
        ring.tweak[j] = TIMES_X_GROUP(ring.tweak[j - IN_FLIGHT]);
    V *at = ring.tweak;
    for (; left > GROUP; left -= GROUP) {
        xts_ring_group(&r, at, decrypt);
        at += IN_FLIGHT;
        if (at == ring.tweak + XTS_RING_BLOCKS / VBLOCKS)
            at = ring.tweak;
    }
    t = v_block_0(at[0]);
    *run = r;
    *blocks = left;
    cleanse_vectors(&ring, sizeof(ring));
    return t;
}

#endif
