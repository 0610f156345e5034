/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations that scripts/bench-commits times: the interface between ops.c and the benchmark
 * (bench/src/paired). ops.c is compiled against the core of each commit, and the benchmark loads
 * the two shared objects.
 */
#ifndef BENCH_PAIRED_OPS_H
#define BENCH_PAIRED_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIRED_TAG 16u

struct paired_op {
    const char *name;
    unsigned streams;  /* messages in each call; 1 except for multi-buffer calls */
    bool whole_blocks; /* accepts multiples of 16 bytes only */
    /* Sets the key in `state`, of state_size bytes, and everything else that run() needs. `in` has
     * the plaintext; an operation that opens messages replaces it by ciphertext. */
    void (*prepare)(void *state, const char *backend, size_t key_len, uint8_t *in, size_t len);
    /* Calls the operation `calls` times, one call after the other. */
    void (*run)(void *state, uint8_t *out, const uint8_t *in, size_t len, size_t calls);
};

struct paired_ops {
    size_t state_size;
    unsigned count;
    const struct paired_op *ops;
    /* Whether this build has the backend and this processor has its features. */
    bool (*usable)(const char *backend);
};

/* The symbol that each shared object exports. */
extern const struct paired_ops paired_ops;

#endif
