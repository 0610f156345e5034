/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault switch of test programs and of the modules that tests load. It replaces
 * core/dispatch/faults.c. TENROUNDS_SABOTAGE names backends whose known-answer tests fail.
 */
#define _GNU_SOURCE
#include "dispatch/env.h"

#include <stdlib.h>

const char *tr_env_sabotage(void)
{
    return secure_getenv("TENROUNDS_SABOTAGE");
}
