/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The processor features that the kernel permits. CPUID and XCR0 alone are not enough: the kernel's
 * feature flags also reflect clearcpuid= and errata, and cpu_has_xfeatures() reflects noxsave and
 * similar options.
 */
#include "tenrounds_kernel.h"

#include <asm/cpufeature.h>
#ifndef CONFIG_UML
#    include <asm/fpu/api.h>
#    include <asm/fpu/types.h>
#endif

/* Whether the kernel saves a task's AVX registers, or its AVX-512 registers. */
static bool saves(bool avx512)
{
#ifdef CONFIG_UML
    return true; /* user-mode Linux runs as a process, for which XCR0 is enough */
#else
    u64 mask = XFEATURE_MASK_SSE | XFEATURE_MASK_YMM;
    return cpu_has_xfeatures(avx512 ? mask | XFEATURE_MASK_AVX512 : mask, NULL);
#endif
}

tr_features tr_env_unusable(void)
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

/* Whether the clock drops under 512-bit code. Linux sets PREFER_YMM on such processors since 6.15.
 * Linux's list may have processors that the core's list lacks. */
int tr_env_clock_drops(void)
{
#ifdef X86_FEATURE_PREFER_YMM
    return boot_cpu_has(X86_FEATURE_PREFER_YMM);
#else
    return 0;
#endif
}
