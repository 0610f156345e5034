/* SPDX-License-Identifier: BSD-2-Clause */
/* The hosted world: a process with an environment and a stderr. The one file of the core that uses
 * a libc. */
#define _GNU_SOURCE
#include "env.h"

#include <stdio.h>
#include <stdlib.h>
#if defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

/* secure_getenv: the user of a setuid program does not choose which code it runs. */
const char *tr_env_mask(void)
{
    return secure_getenv("TENROUNDS_MASK");
}

const char *tr_env_sabotage(void)
{
    return secure_getenv("TENROUNDS_SABOTAGE");
}

unsigned long tr_env_hwcap(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return getauxval(AT_HWCAP);
#else
    return 0;
#endif
}

_Noreturn void tr_env_fatal(const char *why)
{
    fprintf(stderr, "tenrounds: %s; stopping, because no result could be trusted\n", why);
    abort();
}
