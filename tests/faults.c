/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault switch of test programs and of the modules that tests load. This file replaces
 * core/dispatch/faults.c. TENROUNDS_SABOTAGE is a comma-separated list of backends: their
 * known-answer tests fail. The word "clock" in the list simulates a processor that lowers its clock
 * for 512-bit registers.
 */
#define _GNU_SOURCE
#include "dispatch/env.h"

#include <stdlib.h>

const char *tr_env_sabotage(void)
{
    return secure_getenv("TENROUNDS_SABOTAGE");
}
