/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipelines of AES-GCM (pipeline.h): one key and up to 32 messages, each with its own IV, AAD and
 * tag. Short messages of one length that are encrypted run in one call (tr_gcm_encrypt_many()).
 * Decryption runs one pipe after the other.
 */
#ifndef TENROUNDS_PROVIDER_GCM_PIPELINE_H
#define TENROUNDS_PROVIDER_GCM_PIPELINE_H

#include "aead.h"

struct trp_gcm_pipes {
    const struct trp_provider *provider;
    size_t n, tag_len; /* a tag_len of 0: the tags are neither set nor computed */
    int encrypt;
    struct trp_gcm_pipe {
        struct tr_gcm core;
        uint8_t tag[TRP_TAG];
    } pipe[];
};

void trp_gcm_pipes_free(struct trp_gcm_pipes *pipes);

/* Copies the pipes, with the key of the copied context. Returns NULL if memory is exhausted. */
struct trp_gcm_pipes *trp_gcm_pipes_copy(const struct trp_gcm_pipes *from,
                                         const struct tr_gcm_key *key);

/* Starts n messages. Reuses the memory of `old` if it has n pipes. Returns NULL if an IV is missing
 * or has a wrong length, or if memory is exhausted. */
struct trp_gcm_pipes *trp_gcm_pipes_begin(struct trp_gcm_pipes *old, const struct trp_aead *a,
                                          const struct tr_gcm_key *key, size_t n,
                                          const uint8_t **iv, size_t iv_len);

/* As pipeline.h says. Without `out`, or for a pipe whose out[i] is NULL, the input is AAD. */
int trp_gcm_pipes_update(struct trp_gcm_pipes *pipes, uint8_t **out, size_t *out_len,
                         const size_t *out_size, const uint8_t **in, const size_t *in_len);
int trp_gcm_pipes_final(struct trp_gcm_pipes *pipes, size_t *out_len);

/* Get and set the tags of all pipes. The parameter points to an array with the address of each
 * pipe's tag, and its size is that of one tag. Both return 0 if they refuse. */
int trp_gcm_pipes_get_tags(const struct trp_gcm_pipes *pipes, const OSSL_PARAM *p);
int trp_gcm_pipes_set_tags(struct trp_gcm_pipes *pipes, const OSSL_PARAM *p);

#endif
