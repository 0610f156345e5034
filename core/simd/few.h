/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parallel modes on up to four blocks, in XMM registers whatever the backend's width.
 *
 * The bound is the number of instructions and taken jumps of a whole call, from the public function
 * on (such as tr_ecb_encrypt()). With AES-128, one block needs only 5 issue slots on each of Zen
 * 4's two AES ports. Call overhead therefore dominates when successive calls overlap. The code
 * pushes no registers and has no loops. Round keys are memory operands where the backend has AVX.
 * Back-to-back calls of ECB take 11 cycles for one block. Four blocks take 21 cycles, of which AES
 * takes 20 (Zen 4, AES-128; docs/tuning/parallel.md). A call whose input is the previous call's
 * output takes 40 cycles, the latency of AES.
 */
#ifndef TR_SIMD_FEW_H
#define TR_SIMD_FEW_H

#include "dispatch/shape.h"
#include "simd/table.h"
#include "util.h"

#if V_FEW
TR_INLINE TR_TARGET void few_round(B x[TR_FEW], unsigned n, int inverse, const uint8_t *key)
{
    B k = b_load(key);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        x[j] = inverse ? b_aesdec(x[j], k) : b_aesenc(x[j], k);
}

/*
 * Does all middle rounds and returns the last round key. Unlike MIDDLE_ROUNDS() of rounds.h, this
 * function favours AES-128: its path has only one branch, which is not taken. The two or four
 * additional rounds of longer keys have no loop, because each taken jump adds a cycle to a call of
 * one block.
 */
TR_INLINE TR_TARGET B few_rounds(B x[TR_FEW], unsigned n, int inverse, const struct tr_aes_key *key)
{
    const uint8_t(*keys)[TR_BLOCK] = (inverse ? key->dec : key->enc) + 1;
    if (__builtin_expect(key->rounds != 10, 0)) {
        /* Keeps gcc from hoisting these rounds above the branch, where AES-128 would do them. */
        __asm__("" : "+r"(keys));
        few_round(x, n, inverse, *keys++);
        few_round(x, n, inverse, *keys++);
        if (key->rounds != 12) {
            few_round(x, n, inverse, *keys++);
            few_round(x, n, inverse, *keys++);
        }
    }
    UNROLL
    for (unsigned i = 0; i < 9; i++)
        few_round(x, n, inverse, keys[i]);
    return b_load(keys[9]);
}

/*
 * Processes n blocks, where n is a compile-time constant, 1 to TR_FEW. In CTR the last byte of the
 * counter must not wrap within the call, and the caller advances the counter.
 */
TR_INLINE TR_TARGET void few_of(struct tr_shape shape, unsigned n, const struct tr_aes_key *key,
                                uint8_t *out, const uint8_t *in, void *iv)
{
    const int inverse = shape.inverse;
    B x[TR_FEW], data[TR_FEW], before = b_zero(), k = b_load(inverse ? key->dec[0] : key->enc[0]);
    if (shape.source == FROM_COUNTER)
        before = b_load_halves(iv);
    else if (tr_shape_shifts(shape))
        before = b_load(iv);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        data[j] = b_load(in + (size_t)j * TR_BLOCK);
        if (shape.source == FROM_COUNTER)
            x[j] = b_xor(k, j == 0 ? before : b_add_last_byte(before, j));
        else if (shape.source == FROM_INPUT_BEFORE)
            x[j] = b_xor(k, j == 0 ? before : data[j - 1]);
        else
            x[j] = b_xor(k, data[j]);
    }
    if (tr_shape_shifts(shape))
        b_store(iv, data[n - 1]);
    k = few_rounds(x, n, inverse, key);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        B last = k;
        if (shape.addend == ADD_INPUT_BEFORE)
            last = b_xor(k, j == 0 ? before : data[j - 1]);
        else if (shape.addend == ADD_INPUT)
            last = b_xor(k, data[j]);
        x[j] = inverse ? b_aesdeclast(x[j], last) : b_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < n; j++)
        b_store(out + (size_t)j * TR_BLOCK, x[j]);
}

TR_INLINE TR_TARGET void few(struct tr_shape shape, const struct tr_aes_key *key, uint8_t *out,
                             const uint8_t *in, size_t blocks, void *iv)
{
    if (__builtin_expect(blocks == 1, 1))
        few_of(shape, 1, key, out, in, iv);
    else if (blocks == 2)
        few_of(shape, 2, key, out, in, iv);
    else if (blocks == 3)
        few_of(shape, 3, key, out, in, iv);
    else
        few_of(shape, 4, key, out, in, iv);
}
#endif

#endif
