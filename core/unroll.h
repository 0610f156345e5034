/* SPDX-License-Identifier: BSD-2-Clause */
/* UNROLL before a loop with a constant count unrolls it, so that arrays of vectors stay in
 * registers. DO_NOT_UNROLL keeps a loop as it is. */
#ifndef TR_UNROLL_H
#define TR_UNROLL_H

#if defined(__clang__)
#    define UNROLL        _Pragma("clang loop unroll(full)")
#    define DO_NOT_UNROLL _Pragma("clang loop unroll(disable)")
#else
#    define UNROLL        _Pragma("GCC unroll 16")
#    define DO_NOT_UNROLL _Pragma("GCC unroll 1")
#endif

#endif
