/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vector type of the backend armce, one AES block on 64-bit Arm: the Cryptographic Extension of
 * Armv8-A on Advanced SIMD registers. simd/vector.h says what each function does.
 *
 * Supports little-endian systems only, because the code treats lanes as little-endian integers.
 */
#ifndef TR_ARM_VEC_NEON_H
#define TR_ARM_VEC_NEON_H

#include "dispatch/backend.h"
#include "util.h"

#include <arm_neon.h>

/* Target attributes differ between gcc and clang. Up to gcc 13, only "crypto" as a whole enables
 * AESE. */
#if defined(__clang__)
#    define TR_TARGET __attribute__((target("aes")))
#else
#    define TR_TARGET __attribute__((target("+crypto")))
#endif

#define V_NAME(name)   tr_armce_##name
#define VBLOCKS        1
#define V_REGISTERS    32
#define V_REGISTER     "w"
#define V_KEY_FIRST    1
#define V_EQUAL_HALVES 1
#define V_MASKED       0
#define V_LONG_GCM     0 /* off, because not measured */
#define V_MULTIBUFFER  0 /* off, because not measured */
#define V_FEW          0 /* off, because not measured */
#define V_SHORT_CALL   0
#define V_NARROWER(n)  ((void)(n), (const struct tr_backend *)NULL)

typedef uint8x16_t V;
typedef uint8x16_t B;

/* A function over V: the type of the result, the name, the parameters, the result. */
#define V_OPERATION(...) TR_OPERATION(TR_TARGET, __VA_ARGS__)

V_OPERATION(V, v_zero, (void), vdupq_n_u8(0))
V_OPERATION(V, v_of, (uint64_t low, uint64_t high),
            vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high))))

V_OPERATION(V, v_load, (const uint8_t *p), vld1q_u8(p))
TR_INLINE TR_TARGET void v_store(uint8_t *p, V x)
{
    vst1q_u8(p, x);
}
V_OPERATION(V, v_load_part, (const uint8_t *p, unsigned n), (void)n, v_load(p))
TR_INLINE TR_TARGET void v_store_part(uint8_t *p, V x, unsigned n)
{
    (void)n, v_store(p, x);
}
V_OPERATION(V, v_load_all, (const uint8_t *p), v_load(p))
V_OPERATION(V, v_shift_in, (V before, V x), (void)x, before)

V_OPERATION(V, v_xor, (V a, V b), veorq_u8(a, b))
V_OPERATION(V, v_xor3, (V a, V b, V c), v_xor(v_xor(a, b), c))
V_OPERATION(V, v_aesenc, (V x, V k), vaesmcq_u8(vaeseq_u8(x, k)))
V_OPERATION(V, v_aesdec, (V x, V k), vaesimcq_u8(vaesdq_u8(x, k)))
V_OPERATION(V, v_aese, (V x, V k), vaeseq_u8(x, k))
V_OPERATION(V, v_aesd, (V x, V k), vaesdq_u8(x, k))
V_OPERATION(V, v_aesenclast, (V x, V k), v_xor(x, k))
V_OPERATION(V, v_aesdeclast, (V x, V k), v_xor(x, k))

V_OPERATION(V, v_counters64, (uint64_t low, uint64_t high), v_of(low, high))
V_OPERATION(V, v_add64, (V x, unsigned n),
            vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(x),
                                           vreinterpretq_u64_u8(v_of(n, 0)))))
V_OPERATION(V, v_add32, (V x, unsigned n),
            vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(x),
                                           vreinterpretq_u32_u8(v_of(n, 0)))))
V_OPERATION(V, v_byteswap, (V x), vqtbl1q_u8(x, v_of(0x08090a0b0c0d0e0f, 0x0001020304050607)))
V_OPERATION(V, v_reverse_halves, (V x), vrev64q_u8(x))
V_OPERATION(V, v_last_bytes, (unsigned n), v_of(0, (uint64_t)n << 56))
V_OPERATION(V, v_add_last_byte, (V x, unsigned n), vaddq_u8(x, v_last_bytes(n)))
V_OPERATION(V, v_add_lane_number, (V x), x)
V_OPERATION(V, v_swap_halves, (V x), vextq_u8(x, x, 8))

/* PMULL multiplies the low halves, and PMULL2 the high halves. So v_clmul_lh() and v_clmul_hl()
 * first exchange the halves of b. Callers use both functions with the same b, so the compiler
 * exchanges the halves only once. */
TR_INLINE TR_TARGET V v_clmul_ll(V a, V b)
{
    poly64x2_t x = vreinterpretq_p64_u8(a), y = vreinterpretq_p64_u8(b);
    return vreinterpretq_u8_p128(vmull_p64(vgetq_lane_p64(x, 0), vgetq_lane_p64(y, 0)));
}
V_OPERATION(V, v_clmul_hh, (V a, V b),
            vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u8(a), vreinterpretq_p64_u8(b))))
V_OPERATION(V, v_clmul_lh, (V a, V b), v_clmul_ll(a, v_swap_halves(b)))
V_OPERATION(V, v_clmul_hl, (V a, V b), v_clmul_hh(a, v_swap_halves(b)))
V_OPERATION(V, v_low_halves, (uint64_t x), v_of(x, 0))
V_OPERATION(V, v_counters32, (uint64_t low, uint64_t high), v_counters64(low, high))
V_OPERATION(V, v_and, (V a, V b), vandq_u8(a, b))
#define v_shift_left64(x, n)      vreinterpretq_u8_u64(vshlq_n_u64(vreinterpretq_u64_u8(x), (int)(n)))
#define v_shift_right64(x, n)     vreinterpretq_u8_u64(vshrq_n_u64(vreinterpretq_u64_u8(x), (int)(n)))
#define v_shift_bytes_left(x, n)  vextq_u8(v_zero(), (x), 16 - (n))
#define v_shift_bytes_right(x, n) vextq_u8((x), v_zero(), (n))
#define v_low_to_high(x)          vextq_u8(v_zero(), (x), 8)

V_OPERATION(B, v_fold, (V x), x)
V_OPERATION(V, v_zero_extend, (B x), x)
V_OPERATION(V, v_gray, (B l0, B l1), (void)l0, (void)l1, v_zero())
V_OPERATION(V, v_in_last_lane, (B x), x)
V_OPERATION(V, v_broadcast, (B x), x)
V_OPERATION(B, v_block_0, (V x), x)
/* USHL by a negative count shifts right, and a count of -64 gives 0. */
V_OPERATION(V, v_shift_left_by_lane, (V x, unsigned n),
            vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(x), vdupq_n_s64((int64_t)n))))
V_OPERATION(V, v_shifted_out_by_lane, (V x, unsigned n),
            vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(x), vdupq_n_s64((int64_t)n - 64))))

V_OPERATION(B, b_load, (const uint8_t *p), v_load(p))
V_OPERATION(B, b_load_halves, (const uint8_t *p), vcombine_u8(vld1_u8(p), vld1_u8(p + 8)))
TR_INLINE TR_TARGET B b_load_12(const uint8_t *p)
{
    uint32_t first, middle, last;
    __builtin_memcpy(&first, p, 4);
    __builtin_memcpy(&middle, p + 4, 4);
    __builtin_memcpy(&last, p + 8, 4);
    const uint32x4_t x = vsetq_lane_u32(first, vdupq_n_u32(0), 0);
    return vreinterpretq_u8_u32(vsetq_lane_u32(last, vsetq_lane_u32(middle, x, 1), 2));
}
TR_INLINE TR_TARGET void b_store(uint8_t *p, B x)
{
    v_store(p, x);
}
TR_INLINE TR_TARGET void b_store_halves(uint8_t *p, B x)
{
    vst1_u8(p, vget_low_u8(x));
    vst1_u8(p + 8, vget_high_u8(x));
}
V_OPERATION(B, b_zero, (void), v_zero())
V_OPERATION(B, b_of, (uint64_t low, uint64_t high), v_of(low, high))
V_OPERATION(B, b_xor, (B a, B b), v_xor(a, b))
V_OPERATION(int, b_equal, (B a, B b), vminvq_u8(vceqq_u8(a, b)) != 0)
V_OPERATION(B, b_and, (B a, B b), v_and(a, b))
V_OPERATION(B, b_shift_left64, (B x, int n),
            vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(x), vdupq_n_s64(n))))
V_OPERATION(B, b_aesenc, (B x, B k), v_aesenc(x, k))
V_OPERATION(B, b_aesenclast, (B x, B k), v_aesenclast(x, k))
V_OPERATION(B, b_aesdec, (B x, B k), v_aesdec(x, k))
V_OPERATION(B, b_aesdeclast, (B x, B k), v_aesdeclast(x, k))
V_OPERATION(B, b_byteswap, (B x), v_byteswap(x))

V_OPERATION(B, b_add64, (B x, unsigned n), v_add64(x, n))
V_OPERATION(B, b_load_half, (const uint8_t *p), vcombine_u8(vld1_u8(p), vdup_n_u8(0)))
TR_INLINE TR_TARGET void b_store_half(uint8_t *p, B x)
{
    vst1_u8(p, vget_low_u8(x));
}
V_OPERATION(B, b_column_bytes, (B x, uint32_t bytes),
            vqtbl1q_u8(x, vreinterpretq_u8_u32(vdupq_n_u32(bytes))))
V_OPERATION(B, b_select_bytes, (B x, B indices), vqtbl1q_u8(x, indices))
V_OPERATION(V, b_sub_columns, (B x, uint32_t rcon),
            v_xor(v_aese(x, v_zero()), vreinterpretq_u8_u32(vdupq_n_u32(rcon))))
V_OPERATION(B, b_inv_mix_columns, (B x), vaesimcq_u8(x))
#define b_shift_bytes_left(x, n) v_shift_bytes_left((x), (n))

#endif
