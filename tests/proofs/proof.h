/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the proof harnesses: values and buffers of any contents, and stubs of the bulk
 * operations. scripts/prove runs CBMC, a bounded model checker, on each function proof_*().
 *
 * CBMC unrolls the loops and examines every input within the bounds at once. It checks that each
 * access stays within its object, that no signed operation overflows, that each shift count is
 * valid, and that every assertion holds. Uninitialized local variables and the results of stubs can
 * have any value, and each assertion must hold for all these values.
 *
 * A stub asserts that it may access its input and output, and that these are identical or disjoint,
 * as backend.h promises to the backends. Then it gives any bytes as the result. So the proofs cover
 * the C code of the modes around any block cipher, and say nothing about the backends' own code.
 */
#ifndef TR_PROOF_H
#define TR_PROOF_H

#include <assert.h>
#include <stdbool.h>
/* Must come before the core: CBMC takes the core's __builtin_memcpy() as a call of memcpy(). */
#include <string.h>

#include "dispatch/backend.h"
#include "util.h"

size_t nondet_size(void);
unsigned nondet_unsigned(void);
bool nondet_bool(void);
uint8_t nondet_byte(void);
uint64_t nondet_u64(void);

#define ASSUME(condition) __CPROVER_assume(condition)

/* Returns any number from 0 to `most`. */
static inline size_t any_up_to(size_t most)
{
    size_t n = nondet_size();
    ASSUME(n <= most);
    return n;
}

/* ---- The data of a call ---- */

/*
 * The input and output of a call of `len` bytes. They begin at the first byte of their objects or
 * end at the last one, so that an access beyond either end fails. The output is the input, or lies
 * in another object. Call data_begin() before the call, and data_unchanged() after it.
 */
static uint8_t in_object[LONGEST], out_object[LONGEST], in_before[LONGEST], out_before[LONGEST];
static struct {
    uint8_t *in, *out;
    size_t len;
    bool overlap; /* what stub_overlap() returns, unless its len is 0 */
} d;

static void data_begin(void)
{
    d.len = any_up_to(LONGEST);
    size_t at = nondet_bool() ? LONGEST - d.len : 0;
    d.in = in_object + at;
    d.out = nondet_bool() ? d.in : out_object + at;
    d.overlap = nondet_bool();
    __CPROVER_havoc_object(in_object);
    __CPROVER_havoc_object(out_object);
    memcpy(in_before, in_object, LONGEST);
    memcpy(out_before, out_object, LONGEST);
}

/* Asserts that no byte has changed, except in the output if `done` is set. */
static void data_unchanged(bool done)
{
    size_t i = any_up_to(LONGEST - 1);
    const uint8_t *p = in_object + i, *q = out_object + i;
    assert((done && d.out == d.in && p >= d.in && p < d.in + d.len) || *p == in_before[i]);
    assert((done && d.out != d.in && q >= d.out && q < d.out + d.len) || *q == out_before[i]);
}

/* Replaces tr_bad_overlap(), which partial_block.c proves. Returns 0 if `len` is 0, as that
 * function does, and otherwise d.overlap. CBMC tries both values of d.overlap. */
static int stub_overlap(const uint8_t *out, const uint8_t *in, size_t len)
{
    return d.overlap && len != 0;
}
#define tr_bad_overlap stub_overlap

void tr_cleanse(void *memory, size_t len)
{
    memset(memory, 0, len);
}

/* ---- The stub of the bulk operations ---- */

static const struct tr_backend stub = {.name = "stub"};

/*
 * Replaces tr_bulk() in the mode's file, which a harness includes after this file. Each harness
 * defines stub_bulk() with stub_does() or stub_plain(). These assert what backend.h promises to the
 * backends: `in` and `out` are whole blocks that may be accessed, and are identical or disjoint.
 * The output and the mode's state then have any value. The stub either does a fused operation or
 * leaves it to the mode; the proofs cover both cases.
 */
static size_t stub_bulk(const struct tr_aes_key *key, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state);

static bool stub_does(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks,
                      bool fused)
{
    size_t len = blocks * TR_BLOCK;
    assert(key->backend == &stub);
    assert(blocks != 0);
    assert(__CPROVER_r_ok(in, len));
    if (out != NULL) {
        assert(__CPROVER_w_ok(out, len));
        assert(!__CPROVER_same_object(out, in) || out == in || out + len <= in || in + len <= out);
    }
    if (fused && nondet_bool())
        return false;
    if (out != NULL)
        __CPROVER_havoc_slice(out, len);
    return true;
}

/* The stub of an operation whose state, if any, is one block. */
static size_t stub_plain(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                         size_t blocks, void *state)
{
    stub_does(key, out, in, blocks, false);
    if (state != NULL)
        __CPROVER_havoc_slice(state, TR_BLOCK);
    return blocks;
}

#define tr_bulk stub_bulk

#endif
