/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects a backend for the provider and the engine. Applies masks, runs the known-answer tests of
 * a mode before its first use, describes the choice in words, and counts calls if
 * TENROUNDS_COUNTERS is set. */
#ifndef TENROUNDS_SELECTION_H
#define TENROUNDS_SELECTION_H

#include "counters_file.h"
#include "dispatch/counting.h"
#include "selftest/selftest.h"
#include "sha.h"

#define TROSSL_TEXT 256

/* The choice by features alone. Its backend has not passed its known-answer tests, so keys are
 * expanded for the result of trossl_backend(). */
struct trossl_choice {
    struct tr_selection by_features;
    /* The reasons for the choice, in words, or "none". */
    char masked[TROSSL_TEXT];     /* features that are not used */
    char mask_error[TROSSL_TEXT]; /* the first word of TENROUNDS_MASK that names no feature */
};

struct trossl_selection {
    struct trossl_choice choice;
    const uint32_t *verdicts; /* on the backend of the choice */
    /* The backend of the choice, or a backend that counts the calls and passes them to it. */
    const struct tr_backend *backend;
    struct trossl_counters_file *counters; /* NULL unless counting */
    struct tr_counting *counting;          /* the same */
};

/* Selects a backend by the processor, TENROUNDS_MASK and OPENSSL_ia32cap (on Arm OPENSSL_armcap),
 * and maps the host's section of the counters file. Ignores the variables in a setuid program. All
 * selections of a process make the choice of the first, which takes 10 µs in a virtual machine.
 * Does not count if memory is exhausted. */
void trossl_selection_begin(struct trossl_selection *selection, enum trossl_host host);

/* The backend to expand a key of 16, 24 or 32 bytes for: the strongest that passes these tests, a
 * set of enum tr_test. If calls are counted, returns a backend that counts them and passes them on.
 * The first call for a mode runs its tests. NULL if every backend fails. */
const struct tr_backend *trossl_backend_by_tests(const struct trossl_selection *selection,
                                                 unsigned tests, size_t key_len);
static inline const struct tr_backend *trossl_backend(const struct trossl_selection *selection,
                                                      unsigned tests, size_t key_len)
{
    return __builtin_expect(tr_has_passed(selection->verdicts, tests, key_len), 1)
               ? selection->backend
               : trossl_backend_by_tests(selection, tests, key_len);
}

/* Runs all known-answer tests that have not run yet. Describes in `passed_over` the code that
 * failed its tests, or writes "none". Returns the strongest backend that passes all tests, or
 * NULL. */
const struct tr_backend *trossl_selection_test(const struct trossl_selection *selection,
                                               char passed_over[TROSSL_TEXT]);

/* The features that the processor has and no mask removes. */
static inline tr_features trossl_features(const struct trossl_selection *selection)
{
    const struct tr_selection *s = &selection->choice.by_features;
    return s->cpu.usable & ~s->masked;
}

/* Unmaps the counters. Keys for a result of trossl_backend() may not be used afterwards. */
void trossl_selection_end(struct trossl_selection *selection);

#endif
