/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What the files of the module share. The module is the core (../core, the same files as in user space) and
 *
 *   module.c      loading and unloading: the choice of a backend, known answers, registration
 *   params.c      the module's parameters
 *   features.c    which features of the processor the kernel lets anybody use
 *   vector.c      taking and returning the vector registers
 *   skcipher.c    ecb, cbc, cts(cbc), ctr, xctr and xts
 *   aead.c        gcm, rfc4106(gcm) and ccm
 *   steps.h       a request's data in steps of at most a page
 *   counters.c    what was done, under debugfs
 *   env_kernel.h  the world that the core sees here; include/ its two headers of the C library
 */
#ifndef TENROUNDS_KERNEL_H
#define TENROUNDS_KERNEL_H

#include "backend.h"

#include <linux/irqflags.h> /* where percpu.h forgets it: user-mode Linux */
#include <linux/percpu.h>

/* Memory that is written before it is read, and is not to be cleared beforehand. */
#ifndef __uninitialized
#    define __uninitialized
#endif

/* Of a context, with room to align its keys: the kernel aligns contexts to 8 bytes only. */
#define TR_KERNEL_CONTEXT_SIZE(type) (sizeof(type) + __alignof__(type))

/* The algorithms: X(constant, name in the kernel). */
#define TR_KERNEL_ALGS(X)                                                                          \
    X(ECB, "ecb(aes)")                                                                             \
    X(CBC, "cbc(aes)")                                                                             \
    X(CTS, "cts(cbc(aes))")                                                                        \
    X(CTR, "ctr(aes)")                                                                             \
    X(XCTR, "xctr(aes)")                                                                           \
    X(XTS, "xts(aes)")                                                                             \
    X(GCM, "gcm(aes)")                                                                             \
    X(RFC4106, "rfc4106(gcm(aes))")                                                                \
    X(CCM, "ccm(aes)")

enum tr_kernel_alg {
#define TR_KERNEL_ALG(constant, name) TR_KERNEL_##constant,
    TR_KERNEL_ALGS(TR_KERNEL_ALG)
#undef TR_KERNEL_ALG
        TR_KERNEL_ALG_COUNT
};

/* One a processor; added up when read. */
struct tr_kernel_counters {
    struct {
        u64 calls, bytes, steps;
    } alg[TR_KERNEL_ALG_COUNT];
    u64 holds, refused; /* of the vector registers */
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

/* The choice, set before anything is registered. */
extern const struct tr_backend *tr_kernel_backend;

/* The parameters: see params.c. */
extern char *tr_kernel_mask, *tr_kernel_sabotage;
extern int tr_kernel_priority;
extern unsigned int tr_kernel_refuse;
extern bool tr_kernel_measure;

/*
 * Takes the vector registers for what is done to len bytes, a few blocks beside them included, until
 * tr_kernel_release(), which gets what this returned. In between nothing may sleep. Where it does not
 * take them, the core's calls try for themselves.
 */
bool tr_kernel_hold(const struct tr_aes_key *key, unsigned int len);
void tr_kernel_release(bool held);

/* From here on the parameter refuse counts: known answers are not to be computed by the fallback. */
void tr_kernel_vector_loaded(void);

/* Completes cra_driver_name, which has CRYPTO_MAX_ALG_NAME bytes, by the backend's. */
void tr_kernel_name_driver(char *name, const char *backend);

int tr_kernel_register_skciphers(const char *backend, int priority);
void tr_kernel_unregister_skciphers(void);
int tr_kernel_register_aeads(const char *backend, int priority);
void tr_kernel_unregister_aeads(void);

void tr_kernel_counters_show(void);
void tr_kernel_counters_hide(void);

#endif
