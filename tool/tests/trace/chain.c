/* SPDX-License-Identifier: BSD-2-Clause */
/* A program and two libraries with a known chain of calls to AES code, in one source: INNER and OUTER
 * select a library, whose outer function calls itself DEPTH times. For tests of `tenrounds trace
 * --callers`. */
#include "tenrounds.h"
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#ifndef DEPTH
#    define DEPTH 0
#endif

int inner_encrypt(uint8_t *data, size_t length);
int outer_write(uint8_t *data, size_t length);

/* Each function has a frame of another size, and none ends with a call of the next. */
#if defined(INNER)
int inner_encrypt(uint8_t *data, size_t length)
{
    static const uint8_t bytes[16];
    static struct tr_aes_key key;
    static int has_key;
    uint8_t iv[16] = {0}, keystream[16];
    unsigned used = 0;
    if (!has_key) {
        struct tr_selection selection;
        if (tr_select(NULL, 0, &selection) != TR_OK ||
            tr_aes_set_key(&key, selection.backend, bytes, sizeof(bytes)) != TR_OK)
            return -1;
        has_key = 1;
    }
    return tr_ctr(&key, iv, keystream, &used, data, data, length) == TR_OK ? (int)used + 1 : -1;
}
#elif defined(OUTER)
__attribute__((noinline)) static int deeper(uint8_t *data, size_t length, int depth)
{
    volatile uint8_t frame[40];
    frame[0] = 1;
    return (depth > 1 ? deeper(data, length, depth - 1) : inner_encrypt(data, length)) + frame[0];
}

int outer_write(uint8_t *data, size_t length)
{
    volatile uint8_t frame[300];
    frame[0] = 1;
    return (DEPTH > 0 ? deeper(data, length, DEPTH) - DEPTH : inner_encrypt(data, length)) +
           frame[0];
}
#else
static uint8_t buffer[16384];

__attribute__((noinline)) static int send_chain(size_t length)
{
    volatile uint8_t frame[2000];
    frame[0] = 1;
    return outer_write(buffer, length) - frame[0];
}

int main(int argc, char **argv)
{
    (void)argv;
    alarm(600);
    /* The first call selects a backend, which AES code that is called otherwise tests. */
    for (int is_first = 1; send_chain(sizeof(buffer) / (size_t)argc) > 0; is_first = 0)
        if (is_first && (puts("ready") < 0 || fflush(stdout) != 0))
            return 2;
    return 1;
}
#endif
