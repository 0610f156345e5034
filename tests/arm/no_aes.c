/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hides the AES, PMULL and SHA instructions from a program, as on a Raspberry Pi 4, whose
 * Cortex-A72 lacks them. LD_PRELOAD loads this library. The tests of scripts/arm need it, because
 * every 64-bit Arm processor that qemu-user emulates has AES, even its Cortex-A53 and Cortex-A72.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* Bits of AT_HWCAP for AES, PMULL, SHA1, SHA2, SHA3 and SHA512 (Linux, elf_hwcaps). */
#define TAKEN (0x78ul | 1ul << 17 | 1ul << 21)

unsigned long getauxval(unsigned long type)
{
    unsigned long (*next)(unsigned long);
    *(void **)&next = dlsym(RTLD_NEXT, "getauxval");
    if (next == NULL)
        abort();
    return type == AT_HWCAP ? next(type) & ~TAKEN : next(type);
}
