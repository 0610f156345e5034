/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes256: OCB. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec256.h"
#    include "simd/ocb.h"
#endif
