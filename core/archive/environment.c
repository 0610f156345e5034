/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's environment (dispatch/env.h) in the archive, as the program supplies it. */
#include "dispatch/env.h"

#include "archive/environment.h"

static const struct tr_environment defaults;
static const struct tr_environment *current = &defaults;

void tr_set_environment(const struct tr_environment *environment)
{
    __atomic_store_n(&current, environment, __ATOMIC_RELEASE);
}

static const struct tr_environment *environment(void)
{
    return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

static const char *variable(const char *name)
{
    const struct tr_environment *e = environment();
    return e->variable != NULL ? e->variable(name) : NULL;
}

const char *tr_env_mask(void)
{
    return variable("TENROUNDS_MASK");
}

const char *tr_env_tuning(void)
{
    return variable("TENROUNDS_TUNE");
}

unsigned long tr_env_hwcap(void)
{
    return environment()->hwcap;
}

_Noreturn void tr_env_fatal(const char *why)
{
    const struct tr_environment *e = environment();
    if (e->fatal != NULL)
        e->fatal(why);
    __builtin_trap();
}
