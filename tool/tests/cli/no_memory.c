/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator for the tool (LD_PRELOAD) whose allocation NO_MEMORY_AT fails. It writes the number
 * of allocations to the file NO_MEMORY_COUNT at exit. Programs that the tool starts are spared. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static long made, fails_at;

static int fails(void)
{
    if (__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) != fails_at)
        return 0;
    errno = ENOMEM;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *const at = getenv("NO_MEMORY_AT");
    if (at != NULL && strcmp(program_invocation_short_name, "tenrounds") == 0)
        fails_at = made + atol(at);
    made = fails_at == 0 ? 0 : made;
}

__attribute__((destructor)) static void end(void)
{
    const char *const name = getenv("NO_MEMORY_COUNT");
    const long n = made;
    FILE *file;
    if (name == NULL || strcmp(program_invocation_short_name, "tenrounds") != 0 ||
        (file = fopen(name, "w")) == NULL)
        return;
    fprintf(file, "%ld\n", n);
    fclose(file);
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    if (fails())
        return ENOMEM;
    *p = __libc_memalign(alignment, size);
    return *p == NULL ? ENOMEM : 0;
}
