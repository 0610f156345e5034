/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs sequences of steps for the differential tests. Shortens a failing sequence to the steps that
 * the failure needs.
 */
#ifndef TENROUNDS_TESTS_SEQUENCES_H
#define TENROUNDS_TESTS_SEQUENCES_H

#include "tap.h"

struct step {
    uint32_t what, seed; /* the kind of step, and the seed of its random details */
};

#define MOST_STEPS 48

/* Runs the steps in both providers with this cipher or MAC, and prints the steps if `print` is set.
 * Returns whether the results match. */
typedef bool run_fn(const void *subject, const struct step *steps, unsigned n, bool print);

/* Removes steps as long as the sequence still fails. Returns the number of steps that remain. */
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

/* Runs a sequence of at most MOST_STEPS steps. If the sequence fails, shortens and prints it. */
static inline bool sequence_runs(run_fn *run, const void *subject, const char *name,
                                 struct step *steps, unsigned n)
{
    if (run(subject, steps, n, false))
        return true;
    n = shorten(run, subject, steps, n);
    tap_diag("%s: these %u steps end in a difference:", name, n);
    run(subject, steps, n, true);
    return false;
}

/* Draws a sequence of at most `most` steps and runs it. There are `kinds` kinds of steps. The first
 * steps have the kinds of `first`. */
static inline bool sequence_drawn(run_fn *run, const void *subject, const char *name, unsigned most,
                                  size_t kinds, const uint32_t *first, unsigned fixed,
                                  struct tap_random *random)
{
    struct step steps[MOST_STEPS];
    const unsigned n = fixed + 1 + (unsigned)tap_below(random, most - fixed);
    for (unsigned i = 0; i < n; i++)
        steps[i] =
            (struct step){i < fixed ? first[i] : (uint32_t)tap_below(random, (uint32_t)kinds),
                          (uint32_t)tap_next(random)};
    return sequence_runs(run, subject, name, steps, n);
}

#endif
