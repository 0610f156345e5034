/* SPDX-License-Identifier: BSD-2-Clause */
/* Pipelines of AES-GCM (pipeline.h): one key and up to 32 messages, each with its own IV, AAD and
 * tag. Short messages of one length that are encrypted run in one call (tr_gcm_encrypt_many()).
 * Decryption runs one pipe after the other. */
#ifndef TENROUNDS_PROVIDER_GCM_PIPELINE_H
#define TENROUNDS_PROVIDER_GCM_PIPELINE_H

#include "aead.h"
#include "pipeline.h"

struct trp_gcm_pipes {
    struct trp_pipes head;
    size_t tag_len; /* 0: the tags are neither set nor computed */
    int encrypt;
    struct trp_gcm_pipe {
        struct tr_gcm core;
        uint8_t tag[TRP_TAG];
    } pipe[];
};

/* Start n messages, and give the pipes of a copied context its key. */
int trp_gcm_pipes_begin(const struct trp_aead *a, const struct tr_gcm_key *key, const uint8_t **iv,
                        size_t iv_len);
void trp_gcm_pipes_rebind(const struct trp_aead *copy, const struct tr_gcm_key *key);

/* As pipeline.h says. Without `out`, or for a pipe whose out[i] is NULL, the input is AAD. */
int trp_gcm_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                            const size_t *out_size, const unsigned char **in, const size_t *in_len);
int trp_gcm_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                           const size_t *out_size);

/* Get and set the tags of all pipes. The parameter points to an array with the address of each
 * pipe's tag, and its size is that of one tag. */
int trp_gcm_pipes_get_tags(void *ctx, OSSL_PARAM *p);
int trp_gcm_pipes_set_tags(void *ctx, OSSL_PARAM *p);

#endif
