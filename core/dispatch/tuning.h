/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the processor. With them, the core chooses the fastest of several functions that
 * compute the same bytes. */
#ifndef TR_TUNING_H
#define TR_TUNING_H

#include "dispatch/env.h"

/* The facts about this processor, or about the microarchitecture that the environment variable
 * TENROUNDS_TUNE names. Never NULL. */
const struct tr_tuning *tr_tuning(void);

/* The facts about a processor with this vendor (CPUID leaf 0), family and model (leaf 1). */
const struct tr_tuning *tr_tuning_of(const char vendor[12], unsigned family, unsigned model);

#endif
