/* SPDX-License-Identifier: BSD-2-Clause */
/* aesni: OCB. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec128.h"
#    include "simd/ocb.h"
#endif
