/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes512: XTS. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/xts/unit.h"
#    include "simd/xts/xts.h"
#endif
