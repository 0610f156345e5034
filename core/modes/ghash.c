/* SPDX-License-Identifier: BSD-2-Clause */
/* Streaming GHASH, SP 800-38D section 6.4. The bytes of a partial block are XORed into the hash as
 * they come. When the block is full, hashing a block of zeros does the pending multiplication. */
#include "modes/ghash.h"

#include "modes/modes.h"
#include "partial_block.h"

static const uint8_t zeros[TR_BLOCK];

/* Sets the fields of a shared key that ghash_key() does not. */
static void ghash_start_hash(struct tr_ghash_key *hash, const struct tr_aes_key *aes)
{
    hash->short_len = tr_whole_calls(aes)->gcm[0][0] != NULL ? tr_ghash_short_len(0) : 0;
    hash->unshared = hash->in_pieces = 0;
}

enum tr_status tr_ghash_set_key(struct tr_ghash_key *hash, struct tr_aes_key *aes,
                                const struct tr_backend *backend, const uint8_t *raw,
                                size_t key_len)
{
    if (backend == NULL)
        backend = tr_backend_selected();
    if (backend->gcm_key != NULL && (key_len == 16 || key_len == 24 || key_len == 32) &&
        tr_env_vector_begin(backend->features)) {
        aes->rounds = (uint32_t)key_len / 4 + 6;
        aes->backend = backend;
        ghash_start_hash(hash, aes);
        backend->gcm_key(aes, hash, raw);
        tr_env_vector_end();
        return TR_OK;
    }
    enum tr_status status = tr_aes_set_encryption_key(aes, backend, raw, key_len);
    if (status != TR_OK)
        return status;
    ghash_start_hash(hash, aes);
    tr_bulk(aes, TR_OP_ECB_ENCRYPT, hash->h, zeros, 1, NULL);
    tr_ghash_expand(hash, aes->backend);
    return TR_OK;
}

void tr_ghash_expand(struct tr_ghash_key *hash, const struct tr_backend *backend)
{
    const struct tr_backend *b = backend;
    while (b->ghash_key == NULL)
        b = b->weaker;
    if (tr_env_vector_begin(backend->features)) {
        b->ghash_key(hash);
        tr_env_vector_end();
    } else {
        b->ghash_key_refused(hash);
    }
}

static void ghash_add_part(struct tr_ghash *ghash, unsigned used, struct partial_block data)
{
    partial_store_block(ghash->hash,
                        partial_xor(partial_load_block(ghash->hash), partial_up(data, used)));
}

void tr_ghash_update(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used,
                     const uint8_t *data, size_t len)
{
    if (len != 0 && *used == TR_BLOCK) /* GCM holds back a full block of AAD */
        tr_ghash_pad(ghash, key, used);
    if (len != 0 && *used != 0) {
        size_t n = TR_BLOCK - *used < len ? TR_BLOCK - *used : len;
        ghash_add_part(ghash, *used, partial_load(data, n));
        *used += (unsigned)n;
        data += n;
        len -= n;
        if (*used == TR_BLOCK)
            tr_ghash_pad(ghash, key, used);
    }
    if (len >= TR_BLOCK) {
        tr_bulk(key, TR_OP_GHASH, NULL, data, len / TR_BLOCK, ghash);
        data += len - len % TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0) {
        ghash_add_part(ghash, 0, partial_load(data, len));
        *used = (unsigned)len;
    }
}

void tr_ghash_pad(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used)
{
    if (*used != 0)
        tr_bulk(key, TR_OP_GHASH, NULL, zeros, 1, ghash);
    *used = 0;
}
