/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GHASH, SP 800-38D section 6.4, by carry-less multiplication, for one width of vector.
 *
 * Order of bits. GHASH calls the most significant bit of the first byte x^0. With the bytes of a block
 * reversed, bit 127 - i of a register is the coefficient of x^i. The carry-less product c of two such
 * registers a and b has the coefficient of x^k in bit 254 - k, that is one bit too low for the same
 * reading of 256 bits, where it belongs in bit 255 - k. So one factor, the key, is kept multiplied by
 * that one shift: HX = H x^-1 in the reflected reading, computed once (hash_key_form below).
 *
 * Reduction. In 256 bits the low half of the register holds the high powers, x^128 and up. Modulo
 * x^128 = x^7 + x^2 + x + 1, reflected 0xc2000000 00000000 (with the leading term implied by a swap of
 * halves), each 64 bits of the low half fold into the 128 bits above them by one multiplication and one
 * swap; two folds reduce.
 *
 * A group of n blocks, X0 to Xn-1, after the hash Y is (Y + X0) H^n + X1 H^(n-1) + .. + Xn-1 H: the
 * products are added up unreduced, and reduced once.
 *
 * Bound: four carry-less multiplications a vector, beside ten to fourteen AES rounds. On Intel they
 * have a port of their own; on Zen 4 each takes a turn of the AES units, so that GCM with AES-128 can
 * reach 10/14 of the rate of AES alone, with AES-256 14/18.
 */

struct product {
    V low, middle, high;
};

TR_INLINE TR_TARGET void multiply_add(struct product *p, V a, V b)
{
    p->low = v_xor(p->low, v_clmul_ll(a, b));
    p->middle = v_xor3(p->middle, v_clmul_lh(a, b), v_clmul_hl(a, b));
    p->high = v_xor(p->high, v_clmul_hh(a, b));
}

/* low + middle x^64 + high x^128 modulo the polynomial, in each place. */
TR_INLINE TR_TARGET V reduce(const struct product *p)
{
    const V poly = v_low_halves(0xc200000000000000);
    V middle = v_xor3(p->middle, v_swap_halves(p->low), v_clmul_ll(p->low, poly));
    return v_xor3(p->high, v_swap_halves(middle), v_clmul_ll(middle, poly));
}

TR_INLINE TR_TARGET struct product no_product(void)
{
    V zero = v_first(b_zero());
    return (struct product){zero, zero, zero};
}

TR_INLINE TR_TARGET V multiply(V a, V b)
{
    struct product p = no_product();
    multiply_add(&p, a, b);
    return reduce(&p);
}

/* The block at p as a polynomial: its bytes reversed. */
TR_INLINE TR_TARGET B polynomial(const uint8_t *p)
{
    return b_of(tr_load64_be(p + 8), tr_load64_be(p));
}

TR_INLINE TR_TARGET void store_polynomial(uint8_t *p, B x)
{
    /* By halves, as polynomial() loads them. */
    b_store_halves(p, b_reverse(x));
}

/* HX, in the first place: one place up, and if a one falls out, the polynomial added. */
TR_INLINE TR_TARGET V hash_key_form(B h)
{
    V x = v_first(b_reverse(h)), high_bits = v_shift_right(x, 63);
    V carry = v_shift_bytes_right(high_bits, 8);
    x = v_xor3(v_shift_left(x, 1), v_low_to_high(high_bits), carry);
    return v_xor(x, v_low_to_high(v_clmul_ll(carry, v_low_halves(0xc200000000000000))));
}

/*
 * Powers of the hash key. The first four, which every message needs, are computed with the key, in registers, and stored
 * as wide as they will be loaded; more when a message first needs them, which the object that holds the key then keeps.
 * Where messages share them (TR_SHARED_POWERS), none may write, so all come at once.
 */
#define FIRST_POWERS 4u

/* Those up to H^n times H^n are the next n. All in fours, so that no width goes beyond the last. */
static __attribute__((__noinline__)) TR_TARGET void more_powers(struct tr_ghash *g, size_t wanted)
{
    uint8_t *end = (uint8_t *)(g->power + TR_GHASH_POWERS);
    size_t ready = g->powers;
    wanted = (wanted + 3) / 4 * 4;
    while (ready < wanted) {
        V h = v_all(end - ready * TR_BLOCK);
        const uint8_t *from = end;
        uint8_t *to = end - ready * TR_BLOCK;
        size_t n = ready < wanted - ready ? ready : wanted - ready;
        for (size_t i = 0; i < n; i += VBLOCKS) {
            from -= VBYTES;
            to -= VBYTES;
            v_store(to, multiply(v_load(from), h));
        }
        ready += n;
    }
    g->powers = (unsigned)ready;
}

/* Sees that the powers up to H^n are there, or all if n is more. */
TR_INLINE TR_TARGET void need_powers(struct tr_ghash *g, size_t n)
{
#ifdef TR_SHARED_POWERS
    (void)g, (void)n;
#else
    if (n > TR_GHASH_POWERS)
        n = TR_GHASH_POWERS;
    if (__builtin_expect(g->powers < n, 0))
        more_powers(g, n);
#endif
}

TR_INLINE TR_TARGET void first_powers(struct tr_ghash *g, B h)
{
    uint8_t *end = (uint8_t *)(g->power + TR_GHASH_POWERS);
    V h1 = hash_key_form(h), h2 = multiply(h1, h1);
#if VBLOCKS == 1
    v_store(end - TR_BLOCK, h1);
    v_store(end - 2 * TR_BLOCK, h2);
    v_store(end - 3 * TR_BLOCK, multiply(h2, h1));
    v_store(end - 4 * TR_BLOCK, multiply(h2, h2));
#else
    V low = v_pair(v_block_0(h2), v_block_0(h1)), high = multiply(low, v_spread(v_block_0(h2)));
#    if VBLOCKS == 2
    v_store(end - VBYTES, low);
    v_store(end - 2 * VBYTES, high);
#    else
    v_store(end - VBYTES, v_join(high, low));
#    endif
#endif
    g->powers = FIRST_POWERS;
#ifdef TR_SHARED_POWERS
    more_powers(g, TR_GHASH_POWERS);
#endif
}

static TR_TARGET void ghash_key(struct tr_ghash *g)
{
    first_powers(g, b_load(g->h));
}

/* A block, and a vector, in the order of bytes that hashing wants: POLYVAL takes them as they are. */
TR_INLINE TR_TARGET B hash_block(const uint8_t *in, int polyval)
{
    return polyval ? b_load(in) : polynomial(in);
}

TR_INLINE TR_TARGET V hash_vector(const uint8_t *in, int polyval)
{
    return polyval ? v_load(in) : v_reverse(v_load(in));
}

/* The sum of the halves of each block, in both. */
TR_INLINE TR_TARGET V halves_sum(V x)
{
    return v_xor(x, v_swap_halves(x));
}

/* multiply_add() with three products (Karatsuba): middle takes up low and high, too, for which the power's
 * halves have been added before. */
TR_INLINE TR_TARGET void multiply_add_3(struct product *p, V a, V power, V sum)
{
    p->low = v_xor(p->low, v_clmul_ll(a, power));
    p->high = v_xor(p->high, v_clmul_hh(a, power));
    p->middle = v_xor(p->middle, v_clmul_ll(halves_sum(a), sum));
}

#define HASHED 8 /* vectors, which wait in memory, not in registers */

/*
 * Full groups. The first vector of one, with the hash so far, goes last: its wait for that is hidden behind
 * the others. On Zen 4 a carry-less multiplication takes two cycles, of whatever width, and three of them
 * a vector are worth the xors; beside AES, in gcm.h, they are not.
 */
TR_INLINE TR_TARGET B hash_groups(const struct tr_ghash *g, B y, const uint8_t *in, size_t groups,
                                  int polyval)
{
    const uint8_t *powers = g->power[TR_GHASH_POWERS - HASHED * VBLOCKS];
    V sums[HASHED];
    UNROLL
    for (unsigned j = 0; j < HASHED; j++)
        sums[j] = halves_sum(v_load(powers + (size_t)j * VBYTES));
    for (; groups != 0; groups--, in += HASHED * VBYTES) {
        struct product p = no_product();
        UNROLL
        for (unsigned j = 1; j < HASHED; j++)
            multiply_add_3(&p, hash_vector(in + (size_t)j * VBYTES, polyval),
                           v_load(powers + (size_t)j * VBYTES), sums[j]);
        multiply_add_3(&p, v_xor(v_first(y), hash_vector(in, polyval)), v_load(powers), sums[0]);
        p.middle = v_xor(p.middle, v_xor(p.low, p.high));
        y = v_sum(reduce(&p));
    }
    return y;
}

/* Fewer blocks than a full group. */
TR_INLINE TR_TARGET B hash_rest(const struct tr_ghash *g, B y, const uint8_t *in, unsigned n,
                                int polyval)
{
    const V nothing = v_first(b_zero());
    unsigned left = n;
    /* A part of a vector goes first, in its last places: zeros before it hash to nothing. */
    struct product p = no_product();
    V first = v_first(y);
    for (unsigned part = n % VBLOCKS; part != 0; part--, left--, in += TR_BLOCK, first = nothing) {
        V x = v_xor(first, v_first(hash_block(in, polyval)));
        multiply_add(&p, x, v_first(b_load(g->power[TR_GHASH_POWERS - left])));
    }
    for (; left != 0; left -= VBLOCKS, in += VBYTES, first = nothing)
        multiply_add(&p, v_xor(first, hash_vector(in, polyval)),
                     v_load(g->power[TR_GHASH_POWERS - left]));
    return v_sum(reduce(&p));
}

TR_INLINE TR_TARGET B hash_all(const struct tr_ghash *g, B y, const uint8_t *in, size_t blocks,
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
    need_powers(g, blocks);
    store_polynomial(g->hash, hash_all(g, polynomial(g->hash), in, blocks, polyval));
}

static TR_TARGET void ghash(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                            size_t blocks, void *state)
{
    /* The powers of all widths lie in memory alike. */
    const struct tr_backend *n = narrower(blocks);
    if (n != NULL)
        n->bulk[TR_OP_GHASH](key, out, in, blocks, state);
    else
        hash_blocks(state, in, blocks, 0);
}
