/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Random numbers, and counts by size class, for programs that print what `tenrounds trace` must
 * show. */
#ifndef GUEST_SUMS_H
#define GUEST_SUMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

/* Seeds random32(). The state is odd, because xorshift64* never leaves the state 0. */
static inline void seed(const char *number)
{
    state = strtoull(number, NULL, 10) * 2 + 1;
}

static inline uint32_t random32(void)
{
    /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 32);
}

/* A random length below `most`. All size classes are about equally likely. */
static inline size_t random_length(uint32_t most)
{
    return random32() % (most >> random32() % 14);
}

struct sums {
    uint64_t calls, bytes;
    uint64_t class_calls[32], class_bytes[32];
};

static inline void add(struct sums *s, size_t len)
{
    int class = len == 0 ? 0 : 32 - __builtin_clz((unsigned)len);

    s->calls++;
    s->bytes += len;
    s->class_calls[class]++;
    s->class_bytes[class] += len;
}

/*
 * Prints a line: WHAT CALLS BYTES FROM:CALLS:BYTES... The first CALLS and BYTES are totals. Each
 * FROM:CALLS:BYTES counts one size class: at least FROM (0 or a power of two) and below the next
 * power of two.
 */
static inline void print(const char *what, const struct sums *s)
{
    printf("%s %llu %llu", what, (unsigned long long)s->calls, (unsigned long long)s->bytes);
    for (int i = 0; i < 32; i++) {
        if (s->class_calls[i] != 0)
            printf(" %lu:%llu:%llu", i == 0 ? 0 : 1ul << (i - 1),
                   (unsigned long long)s->class_calls[i], (unsigned long long)s->class_bytes[i]);
    }
    printf("\n");
}

#endif
