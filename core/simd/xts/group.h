/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tweaks of XTS-AES (IEEE 1619, SP 800-38E), and the rounds of a group of blocks, for xts/xts.h,
 * xts/long.h and xts/ring.h.
 *
 * Each tweak is the previous one times x in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1. The first
 * byte has the lowest powers of x. The tweaks of a first group are computed from its first
 * one, so that each waits for only one multiplication. Between them, each tweak is the one of
 * the group before times x^GROUP.
 */
#ifndef TR_SIMD_XTS_GROUP_H
#define TR_SIMD_XTS_GROUP_H

#include "simd/rounds.h"

/* Returns t times x^(n + lane) in each lane, for n + lane below 64. All lanes of `t` are the same,
 * and `swapped` is `t` with its halves exchanged. The code shifts each half of `t`. Each half of
 * `out` holds the bits shifted out of the other half of `t`. The code XORs `out`'s high half into
 * the result's high half, and `out`'s low half times 0x87 into the result. The factor is 1 ^ 0x86:
 * the XOR of `out` gives 1, and v_clmul_ll() gives 0x86. */
TR_INLINE TR_TARGET V times_x(V t, V swapped, unsigned n)
{
    V out = v_shifted_out_by_lane(swapped, n);
    return v_xor3(v_shift_left_by_lane(t, n), out, v_clmul_ll(out, v_low_halves(0x86)));
}

/* Returns t times x^n in each lane, for a constant n from 1 to 56. */
#define TIMES_X(t, swapped, n)                                                                     \
    v_xor3(v_shift_left64((t), (n)), v_shift_right64((swapped), 64 - (n)),                         \
           v_clmul_ll(v_shift_right64((swapped), 64 - (n)), v_low_halves(0x86)))

/* XORs a group's input with its tweaks and the first round key. */
TR_INLINE TR_TARGET void xts_enter(V x[IN_FLIGHT], const V tweak[IN_FLIGHT], const struct bulk *r)
{
    V keys = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor3(keys, tweak[j], v_load(r->in + (size_t)j * VBYTES));
}

/* Returns t times x^(8 n) in each lane, for a constant n from 1 to 8. On Intel's 512-bit registers,
 * shifts of bytes leave the port of AES to the rounds; other shifts take its issue slots. */
#define TIMES_X8(t, n)                                                                             \
    v_xor(v_shift_bytes_left((t), (n)),                                                            \
          v_clmul_ll(v_shift_bytes_right((t), 16 - (n)), v_low_halves(0x87)))

/* Returns t times x^GROUP in each lane. 32-bit code has groups of four blocks in XMM. */
#if GROUP % 8 == 0
#    define TIMES_X_GROUP(t) TIMES_X8(t, GROUP / 8)
#else
#    define TIMES_X_GROUP(t) TIMES_X(t, v_swap_halves(t), GROUP)
#endif

/* Sets tweak[] to the tweaks of a group. `first` is the tweak of its first block. */
TR_INLINE TR_TARGET void xts_tweaks(V tweak[IN_FLIGHT], B first)
{
    V t = v_broadcast(first), swapped = v_swap_halves(t);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        tweak[j] = times_x(t, swapped, j * VBLOCKS);
}

/* Does the last round of u vectors, and stores them. The last vector has only `part` blocks, unless
 * `part` is 0. */
TR_INLINE TR_TARGET void xts_leave(V *x, const V *tweak, V k, unsigned u, unsigned part,
                                   int decrypt, uint8_t *out)
{
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = last_round(x[j], v_xor(k, tweak[j]), decrypt);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(out + (size_t)j * VBYTES, x[j], part_of(j, u, part));
}

/* XTS_AHEAD vectors of the last group go through all rounds before its remaining vectors begin. The
 * scheduler issues the oldest ready operation first. Eight ZMM vectors together would therefore
 * leave no issue slot to the next data unit's tweak until they end (docs/tuning/xts.md). XMM and
 * YMM gain nothing, because there eight vectors only just hide the latency. */
#define XTS_AHEAD (VBLOCKS == 4 ? 6u : IN_FLIGHT)

/* Does all rounds of u vectors after the XOR of the first round key. The first `ahead` vectors go
 * through all rounds before the others begin. For `part`, see xts_leave(). */
TR_INLINE TR_TARGET void xts_rounds(struct bulk *r, V *x, const V *tweak, unsigned u, unsigned part,
                                    unsigned ahead, int decrypt)
{
    V after[IN_FLIGHT];
    unsigned n = ahead < u ? ahead : u;
    UNROLL
    for (unsigned j = n; j < u; j++)
        after[j - n] = x[j];
    V k = middle_rounds(x, n, decrypt, r);
    xts_leave(x, tweak, k, n, n < u ? 0 : part, decrypt, r->out);
    if (n < u) {
        k = middle_rounds(after, u - n, decrypt, r);
        xts_leave(after, tweak + n, k, u - n, part, decrypt, r->out + (size_t)n * VBYTES);
    }
    bulk_advance(r, (size_t)u * VBYTES);
}

#endif
