/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-CBC with ciphertext stealing: one update processes the whole message. The parameter
 * "cts_mode" selects the variant, "CS1" (the default), "CS2" or "CS3". */
#include "dispatch.h"

#include <strings.h>

struct trp_cts {
    struct trp_keyed base;
    enum tr_cts form;
    int updated;
};

static const char *const forms[] = {[TR_CS1] = OSSL_CIPHER_CTS_MODE_CS1,
                                    [TR_CS2] = OSSL_CIPHER_CTS_MODE_CS2,
                                    [TR_CS3] = OSSL_CIPHER_CTS_MODE_CS3};

static void cts_begin(void *ctx)
{
    struct trp_cts *c = ctx;
    trp_keyed_begin(c);
    c->form = TR_CS1;
}

static const struct trp_family cts = {
    .context_size = sizeof(struct trp_cts), .begin = cts_begin, .copied = trp_keyed_copied};

static int cts_set_form(struct trp_cts *c, const OSSL_PARAM *p)
{
    if (p->data_type != OSSL_PARAM_UTF8_STRING || p->data == NULL)
        return 0;
    for (int form = TR_CS1; form <= TR_CS3; form++) {
        if (strcasecmp(p->data, forms[form]) == 0) {
            c->form = (enum tr_cts)form;
            return 1;
        }
    }
    return 0;
}

static int cts_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_cts *c = ctx;
    const OSSL_PARAM *p = trp_param_find(params, OSSL_CIPHER_PARAM_CTS_MODE);
    if (p != NULL && !cts_set_form(c, p))
        return trp_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
    return trp_set_ctx_params(&c->base.cipher, params);
}

static int cts_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct trp_cts *c = ctx;
    OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, OSSL_CIPHER_PARAM_CTS_MODE);
    if (p != NULL &&
        (p->data_type != OSSL_PARAM_UTF8_STRING || !trp_param_set_text(p, forms[c->form])))
        return trp_failed(c, PROV_R_FAILED_TO_SET_PARAMETER);
    return trp_get_ctx_params(&c->base.cipher, params);
}

static TRP_LIST(cts_gettable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN), TRP_UINT(OSSL_CIPHER_PARAM_PADDING),
                TRP_UINT(OSSL_CIPHER_PARAM_NUM), TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
                TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV), TRP_TEXT(OSSL_CIPHER_PARAM_CTS_MODE))

static TRP_LIST(cts_settable_ctx_params, TRP_UINT(OSSL_CIPHER_PARAM_PADDING),
                TRP_UINT(OSSL_CIPHER_PARAM_NUM), TRP_TEXT(OSSL_CIPHER_PARAM_CTS_MODE))

static inline int cts_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_cts *c = ctx;
    c->updated = 0;
    return (encrypt ? trp_encrypt_init : trp_decrypt_init)(c, key, key_len, iv, iv_len, NULL) &&
           (params == NULL || cts_set_ctx_params(c, params));
}

TRP_INITS(static, cts)

static int cts_update(TRP_DATA_PARAMETERS)
{
    struct trp_cts *c = ctx;
    struct tr_cipher *core = &c->base.cipher.core;
    if (len < TR_BLOCK || out_size < len)
        return 0;
    if (out == NULL) {
        *out_len = len;
        return 1;
    }
    if (c->updated)
        return 0;
    if (!c->base.cipher.key_set)
        return trp_failed(c, PROV_R_NO_KEY_SET);
    enum tr_status status = core->decrypt
                                ? tr_cbc_cts_decrypt(core->key, c->form, core->iv, out, in, len)
                                : tr_cbc_cts_encrypt(core->key, c->form, core->iv, out, in, len);
    if (status != TR_OK)
        return trp_raise_status(&c->base.cipher, status);
    c->updated = 1;
    *out_len = len;
    return 1;
}

TRP_TABLES(cts, 1, cts, cts, trp_no_final, cts, cts, (TRP_CIPHER(trp_cbc)), .family = &cts,
           .mode = TR_CBC, .evp_mode = EVP_CIPH_CBC_MODE, .iv_len = TR_BLOCK,
           .block_size = TR_BLOCK, .tests = TR_TESTS_CTS, .cts = 1);
