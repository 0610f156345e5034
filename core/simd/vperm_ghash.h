/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GHASH (SP 800-38D section 6.4) by vector permutation, for processors without carry-less
 * multiplication.
 *
 * For a factor h, entry n of table j is byte j of the product n h, where n is a nibble. A shuffle
 * of table j, indexed by one nibble of each byte of a block, gives byte j of 16 such products. Byte
 * i of the shuffle's result belongs at byte i + j of the block's product. The high and the low
 * nibble have 16 tables each, so a block takes 32 shuffles. The code XORs the products of several
 * blocks, and then moves the bytes into place with 32 more shuffles. The tables are read in order,
 * so no address depends on a secret.
 *
 * This is a template. Its parameters are those of vperm.h, and load() and store() for 16 bytes.
 *
 * The bound is the number of operations. A group of four blocks takes 4 x 32 shuffles to multiply,
 * 32 shuffles to move bytes, and 160 XORs. Zen 4 can start two shuffles or four XORs a cycle.
 */
#ifndef TR_SIMD_VPERM_GHASH_H
#define TR_SIMD_VPERM_GHASH_H

#include "dispatch/env.h"
#include "unroll.h"
#include "util.h"

/* The tables of a factor, for the high nibble (the lower powers of x) and the low one. They fit
 * into the array for powers in struct tr_ghash_key. */
struct ghash_tables {
    uint8_t byte[2][TR_BLOCK][16];
} TR_ALIGNED(16);
_Static_assert(sizeof(struct ghash_tables) <= TR_GHASH_POWERS * TR_BLOCK,
               "the key has room for the tables");

/* Both functions are in vperm.c. tr_vperm_ghash_tables() computes the tables of h.
 * tr_vperm_ghash_multiply() multiplies x by the factor of the tables. */
void tr_vperm_ghash_tables(struct ghash_tables *tables, const uint8_t h[TR_BLOCK]);
void tr_vperm_ghash_multiply(uint8_t x[TR_BLOCK], const struct ghash_tables *tables);

/* The 16 indices from offset 16 - j move a block up by j bytes. The 16 indices from offset 32 - j
 * move it down by 16 - j bytes. */
static const uint8_t ghash_moves[48] TR_ALIGNED(16) = {
#define OUT 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
    OUT, OUT, 0,  1,  2,  3,  4,  5,   6,  7, 8,
    9,   10,  11, 12, 13, 14, 15, OUT, OUT
#undef OUT
};

/* The product of a byte n and x^128, which is 1 + x + x^2 + x^7. TIMES(n) is the part in the same
 * byte as n, and BEYOND(n) the part in the next byte. */
#define TIMES(n)  ((n) ^ (n) >> 1 ^ (n) >> 2 ^ (n) >> 7)
#define BEYOND(n) (((n) << 7 ^ (n) << 6 ^ (n) << 1) & 0xff)
#define LOW(f)                                                                                     \
    {                                                                                              \
        f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13),    \
            f(14), f(15)                                                                           \
    }
#define HIGH(f)                                                                                    \
    {                                                                                              \
        f(0x00), f(0x10), f(0x20), f(0x30), f(0x40), f(0x50), f(0x60), f(0x70), f(0x80), f(0x90),  \
            f(0xa0), f(0xb0), f(0xc0), f(0xd0), f(0xe0), f(0xf0)                                   \
    }
static const uint8_t ghash_fold[2][2][16] TR_ALIGNED(16) = {{LOW(TIMES), HIGH(TIMES)},
                                                            {LOW(BEYOND), HIGH(BEYOND)}};

TR_INLINE TR_TARGET V ghash_look_up(const uint8_t table[16], V x)
{
    return v_shuffle(v_lanes(table), x);
}

TR_INLINE TR_TARGET V ghash_move(V x, unsigned offset)
{
    return v_shuffle(x, load(ghash_moves + offset));
}

/* Multiplies block x[i] by the factor of tables[i], for n blocks, 1 to 4. Returns the XOR of the
 * products, modulo the polynomial. */
TR_INLINE TR_TARGET V ghash_multiply(const struct ghash_tables *tables, const V x[], unsigned n)
{
    V high[4], low[4], first = {0}, second = {0};
    for (unsigned i = 0; i < n; i++) {
        V block = x[i];
        KEEP(block); /* else gcc 14 stores the block to the stack */
        high[i] = high_nibbles(block);
        low[i] = low_nibbles(block);
    }
    /* Unrolled, the sums do not fit into 16 registers: gcc spills them, and a block takes up to a
     * quarter longer (gcc 14, Zen 4). */
    DO_NOT_UNROLL
    for (unsigned j = 0; j < TR_BLOCK; j++) {
        V sum = {0};
        for (unsigned i = 0; i < n; i++) {
            sum ^= ghash_look_up(tables[i].byte[0][j], high[i]);
            sum ^= ghash_look_up(tables[i].byte[1][j], low[i]);
        }
        first ^= ghash_move(sum, 16 - j);
        second ^= ghash_move(sum, 32 - j);
    }
    V h = high_nibbles(second), l = low_nibbles(second);
    V beyond = ghash_look_up(ghash_fold[1][0], l) ^ ghash_look_up(ghash_fold[1][1], h);
    first ^= ghash_look_up(ghash_fold[0][0], l) ^ ghash_look_up(ghash_fold[0][1], h);
    return first ^ ghash_move(beyond, 15);
}

#define GHASH_GROUP 4u

#if TR_ENV_STACK >= 16384
/* Hashes groups of four blocks: (y + x0) H^4 + x1 H^3 + x2 H^2 + x3 H, where + is XOR and y is the
 * hash so far. Returns the number of blocks done. */
TR_INLINE TR_TARGET size_t ghash_groups(struct tr_ghash *ghash, const uint8_t *in, size_t blocks)
{
    struct ghash_tables tables[GHASH_GROUP];
    uint8_t power[TR_BLOCK];
    __builtin_memcpy(power, ghash->key->h, TR_BLOCK);
    for (unsigned i = GHASH_GROUP; i-- > 0;) {
        tr_vperm_ghash_tables(&tables[i], power);
        if (i != 0)
            tr_vperm_ghash_multiply(power, &tables[GHASH_GROUP - 1]);
    }
    V y = load(ghash->hash), x[GHASH_GROUP];
    size_t done = 0;
    for (; blocks - done >= GHASH_GROUP; done += GHASH_GROUP) {
        for (unsigned i = 0; i < GHASH_GROUP; i++, in += TR_BLOCK)
            x[i] = load(in);
        x[0] ^= y;
        y = ghash_multiply(tables, x, GHASH_GROUP);
    }
    KEEP(y);
    store(ghash->hash, y);
    tr_cleanse(tables, sizeof(tables));
    tr_cleanse(power, sizeof(power));
    return done;
}
#endif

#endif
