/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-CBC with an HMAC: MAC, then padding, then encryption, as in TLS 1.0 to 1.2 without
 * encrypt-then-mac (RFC 5246 section 6.2.3.2). After the parameter "tlsaad", which has the AAD of
 * a record, the next update is that record. Without it, an update is CBC of whole blocks.
 */
#ifndef TENROUNDS_STITCHED_H
#define TENROUNDS_STITCHED_H

#include "cipher.h"
#include "sha.h"

#define TRP_AAD        13u /* bytes of sequence number, type, version and length (6.2.3.1) */
#define TRP_NO_PAYLOAD ((size_t)-1)

struct trp_stitched {
    struct trp_keyed base;
    const struct trp_provider *provider;
    const struct trossl_sha_code *sha;
    struct trossl_sha head, tail; /* hash states after the inner and the outer key of HMAC */
    /* Of the next record, or TRP_NO_PAYLOAD: when sealing, its length with the explicit IV. */
    size_t payload_len;
    uint8_t aad[TRP_AAD];
    size_t tls_pad;     /* bytes that MAC and padding add to the next record */
    size_t tls_removed; /* bytes that "tls-version" removes from an opened record, with the MAC */
    /* Sealing several records in one call. */
    size_t max_fragment, sealed_len;
    unsigned interleave, packed_len;
};

/* Sets the two keys of HMAC (RFC 2104 section 2). */
void trp_stitched_mac_key(struct trp_stitched *c, const uint8_t *key, size_t len);

/* Processes a record, or whole blocks of CBC. Returns 0 if the length does not fit, or padding or
 * MAC are wrong. */
int trp_stitched_crypt(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len);

/* Divides len bytes into records: bytes in each and in the last, and bytes of all sealed
 * records. */
struct trp_stitched_cut {
    size_t records, each, last, packed;
};
struct trp_stitched_cut trp_stitched_cut(const struct trp_stitched *c, size_t len, size_t records);

/* Seals len bytes in 4 or 8 records, each with its header and explicit IV. The sequence number of
 * the first is that in c->aad. Returns the bytes written, or 0 if the random generator fails. */
size_t trp_stitched_seal_many(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len,
                              size_t records);

/*
 * Checks padding and MAC of a decrypted record of len bytes, without explicit IV and longer than
 * the MAC. Returns 0 if both are right. Constant time: the time does not depend on which of them
 * is wrong, nor on the length of the payload.
 */
size_t trp_stitched_wrong(struct trp_stitched *c, const uint8_t *record, size_t len);

#endif
