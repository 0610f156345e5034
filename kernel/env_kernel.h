/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The core's environment in the Linux kernel, included by core/dispatch/env.h. This file includes
 * no header. The core includes only the kernel's headers for types, through kernel/include. So the
 * kernel's names cannot collide with the core's.
 *
 * Vector registers belong to the task until kernel_fpu_begin(). From then until kernel_fpu_end(),
 * no other task runs on that processor, and interrupts may not use the registers. The module
 * therefore holds the registers for one bulk call or one step, and for TR_KERNEL_HOLD bytes at
 * most.
 *
 * A hold lasts less than 25 µs. With AES instructions, the slowest operations are CBC encryption
 * and CBC-MAC, because they are latency-bound. The 256 blocks of 4 KiB, with 14 rounds of at most 8
 * cycles each, take at most 28,672 cycles: 14 µs at 2 GHz. On Zen 4, these two operations take
 * 3.9 µs for 4 KiB, and every other mode takes at most 1 µs. With the backend vperm, the two
 * operations take 5.2 µs for 1 KiB on Zen 4. On a processor that is four times slower, they would
 * take 21 µs.
 */
#ifndef TR_ENV_KERNEL_H
#define TR_ENV_KERNEL_H

#define TR_ENV_ALL_MODES 0
#define TR_ENV_STACK     3072 /* of the stack's 16 KiB */

/* Maximum bytes per hold of the vector registers. */
#define TR_KERNEL_HOLD       4096u /* with AES instructions */
#define TR_KERNEL_HOLD_VPERM 1024u

tr_features tr_env_unusable(void);
int tr_env_clock_drops(void);

/* The kernel module ignores TENROUNDS_TUNE. Tests in user space cover the code that the variable
 * selects. */
static inline const char *tr_env_tuning(void)
{
    return NULL;
}

/* Acquires the vector registers; 0 if the kernel refuses them (vector.c). */
int tr_kernel_vector_begin(void);
void tr_kernel_vector_end(void);

/* Returns 0 if the kernel refuses the registers, or for bitslice. Bitslice is the only backend
 * without features, and needs no vector registers. */
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
