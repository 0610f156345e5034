/* SPDX-License-Identifier: BSD-2-Clause */
/* Proves functions for partial blocks (core/partial_block.h), and the overlap check and arithmetic
 * of core/util.h. Each proof compares a function with a simpler definition: byte by byte, in
 * 128-bit integers, or by repeated doubling. The proof covers all values within the assumed bounds.
 *
 * The proofs detect these mutations: `n <= 8` for `n < 8` in partial_first() (proof_shifts), and
 * `low <= n` for `low < n` in tr_counter_add() (proof_counters).
 *
 * CBMC: --unwind 60
 */
#include <string.h>

#include "modes/modes.h"
#include "partial_block.h"

/* Calls the real function, because proof.h replaces the name tr_bad_overlap by a stub. */
static int real_overlap(const uint8_t *out, const uint8_t *in, size_t len)
{
    return tr_bad_overlap(out, in, len);
}

#define LONGEST 16u
#include "proof.h"

static uint8_t byte_of(struct partial_block v, unsigned i)
{
    return (uint8_t)((i < 8 ? v.low : v.high) >> 8 * (i % 8));
}

static struct partial_block any_partial(void)
{
    return (struct partial_block){nondet_u64(), nondet_u64()};
}

void proof_load_store(void)
{
    uint8_t bytes[16], before[16];
    size_t n = any_up_to(16), first = any_up_to(16 - n);
    uint8_t *p = bytes + first;
    memcpy(before, bytes, 16);
    struct partial_block v = partial_load(p, n);
    unsigned i = nondet_unsigned();
    ASSUME(i < 16);
    assert(byte_of(v, i) == (i < n ? p[i] : 0));
    struct partial_block w = any_partial();
    partial_store(p, w, n);
    size_t at = any_up_to(15);
    assert(bytes[at] ==
           (at >= first && at < first + n ? byte_of(w, (unsigned)(at - first)) : before[at]));
}

void proof_load_after(void)
{
    uint8_t bytes[TR_BLOCK + 16];
    size_t n = any_up_to(16);
    ASSUME(n != 0);
    /* The partial block ends where the object ends, and a whole block precedes it. */
    const uint8_t *p = bytes + sizeof(bytes) - n;
    struct partial_block v = partial_load_after(p, n);
    unsigned i = nondet_unsigned();
    ASSUME(i < 16);
    assert(byte_of(v, i) == (i < n ? p[i] : 0));
}

/* Proves partial_first(), partial_from() and partial_down(), but not partial_up(). CBMC 6.6
 * evaluates the `v = (struct partial_block){.., v.low ..}` of partial_up() member by member, and so
 * reads the new v.low. tests/core/exhaustive.c tests partial_up() on all unit vectors instead. */
void proof_shifts(void)
{
    struct partial_block v = any_partial();
    unsigned n = (unsigned)any_up_to(16), i = nondet_unsigned();
    ASSUME(i < 16);
    assert(byte_of(partial_first(v, n), i) == (i < n ? byte_of(v, i) : 0));
    ASSUME(n < 16);
    assert(byte_of(partial_from(v, n), i) == (i < n ? 0 : byte_of(v, i)));
    assert(byte_of(partial_down(v, n), i) == (i + n < 16 ? byte_of(v, i + n) : 0));
}

/* Proves tr_bad_overlap() for all addresses and lengths, if the input does not wrap around the end
 * of the address space. */
void proof_overlap(void)
{
    uint64_t out = nondet_u64(), in = nondet_u64(), len = nondet_u64();
    ASSUME(in <= UINT64_MAX - len);
    assert(!!real_overlap((const uint8_t *)out, (const uint8_t *)in, len) ==
           (out > in && out < in + len));
}

/* Proves that tr_counter_add() adds to all 128 bits, and tr_counter_add32() to the last 32. */
void proof_counters(void)
{
    uint8_t counter[16], before[16];
    uint64_t n = nondet_u64();
    memcpy(before, counter, 16);
    tr_counter_add(counter, n);
    unsigned __int128 was =
        (unsigned __int128)tr_load64_be(before) << 64 | tr_load64_be(before + 8);
    unsigned __int128 is =
        (unsigned __int128)tr_load64_be(counter) << 64 | tr_load64_be(counter + 8);
    assert(is == was + n);

    memcpy(counter, before, 16);
    uint32_t m = nondet_unsigned();
    tr_counter_add32(counter, m);
    assert(memcmp(counter, before, 12) == 0);
    assert((uint32_t)tr_load64_be(counter + 8) ==
           (uint32_t)((uint32_t)tr_load64_be(before + 8) + m));
}

/* Proves that doubling in GF(2^128), in both byte orders, equals a 128-bit shift and reduction. */
void proof_doubling(void)
{
    uint8_t x[16], y[16];
    unsigned __int128 v, w;
    tr_double(y, x);
    v = (unsigned __int128)tr_load64_be(x) << 64 | tr_load64_be(x + 8);
    w = (unsigned __int128)tr_load64_be(y) << 64 | tr_load64_be(y + 8);
    assert(w == (v << 1 ^ (v >> 127 != 0 ? 0x87 : 0)));
    tr_xts_double(y, x);
    v = (unsigned __int128)partial_load64(x + 8) << 64 | partial_load64(x);
    w = (unsigned __int128)partial_load64(y + 8) << 64 | partial_load64(y);
    assert(w == (v << 1 ^ (v >> 127 != 0 ? 0x87 : 0)));
}

/* Proves that multiplying an XTS tweak by x^n, for n up to 56, equals n doublings. */
void proof_xts_multiply(void)
{
    uint8_t x[16], y[16];
    unsigned n = (unsigned)any_up_to(56);
    memcpy(y, x, 16);
    for (unsigned i = 0; i < n; i++)
        tr_xts_double(y, y);
    tr_xts_multiply(x, n);
    assert(memcmp(x, y, 16) == 0);
}

/* Proves that tr_equal() is true exactly if all n bytes are equal. */
void proof_equal(void)
{
    uint8_t x[16], y[16];
    size_t n = any_up_to(16), i = any_up_to(15);
    int equal = tr_equal(x, y, n);
    if (equal)
        assert(i >= n || x[i] == y[i]);
    else
        assert(n != 0 && memcmp(x, y, n) != 0);
}
