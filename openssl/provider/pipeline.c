/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline.h"

#include "cipher.h"
#include "util.h"

#include <string.h>

static size_t size_of(size_t n, size_t context_size)
{
    return sizeof(struct trp_pipes) + n * context_size;
}

void trp_pipes_free(const struct trp_provider *provider, struct trp_pipes *pipes)
{
    if (pipes != NULL)
        provider->clear_free(pipes, size_of(pipes->n, pipes->context_size), __FILE__, __LINE__);
}

int trp_pipes_copy(const struct trp_provider *provider, struct trp_pipes **pipes)
{
    const struct trp_pipes *from = *pipes;
    if (from == NULL)
        return 1;
    const size_t size = size_of(from->n, from->context_size);
    *pipes = provider->malloc(size, __FILE__, __LINE__);
    if (*pipes == NULL)
        return 0;
    memcpy(*pipes, from, size);
    return 1;
}

static struct trp_pipes *new_pipes(const struct trp_provider *provider, size_t n,
                                   size_t context_size)
{
    struct trp_pipes *pipes = provider->malloc(size_of(n, context_size), __FILE__, __LINE__);
    if (pipes != NULL) {
        pipes->n = n;
        pipes->context_size = context_size;
    }
    return pipes;
}

int trp_pipes_init(const struct trp_provider *provider, struct trp_pipes **pipes, void *ctx,
                   size_t context_size, OSSL_FUNC_cipher_encrypt_init_fn *init, const uint8_t *key,
                   size_t key_len, size_t n, const uint8_t **iv, size_t iv_len,
                   const OSSL_PARAM params[])
{
    if (n == 0 || n > TRP_MAX_PIPES)
        return TRP_RAISE(provider, ERR_LIB_PROV, ERR_R_PASSED_INVALID_ARGUMENT);
    /* The copies have no pipes. */
    struct trp_pipes *old = *pipes, *p = NULL;
    *pipes = NULL;
    int good = init(ctx, key, key_len, NULL, 0, params);
    if (good && iv != NULL) {
        p = old != NULL && old->n == n ? old : new_pipes(provider, n, context_size);
        good = p != NULL;
        for (size_t i = 0; p != NULL && i < n; i++) {
            memcpy(trp_pipe(p, i), ctx, context_size);
            good = good && iv[i] != NULL && init(trp_pipe(p, i), NULL, 0, iv[i], iv_len, NULL);
        }
    }
    if (old != p)
        trp_pipes_free(provider, old);
    if (!good)
        trp_pipes_free(provider, p);
    else
        *pipes = p;
    return good;
}

static int right_number(const struct trp_provider *provider, const struct trp_pipes *pipes,
                        size_t n)
{
    return (pipes != NULL && pipes->n == n) ||
           TRP_RAISE(provider, ERR_LIB_PROV, ERR_R_PASSED_INVALID_ARGUMENT);
}

int trp_pipes_update(const struct trp_provider *provider, struct trp_pipes *pipes,
                     OSSL_FUNC_cipher_update_fn *update, size_t n, uint8_t **out, size_t *out_len,
                     const size_t *out_size, const uint8_t **in, const size_t *in_len)
{
    if (!right_number(provider, pipes, n))
        return 0;
    if (in == NULL || (out != NULL && out_size == NULL))
        return TRP_RAISE(provider, ERR_LIB_PROV, ERR_R_PASSED_NULL_PARAMETER);
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        /* AAD has no out, and needs none. */
        if (!update(trp_pipe(pipes, i), out == NULL ? NULL : out[i], &out_len[i],
                    out == NULL || out[i] == NULL ? 0 : out_size[i], in[i], in_len[i]))
            good = out_len[i] = 0;
    }
    return good;
}

/* ---- CBC -------------------------------------------------------------------------------------- */

/* Whether whole blocks at the beginning of this update can be encrypted past the buffer. */
static int can_join(const struct trp_cipher *cipher, const uint8_t *out, size_t out_size,
                    const uint8_t *in, size_t len)
{
    const struct tr_cipher *c = &cipher->core;
    return cipher->key_set && !c->decrypt && c->used == 0 && cipher->tls_version == 0 &&
           len >= TR_BLOCK && tr_cipher_room(c, len) <= out_size &&
           !tr_partial_overlap(out, in, len);
}

static int overlap(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    const uintptr_t ahead = (uintptr_t)b - (uintptr_t)a;
    return ahead < a_len || 0 - ahead < b_len;
}

/* Whether a pipe that is encrypted with the others (done is not 0) writes what another one reads or writes, or the
 * other way round. One after the other, that has a meaning. */
static int crosses(uint8_t **out, const uint8_t **in, const size_t *in_len, const size_t *done,
                   size_t a, size_t b)
{
    if ((done[a] == 0 && done[b] == 0) || in_len[a] == 0 || in_len[b] == 0)
        return 0;
    /* A pipe by itself may have a block begun. */
    const size_t a_len = done[a] != 0 ? done[a] : in_len[a] + TR_BLOCK,
                 b_len = done[b] != 0 ? done[b] : in_len[b] + TR_BLOCK;
    return overlap(out[a], a_len, in[b], in_len[b]) || overlap(out[b], b_len, in[a], in_len[a]) ||
           overlap(out[a], a_len, out[b], b_len);
}

/* Less data than this altogether is as fast one after the other. */
#define WORTH_IT 2048

/* The pipes are copies of one context, so their keys are the same; and equal keys in one place are faster. */
static void encrypt_whole(struct trp_pipes *pipes, size_t n, uint8_t **out, const size_t *out_size,
                          const uint8_t **in, const size_t *in_len, size_t *done)
{
    struct tr_stream jobs[TRP_MAX_PIPES];
    const struct trp_cipher *first = trp_pipe(pipes, 0);
    size_t count = 0, total = 0;
    memset(done, 0, n * sizeof(*done));
    for (size_t i = 0; i < n; i++)
        total += in_len[i];
    for (size_t i = 0; total >= WORTH_IT && i < n; i++) {
        struct trp_cipher *cipher = trp_pipe(pipes, i);
        if (!can_join(cipher, out[i], out_size[i], in[i], in_len[i]))
            continue;
        done[i] = in_len[i] - in_len[i] % TR_BLOCK;
        jobs[count++] =
            (struct tr_stream){&first->core.key, cipher->core.iv, out[i], in[i], done[i]};
    }
    for (size_t a = 1; count != 0 && a < n; a++) {
        for (size_t b = 0; count != 0 && b < a; b++) {
            if (crosses(out, in, in_len, done, a, b))
                count = 0;
        }
    }
    if (count == 0 || tr_cbc_encrypt_many(jobs, count) != TR_OK)
        memset(done, 0, n * sizeof(*done));
}

int trp_cbc_pipes_update(const struct trp_provider *provider, struct trp_pipes *pipes,
                         OSSL_FUNC_cipher_update_fn *update, size_t n, uint8_t **out,
                         size_t *out_len, const size_t *out_size, const uint8_t **in,
                         const size_t *in_len)
{
    size_t done[TRP_MAX_PIPES];
    if (!right_number(provider, pipes, n))
        return 0;
    if (in == NULL || out == NULL || out_size == NULL)
        return trp_pipes_update(provider, pipes, update, n, out, out_len, out_size, in, in_len);
    encrypt_whole(pipes, n, out, out_size, in, in_len, done);
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        size_t rest = 0;
        out_len[i] = done[i];
        if (done[i] != 0 && done[i] == in_len[i])
            continue;
        const int whole = done[i] == 0; /* out and in may be NULL */
        if (update(trp_pipe(pipes, i), whole ? out[i] : out[i] + done[i], &rest,
                   out[i] == NULL ? 0 : out_size[i] - done[i], whole ? in[i] : in[i] + done[i],
                   in_len[i] - done[i]))
            out_len[i] += rest;
        else
            good = out_len[i] = 0;
    }
    return good;
}

/* ---- All ------------------------------------------------------------------------------------- */

int trp_pipes_final(const struct trp_provider *provider, struct trp_pipes *pipes,
                    OSSL_FUNC_cipher_final_fn *final, size_t n, uint8_t **out, size_t *out_len,
                    const size_t *out_size)
{
    if (!right_number(provider, pipes, n))
        return 0;
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        if (!final(trp_pipe(pipes, i), out == NULL ? NULL : out[i], &out_len[i],
                   out == NULL || out_size == NULL ? 0 : out_size[i]))
            good = out_len[i] = 0;
    }
    return good;
}
