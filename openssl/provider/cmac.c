/* SPDX-License-Identifier: BSD-2-Clause */
/* CMAC. This provider computes CMAC with AES. For any other cipher, it forwards every call to
 * another provider's CMAC. A new cipher takes effect when the caller sets a key, or passes a key
 * parameter without data. Until then, the old cipher and its key stay in use. */
#include "dispatch.h"
#include "mac.h"

struct cmac {
    struct tr_cmac_key key;
    struct tr_cmac core;
    const struct trp_provider *provider;
    /* The provider of the cipher in use, and the provider of a new cipher. */
    enum trp_whose now, next;
    size_t key_len, next_key_len;
    int keyed; /* `key` is set */
    /* The other provider's context if `now` or `next` is TRP_OWNER_OTHER, else NULL. */
    EVP_MAC_CTX *other;
};

static void *cmac_new(void *provctx)
{
    const struct trp_provider *provider = provctx;
    struct cmac *c = trp_context(provider, sizeof(*c));
    if (c != NULL)
        c->provider = provider;
    return c;
}

static void cmac_free(void *ctx)
{
    struct cmac *c = ctx;
    if (c == NULL)
        return;
    c->provider->evp.mac_ctx_free(c->other);
    trp_context_free(c->provider, c, sizeof(*c));
}

/* Copies a context. Like the default provider, returns NULL for a context without a key. Also
 * returns NULL if a new cipher of another provider has no key yet, because that provider refuses
 * the copy. The copy then fails even if the old cipher is this provider's and has a key. */
static void *cmac_dup(void *ctx)
{
    const struct cmac *from = ctx;
    if (from->now == TRP_OWNER_NONE || (from->now == TRP_OWNER_SELF && !from->keyed))
        return NULL;
    struct cmac *copy = trp_context_copy(from->provider, from, sizeof(*from));
    if (copy == NULL)
        return NULL;
    tr_cmac_rebind(&copy->core, &copy->key);
    if (from->other == NULL || (copy->other = from->provider->evp.mac_ctx_dup(from->other)) != NULL)
        return copy;
    cmac_free(copy);
    return NULL;
}

/* ---- Ciphers and keys ------------------------------------------------------------------------ */

static void cmac_drop_other(struct cmac *c)
{
    c->provider->evp.mac_ctx_free(c->other);
    c->other = NULL;
}

static int cmac_set_cipher(struct cmac *c, const struct trp_mac_cipher *cipher)
{
    c->next = TRP_OWNER_NONE;
    if (c->now != TRP_OWNER_OTHER)
        cmac_drop_other(c);
    if (cipher->whose == TRP_OWNER_OTHER &&
        !trp_mac_other_set_cipher(c->provider, &c->other, "CMAC", cipher))
        return 0;
    c->next = cipher->whose;
    c->next_key_len = cipher->key_len;
    return 1;
}

static int cmac_set_our_key(struct cmac *c, const uint8_t *key, size_t key_len)
{
    c->keyed = 0;
    if (key == NULL)
        return 1; /* sets the cipher without a key */
    if (key_len != c->key_len)
        return TRP_RAISE(c->provider, ERR_LIB_EVP, EVP_R_INVALID_KEY_LENGTH);
    const struct tr_backend *backend = trp_backend(c->provider, TR_TESTS_CMAC, key_len);
    if (backend == NULL || tr_cmac_set_key(&c->key, backend, key, key_len) != TR_OK ||
        tr_cmac_start(&c->core, &c->key) != TR_OK)
        return 0;
    c->keyed = 1;
    return 1;
}

/* Starts the next message under the same key. */
static int cmac_restart(struct cmac *c)
{
    if (c->now == TRP_OWNER_OTHER)
        return c->provider->evp.mac_init(c->other, NULL, 0, NULL);
    return c->now == TRP_OWNER_SELF && c->keyed && tr_cmac_start(&c->core, &c->key) == TR_OK;
}

/* Sets a key. Without a key, switches to the new cipher, or starts the next message if there is no
 * new cipher. */
static int cmac_set_key(struct cmac *c, const uint8_t *key, size_t key_len)
{
    const int same = c->next == TRP_OWNER_NONE;
    if (same && key == NULL && key_len == 0)
        return cmac_restart(c);
    if (!same) {
        c->now = c->next;
        c->key_len = c->next_key_len;
        c->next = TRP_OWNER_NONE;
    }
    if (c->now == TRP_OWNER_OTHER)
        return trp_mac_other_set_key(c->provider, c->other, key, key_len);
    cmac_drop_other(c);
    if (c->now == TRP_OWNER_NONE || (same && key == NULL))
        return key == NULL;
    return cmac_set_our_key(c, key, key_len);
}

static int cmac_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct cmac *c = ctx;
    struct trp_mac_cipher cipher;
    if (params == NULL || params->key == NULL)
        return 1;
    if (!trp_mac_cipher(&cipher, params, "-CBC") ||
        (cipher.whose != TRP_OWNER_NONE && !cmac_set_cipher(c, &cipher)))
        return 0;
    const OSSL_PARAM *const key = trp_param_find(params, OSSL_MAC_PARAM_KEY);
    return key == NULL || (key->data_type == OSSL_PARAM_OCTET_STRING &&
                           cmac_set_key(c, key->data, key->data_size));
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int cmac_init(void *ctx, const unsigned char *key, size_t key_len, const OSSL_PARAM params[])
{
    struct cmac *c = ctx;
    if (!cmac_set_ctx_params(c, params))
        return 0;
    return key != NULL ? cmac_set_key(c, key, key_len) : cmac_restart(c);
}

static int cmac_update(void *ctx, const unsigned char *data, size_t len)
{
    struct cmac *c = ctx;
    if (c->now == TRP_OWNER_OTHER)
        return c->provider->evp.mac_update(c->other, data, len);
    if (c->now != TRP_OWNER_SELF || !c->keyed)
        return 0;
    return len == 0 || tr_cmac_update(&c->core, data, len) == TR_OK ||
           TRP_RAISE(c->provider, ERR_LIB_EVP, EVP_R_UPDATE_ERROR);
}

static int cmac_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct cmac *c = ctx;
    if (c->now == TRP_OWNER_OTHER)
        return c->provider->evp.mac_final(c->other, out, out_len, out_size);
    if (c->now != TRP_OWNER_SELF || !c->keyed)
        return 0;
    *out_len = TR_BLOCK;
    if (out == NULL)
        return 1;
    return out_size >= TR_BLOCK && (tr_cmac_tag(&c->core, out, TR_BLOCK) == TR_OK ||
                                    TRP_RAISE(c->provider, ERR_LIB_EVP, EVP_R_FINAL_ERROR));
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static TRP_LIST(cmac_gettable_ctx_params, TRP_SIZE(OSSL_MAC_PARAM_SIZE),
                TRP_SIZE(OSSL_MAC_PARAM_BLOCK_SIZE))

static TRP_LIST(cmac_settable_ctx_params, TRP_TEXT(OSSL_MAC_PARAM_CIPHER),
                TRP_TEXT(OSSL_MAC_PARAM_PROPERTIES), TRP_OCTETS(OSSL_MAC_PARAM_KEY))

static int cmac_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct cmac *c = ctx;
    static const char *const keys[] = {OSSL_MAC_PARAM_SIZE, OSSL_MAC_PARAM_BLOCK_SIZE};
    if (c->now == TRP_OWNER_OTHER)
        return c->provider->evp.mac_ctx_get_params(c->other, params);
    for (int i = 0; i < 2; i++) {
        OSSL_PARAM *const p = (OSSL_PARAM *)trp_param_find(params, keys[i]);
        if (p != NULL &&
            !trp_param_set_number(p, c->now == TRP_OWNER_SELF ? TR_BLOCK : 0, sizeof(size_t)))
            return 0;
    }
    return 1;
}

const OSSL_DISPATCH trp_cmac_functions[] = {
    TRP_FUNCTION(OSSL_FUNC_MAC_NEWCTX, cmac_new),
    TRP_FUNCTION(OSSL_FUNC_MAC_DUPCTX, cmac_dup),
    TRP_FUNCTION(OSSL_FUNC_MAC_FREECTX, cmac_free),
    TRP_FUNCTION(OSSL_FUNC_MAC_INIT, cmac_init),
    TRP_FUNCTION(OSSL_FUNC_MAC_UPDATE, cmac_update),
    TRP_FUNCTION(OSSL_FUNC_MAC_FINAL, cmac_final),
    TRP_FUNCTION(OSSL_FUNC_MAC_GETTABLE_CTX_PARAMS, cmac_gettable_ctx_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_GET_CTX_PARAMS, cmac_get_ctx_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_SETTABLE_CTX_PARAMS, cmac_settable_ctx_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_SET_CTX_PARAMS, cmac_set_ctx_params),
    {0, NULL}};
