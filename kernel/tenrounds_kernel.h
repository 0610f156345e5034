/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Declarations that the module's files share. The module consists of files of the core (../core;
 * Kbuild lists them) and
 *
 *   module.c      loading and unloading: tests and selects a backend, registers algorithms
 *   params.c      the module's parameters
 *   features.c    the processor features that the kernel permits
 *   vector.c      acquires and releases the vector registers
 *   skcipher.c    ecb, cbc, cts(cbc), ctr, xctr and xts
 *   aead.c        gcm, rfc4106(gcm) and ccm
 *   hash.c        cmac and xcbc
 *   steps.h       iterates over a request's data in steps of at most a page
 *   counters.c    counters in debugfs
 *   env_kernel.h  the core's environment; include/ has two C library headers for the core
 */
#ifndef TENROUNDS_KERNEL_H
#define TENROUNDS_KERNEL_H

#include "dispatch/backend.h"

#include <linux/irqflags.h> /* percpu.h needs it but does not include it in user-mode Linux */
#include <linux/percpu.h>

/* Marks a local variable that is written before it is read. Kernels that initialize all variables
 * (CONFIG_INIT_STACK_ALL_ZERO) then do not initialize this one. In kernels without this macro, the
 * mark has no effect. */
#ifndef __uninitialized
#    define __uninitialized
#endif

/* The size of a transform's context, with room to align the keys, because the kernel aligns
 * contexts to 8 bytes only. */
#define TR_KERNEL_CONTEXT_SIZE(type) (sizeof(type) + __alignof__(type))

/* The list of algorithms: X(constant, name in the kernel). */
#define TR_KERNEL_ALGS(X)                                                                          \
    X(ECB, "ecb(aes)")                                                                             \
    X(CBC, "cbc(aes)")                                                                             \
    X(CTS, "cts(cbc(aes))")                                                                        \
    X(CTR, "ctr(aes)")                                                                             \
    X(XCTR, "xctr(aes)")                                                                           \
    X(XTS, "xts(aes)")                                                                             \
    X(GCM, "gcm(aes)")                                                                             \
    X(RFC4106, "rfc4106(gcm(aes))")                                                                \
    X(CCM, "ccm(aes)")                                                                             \
    X(CMAC, "cmac(aes)")                                                                           \
    X(XCBC, "xcbc(aes)")

enum tr_kernel_alg {
#define TR_KERNEL_ALG(constant, name) TR_KERNEL_##constant,
    TR_KERNEL_ALGS(TR_KERNEL_ALG)
#undef TR_KERNEL_ALG
        TR_KERNEL_ALG_COUNT
};

/* Per-CPU counters. A reader adds up the counters of all processors, but takes the largest
 * longest_hold_ns. */
struct tr_kernel_counters {
    struct {
        u64 calls, bytes, steps;
    } alg[TR_KERNEL_ALG_COUNT];
    u64 holds, refused; /* successful and failed requests for the vector registers */
    u64 longest_hold_ns;
};
DECLARE_PER_CPU(struct tr_kernel_counters, tr_kernel_counters);

static inline void tr_kernel_count_call(enum tr_kernel_alg alg)
{
    raw_cpu_inc(tr_kernel_counters.alg[alg].calls);
}

static inline void tr_kernel_count_step(enum tr_kernel_alg alg, unsigned int bytes)
{
    raw_cpu_inc(tr_kernel_counters.alg[alg].steps);
    raw_cpu_add(tr_kernel_counters.alg[alg].bytes, bytes);
}

/* The selected backend, set before anything is registered. */
extern const struct tr_backend *tr_kernel_backend;

/* The parameters: params.c describes them. */
extern char *tr_kernel_mask;
extern int tr_kernel_priority;
extern unsigned int tr_kernel_refuse;
extern bool tr_kernel_measure;
/* Fault injection exists in builds for tests only (Kbuild: TENROUNDS_FAULTS=1). */
#ifdef TENROUNDS_FAULTS
extern char *tr_kernel_sabotage;
#else
#    define tr_kernel_sabotage NULL
#endif

/*
 * Acquires the vector registers for several bulk calls of `len` bytes in all, and for a few single
 * blocks. The caller passes the result to tr_kernel_release(), and must not sleep before that. If
 * the result is false, the registers are not acquired, and each bulk call tries to acquire them
 * itself.
 */
bool tr_kernel_hold(const struct tr_aes_key *key, unsigned int len);
void tr_kernel_release(bool held);

/* Makes the parameter "refuse" effective. Before this call, the parameter is ignored, so that the
 * known-answer tests never run on the fallback. */
void tr_kernel_vector_loaded(void);

/* Appends the backend's name to cra_driver_name, an array of CRYPTO_MAX_ALG_NAME bytes. */
void tr_kernel_name_driver(char *name, const char *backend);

int tr_kernel_register_skciphers(const char *backend, int priority);
void tr_kernel_unregister_skciphers(void);
int tr_kernel_register_aeads(const char *backend, int priority);
void tr_kernel_unregister_aeads(void);
int tr_kernel_register_hashes(const char *backend, int priority);
void tr_kernel_unregister_hashes(void);

void tr_kernel_counters_show(void);
void tr_kernel_counters_hide(void);

#endif
