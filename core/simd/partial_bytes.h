/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads and stores of a partial vector's bytes. The functions v_load_bytes(), v_store_bytes() and
 * v_first_bytes() take 1 to VBYTES - 1 bytes. The functions b_load_bytes() and b_store_bytes() take
 * 0 to 16 bytes, of which 0 may have any address. Loads set the other bytes to 0. The functions
 * access no memory of the caller beyond these bytes.
 *
 * With masks (V_MASKED), each is one masked access, except in two cases. If the number of bytes is
 * a multiple of 16, the functions use whole blocks, so that a store is forwarded to a later load.
 * If the register extends beyond the page of its first byte, they access the bytes in pieces. A
 * masked access takes a microcode assist if masked-off bytes are in an unmapped page: 90 to 310 ns
 * (Zen 4, docs/tuning/gcm.md).
 */
#ifndef TR_SIMD_PARTIAL_BYTES_H
#define TR_SIMD_PARTIAL_BYTES_H

#include "partial_block.h"
#include "simd/rounds.h"

TR_INLINE TR_TARGET B b_load_pieces(const uint8_t *p, size_t n)
{
    struct partial_block x = partial_load(p, n);
    return b_of(x.low, x.high);
}

TR_INLINE TR_TARGET void b_store_pieces(uint8_t *p, B x, size_t n)
{
    uint8_t block[TR_BLOCK];
    b_store(block, x);
    partial_store(p, partial_load_block(block), n);
    b_store(block, b_zero());
    __asm__ volatile("" : : "r"(block) : "memory");
}

#if V_MASKED
/* The smallest page of the processors that have masked vectors. */
#    define PAGE 4096u

/* Whether a register of n bytes at p extends beyond the page of its first byte. */
TR_INLINE int leaves_page(const uint8_t *p, size_t n)
{
    return __builtin_expect((uintptr_t)p % PAGE > PAGE - n, 0);
}

TR_INLINE TR_TARGET B b_load_bytes(const uint8_t *p, size_t n)
{
    return n == 0 || leaves_page(p, TR_BLOCK) ? b_load_pieces(p, n) : b_load_masked(p, n);
}

TR_INLINE TR_TARGET void b_store_bytes(uint8_t *p, B x, size_t n)
{
    if (n == 0 || leaves_page(p, TR_BLOCK))
        b_store_pieces(p, x, n);
    else
        b_store_masked(p, x, n);
}

/* As v_load_bytes() and v_store_bytes(), if the register does not leave the page. */
TR_INLINE TR_TARGET V v_load_within_page(const uint8_t *p, size_t n)
{
    return n % TR_BLOCK == 0 ? v_load_part(p, (unsigned)n / TR_BLOCK) : v_load_masked(p, n);
}

TR_INLINE TR_TARGET void v_store_within_page(uint8_t *p, V x, size_t n)
{
    if (n % TR_BLOCK == 0)
        v_store_part(p, x, (unsigned)n / TR_BLOCK);
    else
        v_store_masked(p, x, n);
}

TR_INLINE TR_TARGET V v_load_bytes(const uint8_t *p, size_t n)
{
    const size_t whole = n / TR_BLOCK, rest = n % TR_BLOCK;
    if (rest != 0 && !leaves_page(p, VBYTES))
        return v_load_masked(p, n);
    const V x = whole == 0 ? v_zero() : v_load_part(p, (unsigned)whole);
    return rest == 0 ? x : v_insert_block(x, whole, b_load_bytes(p + n - rest, rest));
}

TR_INLINE TR_TARGET void v_store_bytes(uint8_t *p, V x, size_t n)
{
    const size_t whole = n / TR_BLOCK, rest = n % TR_BLOCK;
    if (rest != 0 && !leaves_page(p, VBYTES)) {
        v_store_masked(p, x, n);
        return;
    }
    if (whole != 0)
        v_store_part(p, x, (unsigned)whole);
    if (rest != 0)
        b_store_bytes(p + n - rest, v_block_at(x, whole), rest);
}
#else
static const uint8_t bytes_mask[2 * VBYTES] = {
#    define ONES_8  255, 255, 255, 255, 255, 255, 255, 255
#    define ONES_16 ONES_8, ONES_8
    ONES_16
#    if VBLOCKS == 2
    ,
    ONES_16
#    endif
};

TR_INLINE TR_TARGET B b_load_bytes(const uint8_t *p, size_t n)
{
    return b_load_pieces(p, n);
}

TR_INLINE TR_TARGET void b_store_bytes(uint8_t *p, B x, size_t n)
{
    b_store_pieces(p, x, n);
}

TR_INLINE TR_TARGET V v_load_bytes(const uint8_t *p, size_t n)
{
#    if VBLOCKS == 2
    if (n >= TR_BLOCK) {
        B first = b_load(p);
        return n == TR_BLOCK ? v_zero_extend(first)
                             : v_in_lanes_0_1(first, b_load_bytes(p + TR_BLOCK, n - TR_BLOCK));
    }
#    endif
    return v_zero_extend(b_load_bytes(p, n));
}

TR_INLINE TR_TARGET void v_store_bytes(uint8_t *p, V x, size_t n)
{
#    if VBLOCKS == 2
    if (n >= TR_BLOCK) {
        b_store(p, v_block_0(x));
        if (n != TR_BLOCK)
            b_store_bytes(p + TR_BLOCK, v_block_1(x), n - TR_BLOCK);
        return;
    }
#    endif
    b_store_bytes(p, v_block_0(x), n);
}

TR_INLINE TR_TARGET V v_first_bytes(V x, size_t n)
{
    return v_and(x, v_load(bytes_mask + VBYTES - n));
}
#endif

#endif
