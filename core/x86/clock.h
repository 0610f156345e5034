/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processors whose clock drops for all that runs on the core when 512-bit registers are used. A program that
 * does nothing but AES gains by them nonetheless; a kernel, whose AES is a small part of what the core does,
 * does not.
 *
 * Source: the list by which Linux demotes its own 512-bit drivers (since 6.10; arch/x86/crypto/aesni-intel_glue.c,
 * zmm_exclusion_list): Skylake-X and its kin, Ice Lake, Tiger Lake, all of Intel's family 6.
 */
#ifndef TR_X86_CLOCK_H
#define TR_X86_CLOCK_H

#include "../util.h"

/* family and model as Intel's SDM puts them together (volume 2, CPUID, figure 3-6). */
TR_INLINE int tr_clock_drops_at_512_bits(int is_intel, unsigned family, unsigned model)
{
    static const uint8_t models[] = {0x55, 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0x9d};
    if (!is_intel || family != 6)
        return 0;
    for (unsigned i = 0; i < sizeof(models); i++) {
        if (model == models[i])
            return 1;
    }
    return 0;
}

#endif
