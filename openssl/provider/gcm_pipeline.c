/* SPDX-License-Identifier: BSD-2-Clause */
#include "gcm_pipeline.h"

#include "modes/gcm.h"
#include "util.h"

static struct trp_gcm_pipes *gcm_pipes_of(const struct trp_aead *a)
{
    return (struct trp_gcm_pipes *)a->head.pipes;
}

int trp_gcm_pipes_begin(const struct trp_aead *a, const struct tr_gcm_key *key, const uint8_t **iv,
                        size_t iv_len)
{
    struct trp_gcm_pipes *pipes = gcm_pipes_of(a);
    pipes->encrypt = a->encrypt;
    pipes->tag_len = 0;
    int good = iv_len != 0 && iv_len <= TRP_MAX_IV;
    for (size_t i = 0; good && i < pipes->head.n; i++)
        good = iv[i] != NULL && tr_gcm_start(&pipes->pipe[i].core, key, iv[i], iv_len) == TR_OK;
    return good || trp_failed(a, PROV_R_INVALID_IV_LENGTH);
}

void trp_gcm_pipes_rebind(const struct trp_aead *copy, const struct tr_gcm_key *key)
{
    struct trp_gcm_pipes *pipes = gcm_pipes_of(copy);
    for (size_t i = 0; pipes != NULL && i < pipes->head.n; i++)
        tr_gcm_rebind(&pipes->pipe[i].core, key);
}

/* ---- Update and final ------------------------------------------------------------------------ */

/* Processes AAD or data of one pipe. */
static enum tr_status gcm_pipe_update(struct tr_gcm *g, int encrypt, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    if (out == NULL)
        return tr_gcm_aad(g, in, len);
    return (encrypt ? tr_gcm_encrypt : tr_gcm_decrypt)(g, out, in, len);
}

/* Whether each pipe has data and room for the output. */
static int gcm_pipes_have_data(size_t n, uint8_t **out, const size_t *out_size,
                               const size_t *in_len)
{
    for (size_t i = 0; i < n; i++) {
        if (out[i] == NULL || in_len[i] == 0 || out_size[i] < in_len[i])
            return 0;
    }
    return 1;
}

static void gcm_pipes_encrypt(struct trp_gcm_pipes *pipes, struct tr_gcm_job *jobs, uint8_t **out,
                              const uint8_t **in, const size_t *in_len)
{
    struct tr_gcm *messages[TRP_MAX_PIPES] = {NULL};
    for (size_t i = 0; i < pipes->head.n; i++) {
        messages[i] = &pipes->pipe[i].core;
        jobs[i] = (struct tr_gcm_job){.out = out[i], .in = in[i], .len = in_len[i]};
    }
    tr_gcm_encrypt_many(messages, jobs, pipes->head.n);
}

int trp_gcm_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                            const size_t *out_size, const unsigned char **in, const size_t *in_len)
{
    const struct trp_aead *a = ctx;
    struct trp_gcm_pipes *pipes = gcm_pipes_of(a);
    struct tr_gcm_job jobs[TRP_MAX_PIPES];
    if (!trp_has_pipes(ctx, n))
        return 0;
    if (in == NULL || (out != NULL && out_size == NULL))
        return trp_failed(a, ERR_R_PASSED_NULL_PARAMETER);
    const int together = pipes->encrypt && out != NULL &&
                         gcm_pipes_have_data(n, out, out_size, in_len) &&
                         !trp_pipes_cross(n, out, in, in_len, in_len);
    if (together)
        gcm_pipes_encrypt(pipes, jobs, out, in, in_len);
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t *const to = out == NULL ? NULL : out[i];
        out_len[i] = 0;
        if (in_len[i] == 0)
            continue;
        if (to != NULL && out_size[i] < in_len[i]) {
            good = trp_failed(a, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
            continue;
        }
        const enum tr_status status =
            together ? jobs[i].status
                     : gcm_pipe_update(&pipes->pipe[i].core, pipes->encrypt, to, in[i], in_len[i]);
        if (status == TR_OK)
            out_len[i] = in_len[i];
        else
            good = status == TR_ERR_OVERLAP ? trp_aead_status(a, status)
                                            : trp_failed(a, PROV_R_CIPHER_OPERATION_FAILED);
    }
    return good;
}

int trp_gcm_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                           const size_t *out_size)
{
    struct trp_gcm_pipes *pipes = gcm_pipes_of(ctx);
    if (!trp_has_pipes(ctx, n))
        return 0;
    int good = pipes->encrypt || pipes->tag_len != 0;
    for (size_t i = 0; i < pipes->head.n; i++) {
        struct trp_gcm_pipe *p = &pipes->pipe[i];
        out_len[i] = 0;
        if (pipes->encrypt)
            good &= tr_gcm_tag(&p->core, p->tag, TRP_TAG) == TR_OK;
        else if (pipes->tag_len != 0)
            good &= tr_gcm_check(&p->core, p->tag, pipes->tag_len) == TR_OK;
    }
    if (pipes->encrypt)
        pipes->tag_len = good ? TRP_TAG : 0;
    return good;
}

/* ---- Tags ----------------------------------------------------------------------------------- */

/* The array of the addresses of n tags. Returns NULL if the parameter is wrong. */
static uint8_t *const *gcm_pipes_tags_of(const OSSL_PARAM *p, size_t n)
{
    if (p->data_type != OSSL_PARAM_OCTET_PTR || p->data == NULL || p->data_size == 0 ||
        p->data_size > TRP_TAG)
        return NULL;
    uint8_t *const *tags = *(uint8_t *const **)p->data;
    for (size_t i = 0; tags != NULL && i < n; i++) {
        if (tags[i] == NULL)
            return NULL;
    }
    return tags;
}

int trp_gcm_pipes_get_tags(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm_pipes *pipes = gcm_pipes_of(ctx);
    uint8_t *const *tags = pipes == NULL ? NULL : gcm_pipes_tags_of(p, pipes->head.n);
    if (tags == NULL || !pipes->encrypt || pipes->tag_len == 0)
        return trp_failed(ctx, PROV_R_INVALID_TAG);
    for (size_t i = 0; i < pipes->head.n; i++)
        memcpy(tags[i], pipes->pipe[i].tag, p->data_size);
    return 1;
}

int trp_gcm_pipes_set_tags(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm_pipes *pipes = gcm_pipes_of(ctx);
    uint8_t *const *tags = pipes == NULL ? NULL : gcm_pipes_tags_of(p, pipes->head.n);
    if (tags == NULL || pipes->encrypt)
        return trp_failed(ctx, PROV_R_INVALID_TAG);
    for (size_t i = 0; i < pipes->head.n; i++)
        memcpy(pipes->pipe[i].tag, tags[i], p->data_size);
    pipes->tag_len = p->data_size;
    return 1;
}
