/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the processor, with which the core chooses the faster of several ways to compute the
 * same bytes. */
#ifndef TR_TUNING_H
#define TR_TUNING_H

#include "dispatch/env.h"

/* The facts of this processor, or those that TENROUNDS_TUNE names. Never NULL. */
const struct tr_tuning *tr_tuning(void);

/* The facts of a processor: its vendor by CPUID leaf 0, family and model by leaf 1. */
const struct tr_tuning *tr_tuning_of(const char vendor[12], unsigned family, unsigned model);

#endif
