/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns off the fault switch, which makes chosen known-answer tests fail. Tests link tests/faults.c
 * instead, which no installed file contains. This file defines only tr_env_sabotage(), so that a
 * linker leaves this object in the static library if another object defines that function. */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
