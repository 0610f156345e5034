/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes over rounds by permutation, for vectors of several blocks: any number of blocks without a group that
 * would have to be full. Included after these are defined:
 *
 *   V, VBLOCKS           the vector, of bytes, and how many blocks it is; x64, the same of 64-bit words
 *   MOST                 vectors that hide the latency of a round: so many go on at once, 4 or 8
 *   v_load(p), v_store(p, x), v_load_part(p, n), v_store_part(p, x, n)   whole vectors, or the first n blocks of one
 *   v_spread(b), v_lanes(p), v_shuffle(x, index)   a block in every lane; 16 aligned bytes; bytes within lanes
 *   v_shift_in(before, x)      the last block of before, then those of x but its last
 *   struct schedule, prepare(s, key, inverse), forget(s)   the round keys in the cipher's form
 *   crypt(s, x, n, inverse, two)   n vectors; two if it is one, and only two blocks of that count
 */
#ifndef TR_X86_PERMUTE_H
#define TR_X86_PERMUTE_H

#include "unroll.h"

/* What goes through the cipher for block i, and what is added to the result. */
enum source { THE_INPUT, THE_INPUT_BEFORE, THE_COUNTER };
enum addend { NOTHING, INPUT, INPUT_BEFORE };

/* A mode, constant where it is inlined. */
struct how {
    int inverse;
    enum source source;
    enum addend addend;
};

struct run {
    const uint8_t *in;
    uint8_t *out;
    V before;     /* the vector before in */
    x64 counters; /* little-endian */
};

/* part is 0 for a whole vector, else how many blocks. */
TR_INLINE TR_TARGET V load_vector(const uint8_t *p, unsigned part)
{
    return part != 0 ? v_load_part(p, part) : v_load(p);
}

TR_INLINE TR_TARGET V input_before(const struct run *r, unsigned j, unsigned part, V first)
{
    return j == 0 ? first : load_vector(r->in + (size_t)j * VBYTES - TR_BLOCK, part);
}

TR_INLINE TR_TARGET V counter_blocks(const struct run *r, unsigned j)
{
    static const uint8_t reverse[16] TR_ALIGNED(16) = {15, 14, 13, 12, 11, 10, 9, 8,
                                                       7,  6,  5,  4,  3,  2,  1, 0};
    x64 step = {0};
    UNROLL
    for (unsigned i = 0; i < 2 * VBLOCKS; i += 2)
        step[i] = (uint64_t)j * VBLOCKS;
    return v_shuffle((V)(r->counters + step), v_lanes(reverse));
}

/* n vectors, the last of which is a part. All is read before anything is written, so in == out is fine. */
TR_INLINE TR_TARGET void group(const struct schedule *s, struct run *r, unsigned n, unsigned part,
                               struct how how)
{
#define PART(j) ((j) == n - 1 ? part : 0)
    V x[MOST], first = {0};
    if (how.source == THE_INPUT_BEFORE || how.addend == INPUT_BEFORE) {
        first = v_shift_in(r->before, load_vector(r->in, PART(0)));
        r->before = load_vector(r->in + (size_t)(n - 1) * VBYTES, part);
    }
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        if (how.source == THE_COUNTER)
            x[j] = counter_blocks(r, j);
        else if (how.source == THE_INPUT_BEFORE)
            x[j] = input_before(r, j, PART(j), first);
        else
            x[j] = load_vector(r->in + (size_t)j * VBYTES, PART(j));
    }
    if (how.source == THE_COUNTER) {
        UNROLL
        for (unsigned i = 0; i < 2 * VBLOCKS; i += 2)
            r->counters[i] += (uint64_t)n * VBLOCKS;
    }
    if (n == 1 && part != 0 && part < 3)
        crypt(s, x, n, how.inverse, 1);
    else
        crypt(s, x, n, how.inverse, 0);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        if (how.addend == INPUT)
            x[j] ^= load_vector(r->in + (size_t)j * VBYTES, PART(j));
        else if (how.addend == INPUT_BEFORE)
            x[j] ^= input_before(r, j, PART(j), first);
    }
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        if (PART(j) != 0)
            v_store_part(r->out + (size_t)j * VBYTES, x[j], part);
        else
            v_store(r->out + (size_t)j * VBYTES, x[j]);
    }
    r->in += (size_t)n * VBYTES;
    r->out += (size_t)n * VBYTES;
#undef PART
}

#if MOST == 8
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#else
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4)
#endif

/* What is more than a full group, but less than two, becomes two of about the same size. */
TR_INLINE TR_TARGET void groups(const struct schedule *s, struct run *r, size_t blocks,
                                struct how how)
{
    while (blocks != 0) {
        size_t vectors = (blocks + VBLOCKS - 1) / VBLOCKS, n = MOST;
        if (vectors <= MOST)
            n = vectors;
        else if (vectors < 2 * MOST)
            n = (vectors + 1) / 2;
        unsigned part = blocks < n * VBLOCKS ? (unsigned)(blocks % VBLOCKS) : 0;
        switch (n) {
#define GROUP_OF(n)                                                                                \
case n:                                                                                            \
    group(s, r, n, part, how);                                                                     \
    break;
            BY_VECTORS(GROUP_OF)
#undef GROUP_OF
        }
        blocks -= blocks < n * VBLOCKS ? blocks : n * VBLOCKS;
    }
}

/* The vectors count in 64 bits; where the low half of the counter wraps, the run is cut in two. */
TR_INLINE TR_TARGET void counter_run(const struct schedule *s, struct run *r, size_t blocks,
                                     uint8_t *counter, struct how how)
{
    while (blocks != 0) {
        uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
        /* Two loads: gcc would make one of 16 bytes, which waits for the two stores of the call before. */
        __asm__("" : "+r"(low));
        size_t n = low != 0 && blocks > 0 - low ? (size_t)(0 - low) : blocks;
        r->counters = (x64)v_spread(_mm_set_epi64x((int64_t)high, (int64_t)low));
        UNROLL
        for (unsigned i = 0; i < VBLOCKS; i++)
            r->counters[2 * i] += i;
        const uint8_t *in = r->in + n * TR_BLOCK;
        uint8_t *out = r->out + n * TR_BLOCK;
        groups(s, r, n, how);
        r->in = in;
        r->out = out;
        tr_counter_add(counter, n);
        blocks -= n;
    }
}

TR_INLINE TR_TARGET void parallel(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv, struct how how)
{
    struct schedule s;
    struct run r = {.in = in, .out = out};
    prepare(&s, key, how.inverse);
    if (how.source == THE_COUNTER) {
        counter_run(&s, &r, blocks, iv, how);
    } else {
        if (how.source == THE_INPUT_BEFORE || how.addend == INPUT_BEFORE) {
            r.before = v_spread(_mm_loadu_si128((const __m128i *)iv));
            __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
        }
        groups(&s, &r, blocks, how);
    }
    forget(&s);
}

#define PARALLEL(name, inverse, source, addend)                                                    \
    TR_TARGET static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,      \
                               size_t blocks, void *iv)                                            \
    {                                                                                              \
        parallel(key, out, in, blocks, iv, (struct how){inverse, source, addend});                 \
    }
PARALLEL(ecb_encrypt, 0, THE_INPUT, NOTHING)
PARALLEL(ecb_decrypt, 1, THE_INPUT, NOTHING)
PARALLEL(cbc_decrypt, 1, THE_INPUT, INPUT_BEFORE)
PARALLEL(cfb_decrypt, 0, THE_INPUT_BEFORE, INPUT)
PARALLEL(ctr, 0, THE_COUNTER, INPUT)

#define TR_PERMUTE_OPS                                                                             \
    [TR_OP_ECB_ENCRYPT] = ecb_encrypt, [TR_OP_ECB_DECRYPT] = ecb_decrypt,                          \
    [TR_OP_CBC_DECRYPT] = cbc_decrypt, [TR_OP_CFB_DECRYPT] = cfb_decrypt, [TR_OP_CTR] = ctr

#endif
