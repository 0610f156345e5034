/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests tap.h itself: it must report every kind of failure. */
#define _DEFAULT_SOURCE /* fork, setenv */
#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

static void passes(void)
{
    tap_plan(2);
    tap_ok(true, "one");
    tap_ok(tap_same("ab", "ab", 2), "two");
}

static void fails(void)
{
    tap_plan(2);
    tap_ok(false, "one");
    tap_ok(true, "two");
}

static void differs(void)
{
    tap_plan(1);
    tap_ok(tap_same("ab", "ac", 2), "one");
}

static void gives_too_few(void)
{
    tap_plan(2);
    tap_ok(true, "one");
}

static void gives_too_many(void)
{
    tap_plan(1);
    tap_ok(true, "one");
    tap_ok(true, "two");
}

static void gives_none(void)
{
    tap_plan(0);
}

static void skips(void)
{
    tap_plan(1);
    tap_skip(1, NULL, "for no reason");
}

static void must_not_skip(void)
{
    setenv("TENROUNDS_MUST_RUN", "1", 1);
    skips();
}

/* Gives a flag that no processor has as the reason for a skip: the skip is allowed. */
static void may_skip(void)
{
    setenv("TENROUNDS_MUST_RUN", "1", 1);
    tap_plan(1);
    tap_skip(1, "nosuchflag", "for a missing flag");
}

/* Gives flags that every processor of the architecture has: the skip is a failure. */
static void names_a_present_flag(void)
{
    setenv("TENROUNDS_MUST_RUN", "1", 1);
    tap_plan(1);
#if defined(__x86_64__) || defined(__i386__)
    tap_skip(1, "fpu tsc", "for a flag that is there");
#elif defined(__aarch64__)
    tap_skip(1, "fp asimd", "for a flag that is there");
#else
    tap_skip(1, NULL, "for a flag that is there");
#endif
}

static void repeats_numbers(void)
{
    setenv("TENROUNDS_SEED", "0x1234", 1);
    struct tap_random a = tap_random(1), b = tap_random(1), c = tap_random(2);
    const uint64_t x = tap_next(&a);
    tap_plan(1);
    tap_ok(tap_seed() == 0x1234 && x == tap_next(&b) && x != tap_next(&c), "one");
}

static void has_a_bad_seed(void)
{
    setenv("TENROUNDS_SEED", "12x", 1);
    passes();
    (void)tap_random(0);
}

static const struct {
    void (*run)(void);
    const char *name;
    bool good;
} scenarios[] = {
    {passes, "a program whose results pass succeeds", true},
    {fails, "a program with a failed result fails", false},
    {differs, "a program that finds different bytes fails", false},
    {gives_too_few, "a program that gives too few results fails", false},
    {gives_too_many, "a program that gives too many results fails", false},
    {gives_none, "a program that gives no result fails", false},
    {skips, "a program that skips a test succeeds", true},
    {must_not_skip, "a program that skips a test that must run fails", false},
    {may_skip, "a program that skips because the processor lacks a flag succeeds", true},
    {names_a_present_flag, "a program that skips although the processor has the flag fails", false},
    {repeats_numbers, "a program with the same seed gets the same random numbers", true},
    {has_a_bad_seed, "a program with a seed that is not a number fails", false},
};

static int status_of(void (*run)(void))
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        memset(&tap, 0, sizeof(tap));
        unsetenv("TENROUNDS_MUST_RUN");
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(100);
        run();
        exit(tap_done());
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int main(void)
{
    const size_t n = sizeof(scenarios) / sizeof(*scenarios);
    tap_plan((unsigned)n);
    for (size_t i = 0; i < n; i++) {
        const int status = status_of(scenarios[i].run);
        tap_ok(status == 0 ? scenarios[i].good : !scenarios[i].good && status > 0 && status < 100,
               "%s: exit status %d", scenarios[i].name, status);
    }
    return tap_done();
}
