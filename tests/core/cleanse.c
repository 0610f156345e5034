/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that tr_cleanse() clears its buffer and nothing else, and that the compiler keeps the call
 * where the memory is never read again. A function puts a secret on a separate stack, cleanses it
 * and returns; then the test searches that stack. A second function does not cleanse, which shows
 * that the search works. */
#include "common.h"

#include <ucontext.h>

#define SECRET 64

static struct tap_random rng;

static void test_range(void)
{
    uint8_t memory[300];
    unsigned n = 0, good = 0;
    for (size_t len = 0; len <= 256; len++, n++) {
        const size_t at = tap_below(&rng, 32);
        bool right = true;
        memset(memory, 0xa5, sizeof(memory));
        tr_cleanse(memory + at, len);
        for (size_t i = 0; i < sizeof(memory); i++)
            right &= memory[i] == (i >= at && i < at + len ? 0 : 0xa5);
        good += right;
    }
    tap_ok(good == n, "tr_cleanse() clears the buffer and no byte around it, at %u of %u lengths",
           good, n);
}

static uint8_t secret[SECRET];
static uint8_t stack[256 * 1024] __attribute__((aligned(64)));
static ucontext_t test_context, function_context;

/* Puts the secret into `local`. The empty asm statement makes the compiler assume that `local` is
 * read. The secret lies at the low end of `local`. Code that runs between the return and the search
 * overwrites the highest addresses of the separate stack. */
#define ROOM 1024
#define KEEP_SECRET(local)                                                                         \
    memcpy(local, secret, SECRET);                                                                 \
    __asm__ volatile("" : : "r"(local) : "memory")

static void with_cleanse(void)
{
    uint8_t local[ROOM];
    KEEP_SECRET(local);
    tr_cleanse(local, SECRET);
}

static void without_cleanse(void)
{
    uint8_t local[ROOM];
    KEEP_SECRET(local);
}

/* Runs f on a separate stack. Returns whether the secret is on that stack afterwards. */
static bool left_by(void (*f)(void))
{
    memset(stack, 0, sizeof(stack));
    if (getcontext(&function_context) != 0)
        return true;
    function_context.uc_stack.ss_sp = stack;
    function_context.uc_stack.ss_size = sizeof(stack);
    function_context.uc_link = &test_context;
    makecontext(&function_context, f, 0);
    if (swapcontext(&test_context, &function_context) != 0)
        return true;
    for (size_t i = 0; i + SECRET <= sizeof(stack); i++)
        if (memcmp(stack + i, secret, SECRET) == 0)
            return true;
    return false;
}

int main(void)
{
    tap_plan(3);
    rng = tap_random(0);
    tap_fill(&rng, secret, sizeof(secret));
    test_range();
    tap_ok(left_by(without_cleanse), "the search finds a secret on the stack without tr_cleanse()");
    tap_ok(!left_by(with_cleanse), "the search finds no secret on the stack after tr_cleanse()");
    return tap_done();
}
