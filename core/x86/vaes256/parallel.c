/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes256: ECB, CTR, and decryption of CBC and CFB. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec256.h"
#    include "simd/ctr.h"
#    include "simd/cts.h"
#endif
