/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS for long calls on x86-64: the integer units, which are otherwise idle, compute the tweaks.
 *
 * A tweak is doubled in two general registers, and only its low half is stored: 8 bytes a block.
 * The high half is in memory already. To see why, let n be a multiple of 8 below 64. Multiplication
 * by x^n moves the bytes of a tweak up by n / 8, and the reduction changes only the low half. Now
 * load 16 bytes from n / 8 bytes below an old tweak. Their high half is already that of the tweak n
 * blocks later. Only the low half must be stored there.
 *
 * Bound: AES throughput. The two XORs of each vector overlap the latency of the rounds. 16 KiB
 * reach 93 % of the AES rate on ZMM (Zen 4; docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_LONG_H
#define TR_SIMD_XTS_LONG_H

#include "simd/cleanse.h"
#include "simd/xts/group.h"

#if defined(__x86_64__)
#    define XTS_LONG 1
#else
#    define XTS_LONG 0
#endif

#if XTS_LONG
/* A place is a buffer for the tweaks of one group. With 32 registers, the tweaks of two groups stay
 * in registers, and one place receives the tweaks of a third. With 16 registers, each group loads
 * its tweaks twice from memory, and three places alternate. A turn then processes one group from
 * each place. In both cases tweaks are computed two groups ahead, because wide loads soon after the
 * narrow stores would be store-forwarding stalls. */
#    define STAY   (V_REGISTERS == 32)
#    define PLACES (STAY ? 1u : 3u)

/* After each use, the address of a place moves down by SLIDE bytes, and the code stores new low
 * halves there. The place then has the old tweaks times x^(8 SLIDE), which are the tweaks PLACES
 * groups later. The place restarts at the top of its room after at most TURNS moves.
 * XTS_LONG_FROM is the shortest call, in blocks. */
#    define SLIDE         (PLACES * GROUP / 8)
#    define TURNS         (STAY ? 8u : 16u)
#    define XTS_LONG_FROM (3 * PLACES * GROUP)

/* The places, each with room to move down TURNS times. */
struct xts_places {
    uint8_t room[PLACES][TURNS * SLIDE + GROUP * TR_BLOCK] TR_ALIGNED(64);
};

struct xts_next {
    uint64_t low, high; /* the next tweak to store */
};

/* The address of a block of a place, as a register and a constant. Without optimization, gcc and
 * clang know no constants in inlined functions. */
#    ifdef __OPTIMIZE__
#        define XTS_ADDRESS(to, block) "r"(to), "i"((block)*TR_BLOCK)
#    else
#        define XTS_ADDRESS(to, block) "r"((to) + (block)*TR_BLOCK), "i"(0)
#    endif

/* Stores the low halves of the next two tweaks, and doubles the tweak twice. Computes both
 * reduction masks before the first doubling, to shorten the dependency chain. */
TR_INLINE void xts_steps(struct xts_next *t, uint8_t *to, const unsigned block)
{
    uint64_t first, second;
    __asm__ volatile("mov %0, %c5(%4)\n\t"
                     "mov %1, %2\n\t"
                     "lea (%1, %1), %3\n\t"
                     "sar $63, %2\n\t"
                     "sar $63, %3\n\t"
                     "and $0x87, %k2\n\t"
                     "and $0x87, %k3\n\t"
                     "add %0, %0\n\t"
                     "adc %1, %1\n\t"
                     "xor %2, %0\n\t"
                     "mov %0, %c5 + 16(%4)\n\t"
                     "add %0, %0\n\t"
                     "adc %1, %1\n\t"
                     "xor %3, %0"
                     : "+r"(t->low), "+r"(t->high), "=&r"(first), "=&r"(second)
                     : XTS_ADDRESS(to, block)
                     : "cc", "memory");
}

#    if STAY
/* Processes a group with the tweaks in tweak[]. Stores the low halves of later tweaks at `later`:
 * those of the second group after this one. */
TR_INLINE TR_TARGET void xts_long_group(struct bulk *r, const V tweak[IN_FLIGHT],
                                        struct xts_next *next, int decrypt, uint8_t *later)
{
    const uint8_t(*key)[TR_BLOCK] = r->keys;
    V x[IN_FLIGHT];
    xts_enter(x, tweak, r);
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        key++;
        middle_round(x, IN_FLIGHT, decrypt, key);
        xts_steps(next, later, i * VBLOCKS);
        xts_steps(next, later, i * VBLOCKS + 2);
    }
    const V k = middle_rounds_from(x, IN_FLIGHT, decrypt, r, key + 1);
    xts_leave(x, tweak, k, IN_FLIGHT, 0, decrypt, r->out);
    bulk_advance(r, GROUP * TR_BLOCK);
}

/* Processes all full groups. Updates *run and *blocks, and returns the next tweak. */
TR_INLINE TR_TARGET B xts_long(struct bulk *run, size_t *blocks, int decrypt, B t)
{
    struct xts_places places;
    uint8_t *const bottom = places.room[0], *const top = bottom + TURNS * SLIDE;
    struct bulk r = *run;
    struct xts_next next;
    V now[IN_FLIGHT], later[IN_FLIGHT], first = v_broadcast(t), swapped = v_swap_halves(first);
    xts_tweaks(now, t);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        later[j] = times_x(first, swapped, (IN_FLIGHT + j) * VBLOCKS);
        v_store(top + (size_t)j * VBYTES, later[j]);
    }
    next.low = (uint64_t)_mm_cvtsi128_si64(t);
    next.high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(t, t));
    tr_xts_multiply_halves(&next.low, &next.high, GROUP);
    tr_xts_multiply_halves(&next.low, &next.high, GROUP);
    size_t left = *blocks;
    uint8_t *place = top; /* the copy of `later` in memory */
    for (; left >= 2 * GROUP; left -= GROUP) {
        place -= SLIDE;
        xts_long_group(&r, now, &next, decrypt, place);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++) {
            now[j] = later[j];
            later[j] = v_load(place + (size_t)j * VBYTES);
        }
        if (place != bottom)
            continue;
        place = top;
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            v_store(top + (size_t)j * VBYTES, later[j]);
    }
    V x[IN_FLIGHT];
    xts_enter(x, now, &r);
    xts_rounds(&r, x, now, IN_FLIGHT, 0, XTS_AHEAD, decrypt);
    t = v_block_0(later[0]);
    *run = r;
    *blocks = left - GROUP;
    cleanse_vectors(&places, sizeof(places));
    return t;
}
#    else
/* Processes a group with the tweaks at `now`. Stores the low halves of a later group's tweaks at
 * `later`, unless `later` is NULL. */
TR_INLINE TR_TARGET void xts_long_group(struct bulk *r, struct xts_next *next, int decrypt,
                                        const uint8_t *now, uint8_t *later)
{
    const uint8_t(*key)[TR_BLOCK] = r->keys, (*last)[TR_BLOCK] = key + r->rounds;
    V x[IN_FLIGHT], k = v_load_all(*key), kn = v_load_all(*last);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor3(k, v_load(now + (size_t)j * VBYTES), v_load(r->in + (size_t)j * VBYTES));
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        key++;
        middle_round(x, IN_FLIGHT, decrypt, key);
        if (later == NULL)
            continue;
        UNROLL
        for (unsigned j = i * VBLOCKS; j < (i + 1) * VBLOCKS; j++) {
            if (j % 2 == 0)
                xts_steps(next, later, j);
        }
    }
    for (key++; key != last; key++)
        middle_round(x, IN_FLIGHT, decrypt, key);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = last_round(x[j], v_xor(kn, v_load(now + (size_t)j * VBYTES)), decrypt);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    bulk_advance(r, GROUP * TR_BLOCK);
}

/* Stores the tweaks of the first PLACES groups. The third place starts one SLIDE below the top (see
 * xts_turn()). Every turn stores the low halves of its third group's tweaks, so the first turn
 * stores the same values there again. Returns the third group's first tweak, the first one that
 * xts_turn() stores. */
TR_INLINE TR_TARGET V xts_first_tweaks(struct xts_places *places, V t)
{
    UNROLL
    for (unsigned i = 0; i < PLACES; i++) {
        V swapped = v_swap_halves(t);
        uint8_t *place = places->room[i] + (TURNS - (i == 2)) * SLIDE;
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            v_store(place + (size_t)j * VBYTES, times_x(t, swapped, j * VBLOCKS));
        if (i < 2)
            t = TIMES_X(t, swapped, GROUP);
    }
    return t;
}

/* Does a turn, which processes one group from each place. The tweaks of the first two groups are
 * `slide` bytes above the bottom of their rooms. The tweaks of the third group are SLIDE bytes
 * lower. The last turn computes only the tweaks that it uses itself. */
TR_INLINE TR_TARGET void xts_turn(struct bulk *r, struct xts_next *next, int decrypt,
                                  struct xts_places *places, size_t slide, int last)
{
    uint8_t *a = places->room[0] + slide;
    uint8_t *b = places->room[1] + slide, *c = places->room[2] + slide - SLIDE;
    xts_long_group(r, next, decrypt, a, c);
    xts_long_group(r, next, decrypt, b, last ? NULL : a - SLIDE);
    xts_long_group(r, next, decrypt, c, last ? NULL : b - SLIDE);
}

/* Does as many turns as the blocks allow. Updates *run and *blocks, and returns the next tweak. */
TR_INLINE TR_TARGET B xts_long(struct bulk *run, size_t *blocks, int decrypt, B tweak)
{
    struct xts_places places;
    struct bulk r = *run;
    size_t left = *blocks;
    uint8_t first[TR_BLOCK];
    while (left >= PLACES * GROUP) {
        struct xts_next next;
        b_store(first, v_block_0(xts_first_tweaks(&places, v_broadcast(tweak))));
        __builtin_memcpy(&next.low, first, 8);
        __builtin_memcpy(&next.high, first + 8, 8);
        size_t slide = TURNS * SLIDE;
        for (; slide != SLIDE && left >= 2 * PLACES * GROUP; left -= PLACES * GROUP) {
            /* Aligns the loop to a cache line. Otherwise a turn takes up to 1.2 times as long (YMM
             * on Zen 3). */
            __asm__ volatile(".p2align 6");
            xts_turn(&r, &next, decrypt, &places, slide, 0);
            slide -= SLIDE;
        }
        xts_turn(&r, &next, decrypt, &places, slide, 1);
        left -= PLACES * GROUP;
        tweak = b_of(next.low, next.high);
    }
    *run = r;
    *blocks = left;
    cleanse_vectors(&places, sizeof(places));
    tr_cleanse_inline(first, sizeof(first));
    return tweak;
}
#    endif
#endif

#endif
