/* SPDX-License-Identifier: BSD-2-Clause */
/* armce: ECB, CTR, and decryption of CBC and CFB. */
#include "dispatch/backend.h"
#if TR_ARM64
#    define TR_VECTOR "arm/vec_neon.h"
#    include "simd/ctr.h"
#endif
