/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short one-shot GCM messages, for vector types with masks. All data are in registers at once, and
 * AAD, data and lengths are hashed with a single reduction.
 *
 * On Zen 4, the bound of a single message is the latency of the AES rounds, one multiplication and
 * the reduction: 115 cycles for AES-128. Successive calls overlap within the reorder window of 320
 * instructions, so the number of instructions is what counts: 20 scalar instructions cost 3 cycles.
 * The code therefore depends only on the number of vectors, and on whether the last one has a spare
 * lane for J0 and the lengths. One byte mask serves all lengths of the last vector, and powers of H
 * are loaded as whole vectors (docs/tuning/gcm.md).
 */
#ifndef TR_SIMD_GCM_SHORT_H
#define TR_SIMD_GCM_SHORT_H

#include "simd/gcm/parts.h"

#if V_MASKED
#    define TINY (2u * TR_BLOCK)

/* As MIDDLE_ROUNDS(). The asm statement keeps gcc from loading the keys of additional rounds before
 * it compares their number. */
#    define SHORT_ROUNDS(rounds, at, STEP)                                                         \
        MIDDLE_ROUNDS_IF(rounds, at, STEP, __asm__("" : "+r"(at)))

/* Keeps the operations that follow behind the rounds of x in program order. Before them, they would
 * keep the next message's first round out of the reorder window: 3 to 5 % of sealing (Zen 4). */
#    define ROUNDS_FIRST(x) __asm__ volatile("" : "+" V_REGISTER(x) : : "memory")

/* As struct product, multiply_add() and reduce(), for registers of two blocks. */
struct two_products {
    W low, middle, high;
};

TR_INLINE TR_TARGET struct two_products w_no_product(void)
{
    const W zero = w_zero_extend(b_zero());
    return (struct two_products){zero, zero, zero};
}

TR_INLINE TR_TARGET void w_multiply_add(struct two_products *p, W a, W b)
{
    p->low = w_xor(p->low, w_clmul_ll(a, b));
    p->middle = w_xor3(p->middle, w_clmul_lh(a, b), w_clmul_hl(a, b));
    p->high = w_xor(p->high, w_clmul_hh(a, b));
}

TR_INLINE TR_TARGET B w_reduce(const struct two_products *p)
{
    const W poly = w_constant(0, 0xc200000000000000, 0, 0xc200000000000000);
    const W middle = w_xor3(p->middle, w_swap_halves(p->low), w_clmul_ll(p->low, poly));
    const W y = w_xor3(p->high, w_swap_halves(middle), w_clmul_ll(middle, poly));
    return b_xor(w_block_0(y), w_block_1(y));
}

/* Does all AES rounds but the last for a block of data: the counter block in lane 0, J0 in lane 1.
 * Sets *last_key. */
TR_INLINE TR_TARGET W block_rounds(const struct tr_aes_key *key, const uint8_t *iv, B *last_key,
                                   int decrypt)
{
    const uint8_t(*at)[TR_BLOCK] = key->enc + 1;
    const W counters = w_constant(1ull << 56, 0, 2ull << 56, 0);
    W x = w_xor3(w_broadcast(b_load_12_by_blends(iv)), counters, w_load_all(key->enc[0]));
#    define STEP(key) x = w_aesenc(x, w_load_all(key))
    SHORT_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    if (!decrypt)
        ROUNDS_FIRST(x);
    *last_key = b_load(*at);
    return x;
}

/* Processes 1 to 16 bytes of data after block_rounds(), and returns the tag. The products of the
 * AAD are in p. Data and lengths are hashed together. ZMM registers would take 1.1 to 1.3 times as
 * long. Unless there are 16 bytes, a block must not extend beyond a page at `out` or `in`. */
TR_INLINE TR_TARGET B block_end(W x, B last_key, const struct tr_gcm_message *m, uint8_t *out,
                                const uint8_t *in, struct two_products p, int decrypt)
{
    const size_t len = (size_t)m->len;
    const B mask = b_aesenclast(w_block_1(x), last_key);
    const B data = len == TR_BLOCK ? b_load(in) : b_load_masked(in, len);
    const B text = b_aesenclast(w_block_0(x), b_xor(last_key, data));
    B c = decrypt ? data : text;
    if (len == TR_BLOCK) {
        b_store(out, text);
    } else {
        b_store_masked(out, text, len);
        if (!decrypt)
            c = b_merge_bytes(b_zero(), text, 0, len);
    }
    w_multiply_add(&p, w_of(b_byteswap(c), gcm_lengths(m)),
                   w_load(m->hash->power[TR_GHASH_POWERS - 2]));
    return b_xor(mask, b_byteswap(w_reduce(&p)));
}

/* The AAD and lengths that tiny_message() hashes (`around`), and the powers of H. */
struct tiny_hash {
    V around, h, h_down;
};

TR_INLINE TR_TARGET struct tiny_hash tiny_hash(const struct tr_gcm_message *m, B aad, size_t len,
                                               V poly)
{
    const V h =
        v_tiny_powers(m->hash->power[TR_GHASH_POWERS - 4], len == 0 ? 0 : 1 + (len > TR_BLOCK));
    return (struct tiny_hash){v_in_lanes_2_3(b_byteswap(gcm_lengths(m)), aad), h,
                              v_xor(v_swap_halves(h), v_clmul_ll(h, poly))};
}

/*
 * Processes `len` bytes of data, at most two blocks, and at most one block of AAD, in one vector.
 * Returns the tag, and the text in *text. For AES, lanes 0 and 1 are counter blocks and lane 3 is
 * J0. For GHASH, the four lanes are two data blocks, the lengths and the AAD.
 *
 * The code applies one of the two reduction steps to the powers of H, not to the product. The
 * powers do not depend on AES. The result of this step, h_down, is `h` times x^64 modulo the
 * polynomial (gcm/ghash.h).
 */
TR_INLINE TR_TARGET B tiny_message(const struct tr_aes_key *key, const struct tr_gcm_message *m,
                                   B aad, V data, size_t len, V *text, int decrypt)
{
    const V poly = v_low_halves(0xc200000000000000);
    const uint8_t(*at)[TR_BLOCK] = key->enc + 1;
    V x =
        v_xor3(v_broadcast(b_load_12_by_blends(m->iv)), v_tiny_counters(), v_load_all(key->enc[0]));
    struct tiny_hash t;
    if (decrypt)
        t = tiny_hash(m, aad, len, poly);
#    define STEP(key) x = v_aesenc(x, v_load_all(key))
    SHORT_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    if (!decrypt) {
        ROUNDS_FIRST(x);
        t = tiny_hash(m, aad, len, poly);
    }
    *text = v_aesenclast(x, v_xor(v_load_all(*at), data));
    V c = v_byteswap(decrypt    ? v_xor(data, t.around)
                     : len == 0 ? t.around
                                : v_merge_bytes(t.around, *text, len));
    V middle = v_xor(v_clmul_ll(c, t.h_down), v_clmul_hl(c, t.h));
    V y = v_xor3(v_clmul_lh(c, t.h_down), v_clmul_hh(c, t.h), v_swap_halves(middle));
    y = v_xor(y, v_clmul_ll(middle, poly));
    return b_xor(v_block_3(*text), b_byteswap(v_fold(y)));
}

/* b_byteswap() with the constant of v_byteswap(), which gcc would otherwise load twice. */
TR_INLINE TR_TARGET B swap_block(B x)
{
    return v_block_0(v_byteswap(v_widen(x)));
}

/* The power of H for the last block of AAD. Those for the data follow. */
TR_INLINE const uint8_t *short_powers(const struct tr_gcm_message *m)
{
    size_t padded = ((size_t)m->len + TR_BLOCK - 1) & ~(size_t)(TR_BLOCK - 1);
    __asm__("" : "+r"(padded)); /* computed once */
    return (const uint8_t *)m->hash->power + ((TR_GHASH_POWERS - 2) * TR_BLOCK - padded);
}

/* H, which is the power for the block of lengths. */
TR_INLINE TR_TARGET B power_for_lengths(const struct tr_gcm_message *m)
{
    return b_load(m->hash->power[TR_GHASH_POWERS - 1]);
}

/* As product_of(), for values in lanes 0 and 1; the other lanes are not used. A multiplication of
 * 512 bits takes twice the issue slots (Zen 4): 2 to 4 % of a message. */
TR_INLINE TR_TARGET struct product product_of_two(V a, V b)
{
    return (struct product){v_clmul_two_ll(a, b), v_xor(v_clmul_two_lh(a, b), v_clmul_two_hl(a, b)),
                            v_clmul_two_hh(a, b)};
}

/* The products of the blocks before the data. There may be no AAD, one block in the bit order of
 * the hash, or up to SHORT_AAD bytes as loaded. The products include that of the lengths, unless
 * these have a lane in the last vector (`spare`). The powers reach past H if there is little data,
 * but not past the hash key. Such powers are multiplied with blocks of zeros. */
TR_INLINE TR_TARGET struct product no_aad(const struct tr_gcm_message *m, int spare)
{
    return spare
               ? no_product()
               : product_of_two(v_zero_extend(gcm_lengths(m)), v_zero_extend(power_for_lengths(m)));
}

TR_INLINE TR_TARGET struct product aad_block(const struct tr_gcm_message *m, const uint8_t *power,
                                             B aad, int spare)
{
    if (spare)
        return product_of_two(v_zero_extend(aad), v_zero_extend(b_load(power)));
    return product_of_two(v_widen_two(aad, gcm_lengths(m)),
                          v_widen_two(b_load(power), power_for_lengths(m)));
}

TR_INLINE TR_TARGET struct product aad_blocks(const struct tr_gcm_message *m, const uint8_t *power,
                                              V aad, int spare)
{
    const size_t more = ((size_t)m->aad_len - 1) & ~(size_t)(TR_BLOCK - 1);
    const V a = v_byteswap(aad), powers = v_load(power - more);
    if (!spare && m->aad_len <= VBYTES - TR_BLOCK)
        return product_of(v_insert_block(a, VBLOCKS - 1, gcm_lengths(m)),
                          v_insert_block(powers, VBLOCKS - 1, power_for_lengths(m)));
    struct product p = product_of(a, powers);
    if (!spare)
        multiply_add(&p, v_zero_extend(gcm_lengths(m)), v_zero_extend(power_for_lengths(m)));
    return p;
}

/* The AES state of a short message before the last round. */
struct short_state {
    V x[SHORT_VECTORS], key; /* the last round key */
    B mask;                  /* that of the tag, after all rounds; not with `spare` */
};

/* Does all AES rounds but the last of u vectors. If the last one has at most three blocks of data
 * (`spare`), its last lane is J0, and the lengths when it is hashed. The counters of so few blocks
 * differ only in the last byte, so they need no byte swap. */
TR_INLINE TR_TARGET void short_rounds(struct short_state *s, const struct tr_aes_key *key,
                                      const uint8_t *iv, unsigned u, int spare, int decrypt)
{
    const uint8_t(*at)[TR_BLOCK] = key->enc + 1;
    /* Blends only where they gain (b_load_12_by_blends()). */
    const B nonce = decrypt || u == 1 ? b_load_12_by_blends(iv) : b_load_12(iv);
    const V base = v_xor(v_broadcast(nonce), v_load_all(key->enc[0]));
    s->mask = b_xor(v_block_0(base), v_block_0(v_last_bytes(1)));
    UNROLL
    for (unsigned j = 0; j < u; j++)
        s->x[j] = v_xor(base, spare && j == u - 1 ? v_last_bytes_and_j0(2 + j * VBLOCKS)
                                                  : v_last_bytes_from(2 + j * VBLOCKS));
#    define STEP(key)                                                                              \
        do {                                                                                       \
            const V k_ = v_load_all(key);                                                          \
            UNROLL                                                                                 \
            for (unsigned j_ = 0; j_ < u; j_++)                                                    \
                s->x[j_] = v_aesenc(s->x[j_], k_);                                                 \
            if (!spare)                                                                            \
                s->mask = b_aesenc(s->mask, v_block_0(k_));                                        \
        } while (0)
    SHORT_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    s->key = v_load_all(*at);
    if (!spare)
        s->mask = b_aesenclast(s->mask, v_block_0(s->key));
    if (!decrypt)
        ROUNDS_FIRST(s->x[0]);
}

/* Processes the data of a message whose rounds are done, and returns the tag. The products of what
 * is hashed before are in p, short_powers() in `power`. The register of the last vector must not
 * extend beyond a page at `out` or `in`. Blocks without data are zero, whatever they are multiplied
 * with. */
TR_INLINE TR_TARGET B short_end(struct short_state *s, const struct tr_gcm_message *m, uint8_t *out,
                                const uint8_t *in, const uint8_t *power, struct product p,
                                unsigned u, int spare, int decrypt)
{
    const size_t end = (size_t)(u - 1) * VBYTES, last = (size_t)m->len - end;
    V c[SHORT_VECTORS], h = v_load(power + TR_BLOCK + end), lengths = v_zero();
    if (spare) {
        lengths = v_in_last_lane(swap_block(gcm_lengths(m)));
        h = v_insert_block(h, VBLOCKS - 1, power_for_lengths(m));
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *from = in + (size_t)j * VBYTES;
        const V data = j == u - 1 ? v_load_masked(from, last) : v_load(from);
        s->x[j] = v_aesenclast(s->x[j], v_xor(s->key, data));
        c[j] = !decrypt ? s->x[j] : spare && j == u - 1 ? v_xor(data, lengths) : data;
    }
    UNROLL
    for (unsigned j = 0; j < u - 1; j++)
        v_store(out + (size_t)j * VBYTES, s->x[j]);
    v_store_masked(out + end, s->x[u - 1], last);
    if (!decrypt)
        c[u - 1] = spare ? v_merge_bytes(lengths, c[u - 1], last) : v_first_bytes(c[u - 1], last);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        multiply_add(&p, v_byteswap(c[j]),
                     j == u - 1 ? h : v_load(power + TR_BLOCK + (size_t)j * VBYTES));
    return b_xor(spare ? v_block_3(s->x[u - 1]) : s->mask, swap_block(v_fold(reduce(&p))));
}

#    if V_REGISTERS > 8
#        define SHORT_CASES(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#    else
#        define SHORT_CASES(CASE) CASE(1) CASE(2)
#    endif
/* The longest short message, in bytes. */
#    define SHORT_BYTES (SHORT_VECTORS * VBYTES)

/* Processes a message of u vectors with at most a block of AAD, and returns its tag. Opening hashes
 * AAD and lengths before the AES rounds in program order. After them, they would keep the hash of
 * the data out of the scheduler: 19 % at 320 bytes, 2 % at 256 (Emerald Rapids). */
TR_INLINE TR_TARGET B short_vectors(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    const struct tr_gcm_message *m, const uint8_t *power, B aad,
                                    unsigned u, int decrypt)
{
    struct short_state s;
    struct product p;
    if (decrypt) {
        p = aad_block(m, power, aad, 0);
        __asm__ volatile("" /* keeps this order */
                         : "+" V_REGISTER(p.low), "+" V_REGISTER(p.middle), "+" V_REGISTER(p.high));
    }
    short_rounds(&s, key, m->iv, u, 0, decrypt);
    if (!decrypt)
        p = aad_block(m, power, aad, 0);
    return short_end(&s, m, out, in, power, p, u, 0, decrypt);
}

/* Processes a message of 1 to SHORT_BYTES bytes, and returns its tag. */
TR_INLINE TR_TARGET B short_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    const struct tr_gcm_message *m, B aad, int decrypt)
{
    const uint8_t *power = short_powers(m);
    switch (((size_t)m->len + VBYTES - 1) / VBYTES) {
#    define SHORT_CASE(u)                                                                          \
    case u:                                                                                        \
        return short_vectors(key, out, in, m, power, aad, u, decrypt);
        SHORT_CASES(SHORT_CASE)
#    undef SHORT_CASE
    default:
        __builtin_unreachable();
    }
}
#endif

#endif
