/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-CBC with the HMAC of the same record: MAC, then pad, then encrypt, as TLS 1.0 to 1.2 do without
 * encrypt-then-mac (RFC 5246 section 6.2.3.2). Told the record's header by the parameter "tlsaad", the next
 * update is one record; without, it is CBC of whole blocks.
 */
#ifndef TENROUNDS_STITCHED_H
#define TENROUNDS_STITCHED_H

#include "cipher.h"
#include "sha.h"

#define TRP_AAD        13u /* sequence number, type, version, length (6.2.3.1) */
#define TRP_NO_PAYLOAD ((size_t)-1)

struct trp_stitched {
    struct trp_cipher base;
    const struct trp_provider *provider;
    const struct trossl_sha_code *sha;
    struct trossl_sha head, tail; /* after the two keys of HMAC */
    size_t
        payload_len; /* sealing: of the next record, with explicit IV; opening: any number; or none */
    uint8_t aad[TRP_AAD];
    size_t tls_pad;     /* what the next record is longer than its payload */
    size_t tls_removed; /* of an opened record besides padding, as "tls-version" says */
    /* Several records in one call. */
    size_t max_fragment, sealed_len;
    unsigned interleave, packed_len;
};

/* The two keys of HMAC (RFC 2104 section 2). */
void trp_stitched_mac_key(struct trp_stitched *c, const uint8_t *key, size_t len);

/* One record, or whole blocks of CBC. Returns 0 where lengths do not fit, padding or MAC are wrong. */
int trp_stitched_crypt(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len);

/* How len bytes are cut into records, and how long these are together. */
struct trp_stitched_cut {
    size_t records, each, last, packed;
};
struct trp_stitched_cut trp_stitched_cut(const struct trp_stitched *c, size_t len, size_t records);

/* Seals len bytes in records (4 or 8) of their own, with header and explicit IV each, the first of them
 * numbered as c->aad says. Returns the bytes written, 0 if there is no randomness. */
size_t trp_stitched_seal_many(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len,
                              size_t records);

/* Of a decrypted record, len bytes without explicit IV and more than the MAC has: 0 if MAC and padding are
 * right. Constant time: both are found out wherever they may be, and how long the payload is stays a secret,
 * until the result has been looked at. */
size_t trp_stitched_wrong(struct trp_stitched *c, const uint8_t *record, size_t len);

#endif
