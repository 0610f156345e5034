/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes on up to four blocks. Every backend processes one block in an XMM register,
 * and more blocks in vectors of at most two.
 *
 * The bound is the number of instructions and taken jumps of a whole call, from the public function
 * on (such as tr_ecb_encrypt()). With AES-128, a vector needs only 5 issue slots on each of two AES
 * ports. Call overhead therefore dominates when successive calls overlap. The code pushes no
 * registers and has no loops. Round keys of one block are memory operands where the backend has
 * AVX. Back-to-back calls of ECB take 11 cycles for one block (Zen 4, AES-128;
 * docs/tuning/parallel.md).
 */
#ifndef TR_SIMD_FEW_H
#define TR_SIMD_FEW_H

#include "dispatch/shape.h"
#include "simd/rounds.h"
#include "simd/table.h"
#include "util.h"

#if V_FEW
/*
 * Does STEP(key) for each middle round. Before the rounds, `at` points to the key of the first of
 * them. After the rounds, at[9] is the last round key. Unlike MIDDLE_ROUNDS() of rounds.h, this
 * macro favours AES-128: its path has only one branch, which is not taken. The two or four
 * additional rounds of longer keys have no loop, because each taken jump adds a cycle to a call of
 * one block. The barrier keeps gcc from hoisting these rounds above the branch, where AES-128 would
 * do them.
 */
#    define FEW_ROUNDS(rounds, at, STEP)                                                           \
        do {                                                                                       \
            if (__builtin_expect((rounds) != 10, 0)) {                                             \
                __asm__("" : "+r"(at));                                                            \
                STEP(*(at)++);                                                                     \
                STEP(*(at)++);                                                                     \
                if ((rounds) != 12) {                                                              \
                    STEP(*(at)++);                                                                 \
                    STEP(*(at)++);                                                                 \
                }                                                                                  \
            }                                                                                      \
            UNROLL                                                                                 \
            for (unsigned i_ = 0; i_ < 9; i_++)                                                    \
                STEP((at)[i_]);                                                                    \
        } while (0)

/* Does all rounds of a block into which the first round key has been XORed, and XORs `addend` into
 * the result. */
TR_INLINE TR_TARGET B few_block(const struct tr_aes_key *key, int inverse, B x, B addend)
{
    const uint8_t(*at)[TR_BLOCK] = (inverse ? key->dec : key->enc) + 1;
#    define STEP(k) x = inverse ? b_aesdec(x, b_load(k)) : b_aesenc(x, b_load(k))
    FEW_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    const B last = b_xor(b_load(at[9]), addend);
    return inverse ? b_aesdeclast(x, last) : b_aesenclast(x, last);
}

/* Processes one block. In CTR the caller advances the counter. */
TR_INLINE TR_TARGET void few_1(struct tr_shape shape, const struct tr_aes_key *key, uint8_t *out,
                               const uint8_t *in, void *iv)
{
    const B data = b_load(in), k = b_load(shape.inverse ? key->dec[0] : key->enc[0]);
    B before = b_zero(), addend = b_zero();
    if (shape.source == FROM_COUNTER)
        before = b_load_halves(iv);
    else if (tr_shape_shifts(shape))
        before = b_load(iv);
    if (tr_shape_shifts(shape))
        b_store(iv, data);
    if (shape.addend != ADD_NOTHING)
        addend = shape.addend == ADD_INPUT ? data : before;
    const B x = b_xor(k, shape.source == FROM_INPUT ? data : before);
    b_store(out, few_block(key, shape.inverse, x, addend));
}

/* Loads a vector by loads of a block each: callers store blocks, and a load over two of them would
 * be a store-forwarding stall. */
TR_INLINE TR_TARGET V few_load(const uint8_t *in, unsigned part)
{
#    if VBLOCKS == 2
    if (part == 0)
        return v_in_lanes_0_1(b_load(in), b_load(in + TR_BLOCK));
#    endif
    return load_vector(in, part);
}

/* Processes n blocks, where n is a compile-time constant, 2 to TR_FEW. In CTR the last byte of the
 * counter must not wrap within the call, and the caller advances the counter. On YMM, four blocks
 * take half the AES operations that they take on XMM (docs/tuning/parallel.md). */
TR_INLINE TR_TARGET void few_of(struct tr_shape shape, unsigned n, const struct tr_aes_key *key,
                                uint8_t *out, const uint8_t *in, void *iv)
{
    const unsigned vectors = VECTORS_OF(n);
    const int inverse = shape.inverse;
    const uint8_t(*at)[TR_BLOCK] = inverse ? key->dec : key->enc;
    V x[TR_FEW], data[TR_FEW], before[TR_FEW], k = v_load_all(*at++);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        const unsigned part = part_of(j, vectors, n % VBLOCKS);
        before[j] = data[j] = few_load(in + (size_t)j * VBYTES, part);
        if (shape.source == FROM_COUNTER)
            before[j] = j == 0 ? v_add_lane_number(v_broadcast(b_load_halves(iv)))
                               : v_add_last_byte(before[0], j * VBLOCKS);
        else if (tr_shape_shifts(shape))
            before[j] = v_shift_in(j == 0 ? v_load_all(iv) : data[j - 1], data[j]);
        x[j] = v_xor(k, shape.source == FROM_INPUT ? data[j] : before[j]);
    }
    if (tr_shape_shifts(shape))
        b_store(iv, b_load(in + (size_t)(n - 1) * TR_BLOCK));
#    define STEP(k) middle_round(x, vectors, inverse, (const uint8_t(*)[TR_BLOCK]) & (k))
    FEW_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    k = v_load_all(at[9]);
    UNROLL
    for (unsigned j = 0; j < vectors; j++) {
        V last = k;
        if (shape.addend != ADD_NOTHING)
            last = v_xor(k, shape.addend == ADD_INPUT ? data[j] : before[j]);
        x[j] = inverse ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < vectors; j++)
        store_vector(out + (size_t)j * VBYTES, x[j], part_of(j, vectors, n % VBLOCKS));
}

TR_INLINE TR_TARGET void few(struct tr_shape shape, BULK_ARGUMENTS)
{
    if (__builtin_expect(blocks == 1, 1))
        few_1(shape, key, out, in, iv);
    else if (blocks == 2)
        few_of(shape, 2, key, out, in, iv);
    else if (blocks == 3)
        few_of(shape, 3, key, out, in, iv);
    else
        few_of(shape, 4, key, out, in, iv);
}
#endif

#endif
