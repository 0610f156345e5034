/* SPDX-License-Identifier: BSD-2-Clause */
/* How much code goes on side by side; included after a vector block. */
#ifndef TR_UNROLL_H
#define TR_UNROLL_H

/* Loops over the vectors in flight are unrolled, so that the vectors stay in registers. */
#if defined(__clang__)
#    define UNROLL _Pragma("clang loop unroll(full)")
#else
#    define UNROLL _Pragma("GCC unroll 16")
#endif

/* In 32-bit code there are 8 registers of any width, and the modes need some of them beside the vectors in
 * flight. */
#if defined(__i386__)
#    define IN_FLIGHT 4
#else
#    define IN_FLIGHT 8
#endif
#define VBYTES (VBLOCKS * TR_BLOCK)

#endif
