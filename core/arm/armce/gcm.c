/* SPDX-License-Identifier: BSD-2-Clause */
/* armce: GCM and GCM-SIV. */
#include "dispatch/backend.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon.h"
#    include "simd/gcm/call.h"
#    include "simd/gcm/siv.h"
#endif
