/* SPDX-License-Identifier: BSD-2-Clause */
/* A CCM message as EVP defines it, for provider and engine. All data comes in one update, and all
 * AAD in another. Before these, an update with `in` and `out` NULL can set the length of the data.
 * A TLS 1.2 record (RFC 6655) is one message, which is processed in place. A record consists of the
 * explicit part of the nonce, the text and the tag. */
#ifndef TENROUNDS_CCM_H
#define TENROUNDS_CCM_H

#include "tls_aead.h"

struct trossl_ccm {
    struct tr_ccm_key key;
    struct tr_ccm message; /* points to `key`: call tr_ccm_rebind() after a copy */
    /* The IV and tag lengths at the time when the key was set. They stay in force until the next
     * key. */
    size_t key_iv_len, key_tag_len;
    uint64_t len; /* bytes of data */
    uint8_t len_set;
    uint8_t open;    /* a message has begun, but its data has not arrived */
    uint8_t has_aad; /* the message was started with its AAD */
    /* Encryption: `tag` is complete. Decryption: the caller has set the expected tag. */
    uint8_t tag_set;
    uint8_t nonce[TR_BLOCK];
    uint8_t tag[TR_BLOCK]; /* the tag of the encrypted message */
};

/* The settings of the caller's EVP context at the time of a call. */
struct trossl_ccm_settings {
    const uint8_t *iv; /* 16 bytes, the first iv_len of which are the IV */
    size_t iv_len;
    /* For decryption: the expected tag, which has tag_len bytes. This pointer is between the two
     * lengths, so that the compiler does not copy both in one load. The caller has just stored one
     * of them, so this load would be a store-forwarding stall. */
    const uint8_t *expected;
    size_t tag_len;
    int encrypt;
};

/* Sets the key. The lengths iv_len and tag_len stay in force until the next key. */
enum tr_status trossl_ccm_set_key(struct trossl_ccm *ccm, const struct tr_backend *backend,
                                  const uint8_t *raw, size_t key_len, size_t iv_len,
                                  size_t tag_len);

/*
 * Performs one update. The pointers select its purpose:
 * - If `in` and `out` are NULL, the update sets the length of the data to `len`.
 * - If only `out` is NULL, `in` is the AAD.
 * - If neither is NULL, `in` is all of the data. The update then computes or checks the tag.
 *
 * On tag mismatch, `out` holds zeros. TR_ERR_OVERLAP leaves the message unchanged, except that the
 * update may have set the IV and the length of the data.
 */
enum tr_status trossl_ccm_update(struct trossl_ccm *ccm, const struct trossl_ccm_settings *now,
                                 uint8_t *out, const uint8_t *in, size_t len);

/* Ends a message. Without a data update, the message is empty, and this call computes or checks the
 * tag. OpenSSL checks the tag of an empty message only since 3.0.22, 3.5.8 and 4.0; earlier
 * versions accept a forged message. */
enum tr_status trossl_ccm_final(struct trossl_ccm *ccm, const struct trossl_ccm_settings *now);

/* Seals or opens a record of len bytes in place, with the AAD that trossl_tls_take_aad() stored.
 * The pointers `iv` and now->iv must be equal. The explicit part of the nonce overwrites bytes 4 to
 * 11 of this IV. On success, stores the length of the result in *out_len and returns 1. Otherwise
 * returns 0. */
int trossl_ccm_record(struct trossl_ccm *ccm, const struct trossl_ccm_settings *now, uint8_t *iv,
                      const uint8_t aad[TROSSL_TLS_AAD], uint8_t *record, size_t len,
                      size_t *out_len);

#endif
