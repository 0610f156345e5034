/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLS 1.2 records of GCM (RFC 5288): the IVs, the AAD, and the record itself. ccm.h has CCM's
 * records.
 *
 * The IV has a fixed part of at least 4 bytes and a counter of 8 bytes. The counter is the explicit
 * part, which each record carries in the clear (RFC 5116 section 3.2.1; SP 800-38D section 8.2.1).
 * A record consists of the explicit part, the text and the tag; the calls process it in place.
 */
#ifndef TENROUNDS_TLS_AEAD_H
#define TENROUNDS_TLS_AEAD_H

#include "tenrounds.h"

#define TROSSL_TLS_AAD      13u /* bytes of AAD */
#define TROSSL_TLS_FIXED    4u  /* minimum bytes of the fixed part of an IV */
#define TROSSL_TLS_EXPLICIT 8u  /* bytes of the explicit part of an IV */
#define TROSSL_TAG          16u

/* Stores a record's AAD, of TROSSL_TLS_AAD bytes (RFC 5246 section 6.2.3.3). The length field from
 * libssl counts the explicit part of the IV and, when opening, the tag. The stored length counts
 * only the text. If libssl's length is smaller than these parts, stores the AAD unchanged and
 * returns 0. Otherwise returns 1. */
int trossl_tls_take_aad(uint8_t aad[TROSSL_TLS_AAD], const uint8_t *in, int encrypt,
                        size_t tag_len);

/* Whether an IV of iv_len bytes may have a fixed part of fixed_len bytes. */
int trossl_iv_may_fix(size_t iv_len, size_t fixed_len);

/* Copies the last `len` bytes of the IV to `out`, or the whole IV if `len` is 0 or too large. Then
 * increments the counter, which is the last 8 bytes of the IV. If the IV is shorter than 8 bytes,
 * the counter is the whole IV. */
void trossl_iv_next(uint8_t *iv, size_t iv_len, uint8_t *out, size_t len);

/* Seals or opens a record of len bytes. Sealing writes the explicit part of the IV into the record,
 * then increments the counter. Opening copies the explicit part from the record into the IV. Stores
 * the length of the result in *out_len. Returns TR_ERR_LENGTH if the record or the IV is too short.
 * Returns the other errors of tr_gcm_seal() and tr_gcm_open(). */
enum tr_status trossl_tls_gcm(const struct tr_gcm_key *key, int encrypt, uint8_t *iv, size_t iv_len,
                              const uint8_t aad[TROSSL_TLS_AAD], uint8_t *record, size_t len,
                              size_t *out_len);

#endif
