/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes512: GCM and GCM-SIV. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/gcm/gcm.h"
#    include "simd/gcm/many_call.h"
#    include "simd/gcm/siv.h"
#    include "x86/gcm_key.h"
#endif
