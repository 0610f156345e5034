/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processors where 512-bit registers are not worth having: the clock drops for all that runs on the
 * core when they are used, and the AES in them should be no faster. Selection then prefers 256
 * bits; the mask's word "avx512" overrides that.
 *
 * Source of the list: the one by which Linux demotes its own 512-bit drivers (zmm_exclusion_list,
 * in 6.10's arch/x86/crypto/aesni-intel_glue.c, later in arch/x86/kernel/cpu/intel.c): Skylake-X
 * and its kin, Ice Lake, Tiger Lake, all of Intel's family 6. Of these, Skylake-X has no VAES and
 * is here because what else is written for 512 bits would be chosen there. Why nothing should be
 * lost: they start a round on 512 bits each cycle, or two on 256, which is the same 64 bytes. That
 * was measured on their successor, Sapphire Rapids; none of the list itself was at hand, so here it
 * is only expected.
 */
#ifndef TR_X86_CLOCK_H
#define TR_X86_CLOCK_H

#include "util.h"

/* family and model as Intel's SDM puts them together (volume 2, CPUID, figure 3-6). */
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

/* The same of what CPUID says: leaf 0 in ebx, edx and ecx, leaf 1 in eax. */
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
