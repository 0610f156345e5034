/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes known-answer tests fail, in test programs and in the modules that tests load. This file
 * replaces core/dispatch/faults.c. TENROUNDS_SABOTAGE is a comma-separated list of the backends
 * whose known-answer tests fail. The words "sha1" and "sha256" make those of SHA fail. The word
 * "clock" simulates a processor that lowers its clock for 512-bit registers.
 */
#define _GNU_SOURCE
#include "dispatch/env.h"

#include <stdlib.h>

const char *tr_env_sabotage(void)
{
    return secure_getenv("TENROUNDS_SABOTAGE");
}
