/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault switch, off. Tests link tests/faults.c in place of this file, to make known-answer
 * tests fail. No installed file contains tests/faults.c. This file defines only this function, so
 * that a linker takes it from the static core only if no other object defines it. */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
