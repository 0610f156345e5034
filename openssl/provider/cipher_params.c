/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of ciphers and of their contexts. They behave as in the default provider, except
 * for the parameter "num" (cipher_set_one()). */
#include "cipher.h"

#include "param.h"
#include "pipeline.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/params.h>

/* ---- Parameters of a cipher ----------------------------------------------------------------- */

TRP_LIST_OF_ALGORITHM(trp_gettable_params, TRP_UINT(OSSL_CIPHER_PARAM_MODE),
                      TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN), TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN),
                      TRP_SIZE(OSSL_CIPHER_PARAM_BLOCK_SIZE), TRP_INT(OSSL_CIPHER_PARAM_AEAD),
                      TRP_INT(OSSL_CIPHER_PARAM_CUSTOM_IV), TRP_INT(OSSL_CIPHER_PARAM_CTS),
                      TRP_INT(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK),
                      TRP_INT(OSSL_CIPHER_PARAM_HAS_RAND_KEY))

int trp_get_params(OSSL_PARAM params[], const struct trp_kind *kind)
{
    const struct {
        const char *key;
        uint64_t value;
        size_t size;
    } known[] = {{OSSL_CIPHER_PARAM_MODE, kind->evp_mode, sizeof(unsigned)},
                 {OSSL_CIPHER_PARAM_KEYLEN, kind->key_len, sizeof(size_t)},
                 {OSSL_CIPHER_PARAM_IVLEN, kind->iv_len, sizeof(size_t)},
                 {OSSL_CIPHER_PARAM_BLOCK_SIZE, kind->block_size, sizeof(size_t)},
                 {OSSL_CIPHER_PARAM_AEAD, kind->aead, sizeof(int)},
                 {OSSL_CIPHER_PARAM_CUSTOM_IV, kind->custom_iv, sizeof(int)},
                 {OSSL_CIPHER_PARAM_CTS, kind->cts, sizeof(int)},
                 {OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, kind->tls1_multiblock, sizeof(int)},
                 {OSSL_CIPHER_PARAM_HAS_RAND_KEY, kind->has_rand_key, sizeof(int)},
                 /* OpenSSL reads this parameter since 3.6. */
                 {"encrypt-then-mac", 0, sizeof(int)}};
    for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strcmp(p->key, known[i].key) == 0 &&
                !trp_param_set_number(p, known[i].value, known[i].size))
                return 0;
        }
    }
    return 1;
}

/* ---- Parameters of a context ---------------------------------------------------------------- */

TRP_LIST(trp_gettable_ctx_params, TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
         TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN), TRP_UINT(OSSL_CIPHER_PARAM_PADDING),
         TRP_UINT(OSSL_CIPHER_PARAM_NUM), TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
         TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV),
         TRP_ENTRY(OSSL_CIPHER_PARAM_TLS_MAC, OSSL_PARAM_OCTET_PTR, 0))

TRP_LIST(trp_settable_ctx_params, TRP_UINT(OSSL_CIPHER_PARAM_PADDING),
         TRP_UINT(OSSL_CIPHER_PARAM_NUM), TRP_UINT(OSSL_CIPHER_PARAM_USE_BITS),
         TRP_UINT(OSSL_CIPHER_PARAM_TLS_VERSION), TRP_SIZE(OSSL_CIPHER_PARAM_TLS_MAC_SIZE))

static int cipher_is_block_mode(const struct trp_cipher *cipher)
{
    return cipher->head.kind->block_size > 1;
}

static int cipher_get_one(const struct trp_cipher *cipher, OSSL_PARAM *p)
{
    const struct trp_kind *kind = cipher->head.kind;
    if (trp_param_is(p, OSSL_CIPHER_PARAM_IVLEN))
        return trp_param_set_number(p, kind->iv_len, sizeof(size_t));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_KEYLEN))
        return trp_param_set_number(p, kind->key_len, sizeof(size_t));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_PADDING))
        return trp_param_set_number(p, cipher->core.padding, sizeof(unsigned));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_NUM))
        return trp_param_set_number(
            p, cipher_is_block_mode(cipher) ? cipher->num : cipher->core.used, sizeof(unsigned));
    if (trp_param_is(p, OSSL_CIPHER_PARAM_IV))
        return trp_param_set_octets(p, cipher->original_iv, kind->iv_len);
    if (trp_param_is(p, OSSL_CIPHER_PARAM_UPDATED_IV))
        return trp_param_set_octets(p, cipher->core.iv, kind->iv_len);
    if (trp_param_is(p, OSSL_CIPHER_PARAM_TLS_MAC))
        return trp_param_set_octet_ptr(
            p, cipher->has_mac_copy ? cipher->tls_mac_copy : cipher->tls_mac, cipher->tls_mac_size);
    return 1;
}

int trp_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    const struct trp_cipher *cipher = ctx;
    for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (!cipher_get_one(cipher, p))
            return trp_failed(cipher, PROV_R_FAILED_TO_SET_PARAMETER);
    }
    return 1;
}

/* Sets one parameter. The position in a block, "num", is 0 to 15. The default provider of OpenSSL
 * 3.0.8 accepts any number and then reads beyond the block. In OpenSSL 3.0.22, the default provider
 * accepts only 0 for CFB, OFB and CTR. Every mode accepts "use-bits"; only CFB1 uses it. */
static int cipher_set_one(struct trp_cipher *cipher, const OSSL_PARAM *p)
{
    const int num = trp_param_is(p, OSSL_CIPHER_PARAM_NUM),
              padding = trp_param_is(p, OSSL_CIPHER_PARAM_PADDING),
              bits = trp_param_is(p, OSSL_CIPHER_PARAM_USE_BITS),
              version = trp_param_is(p, OSSL_CIPHER_PARAM_TLS_VERSION),
              mac_size = trp_param_is(p, OSSL_CIPHER_PARAM_TLS_MAC_SIZE);
    uint64_t value;
    if (!(num | padding | bits | version | mac_size))
        return 1;
    if (!trp_param_get_number(p, num ? TR_BLOCK - 1 : mac_size ? SIZE_MAX : UINT_MAX, &value))
        return 0;
    if (num)
        *(cipher_is_block_mode(cipher) ? &cipher->num : &cipher->core.used) = (unsigned)value;
    else if (padding)
        cipher->core.padding = value != 0;
    else if (bits)
        cipher->use_bits = value != 0;
    else if (version)
        cipher->tls_version = (unsigned)value;
    else
        cipher->tls_mac_size = (size_t)value;
    return 1;
}

int trp_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_cipher *cipher = ctx;
    for (const OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (!cipher_set_one(cipher, p))
            return trp_failed(cipher, PROV_R_FAILED_TO_GET_PARAMETER);
    }
    struct trp_cbc_pipes *pipes = (struct trp_cbc_pipes *)cipher->head.pipes;
    for (size_t i = 0; pipes != NULL && i < pipes->head.n; i++) {
        if (!trp_set_ctx_params(&pipes->pipe[i], params))
            return 0;
    }
    return 1;
}

int trp_take_number(const void *ctx, const OSSL_PARAM *p, size_t max, size_t *value)
{
    uint64_t number = 0;
    const int good = trp_param_get_number(p, max, &number);
    *value = (size_t)number;
    return good || trp_failed(ctx, PROV_R_FAILED_TO_GET_PARAMETER);
}

int trp_set_key_len(void *ctx, OSSL_PARAM *p)
{
    const struct trp_head *head = ctx;
    size_t len;
    return trp_take_number(ctx, p, SIZE_MAX, &len) &&
           (len == head->kind->key_len || trp_failed(ctx, PROV_R_INVALID_KEY_LENGTH));
}
