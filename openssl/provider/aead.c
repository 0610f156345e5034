/* SPDX-License-Identifier: BSD-2-Clause */
#include "aead.h"

void trp_aead_begin(void *ctx)
{
    struct trp_aead *a = ctx;
    const struct trp_kind *const kind = a->head.kind;
    a->iv_len = kind->default_iv_len != 0 ? kind->default_iv_len : kind->iv_len;
    a->tag_len = kind->aead_mode->tag_len;
}

int trp_aead_status(const void *ctx, enum tr_status status)
{
    const struct trp_aead *a = ctx;
    if (status == TR_ERR_OVERLAP)
        TRP_RAISE(a->head.provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    return 0;
}

/* ---- Keys and IVs --------------------------------------------------------------------------- */

static inline int aead_set_iv(struct trp_aead *a, const uint8_t *iv, size_t iv_len)
{
    const size_t max = a->head.kind->aead_mode->max_iv;
    if (max == 0 ? iv_len != a->iv_len : iv_len == 0 || iv_len > max)
        return trp_failed(a, PROV_R_INVALID_IV_LENGTH);
    a->iv_len = iv_len;
    trp_copy(a->iv, iv, iv_len, 12);
    a->iv_state = TRP_IV_GIVEN;
    return 1;
}

static int aead_set_key(struct trp_aead *a, const uint8_t *key, size_t key_len)
{
    if (key_len != a->head.kind->key_len)
        return trp_failed(a, PROV_R_INVALID_KEY_LENGTH);
    const struct trp_aead_mode *mode = a->head.kind->aead_mode;
    const struct tr_backend *backend =
        trp_backend(a->head.provider, mode->tests, key_len >> mode->halves);
    if (backend == NULL || mode->set_key(a, backend, key, key_len) != TR_OK)
        return 0;
    a->key_set = 1;
    return 1;
}

static __attribute__((noinline)) int aead_init_rest(struct trp_aead *a, const uint8_t *key,
                                                    size_t key_len, const OSSL_PARAM params[])
{
    if (a->head.kind->aead_mode->restart != NULL)
        a->head.kind->aead_mode->restart(a);
    return (key == NULL || aead_set_key(a, key, key_len)) && trp_aead_set_ctx_params(a, params);
}

/* Initializes a message for encryption or decryption. Fast path: in most messages, only the IV is
 * new. */
static inline int trp_aead_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_aead *a = ctx;
    a->encrypt = (uint8_t)encrypt;
    if (iv != NULL && !a->head.kind->aead_mode->no_iv && !aead_set_iv(a, iv, iv_len))
        return 0;
    if (LIKELY(key == NULL && params == NULL && a->head.kind->aead_mode->restart == NULL))
        return 1;
    return aead_init_rest(a, key, key_len, params);
}

TRP_INITS(, trp_aead)

/* ---- Parameters ----------------------------------------------------------------------------- */

int trp_aead_act(void *ctx, const struct trp_aead_param *table, const OSSL_PARAM params[])
{
    if (params == NULL || params[0].key == NULL)
        return 1;
    const int one = params[1].key == NULL; /* in nearly all calls */
    for (; table->key != NULL; table++) {
        if (LIKELY(one) && !trp_param_is(params, table->key))
            continue;
        OSSL_PARAM *p = (OSSL_PARAM *)(one ? params : trp_param_find(params, table->key));
        const int result = p == NULL ? 1 : table->act(ctx, p);
        if (one || result != 1)
            return result != 0;
    }
    return 1;
}

int trp_aead_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct trp_aead *a = ctx;
    /* Fast path: after each sealed message, the caller reads the tag alone. */
    if (LIKELY(params != NULL && params[0].key != NULL && params[1].key == NULL &&
               trp_param_is(params, OSSL_CIPHER_PARAM_AEAD_TAG)))
        return a->head.kind->aead_mode->get_tag(ctx, params);
    return trp_aead_act(ctx, a->head.kind->aead_mode->get, params);
}

int trp_aead_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    const struct trp_aead *a = ctx;
    return trp_aead_act(ctx, a->head.kind->aead_mode->set, params);
}

int trp_aead_put_number(const void *ctx, OSSL_PARAM *p, size_t value)
{
    return trp_param_set_number(p, value, sizeof(size_t)) ||
           trp_failed(ctx, PROV_R_FAILED_TO_SET_PARAMETER);
}

#define GETTER(name, value)                                                                        \
    int trp_aead_get_##name(void *ctx, OSSL_PARAM *p)                                              \
    {                                                                                              \
        const struct trp_aead *a = ctx;                                                            \
        return trp_aead_put_number(a, p, (value));                                                 \
    }
GETTER(iv_len, a->iv_len)
GETTER(key_len, a->head.kind->key_len)
GETTER(tag_len, a->tag_len)
GETTER(tls_pad, a->tls_pad)

int trp_aead_get_iv(void *ctx, OSSL_PARAM *p)
{
    const struct trp_aead *a = ctx;
    if (p->data_size < a->iv_len)
        return trp_failed(a, PROV_R_INVALID_IV_LENGTH);
    return trp_param_set_octets(p, a->iv, a->iv_len) ||
           trp_failed(a, PROV_R_FAILED_TO_SET_PARAMETER);
}

int trp_aead_set_tls_aad(void *ctx, const OSSL_PARAM *p, size_t tag_len, int reason)
{
    struct trp_aead *a = ctx;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(a, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TROSSL_TLS_AAD || p->data == NULL)
        return trp_failed(a, reason);
    a->tls = 1;
    if (!trossl_tls_take_aad(a->buffer, p->data, a->encrypt, tag_len))
        return trp_failed(a, reason);
    a->tls_pad = (uint8_t)tag_len;
    return 1;
}
