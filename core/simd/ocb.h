/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OCB3 (RFC 7253 section 4.2) for one vector type. Each block is XORed with its offset before and
 * after the cipher. The checksum is the XOR of all plaintext blocks.
 *
 * The offset of block i is the offset of block i - 1, XORed with L_ntz(i). Here ntz(i) is the
 * number of trailing zero bits of i. Block numbers start at 1. The number of a group's last block
 * is a multiple of GROUP. Each offset in a group is the last offset before the group, XORed with a
 * combination of L_0, L_1 and so on. The combinations L_0, L_0 ^ L_1, L_1, .. form a Gray code.
 * Only the last block's combination depends on the group: it contains L_ntz(i) of a multiple i of
 * GROUP, and this ntz(i) varies. So each call computes the combinations once, without that L
 * (o->sums). Each group XORs in its own L (o->own).
 *
 * The bound is AES throughput, together with four or five XORs for each vector. Messages of 16 KiB
 * with AES-128 reach 88 % of the AES rate on ZMM (Zen 4; docs/tuning/ocb.md). The last offset stays
 * in a register between groups, to avoid store-forwarding stalls.
 */
#ifndef TR_SIMD_OCB_H
#define TR_SIMD_OCB_H

#include "dispatch/env.h"
#include "dispatch/ocb.h"
#include "simd/cleanse.h"
#include "simd/rounds.h"
#include "simd/table.h"

#if TR_ENV_ALL_MODES
struct ocb {
    struct bulk run;
    /* The offsets of vector j of a group are `before` XORed with vector j of `sums`. In the last
     * vector of a full group they are also XORed with `own`. */
    V before, own;
    const uint8_t *sums;
    V checksum;
};

/* Returns the offsets of vector j. The code computes them before each use, because 16 registers
 * have no room for all offsets. */
TR_INLINE TR_TARGET V ocb_offset(const struct ocb *o, unsigned j)
{
    V offset = v_xor(o->before, v_load(o->sums + (size_t)j * VBYTES));
    return j == IN_FLIGHT - 1 ? v_xor(offset, o->own) : offset;
}

/* Processes u vectors. The last vector has only `part` blocks, unless `part` is 0. */
TR_INLINE TR_TARGET void ocb_group(struct ocb *o, int decrypt, unsigned u, unsigned part)
{
    struct bulk *r = &o->run;
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V in = load_vector(r->in + (size_t)j * VBYTES, part_of(j, u, part));
        if (!decrypt)
            o->checksum = v_xor(o->checksum, in);
        x[j] = v_xor3(k, ocb_offset(o, j), in);
    }
    k = middle_rounds(x, u, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = last_round(x[j], v_xor(k, ocb_offset(o, j)), decrypt);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        store_vector(r->out + (size_t)j * VBYTES, x[j], part_of(j, u, part));
        if (decrypt) {
            /* Loads the vector again, without the lanes beyond the last block. */
            if (part_of(j, u, part))
                x[j] = v_load_part(r->out + (size_t)j * VBYTES, part);
            o->checksum = v_xor(o->checksum, x[j]);
        }
    }
    size_t done = (size_t)u * VBYTES - (part ? VBYTES - part * TR_BLOCK : 0);
    bulk_advance(r, done);
}

/* Processes the blocks up to the next multiple of GROUP, one by one. Only streaming calls have such
 * blocks. */
TR_INLINE TR_TARGET void ocb_lead(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                  size_t blocks)
{
    uint8_t offset[VBYTES] = {0};
    o->before = v_zero();
    o->sums = offset;
    for (; blocks != 0; blocks--) {
        tr_ocb_next_offset(state);
        __builtin_memcpy(offset, state->offset, TR_BLOCK);
        ocb_group(o, decrypt, 1, VBLOCKS == 1 ? 0 : 1);
    }
    tr_cleanse_inline(offset, sizeof(offset));
}

/*
 * Computes an entry for each block of a group: the XOR of its offset and the last offset before the
 * group. The entry of the last block omits that block's L, which depends on the group.
 *
 * The variable `before` is the entry of the block before a vector, or 0 for the first vector. The
 * vector's entries are v_gray() XORed with `before`. The last lane is also XORed with `own`, the L
 * of its block.
 */
TR_INLINE TR_TARGET void ocb_sums(uint8_t *sums, const struct tr_ocb_run *state)
{
    B l0 = b_load(state->key->l[0]), l1 = b_load(state->key->l[1]), before = b_zero();
    V within = v_gray(l0, l1);
    B last = VBLOCKS == 4 ? l1 : VBLOCKS == 2 ? l0 : b_zero();
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        B own =
            j + 1 < IN_FLIGHT ? b_load(state->key->l[__builtin_ctz((j + 1) * VBLOCKS)]) : b_zero();
        v_store(sums + (size_t)j * VBYTES,
                v_xor3(v_broadcast(before), within, v_in_last_lane(own)));
        before = b_xor(before, b_xor(last, own));
    }
}

/* Processes blocks from the beginning of a group on: full groups, then a shorter group. */
TR_INLINE TR_TARGET void ocb_groups(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                    size_t blocks)
{
    uint8_t sums[GROUP][TR_BLOCK] TR_ALIGNED(VBYTES), l[TR_BLOCK];
    B offset = b_load_halves(state->offset);
    ocb_sums(sums[0], state);
    o->sums = sums[0];
    for (; blocks >= GROUP; blocks -= GROUP) {
        state->index += GROUP;
        unsigned n = (unsigned)__builtin_ctzll(state->index);
        B own;
        if (n < TR_OCB_POWERS) {
            own = b_load(state->key->l[n]);
        } else {
            tr_ocb_l(state, n, l);
            own = b_load(l);
            tr_cleanse_inline(l, sizeof(l));
        }
        o->before = v_broadcast(offset);
        o->own = v_in_last_lane(own);
        offset = b_xor(b_xor(offset, b_load(sums[GROUP - 1])), own);
        ocb_group(o, decrypt, IN_FLIGHT, 0);
    }
    if (blocks != 0) {
        o->before = v_broadcast(offset);
        o->own = v_zero();
        state->index += blocks;
        offset = b_xor(offset, b_load(sums[blocks - 1]));
        switch (VECTORS_OF(blocks)) {
#    define OCB_GROUP(n)                                                                           \
    case n:                                                                                        \
        ocb_group(o, decrypt, n, blocks % VBLOCKS);                                                \
        break;
            BY_VECTORS(OCB_GROUP)
        }
    }
    b_store(state->offset, offset);
    cleanse_vectors(sums, sizeof(sums));
}

TR_INLINE TR_TARGET void ocb(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_ocb_run *state, int decrypt)
{
    struct ocb o = {.run = bulk_start(key, decrypt ? key->dec : key->enc, out, in),
                    .checksum = v_zero_extend(b_load_halves(state->checksum))};
    size_t lead = (size_t)(0 - state->index) % GROUP;
    if (lead > blocks)
        lead = blocks;
    ocb_lead(&o, state, decrypt, lead);
    if (blocks != lead)
        ocb_groups(&o, state, decrypt, blocks - lead);
    b_store(state->checksum, v_fold(o.checksum));
}

BULK_OPERATION(ocb_encrypt, ocb, 0)
BULK_OPERATION(ocb_decrypt, ocb, 1)
#endif

#endif
