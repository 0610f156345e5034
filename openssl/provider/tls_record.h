/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The padding and MAC of CBC records in SSL 3.0, TLS 1.0 to 1.2 and DTLS (RFC 5246 section
 * 6.2.3.2), which libssl leaves to the provider: with the parameter "tls-version" set, each update
 * is one whole record in place.
 */
#ifndef TENROUNDS_TLS_RECORD_H
#define TENROUNDS_TLS_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* Appends padding to len bytes of a record: 1 to 16 bytes. Returns the new length. */
size_t trp_tls_pad(unsigned version, uint8_t *record, size_t len);

struct trp_tls_opened {
    size_t len;         /* of the payload, without explicit IV, MAC and padding */
    int has_mac;        /* mac was written */
    const char *reason; /* for 0: what is wrong, in words */
};

/*
 * Takes a decrypted record apart: len bytes, a multiple of 16. The explicit IV of TLS 1.1 and
 * later, the first block, is not counted in opened->len but stays where it is. mac receives the
 * mac_size bytes of the MAC (at most 64), or as many random bytes where the padding is wrong, so
 * that the caller finds out by comparing the MAC, in the same time (RFC 5246 page 23). Without a
 * MAC, wrong padding is an error. Returns 0 if the record's public lengths are impossible, the
 * version is none of the above, or there is no randomness.
 */
int trp_tls_open(unsigned version, const uint8_t *record, size_t len, uint8_t *mac, size_t mac_size,
                 struct trp_tls_opened *opened);

/*
 * Where the MAC of a decrypted record is, len bytes without explicit IV and more than mac_size. Copies
 * the MAC and returns the length of what stands before it, which is a secret, and in *good whether the
 * padding is right, as a mask: if it is not, it counts as none.
 */
size_t trp_tls_split(unsigned version, const uint8_t *record, size_t len, uint8_t *mac,
                     size_t mac_size, size_t *good);

#endif
