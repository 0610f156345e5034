/* SPDX-License-Identifier: BSD-2-Clause */
/* Padding and MAC of CBC records in SSL 3.0, TLS 1.0 to 1.2 and DTLS (RFC 5246 section 6.2.3.2).
 * libssl computes and compares the MAC. The provider adds or checks the padding and extracts the
 * MAC: with the parameter "tls-version" set, each update processes one record in place.
 * The stitched ciphers use trp_tls_pad() and trp_tls_split(), and also compute and compare the MAC
 * (stitched_records.c). */
#ifndef TENROUNDS_TLS_RECORD_H
#define TENROUNDS_TLS_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* Appends 1 to 16 bytes of padding to a record of len bytes. Returns the new length. */
size_t trp_tls_pad(unsigned version, uint8_t *record, size_t len);

/*
 * Splits a decrypted record of len bytes, a multiple of 16. Except in SSL 3.0 and TLS 1.0, the
 * first block is the explicit IV. Stores the length of the payload, without explicit IV, MAC and
 * padding.
 *
 * Copies the MAC, which has mac_size bytes (at most TRP_TLS_MAC), to `mac`. If the padding is
 * wrong, copies `substitute` instead, which nobody without the key can know. The caller's
 * comparison then fails, and takes as long as for a wrong MAC (RFC 5246 section 6.2.3.2). Returns
 * NULL on success. Otherwise returns the reason in words: the public lengths are impossible, the
 * version is unknown or, if mac_size is 0, the padding is wrong.
 */
#define TRP_TLS_MAC 64u
const char *trp_tls_open(unsigned version, const uint8_t *record, size_t len, uint8_t *mac,
                         size_t mac_size, const uint8_t substitute[TRP_TLS_MAC], size_t *payload);

/* Copies the MAC of a decrypted record and returns the secret payload length. `record` points
 * after any explicit IV, and len must be greater than mac_size. Stores a mask in *good: all ones if
 * the padding is right, else zero. Wrong padding counts as 0 bytes of padding. */
size_t trp_tls_split(unsigned version, const uint8_t *record, size_t len, uint8_t *mac,
                     size_t mac_size, size_t *good);

#endif
