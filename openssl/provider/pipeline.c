/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline.h"

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
