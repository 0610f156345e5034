/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns off the fault switch, which makes chosen known-answer tests fail. Tests link tests/faults.c
 * instead, which no installed file contains. This file defines nothing else, so that a linker takes
 * this object from the static library only if no other object defines tr_env_sabotage(). */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
