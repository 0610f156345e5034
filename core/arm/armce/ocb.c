/* SPDX-License-Identifier: BSD-2-Clause */
/* armce: OCB. */
#include "dispatch/backend.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon.h"
#    include "simd/ocb.h"
#endif
