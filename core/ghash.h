/* SPDX-License-Identifier: BSD-2-Clause */
/* GHASH for the modes: see struct tr_ghash in tenrounds.h and the operation GHASH in backend.h. */
#ifndef TR_GHASH_H
#define TR_GHASH_H

#include "tenrounds.h"

/* tr_aes_set_key() for modes that only encrypt, with the hash key and what a short message needs of its powers; the hash is
 * zero. */
enum tr_status tr_ghash_set_key(struct tr_ghash *ghash, struct tr_aes_key *key,
                                const struct tr_backend *backend, const uint8_t *raw,
                                size_t key_len);

/* The same for a hash key that is in ghash->h already; of the AES key only the backend counts. Where the
 * vector registers are refused, the key becomes bitslice's, which needs no powers. */
void tr_ghash_expand(struct tr_ghash *ghash, struct tr_aes_key *key);

/* Adds len bytes to the hash, of which *used bytes of the block begun are there already; a block is
 * multiplied when it is full. Updates *used. */
void tr_ghash_update(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used,
                     const uint8_t *data, size_t len);

/* Fills the block begun, if any, with zeros. */
void tr_ghash_pad(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used);

/*
 * A whole message of GCM with an IV of 96 bits, for the operations GCM_SEAL and GCM_OPEN: len bytes are in the blocks,
 * of which the last may be a part. Opening writes the plaintext and makes the tag that it should have had;
 * the mode compares.
 */
struct tr_gcm_message {
    struct tr_ghash *ghash;
    const uint8_t *iv, *aad;
    uint64_t len,
        aad_len;  /* one behind the other, as the block of lengths has them from the other end */
    uint8_t *tag; /* 16 bytes are written */
};

#endif
