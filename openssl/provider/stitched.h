/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-CBC-HMAC: MAC, padding and encryption, in this order, as in TLS 1.0 to 1.2 without
 * encrypt-then-MAC (RFC 5246 section 6.2.3.2). The parameter "tlsaad" passes a record's AAD and
 * makes the next update process that record. Any other update is plain CBC over whole blocks. */
#ifndef TENROUNDS_STITCHED_H
#define TENROUNDS_STITCHED_H

#include "cipher.h"
#include "sha.h"

#define TRP_AAD        13u /* bytes of sequence number, type, version, length (section 6.2.3.1) */
#define TRP_NO_PAYLOAD ((size_t)-1)

struct trp_stitched {
    struct trp_keyed base;
    const struct trossl_sha_code *sha;
    struct trossl_sha head, tail; /* hash states after HMAC's inner and outer key */
    /* When sealing, the bytes of explicit IV and payload in the next record. When opening a record,
     * 0. TRP_NO_PAYLOAD means that the next update is plain CBC. */
    size_t payload_len;
    uint8_t aad[TRP_AAD];
    size_t tls_pad; /* bytes that MAC and padding add to the next record */
    /* Bytes of MAC and explicit IV. When opening, the output length of update excludes them. */
    size_t tls_removed;
    /* For sealing several records in one call. */
    size_t max_fragment, sealed_len;
    unsigned interleave, packed_len;
    const OSSL_PARAM *params; /* of the call in progress: such a seal needs several */
};

/* Derives `head` and `tail` from the MAC key (RFC 2104 section 2). */
void trp_stitched_mac_key(struct trp_stitched *c, const uint8_t *key, size_t len);

/* Processes one record, or whole blocks of plain CBC. Returns 0 if the length is invalid, the
 * output begins inside the input, or padding or MAC are wrong. */
int trp_stitched_crypt(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len);

/* The division of a payload into records: `last` bytes in the last record, `each` bytes in all
 * others. The total size of the sealed records is `packed`. */
struct trp_stitched_cut {
    size_t records, each, last, packed;
};
struct trp_stitched_cut trp_stitched_cut(const struct trp_stitched *c, size_t len, size_t records);

/* Seals len bytes as 4 or 8 records, each with its header and explicit IV. c->aad has the sequence
 * number of the first record. Returns the bytes written, or 0 if the random generator or the
 * encryption fails. */
size_t trp_stitched_seal_many(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len,
                              size_t records);

/* Checks padding and MAC of a decrypted record. `record` points after any explicit IV, and len must
 * be greater than the MAC length. Returns 0 if padding and MAC are right, else another value.
 * Constant time: the time does not depend on the payload length, or on whether padding and MAC are
 * right. */
size_t trp_stitched_verify(struct trp_stitched *c, const uint8_t *record, size_t len);

#endif
