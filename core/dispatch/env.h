/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core's environment: what the core needs from its host. The environment defines the features
 * that are never usable, access to the vector registers, the modes that exist, the user's mask, and
 * a fatal handler. This file and env_hosted.c are the environment of a process, where the registers
 * are always available; archive/environment.c replaces env_hosted.c where there is no C library.
 * The kernel module uses kernel/env_kernel.h instead, because the kernel may refuse access to the
 * registers, and limits how long a call may use them.
 */
#ifndef TR_ENV_H
#define TR_ENV_H

#include "tenrounds.h"

#ifdef __KERNEL__
#    include "env_kernel.h"
#else

/* TR_ENV_ALL_MODES is 1 if the build has all modes. If it is 0, the build omits CFB, OFB, key wrap,
 * OCB, SIV and GCM-SIV. It also omits the calls with struct tr_cipher, and the calls for many
 * messages or many XTS data units. */
#    define TR_ENV_ALL_MODES 1

/* The bytes of stack that a call may use: at least 16 KiB, or 64 KiB for multi-buffer code. */
#    ifndef TR_ENV_STACK
#        define TR_ENV_STACK 65536
#    elif TR_ENV_STACK < 16384
#        error "TR_ENV_STACK must be at least 16384"
#    endif

/* Features that are never used in this environment, whatever CPUID says. */
static inline tr_features tr_env_unusable(void)
{
    return 0;
}

/* Whether the operating system says that 512-bit registers lower this processor's clock. Selection
 * avoids these registers if either this function or this processor's row of tuning.c says so. */
static inline int tr_env_clock_drops(void)
{
    return 0;
}

/* The vector registers are always available. The modes may therefore use the whole calls of struct
 * tr_backend, which do not ask for the registers. */
#    define TR_ENV_ALWAYS_VECTOR 1

/* Non-zero if a backend that needs these features may use the vector registers until
 * tr_env_vector_end(). */
static inline int tr_env_vector_begin(tr_features features)
{
    (void)features;
    return 1;
}
static inline void tr_env_vector_end(void) {}

/* The largest number of blocks that a backend with these features may process until
 * tr_env_vector_end(). */
static inline size_t tr_env_most_blocks(tr_features features)
{
    (void)features;
    return SIZE_MAX;
}

/* The user's mask, or NULL. */
const char *tr_env_mask(void);

/* The fault switch: names of backends whose known-answer tests are to fail. NULL except in
 * tests. */
const char *tr_env_sabotage(void);

/* The name of the row of tuning.c to use instead of the processor's row, or NULL. */
const char *tr_env_tuning(void);

/* The operating system's report of an Arm processor's features (AT_HWCAP); 0 elsewhere. */
unsigned long tr_env_hwcap(void);

/* Prints the reason on stderr and does not return. */
_Noreturn void tr_env_fatal(const char *why);

#endif
#endif
