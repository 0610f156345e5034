/* SPDX-License-Identifier: BSD-2-Clause */
/* The modes as libcrypto's default provider has them, whole messages at a time. */
#ifndef TENROUNDS_TESTS_MODES_LIBCRYPTO_H
#define TENROUNDS_TESTS_MODES_LIBCRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lc_message {
    const char *name; /* of the cipher, the key's bits included */
    const uint8_t *key, *iv, *in;
    size_t iv_len, len;
    const uint8_t *aad[3];
    size_t aad_len[3];
    unsigned components; /* of AAD; for all but SIV at most one */
    size_t tag_len;      /* 0: no AEAD */
    const char *cts;     /* "CS1", .. or NULL */
    bool bits;           /* len counts bits */
};

/* Once, before anything else. A library context of our own: no configuration file has a say in it. */
bool lc_start(void);
void lc_end(void);

/* True if it went well; *out_len (if not NULL) is how many bytes were written to out. */
bool lc_encrypt(const struct lc_message *m, uint8_t *out, size_t *out_len, uint8_t *tag);
bool lc_cmac(const char *name, const uint8_t *key, size_t key_len, const uint8_t *data, size_t len,
             uint8_t tag[16]);

#endif
