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
    struct bulk r = bulk_start(key, key->enc, NULL, NULL);
    V x[IN_FLIGHT];
    x[0] = v_xor3(v_broadcast(b_load_12(m->iv)), v_tiny_counters(), first_key(r.keys));
    V around = v_in_lanes_2_3(b_byteswap(gcm_lengths(m)), aad);
    V h = v_tiny_powers(m->hash->power[TR_GHASH_POWERS - 4], len == 0 ? 0 : 1 + (len > TR_BLOCK));
    V h_down = v_xor(v_swap_halves(h), v_clmul_ll(h, poly));
    V k = middle_rounds(x, 1, 0, &r);
    *text = v_aesenclast(x[0], v_xor(k, data));
    V c = v_byteswap(decrypt    ? v_xor(data, around)
                     : len == 0 ? around
                                : v_merge_bytes(around, *text, len));
    V middle = v_xor(v_clmul_ll(c, h_down), v_clmul_hl(c, h));
    V y = v_xor3(v_clmul_lh(c, h_down), v_clmul_hh(c, h), v_swap_halves(middle));
    y = v_xor(y, v_clmul_ll(middle, poly));
    return b_xor(v_block_3(*text), b_byteswap(v_fold(y)));
}

/*
 * Processes a message of u vectors of data, and returns its tag. The register of the last vector
 * must not extend beyond a page at `out` or `in`. The AAD are at most a block, or at most SHORT_AAD
 * bytes if `long_aad`.
 *
 * The counters of so few blocks differ only in the last byte, so they need no byte swap. AAD and
 * lengths are hashed before AES in program order, because they do not depend on AES. The powers of
 * a partial last vector reach past H, but not past the hash key: blocks without data are zero,
 * whatever they are multiplied with.
 */
TR_INLINE TR_TARGET B short_vectors(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    const struct tr_gcm_message *m, V aad, int long_aad, unsigned u,
                                    int decrypt)
{
    const size_t len = (size_t)m->len, last = len - (size_t)(u - 1) * VBYTES,
                 n = (len + TR_BLOCK - 1) / TR_BLOCK + 2;
    const uint8_t *power = m->hash->power[TR_GHASH_POWERS - n],
                  *h = m->hash->power[TR_GHASH_POWERS - 1];
    const uint8_t(*at)[TR_BLOCK] = key->enc + 1;
    const V base = v_xor(v_broadcast(b_load_12(m->iv)), v_load_all(key->enc[0]));
    B mask = b_xor(v_block_0(base), v_block_0(v_last_bytes(1)));
    V x[SHORT_VECTORS], c[SHORT_VECTORS];
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(base, v_last_bytes_from(2 + j * VBLOCKS));
    struct product p;
    if (long_aad) {
        const V a = v_byteswap(aad), hs = aad_powers(m, n);
        const B lengths = gcm_lengths(m), h1 = b_load(h);
        /* The last lane is free for the lengths, or they take their own multiplications. */
        if (m->aad_len <= VBYTES - TR_BLOCK) {
            p = product_of(v_insert_block(a, VBLOCKS - 1, lengths),
                           v_insert_block(hs, VBLOCKS - 1, h1));
        } else {
            p = product_of(a, hs);
            multiply_add(&p, v_zero_extend(lengths), v_zero_extend(h1));
        }
    } else {
        p = product_of(v_in_lanes_0_1(b_byteswap(v_block_0(aad)), gcm_lengths(m)),
                       v_in_lanes_0_1(b_load(power), b_load(h)));
    }
#    define STEP(key)                                                                              \
        do {                                                                                       \
            const V k_ = v_load_all(key);                                                          \
            UNROLL                                                                                 \
            for (unsigned j_ = 0; j_ < u; j_++)                                                    \
                x[j_] = v_aesenc(x[j_], k_);                                                       \
            mask = b_aesenc(mask, v_block_0(k_));                                                  \
        } while (0)
    MIDDLE_ROUNDS(key->rounds, at, STEP);
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
    return b_xor(mask, b_byteswap(v_fold(reduce(&p))));
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
                                    const struct tr_gcm_message *m, int decrypt)
{
    const V aad = v_zero_extend(b_byteswap(gcm_aad(m)));
    switch (((size_t)m->len + VBYTES - 1) / VBYTES) {
#    define SHORT_CASE(u)                                                                          \
    case u:                                                                                        \
        return short_vectors(key, out, in, m, aad, 0, u, decrypt);
        SHORT_CASES(SHORT_CASE)
#    undef SHORT_CASE
    default:
        __builtin_unreachable();
    }
}
#endif

#endif
