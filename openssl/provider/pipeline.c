/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline.h"

#include "util.h"

#include <string.h>

/* ---- Contexts -------------------------------------------------------------------------------- */

static size_t size_of(size_t n)
{
    return sizeof(struct trp_pipes) + n * sizeof(struct trp_cipher);
}

void trp_pipes_free(const struct trp_provider *provider, struct trp_pipes *pipes)
{
    if (pipes != NULL)
        trp_clear_free(provider, pipes, size_of(pipes->n));
}

static struct trp_pipes *new_pipes(const struct trp_provider *provider, size_t n)
{
    struct trp_pipes *pipes = provider->malloc(size_of(n), __FILE__, __LINE__);
    if (pipes != NULL)
        pipes->n = n;
    return pipes;
}

int trp_pipes_copy(struct trp_keyed *ctx)
{
    const struct trp_pipes *from = ctx->cipher.pipes;
    if (from == NULL)
        return 1;
    struct trp_pipes *copy = new_pipes(ctx->cipher.head.provider, from->n);
    ctx->cipher.pipes = copy;
    for (size_t i = 0; copy != NULL && i < from->n; i++) {
        copy->pipe[i] = from->pipe[i];
        copy->pipe[i].core.key = &ctx->key;
    }
    return copy != NULL;
}

/* ---- Init ------------------------------------------------------------------------------------ */

/* Makes n copies of the context, each with its own IV. Reuses the memory of *old if *old has n
 * pipes. Returns NULL if an IV is missing or wrong, or if memory runs out. */
static struct trp_pipes *begin(struct trp_pipes *old, const struct trp_cipher *ctx, size_t n,
                               const uint8_t **iv, size_t iv_len)
{
    struct trp_pipes *pipes = old != NULL && old->n == n ? old : new_pipes(ctx->head.provider, n);
    int good = pipes != NULL;
    for (size_t i = 0; pipes != NULL && i < n; i++) {
        pipes->pipe[i] = *ctx;
        good = good && iv[i] != NULL && trp_set_iv(&pipes->pipe[i], iv[i], iv_len);
    }
    if (good)
        return pipes;
    if (pipes != old)
        trp_pipes_free(ctx->head.provider, pipes);
    return NULL;
}

static int init(struct trp_keyed *ctx, const uint8_t *key, size_t key_len, size_t n,
                const uint8_t **iv, size_t iv_len, const OSSL_PARAM params[], int decrypt)
{
    struct trp_cipher *cipher = &ctx->cipher;
    if (n == 0 || n > TRP_MAX_PIPES)
        return trp_failed(cipher, ERR_R_PASSED_INVALID_ARGUMENT);
    struct trp_pipes *old = cipher->pipes, *pipes = NULL;
    cipher->pipes = NULL;
    int good = (decrypt ? trp_decrypt_init : trp_encrypt_init)(ctx, key, key_len, NULL, 0, params);
    if (good && iv != NULL) {
        pipes = begin(old, cipher, n, iv, iv_len);
        good = pipes != NULL;
    }
    if (old != pipes)
        trp_pipes_free(cipher->head.provider, old);
    cipher->pipes = pipes;
    return good;
}

int trp_pipeline_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[])
{
    return init(ctx, key, key_len, n, iv, iv_len, params, 0);
}

int trp_pipeline_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[])
{
    return init(ctx, key, key_len, n, iv, iv_len, params, 1);
}

/* ---- Update ---------------------------------------------------------------------------------- */

static int has_pipes(const struct trp_cipher *ctx, size_t n)
{
    return (ctx->pipes != NULL && ctx->pipes->n == n) ||
           trp_failed(ctx, ERR_R_PASSED_INVALID_ARGUMENT);
}

/* Whether the whole blocks of this update can join the multi-buffer call and bypass the buffer. */
static int can_join(const struct trp_cipher *cipher, const uint8_t *out, size_t out_size,
                    const uint8_t *in, size_t len)
{
    const struct tr_cipher *c = &cipher->core;
    return cipher->key_set && !c->decrypt && c->used == 0 && cipher->tls_version == 0 &&
           len >= TR_BLOCK && tr_cipher_room(c, len) <= out_size && !tr_bad_overlap(out, in, len);
}

/*
 * Whether pipes a and b conflict and must run one after the other. Two pipes conflict if one pipe
 * writes memory that the other reads or writes. Returns 0 if neither pipe would join the
 * multi-buffer call (done[] is 0 for both), or if either has no input.
 */
static int crosses(uint8_t **out, const uint8_t **in, const size_t *in_len, const size_t *done,
                   size_t a, size_t b)
{
    if ((done[a] == 0 && done[b] == 0) || in_len[a] == 0 || in_len[b] == 0)
        return 0;
    /* A pipe that does not join may also write a block that it has buffered. */
    const size_t a_len = done[a] != 0 ? done[a] : in_len[a] + TR_BLOCK,
                 b_len = done[b] != 0 ? done[b] : in_len[b] + TR_BLOCK;
    return trp_overlap(out[a], a_len, in[b], in_len[b]) ||
           trp_overlap(out[b], b_len, in[a], in_len[a]) ||
           trp_overlap(out[a], a_len, out[b], b_len);
}

/* A multi-buffer call gains nothing if all pipes together have fewer bytes than this. */
#define WORTH_IT 2048

/* Makes one multi-buffer call that encrypts the whole blocks of all pipes that can join. Makes no
 * call if two pipes conflict. Stores in done[i] how many bytes of pipe i were encrypted. */
static void encrypt_whole(struct trp_pipes *pipes, uint8_t **out, const size_t *out_size,
                          const uint8_t **in, const size_t *in_len, size_t *done)
{
    const size_t n = pipes->n;
    struct tr_stream jobs[TRP_MAX_PIPES];
    size_t count = 0, total = 0;
    memset(done, 0, n * sizeof(*done));
    for (size_t i = 0; i < n; i++)
        total += in_len[i];
    for (size_t i = 0; total >= WORTH_IT && i < n; i++) {
        struct trp_cipher *pipe = &pipes->pipe[i];
        if (!can_join(pipe, out[i], out_size[i], in[i], in_len[i]))
            continue;
        done[i] = in_len[i] - in_len[i] % TR_BLOCK;
        jobs[count++] = (struct tr_stream){pipe->core.key, pipe->core.iv, out[i], in[i], done[i]};
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

/* Performs the update of a pipe for the bytes after the first `done` bytes. */
static int update_rest(struct trp_cipher *pipe, uint8_t *out, size_t *out_len, size_t out_size,
                       const uint8_t *in, size_t len, size_t done)
{
    size_t rest = 0;
    *out_len = done;
    if (done != 0 && done == len)
        return 1;
    if (done != 0) { /* then neither pointer is NULL */
        out += done;
        in += done;
        out_size -= done;
    }
    if (!trp_cbc_update(pipe, out, &rest, out == NULL ? 0 : out_size, in, len - done)) {
        *out_len = 0;
        return 0;
    }
    *out_len += rest;
    return 1;
}

int trp_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                        const size_t *out_size, const unsigned char **in, const size_t *in_len)
{
    struct trp_cipher *c = ctx;
    size_t done[TRP_MAX_PIPES];
    if (!has_pipes(c, n))
        return 0;
    if (in == NULL || out == NULL || out_size == NULL)
        return trp_failed(c, ERR_R_PASSED_NULL_PARAMETER);
    encrypt_whole(c->pipes, out, out_size, in, in_len, done);
    int good = 1;
    for (size_t i = 0; i < n; i++)
        good &= update_rest(&c->pipes->pipe[i], out[i], &out_len[i], out_size[i], in[i], in_len[i],
                            done[i]);
    return good;
}

/* ---- Final ----------------------------------------------------------------------------------- */

int trp_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                       const size_t *out_size)
{
    struct trp_cipher *c = ctx;
    if (!has_pipes(c, n))
        return 0;
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t *const to = out == NULL ? NULL : out[i];
        if (!trp_block_final(&c->pipes->pipe[i], to, &out_len[i],
                             to == NULL || out_size == NULL ? 0 : out_size[i]))
            good = out_len[i] = 0;
    }
    return good;
}
