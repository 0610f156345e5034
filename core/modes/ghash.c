/* SPDX-License-Identifier: BSD-2-Clause */
/* GHASH, SP 800-38D section 6.4, in pieces. The bytes of a block that is not full yet are xored into
 * the hash at once; when it is full, a block of zeros does the multiplication that is due. */
#include "../ghash.h"

#include "../part.h"
#include "modes.h"

static const uint8_t zeros[TR_BLOCK];

enum tr_status tr_ghash_set_key(struct tr_ghash *ghash, struct tr_aes_key *key,
                                const struct tr_backend *backend, const uint8_t *raw,
                                size_t key_len)
{
    if (backend == NULL)
        backend = tr_backend_selected();
    if (backend->gcm_key != NULL && (key_len == 16 || key_len == 24 || key_len == 32) &&
        tr_env_vector_begin(backend->features)) {
        key->rounds = (uint32_t)key_len / 4 + 6;
        key->backend = backend;
        part_store_block(ghash->hash, (struct part){0, 0});
        backend->gcm_key(key, ghash, raw);
        tr_env_vector_end();
        return TR_OK;
    }
    enum tr_status status = tr_aes_set_key(key, backend, raw, key_len);
    if (status != TR_OK)
        return status;
    tr_bulk(key, TR_OP_ECB_ENCRYPT, ghash->h, zeros, 1, NULL);
    tr_ghash_expand(ghash, key);
    return TR_OK;
}

void tr_ghash_expand(struct tr_ghash *ghash, struct tr_aes_key *key)
{
    int vector = tr_env_vector_begin(key->backend->features);
    if (!vector)
        key->backend = &tr_bitslice;
    const struct tr_backend *b = key->backend;
    __builtin_memset(ghash->hash, 0, TR_BLOCK);
    while (b->ghash_key == NULL)
        b = b->weaker;
    b->ghash_key(ghash);
    if (vector)
        tr_env_vector_end();
}

static void add_part(struct tr_ghash *ghash, unsigned used, struct part data)
{
    part_store_block(ghash->hash, part_xor(part_load_block(ghash->hash), part_up(data, used)));
}

void tr_ghash_update(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used,
                     const uint8_t *data, size_t len)
{
    if (len != 0 && *used == TR_BLOCK) /* GCM holds back a full block of AAD */
        tr_ghash_pad(ghash, key, used);
    if (len != 0 && *used != 0) {
        size_t n = TR_BLOCK - *used < len ? TR_BLOCK - *used : len;
        add_part(ghash, *used, part_load(data, n));
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
        add_part(ghash, 0, part_load(data, len));
        *used = (unsigned)len;
    }
}

void tr_ghash_pad(struct tr_ghash *ghash, const struct tr_aes_key *key, unsigned *used)
{
    if (*used != 0)
        tr_bulk(key, TR_OP_GHASH, NULL, zeros, 1, ghash);
    *used = 0;
}
