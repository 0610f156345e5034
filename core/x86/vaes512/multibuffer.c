/* SPDX-License-Identifier: BSD-2-Clause */
/* vaes512: many chains of CBC and CFB encryption and of CBC-MAC at once. */
#include "dispatch/backend.h"
#if TR_X86
#    define TR_VECTOR "x86/vec512.h"
#    include "simd/multibuffer/multibuffer.h"
#endif
