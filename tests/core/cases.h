/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads vector files of one case per line; ../vectors/README.md describes the format. */
#ifndef TENROUNDS_CASES_H
#define TENROUNDS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CASE_MAX_BYTES 1024
#define CASE_MAX_PARTS 4

struct case_bytes {
    uint8_t data[CASE_MAX_BYTES];
    size_t len;
};

enum case_verdict { CASE_VALID, CASE_INVALID, CASE_BITS };

struct test_case {
    unsigned id;
    enum case_verdict verdict;
    struct case_bytes key, iv, pt, ct, tag;
    struct case_bytes aad[CASE_MAX_PARTS];
    unsigned parts;   /* number of AAD components */
    bool pt_is_known; /* if not, pt is empty */
};

/* Reads the next case. Returns false at the end of the file, and on an error. Sets `error` to a
 * description of the error, or to "". */
bool case_read(FILE *in, struct test_case *c, char error[160]);
/* The same, but reads only the number and the verdict of the case. In an emulator, reading the rest
 * would take most of a test's time. */
bool case_skip(FILE *in, struct test_case *c, char error[160]);

#endif
