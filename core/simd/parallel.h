/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ECB, and decryption in CBC and CFB, for one vector type. CTR also uses the loop over groups
 * (ctr.h).
 *
 * The bound is AES throughput, with one operation for each round of a vector. On Zen 4 with VAES,
 * this is 10 cycles for 64 bytes of AES-128. Calls of 16 KiB reach at least 99 % of that rate on
 * ZMM and 97 % on YMM (docs/tuning/parallel.md). Eight vectors in flight hide the latency of a
 * round. The code for calls of few blocks is in few.h.
 *
 * The code XORs a mode's addend (dispatch/shape.h) into the last round key instead of into the
 * cipher's output. This XOR runs in parallel with the rounds.
 */
#ifndef TR_SIMD_PARALLEL_H
#define TR_SIMD_PARALLEL_H

#include "dispatch/shape.h"
#include "simd/rounds.h"
#include "simd/table.h"
#if V_FEW
#    include "simd/few.h"
#endif

/* The number of vectors in each group of a long call. CTR stays at IN_FLIGHT, because it needs
 * registers for constants. With 16 registers, 14 vectors leave two, for a key and an addend. Longer
 * groups pay pipeline fill and drain less often. ECB of 16 KiB on ZMM then reaches 100.0 % of the
 * AES rate instead of 97.6 % (Zen 4). */
#if IN_FLIGHT == 8 && !V_KEY_FIRST
#    define LONG_GROUP (VBLOCKS == 4 ? 16 : 14)
#else
#    define LONG_GROUP IN_FLIGHT
#endif
/* The shortest call, in blocks, with groups of LONG_GROUP vectors. In shorter calls, the blocks
 * after the last such group cost more than these groups gain. */
#define LONG_GROUP_FROM (VBLOCKS == 4 ? LONG_GROUP * VBLOCKS : 256 / VBLOCKS)
/* Whether groups of LONG_GROUP vectors run in PARTS parts, each one round behind the part before it
 * (staggered_rounds()). Each part needs a register for its round key. With 16 registers there is no
 * room, because 14 of them hold vectors. */
#define STAGGERED       (LONG_GROUP != IN_FLIGHT && V_REGISTERS == 32)
#define PARTS           4u

/* The shape of a group: a compile-time constant in each inlined copy of the functions below. */
struct group {
    struct tr_shape shape;
    unsigned vectors; /* 1 to IN_FLIGHT, or LONG_GROUP */
    unsigned part;    /* blocks of the last vector if it is partial, else 0 */
    /* In CTR, 1 if the first counter is a multiple of the group's size in blocks. */
    int aligned;
    /* In CTR, 1 if bulk.chain is big-endian and no counter's last byte wraps. Additions then
     * change only that byte. */
    int bytes;
};

/* Returns vector j's state after the XOR of the first round key, k. The parameter `first` belongs
 * to vector 0: in CFB its input, shifted by one block, and in CTR its state. In an aligned group of
 * CTR, adding j * VBLOCKS to the counters only sets bits that were 0. Vector j's state is therefore
 * `first` with j * VBLOCKS XORed into byte 15 of each block. This replaces an addition, a byte swap
 * and an XOR. */
TR_INLINE TR_TARGET V first_state(struct group g, const struct bulk *b, unsigned j, V k, V first,
                                  V counters)
{
    const uint8_t *in = b->in + (size_t)j * VBYTES;
    unsigned part = part_of(j, g.vectors, g.part);
    if (g.shape.source == FROM_INPUT_BEFORE)
        return v_xor(k, j == 0 ? first : load_vector(in - TR_BLOCK, part));
    if (g.shape.source == FROM_INPUT)
        return v_xor(k, load_vector(in, part));
    if (j == 0)
        return first;
    if (g.bytes)
        return v_xor(k, v_add_last_byte(counters, j * VBLOCKS));
    if (g.aligned)
        return v_xor(first, v_last_bytes(j * VBLOCKS));
    return v_xor(k, v_byteswap(v_add64(counters, j * VBLOCKS)));
}

/* Returns the last round key of vector j, XORed with the mode's addend. For vector 0 in CBC, the
 * addend is `first`, the input shifted by one block. */
TR_INLINE TR_TARGET V last_key(struct group g, const struct bulk *b, unsigned j, V k, V first)
{
    const uint8_t *in = b->in + (size_t)j * VBYTES;
    unsigned part = part_of(j, g.vectors, g.part);
    if (g.shape.addend == ADD_INPUT_BEFORE)
        return v_xor(k, j == 0 ? first : load_vector(in - TR_BLOCK, part));
    if (g.shape.addend == ADD_INPUT)
        return v_xor(k, load_vector(in, part));
    return k;
}

/* Computes x[from] to x[to - 1], the vectors' states before the first round. */
TR_INLINE TR_TARGET void first_states(struct group g, const struct bulk *b, V *x, unsigned from,
                                      unsigned to, V k, V first, V counters)
{
    UNROLL
    for (unsigned j = from; j < to; j++)
        x[j] = first_state(g, b, j, k, first, counters);
}

/* Does the last round of x[from] to x[to - 1]. */
TR_INLINE TR_TARGET void last_rounds(struct group g, const struct bulk *b, V *x, unsigned from,
                                     unsigned to, V k, V first)
{
    UNROLL
    for (unsigned j = from; j < to; j++)
        x[j] = last_round(x[j], last_key(g, b, j, k, first), g.shape.inverse);
}

#if STAGGERED
_Static_assert(LONG_GROUP % PARTS == 0, "all parts have the same number of vectors");
/* Does all rounds of LONG_GROUP vectors. The rounds of the first parts overlap the loads of later
 * parts, and the rounds of the last parts overlap the stores of earlier parts. A single call of
 * 1 KiB is 1.04 to 1.09 times as fast as with all vectors in the same round. Successive calls gain
 * nothing (Zen 4, docs/tuning/parallel.md). */
TR_INLINE TR_TARGET void staggered_rounds(struct group g, const struct bulk *b, V *x, V first,
                                          V counters)
{
    const unsigned n = LONG_GROUP / PARTS;
    const uint8_t(*key)[TR_BLOCK] = b->keys + 1, (*last)[TR_BLOCK] = b->keys + b->rounds;
    V k = first_key(b->keys);
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        UNROLL
        for (unsigned i = 0; i < part; i++)
            middle_round(x + i * n, n, g.shape.inverse, key + part - 1 - i);
        first_states(g, b, x, part * n, (part + 1) * n, k, first, counters);
    }
    for (key += PARTS - 1; key != last; key++) {
        /* Without this barrier, gcc carries the keys to the next iteration in registers. That takes
         * more operations than loading them again. */
        __asm__("" : "+r"(key));
        UNROLL
        for (unsigned i = 0; i < PARTS; i++)
            middle_round(x + i * n, n, g.shape.inverse, key - i);
    }
    k = v_load_all(*last);
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        last_rounds(g, b, x, part * n, (part + 1) * n, k, first);
        UNROLL
        for (unsigned i = part + 1; i < PARTS; i++)
            middle_round(x + i * n, n, g.shape.inverse, last + part - i);
    }
}
#endif

/* Processes one group. Reads all input before it writes any output, so in == out is allowed. */
TR_INLINE TR_TARGET void do_group(struct group g, struct bulk *b)
{
    const unsigned u = g.vectors;
    V x[LONG_GROUP], k = first_key(b->keys), chain = b->chain, first = chain;
    if (g.shape.source == FROM_COUNTER) {
        first = v_xor(k, g.bytes ? chain : v_byteswap(chain));
        b->chain = g.bytes ? v_add_last_byte(chain, u * VBLOCKS) : v_add64(chain, u * VBLOCKS);
    } else if (tr_shape_shifts(g.shape)) {
        first = v_shift_in(chain, load_vector(b->in, part_of(0, u, g.part)));
        b->chain = load_vector(b->in + (size_t)(u - 1) * VBYTES, g.part);
    }
#if STAGGERED
    if (u == LONG_GROUP) {
        staggered_rounds(g, b, x, first, chain);
    } else
#endif
    {
        first_states(g, b, x, 0, u, k, first, chain);
        k = middle_rounds(x, u, g.shape.inverse, b);
        last_rounds(g, b, x, 0, u, k, first);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(b->out + (size_t)j * VBYTES, x[j], part_of(j, u, g.part));
    bulk_advance(b, (size_t)u * VBYTES); /* no group follows a partial vector */
}

/* Processes as many groups of `vectors` vectors as fit. Returns the remaining blocks. */
TR_INLINE TR_TARGET size_t full_groups(struct group g, unsigned vectors, struct bulk *b,
                                       size_t blocks)
{
    g.vectors = vectors;
    for (; blocks >= (size_t)vectors * VBLOCKS; blocks -= (size_t)vectors * VBLOCKS)
        do_group(g, b);
    return blocks;
}

/* Processes less than a full group, as one smaller group, so that latencies overlap. */
TR_INLINE TR_TARGET void small_group(struct group g, struct bulk *b, size_t blocks)
{
    g.part = blocks % VBLOCKS;
    switch (VECTORS_OF(blocks)) {
#define SMALL_GROUP(n)                                                                             \
case n:                                                                                            \
    g.vectors = n;                                                                                 \
    do_group(g, b);                                                                                \
    break;
        BY_VECTORS(SMALL_GROUP)
#undef SMALL_GROUP
    }
}

/* Processes the full groups of a call of any mode except CTR, and sets the IV for the blocks after
 * them. Returns the number of these blocks. */
TR_INLINE TR_TARGET size_t whole_groups(struct tr_shape shape, BULK_ARGUMENTS)
{
    struct bulk b = bulk_start(key, shape.inverse ? key->dec : key->enc, out, in);
    if (tr_shape_shifts(shape))
        b.chain = v_load_all(iv);
    const struct group g = {.shape = shape};
    if (LONG_GROUP != IN_FLIGHT && blocks >= LONG_GROUP_FROM)
        blocks = full_groups(g, LONG_GROUP, &b, blocks);
    blocks = full_groups(g, IN_FLIGHT, &b, blocks);
    if (tr_shape_shifts(shape))
        b_store(iv, v_block_0(v_shift_in(b.chain, b.chain)));
    return blocks;
}

/* Processes less than a full group in any mode except CTR. */
TR_INLINE TR_TARGET void less_than_group(struct tr_shape shape, BULK_ARGUMENTS)
{
    struct bulk b = bulk_start(key, shape.inverse ? key->dec : key->enc, out, in);
    if (tr_shape_shifts(shape)) {
        b.chain = v_load_all(iv);
        __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
    }
    small_group((struct group){.shape = shape}, &b, blocks);
}

/* In a mode's function: jumps to V_SHORT_NAME(mode) if the call is short. Narrower registers are as
 * fast there, and their stores do not cause store-forwarding stalls in the next call. If `expected`
 * is 1, the compiler lays out the code so that a short call takes no other jump. */
#if V_SHORT_CALL
#    define DO_SHORT_CALL(mode, expected)                                                          \
        if (__builtin_expect(blocks <= V_SHORT_CALL, expected))                                    \
        return V_SHORT_NAME(mode)(key, out, in, blocks, iv)
#else
#    define DO_SHORT_CALL(mode, expected) (void)0
#endif

/* V_NAME(mode) is the function in the table of blocks, struct tr_backend. */
#ifdef V_FEW_NAME
#    define BLOCKS_OF(mode, blocks) ((blocks) <= TR_FEW ? V_FEW_NAME(mode) : V_ANY_NAME(mode))
#else
#    define BLOCKS_OF(mode, blocks) V_ANY_NAME(mode)
#endif
#define BULK_MODE(mode)                                                                            \
    TR_TARGET void V_NAME(mode)(BULK_ARGUMENTS)                                                    \
    {                                                                                              \
        (void)BLOCKS_OF(mode, blocks)(key, out, in, blocks, iv);                                   \
    }

/* V_ANY_NAME(mode) is the function for any number of blocks. Call overhead dominates in less than a
 * full group, so the function for it saves no registers. Another function does the full groups, and
 * then jumps there. In one function, 80 to 128 bytes would take 1.07 times as long (Zen 4,
 * docs/tuning/parallel.md). */
#define PARALLEL_MODE(mode, of_mode)                                                               \
    static NOT_INLINE TR_TARGET enum tr_status V_NAME(mode##_small)(BULK_ARGUMENTS)                \
    {                                                                                              \
        less_than_group(of_mode, key, out, in, blocks, iv);                                        \
        return TR_OK;                                                                              \
    }                                                                                              \
    static NOT_INLINE TR_TARGET enum tr_status V_NAME(mode##_groups)(BULK_ARGUMENTS)               \
    {                                                                                              \
        const size_t rest = whole_groups(of_mode, key, out, in, blocks, iv);                       \
        const size_t done = (blocks - rest) * TR_BLOCK;                                            \
        return rest == 0 ? TR_OK : V_NAME(mode##_small)(key, out + done, in + done, rest, iv);     \
    }                                                                                              \
    TR_TARGET enum tr_status V_ANY_NAME(mode)(BULK_ARGUMENTS)                                      \
    {                                                                                              \
        DO_SHORT_CALL(mode, 1);                                                                    \
        if (__builtin_expect(blocks < GROUP, 1))                                                   \
            return V_NAME(mode##_small)(key, out, in, blocks, iv);                                 \
        return V_NAME(mode##_groups)(key, out, in, blocks, iv);                                    \
    }                                                                                              \
    BULK_MODE(mode)
TR_SHAPES_BUT_CTR(PARALLEL_MODE)

#if V_FEW
#    define FEW_MODE(mode, of_mode)                                                                \
        TR_AT_LINE TR_TARGET enum tr_status V_FEW_NAME(mode)(BULK_ARGUMENTS)                       \
        {                                                                                          \
            few(of_mode, key, out, in, blocks, iv);                                                \
            return TR_OK;                                                                          \
        }
TR_SHAPES_BUT_CTR(FEW_MODE)
#endif

#endif
