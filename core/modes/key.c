/* SPDX-License-Identifier: BSD-2-Clause */
/* Key expansion (FIPS-197 section 5.2), by the key's backend. */
#include "dispatch/backend.h"
#include "portable/expand.h"
#include "util.h"

TR_INLINE enum tr_status set_key(struct tr_aes_key *key, const struct tr_backend *backend,
                                 const uint8_t *raw, size_t key_len, int encryption)
{
    if (key_len != 16 && key_len != 24 && key_len != 32)
        return TR_ERR_KEY_LENGTH;
    if (backend == NULL)
        backend = tr_backend_selected();
    key->rounds = (uint32_t)key_len / 4 + 6;
    key->backend = backend;
    if (!tr_env_vector_begin(backend->features)) {
        /* All backends share one key format, so the key's backend can use this key in later
         * calls. */
        (encryption ? tr_portable_expand_encryption_key : tr_portable_expand_key)(key, raw);
        return TR_OK;
    }
    if (encryption && backend->expand_encryption_key != NULL)
        backend->expand_encryption_key(key, raw);
    else
        backend->expand_key(key, raw);
    tr_env_vector_end();
    return TR_OK;
}

enum tr_status tr_aes_set_key(struct tr_aes_key *key, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    return set_key(key, backend, raw, key_len, 0);
}

enum tr_status tr_aes_set_encryption_key(struct tr_aes_key *key, const struct tr_backend *backend,
                                         const uint8_t *raw, size_t key_len)
{
    return set_key(key, backend, raw, key_len, 1);
}
