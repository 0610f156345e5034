/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns off the fault switch, which makes chosen known-answer tests fail. Tests link tests/faults.c
 * instead, which no installed file contains. This file defines only tr_env_sabotage(). If another
 * object defines that function, the linker does not take this object from the static library. */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
