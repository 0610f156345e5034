/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tweaks of XTS-AES (IEEE 1619, SP 800-38E), and the rounds of a group of blocks, for xts.h and
 * xts_long.h.
 *
 * Successive tweaks are products with x in GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, the first
 * byte lowest. All tweaks of a group are computed from its first, so that they wait for one
 * multiplication and not for each other.
 */
#ifndef TR_SIMD_XTS_GROUP_H
#define TR_SIMD_XTS_GROUP_H

#include "simd/rounds.h"

/*
 * t times x^(n + lane) in each lane, where t is the same in all lanes, swapped has its halves
 * exchanged, and n + lane is below 64. Each half is shifted. The bits shifted out of the low half
 * go to the high one; those shifted out of the high half are reduced.
 */
TR_INLINE TR_TARGET V times_x(V t, V swapped, unsigned n)
{
    V out = v_shifted_out_by_lane(swapped, n);
    return v_xor3(v_shift_left_by_lane(t, n), out, v_clmul_ll(out, v_low_halves(0x86)));
}

/* t times x^n in each lane, for a constant n from 1 to 56. */
#define TIMES_X(t, swapped, n)                                                                     \
    v_xor3(v_shift_left64((t), (n)), v_shift_right64((swapped), 64 - (n)),                         \
           v_clmul_ll(v_shift_right64((swapped), 64 - (n)), v_low_halves(0x86)))

/* The last round of u vectors, the last of them with part blocks if part is not 0. */
TR_INLINE TR_TARGET void xts_leave(V *x, const V *tweak, V k, unsigned u, unsigned part,
                                   int decrypt, uint8_t *out)
{
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V last = v_xor(k, tweak[j]);
        x[j] = decrypt ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(out + (size_t)j * VBYTES, x[j], part_of(j, u, part));
}

/*
 * Vectors of the last group that go through all rounds before the others begin. The scheduler
 * issues the oldest ready operation first, so eight ZMM vectors would leave no issue slot to the
 * next data unit's tweak before they end: 155 cycles a unit of 512 bytes instead of 125 in a
 * synthetic loop (Zen 4). No gain where eight vectors only just cover the latency.
 */
#define XTS_AHEAD (VBLOCKS == 4 ? 6u : IN_FLIGHT)

/* All later rounds of u vectors that have had the first round key; part is as above. */
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
