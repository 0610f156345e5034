/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector type of the backend armce-eor3: vec_neon.h with EOR3, into which the compiler fuses
 * pairs of XORs. */
#ifndef TR_ARM_VEC_NEON_EOR3_H
#define TR_ARM_VEC_NEON_EOR3_H

#include "arm/arm.h"

#define TR_TARGET    TR_TARGET_EOR3
#define V_NAME(name) tr_armce_eor3_##name
#include "arm/neon.h"

#endif
