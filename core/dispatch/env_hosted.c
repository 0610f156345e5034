/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's environment (env.h) in a process, which has environment variables and a stderr. The
 * other files of the core call no function of the C library, but the compiler generates calls of
 * memcpy(), memmove(), memset(), memcmp() and strlen(). */
#define _GNU_SOURCE
#include "dispatch/env.h"

#include <stdio.h>
#include <stdlib.h>
#if defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

/* secure_getenv() ignores the variable in setuid programs, because their callers must not choose
 * the backend. */
const char *tr_env_mask(void)
{
    return secure_getenv("TENROUNDS_MASK");
}

const char *tr_env_tuning(void)
{
    return secure_getenv("TENROUNDS_TUNE");
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
