/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loaded by LD_PRELOAD: a kernel that reports no AES, PMULL or SHA, as that of a Raspberry Pi 4. Every
 * 64-bit Arm that qemu-user knows has AES, and so do its Cortex-A72 (the Pi's processor, whose maker left it out) and A53.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* AES, PMULL, SHA1, SHA2; SHA3 and SHA512: bits of AT_HWCAP (Linux, elf_hwcaps). */
#define TAKEN (0x78ul | 1ul << 17 | 1ul << 21)

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long);
    *(void **)&next = dlsym(RTLD_NEXT, "getauxval");
    if (next == NULL)
        abort();
    return type == AT_HWCAP ? next(type) & ~TAKEN : next(type);
}
