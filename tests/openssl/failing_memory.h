/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator for libcrypto whose allocations can be made to fail, and the loop that fails each
 * allocation of a scenario in turn. The provider and the engine allocate through libcrypto, so
 * this allocator sees all their allocations. It can also call longjmp() inside an allocation.
 */
#ifndef TENROUNDS_TESTS_FAILING_MEMORY_H
#define TENROUNDS_TESTS_FAILING_MEMORY_H

#include "tap.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <setjmp.h>

/* ---- The allocator -------------------------------------------------------------------------- */

/* Precedes each block. */
struct memory_block {
    struct memory_block *previous, *next;
    size_t size;
    const char *file; /* the source file and line that allocated the block */
    int line;
} __attribute__((aligned(16)));

enum memory_failure { MEMORY_ONE, MEMORY_ALL_AFTER, MEMORY_FAILURES };

static struct {
    struct memory_block live; /* the head of a ring */
    long until_failure;       /* counts down to the allocation that fails; 0: nothing fails */
    enum memory_failure kind;
    long failed;
    const char *file; /* the source file and line of the last failed allocation */
    int line;
    bool libcrypto_may_leak; /* only the leaks of openssl/provider/ count */
    size_t stride;           /* the longest distance between failures, in allocations */
    const char *jumps_in;    /* NULL, or the folder whose allocations count for until_jump */
    long until_jump;         /* counts down to the allocation that calls longjmp() */
    jmp_buf out;
} memory = {.live = {.previous = &memory.live, .next = &memory.live}, .stride = 1};

static bool memory_fails(const char *file, int line)
{
    if (memory.until_failure == 0)
        return false;
    if (memory.until_failure > 1) {
        memory.until_failure--;
        return false;
    }
    if (memory.kind == MEMORY_ONE)
        memory.until_failure = 0;
    memory.failed++;
    memory.file = file;
    memory.line = line;
    return true;
}

/* Suspends the failures, until the caller sets memory.until_failure to the result again. */
static inline long memory_suspend(void)
{
    const long until_failure = memory.until_failure;
    memory.until_failure = 0;
    return until_failure;
}

static void memory_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    if (p == NULL)
        return;
    struct memory_block *block = (struct memory_block *)p - 1;
    block->previous->next = block->next;
    block->next->previous = block->previous;
    memset(p, 0xdd, block->size); /* so that use after free shows */
    free(block);
}

static void *memory_malloc(size_t size, const char *file, int line)
{
    struct memory_block *block;
    if (memory.jumps_in != NULL && file != NULL && strstr(file, memory.jumps_in) != NULL &&
        --memory.until_jump == 0)
        longjmp(memory.out, 1);
    if (memory_fails(file, line) || (block = malloc(sizeof(*block) + size)) == NULL)
        return NULL;
    if (file == NULL) /* a libcrypto that was built without the names of its files */
        file = "libcrypto";
    *block = (struct memory_block){memory.live.previous, &memory.live, size, file, line};
    block->previous->next = block;
    memory.live.previous = block;
    return memset(block + 1, 0xa5, size); /* so that use before initialization shows */
}

static void *memory_realloc(void *p, size_t size, const char *file, int line)
{
    if (size == 0) {
        memory_free(p, file, line);
        return NULL;
    }
    void *const moved = memory_malloc(size, file, line);
    if (moved == NULL || p == NULL)
        return moved;
    const size_t old = ((struct memory_block *)p - 1)->size;
    memcpy(moved, p, old < size ? old : size);
    memory_free(p, file, line);
    return moved;
}

/* Call this before any other function of libcrypto. */
static void memory_begin(void)
{
    if (CRYPTO_set_mem_functions(memory_malloc, memory_realloc, memory_free) == 1)
        return;
    fprintf(stderr, "libcrypto does not accept the allocator\n");
    exit(2);
}

/* Whether a block that is alive counts as a leak. Blocks of the error queue (/err/) do not, because
 * the queue keeps the memory of its texts for later texts. */
static bool memory_counts(const struct memory_block *block)
{
    return memory.libcrypto_may_leak ? strstr(block->file, "openssl/provider/") != NULL
                                     : strstr(block->file, "/err/") == NULL;
}

static size_t memory_live(void)
{
    size_t n = 0;
    for (const struct memory_block *b = memory.live.next; b != &memory.live; b = b->next)
        n += memory_counts(b);
    return n;
}

static void memory_show_newest(size_t n)
{
    for (const struct memory_block *b = memory.live.previous; n > 0 && b != &memory.live;
         b = b->previous) {
        if (!memory_counts(b))
            continue;
        tap_diag("  alive: %zu bytes of %s:%d", b->size, b->file, b->line);
        n--;
    }
}

/* ---- Scenarios ------------------------------------------------------------------------------ */

/* What a scenario has computed. */
struct memory_trace {
    size_t len;
    uint8_t bytes[1 << 14];
};

static void memory_record(struct memory_trace *trace, const void *bytes, size_t len)
{
    if (len > sizeof(trace->bytes) - trace->len) {
        fprintf(stderr, "struct memory_trace is too small\n");
        exit(2);
    }
    memcpy(trace->bytes + trace->len, bytes, len);
    trace->len += len;
}

/* Calls the functions under test until one fails. Returns whether all succeeded; frees everything
 * in either case. */
typedef bool memory_scenario(const void *arg, struct memory_trace *trace);

static bool memory_same(const struct memory_trace *a, const struct memory_trace *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool memory_run(memory_scenario *scenario, const void *arg, struct memory_trace *trace)
{
    trace->len = 0;
    const bool good = scenario(arg, trace);
    ERR_clear_error();
    return good;
}

/* Fails allocation n of a scenario, or all allocations from n on. Sets *ended if the scenario makes
 * fewer than n allocations. */
static bool memory_fail_at(long n, enum memory_failure kind, memory_scenario *scenario,
                           const void *arg, const struct memory_trace *expected, bool *ended)
{
    static struct memory_trace trace;
    const size_t before = memory_live();
    memory.kind = kind;
    memory.failed = 0;
    memory.until_failure = n;
    const bool succeeded = memory_run(scenario, arg, &trace);
    memory.until_failure = 0;
    *ended = memory.failed == 0;
    const char *wrong = succeeded && !memory_same(&trace, expected) ? "success with wrong results"
                        : !succeeded && *ended ? "an error although nothing failed"
                                               : NULL;
    if (!memory_run(scenario, arg, &trace) || !memory_same(&trace, expected))
        wrong = "does not work any more afterwards";
    else if (memory_live() != before)
        wrong = "a leak";
    if (wrong == NULL)
        return true;
    tap_diag("allocation %ld (%s:%d)%s fails: %s", n, memory.file ? memory.file : "none",
             memory.line, kind == MEMORY_ONE ? "" : " and all later ones", wrong);
    if (memory_live() > before)
        memory_show_newest(memory_live() - before);
    return false;
}

/*
 * Fails the allocations of a scenario in turn. The scenario must then return an error, or the
 * expected results if the failure does not matter. After each failure, the scenario must work again
 * without failures, and free all memory. The first two runs fill libcrypto's caches.
 */
static void memory_test(const char *what, memory_scenario *scenario, const void *arg,
                        const struct memory_trace *expected)
{
    static struct memory_trace trace;
    struct tap_random random = tap_random(0);
    long failures = 0;
    bool good = true;
    for (int i = 0; good && i < 2; i++)
        good = memory_run(scenario, arg, &trace) && memory_same(&trace, expected);
    for (enum memory_failure kind = 0; good && kind < MEMORY_FAILURES; kind++) {
        bool ended = false;
        for (long n = 1; good && !ended; n += 1 + (long)tap_below(&random, memory.stride)) {
            good = memory_fail_at(n, kind, scenario, arg, expected, &ended);
            failures += !ended;
        }
    }
    tap_ok(good && failures != 0, "%s: an allocation fails (%ld times)", what, failures);
}

/* ---- longjmp() ------------------------------------------------------------------------------ */

/* Runs a scenario, and calls longjmp() inside allocation n of those made by files in `folder`.
 * Returns false if there are fewer than n. */
static inline bool memory_leave_at(long n, const char *folder, memory_scenario *scenario,
                                   const void *arg)
{
    static struct memory_trace trace;
    memory.until_jump = n;
    if (setjmp(memory.out) != 0) {
        memory.jumps_in = NULL;
        return true;
    }
    memory.jumps_in = folder;
    (void)memory_run(scenario, arg, &trace);
    memory.jumps_in = NULL;
    return false;
}

/* Calls longjmp() inside each allocation made by files in `folder`, one per run. After each jump,
 * the scenario must work with new objects. The old objects stay allocated. Adds the number of jumps
 * to *jumps. */
static inline bool memory_jumps(const char *folder, memory_scenario *scenario, const void *arg,
                                const struct memory_trace *expected, long *jumps)
{
    static struct memory_trace trace;
    bool good = true;
    for (long n = 1; good && memory_leave_at(n, folder, scenario, arg); n++) {
        good = memory_run(scenario, arg, &trace) && memory_same(&trace, expected);
        ++*jumps;
    }
    return good;
}

#endif
