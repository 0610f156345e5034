/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameter of arm/neon.h. */
#define TR_TARGET __attribute__((target("+crypto")))
#include "arm/neon.h"
