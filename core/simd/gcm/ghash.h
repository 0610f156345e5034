/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GHASH (SP 800-38D section 6.4) by carry-less multiplication, for one vector type.
 *
 * The bit order of GHASH is reversed: the most significant bit of the first byte is the coefficient
 * of x^0. With the bytes of a block reversed, bit 127 - i of a register is the coefficient of x^i.
 * The carry-less product of two such registers has the coefficient of x^k in bit 254 - k. In a
 * 256-bit register, bit 255 - k stands for x^k, so the product is one bit too low. To correct this,
 * the code stores the hash subkey as H x^-1 (h_times_x_inverse()).
 *
 * The reduction works as follows. The low half of a 256-bit product holds the high powers, x^128
 * and up. Modulo GHASH's polynomial, x^128 is x^7 + x^2 + x + 1. In this bit order, the constant
 * 0xc200000000000000 is x^6 + x + 1. A product with this constant is again one bit too low, so it
 * has an additional factor x. The constant therefore gives the terms x^7, x^2 and x. A swap of
 * halves gives the term 1. The multiplication and the swap together fold 64 bits of the low half
 * into the 128 bits above them. Two such folds reduce the product.
 *
 * Hashing n blocks X1 to Xn after the hash Y gives (Y + X1) H^n + X2 H^(n-1) + .. + Xn H, where +
 * is XOR. The unreduced products are XORed, and the result is reduced once.
 *
 * In GCM, a vector needs four carry-less multiplications and 10 to 14 AES rounds (in gcm/long.h,
 * fewer of both). On Intel processors, the multiplications have a separate port. On Zen 4, each
 * multiplication takes an AES issue slot. The bound there is 71 % (10/14) of the AES rate with
 * AES-128, and 78 % (14/18) with AES-256.
 */
#ifndef TR_SIMD_GHASH_H
#define TR_SIMD_GHASH_H

#include "dispatch/ghash.h"
#include "simd/cleanse.h"
#include "simd/table.h"
#include "util.h"

/* An unreduced product, in three parts. */
struct product {
    V low, middle, high;
};

TR_INLINE TR_TARGET struct product product_of(V a, V b)
{
    return (struct product){v_clmul_ll(a, b), v_xor(v_clmul_lh(a, b), v_clmul_hl(a, b)),
                            v_clmul_hh(a, b)};
}

TR_INLINE TR_TARGET void multiply_add(struct product *p, V a, V b)
{
    p->low = v_xor(p->low, v_clmul_ll(a, b));
    p->middle = v_xor3(p->middle, v_clmul_lh(a, b), v_clmul_hl(a, b));
    p->high = v_xor(p->high, v_clmul_hh(a, b));
}

/* Returns high + middle x^64 + low x^128 modulo the polynomial, in each lane. */
TR_INLINE TR_TARGET V reduce(const struct product *p)
{
    const V poly = v_low_halves(0xc200000000000000);
    V middle = v_xor3(p->middle, v_swap_halves(p->low), v_clmul_ll(p->low, poly));
    return v_xor3(p->high, v_swap_halves(middle), v_clmul_ll(middle, poly));
}

TR_INLINE TR_TARGET struct product no_product(void)
{
    V zero = v_zero();
    return (struct product){zero, zero, zero};
}

TR_INLINE TR_TARGET V multiply(V a, V b)
{
    struct product p = no_product();
    multiply_add(&p, a, b);
    return reduce(&p);
}

/* Returns the block at p byte-swapped, in the bit order above. */
TR_INLINE TR_TARGET B polynomial(const uint8_t *p)
{
    return b_of(tr_load64_be(p + 8), tr_load64_be(p));
}

TR_INLINE TR_TARGET void store_polynomial(uint8_t *p, B x)
{
    /* Stores halves, so that the processor can forward them to the loads of polynomial(). */
    b_store_halves(p, b_byteswap(x));
}

/* Returns h x^-1 in lane 0, in the bit order above. Shifts left by one bit, and XORs the polynomial
 * if that shifts out a 1. */
TR_INLINE TR_TARGET V h_times_x_inverse(B h)
{
    V x = v_zero_extend(b_byteswap(h)), high_bits = v_shift_right64(x, 63);
    V carry = v_shift_bytes_right(high_bits, 8);
    x = v_xor3(v_shift_left64(x, 1), v_low_to_high(high_bits), carry);
    return v_xor(x, v_low_to_high(v_clmul_ll(carry, v_low_halves(0xc200000000000000))));
}

/* ---- Powers of H: dispatch/ghash.h says when they are computed ---- */

_Static_assert(TR_GHASH_FIRST_POWERS == 4, "first_powers() computes at least 4 powers");

/* In this file, a group is HASHED vectors, which hash_groups() hashes with one reduction. The
 * function keeps one value for each of these vectors (`sums`) in a register, and loads data and
 * powers when it needs them. */
#define HASHED 8u

/* The most powers that one reduction uses: one for each block of a group. If MASKED_GROUP is 1, two
 * chunks and the AAD (gcm/chunks.h) need 4 more. */
#if MASKED_GROUP
#    define MOST_POWERS (HASHED * VBLOCKS + 4)
#else
#    define MOST_POWERS (HASHED * VBLOCKS)
#endif

/* Returns the stage (dispatch/ghash.h) that has the powers for n blocks. */
TR_INLINE unsigned stage_for(size_t n)
{
    return tr_ghash_stage(n < MOST_POWERS ? n : MOST_POWERS);
}

TR_INLINE int have_powers(const struct tr_ghash_key *k, size_t n)
{
    unsigned stage = stage_for(n);
    return stage == 0 || tr_ghash_published(k) >= stage;
}

/* Stores H^(ready + 1) to H^wanted in `power`; `ready` and `wanted` are multiples of 4. The
 * products of H^ready and H^1 to H^ready are the next `ready` powers. Reads H^1 to H^4 from
 * `first`, because a load of their copy in `power` could cause a store-forwarding stall. */
static NOT_INLINE TR_TARGET void V_NAME(more_powers)(uint8_t (*power)[TR_BLOCK],
                                                     const uint8_t (*first)[TR_BLOCK],
                                                     unsigned ready, unsigned wanted)
{
    const size_t least = TR_GHASH_FIRST_POWERS * TR_BLOCK;
    uint8_t *end = (uint8_t *)(power + TR_GHASH_POWERS);
    const uint8_t *first_end = (const uint8_t *)(first + TR_GHASH_POWERS);
    while (ready < wanted) {
        const size_t from = (size_t)ready * TR_BLOCK;
        V h = v_load_all((from == least ? first_end : end) - from);
        unsigned n = ready < wanted - ready ? ready : wanted - ready;
        for (size_t i = VBYTES; i <= (size_t)n * TR_BLOCK; i += VBYTES)
            v_store(end - from - i, multiply(v_load((i <= least ? first_end : end) - i), h));
        ready += n;
    }
}

/* Appends powers in a key that tr_ghash_claim() has reserved, or that no other message uses. */
static NOT_INLINE TR_TARGET void V_NAME(append_powers)(const struct tr_ghash_key *k,
                                                       uintptr_t before, unsigned stage)
{
    const unsigned ready = tr_ghash_powers_at((unsigned)(before - (uintptr_t)k) / 2),
                   wanted = tr_ghash_powers_at(stage);
    /* The cast is safe: the key object itself is not const, because it was set at run time. */
    V_NAME(more_powers)((uint8_t(*)[TR_BLOCK])(uintptr_t)k->power, k->power, ready, wanted);
    const unsigned now = ready > wanted ? tr_ghash_stage(ready) : stage;
    if (k->short_len != 0)
        __atomic_store_n((uint16_t *)(uintptr_t)&k->short_len, tr_ghash_short_len(now),
                         __ATOMIC_RELEASE);
    tr_ghash_publish(k, now);
}

/* Computes the powers of a stage and then calls the operation. The powers go to the key if it keeps
 * them (tr_ghash_keeps()) and no other thread is adding powers, else to an object on the stack.
 * `hash` is the address of the field in the operation's state that points to the key. */
static NOT_INLINE TR_TARGET void V_NAME(with_powers)(tr_bulk_fn *operation,
                                                     const struct tr_aes_key *key, uint8_t *out,
                                                     const uint8_t *in, size_t blocks, void *state,
                                                     const struct tr_ghash_key **hash,
                                                     unsigned stage)
{
    const struct tr_ghash_key *k = *hash;
    uintptr_t before;
    if (tr_ghash_keeps(k) && tr_ghash_claim(k, &before)) {
        V_NAME(append_powers)(k, before, stage);
        operation(key, out, in, blocks, state);
        return;
    }
    struct tr_ghash_key own TR_ALIGNED(64);
    uint8_t *end = (uint8_t *)(own.power + TR_GHASH_POWERS);
    const uint8_t *first = (const uint8_t *)(k->power + TR_GHASH_POWERS);
    /* Copies the first powers, and computes as many more. These loads and stores are as wide as the
     * earlier stores and the later loads, so that no load stalls. */
    const size_t four = TR_GHASH_FIRST_POWERS * TR_BLOCK;
    const V h4 = v_load_all(first - four);
    UNROLL
    for (size_t i = VBYTES; i <= four; i += VBYTES) {
        const V h = v_load(first - i);
        v_store(end - i, h);
        v_store(end - four - i, multiply(h, h4));
    }
    const unsigned wanted = tr_ghash_powers_at(stage);
    if (stage > 1)
        V_NAME(more_powers)(own.power, k->power, 2 * TR_GHASH_FIRST_POWERS, wanted);
    tr_ghash_publish(&own, stage);
    *hash = &own;
    operation(key, out, in, blocks, state);
    *hash = k;
    cleanse_vectors(end - wanted * (size_t)TR_BLOCK, wanted * (size_t)TR_BLOCK);
}

/* Computes the first powers in registers and stores them in the key. These are four powers, or
 * eight if a vector holds four blocks and the key is for one message of GCM-SIV (`unshared`). Such
 * a message nearly always needs more than four. With eight powers, a new GCM key and a message of
 * 16 bytes would take 14 % longer (Zen 4). */
TR_INLINE TR_TARGET void first_powers(struct tr_ghash_key *k, B h)
{
    uint8_t *end = (uint8_t *)(k->power + TR_GHASH_POWERS);
    V h1 = h_times_x_inverse(h), h2 = multiply(h1, h1);
    unsigned stage = 0;
#if VBLOCKS == 1
    v_store(end - TR_BLOCK, h1);
    v_store(end - 2 * TR_BLOCK, h2);
    v_store(end - 3 * TR_BLOCK, multiply(h2, h1));
    v_store(end - 4 * TR_BLOCK, multiply(h2, h2));
#else
    V low = v_in_lanes_0_1(v_block_0(h2), v_block_0(h1)),
      high = multiply(low, v_broadcast(v_block_0(h2)));
#    if VBLOCKS == 2
    v_store(end - VBYTES, low);
    v_store(end - 2 * VBYTES, high);
#    else
    V four = v_join_low_halves(high, low);
    v_store(end - VBYTES, four);
    if (k->unshared) {
        v_store(end - 2 * VBYTES, multiply(four, v_broadcast(v_block_0(high))));
        stage = 1;
    }
#    endif
#endif
    k->powers_state = (uintptr_t)k + 2 * stage;
    k->powers_wanted = 0;
}

TR_TARGET void V_NAME(ghash_key)(struct tr_ghash_key *k)
{
    first_powers(k, b_load(k->h));
}

/* Returns a block in the bit order of the hash. POLYVAL needs no byte swap. */
TR_INLINE TR_TARGET B hash_block(const uint8_t *in, int polyval)
{
    return polyval ? b_load(in) : polynomial(in);
}

TR_INLINE TR_TARGET V hash_vector(const uint8_t *in, int polyval)
{
    return polyval ? v_load(in) : v_byteswap(v_load(in));
}

/* Returns the XOR of the halves of each block, in both halves. */
TR_INLINE TR_TARGET V xor_of_halves(V x)
{
    return v_xor(x, v_swap_halves(x));
}

/* As multiply_add(), with three multiplications (Karatsuba), where `sum` is xor_of_halves(power).
 * In the end, the caller must XOR p->low and p->high into p->middle. */
TR_INLINE TR_TARGET void multiply_add_3(struct product *p, V a, V power, V sum)
{
    p->low = v_xor(p->low, v_clmul_ll(a, power));
    p->high = v_xor(p->high, v_clmul_hh(a, power));
    p->middle = v_xor(p->middle, v_clmul_ll(xor_of_halves(a), sum));
}

/* Hashes full groups, and returns the new hash. The first vector of a group depends on the hash so
 * far, so the code multiplies this vector last. On Zen 4, a carry-less multiplication can start
 * only every two cycles, at any width. In GCM, AES rounds fill the cycles between; here nothing
 * does. So three multiplications a vector are faster than four, despite the additional XORs. */
TR_INLINE TR_TARGET B hash_groups(const struct tr_ghash_key *g, B y, const uint8_t *in,
                                  size_t groups, int polyval)
{
    const uint8_t *powers = g->power[TR_GHASH_POWERS - HASHED * VBLOCKS];
    V sums[HASHED];
    UNROLL
    for (unsigned j = 0; j < HASHED; j++)
        sums[j] = xor_of_halves(v_load(powers + (size_t)j * VBYTES));
    for (; groups != 0; groups--, in += HASHED * VBYTES) {
        struct product p = no_product();
        UNROLL
        for (unsigned j = 1; j < HASHED; j++)
            multiply_add_3(&p, hash_vector(in + (size_t)j * VBYTES, polyval),
                           v_load(powers + (size_t)j * VBYTES), sums[j]);
        multiply_add_3(&p, v_xor(v_zero_extend(y), hash_vector(in, polyval)), v_load(powers),
                       sums[0]);
        p.middle = v_xor(p.middle, v_xor(p.low, p.high));
        y = v_fold(reduce(&p));
    }
    return y;
}

/* Hashes n blocks, fewer than a full group, and returns the new hash. */
TR_INLINE TR_TARGET B hash_rest(const struct tr_ghash_key *g, B y, const uint8_t *in, unsigned n,
                                int polyval)
{
    const V nothing = v_zero();
    unsigned left = n;
    /* Hashes the blocks of a partial vector first, one by one. */
    struct product p = no_product();
    V first = v_zero_extend(y);
    for (unsigned part = n % VBLOCKS; part != 0; part--, left--, in += TR_BLOCK, first = nothing) {
        V x = v_xor(first, v_zero_extend(hash_block(in, polyval)));
        multiply_add(&p, x, v_zero_extend(b_load(g->power[TR_GHASH_POWERS - left])));
    }
    for (; left != 0; left -= VBLOCKS, in += VBYTES, first = nothing)
        multiply_add(&p, v_xor(first, hash_vector(in, polyval)),
                     v_load(g->power[TR_GHASH_POWERS - left]));
    return v_fold(reduce(&p));
}

TR_INLINE TR_TARGET B hash_all(const struct tr_ghash_key *g, B y, const uint8_t *in, size_t blocks,
                               int polyval)
{
    size_t rest = blocks % (HASHED * VBLOCKS), whole = blocks - rest;
    if (whole != 0)
        y = hash_groups(g, y, in, whole / (HASHED * VBLOCKS), polyval);
    if (rest != 0)
        y = hash_rest(g, y, in + whole * TR_BLOCK, (unsigned)rest, polyval);
    return y;
}

TR_INLINE TR_TARGET void hash_blocks(struct tr_ghash *g, const uint8_t *in, size_t blocks,
                                     int polyval)
{
    store_polynomial(g->hash, hash_all(g->key, polynomial(g->hash), in, blocks, polyval));
}

TR_TARGET void V_NAME(ghash)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, void *state)
{
    struct tr_ghash *g = state;
    /* A narrower backend can use the key: powers of H have the same layout at every width. */
    const struct tr_backend *n = V_NARROWER(blocks);
    if (n != NULL)
        n->bulk[TR_OP_GHASH](key, out, in, blocks, state);
    else if (have_powers(g->key, blocks))
        hash_blocks(g, in, blocks, 0);
    else
        V_NAME(with_powers)(V_NAME(ghash), key, out, in, blocks, g, &g->key, stage_for(blocks));
}

#endif
