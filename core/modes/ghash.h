/* SPDX-License-Identifier: BSD-2-Clause */
/* GHASH (SP 800-38D section 6.4) for the modes: setting hash subkeys, and streaming hashing. */
#ifndef TR_GHASH_H
#define TR_GHASH_H

#include "dispatch/ghash.h"

/* Sets an AES key for modes that only encrypt, its hash subkey, and the first powers. */
enum tr_status tr_ghash_set_key(struct tr_ghash_key *hash, struct tr_aes_key *aes,
                                const struct tr_backend *backend, const uint8_t *raw,
                                size_t key_len);

/* Computes the first powers of the hash subkey in hash->h, in this backend's format. */
void tr_ghash_expand(struct tr_ghash_key *hash, const struct tr_backend *backend);

/* Hashes `len` bytes after the *used bytes of a partial block, and updates *used. Multiplies each
 * block by H once the block is full. */
void tr_ghash_update(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used,
                     const uint8_t *data, size_t len);

/* Pads a partial block, if there is one, with zeros, and multiplies it by H. */
void tr_ghash_pad(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used);

#endif
