/* SPDX-License-Identifier: BSD-2-Clause */
/* The vector type of one AES block: AES-NI on XMM registers. simd/vector.h says what each function
 * does. */
#ifndef TR_X86_VEC128_H
#define TR_X86_VEC128_H

#include "x86/block.h"
#include "x86/x86.h"

#include <tmmintrin.h>
#include <wmmintrin.h>

#define TR_TARGET __attribute__((target("aes,ssse3,pclmul")))
#define VBLOCKS   1
#if defined(__x86_64__)
#    define V_REGISTERS 16
#else
#    define V_REGISTERS 8
#endif
#define V_MASKED      0
#define V_FEW         1
#define V_NAME(mode)  tr_aesni_##mode
#define V_FEW_NAME    TR_AESNI_FEW
#define V_SHORT_CALL  0
#define V_NARROWER(n) ((void)(n), (const struct tr_backend *)NULL)

typedef __m128i V;
#define MM(name)       _mm_##name
#define MM_WHOLE(name) _mm_##name##_si128
#define MM_EACH(name)  _mm_##name##_si128

V_OPERATION(V, v_broadcast, (B x), x)
#include "x86/vec.h"

V_OPERATION(V, v_zero, (void), _mm_setzero_si128())
V_OPERATION(V, v_load_part, (const uint8_t *p, unsigned n), (void)n, v_load(p))
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, v_store(p, x);
}
V_OPERATION(V, v_shift_in, (V before, V x), (void)x, before)

V_OPERATION(V, v_xor3, (V a, V b, V c), v_xor(v_xor(a, b), c))

V_OPERATION(V, v_counters64, (uint64_t low, uint64_t high),
            _mm_set_epi64x((int64_t)high, (int64_t)low))

V_OPERATION(V, v_add_lane_number, (V x), x)

V_OPERATION(B, v_fold, (V x), x)
V_OPERATION(V, v_zero_extend, (B x), x)
V_OPERATION(V, v_counters32, (uint64_t low, uint64_t high), v_counters64(low, high))
V_OPERATION(V, v_shift_left_by_lane, (V x, unsigned n), _mm_slli_epi64(x, (int)n))
V_OPERATION(V, v_shifted_out_by_lane, (V x, unsigned n), _mm_srli_epi64(x, 64 - (int)n))
V_OPERATION(B, v_block_0, (V x), x)
V_OPERATION(V, v_gray, (B l0, B l1), (void)l0, (void)l1, b_zero())
V_OPERATION(V, v_in_last_lane, (B x), x)

V_OPERATION(V, v_gather, (const uint8_t *p, size_t stride), (void)stride, v_load(p))
V_OPERATION(V, v_gather_pointers, (const uint8_t *const *p), v_load(p[0]))

#endif
