/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Usage: cpuid aes|vaes|avx. Succeeds if CPUID reports the feature. /proc/cpuinfo is not enough,
 * because the kernel can hide a feature there. */
#include <cpuid.h>
#include <string.h>

int main(int argc, char **argv)
{
    unsigned a, b, c = 0, d, c7 = 0;

    if (argc != 2 || !__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b, &c7, &d))
        return 2;
    if (strcmp(argv[1], "aes") == 0)
        return !(c & bit_AES);
    if (strcmp(argv[1], "avx") == 0)
        return !(c & bit_AVX);
    if (strcmp(argv[1], "vaes") == 0)
        return !(c7 & bit_VAES);
    return 2;
}
