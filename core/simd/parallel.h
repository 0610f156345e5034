/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ECB, and decryption in CBC and CFB, for one vector type; the driver of groups that CTR uses too
 * (ctr.h).
 *
 * Bound: throughput of AES, one operation a round and vector, 10 cycles for 64 bytes of AES-128
 * with VAES on Zen 4. Reached at 16 KiB there: 0.99 or more of that rate (docs/tuning/parallel.md).
 * Eight vectors in flight hide the latency of a round; calls of few blocks are bound by
 * instructions and are in few.h.
 *
 * What a mode XORs to the result goes into the last round key first, beside the chain of rounds and
 * not behind it.
 */
#ifndef TR_SIMD_PARALLEL_H
#define TR_SIMD_PARALLEL_H

#include "modes/shape.h"
#include "simd/rounds.h"
#if V_FEW
#    include "simd/few.h"
#endif

/*
 * Vectors of the groups that a long call begins with: as many as the registers hold beside a key, a
 * sum and the chain. They keep the AES ports busy while one group ends and the next begins: ECB of
 * 16 KiB on ZMM goes from 0.976 to 1.000 (Zen 4). CTR needs the registers for constants.
 */
#if IN_FLIGHT == 8 && !V_KEY_FIRST
#    define LONG_GROUP (VBLOCKS == 4 ? 16 : 14)
#else
#    define LONG_GROUP IN_FLIGHT
#endif
/* Blocks from which a call uses them: below, the ragged end costs more than they gain. */
#define LONG_GROUP_FROM (VBLOCKS == 4 ? LONG_GROUP * VBLOCKS : 256 / VBLOCKS)

/* A group of vectors; constant where it is inlined. */
struct group {
    struct tr_shape shape;
    unsigned vectors; /* 1 to IN_FLIGHT, or LONG_GROUP */
    unsigned part;    /* blocks of the last vector if it is partial, else 0 */
    int aligned;      /* CTR: the first counter is a multiple of the group's number of blocks */
    int bytes;        /* CTR: bulk.chain is big-endian, and only its last byte counts */
};

/*
 * Vector j after the first round key. first is what vector 0 takes: in CFB the input shifted by a
 * block, in CTR the counters XORed with the key. In an aligned group the number of a vector carries
 * nothing, so one XOR into byte 15 replaces an addition, a byte swap and an XOR.
 */
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

/* The last round key of vector j, XORed with what the mode adds. */
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

/* One group. All of it is read before anything of it is written, so in == out is fine. */
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
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = first_state(g, b, j, k, first, chain);
    k = middle_rounds(x, u, g.shape.inverse, b);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = last_round(x[j], last_key(g, b, j, k, first), g.shape.inverse);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(b->out + (size_t)j * VBYTES, x[j], part_of(j, u, g.part));
    /* Where the counter wraps, CTR goes on after a partial vector. */
    bulk_advance(b, (size_t)u * VBYTES - (g.part ? VBYTES - g.part * TR_BLOCK : 0));
}

/* As many groups of so many vectors as there are blocks for. Returns how many blocks remain. */
TR_INLINE TR_TARGET size_t full_groups(struct group g, unsigned vectors, struct bulk *b,
                                       size_t blocks)
{
    g.vectors = vectors;
    for (; blocks >= (size_t)vectors * VBLOCKS; blocks -= (size_t)vectors * VBLOCKS)
        do_group(g, b);
    return blocks;
}

/*
 * Fewer blocks than a full group, in one group of as many vectors as that takes, so that their
 * latencies overlap.
 */
TR_INLINE TR_TARGET void small_group(struct group g, struct bulk *b, size_t blocks)
{
    g.aligned = 0;
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

TR_INLINE TR_TARGET void all_groups(struct group g, struct bulk *b, size_t blocks)
{
    if (g.shape.source != FROM_COUNTER && LONG_GROUP != IN_FLIGHT && blocks >= LONG_GROUP_FROM)
        blocks = full_groups(g, LONG_GROUP, b, blocks);
    small_group(g, b, full_groups(g, IN_FLIGHT, b, blocks));
}

/* Any number of blocks of any mode but CTR. */
TR_INLINE TR_TARGET void any_number(struct tr_shape shape, const struct tr_aes_key *key,
                                    uint8_t *out, const uint8_t *in, size_t blocks, void *iv)
{
    struct bulk b = bulk_start(key, shape.inverse ? key->dec : key->enc, out, in);
    if (tr_shape_shifts(shape)) {
        b.chain = v_load_all(iv);
        __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
    }
    all_groups((struct group){.shape = shape}, &b, blocks);
}

/*
 * The functions of the table. A call of few blocks is recognized before any register is saved, and
 * jumps on. A short call is bound by latency, so narrower registers are as fast, and their narrow
 * stores forward to the next call's loads. The modes' own calls of few blocks skip these functions
 * and go straight to V_FEW_NAME(mode).
 */
#define BULK_ARGUMENTS                                                                             \
    const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks, void *iv

#if V_SHORT_CALL
#    define DO_SHORT_CALL(mode)                                                                    \
        (blocks <= V_SHORT_CALL && ((void)V_SHORT_NAME(mode)(key, out, in, blocks, iv), 1))
#else
#    define DO_SHORT_CALL(mode) 0
#endif

#if V_FEW
#    define FEW_MODE(mode, shape)                                                                  \
        NOT_INLINE TR_TARGET enum tr_status V_FEW_NAME(mode)(BULK_ARGUMENTS)                       \
        {                                                                                          \
            few(shape, key, out, in, blocks, iv);                                                  \
            return TR_OK;                                                                          \
        }
TR_SHAPES_BUT_CTR(FEW_MODE)
#endif

#define PARALLEL_MODE(mode, shape)                                                                 \
    static NOT_INLINE TR_TARGET void mode##_any(BULK_ARGUMENTS)                                    \
    {                                                                                              \
        any_number(shape, key, out, in, blocks, iv);                                               \
    }                                                                                              \
    V_LINKAGE NOT_INLINE TR_TARGET void V_NAME(mode)(BULK_ARGUMENTS)                               \
    {                                                                                              \
        if (!DO_SHORT_CALL(mode))                                                                  \
            mode##_any(key, out, in, blocks, iv);                                                  \
    }
TR_SHAPES_BUT_CTR(PARALLEL_MODE)

#endif
