/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the core asks of the world it runs in: which features may never be used there, the vector
 * registers (which may be refused), a word from the user, and a way to stop when nothing right can
 * be computed. This is the hosted world, where the registers are always there.
 */
#ifndef TR_ENV_H
#define TR_ENV_H

#include "tenrounds.h"

/* Features that may never be used in this world, whatever CPUID says. */
static inline tr_features tr_env_never(void)
{
    return 0;
}

/* Non-zero if the vector registers may be used until tr_env_vector_end(). */
static inline int tr_env_vector_begin(void)
{
    return 1;
}
static inline void tr_env_vector_end(void) {}

/* The user's mask and the hidden switch of the tests; NULL if not set. */
const char *tr_env_mask(void);
const char *tr_env_sabotage(void);

/* What the operating system says of an Arm processor's features (AT_HWCAP); 0 elsewhere. */
unsigned long tr_env_hwcap(void);

/* Says why on stderr and does not return. */
_Noreturn void tr_env_fatal(const char *why);

#endif
