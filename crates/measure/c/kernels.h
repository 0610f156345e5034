/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops that execute the operations of the core's kernels (core/simd), without their order and
 * their dependencies.
 *
 * The limit (limit.h) counts AES rounds alone. A kernel also loads, stores and XORs, and increments
 * counters or multiplies. These operations share issue slots and vector ports with the rounds. A
 * loop here executes as many operations of each kind as the kernel, spread evenly between the
 * rounds. No operation waits for another one. The loop's rate is therefore a limit for the kernel:
 * no better order of these operations can exceed it, only code with fewer operations.
 *
 * Not counted: the first and the last group of a call, call overhead, spilled registers, and the
 * loop over rounds.
 */
#ifndef TR_KERNELS_H
#define TR_KERNELS_H

#include "limit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels; kernels.c has their operations, each with its source. */
enum tr_kernel {
    TR_KERNEL_ECB,          /* parallel.h: ECB */
    TR_KERNEL_SHIFTED,      /* parallel.h: decryption in CBC and CFB */
    TR_KERNEL_CTR_BYTES,    /* ctr.h: short calls, which increment only the last byte */
    TR_KERNEL_CTR,          /* ctr.h */
    TR_KERNEL_CTR_FILL,     /* ctr_states.h: the groups that fill the table */
    TR_KERNEL_CTR_TABLE,    /* ctr_states.h: the groups that read it */
    TR_KERNEL_GCM,          /* gcm/stream.h */
    TR_KERNEL_GCM_PREPARED, /* gcm/long.h: without the table */
    TR_KERNEL_GCM_FILL,     /* gcm/long.h: the groups that fill the table */
    TR_KERNEL_GCM_TABLE,    /* gcm/long.h: the groups that read it */
    TR_KERNEL_XTS,          /* xts.h */
    TR_KERNEL_XTS_CHAIN,    /* xts/long.h */
    TR_KERNEL_XTS_RING,     /* xts/ring.h */
    TR_KERNEL_OCB,          /* ocb.h */
    TR_KERNEL_COUNT
};

/* The features that tr_kernel_run() needs for a width. 0 where there is no such loop: for the
 * chain, and on every architecture but x86-64. */
tr_features tr_kernel_features(enum tr_limit width);

/*
 * Executes the operations of a kernel for at least `blocks` blocks of 16 bytes, rounded up to whole
 * groups, with keys of `rounds` = 10, 12 or 14 rounds. Returns the bytes of these blocks. For any
 * other argument, executes nothing and returns 0. The caller checks tr_kernel_features() first.
 */
uint64_t tr_kernel_run(enum tr_limit width, enum tr_kernel kernel, unsigned rounds,
                       uint64_t blocks);

#ifdef __cplusplus
}
#endif
#endif
