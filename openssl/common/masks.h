/* SPDX-License-Identifier: BSD-2-Clause */
/* Masks for decisions about secrets: all ones for yes, zero for no. */
#ifndef TENROUNDS_MASKS_H
#define TENROUNDS_MASKS_H

#include <stddef.h>

/* Hides a value from the optimizer, which could otherwise turn a mask into a branch, or make a loop
 * count depend on a secret. */
static inline size_t opaque(size_t x)
{
    __asm__("" : "+r"(x));
    return x;
}

/* Returns all ones if a < b, else zero. */
static inline size_t mask_less(size_t a, size_t b)
{
    size_t borrow = (~a & b) | ((~a | b) & (a - b));
    return 0 - (opaque(borrow) >> (8 * sizeof(size_t) - 1));
}

static inline size_t mask_equal(size_t a, size_t b)
{
    return ~(mask_less(a, b) | mask_less(b, a));
}

#endif
