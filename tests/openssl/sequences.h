/* SPDX-License-Identifier: BSD-2-Clause */
/* Random sequences of steps in the differential tests, and the shortest that shows a difference. */
#ifndef TENROUNDS_TESTS_SEQUENCES_H
#define TENROUNDS_TESTS_SEQUENCES_H

#include "tap.h"

struct step {
    uint32_t what, seed; /* all the rest of the step follows from the seed */
};

#define MOST_STEPS 48

/* Does the steps on both sides with the program's subject, as a cipher; returns whether they did the same. print: tells
 * what they do. */
typedef bool run_fn(const void *subject, const struct step *steps, unsigned n, bool print);

/* Leaves out steps as long as the sequence still fails; returns how many are left. */
static inline unsigned shorten(run_fn *run, const void *subject, struct step *steps, unsigned n)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (unsigned i = n; i-- > 0;) {
            struct step fewer[MOST_STEPS];
            memcpy(fewer, steps, i * sizeof(*steps));
            memcpy(fewer + i, steps + i + 1, (n - i - 1) * sizeof(*steps));
            if (run(subject, fewer, n - 1, false))
                continue;
            memcpy(steps, fewer, --n * sizeof(*steps));
            progress = true;
        }
    }
    return n;
}

/* At most MOST_STEPS steps, of which the shortest sequence that fails is told. */
static inline bool sequence_runs(run_fn *run, const void *subject, const char *name,
                                 struct step *steps, unsigned n)
{
    if (run(subject, steps, n, false))
        return true;
    n = shorten(run, subject, steps, n);
    tap_diag("%s: %u steps show a difference, the last of these:", name, n);
    run(subject, steps, n, true);
    return false;
}

#endif
