/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cleansing of tables of keys and states in stores as wide as a vector. A store of any width takes
 * the same issue slot.
 */
#ifndef TR_SIMD_CLEANSE_H
#define TR_SIMD_CLEANSE_H

#include "simd/vector.h"

/*
 * Cleanses n bytes, a multiple of VBYTES. The compiler must not know that the value is zero: gcc
 * would replace the loop by a call of memset() or by REP STOS, which cost 25 cycles and more at
 * these sizes (Zen 4).
 */
TR_INLINE TR_TARGET void cleanse_vectors(void *memory, size_t n)
{
    V zero = v_zero();
    V_KEEP(zero);
    for (size_t i = 0; i < n; i += VBYTES)
        v_store((uint8_t *)memory + i, zero);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/* tr_backend.cleanse */
static inline TR_TARGET void wide_cleanse(uint8_t *memory, size_t len)
{
    cleanse_vectors(memory, len);
}

#endif
