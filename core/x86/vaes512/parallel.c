/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes512: ECB, CTR, and decryption of CBC and CFB. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/cfb_any.h"
#    include "simd/ctr.h"
#    include "simd/masks.h"
#endif
