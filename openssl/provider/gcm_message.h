/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One GCM message as EVP passes it: trp_gcm_start(), trp_gcm_aad(), trp_gcm_data() and
 * trp_gcm_end(). gcm.c calls trp_gcm_abandon() for a new key, and trp_gcm_copied() for a copied
 * context. Nothing else reads or writes the state of a message.
 *
 * The core's one-shot calls take half the time of its streaming calls, and nearly all short
 * messages pass their data in one update. This code therefore holds the IV and the AAD until data
 * arrives. It treats a short first update as all of the data and makes a one-shot call. If more
 * data follows, it restores the streaming state from a copy of the ciphertext. The next 7 messages
 * then use streaming calls.
 *
 * The table shows the state after each call, or the action of the call. The row is the state before
 * the call.
 *
 *   state     | AAD              | data                 | end
 *   ----------+------------------+----------------------+-------------------------------
 *   HELD      | HELD;            | DONE;                | STREAMING, then the core's tag
 *             | STREAMING if it  | STREAMING 1)         |
 *             | exceeds 64 bytes |                      |
 *   DONE      | STREAMING        | STREAMING            | the tag of the one-shot call
 *   STREAMING | the core's call  | the core's call      | the core's tag
 *   IDLE      | refused          | refused              | refused
 *
 *   1) STREAMING if the data exceeds 1536 bytes, or if the streaming state was restored in one of
 *      the 7 messages before. For decryption also if the tag is not known or does not match.
 *
 * A message starts in the state HELD, but in STREAMING if its IV length is not 12 bytes, or if the
 * caller changes the IV right after the start (may_hold is 0). In the state IDLE, no message has
 * started under the current key. The core refuses AAD after data.
 *
 * The usual paths of trp_gcm_start(), trp_gcm_aad(), trp_gcm_data() and trp_gcm_end() are inline,
 * because a function call takes 1 % of the time of a short message.
 */
#ifndef TENROUNDS_PROVIDER_GCM_MESSAGE_H
#define TENROUNDS_PROVIDER_GCM_MESSAGE_H

#include "partial_block.h"
#include "tls_aead.h"

#include <string.h>

#define TRP_GCM_IV        12u
#define TRP_GCM_HELD_AAD  64u
#define TRP_GCM_HELD_TEXT 1536u /* bytes; enough for a network packet */

enum trp_gcm_state { TRP_GCM_IDLE, TRP_GCM_HELD, TRP_GCM_DONE, TRP_GCM_STREAMING };

struct trp_gcm_message {
    /* The fields that every message uses lie in one cache line, and the AAD in another. */
    const struct tr_gcm_key *key __attribute__((aligned(64)));
    /* The context's IV, which must not change in the states HELD and DONE. */
    const uint8_t *iv;
    size_t iv_len;
    size_t aad_len, text_len; /* bytes of aad and text */
    uint8_t state;            /* enum trp_gcm_state */
    /* In the state DONE: whether the one-shot call encrypted. */
    uint8_t encrypted;
    /* In the state DONE: how many bytes of the tag were computed or compared. */
    uint8_t tag_len;
    /* How many messages, from the current one on, use streaming calls. */
    uint8_t streams;
    uint8_t tag[TROSSL_TAG] TR_ALIGNED(16);
    uint8_t aad[TRP_GCM_HELD_AAD] __attribute__((aligned(64)));
    struct tr_gcm core;
    /* The ciphertext. This is the last member, because trp_context_with_room() does not clear it.
     * The ciphertext is not secret, and is written before it is read. */
    uint8_t text[TRP_GCM_HELD_TEXT] __attribute__((aligned(64)));
};

/* Makes a copied message point to the copied key and IV, and copies the ciphertext. */
void trp_gcm_copied(struct trp_gcm_message *copy, const struct trp_gcm_message *from,
                    const struct tr_gcm_key *key, const uint8_t *iv);

/* Abandons the message, if there is one: AAD, data and end fail until the next start. */
static inline void trp_gcm_abandon(struct trp_gcm_message *m)
{
    m->state = TRP_GCM_IDLE;
}

/* The non-inline parts of the functions below. */
enum tr_status trp_gcm_stream(struct trp_gcm_message *m);
enum tr_status trp_gcm_more_aad(struct trp_gcm_message *m, const uint8_t *in, size_t len);
enum tr_status trp_gcm_encrypt(struct trp_gcm_message *m, uint8_t *out, const uint8_t *in,
                               size_t len);
enum tr_status trp_gcm_decrypt(struct trp_gcm_message *m, uint8_t *out, const uint8_t *in,
                               size_t len, const uint8_t *expected, size_t tag_len);
enum tr_status trp_gcm_stream_tag(struct trp_gcm_message *m, uint8_t *tag);
enum tr_status trp_gcm_stream_check(struct trp_gcm_message *m, const uint8_t *tag, size_t tag_len);

/* Copies `len` bytes. Up to 64 bytes need no function call. */
static inline void trp_gcm_keep(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len < TR_BLOCK) {
        partial_store(to, partial_load(from, len), len);
    } else if (len <= 4 * TR_BLOCK) {
        for (size_t i = 0; i < len - TR_BLOCK; i += TR_BLOCK)
            memcpy(to + i, from + i, TR_BLOCK);
        memcpy(to + len - TR_BLOCK, from + len - TR_BLOCK, TR_BLOCK);
    } else {
        memcpy(to, from, len);
    }
}

/* Starts a message. If `may_hold` is 0, reads the IV now. If it is 1, a later call may read the
 * IV. */
static inline enum tr_status trp_gcm_start(struct trp_gcm_message *m, const struct tr_gcm_key *key,
                                           const uint8_t *iv, size_t iv_len, int may_hold)
{
    m->key = key;
    m->iv = iv;
    m->iv_len = iv_len;
    m->aad_len = 0;
    m->state = TRP_GCM_HELD;
    return may_hold && iv_len == TRP_GCM_IV ? TR_OK : trp_gcm_stream(m);
}

static inline enum tr_status trp_gcm_aad(struct trp_gcm_message *m, const uint8_t *in, size_t len)
{
    if (m->state != TRP_GCM_HELD || m->aad_len != 0 || len > TRP_GCM_HELD_AAD)
        return trp_gcm_more_aad(m, in, len);
    trp_gcm_keep(m->aad, in, len);
    m->aad_len = len;
    return TR_OK;
}

/*
 * Encrypts or decrypts. The argument `expected` is NULL if the tag is not known yet. Otherwise, it
 * points to 16 bytes, and the first tag_len bytes are the expected tag. On tag mismatch, writes the
 * plaintext like a streaming call; trp_gcm_end() then reports the mismatch.
 */
static inline enum tr_status trp_gcm_data(struct trp_gcm_message *m, int encrypt, uint8_t *out,
                                          const uint8_t *in, size_t len, const uint8_t *expected,
                                          size_t tag_len)
{
    return encrypt ? trp_gcm_encrypt(m, out, in, len)
                   : trp_gcm_decrypt(m, out, in, len, expected, tag_len);
}

/* Compares two 16-byte tags in constant time, like tr_equal(). */
static inline int trp_gcm_same_tag(const uint8_t *a, const uint8_t *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, TROSSL_TAG);
    memcpy(y, b, TROSSL_TAG);
    uint64_t difference = (x[0] ^ y[0]) | (x[1] ^ y[1]);
    __asm__("" : "+r"(difference)); /* prevents an early exit after 8 bytes */
    return difference == 0;
}

/* When encrypting, writes a 16-byte tag. When decrypting, compares tag_len bytes, and returns
 * TR_ERR_TAG on mismatch. */
static inline enum tr_status trp_gcm_end(struct trp_gcm_message *m, int encrypt, uint8_t *tag,
                                         size_t tag_len)
{
    const int done = m->state == TRP_GCM_DONE && m->encrypted == encrypt;
    if (encrypt) {
        if (!done)
            return trp_gcm_stream_tag(m, tag);
        memcpy(tag, m->tag, TROSSL_TAG);
        return TR_OK;
    }
    if (done && tag_len == TROSSL_TAG && m->tag_len == TROSSL_TAG &&
        TR_PUBLIC(trp_gcm_same_tag(m->tag, tag)))
        return TR_OK;
    return trp_gcm_stream_check(m, tag, tag_len);
}

#endif
