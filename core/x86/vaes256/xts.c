/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes256: XTS. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec256.h"
#    include "simd/xts/xts.h"
#endif
