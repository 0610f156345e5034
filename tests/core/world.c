/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core in a world that refuses the vector registers, at any time, and bounds how much is done in one hold of
 * them: the known answers of every backend come out right all the same, keys that were expanded without registers
 * included. The core is compiled for such a world here, as it is for a kernel.
 */
#include "common.h"
#include "selftest.h"
#if defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

static size_t most;     /* blocks in a hold */
static unsigned refuse; /* 0: never, 1: always, 2: at random */
static bool held;
static unsigned long holds, refusals, nested;
static struct tap_random random_numbers;

int world_begin(void)
{
    if (refuse == 1 || (refuse == 2 && tap_next(&random_numbers) % 2 == 0)) {
        refusals++;
        return 0;
    }
    nested += held;
    held = true;
    holds++;
    return 1;
}

void world_end(void)
{
    held = false;
}

size_t world_most(void)
{
    return most;
}

unsigned long tr_env_hwcap(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return getauxval(AT_HWCAP);
#else
    return 0;
#endif
}

const struct tr_backend *tr_backend_selected(void)
{
    return &tr_bitslice;
}

static const size_t bounds[] = {SIZE_MAX, 1, 5, 64};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))
#define ROUNDS 8 /* with refusals at random */

static void known_answers(const struct tr_backend *b, struct tr_known_work *work)
{
    unsigned long unbounded = 0;
    for (unsigned i = 0; i < BOUNDS; i++) {
        bool right = true;
        char bound[32] = "no bound";
        if (i != 0)
            snprintf(bound, sizeof(bound), "%zu blocks a hold", bounds[i]);
        most = bounds[i];
        refuse = 0;
        holds = 0;
        right &= tr_known_answers(b, 0, work) == TR_OK;
        unbounded = i == 0 ? holds : unbounded;
        bool split = b->features == 0 ? holds == 0 : i == 0 || holds > unbounded;
        tap_ok(right && split, "%s, %s: %lu holds", b->name, bound, holds);

        refuse = 1;
        holds = refusals = 0;
        right = tr_known_answers(b, 0, work) == TR_OK;
        refuse = 2;
        for (unsigned round = 0; round < ROUNDS; round++)
            right &= tr_known_answers(b, 0, work) == TR_OK;
        right &= (b->features == 0) == (refusals == 0);
        tap_ok(right, "%s, %s: %lu holds, %lu refused", b->name, bound, holds, refusals);
    }
}

int main(void)
{
    static struct tr_known_work work;
    tap_plan((unsigned)(2 * BOUNDS) * backend_count() + 2);
    random_numbers = tap_random(0);
    for (unsigned i = 0; i < backend_count(); i++) {
        const struct tr_backend *b = tr_backend_at(i);
        if (!backend_skip(b, 2 * BOUNDS))
            known_answers(b, &work);
    }
    tap_ok(nested == 0 && !held, "holds are not nested and all come to an end");
    tap_ok(tr_known_answers(&tr_bitslice, 1, &work) == TR_ERR_SELF_TEST,
           "a falsified answer is noticed");
    return tap_done();
}
