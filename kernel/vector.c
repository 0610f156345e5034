/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Taking and returning the vector registers. They are refused in interrupts that hit code which has
 * them, by the kernel's own self-tests, and by the parameter refuse; the caller then does without.
 *
 * Each bulk call of the core takes and returns them. For a step that needs several, tr_kernel_hold() takes them
 * before; the bulk calls find them taken and leave them so.
 */
#include "tenrounds_kernel.h"

#include <linux/ktime.h>
#include <linux/preempt.h>

#include <asm/fpu/api.h>
#include <asm/simd.h>
#include <crypto/internal/simd.h>

static bool loaded;
/* The context that tr_kernel_hold() took the registers of this processor for, or 0. */
static DEFINE_PER_CPU(unsigned int, holder);
static DEFINE_PER_CPU(unsigned int, asked);
static DEFINE_PER_CPU(u64, since);

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
 * An interrupt that hits a hold sees its holder, but is another context. Of the same context there is no other on
 * this processor: whoever holds is not preempted, and an interrupt is hit by none of its own kind.
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

/* Between begin and end the task stays on its processor, and nobody else there comes so far. */
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
