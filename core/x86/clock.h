/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processors on which selection prefers 256 bits to 512. On these, 512-bit code lowers the clock of
 * the core for all programs, and AES should be no faster. The mask's word "avx512" overrides the
 * preference.
 *
 * Source: the list by which Linux demotes its own 512-bit drivers (zmm_exclusion_list, in 6.10's
 * arch/x86/crypto/aesni-intel_glue.c, later in arch/x86/kernel/cpu/intel.c). It has Skylake-X and
 * its relatives, Ice Lake and Tiger Lake, all in Intel's family 6. Skylake-X has no VAES, but would
 * get the other 512-bit backends.
 *
 * AES should lose no speed: a core starts one 512-bit round a cycle or two 256-bit rounds, 64 bytes
 * either way. This was measured on their successor, Sapphire Rapids, and on no processor of the
 * list.
 */
#ifndef TR_X86_CLOCK_H
#define TR_X86_CLOCK_H

#include "util.h"

/* Whether a processor is in the list; family and model as in Intel's SDM (vol. 2, figure 3-6). */
TR_INLINE int tr_clock_drops_at_512_bits(int is_intel, unsigned family, unsigned model)
{
    static const uint8_t models[] = {
        0x55,             /* Skylake-X, Cascade Lake, Cooper Lake */
        0x6a, 0x6c,       /* Ice Lake, servers */
        0x7d, 0x7e, 0x9d, /* Ice Lake, clients and accelerator */
        0x8c, 0x8d,       /* Tiger Lake */
    };
    if (!is_intel || family != 6)
        return 0;
    for (unsigned i = 0; i < sizeof(models); i++) {
        if (model == models[i])
            return 1;
    }
    return 0;
}

/* The same from CPUID: vendor is ebx, edx and ecx of leaf 0, signature is eax of leaf 1. */
TR_INLINE int tr_clock_drops_by_cpuid(const uint32_t vendor[3], uint32_t signature)
{
    unsigned family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;
    if (family == 6 || family == 15)
        model |= (signature >> 16 & 0xf) << 4;
    if (family == 15)
        family += signature >> 20 & 0xff;
    return tr_clock_drops_at_512_bits(__builtin_memcmp(vendor, "GenuineIntel", 12) == 0, family,
                                      model);
}

#endif
