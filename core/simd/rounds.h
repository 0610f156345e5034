/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES rounds over vectors and over single blocks, and the progress of a bulk call.
 *
 * The order of steps in a round differs between processors. AESENC of x86 does ShiftRows, SubBytes,
 * MixColumns and then XORs a round key. AESE of Arm XORs a round key and then does SubBytes and
 * ShiftRows; AESMC does MixColumns. So if V_KEY_FIRST (Arm):
 *
 *   - a middle round takes the round key that AESENC would have taken one round earlier;
 *   - first_key() is zero: the first AESE itself XORs round key 0;
 *   - the last round is last_substitution() and then v_aesenclast(), which only XORs the last round
 *     key.
 *
 * If the processor fuses AESE and AESMC, the number of operations is the same as with AESENC.
 */
#ifndef TR_SIMD_ROUNDS_H
#define TR_SIMD_ROUNDS_H

#include "simd/vector.h"
#include "util.h"

/* Does STEP(key) for each of the 9, 11 or 13 middle rounds, without a loop whose end could be
 * mispredicted. Before the rounds, `at` points to the key of the first of them. After the rounds,
 * `at` points to the key of the next round. */
#define MIDDLE_ROUNDS(rounds, at, STEP) MIDDLE_ROUNDS_IF(rounds, at, STEP, (void)0)

/* As MIDDLE_ROUNDS(), with a statement before additional rounds. */
#define MIDDLE_ROUNDS_IF(rounds, at, STEP, MORE)                                                   \
    do {                                                                                           \
        for (unsigned beyond_ = 10; beyond_ < 14; beyond_ += 2) {                                  \
            if ((rounds) > beyond_) {                                                              \
                MORE;                                                                              \
                STEP((at)[0]);                                                                     \
                STEP((at)[1]);                                                                     \
                (at) += 2;                                                                         \
            }                                                                                      \
        }                                                                                          \
        UNROLL                                                                                     \
        for (unsigned round_ = 0; round_ < 9; round_++)                                            \
            STEP((at)[round_]);                                                                    \
        (at) += 9;                                                                                 \
    } while (0)

/* ---- Single blocks ---- */

/* Returns the key to XOR into the input of a block's first round. */
TR_INLINE TR_TARGET B first_block_key(const uint8_t (*keys)[TR_BLOCK])
{
    return V_KEY_FIRST ? b_zero() : b_load(keys[0]);
}

/* Encrypts or decrypts one block of XTS under `tweak`. Latency-bound: 40 cycles for AES-128 on
 * Zen 4. */
TR_INLINE TR_TARGET B xts_block(const struct tr_aes_key *key, int decrypt, B x, B tweak)
{
    const uint8_t(*at)[TR_BLOCK] = decrypt ? key->dec : key->enc;
    x = b_xor(x, tweak);
#if !V_KEY_FIRST
    x = b_xor(x, b_load(*at++));
#endif
#define STEP(key) x = decrypt ? b_aesdec(x, b_load(key)) : b_aesenc(x, b_load(key))
    MIDDLE_ROUNDS(key->rounds, at, STEP);
#undef STEP
#if V_KEY_FIRST
    x = decrypt ? v_aesd(x, b_load(*at++)) : v_aese(x, b_load(*at++));
#endif
    B last = b_xor(b_load(*at), tweak);
    return decrypt ? b_aesdeclast(x, last) : b_aesenclast(x, last);
}

/* Encrypts one block, such as a tag's mask. The compiler removes the XORs with zero. */
TR_INLINE TR_TARGET B encrypt_block(const struct tr_aes_key *key, B x)
{
    return xts_block(key, 0, x, b_zero());
}

/* ---- Vectors ---- */

/* A bulk call in progress. */
struct bulk {
    const uint8_t (*keys)[TR_BLOCK]; /* round keys, in order of use */
    unsigned rounds;
    const uint8_t *in;
    uint8_t *out;
    V chain; /* the mode's state between groups of vectors, such as counters */
};

TR_INLINE TR_TARGET struct bulk bulk_start(const struct tr_aes_key *key,
                                           const uint8_t (*keys)[TR_BLOCK], uint8_t *out,
                                           const uint8_t *in)
{
    return (struct bulk){.keys = keys, .rounds = key->rounds, .in = in, .out = out};
}

TR_INLINE void bulk_advance(struct bulk *b, size_t bytes)
{
    b->in += bytes;
    b->out += bytes;
}

/* Returns the key to XOR into the input of the first round. */
TR_INLINE TR_TARGET V first_key(const uint8_t (*keys)[TR_BLOCK])
{
    return V_KEY_FIRST ? v_zero() : v_load_all(keys[0]);
}

/* Does a middle round of u vectors, where `key` points to the key that AESENC would take. */
TR_INLINE TR_TARGET void middle_round(V *x, unsigned u, int inverse, const uint8_t (*key)[TR_BLOCK])
{
    V k = v_load_all(*(key - V_KEY_FIRST));
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        x[j] = inverse ? v_aesdec(x[j], k) : v_aesenc(x[j], k);
        /* Without this barrier, gcc 12 copies each vector once a round, and vaes256 is 10 %
         * slower. */
        V_KEEP(x[j]);
    }
}

/* If V_KEY_FIRST, does the XOR of the next-to-last round key, and SubBytes and ShiftRows of the
 * last round. Otherwise does nothing. */
TR_INLINE TR_TARGET void last_substitution(V *x, unsigned u, int inverse,
                                           const uint8_t (*last)[TR_BLOCK])
{
#if V_KEY_FIRST
    V k = v_load_all(last[-1]);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = inverse ? v_aesd(x[j], k) : v_aese(x[j], k);
#else
    (void)x, (void)u, (void)inverse, (void)last;
#endif
}

/* Does the middle rounds of u vectors from round key `key` on, then last_substitution(). As in
 * middle_round(), `key` points to the key that AESENC would take first. Returns the last round key.
 * For a full group, the code loops, so that only one round key at a time occupies a register. The
 * rounds of fewer vectors are too short to hide the misprediction of a loop's end, so they are
 * unrolled. The unrolled code does all middle rounds, so `key` must then be b->keys + 1. */
TR_INLINE TR_TARGET V middle_rounds_from(V *x, unsigned u, int inverse, const struct bulk *b,
                                         const uint8_t (*key)[TR_BLOCK])
{
    const uint8_t(*last)[TR_BLOCK] = b->keys + b->rounds;
    if (u >= IN_FLIGHT) {
        for (; key != last; key++)
            middle_round(x, u, inverse, key);
    } else {
#define STEP(key) middle_round(x, u, inverse, &(key))
        MIDDLE_ROUNDS(b->rounds, key, STEP);
#undef STEP
    }
    last_substitution(x, u, inverse, last);
    return v_load_all(*last);
}

TR_INLINE TR_TARGET V middle_rounds(V *x, unsigned u, int inverse, const struct bulk *b)
{
    return middle_rounds_from(x, u, inverse, b, b->keys + 1);
}

TR_INLINE TR_TARGET V last_round(V x, V key, int inverse)
{
    return inverse ? v_aesdeclast(x, key) : v_aesenclast(x, key);
}

/* ---- Whole and partial vectors ---- */

/* Loads `part` blocks, or a whole vector if `part` is 0. */
TR_INLINE TR_TARGET V load_vector(const uint8_t *in, unsigned part)
{
    return part ? v_load_part(in, part) : v_load(in);
}

TR_INLINE TR_TARGET void store_vector(uint8_t *out, V x, unsigned part)
{
    if (part)
        v_store_part(out, x, part);
    else
        v_store(out, x);
}

/* Does the last round of u vectors of a keystream, XORs them with the input, and advances. If
 * `part` is not 0, u must be 1, and the vector has `part` blocks. */
TR_INLINE TR_TARGET void xor_keystream(struct bulk *b, V *x, unsigned u, unsigned part, V last_key)
{
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_aesenclast(x[j], v_xor(last_key, load_vector(b->in + (size_t)j * VBYTES, part)));
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(b->out + (size_t)j * VBYTES, x[j], part);
    bulk_advance(b, (size_t)u * VBYTES);
}

/* Returns `part` for the last of u vectors, which may be partial, and 0 for the others. */
TR_INLINE unsigned part_of(unsigned j, unsigned u, unsigned part)
{
    return j == u - 1 ? part : 0;
}

/* Expands CASE(n) for each number of vectors up to a full group, so that n is a constant in each
 * case of a switch. */
#if IN_FLIGHT == 8
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#else
#    define BY_VECTORS(CASE) CASE(1) CASE(2) CASE(3) CASE(4)
#endif
#define VECTORS_OF(blocks) (((blocks) + VBLOCKS - 1) / VBLOCKS)

#endif
