/* SPDX-License-Identifier: BSD-2-Clause */
/* aesni: key expansion; CCM, and encryption of CBC, CFB and OFB. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec128.h"
#    include "simd/ccm.h"
#    include "simd/expand.h"
#    include "simd/serial.h"
#endif
