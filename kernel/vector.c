/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Taking and returning the vector registers. They are refused in interrupts that hit code which has
 * them, by the kernel's own self-tests, and by the parameter refuse; the caller then does without.
 */
#include "tenrounds_kernel.h"

#include <linux/ktime.h>

#include <asm/fpu/api.h>
#include <asm/simd.h>
#include <crypto/internal/simd.h>

static bool loaded;
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

int tr_kernel_vector_begin(void)
{
    if (unlikely(!crypto_simd_usable() || refused_by_parameter())) {
        this_cpu_inc(tr_kernel_counters.refused);
        return 0;
    }
    kernel_fpu_begin();
    this_cpu_inc(tr_kernel_counters.holds);
    if (unlikely(READ_ONCE(tr_kernel_measure)))
        this_cpu_write(since, ktime_get_mono_fast_ns());
    return 1;
}

/* Between begin and end the task stays on its processor, and nobody else there comes so far. */
void tr_kernel_vector_end(void)
{
    u64 began = this_cpu_read(since);

    if (unlikely(began != 0)) {
        u64 held = ktime_get_mono_fast_ns() - began;

        this_cpu_write(since, 0);
        if (held > this_cpu_read(tr_kernel_counters.longest_hold_ns))
            this_cpu_write(tr_kernel_counters.longest_hold_ns, held);
    }
    kernel_fpu_end();
}
