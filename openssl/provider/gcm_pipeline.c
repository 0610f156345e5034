/* SPDX-License-Identifier: BSD-2-Clause */
#include "gcm_pipeline.h"

#include "modes/gcm.h"
#include "pipeline.h"
#include "util.h"

/* ---- Contexts ------------------------------------------------------------------------------- */

static size_t size_of(size_t n)
{
    return sizeof(struct trp_gcm_pipes) + n * sizeof(struct trp_gcm_pipe);
}

void trp_gcm_pipes_free(struct trp_gcm_pipes *pipes)
{
    if (pipes != NULL)
        trp_clear_free(pipes->provider, pipes, size_of(pipes->n));
}

static struct trp_gcm_pipes *new_pipes(const struct trp_provider *provider, size_t n)
{
    struct trp_gcm_pipes *pipes = provider->malloc(size_of(n), __FILE__, __LINE__);
    if (pipes == NULL)
        return NULL;
    memset(pipes, 0, size_of(n));
    pipes->provider = provider;
    pipes->n = n;
    return pipes;
}

struct trp_gcm_pipes *trp_gcm_pipes_copy(const struct trp_gcm_pipes *from,
                                         const struct tr_gcm_key *key)
{
    struct trp_gcm_pipes *copy = new_pipes(from->provider, from->n);
    if (copy == NULL)
        return NULL;
    memcpy(copy, from, size_of(from->n));
    for (size_t i = 0; i < copy->n; i++)
        tr_gcm_rebind(&copy->pipe[i].core, key);
    return copy;
}

struct trp_gcm_pipes *trp_gcm_pipes_begin(struct trp_gcm_pipes *old, const struct trp_aead *a,
                                          const struct tr_gcm_key *key, size_t n,
                                          const uint8_t **iv, size_t iv_len)
{
    struct trp_gcm_pipes *pipes = old != NULL && old->n == n ? old : new_pipes(a->head.provider, n);
    if (pipes == NULL)
        return NULL;
    pipes->encrypt = a->encrypt;
    pipes->tag_len = 0;
    int good = iv_len != 0 && iv_len <= TRP_MAX_IV;
    for (size_t i = 0; good && i < n; i++)
        good = iv[i] != NULL && tr_gcm_start(&pipes->pipe[i].core, key, iv[i], iv_len) == TR_OK;
    if (good)
        return pipes;
    trp_failed(a, PROV_R_INVALID_IV_LENGTH);
    if (pipes != old)
        trp_gcm_pipes_free(pipes);
    return NULL;
}

/* ---- Update and final ------------------------------------------------------------------------ */

static int failed(const struct trp_gcm_pipes *pipes, enum tr_status status)
{
    if (status == TR_ERR_OVERLAP)
        return TRP_RAISE(pipes->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    return TRP_RAISE(pipes->provider, ERR_LIB_PROV, PROV_R_CIPHER_OPERATION_FAILED);
}

/* Whether a pipe writes memory that another one reads or writes. Such pipes must run one after the
 * other. */
static int crosses(size_t n, uint8_t **out, const uint8_t **in, const size_t *len)
{
    for (size_t a = 1; a < n; a++) {
        for (size_t b = 0; b < a; b++) {
            if (trp_overlap(out[a], len[a], in[b], len[b]) ||
                trp_overlap(out[b], len[b], in[a], len[a]) ||
                trp_overlap(out[a], len[a], out[b], len[b]))
                return 1;
        }
    }
    return 0;
}

/* Processes AAD or data of one pipe. */
static enum tr_status update_one(struct tr_gcm *g, int encrypt, uint8_t *out, const uint8_t *in,
                                 size_t len)
{
    if (out == NULL)
        return tr_gcm_aad(g, in, len);
    return (encrypt ? tr_gcm_encrypt : tr_gcm_decrypt)(g, out, in, len);
}

/* Whether each pipe has data and room for the output. */
static int all_have_data(size_t n, uint8_t **out, const size_t *out_size, const size_t *in_len)
{
    for (size_t i = 0; i < n; i++) {
        if (out[i] == NULL || in_len[i] == 0 || out_size[i] < in_len[i])
            return 0;
    }
    return 1;
}

static void encrypt_all(struct trp_gcm_pipes *pipes, struct tr_gcm_job *jobs, uint8_t **out,
                        const uint8_t **in, const size_t *in_len)
{
    struct tr_gcm *messages[TRP_MAX_PIPES] = {NULL};
    for (size_t i = 0; i < pipes->n; i++) {
        messages[i] = &pipes->pipe[i].core;
        jobs[i] = (struct tr_gcm_job){.out = out[i], .in = in[i], .len = in_len[i]};
    }
    tr_gcm_encrypt_many(messages, jobs, pipes->n);
}

int trp_gcm_pipes_update(struct trp_gcm_pipes *pipes, uint8_t **out, size_t *out_len,
                         const size_t *out_size, const uint8_t **in, const size_t *in_len)
{
    struct tr_gcm_job jobs[TRP_MAX_PIPES];
    const size_t n = pipes->n;
    if (in == NULL || (out != NULL && out_size == NULL))
        return TRP_RAISE(pipes->provider, ERR_LIB_PROV, ERR_R_PASSED_NULL_PARAMETER);
    const int together = pipes->encrypt && out != NULL && all_have_data(n, out, out_size, in_len) &&
                         !crosses(n, out, in, in_len);
    if (together)
        encrypt_all(pipes, jobs, out, in, in_len);
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t *const to = out == NULL ? NULL : out[i];
        out_len[i] = 0;
        if (in_len[i] == 0)
            continue;
        if (to != NULL && out_size[i] < in_len[i]) {
            good = TRP_RAISE(pipes->provider, ERR_LIB_PROV, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
            continue;
        }
        const enum tr_status status =
            together ? jobs[i].status
                     : update_one(&pipes->pipe[i].core, pipes->encrypt, to, in[i], in_len[i]);
        if (status == TR_OK)
            out_len[i] = in_len[i];
        else
            good = failed(pipes, status);
    }
    return good;
}

int trp_gcm_pipes_final(struct trp_gcm_pipes *pipes, size_t *out_len)
{
    int good = pipes->encrypt || pipes->tag_len != 0;
    for (size_t i = 0; i < pipes->n; i++) {
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
static uint8_t *const *tags_of(const OSSL_PARAM *p, size_t n)
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

int trp_gcm_pipes_get_tags(const struct trp_gcm_pipes *pipes, const OSSL_PARAM *p)
{
    uint8_t *const *tags = pipes == NULL ? NULL : tags_of(p, pipes->n);
    if (tags == NULL || !pipes->encrypt || pipes->tag_len == 0)
        return 0;
    for (size_t i = 0; i < pipes->n; i++)
        memcpy(tags[i], pipes->pipe[i].tag, p->data_size);
    return 1;
}

int trp_gcm_pipes_set_tags(struct trp_gcm_pipes *pipes, const OSSL_PARAM *p)
{
    uint8_t *const *tags = pipes == NULL ? NULL : tags_of(p, pipes->n);
    if (tags == NULL || pipes->encrypt)
        return 0;
    for (size_t i = 0; i < pipes->n; i++)
        memcpy(pipes->pipe[i].tag, tags[i], p->data_size);
    pipes->tag_len = p->data_size;
    return 1;
}
