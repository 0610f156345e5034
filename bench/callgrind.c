/* SPDX-License-Identifier: BSD-2-Clause */
/* Callgrind's client requests, which are macros, as functions for bench/src/calls. */
#include <stdbool.h>

#if __has_include(<valgrind/callgrind.h>)
#    include <valgrind/callgrind.h>
#else
#    define CALLGRIND_TOGGLE_COLLECT
#    define CALLGRIND_ZERO_STATS
#    define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#    define RUNNING_ON_VALGRIND           0
#endif

bool callgrind_runs(void);
void callgrind_zero(void);
void callgrind_toggle(void);
void callgrind_dump(const char *label);

/* Whether valgrind runs the program. False if its header was missing at build time. */
bool callgrind_runs(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

/* Sets the counts to zero. */
void callgrind_zero(void)
{
    CALLGRIND_ZERO_STATS;
}

/* Starts or stops counting. */
void callgrind_toggle(void)
{
    CALLGRIND_TOGGLE_COLLECT;
}

/* Writes the counts to a new file. */
void callgrind_dump(const char *label)
{
    CALLGRIND_DUMP_STATS_AT(label);
}
