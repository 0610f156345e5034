/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles the template x86/vec.h for XMM registers. */
#include "x86/block.h"

#define TR_TARGET      __attribute__((target("aes,ssse3,pclmul")))
#define VBLOCKS        1
#define MM(name)       _mm_##name
#define MM_WHOLE(name) _mm_##name##_si128
#define MM_EACH(name)  _mm_##name##_si128
typedef __m128i V;

V_OPERATION(V, v_broadcast, (B x), x)
#include "x86/vec.h"
