/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline.h"

#include "util.h"

/* ---- All modes ------------------------------------------------------------------------------- */

void trp_pipes_free(struct trp_pipes *pipes)
{
    if (pipes != NULL)
        trp_clear_free(pipes->provider, pipes, pipes->size);
}

int trp_pipes_copy(struct trp_head *copy)
{
    const struct trp_pipes *from = copy->pipes;
    if (from == NULL)
        return 1;
    copy->pipes = copy->provider->malloc(from->size, __FILE__, __LINE__);
    if (copy->pipes != NULL)
        memcpy(copy->pipes, from, from->size);
    return copy->pipes != NULL;
}

int trp_has_pipes(const struct trp_head *head, size_t n)
{
    return (head->pipes != NULL && head->pipes->n == n) ||
           trp_failed(head, ERR_R_PASSED_INVALID_ARGUMENT);
}

/* Returns `old` if it has n pipes. Otherwise frees it, and returns new memory or NULL. */
static struct trp_pipes *pipes_new(const struct trp_provider *provider, struct trp_pipes *old,
                                   size_t n, size_t size)
{
    if (old != NULL && old->n == n)
        return old;
    trp_pipes_free(old);
    struct trp_pipes *pipes = provider->zalloc(size, __FILE__, __LINE__);
    if (pipes != NULL)
        *pipes = (struct trp_pipes){provider, n, size};
    return pipes;
}

static int pipes_init(void *ctx, const uint8_t *key, size_t key_len, size_t n, const uint8_t **iv,
                      size_t iv_len, const OSSL_PARAM params[], int encrypt)
{
    struct trp_head *head = ctx;
    const struct trp_pipeline *const mode = head->kind->family->pipeline;
    if (n == 0 || n > TRP_MAX_PIPES)
        return trp_failed(ctx, ERR_R_PASSED_INVALID_ARGUMENT);
    struct trp_pipes *pipes = head->pipes;
    head->pipes = NULL;
    int good =
        (encrypt ? mode->encrypt_init : mode->decrypt_init)(ctx, key, key_len, NULL, 0, params);
    if (good && iv != NULL) {
        head->pipes = pipes = pipes_new(head->provider, pipes, n, mode->size + n * mode->each);
        good = pipes != NULL && mode->begin(ctx, iv, iv_len);
    }
    if (!good || iv == NULL) {
        trp_pipes_free(pipes);
        head->pipes = NULL;
    }
    return good;
}

int trp_pipeline_encrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[])
{
    return pipes_init(ctx, key, key_len, n, iv, iv_len, params, 1);
}

int trp_pipeline_decrypt_init(void *ctx, const unsigned char *key, size_t key_len, size_t n,
                              const unsigned char **iv, size_t iv_len, const OSSL_PARAM params[])
{
    return pipes_init(ctx, key, key_len, n, iv, iv_len, params, 0);
}

static inline int pipes_overlap(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    const uintptr_t ahead = (uintptr_t)b - (uintptr_t)a;
    return ahead < a_len || 0 - ahead < b_len;
}

/* Whether pipes a and b conflict. */
static int pipe_crosses(uint8_t **out, const uint8_t **in, const size_t *in_len, const size_t *done,
                        size_t a, size_t b)
{
    if ((done[a] == 0 && done[b] == 0) || in_len[a] == 0 || in_len[b] == 0)
        return 0;
    /* A pipe that does not join may also write a block that it has buffered. */
    const size_t a_len = done[a] != 0 ? done[a] : in_len[a] + TR_BLOCK,
                 b_len = done[b] != 0 ? done[b] : in_len[b] + TR_BLOCK;
    return pipes_overlap(out[a], a_len, in[b], in_len[b]) ||
           pipes_overlap(out[b], b_len, in[a], in_len[a]) ||
           pipes_overlap(out[a], a_len, out[b], b_len);
}

int trp_pipes_cross(size_t n, uint8_t **out, const uint8_t **in, const size_t *in_len,
                    const size_t *done)
{
    for (size_t a = 1; a < n; a++) {
        for (size_t b = 0; b < a; b++) {
            if (pipe_crosses(out, in, in_len, done, a, b))
                return 1;
        }
    }
    return 0;
}

/* ---- CBC ------------------------------------------------------------------------------------- */

static int cbc_pipes_begin(void *ctx, const uint8_t **iv, size_t iv_len)
{
    const struct trp_cipher *cipher = ctx;
    struct trp_cbc_pipes *pipes = (struct trp_cbc_pipes *)cipher->head.pipes;
    int good = 1;
    for (size_t i = 0; i < pipes->head.n; i++) {
        pipes->pipe[i] = *cipher;
        pipes->pipe[i].head.pipes = NULL;
        good = good && iv[i] != NULL && trp_set_iv(&pipes->pipe[i], iv[i], iv_len);
    }
    return good;
}

const struct trp_pipeline trp_cbc_pipeline = {trp_encrypt_init, trp_decrypt_init,
                                              sizeof(struct trp_cbc_pipes),
                                              sizeof(struct trp_cipher), cbc_pipes_begin};

void trp_cbc_pipes_rebind(struct trp_keyed *copy)
{
    struct trp_cbc_pipes *pipes = (struct trp_cbc_pipes *)copy->cipher.head.pipes;
    for (size_t i = 0; pipes != NULL && i < pipes->head.n; i++)
        pipes->pipe[i].core.key = &copy->key;
}

/* Whether the whole blocks of this update can join the multi-buffer call and bypass the buffer. */
static int cbc_pipe_can_join(const struct trp_cipher *cipher, const uint8_t *out, size_t out_size,
                             const uint8_t *in, size_t len)
{
    const struct tr_cipher *c = &cipher->core;
    return cipher->key_set && !c->decrypt && c->used == 0 && cipher->tls_version == 0 &&
           len >= TR_BLOCK && tr_cipher_room(c, len) <= out_size && !tr_bad_overlap(out, in, len);
}

/* A multi-buffer call gains nothing if all pipes together have fewer bytes than this. */
#define WORTH_IT 2048

/* Makes one multi-buffer call that encrypts the whole blocks of all pipes that can join. Makes no
 * call if two pipes conflict. Stores in done[i] how many bytes of pipe i were encrypted. */
static void cbc_pipes_encrypt(struct trp_cbc_pipes *pipes, uint8_t **out, const size_t *out_size,
                              const uint8_t **in, const size_t *in_len, size_t *done)
{
    const size_t n = pipes->head.n;
    struct tr_stream jobs[TRP_MAX_PIPES];
    size_t count = 0, total = 0;
    memset(done, 0, n * sizeof(*done));
    for (size_t i = 0; i < n; i++)
        total += in_len[i];
    for (size_t i = 0; total >= WORTH_IT && i < n; i++) {
        struct trp_cipher *pipe = &pipes->pipe[i];
        if (!cbc_pipe_can_join(pipe, out[i], out_size[i], in[i], in_len[i]))
            continue;
        done[i] = in_len[i] - in_len[i] % TR_BLOCK;
        jobs[count++] = (struct tr_stream){pipe->core.key, pipe->core.iv, out[i], in[i], done[i]};
    }
    if (count == 0 || trp_pipes_cross(n, out, in, in_len, done) ||
        tr_cbc_encrypt_many(jobs, count) != TR_OK)
        memset(done, 0, n * sizeof(*done));
}

/* Performs the update of a pipe for the bytes after the first `done` bytes. */
static int cbc_pipe_update_rest(struct trp_cipher *pipe, uint8_t *out, size_t *out_len,
                                size_t out_size, const uint8_t *in, size_t len, size_t done)
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

int trp_cbc_pipeline_update(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                            const size_t *out_size, const unsigned char **in, const size_t *in_len)
{
    struct trp_cipher *c = ctx;
    struct trp_cbc_pipes *pipes = (struct trp_cbc_pipes *)c->head.pipes;
    size_t done[TRP_MAX_PIPES];
    if (!trp_has_pipes(ctx, n))
        return 0;
    if (in == NULL || out == NULL || out_size == NULL)
        return trp_failed(c, ERR_R_PASSED_NULL_PARAMETER);
    cbc_pipes_encrypt(pipes, out, out_size, in, in_len, done);
    int good = 1;
    for (size_t i = 0; i < n; i++)
        good &= cbc_pipe_update_rest(&pipes->pipe[i], out[i], &out_len[i], out_size[i], in[i],
                                     in_len[i], done[i]);
    return good;
}

int trp_cbc_pipeline_final(void *ctx, size_t n, unsigned char **out, size_t *out_len,
                           const size_t *out_size)
{
    struct trp_cipher *c = ctx;
    struct trp_cbc_pipes *pipes = (struct trp_cbc_pipes *)c->head.pipes;
    if (!trp_has_pipes(ctx, n))
        return 0;
    int good = 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t *const to = out == NULL ? NULL : out[i];
        if (!trp_block_final(&pipes->pipe[i], to, &out_len[i],
                             to == NULL || out_size == NULL ? 0 : out_size[i]))
            good = out_len[i] = 0;
    }
    return good;
}
