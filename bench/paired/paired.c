/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times the operations of two builds of the core, alternating window by window. One worker process
 * of scripts/bench-commits.
 *
 *     paired OLD.so NEW.so --list BACKEND...     prints the operations and which backends can run
 *     paired OLD.so NEW.so SEED ROUNDS WINDOW    reads cells, prints times; WINDOW is in ns
 *
 * A cell is a line "OPERATION BACKEND KEYBITS BYTES" of standard input. The answer is one line: the
 * cell, the number of disturbed rounds, and for each round the ns per call, old and new.
 *
 * The key is set anew before each window, and both builds use the same memory. State, input and
 * output begin at cache lines that are drawn at random for each round, so the position of the data
 * favours neither build. The order of the two windows is random, too.
 */
#define _GNU_SOURCE
#include "ops.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE      4096u
#define LINE      64u
#define MAX_BYTES (1u << 20)
#define STREAMS   16u
#define REPEATS   4u   /* repetitions of a disturbed window */
#define DISTURBED 0.05 /* relative difference of wall clock and CPU time */

static __attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bench-commits: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators" (2016). */
static uint64_t seed;
static unsigned draw(unsigned below)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (unsigned)((seed * 0x2545f4914f6cdd1d) >> 33) % below;
}

/* ---- Memory --------------------------------------------------------------------------------- */

struct place {
    uint8_t *state, *in, *out;
};

static uint8_t *state_memory, *in_memory, *out_memory, *plain;

static uint8_t *pages(size_t size)
{
    uint8_t *memory = aligned_alloc(PAGE, (size + 2 * PAGE - 1) / PAGE * PAGE);
    if (memory == NULL)
        fail("no memory");
    memset(memory, 0, size);
    return memory;
}

static struct place drawn_place(void)
{
    return (struct place){state_memory + LINE * draw(PAGE / LINE),
                          in_memory + LINE * draw(PAGE / LINE),
                          out_memory + LINE * draw(PAGE / LINE)};
}

/* ---- Windows -------------------------------------------------------------------------------- */

struct cell {
    char name[64], backend[32];
    unsigned bits, bytes;
    size_t len, in_len, out_len;
    const struct paired_op *op[2];
};

static void prepare(const struct cell *cell, unsigned which, struct place at)
{
    memcpy(at.in, plain, cell->in_len);
    cell->op[which]->prepare(at.state, cell->backend, cell->bits / 8, at.in, cell->len);
}

static double clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Times one window: ns per call. *disturbed says whether another process used the processor. */
static double window(const struct cell *cell, unsigned which, struct place at, size_t calls,
                     bool *disturbed)
{
    const struct paired_op *op = cell->op[which];
    prepare(cell, which, at);
    op->run(at.state, at.out, at.in, cell->len, calls / 10 + 1);
    const double cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), start = clock_ns(CLOCK_MONOTONIC);
    op->run(at.state, at.out, at.in, cell->len, calls);
    const double wall = clock_ns(CLOCK_MONOTONIC) - start;
    const double busy = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    *disturbed = busy < wall * (1 - DISTURBED) || busy > wall * (1 + DISTURBED);
    return wall / (double)calls;
}

/* The number of calls that fill a window. */
static size_t calls_in(const struct cell *cell, double wanted)
{
    const struct place at = drawn_place();
    bool disturbed;
    size_t calls = 1;
    double each = window(cell, 0, at, calls, &disturbed);
    while (each * (double)calls < wanted / 8 && calls < 1u << 24) {
        calls *= 2;
        each = window(cell, 0, at, calls, &disturbed);
    }
    const double fit = wanted / each;
    return fit < 1 ? 1 : (size_t)fit;
}

/* Checks that three calls give the same output with both builds. */
static void check(const struct cell *cell)
{
    const struct place at = drawn_place();
    uint8_t *first = malloc(cell->out_len);
    if (first == NULL)
        fail("no memory");
    for (unsigned which = 0; which < 2; which++) {
        prepare(cell, which, at);
        memset(at.out, 0, cell->out_len);
        cell->op[which]->run(at.state, at.out, at.in, cell->len, 3);
        if (which == 0)
            memcpy(first, at.out, cell->out_len);
    }
    if (memcmp(first, at.out, cell->out_len) != 0)
        fail("the outputs of the two builds differ: %s %s %u %u", cell->name, cell->backend,
             cell->bits, cell->bytes);
    free(first);
}

static void measure(const struct cell *cell, unsigned rounds, double wanted)
{
    check(cell);
    const size_t calls = calls_in(cell, wanted);
    double(*times)[2] = calloc(rounds, sizeof(*times));
    unsigned doubtful = 0;
    if (times == NULL)
        fail("no memory");
    for (unsigned r = 0; r < rounds; r++) {
        bool disturbed = true;
        for (unsigned i = 0; i < REPEATS && disturbed; i++) {
            const struct place at = drawn_place();
            const unsigned first = draw(2);
            bool either[2];
            times[r][first] = window(cell, first, at, calls, &either[first]);
            times[r][!first] = window(cell, !first, at, calls, &either[!first]);
            disturbed = either[0] || either[1];
        }
        doubtful += disturbed;
    }
    printf("%s %s %u %u %u", cell->name, cell->backend, cell->bits, cell->bytes, doubtful);
    for (unsigned r = 0; r < rounds; r++)
        printf(" %.3f %.3f", times[r][0], times[r][1]);
    putchar('\n');
    fflush(stdout);
    free(times);
}

/* ---- Main --------------------------------------------------------------------------------- */

static const struct paired_ops *load(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct paired_ops *all = handle != NULL ? dlsym(handle, "paired_ops") : NULL;
    if (all == NULL)
        fail("cannot load '%s': %s", file, dlerror());
    return all;
}

static const struct paired_op *find(const struct paired_ops *all, const char *name)
{
    for (unsigned i = 0; i < all->count; i++) {
        if (strcmp(all->ops[i].name, name) == 0)
            return &all->ops[i];
    }
    return NULL;
}

static void list(const struct paired_ops *const all[2], char **backends)
{
    for (unsigned i = 0; i < all[0]->count; i++) {
        if (find(all[1], all[0]->ops[i].name) != NULL)
            printf("operation %s\n", all[0]->ops[i].name);
    }
    for (; *backends != NULL; backends++) {
        if (all[0]->usable(*backends) && all[1]->usable(*backends))
            printf("backend %s\n", *backends);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("paired OLD.so NEW.so --list BACKEND... | SEED ROUNDS WINDOW");
    const bool lists = strcmp(argv[3], "--list") == 0;
    if (!lists && argc != 6)
        fail("paired OLD.so NEW.so SEED ROUNDS WINDOW");
    seed = lists ? 1 : strtoull(argv[3], NULL, 10) * 2 + 1;
    for (unsigned i = 0; i < 20; i++)
        (void)draw(2);

    const struct paired_ops *all[2];
    const unsigned first = draw(2);
    all[first] = load(argv[1 + first]);
    all[!first] = load(argv[1 + !first]);
    if (lists) {
        list(all, argv + 4);
        return 0;
    }

    const size_t most =
        all[0]->state_size > all[1]->state_size ? all[0]->state_size : all[1]->state_size;
    const unsigned rounds = (unsigned)strtoul(argv[4], NULL, 10);
    state_memory = pages(most + PAGE);
    in_memory = pages(MAX_BYTES + PAGE);
    out_memory = pages(MAX_BYTES + PAGE);
    plain = pages(MAX_BYTES);
    for (size_t i = 0; i < MAX_BYTES; i++)
        plain[i] = (uint8_t)(i * 13 + (i >> 8));

    struct cell cell;
    while (scanf("%63s %31s %u %u", cell.name, cell.backend, &cell.bits, &cell.bytes) == 4) {
        for (unsigned which = 0; which < 2; which++) {
            cell.op[which] = find(all[which], cell.name);
            if (cell.op[which] == NULL || !all[which]->usable(cell.backend))
                fail("'%s' has no %s with %s", argv[1 + which], cell.name, cell.backend);
        }
        const struct paired_op *op = cell.op[0];
        cell.len = op->whole_blocks ? cell.bytes / 16 * 16 : cell.bytes;
        cell.in_len = op->streams * cell.len;
        cell.out_len = op->streams * (cell.len + PAIRED_TAG);
        if (cell.len == 0 || cell.out_len > MAX_BYTES)
            fail("cannot measure %u bytes: from 16 to %u", cell.bytes,
                 MAX_BYTES / STREAMS - PAIRED_TAG);
        measure(&cell, rounds, strtod(argv[5], NULL));
    }
    return 0;
}
