/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS for several data units of whole groups each, such as disk sectors of 512 bytes. Processed
 * alone, each data unit would pay the latency of its tweaks before its rounds, and the latency of
 * its last rounds. Here the rounds of each group overlap the tweaks of the next group, which may
 * belong to the next data unit.
 *
 * Bound: AES throughput, and for each vector two shifts and a carry-less multiplication. On Zen 4,
 * the multiplication takes an AES issue slot, so AES-128 can reach 91 % (10/11) of the AES rate.
 * Sixteen sectors of 512 bytes reach 78 % (docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_UNITS_H
#define TR_SIMD_XTS_UNITS_H

#include "dispatch/backend.h"
#include "simd/table.h"
#include "simd/xts/group.h"

#if XTS_UNITS
_Static_assert(GROUP == TR_XTS_UNIT_STEP, "modes/xts.c calls with whole groups");

/* Processes a group with the tweaks in now[], and stores the next group's tweaks in later[]. Every
 * lane of `first` holds the tweak of the next group's first block. */
TR_INLINE TR_TARGET void xts_units_group(struct bulk *r, const V now[IN_FLIGHT], V later[IN_FLIGHT],
                                         V first, int decrypt)
{
    const uint8_t(*key)[TR_BLOCK] = r->keys;
    V x[IN_FLIGHT], swapped = v_swap_halves(first);
    xts_enter(x, now, r);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        key++;
        middle_round(x, IN_FLIGHT, decrypt, key);
        later[j] = times_x(first, swapped, j * VBLOCKS);
        V_KEEP(later[j]);
    }
    const V k = middle_rounds_from(x, IN_FLIGHT, decrypt, r, key + 1);
    xts_leave(x, now, k, IN_FLIGHT, 0, decrypt, r->out);
    bulk_advance(r, GROUP * TR_BLOCK);
}

TR_INLINE TR_TARGET void xts_units(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                   size_t blocks, const struct tr_xts_units *units, int decrypt)
{
    struct bulk r = bulk_start(key, decrypt ? key->dec : key->enc, out, in);
    const uint8_t(*tweak)[TR_BLOCK] = units->tweak;
    V now[IN_FLIGHT], first = v_broadcast(b_load(*tweak));
    xts_tweaks(now, b_load(*tweak));
    size_t left = units->blocks; /* of the data unit */
    for (; blocks > GROUP; blocks -= GROUP) {
        left -= GROUP;
        if (left == 0) {
            left = units->blocks;
            first = v_broadcast(b_load(*++tweak));
        } else {
            first = TIMES_X(first, v_swap_halves(first), GROUP);
        }
        V later[IN_FLIGHT];
        xts_units_group(&r, now, later, first, decrypt);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            now[j] = later[j];
    }
    V x[IN_FLIGHT];
    xts_enter(x, now, &r);
    xts_rounds(&r, x, now, IN_FLIGHT, 0, XTS_AHEAD, decrypt);
}

BULK_OPERATION(xts_enc_units, xts_units, 0)
BULK_OPERATION(xts_dec_units, xts_units, 1)
#endif

#endif
