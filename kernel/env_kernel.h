/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The world of the Linux kernel, for core/env.h. No header of the kernel beyond its types comes in here, so
 * that its names and the core's do not meet; what needs more is in vector.c and features.c.
 *
 * Vector registers belong to the task until kernel_fpu_begin(). From there to kernel_fpu_end() nothing
 * else runs on the processor but interrupts, which may not use them, so they are held only for a bulk
 * call, never across a step of a scatterlist, and never for more than TR_KERNEL_HOLD bytes. That is
 * below 25 us. With AES instructions the slowest is the chain of CBC encryption and CBC-MAC: 14 rounds of 4 to 8
 * cycles a block, at most 29,000 cycles for 4 KiB; on Zen 4 3.9 us, everything else 1 us at most. Without them
 * (vperm) the same chain takes 5.2 us for 1 KiB there, and has room for processors a quarter as fast.
 */
#ifndef TR_ENV_KERNEL_H
#define TR_ENV_KERNEL_H

#define TR_ENV_ALL_MODES   0
#define TR_ENV_LARGE_STACK 0 /* 16 KiB for all of the call chain, and 2 KiB a function */

#define TR_KERNEL_HOLD       4096u /* with AES instructions */
#define TR_KERNEL_HOLD_VPERM 1024u

tr_features tr_env_never(void);

/* In vector.c. */
int tr_kernel_vector_begin(void);
void tr_kernel_vector_end(void);

/* A backend that needs no features needs no vector registers either. */
static inline int tr_env_vector_begin(tr_features features)
{
    return features != 0 && tr_kernel_vector_begin();
}

static inline void tr_env_vector_end(void)
{
    tr_kernel_vector_end();
}

static inline size_t tr_env_most_blocks(tr_features features)
{
    return (features & TR_FEATURE_AES ? TR_KERNEL_HOLD : TR_KERNEL_HOLD_VPERM) / TR_BLOCK;
}

#endif
