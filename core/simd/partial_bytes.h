/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads and stores of a partial vector's bytes, for vector types without masks. The functions
 * v_load_bytes(), v_store_bytes() and v_first_bytes() take 1 to VBYTES - 1 bytes. The functions
 * b_load_bytes() and b_store_bytes() take 0 to 16 bytes. These functions have the contract of
 * simd/vector.h, and access no memory of the caller beyond these bytes.
 */
#ifndef TR_SIMD_PARTIAL_BYTES_H
#define TR_SIMD_PARTIAL_BYTES_H

#include "partial_block.h"
#include "simd/rounds.h"

#if !V_MASKED
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
    struct partial_block x = partial_load(p, n);
    return b_of(x.low, x.high);
}

TR_INLINE TR_TARGET void b_store_bytes(uint8_t *p, B x, size_t n)
{
    uint8_t block[TR_BLOCK];
    b_store(block, x);
    partial_store(p, partial_load_block(block), n);
    b_store(block, b_zero());
    __asm__ volatile("" : : "r"(block) : "memory");
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
