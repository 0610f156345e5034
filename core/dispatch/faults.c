/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault switch makes chosen known-answer tests fail. This file turns the switch off. Tests link
 * tests/faults.c instead, which no installed file contains. This file defines nothing else, so that
 * a linker takes it from the static core only if no other object defines the switch. */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
