/* SPDX-License-Identifier: BSD-2-Clause */
/* armce: key expansion; CCM, and encryption of CBC, CFB and OFB. */
#include "dispatch/backend.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon.h"
#    include "simd/ccm.h"
#    include "simd/expand.h"
#    include "simd/serial.h"
#endif
