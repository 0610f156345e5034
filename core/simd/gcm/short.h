/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short one-shot GCM messages, for vector types with masks. All data are in registers at once, and
 * AAD, data and lengths are hashed with a single reduction.
 *
 * On Zen 4, the bound of a single message is the latency of the AES rounds, one multiplication and
 * the reduction: 115 cycles for AES-128. Successive calls overlap within the reorder window of 320
 * instructions, so the number of instructions is what counts: 20 scalar instructions cost 3 cycles.
 * The code therefore depends on the number of vectors alone. One byte mask serves all lengths of
 * the last vector, and powers of H are loaded as whole vectors (docs/tuning/gcm.md).
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
    V x = v_xor3(v_broadcast(b_load_12(m->iv)), v_tiny_counters(), v_load_all(key->enc[0]));
    V around = v_in_lanes_2_3(b_byteswap(gcm_lengths(m)), aad);
    V h = v_tiny_powers(m->hash->power[TR_GHASH_POWERS - 4], len == 0 ? 0 : 1 + (len > TR_BLOCK));
    V h_down = v_xor(v_swap_halves(h), v_clmul_ll(h, poly));
#    define STEP(key) x = v_aesenc(x, v_load_all(key))
    SHORT_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    *text = v_aesenclast(x, v_xor(v_load_all(*at), data));
    V c = v_byteswap(decrypt    ? v_xor(data, around)
                     : len == 0 ? around
                                : v_merge_bytes(around, *text, len));
    V middle = v_xor(v_clmul_ll(c, h_down), v_clmul_hl(c, h));
    V y = v_xor3(v_clmul_lh(c, h_down), v_clmul_hh(c, h), v_swap_halves(middle));
    y = v_xor(y, v_clmul_ll(middle, poly));
    return b_xor(v_block_3(*text), b_byteswap(v_fold(y)));
}

/* b_byteswap() with the constant of v_byteswap(), which gcc would otherwise load twice. */
TR_INLINE TR_TARGET B swap_block(B x)
{
    return v_block_0(v_byteswap(v_widen(x)));
}

/* Returns the IV in all lanes, XORed with the first round key. The asm statement keeps this before
 * the hashing of AAD, so that AES begins early: 3 % of a message of 64 bytes. */
TR_INLINE TR_TARGET V short_base(const struct tr_aes_key *key, const uint8_t *iv)
{
    V base = v_xor(v_broadcast(b_load_12(iv)), v_load_all(key->enc[0]));
    __asm__ volatile("" : "+" V_REGISTER(base));
    return base;
}

/* The powers of H for the AAD block, and for the blocks of data from the next power on. */
TR_INLINE const uint8_t *short_powers(const struct tr_gcm_message *m)
{
    size_t padded = ((size_t)m->len + TR_BLOCK - 1) & ~(size_t)(TR_BLOCK - 1);
    __asm__("" : "+r"(padded)); /* computed once */
    return (const uint8_t *)m->hash->power + ((TR_GHASH_POWERS - 2) * TR_BLOCK - padded);
}

/* Returns the products of a block of AAD, a, in the bit order of the hash, and of the lengths. The
 * powers are zero in the other lanes, so that the blocks there may have any value. */
TR_INLINE TR_TARGET struct product aad_block(const struct tr_gcm_message *m, const uint8_t *power,
                                             B a)
{
    const B h = b_load(m->hash->power[TR_GHASH_POWERS - 1]);
    return product_of(v_widen_two(a, gcm_lengths(m)), v_in_lanes_0_1(b_load(power), h));
}

/* Returns the products of at most SHORT_AAD bytes of AAD, and of the lengths. The last lane is free
 * for the lengths, or they take their own multiplications. */
TR_INLINE TR_TARGET struct product aad_blocks(const struct tr_gcm_message *m, const uint8_t *power,
                                              V aad)
{
    const size_t more = ((size_t)m->aad_len - 1) & ~(size_t)(TR_BLOCK - 1);
    const V a = v_byteswap(aad), powers = v_load(power - more);
    const B lengths = gcm_lengths(m), h = b_load(m->hash->power[TR_GHASH_POWERS - 1]);
    if (m->aad_len <= VBYTES - TR_BLOCK)
        return product_of(v_insert_block(a, VBLOCKS - 1, lengths),
                          v_insert_block(powers, VBLOCKS - 1, h));
    struct product p = product_of(a, powers);
    multiply_add(&p, v_zero_extend(lengths), v_zero_extend(h));
    return p;
}

/*
 * Processes `len` bytes of data, u vectors, and returns the tag. The products of AAD and lengths
 * are in p, short_base() in `base`, and short_powers() in `power`. The register of the last vector
 * must not extend beyond a page at `out` or `in`.
 *
 * The counters of so few blocks differ only in the last byte, so they need no byte swap. AAD and
 * lengths are hashed before AES in program order, because they do not depend on AES. The powers of
 * a partial last vector reach past H, but not past the hash key: blocks without data are zero,
 * whatever they are multiplied with.
 */
TR_INLINE TR_TARGET B short_vectors(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    size_t len, V base, const uint8_t *power, struct product p,
                                    unsigned u, int decrypt)
{
    const size_t last = len - (size_t)(u - 1) * VBYTES;
    const uint8_t(*at)[TR_BLOCK] = key->enc + 1;
    B mask = b_xor(v_block_0(base), v_block_0(v_last_bytes(1)));
    V x[SHORT_VECTORS], c[SHORT_VECTORS];
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(base, v_last_bytes_from(2 + j * VBLOCKS));
#    define STEP(key)                                                                              \
        do {                                                                                       \
            const V k_ = v_load_all(key);                                                          \
            UNROLL                                                                                 \
            for (unsigned j_ = 0; j_ < u; j_++)                                                    \
                x[j_] = v_aesenc(x[j_], k_);                                                       \
            mask = b_aesenc(mask, v_block_0(k_));                                                  \
        } while (0)
    SHORT_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    const V k = v_load_all(*at);
    mask = b_aesenclast(mask, v_block_0(k));
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *from = in + (size_t)j * VBYTES;
        const V data = j == u - 1 ? v_load_masked(from, last) : v_load(from);
        x[j] = v_aesenclast(x[j], v_xor(k, data));
        c[j] = decrypt ? data : x[j];
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        uint8_t *to = out + (size_t)j * VBYTES;
        if (j == u - 1)
            v_store_masked(to, x[j], last);
        else
            v_store(to, x[j]);
        if (j == u - 1 && !decrypt)
            c[j] = v_first_bytes(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++)
        multiply_add(&p, v_byteswap(c[j]), v_load(power + TR_BLOCK + (size_t)j * VBYTES));
    return b_xor(mask, swap_block(v_fold(reduce(&p))));
}

#    if V_REGISTERS > 8
#        define SHORT_CASES(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#    else
#        define SHORT_CASES(CASE) CASE(1) CASE(2)
#    endif
/* The longest short message, in bytes. */
#    define SHORT_BYTES (SHORT_VECTORS * VBYTES)

/* Processes a message of 1 to SHORT_BYTES bytes, and returns its tag. */
TR_INLINE TR_TARGET B short_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    const struct tr_gcm_message *m, B aad, int decrypt)
{
    const V base = short_base(key, m->iv);
    const uint8_t *power = short_powers(m);
    const struct product p = aad_block(m, power, aad);
    switch (((size_t)m->len + VBYTES - 1) / VBYTES) {
#    define SHORT_CASE(u)                                                                          \
    case u:                                                                                        \
        return short_vectors(key, out, in, (size_t)m->len, base, power, p, u, decrypt);
        SHORT_CASES(SHORT_CASE)
#    undef SHORT_CASE
    default:
        __builtin_unreachable();
    }
}
#endif

#endif
