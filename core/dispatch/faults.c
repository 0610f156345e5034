/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault switch: off. Tests make known-answer tests fail with a switch of their own,
 * tests/faults.c. They link it in place of this file, so nothing that is installed contains the
 * switch. This file defines one function, so that a linker takes it from the static core only if no
 * other object defines it.
 */
#include "dispatch/env.h"

#include <stddef.h>

const char *tr_env_sabotage(void)
{
    return NULL;
}
