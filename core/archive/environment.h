/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of the archive libtenrounds-core.a, which calls no function of a C library but
 * memcpy(), memmove(), memset() and memcmp(). scripts/archive appends this file to the archive's
 * tenrounds.h. */
#ifndef TENROUNDS_ENVIRONMENT_H
#define TENROUNDS_ENVIRONMENT_H

#include "tenrounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions and values that a program supplies. A field that is zero selects the default. */
struct tr_environment {
    /* Returns the value of an environment variable, or NULL: TENROUNDS_MASK, TENROUNDS_TUNE. A
     * program that may be setuid passes secure_getenv(3). Default: no variable is set. */
    const char *(*variable)(const char *name);
    /* Reports that every AES implementation failed its known-answer tests, and does not return.
     * Default: a trap instruction. */
    void (*fatal)(const char *why);
    /* On Arm, the value of getauxval(AT_HWCAP); it is not used elsewhere. Default: a processor
     * without AES instructions. */
    unsigned long hwcap;
};

/* Sets the environment. Call it before any other function, in one thread; `environment` must stay
 * as it is from then on. A program that is content with the defaults does not call it. */
TR_API void tr_set_environment(const struct tr_environment *environment);

#ifdef __cplusplus
}
#endif
#endif
