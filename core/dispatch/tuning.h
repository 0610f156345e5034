/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the processor. With them, the core chooses the fastest of several functions that
 * compute the same bytes. */
#ifndef TR_TUNING_H
#define TR_TUNING_H

#include "dispatch/env.h"

/* The vendor (CPUID leaf 0), family and model (leaf 1) of a processor; zeros if it has no CPUID. */
struct tr_model {
    char vendor[12];
    unsigned family, model;
};

/* tr_cpu_detect(), and the processor's model. Executes CPUID once for each leaf, because CPUID
 * takes 1 µs or more in a virtual machine. */
void tr_cpu_read(struct tr_cpu *cpu, struct tr_model *model);

/* The facts about this processor, or about the microarchitecture that the environment variable
 * TENROUNDS_TUNE names. Never NULL. A caller that has read the model passes it; others pass
 * NULL. */
const struct tr_tuning *tr_tuning_here(const struct tr_model *model);
static inline const struct tr_tuning *tr_tuning(void)
{
    return tr_tuning_here(NULL);
}

/* The facts about a processor with this vendor, family and model. */
const struct tr_tuning *tr_tuning_of(const char vendor[12], unsigned family, unsigned model);

#endif
