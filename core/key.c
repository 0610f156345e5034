/* SPDX-License-Identifier: BSD-2-Clause */
/* Key expansion (FIPS-197 section 5.2), by the key's backend. */
#include "backend.h"
#include "util.h"

enum tr_status tr_aes_set_key(struct tr_aes_key *key, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    if (key_len != 16 && key_len != 24 && key_len != 32)
        return TR_ERR_KEY_LENGTH;
    if (backend == NULL)
        backend = tr_backend_selected();
    key->rounds = (uint32_t)key_len / 4 + 6;
    int vector = tr_env_vector_begin(backend->features);
    /* What bitslice expands lacks what others need (dec): the key stays with bitslice then. */
    key->backend = vector ? backend : &tr_bitslice;
    key->backend->expand_key(key, raw);
    if (vector)
        tr_env_vector_end();
    return TR_OK;
}
