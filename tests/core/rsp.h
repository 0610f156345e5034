/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads vector files in the format of NIST's response files (.rsp); see ../vectors/README.md. */
#ifndef TENROUNDS_RSP_H
#define TENROUNDS_RSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RSP_MAX_BYTES 256

struct rsp_bytes {
    uint8_t data[RSP_MAX_BYTES];
    size_t len; /* 0: the record lacks the field */
};

enum rsp_field { RSP_KEY, RSP_IV, RSP_PLAINTEXT, RSP_CIPHERTEXT, RSP_SCHEDULE, RSP_FIELDS };

struct rsp_record {
    bool decrypt; /* whether the record is in the part [DECRYPT] */
    unsigned count;
    unsigned line; /* first line of the record, from 1 */
    struct rsp_bytes field[RSP_FIELDS];
};

struct rsp_file {
    struct rsp_record *records;
    size_t n;
    char error[160]; /* the error with its line number; "" if none */
};

/* Reads a file, strictly: anything outside the format is an error. With `bits`, plaintexts and
 * ciphertexts are strings of the digits 0 and 1, and their `len` counts bits. The first digit
 * becomes the highest bit of the first byte. The caller frees the file with rsp_free(). */
bool rsp_read(FILE *in, struct rsp_file *file, bool bits);
void rsp_free(struct rsp_file *file);

#endif
