/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS for long runs on x86-64: the tweaks come from the integer units, which have nothing else to do.
 *
 * A tweak is doubled in two registers, but only its low half is stored: 8 bytes for a block. The tweak n blocks later (n a
 * multiple of 8, below 64) is the same bytes, moved up by n / 8, with other ones at the bottom, where what falls out is folded
 * to. So a vector of tweaks in memory becomes that of n blocks later where its low halves are overwritten n / 8 bytes
 * further down; its high halves are there already.
 *
 * Bound: beside the rounds two xors for a vector, which lie where AES waits for operands and cost nothing. Fractions of the
 * rate of AES alone on Zen 4 (4 KiB, 16 KiB, 64 KiB): ZMM 0.83, 0.93 and 0.96, YMM 0.72, 0.81 and 0.84, where there are twice
 * as many instructions for as many blocks, more than the six that begin in a cycle, XMM (of half that rate) 0.83, 0.89 and
 * 0.91. With tweaks multiplied in vector registers, which takes a turn of AES for each, 16 KiB were 0.82, 0.65 and 0.66.
 * What is missing at 4 KiB is the start, most of it the latency of the first tweak (xts.h).
 *
 * In vain: whole tweaks stored (two stores for a block: 0.83 to 0.90; a store a cycle is what the first cache takes); two and
 * four chains, whose stores do not follow each other in memory (0.90 to 0.94); all steps in a few rounds instead of
 * spread over eight (0.85); folding by shifts in vector registers (0.83); shorter chains, four cycles for two blocks
 * instead of five, with the bits to fold taken off a register of their own (0.87 to 0.88).
 */

/* With 32 registers the tweaks of two groups stay in some of them, and those of a third can take their place in memory at
 * once. With 16 they are read twice, so there are three places by turns. Either way tweaks are made two groups ahead: a wide
 * load waits until narrow stores before it are in the cache. */
#define STAY   (VBLOCKS == 4)
#define PLACES (STAY ? 1u : 3u)

/* The tweaks of a place, PLACES groups later, are a multiplication by x^(8 SLIDE) further. */
#define SLIDE         (PLACES * GROUP / 8)
#define TURNS         (STAY ? 8u : 16u)
#define XTS_LONG_FROM (3 * PLACES * GROUP)

/* The places, with room below each to slide. */
struct xts_places {
    uint8_t room[PLACES][TURNS * SLIDE + GROUP * TR_BLOCK] TR_ALIGNED(64);
};

struct xts_next {
    uint64_t low, high; /* the tweak that is stored next */
};

/* Stores the low halves of the next two tweaks, and doubles twice. What the second doubling folds is known before the
 * first, which shortens the chain. */
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
                     : "r"(to), "i"(block * TR_BLOCK)
                     : "cc", "memory");
}

#if VBLOCKS == 4
/* The first round of a group. */
TR_INLINE TR_TARGET void xts_enter(V x[IN_FLIGHT], const V tweak[IN_FLIGHT], const struct run *r)
{
    V keys = v_all(r->keys);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor3(keys, tweak[j], v_load(r->in + (size_t)j * VBYTES));
}

/* A group; the tweaks of the one after the next are stored at later. */
TR_INLINE TR_TARGET void xts_long_group(struct run *r, const V tweak[IN_FLIGHT],
                                        struct xts_next *next, int decrypt, uint8_t *later)
{
    const uint8_t *key = r->keys, *last = key + (size_t)r->rounds * TR_BLOCK;
    V x[IN_FLIGHT];
    xts_enter(x, tweak, r);
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        key += TR_BLOCK;
        middle_round(x, IN_FLIGHT, decrypt, key);
        xts_steps(next, later, i * VBLOCKS);
        xts_steps(next, later, i * VBLOCKS + 2);
    }
    for (key += TR_BLOCK; key != last; key += TR_BLOCK)
        middle_round(x, IN_FLIGHT, decrypt, key);
    xts_leave(x, tweak, v_all(last), IN_FLIGHT, 0, decrypt, r->out);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* As many groups as there are. Moves on in *run, *blocks and the tweak, which is returned. */
TR_INLINE TR_TARGET B xts_long(struct run *run, size_t *blocks, int decrypt, B t)
{
    struct xts_places places;
    uint8_t *const bottom = places.room[0], *const top = bottom + TURNS * SLIDE;
    struct run r = *run;
    struct xts_next next;
    V now[IN_FLIGHT], later[IN_FLIGHT], first = v_spread(t), swapped = v_swap_halves(first);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        now[j] = times_x(first, swapped, j * VBLOCKS);
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
    uint8_t *place = top; /* of the tweaks that are in later */
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
    for (size_t i = 0; i < sizeof(places); i += VBYTES)
        v_store((uint8_t *)&places + i, v_first(b_zero()));
    __asm__ volatile("" : : "r"(&places) : "memory");
    return t;
}
#else
/* A group with the tweaks at now; those of a later one are stored at later, if that is not NULL. */
TR_INLINE TR_TARGET void xts_long_group(struct run *r, struct xts_next *next, int decrypt,
                                        const uint8_t *now, uint8_t *later)
{
    const uint8_t *key = r->keys, *last = key + (size_t)r->rounds * TR_BLOCK;
    V x[IN_FLIGHT], k = v_all(key), kn = v_all(last);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor3(k, v_load(now + (size_t)j * VBYTES), v_load(r->in + (size_t)j * VBYTES));
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        key += TR_BLOCK;
        middle_round(x, IN_FLIGHT, decrypt, key);
        if (later == NULL)
            continue;
        UNROLL
        for (unsigned j = i * VBLOCKS; j < (i + 1) * VBLOCKS; j++) {
            if (j % 2 == 0)
                xts_steps(next, later, j);
        }
    }
    for (key += TR_BLOCK; key != last; key += TR_BLOCK)
        middle_round(x, IN_FLIGHT, decrypt, key);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        V tweak = v_xor(kn, v_load(now + (size_t)j * VBYTES));
        x[j] = decrypt ? v_aesdeclast(x[j], tweak) : v_aesenclast(x[j], tweak);
    }
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* The tweaks of the first groups. Returns the one that the chain begins with: the third place's are stored where the first
 * turn will put them again. */
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

/* A turn with the tweaks at the places, moved down by slide; the last one makes no more than it needs itself. */
TR_INLINE TR_TARGET void xts_turn(struct run *r, struct xts_next *next, int decrypt,
                                  struct xts_places *places, size_t slide, int last)
{
    uint8_t *a = places->room[0] + slide;
    uint8_t *b = places->room[1] + slide, *c = places->room[2] + slide - SLIDE;
    xts_long_group(r, next, decrypt, a, c);
    xts_long_group(r, next, decrypt, b, last ? NULL : a - SLIDE);
    xts_long_group(r, next, decrypt, c, last ? NULL : b - SLIDE);
}

/* As many turns as there are. Moves on in *r, *blocks and the tweak, which is returned. */
TR_INLINE TR_TARGET B xts_long(struct run *run, size_t *blocks, int decrypt, B tweak)
{
    struct xts_places places;
    struct run r = *run;
    size_t left = *blocks;
    uint8_t first[TR_BLOCK];
    while (left >= PLACES * GROUP) {
        struct xts_next next;
        b_store(first, v_block_0(xts_first_tweaks(&places, v_spread(tweak))));
        __builtin_memcpy(&next.low, first, 8);
        __builtin_memcpy(&next.high, first + 8, 8);
        size_t slide = TURNS * SLIDE;
        for (; slide != SLIDE && left >= 2 * PLACES * GROUP; left -= PLACES * GROUP) {
            xts_turn(&r, &next, decrypt, &places, slide, 0);
            slide -= SLIDE;
        }
        xts_turn(&r, &next, decrypt, &places, slide, 1);
        left -= PLACES * GROUP;
        tweak = b_of(next.low, next.high);
    }
    *run = r;
    *blocks = left;
    for (size_t i = 0; i < sizeof(places); i += VBYTES)
        v_store((uint8_t *)&places + i, v_first(b_zero()));
    tr_wipe(first, sizeof(first));
    __asm__ volatile("" : : "r"(&places) : "memory");
    return tweak;
}
#endif
