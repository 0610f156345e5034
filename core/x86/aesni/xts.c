/* SPDX-License-Identifier: BSD-2-Clause */
/* aesni: XTS. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec128.h"
#    include "simd/xts/xts.h"
#endif
