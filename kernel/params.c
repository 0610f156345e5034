/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The module's parameters. */
#include "tenrounds_kernel.h"

#include <linux/module.h>

char *tr_kernel_mask;
module_param_named(mask, tr_kernel_mask, charp, 0444);
MODULE_PARM_DESC(
    mask, "features not to be used, as TENROUNDS_MASK: noavx512,novaes,...; if given, even empty, "
          "512 bits are used where they cost clock frequency, too");

int tr_kernel_priority;
module_param_named(priority, tr_kernel_priority, int, 0444);
MODULE_PARM_DESC(priority,
                 "cra_priority of all algorithms; 0: 450 with VAES, 250 with AES-NI, else 90");

char *tr_kernel_sabotage;
module_param_named(sabotage, tr_kernel_sabotage, charp, 0444);
MODULE_PARM_DESC(sabotage,
                 "for tests: backends whose known answers are falsified, separated by commas");

unsigned int tr_kernel_refuse;
module_param_named(refuse, tr_kernel_refuse, uint, 0600);
MODULE_PARM_DESC(refuse,
                 "for tests: N refuses every Nth use of the vector registers, 1 all, 0 none");

bool tr_kernel_measure;
module_param_named(measure, tr_kernel_measure, bool, 0600);
MODULE_PARM_DESC(measure, "time how long the vector registers are held, for longest_hold_ns");
