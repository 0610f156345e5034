/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which features the kernel lets anybody use, beyond what CPUID and XCR0 say: its own flags know of
 * clearcpuid= and of errata, and cpu_has_xfeatures() of noxsave and its kin.
 */
#include "tenrounds_kernel.h"

#include <asm/cpufeature.h>
#ifndef CONFIG_UML
#    include <asm/fpu/api.h>
#    include <asm/fpu/types.h>
#endif

static bool saves(bool avx512)
{
#ifdef CONFIG_UML
    return true; /* a process of a host whose XCR0 says it all */
#else
    u64 mask = XFEATURE_MASK_SSE | XFEATURE_MASK_YMM;
    return cpu_has_xfeatures(avx512 ? mask | XFEATURE_MASK_AVX512 : mask, NULL);
#endif
}

tr_features tr_env_never(void)
{
    bool avx = saves(false);
    tr_features may = 0;

    if (boot_cpu_has(X86_FEATURE_XMM2)) {
        may |= boot_cpu_has(X86_FEATURE_AES) ? TR_FEATURE_AES : 0;
        may |= boot_cpu_has(X86_FEATURE_PCLMULQDQ) ? TR_FEATURE_CLMUL : 0;
        may |= boot_cpu_has(X86_FEATURE_SSSE3) ? TR_FEATURE_SSSE3 : 0;
    }
    if (avx && boot_cpu_has(X86_FEATURE_AVX)) {
        may |= TR_FEATURE_AVX;
        may |= boot_cpu_has(X86_FEATURE_AVX2) ? TR_FEATURE_AVX2 : 0;
        may |= boot_cpu_has(X86_FEATURE_VAES) ? TR_FEATURE_VAES : 0;
        may |= boot_cpu_has(X86_FEATURE_VPCLMULQDQ) ? TR_FEATURE_VCLMUL : 0;
    }
    if (saves(true) && boot_cpu_has(X86_FEATURE_AVX512F) && boot_cpu_has(X86_FEATURE_AVX512BW) &&
        boot_cpu_has(X86_FEATURE_AVX512VL) && boot_cpu_has(X86_FEATURE_BMI2))
        may |= TR_FEATURE_AVX512;
    return ~may;
}
