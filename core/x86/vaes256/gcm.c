/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes256: GCM and GCM-SIV. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec256.h"
#    include "simd/gcm/call.h"
#    include "simd/gcm/siv.h"

TR_X86_GCM_KEY
#endif
