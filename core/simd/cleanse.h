/* SPDX-License-Identifier: BSD-2-Clause */
/* Cleansing of keys and states. The stores are as wide as a vector, because a store takes one issue
 * slot whatever its width. */
#ifndef TR_SIMD_CLEANSE_H
#define TR_SIMD_CLEANSE_H

#include "simd/table.h"

/* Cleanses n bytes, a multiple of VBYTES. V_KEEP() hides from gcc that the value is zero. Otherwise
 * gcc would replace the loop by memset() or REP STOS, which cost at least 25 cycles at these sizes
 * (Zen 4). */
TR_INLINE TR_TARGET void cleanse_vectors(void *memory, size_t n)
{
    V zero = v_zero();
    V_KEEP(zero);
    for (size_t i = 0; i < n; i += VBYTES)
        v_store((uint8_t *)memory + i, zero);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
