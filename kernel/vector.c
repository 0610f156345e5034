/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Acquires and releases the vector registers. Acquisition fails in an interrupt handler while the
 * interrupted code holds the registers. It also fails at random in the kernel's self-tests, and as
 * often as the parameter "refuse" says. After a failure, the core falls back to bitslice.
 *
 * Each bulk call of the core acquires and releases the registers. If a step needs several bulk
 * calls, tr_kernel_hold() acquires the registers first, and the bulk calls then neither acquire nor
 * release them.
 */
#include "tenrounds_kernel.h"

#include <linux/ktime.h>
#include <linux/preempt.h>

#include <asm/fpu/api.h>
#include <asm/simd.h>
#include <crypto/internal/simd.h>

static bool loaded;
/* The context() for which tr_kernel_hold() acquired this processor's registers, or 0. */
static DEFINE_PER_CPU(unsigned int, holder);
static DEFINE_PER_CPU(unsigned int, asked); /* requests counted for the parameter "refuse" */
static DEFINE_PER_CPU(u64, since);          /* start of the current hold in ns; 0 if not measured */

void tr_kernel_vector_loaded(void)
{
    WRITE_ONCE(loaded, true);
}

static bool refused_by_parameter(void)
{
    unsigned int every = READ_ONCE(tr_kernel_refuse);

    return unlikely(every != 0) && READ_ONCE(loaded) && this_cpu_inc_return(asked) % every == 0;
}

/*
 * The kind of the running context: task, softirq, hardirq or NMI. An interrupt handler compares its
 * kind with `holder`, so it never uses registers that the interrupted code holds. Two contexts of
 * one kind never overlap on a processor: code that holds the registers is not preempted, and no
 * interrupt interrupts another interrupt of its kind.
 */
static unsigned int context(void)
{
    return 1 + (preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

int tr_kernel_vector_begin(void)
{
    if (raw_cpu_read(holder) == context())
        return 1;
    if (unlikely(!crypto_simd_usable() || refused_by_parameter())) {
        raw_cpu_inc(tr_kernel_counters.refused);
        return 0;
    }
    kernel_fpu_begin();
    raw_cpu_inc(tr_kernel_counters.holds);
    if (unlikely(READ_ONCE(tr_kernel_measure)))
        raw_cpu_write(since, ktime_get_mono_fast_ns());
    return 1;
}

/* Releases the registers, except between tr_kernel_hold() and tr_kernel_release(). The per-CPU
 * variables need no lock, because between begin and end the task is not preempted, and an interrupt
 * cannot acquire the registers. */
void tr_kernel_vector_end(void)
{
    u64 began = raw_cpu_read(since);

    if (raw_cpu_read(holder) != 0)
        return;
    if (unlikely(began != 0)) {
        u64 held = ktime_get_mono_fast_ns() - began;

        raw_cpu_write(since, 0);
        if (held > raw_cpu_read(tr_kernel_counters.longest_hold_ns))
            raw_cpu_write(tr_kernel_counters.longest_hold_ns, held);
    }
    kernel_fpu_end();
}

bool tr_kernel_hold(const struct tr_aes_key *key, unsigned int len)
{
    if (!(key->backend->features & TR_FEATURE_AES) || len > TR_KERNEL_HOLD ||
        !tr_kernel_vector_begin())
        return false;
    raw_cpu_write(holder, context());
    return true;
}

void tr_kernel_release(bool held)
{
    if (held) {
        raw_cpu_write(holder, 0);
        tr_kernel_vector_end();
    }
}
