/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vector type that the bodies in simd/ use. This header describes the contract of the type, and
 * includes the type that TR_VECTOR names.
 *
 * A backend has a translation unit for each family of modes. It defines TR_VECTOR, for example as
 * "x86/vec512.h", and includes the bodies of the family; the backend's table is another such unit
 * (simd/table.h). Each body includes this header. So each body compiles alone once
 * TR_VECTOR is defined; scripts/lint checks this. Headers in simd/ that call themselves a template,
 * such as vperm.h, do not use this type.
 *
 * V is a vector of VBLOCKS AES blocks, and B is a single block. If VBLOCKS is 1, V and B are the
 * same type. The 128 bits of a V that hold one block are a lane; lane 0 is first in memory. A half
 * is 64 bits of a lane; the low half is first in memory. Pointers need no alignment unless the
 * contract says so.
 *
 * Most operations have a cost class: the port that executes them. [aes] is an AES port, [alu] any
 * vector port, and [shuffle] a shuffle port, of which a core has one or two. [clmul] is the port of
 * carry-less multiplication; on Zen 4 it is an AES port. [load] and [store] are memory ports.
 * [slow] operations take several instructions. [free] operations take no instruction.
 *
 * Each vector type defines these macros. Flags are 0 or 1.
 *
 *   TR_TARGET               the target attribute of every function over V
 *   VBLOCKS                 blocks in a vector: 1, 2 or 4
 *   V_REGISTERS             vector registers that the code can use: 8, 16 or 32
 *   V_REGISTER              the constraint letter of a vector register in inline assembly
 *   V_KEY_FIRST             AES instructions XOR the round key before SubBytes (Arm). x86 does it
 *                           after MixColumns; see rounds.h
 *   V_EQUAL_HALVES          carry-less multiplication takes both low halves or both high halves,
 *                           but not a low and a high half (Arm)
 *   V_MASKED                one instruction loads, stores or moves any number of bytes (AVX-512BW).
 *                           The functions of "Masked vectors" below exist
 *   V_LONG_GCM              simd/gcm/long.h is used, because it was measured to be faster
 *   V_MULTIBUFFER           simd/multibuffer/multibuffer.h is available, and v_gather() or
 *                           v_even_blocks() exists, see below
 *   V_FEW                   simd/few.h and simd/cts.h are compiled: functions for calls of at most
 *                           TR_FEW blocks
 *   V_NAME(name)            the name with the backend's prefix, for each function that the compiler
 *                           may keep as a symbol: a profile then says which backend ran
 *   V_FEW_NAME(mode)        the function for at most TR_FEW blocks of a parallel mode, of this
 *                           backend or a narrower one; not defined if there is none
 *   V_SHORT_CALL            the longest call, in blocks, that a parallel mode's function passes to
 *                           V_SHORT_NAME(mode) of a narrower backend; 0 if none
 *   V_SHORT_NAME(mode)      the function for such short calls, if V_SHORT_CALL is not 0
 *   V_NARROWER(n)           a backend with narrower registers that does n blocks of an operation as
 *                           fast, or NULL
 *
 * Loads and stores
 *   v_load(p), v_store(p, x)  a vector [load] [store]
 *   v_load_part(p, n), v_store_part(p, x, n)  the first n blocks, 0 < n < VBLOCKS; a load sets the
 *                           others to 0. Both functions access memory in pieces of 16 and 32 bytes,
 *                           so that a store is forwarded to a later load. If VBLOCKS is 1, they are
 *                           v_load() and v_store(). [load] [store]
 *   v_load_all(p)           the block at p in every lane [load]
 *   b_load(p), b_store(p, x)  a block [load] [store]
 *   b_load_12(p)            12 bytes by loads of 4 (partial_load_nonce()), 0 in the last four
 *                           [shuffle]
 *   b_load_halves(p), b_store_halves(p, x)  a block by two accesses of 8 bytes, for data that other
 *                           code accesses in 8-byte pieces: a 16-byte load after two 8-byte stores
 *                           is a store-forwarding stall
 *   b_load_half(p), b_store_half(p, x)  the low half of a block; a load sets the high half to 0
 *
 * Between blocks and vectors
 *   b_zero(), v_zero(), b_of(low, high)  [alu]
 *   v_zero_extend(b)        b in lane 0, zeros in the others [alu]
 *   v_in_last_lane(b)       b in the last lane, zeros in the others [shuffle]
 *   v_broadcast(b)          b in every lane [shuffle]
 *   v_block_0(x)            lane 0 [free]
 *   v_fold(x)               the XOR of all lanes [slow]
 *   v_shift_in(before, x)   the lanes of x moved up by one, with the last lane of `before` in lane
 *                           0 [shuffle]
 *   v_gray(l0, l1)          if VBLOCKS is 4: lanes l0, l0 ^ l1, l1, l1; if 2: l0, l0; if 1: 0
 *                           (ocb.h) [slow]
 *   v_in_lanes_0_1(a, b)    if VBLOCKS > 1: a in lane 0 and b in lane 1, zeros elsewhere [shuffle]
 *   v_block_1(x)            if VBLOCKS > 1: lane 1 [shuffle]
 *   v_join_low_halves(a, b) if VBLOCKS is 4: lanes 0 and 1 of a, then lanes 0 and 1 of b [shuffle]
 *   v_gather_pointers(p)    the blocks at p[0] to p[VBLOCKS - 1], one for each lane [slow]
 *   v_gather(p, stride)     if VBLOCKS < 4 and V_MULTIBUFFER: blocks stride bytes apart [slow]
 *   v_even_blocks(a, b), v_odd_blocks(a, b)  if VBLOCKS is 4: lanes 0 and 2 (1 and 3) of a, then of
 *                           b [shuffle]
 *
 * Logic and shifts
 *   v_xor(a, b), b_xor(a, b), v_and(a, b), b_and(a, b) [alu]
 *   v_xor3(a, b, c)         [alu]; two operations where no single instruction does it
 *   v_shift_left64(x, n), v_shift_right64(x, n)  each half by the constant n [alu]
 *   b_shift_left64(x, n)    v_shift_left64() for a block [alu]
 *   b_equal(a, b)           whether all bytes are equal [slow]
 *   v_shift_bytes_left(x, n), v_shift_bytes_right(x, n)  each lane by the constant n bytes, towards
 *                           its high half or its low half
 *   v_low_to_high(x)        low halves moved to the high ones, zeros in the low [shuffle]
 *   v_swap_halves(x)        the halves of each lane exchanged [shuffle]
 *   v_low_halves(u)         the constant u in the low half of each lane, 0 in the high
 *   v_unpack_low(a, b), v_unpack_high(a, b)  if V_LONG_GCM: in each lane the low (high) halves of a
 *                           and b [shuffle]
 *   v_shift_left_by_lane(x, n)  in lane i each half shifted left by n + i [alu]
 *   v_shifted_out_by_lane(x, n)  the bits that v_shift_left_by_lane(x, n) shifts out [alu]
 *   v_byteswap(x), b_byteswap(x)  the 16 bytes of each block in reverse order [shuffle]
 *   v_reverse_halves(x)     if V_EQUAL_HALVES: the 8 bytes of each half in reverse order [shuffle]
 *
 * Counters, as little-endian integers in a lane
 *   v_counters64(low, high) lane i: the 128 bits (high, low + i), without carry into high [slow]
 *   v_counters32(low, high) lane i: the 128 bits (high, low), with i added to the lowest 32 bits
 *                           only, which may wrap [slow]
 *   v_add64(x, n), v_add32(x, n)  n added to the lowest 64 or 32 bits of each lane [alu]
 *   b_add64(x, n)           v_add64() for a block [alu]
 *   v_last_bytes(n)         the constant n in byte 15 of each lane, 0 elsewhere
 *   v_add_last_byte(x, n), v_add_lane_number(x)  n, or the number of the lane, added to byte 15 of
 *                           each lane [alu]
 *
 * AES
 *   v_aesenc(x, k), v_aesdec(x, k)  a middle round of the cipher, and of the equivalent inverse
 *                           cipher [aes]
 *   v_aesenclast(x, k), v_aesdeclast(x, k)  the last round [aes]; if V_KEY_FIRST, only the XOR of
 *                           the last round key [alu]
 *   v_aese(x, k), v_aesd(x, k)  if V_KEY_FIRST: XOR, SubBytes and ShiftRows, and their inverses
 *                           [aes]
 *   b_aesenc(x, k), b_aesenclast(x, k), b_aesdec(x, k), b_aesdeclast(x, k)  v_aesenc(),
 *                           v_aesenclast(), v_aesdec() and v_aesdeclast() for a block
 *   b_column_bytes(x, bytes)  each column becomes the four bytes of x that the constant `bytes`
 *                           selects [shuffle]
 *   b_select_bytes(x, indices)  byte i is x's byte indices[i], or 0 where the index is 128
 *                           [shuffle]
 *   b_shift_bytes_left(x, n)  by the constant n bytes, towards the high half [shuffle]
 *   b_sub_columns(x, rcon)  SubWord in every column, XORed with rcon; all columns of x must be
 *                           equal [aes]
 *   b_inv_mix_columns(x)    [aes]
 *
 * Carry-less multiplication
 *   v_clmul_ll(a, b), v_clmul_lh, v_clmul_hl, v_clmul_hh  in each lane, the product of a half of a
 *                           and a half of b: l low, h high [clmul]
 *
 * Masked vectors, if V_MASKED; VBLOCKS is then 4
 *   v_load_masked(p, n), v_store_masked(p, x, n), b_load_masked(p, n), b_store_masked(p, x, n)  1
 *                           to 64 bytes of a vector, 0 to 16 of a block, in one masked access; a
 *                           load sets the others to 0. If masked-off bytes are in a page that is
 *                           not mapped, the access takes a microcode assist: partial_bytes.h has
 *                           functions without it. A later load of the stored bytes stalls, because
 *                           they are not forwarded [load] [store]
 *   v_first_bytes(x, n)     the first n bytes, 1 to 63, padded with zeros [alu]
 *   v_merge_bytes(over, x, n)  the first n bytes of x, 1 to 64, the others of over [alu]
 *   b_merge_bytes(over, x, at, n)  n bytes of x from offset `at` on, the others of over [alu]
 *   v_block_at(x, i), v_insert_block(x, i, b)  lane i; x with b in lane i [shuffle]
 *   v_last_bytes_from(n)    the constant n + i in byte 15 of lane i, 0 elsewhere
 *   v_last_bytes_and_j0(n)  the constant n + i in byte 15 of lanes 0 to 2, 1 in that of lane 3, 0
 *                           elsewhere
 *   v_clmul_two_ll(a, b), v_clmul_two_lh(a, b), v_clmul_two_hl(a, b), v_clmul_two_hh(a, b)
 *                           as v_clmul_ll() and its like in lanes 0 and 1, zeros in the others
 *                           [clmul]
 *   W, w_of(a, b), w_block_0(x), w_block_1(x), v_of_two(a, b)  a register of two blocks, its lanes,
 *                           two such registers; w_load() and others are like those of v_
 *   w_constant(high_1, low_1, high_0, low_0)  both lanes, from constant halves
 *   v_half(x, high), v_lane_in_all(x, i)  lanes 0 and 1 or 2 and 3; lane i in every lane; high and
 *                           i are constants [shuffle]
 *   v_or_xor(x, a, b), v_nonzero_halves(x)  x | (a ^ b); a bit for each half that is not zero [alu]
 *   w_fold_to_two(x)        lanes 0 and 1 XOR lanes 2 and 3
 *   b_shift_right64(x, n)   each half by n [alu]
 *   b_swap_halves(x), b_clmul_ll(a, b)  v_swap_halves() and v_clmul_ll() for a block [shuffle]
 *                           [clmul]
 *   b_load_12_by_blends(p)  the same as b_load_12(p), without shuffles [alu]
 *   v_in_lanes_2_3(a, b), v_block_3(x)  a and b in lanes 2 and 3, zeros in the others; lane 3
 *                           [shuffle]
 *   v_tiny_counters()       the constants 2, 3, 0, 1 in byte 15 of lanes 0 to 3, 0 elsewhere
 *                           (gcm/short.h)
 *   v_tiny_powers(p, blocks)  the powers of H for lanes 0 to 3, taken from H^4, H^3, H^2, H at p.
 *                           For two blocks of data: H^3, H^2, H, H^4; for one: H^2, any power (lane
 *                           1 has no data), H, H^3; for none: any, any, H, H^2 (gcm/short.h)
 *                           [shuffle]
 */
#ifndef TR_SIMD_VECTOR_H
#define TR_SIMD_VECTOR_H

#ifndef TR_VECTOR
#    error "define TR_VECTOR as the header of a vector type, for example \"x86/vec256.h\""
#endif
#include TR_VECTOR
#include "tenrounds.h"
#include "unroll.h"

#if !defined(TR_TARGET) || !defined(VBLOCKS) || !defined(V_REGISTERS) || !defined(V_REGISTER) ||   \
    !defined(V_KEY_FIRST) || !defined(V_EQUAL_HALVES) || !defined(V_MASKED) ||                     \
    !defined(V_LONG_GCM) || !defined(V_MULTIBUFFER) || !defined(V_FEW) || !defined(V_NAME) ||      \
    !defined(V_SHORT_CALL) || !defined(V_NARROWER)
#    error "the vector type lacks a macro of simd/vector.h"
#endif

#define VBYTES (VBLOCKS * TR_BLOCK)

/* The number of vectors in a group. The vectors of a group go through the rounds together. Eight
 * vectors hide the latency of a round. 32-bit code has 8 registers and needs some for other values,
 * so its groups have four vectors. */
#if V_REGISTERS == 8
#    define IN_FLIGHT 4
#else
#    define IN_FLIGHT 8
#endif
/* The number of blocks in a group. */
#define GROUP        (IN_FLIGHT * VBLOCKS)
/* Whether there are masked vectors and more than eight registers. The code for short one-shot GCM
 * messages, CFB decryption of any length and whole data units of XTS needs both. */
#define MASKED_GROUP (V_MASKED && V_REGISTERS > 8)

/* Keeps a function out of line, so that it has its own stack frame and register allocation. */
#define NOT_INLINE __attribute__((__noinline__))

/* Keeps x in a register and hides its value from the compiler. The compiler then cannot merge the
 * computation of x with the code that uses x, and cannot repeat the computation. */
#define V_KEEP(x) __asm__("" : "+" V_REGISTER(x))

#endif
