/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UNROLL before a loop with a constant count unrolls it, so that arrays of vectors stay in
 * registers.
 */
#ifndef TR_UNROLL_H
#define TR_UNROLL_H

#if defined(__clang__)
#    define UNROLL _Pragma("clang loop unroll(full)")
#else
#    define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
