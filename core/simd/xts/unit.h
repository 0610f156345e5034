/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole data unit of XTS in one function: the first tweak, the blocks and ciphertext stealing.
 *
 * Bound: the latencies of tweak and data, 80 cycles with AES-128. Two successive data units overlap
 * if the reorder window holds both. On Zen 4 the window holds 320 instructions. For each data unit,
 * an update through EVP takes 100 of these. To execute few instructions, this code processes two
 * or more blocks in ZMM, stores no tweak, and calls no function: 64 bytes take 109 instructions
 * (docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_UNIT_H
#define TR_SIMD_XTS_UNIT_H

#include "simd/xts/xts.h"

#if WHOLE_CALLS
_Static_assert(TR_XTS_UNIT_END / TR_BLOCK <= XTS_LONG_FROM &&
                   TR_XTS_UNIT_END / TR_BLOCK <= XTS_RING_FROM,
               "longer data units have other ways to compute tweaks");

/* Returns t times x^n, for n up to 63. */
TR_INLINE TR_TARGET B xts_times_x(B t, unsigned n)
{
    B out = b_shift_right64(b_swap_halves(t), 64 - (int)n);
    B moved = b_xor(b_shift_left64(t, (int)n), out);
    return b_xor(moved, b_clmul_ll(out, b_of(0x86, 0)));
}

/* Processes a data unit of less than two blocks. */
TR_INLINE TR_TARGET void xts_unit_one(const struct tr_aes_key *key, int decrypt, uint8_t *out,
                                      const uint8_t *in, size_t rest, B tweak)
{
    B x = b_load(in);
    if (__builtin_expect(rest == 0, 1)) {
        b_store(out, xts_block(key, decrypt, x, tweak));
        return;
    }
    B next = xts_times_x(tweak, 1), end = steal_load(in, rest);
    B full = xts_block(key, decrypt, x, decrypt ? next : tweak);
    B filled = steal_fill(full, end, rest);
    filled = xts_block(key, decrypt, filled, decrypt ? tweak : next);
    steal_store(out, full, filled, rest);
}

TR_INLINE TR_TARGET enum tr_status xts_unit(const struct tr_xts_key *x, const uint8_t *unit,
                                            uint8_t *out, const uint8_t *in, size_t len,
                                            int decrypt)
{
    const struct tr_aes_key *key = &x->data;
    const size_t rest = len % TR_BLOCK;
    size_t blocks = len / TR_BLOCK;
    const uint8_t *full_in = in + (blocks - 1) * TR_BLOCK;
    uint8_t *full_out = out + (blocks - 1) * TR_BLOCK;
    B tweak = encrypt_block(&x->tweak, b_load_halves(unit));
    if (blocks == 1) {
        xts_unit_one(key, decrypt, out, in, rest, tweak);
        return TR_OK;
    }
    struct xts s = {.bulk = bulk_start(key, decrypt ? key->dec : key->enc, out, in)};
    xts_tweak(&s, v_broadcast(tweak));
    blocks = xts_full_groups(&s, decrypt, blocks);
    if (__builtin_expect(rest == 0, 1)) {
        xts_last_group(&s, decrypt, blocks);
        return TR_OK;
    }
    /* Loads the partial block before the group's stores. If `out` equals `in`, a later load would
     * be a store-forwarding stall. */
    B end = steal_load(full_in, rest), full, filled;
    tweak = v_block_0(s.tweak);
    B last = xts_times_x(tweak, (unsigned)blocks);
    if (!decrypt) {
        xts_last_group(&s, 0, blocks);
        full = b_load(full_out);
    } else {
        /* Decryption uses the last two tweaks in reverse order. */
        full = xts_block(key, 1, b_load(full_in), last);
        last = xts_times_x(tweak, (unsigned)blocks - 1);
        if (blocks != 1)
            xts_last_group(&s, 1, blocks - 1);
    }
    filled = xts_block(key, decrypt, steal_fill(full, end, rest), last);
    steal_store(full_out, full, filled, rest);
    return TR_OK;
}

#    define XTS_UNIT_MODE(name, decrypt)                                                           \
        TR_TARGET enum tr_status V_NAME(name)(const struct tr_xts_key *x, const uint8_t *unit,     \
                                              uint8_t *out, const uint8_t *in, size_t len)         \
        {                                                                                          \
            return xts_unit(x, unit, out, in, len, decrypt);                                       \
        }
XTS_UNIT_MODE(xts_unit_encrypt, 0)
XTS_UNIT_MODE(xts_unit_decrypt, 1)
#endif

#endif
