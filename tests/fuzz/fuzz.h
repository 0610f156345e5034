/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the fuzz targets: an input that is read byte by byte, and a check that aborts. */
#ifndef TENROUNDS_FUZZ_H
#define TENROUNDS_FUZZ_H

#include "../core/common.h"

struct input {
    const uint8_t *data;
    size_t left;
};

/* Returns the next byte of the input, or 0 after its end. */
static inline uint8_t next(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->data++;
}

/* Returns a length in bytes. Three in four are below 192. The other lengths are multiples of 112 up
 * to FUZZ_LONGEST, and reach the code for long messages. */
static inline size_t next_length(struct input *in)
{
    const size_t n = next(in);
    return n < 192 ? n : 112 * (n - 191);
}

#define FUZZ_LONGEST (112u * 64)

static inline void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    abort();
}

/* Returns the backend that the input chooses, or bitslice if that backend cannot run here. */
static inline const struct tr_backend *next_backend(struct input *in)
{
    const struct tr_backend *b = tr_backend_at(next(in) % backend_count());
    return backend_usable(b) ? b : &tr_bitslice;
}

/* Fills a buffer with varying bytes. */
static inline void fill(uint8_t *out, size_t len, uint8_t from)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(from + i * 167 + (i >> 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
