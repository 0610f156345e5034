/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the stack that two calls need: selection, which runs known-answer tests, and a backend's
 * multi-buffer call. Each call runs on a stack of the size that tenrounds.h states, with a guard
 * page below it. The test prints how many bytes of stack each call used. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_STACK */
#include "common.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define SELECTION    ((size_t)16 * 1024)
#define MULTI_BUFFER ((size_t)64 * 1024)

static ucontext_t test, rest;
static const struct tr_backend *backend; /* NULL: no mask, so any backend may be selected */
static bool good;

/* Selects the backend, or one that needs the same features. A mask of all other features excludes
 * the stronger backends. The word "avx512" in the mask permits 512-bit registers even where they
 * lower the clock. */
static void selection(void)
{
    struct tr_selection s;
    const tr_features others = backend != NULL ? ~tr_backend_features(backend) : 0;
    good = tr_select(backend != NULL ? "avx512" : NULL, others, &s) == TR_OK &&
           (backend == NULL || tr_backend_features(s.backend) == tr_backend_features(backend));
}

/* Runs the self-test, then jobs of two key sizes and of 1 to 64 blocks. The lengths and key sizes
 * vary because the multi-buffer call separates key sizes and sorts by length. */
static void multi_buffer(void)
{
    static struct tr_aes_key keys[2];
    static struct tr_stream jobs[200];
    static uint8_t data[200][1024], ivs[200][16], raw[32];
    good = tr_backend_self_test(backend) == TR_OK &&
           tr_aes_set_key(&keys[0], backend, raw, 16) == TR_OK &&
           tr_aes_set_key(&keys[1], backend, raw, 32) == TR_OK;
    for (size_t i = 0; i < 200; i++)
        jobs[i] = (struct tr_stream){&keys[i % 2], ivs[i], data[i], data[i], 16 * (i % 64 + 1)};
    good = good && tr_cbc_encrypt_many(jobs, 200) == TR_OK;
}

/* Runs a function on a stack of `size` bytes, filled with a pattern. Returns the number of bytes
 * from the lowest overwritten byte to the top of the stack. */
static size_t touched(void (*run)(void), size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *area = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    uint8_t *stack = area + page;
    size_t clean = 0;
    if (area == MAP_FAILED || mprotect(area, page, PROT_NONE) != 0 || getcontext(&test) != 0)
        return SIZE_MAX;
    memset(stack, 0xa5, size);
    test.uc_stack.ss_sp = stack;
    test.uc_stack.ss_size = size;
    test.uc_link = &rest;
    makecontext(&test, run, 0);
    if (swapcontext(&rest, &test) != 0)
        return SIZE_MAX;
    while (clean < size && stack[clean] == 0xa5)
        clean++;
    munmap(area, size + page);
    return size - clean;
}

int main(void)
{
    tap_plan(2 * backend_count() + 1);
    for (unsigned i = 0; i <= backend_count(); i++) {
        backend = tr_backend_at(i); /* NULL after the last */
        const char *name = backend != NULL ? tr_backend_name(backend) : "any backend";
        if (backend != NULL && backend_skip(backend, 2))
            continue;
        size_t used = touched(selection, SELECTION);
        tap_ok(good && used < SELECTION, "selection, %s: uses %zu bytes of stack", name, used);
        if (backend == NULL)
            break;
        used = touched(multi_buffer, MULTI_BUFFER);
        tap_ok(good && used < MULTI_BUFFER, "multi-buffer, %s: uses %zu bytes of stack", name,
               used);
    }
    return tap_done();
}
