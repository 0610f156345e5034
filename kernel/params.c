/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The module's parameters; docs/kernel.md describes them. */
#include "tenrounds_kernel.h"

#include <linux/module.h>

char *tr_kernel_mask;
module_param_named(mask, tr_kernel_mask, charp, 0444);
MODULE_PARM_DESC(mask, "processor features not to use, as in TENROUNDS_MASK: noavx512,novaes,...; "
                       "avx512 allows 512-bit registers even where they lower the clock");

int tr_kernel_priority;
module_param_named(priority, tr_kernel_priority, int, 0444);
MODULE_PARM_DESC(
    priority, "cra_priority of all algorithms; 0 selects 450 with VAES, 250 with AES-NI, else 90");

#ifdef TENROUNDS_FAULTS
char *tr_kernel_sabotage;
module_param_named(sabotage, tr_kernel_sabotage, charp, 0444);
MODULE_PARM_DESC(sabotage,
                 "for tests: backends whose known-answer tests fail, separated by commas");
#endif

/* Unlike "sabotage", this parameter is in every build, because it gives no wrong results: it only
 * causes the fallback, which also happens in some interrupts. So the tests can set it while the
 * installed module is loaded, and root can measure the cost of the fallback. Only root can set it,
 * and `tenrounds doctor` warns if it is set. */
unsigned int tr_kernel_refuse;
module_param_named(refuse, tr_kernel_refuse, uint, 0600);
MODULE_PARM_DESC(refuse,
                 "for tests: N refuses every Nth request for the vector registers, 1 all, 0 none");

bool tr_kernel_measure;

/* Setting the parameter to true restarts the measurement. */
static int set_measure(const char *value, const struct kernel_param *parameter)
{
    int cpu, err = param_set_bool(value, parameter);

    if (err == 0 && tr_kernel_measure) {
        for_each_possible_cpu(cpu) per_cpu(tr_kernel_counters, cpu).longest_hold_ns = 0;
    }
    return err;
}

static const struct kernel_param_ops measure_ops = {
    .flags = KERNEL_PARAM_OPS_FL_NOARG, .set = set_measure, .get = param_get_bool};
module_param_cb(measure, &measure_ops, &tr_kernel_measure, 0600);
__MODULE_PARM_TYPE(measure, "bool");
MODULE_PARM_DESC(measure,
                 "measure how long the vector registers are held, for longest_hold_ns in debugfs");
