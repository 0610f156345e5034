/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the core asks of the world it runs in: which features may never be used there, the vector
 * registers (which may be refused, or not be held for long), which modes it wants, a word from the user, and a way to
 * stop when nothing right can be computed. This is the hosted world, where the registers are always there. Linux
 * itself is the other one: its file is kernel/env_kernel.h.
 */
#ifndef TR_ENV_H
#define TR_ENV_H

#include "tenrounds.h"

#ifdef __KERNEL__
#    include "env_kernel.h"
#else

/* Whether there is what only OFB, CFB, OCB, GCM-SIV and many messages at once need. */
#    define TR_ENV_ALL_MODES     1

/* Whether a function may have some KiB of local variables. */
#    define TR_ENV_LARGE_STACK   1

/* Features that may never be used in this world, whatever CPUID says. */
static inline tr_features tr_env_never(void)
{
    return 0;
}

/* They always may be used, so that a call may end in a backend's code (tr_backend.few). */
#    define TR_ENV_ALWAYS_VECTOR 1

/* Non-zero if the vector registers may be used until tr_env_vector_end(), by a backend that needs these
 * features. */
static inline int tr_env_vector_begin(tr_features features)
{
    (void)features;
    return 1;
}
static inline void tr_env_vector_end(void) {}

/* How many blocks a backend that needs these features may do at most until tr_env_vector_end(). */
static inline size_t tr_env_most_blocks(tr_features features)
{
    (void)features;
    return SIZE_MAX;
}

/* The user's mask and the hidden switch of the tests; NULL if not set. */
const char *tr_env_mask(void);
const char *tr_env_sabotage(void);

/* What the operating system says of an Arm processor's features (AT_HWCAP); 0 elsewhere. */
unsigned long tr_env_hwcap(void);

/* Says why on stderr and does not return. */
_Noreturn void tr_env_fatal(const char *why);

#endif
#endif
