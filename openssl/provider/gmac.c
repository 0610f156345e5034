/* SPDX-License-Identifier: BSD-2-Clause */
/* GMAC. For AES-GCM, this file calls this provider's GCM functions, with the data as the AAD of an
 * empty message. For any other cipher, this file forwards every call to another provider's GMAC. */
#include "aead.h"
#include "mac.h"

struct gmac {
    const struct trp_provider *provider;
    /* This provider's GCM context, and another provider's GMAC context. At least one of them is
     * NULL. */
    void *ours;
    EVP_MAC_CTX *other;
};

static void *gmac_new(void *provctx)
{
    const struct trp_provider *provider = provctx;
    struct gmac *g = trp_context(provider, sizeof(*g));
    if (g != NULL)
        g->provider = provider;
    return g;
}

static void gmac_drop_both(struct gmac *g)
{
    trp_free(g->ours);
    g->provider->evp.mac_ctx_free(g->other);
    g->ours = NULL;
    g->other = NULL;
}

static void gmac_free(void *ctx)
{
    struct gmac *g = ctx;
    if (g == NULL)
        return;
    gmac_drop_both(g);
    trp_context_free(g->provider, g, sizeof(*g));
}

/* Copies a context. Like the default provider, refuses to copy a context without a cipher. */
static void *gmac_dup(void *ctx)
{
    const struct gmac *from = ctx;
    if (from->ours == NULL && from->other == NULL) {
        TRP_RAISE(from->provider, ERR_LIB_EVP, EVP_R_INPUT_NOT_INITIALIZED);
        return NULL;
    }
    struct gmac *copy = gmac_new((void *)from->provider);
    if (copy == NULL)
        return NULL;
    if (from->ours != NULL)
        copy->ours = trp_dup(from->ours);
    else
        copy->other = from->provider->evp.mac_ctx_dup(from->other);
    if (copy->ours != NULL || copy->other != NULL)
        return copy;
    gmac_free(copy);
    return NULL;
}

/* ---- Ciphers, keys, IVs ---------------------------------------------------------------------- */

static int gmac_set_our_cipher(struct gmac *g, const struct trp_mac_cipher *cipher)
{
    void *const ours = trp_gcm_new(g->provider, cipher->key_len);
    if (ours == NULL)
        return 0;
    gmac_drop_both(g);
    g->ours = ours;
    return trp_gcm_encrypt_init(ours, NULL, 0, NULL, 0, NULL);
}

/* Sets a cipher of another provider. On failure, the old cipher stays. */
static int gmac_set_other_cipher(struct gmac *g, const struct trp_mac_cipher *cipher)
{
    EVP_MAC_CTX *other = g->other;
    if (!trp_mac_other_set_cipher(g->provider, &other, "GMAC", cipher))
        return 0;
    if (other != g->other)
        gmac_drop_both(g);
    g->other = other;
    return 1;
}

static int gmac_set_key(struct gmac *g, const void *key, size_t key_len)
{
    if (g->other != NULL)
        return trp_mac_other_set_key(g->provider, g->other, key, key_len);
    const struct trp_head *const ours = g->ours;
    if (ours == NULL || key_len != ours->kind->key_len)
        return TRP_RAISE(g->provider, ERR_LIB_PROV, PROV_R_INVALID_KEY_LENGTH);
    return trp_gcm_encrypt_init(g->ours, key, key_len, NULL, 0, NULL);
}

static int gmac_set_iv(struct gmac *g, const void *iv, size_t iv_len)
{
    if (g->other != NULL)
        return trp_mac_other_set_octets(g->provider, g->other, OSSL_MAC_PARAM_IV, iv, iv_len);
    if (g->ours == NULL)
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_NO_CIPHER_SET);
    if (iv != NULL)
        return trp_gcm_encrypt_init(g->ours, NULL, 0, iv, iv_len, NULL);
    /* Sets only the IV length. A change invalidates the old IV. */
    const OSSL_PARAM params[] = {
        {OSSL_CIPHER_PARAM_AEAD_IVLEN, OSSL_PARAM_UNSIGNED_INTEGER, &iv_len, sizeof(iv_len), 0},
        TRP_END};
    return trp_gcm_set_ctx_params(g->ours, params);
}

static int gmac_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct gmac *g = ctx;
    struct trp_mac_cipher cipher;
    if (params == NULL || params->key == NULL)
        return 1;
    if (!trp_mac_cipher(&cipher, params, "-GCM") ||
        (cipher.whose == TRP_OWNER_SELF && !gmac_set_our_cipher(g, &cipher)) ||
        (cipher.whose == TRP_OWNER_OTHER && !gmac_set_other_cipher(g, &cipher)))
        return 0;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_MAC_PARAM_KEY);
    if (p != NULL &&
        (p->data_type != OSSL_PARAM_OCTET_STRING || !gmac_set_key(g, p->data, p->data_size)))
        return 0;
    p = trp_param_find(params, OSSL_MAC_PARAM_IV);
    return p == NULL ||
           (p->data_type == OSSL_PARAM_OCTET_STRING && gmac_set_iv(g, p->data, p->data_size));
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int gmac_init(void *ctx, const unsigned char *key, size_t key_len, const OSSL_PARAM params[])
{
    struct gmac *g = ctx;
    if (!gmac_set_ctx_params(g, params))
        return 0;
    if (key != NULL)
        return gmac_set_key(g, key, key_len);
    if (g->other != NULL)
        return g->provider->evp.mac_init(g->other, NULL, 0, NULL);
    if (g->ours == NULL)
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_NO_CIPHER_SET);
    return trp_gcm_encrypt_init(g->ours, NULL, 0, NULL, 0, NULL);
}

static int gmac_update(void *ctx, const unsigned char *data, size_t len)
{
    struct gmac *g = ctx;
    size_t n;
    if (len == 0)
        return 1;
    if (g->other != NULL)
        return g->provider->evp.mac_update(g->other, data, len);
    if (g->ours == NULL)
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_INVALID_OPERATION);
    return trp_gcm_update(g->ours, NULL, &n, len, data, len);
}

static int gmac_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct gmac *g = ctx;
    size_t n = 0;
    OSSL_PARAM tag[] = {
        {OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, out, TRP_TAG, OSSL_PARAM_UNMODIFIED},
        TRP_END};
    if (g->other != NULL)
        return g->provider->evp.mac_final(g->other, out, out_len, out_size);
    if (g->ours == NULL)
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_INVALID_OPERATION);
    if (out_size < TRP_TAG || !trp_gcm_final(g->ours, out, &n, 0) ||
        !trp_gcm_get_ctx_params(g->ours, tag))
        return 0;
    *out_len = TRP_TAG;
    return 1;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static TRP_LIST_OF_ALGORITHM(gmac_gettable_params, TRP_SIZE(OSSL_MAC_PARAM_SIZE))

static int gmac_get_params(OSSL_PARAM params[])
{
    OSSL_PARAM *const p = (OSSL_PARAM *)trp_param_find(params, OSSL_MAC_PARAM_SIZE);
    return p == NULL || trp_param_set_number(p, TRP_TAG, sizeof(size_t));
}

static TRP_LIST(gmac_settable_ctx_params, TRP_TEXT(OSSL_MAC_PARAM_CIPHER),
                TRP_TEXT(OSSL_MAC_PARAM_PROPERTIES), TRP_OCTETS(OSSL_MAC_PARAM_KEY),
                TRP_OCTETS(OSSL_MAC_PARAM_IV))

const OSSL_DISPATCH trp_gmac_functions[] = {
    TRP_FUNCTION(OSSL_FUNC_MAC_NEWCTX, gmac_new),
    TRP_FUNCTION(OSSL_FUNC_MAC_DUPCTX, gmac_dup),
    TRP_FUNCTION(OSSL_FUNC_MAC_FREECTX, gmac_free),
    TRP_FUNCTION(OSSL_FUNC_MAC_INIT, gmac_init),
    TRP_FUNCTION(OSSL_FUNC_MAC_UPDATE, gmac_update),
    TRP_FUNCTION(OSSL_FUNC_MAC_FINAL, gmac_final),
    TRP_FUNCTION(OSSL_FUNC_MAC_GETTABLE_PARAMS, gmac_gettable_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_GET_PARAMS, gmac_get_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_SETTABLE_CTX_PARAMS, gmac_settable_ctx_params),
    TRP_FUNCTION(OSSL_FUNC_MAC_SET_CTX_PARAMS, gmac_set_ctx_params),
    {0, NULL}};
