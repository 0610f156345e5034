/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault switch, turned off: no known-answer test fails on purpose. Tests link tests/faults.c in
 * place of this file. No installed file contains tests/faults.c. This file defines only one
 * function, so that a linker takes the file from the static core only if no other object defines
 * the function. */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
