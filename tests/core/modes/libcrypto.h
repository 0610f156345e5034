/* SPDX-License-Identifier: BSD-2-Clause */
/* Encrypts whole messages with libcrypto's default provider, one message per call. */
#ifndef TENROUNDS_TESTS_MODES_LIBCRYPTO_H
#define TENROUNDS_TESTS_MODES_LIBCRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lc_message {
    const char *name; /* cipher name, with the key size in bits */
    const uint8_t *key, *iv, *in;
    size_t iv_len, len;
    const uint8_t *aad[3];
    size_t aad_len[3];
    unsigned components; /* the number of AAD components; at most 1, except in SIV */
    size_t tag_len;      /* 0: no AEAD */
    const char *cts;     /* "CS1", "CS2", "CS3" or NULL */
    bool bits;           /* len counts bits */
};

/* Call this first. Loads the default provider into a separate library context, which reads no
 * configuration file. */
bool lc_start(void);
void lc_end(void);

/* Encrypts a message and returns whether this succeeded. Stores the number of output bytes in
 * *out_len, unless out_len is NULL. */
bool lc_encrypt(const struct lc_message *m, uint8_t *out, size_t *out_len, uint8_t *tag);
bool lc_cmac(const char *name, const uint8_t *key, size_t key_len, const uint8_t *data, size_t len,
             uint8_t tag[16]);

#endif
