/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector type of the backend armce: Advanced SIMD with the Cryptographic Extension. */
#ifndef TR_ARM_VEC_NEON_H
#define TR_ARM_VEC_NEON_H

#include "arm/arm.h"

#define TR_TARGET    TR_TARGET_AES
#define V_NAME(name) tr_armce_##name
#include "arm/neon.h"

#endif
