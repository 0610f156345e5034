/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS for long calls where the AES instruction XORs the key first (V_KEY_FIRST: Arm). General
 * registers compute the tweaks, because the vector ports are the bottleneck. Supports little-endian
 * systems only, like arm/vec_neon.h.
 *
 * AESE XORs its two operands. Here one operand is the data. The other is the tweak, already XORed
 * with the first round key. The tweaks are stored in this form, a group ahead of their use. After
 * the last round, the code XORs three values into the data: the stored tweak, and the last and the
 * first round key. The first round key cancels that in the stored tweak.
 *
 * Bound: AES throughput, and for each block two XORs (docs/tuning/arm.md).
 */
#ifndef TR_SIMD_XTS_SCALAR_H
#define TR_SIMD_XTS_SCALAR_H

#include "simd/cleanse.h"
#include "simd/xts/group.h"

#define XTS_SCALAR (V_KEY_FIRST && VBLOCKS == 1)

#if XTS_SCALAR
#    define XTS_SCALAR_FROM (3 * GROUP) /* the shortest call, in blocks */

struct xts_scalar {
    uint64_t low, high;         /* the next tweak to store */
    uint64_t key_low, key_high; /* the first round key */
};

/* The tweaks of two groups, XORed with the first round key. */
struct xts_stored {
    uint8_t group[2][IN_FLIGHT][TR_BLOCK] TR_ALIGNED(16);
};

/* Stores the next tweak and doubles it. */
TR_INLINE void xts_scalar_step(struct xts_scalar *s, uint8_t *to)
{
    uint64_t low = s->low ^ s->key_low, high = s->high ^ s->key_high;
    __asm__("" : "+r"(low), "+r"(high)); /* keeps both in general registers */
    __builtin_memcpy(to, &low, 8);
    __builtin_memcpy(to + 8, &high, 8);
    uint64_t carry = (uint64_t)((int64_t)s->high >> 63) & 0x87;
    s->high = s->high << 1 | s->low >> 63;
    s->low = s->low << 1 ^ carry;
}

_Static_assert(IN_FLIGHT < 10, "AES-128 has a round for each vector of a group");

/* Computes the tweaks of the call's second group from the first block's tweak, and stores them in
 * t->group[0]. */
TR_INLINE TR_TARGET struct xts_scalar xts_scalar_start(struct xts_stored *t,
                                                       const uint8_t (*keys)[TR_BLOCK], B tweak)
{
    struct xts_scalar s;
    uint64_t low, high;
    b_store(t->group[0][0], tweak); /* overwritten below */
    __builtin_memcpy(&low, t->group[0][0], 8);
    __builtin_memcpy(&high, t->group[0][0] + 8, 8);
    tr_xts_multiply_halves(&low, &high, GROUP);
    s.low = low;
    s.high = high;
    __builtin_memcpy(&s.key_low, keys[0], 8);
    __builtin_memcpy(&s.key_high, keys[0] + 8, 8);
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        xts_scalar_step(&s, t->group[0][j]);
    return s;
}

/* Processes groups until 1 to GROUP blocks remain. Returns the tweak of the next block. Each of the
 * first rounds also computes a tweak of the next group. */
TR_INLINE TR_TARGET B xts_scalar_groups(struct xts_scalar s, struct xts_stored *t, struct bulk *r,
                                        size_t *blocks, int decrypt)
{
    const V both = v_xor(v_load(r->keys[0]), v_load(r->keys[r->rounds]));
    uint8_t(*now)[TR_BLOCK] = t->group[0], (*next)[TR_BLOCK] = t->group[1];
    for (; *blocks > GROUP; *blocks -= GROUP) {
        /* Hides the tweaks from gcc, which would keep them in vector registers. */
        __asm__("" : "+r"(now), "+r"(next) : : "memory");
        V x[IN_FLIGHT];
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++) {
            x[j] = v_load(r->in + (size_t)j * VBYTES);
            V tweak = v_load(now[j]);
            x[j] = decrypt ? v_aesdec(x[j], tweak) : v_aesenc(x[j], tweak);
            V_KEEP(x[j]);
        }
        xts_scalar_step(&s, next[0]);
        UNROLL
        for (unsigned j = 1; j < IN_FLIGHT; j++) {
            middle_round(x, IN_FLIGHT, decrypt, r->keys + 1 + j);
            xts_scalar_step(&s, next[j]);
        }
        middle_rounds_from(x, IN_FLIGHT, decrypt, r, r->keys + 1 + IN_FLIGHT);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            v_store(r->out + (size_t)j * VBYTES, v_xor3(x[j], both, v_load(now[j])));
        bulk_advance(r, (size_t)GROUP * TR_BLOCK);
        uint8_t(*used)[TR_BLOCK] = now;
        now = next;
        next = used;
    }
    B tweak = b_xor(b_load(now[0]), b_load(r->keys[0]));
    cleanse_vectors(t, sizeof(*t));
    return tweak;
}
#endif

#endif
