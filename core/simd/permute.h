/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes over AES by vector permutation. Vectors hold 2 or 4 blocks, and a call
 * processes any number of blocks. This is a template. Define these names before you include it:
 *
 *   V, x64               the vector type, of bytes and of 64-bit words
 *   TR_TARGET            the target attribute of every function over V
 *   VBLOCKS              the number of blocks in a vector
 *   GROUP_VECTORS        vectors that go through the rounds together and so hide the latency of a
 *                        round: 4 or 8
 *   v_load(p), v_store(p, x), v_load_part(p, n), v_store_part(p, x, n), v_broadcast(b),
 *   v_shift_in(before, x)
 *                        as in vector.h
 *   v_lanes(p)           the 16 aligned bytes at p in every lane
 *   v_shuffle(x, index)  the bytes of x that `index` selects, within lanes
 *   struct schedule, prepare(s, key, inverse), cleanse_schedule(s)
 *                        the round keys in the form that crypt() needs
 *   crypt(s, x, n, inverse, two)
 *                        encrypts or decrypts n vectors; if `two`, n is 1 and only the first two
 *                        blocks matter
 */
#ifndef TR_SIMD_PERMUTE_H
#define TR_SIMD_PERMUTE_H

#include "modes/shape.h"
#include "simd/unroll.h"
#include "util.h"

#define VBYTES (VBLOCKS * TR_BLOCK)

/* A bulk call in progress. */
struct bulk {
    const uint8_t *in;
    uint8_t *out;
    V before;     /* the previous input vector, whose last block is used */
    x64 counters; /* the counters of the next vector, little-endian */
};

/* Loads `part` blocks, or a whole vector if `part` is 0. */
TR_INLINE TR_TARGET V load_vector(const uint8_t *p, unsigned part)
{
    return part != 0 ? v_load_part(p, part) : v_load(p);
}

TR_INLINE TR_TARGET V input_before(const struct bulk *r, unsigned j, unsigned part, V first)
{
    return j == 0 ? first : load_vector(r->in + (size_t)j * VBYTES - TR_BLOCK, part);
}

TR_INLINE TR_TARGET V counter_blocks(const struct bulk *r, unsigned j)
{
    static const uint8_t reverse[16] TR_ALIGNED(16) = {15, 14, 13, 12, 11, 10, 9, 8,
                                                       7,  6,  5,  4,  3,  2,  1, 0};
    x64 step = {0};
    UNROLL
    for (unsigned i = 0; i < 2 * VBLOCKS; i += 2)
        step[i] = (uint64_t)j * VBLOCKS;
    return v_shuffle((V)(r->counters + step), v_lanes(reverse));
}

/*
 * Processes n vectors. The last vector has only `part` blocks, unless `part` is 0. Reads all input
 * before it writes any output, so in == out is allowed.
 */
TR_INLINE TR_TARGET void group(const struct schedule *s, struct bulk *r, unsigned n, unsigned part,
                               struct tr_shape shape)
{
#define PART(j) ((j) == n - 1 ? part : 0)
    V x[GROUP_VECTORS], first = {0};
    if (tr_shape_shifts(shape)) {
        first = v_shift_in(r->before, load_vector(r->in, PART(0)));
        r->before = load_vector(r->in + (size_t)(n - 1) * VBYTES, part);
    }
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        if (shape.source == FROM_COUNTER)
            x[j] = counter_blocks(r, j);
        else if (shape.source == FROM_INPUT_BEFORE)
            x[j] = input_before(r, j, PART(j), first);
        else
            x[j] = load_vector(r->in + (size_t)j * VBYTES, PART(j));
    }
    if (shape.source == FROM_COUNTER) {
        UNROLL
        for (unsigned i = 0; i < 2 * VBLOCKS; i += 2)
            r->counters[i] += (uint64_t)n * VBLOCKS;
    }
    if (n == 1 && part != 0 && part < 3)
        crypt(s, x, n, shape.inverse, 1);
    else
        crypt(s, x, n, shape.inverse, 0);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        if (shape.addend == ADD_INPUT)
            x[j] ^= load_vector(r->in + (size_t)j * VBYTES, PART(j));
        else if (shape.addend == ADD_INPUT_BEFORE)
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

#if GROUP_VECTORS == 8
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#else
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4)
#endif

/* Processes all blocks. If more than one group but less than two remain, splits the rest into two
 * groups of about equal size. */
TR_INLINE TR_TARGET void groups(const struct schedule *s, struct bulk *r, size_t blocks,
                                struct tr_shape shape)
{
    while (blocks != 0) {
        size_t vectors = (blocks + VBLOCKS - 1) / VBLOCKS, n = GROUP_VECTORS;
        if (vectors <= GROUP_VECTORS)
            n = vectors;
        else if (vectors < 2 * GROUP_VECTORS)
            n = (vectors + 1) / 2;
        unsigned part = blocks < n * VBLOCKS ? (unsigned)(blocks % VBLOCKS) : 0;
        switch (n) {
#define GROUP_OF(n)                                                                                \
case n:                                                                                            \
    group(s, r, n, part, shape);                                                                   \
    break;
            BY_VECTORS(GROUP_OF)
#undef GROUP_OF
        }
        blocks -= blocks < n * VBLOCKS ? blocks : n * VBLOCKS;
    }
}

/* Counter mode. The vectors increment only 64 bits, so a call is split where the counter's low half
 * wraps. */
TR_INLINE TR_TARGET void count_groups(const struct schedule *s, struct bulk *r, size_t blocks,
                                      uint8_t *counter, struct tr_shape shape)
{
    while (blocks != 0) {
        uint64_t high = tr_load64_be(counter), low = tr_load64_be(counter + 8);
        /*
         * Keeps gcc from merging the two loads into one of 16 bytes. After the previous call's
         * stores, that load would cause a store-forwarding stall.
         */
        __asm__("" : "+r"(low));
        size_t n = low != 0 && blocks > 0 - low ? (size_t)(0 - low) : blocks;
        r->counters = (x64)v_broadcast(_mm_set_epi64x((int64_t)high, (int64_t)low));
        UNROLL
        for (unsigned i = 0; i < VBLOCKS; i++)
            r->counters[2 * i] += i;
        const uint8_t *in = r->in + n * TR_BLOCK;
        uint8_t *out = r->out + n * TR_BLOCK;
        groups(s, r, n, shape);
        r->in = in;
        r->out = out;
        tr_counter_add(counter, n);
        blocks -= n;
    }
}

TR_INLINE TR_TARGET void parallel(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, uint8_t *iv, struct tr_shape shape)
{
    struct schedule s;
    struct bulk r = {.in = in, .out = out};
    prepare(&s, key, shape.inverse);
    if (shape.source == FROM_COUNTER) {
        count_groups(&s, &r, blocks, iv, shape);
    } else {
        if (tr_shape_shifts(shape)) {
            r.before = v_broadcast(_mm_loadu_si128((const __m128i *)iv));
            __builtin_memcpy(iv, in + (blocks - 1) * TR_BLOCK, TR_BLOCK);
        }
        groups(&s, &r, blocks, shape);
    }
    cleanse_schedule(&s);
}

#define PARALLEL(name, shape)                                                                      \
    TR_TARGET static void name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,      \
                               size_t blocks, void *iv)                                            \
    {                                                                                              \
        parallel(key, out, in, blocks, iv, shape);                                                 \
    }
TR_SHAPES(PARALLEL)

#define IDENTITY(name) name
#define TR_PERMUTE_OPS TR_SHAPE_ENTRIES(IDENTITY)

#endif
