/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles arm/neon.h alone (scripts/lint), with its parameter. */
#define TR_TARGET __attribute__((target("+crypto")))
#include "arm/neon.h"
