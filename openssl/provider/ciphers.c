/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts, keys and IVs of ECB, CBC, CFB, OFB and CTR, and the list of all ciphers. */
#include "dispatch.h"
#include "pipeline.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

/* ---- Contexts ------------------------------------------------------------------------------- */

void trp_begin(struct trp_keyed *ctx, const struct trp_provider *provider,
               const struct trp_kind *kind)
{
    struct trp_cipher *cipher = &ctx->cipher;
    cipher->core.key = &ctx->key;
    cipher->kind = kind;
    cipher->provider = provider;
    cipher->core.mode = (uint8_t)kind->mode;
    cipher->core.padding = 1;
}

static void *new_context(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_keyed *ctx = trp_context(provider, sizeof(*ctx));
    if (ctx != NULL)
        trp_begin(ctx, provider, kind);
    return ctx;
}

static void free_context(void *ctx)
{
    struct trp_cipher *cipher = ctx;
    if (cipher == NULL)
        return;
    trp_pipes_free(cipher->provider, cipher->pipes);
    trp_context_free(cipher->provider, cipher, sizeof(struct trp_keyed));
}

void trp_rebind(struct trp_keyed *copy, const struct trp_keyed *from)
{
    copy->cipher.core.key = &copy->key;
    if (from->cipher.tls_mac == from->cipher.tls_mac_copy)
        copy->cipher.tls_mac = copy->cipher.tls_mac_copy;
}

static void *duplicate_context(void *ctx)
{
    const struct trp_keyed *from = ctx;
    struct trp_keyed *copy = trp_context_copy(from->cipher.provider, from, sizeof(*from));
    if (copy == NULL)
        return NULL;
    trp_rebind(copy, from);
    if (trp_pipes_copy(copy))
        return copy;
    free_context(copy);
    return NULL;
}

/* ---- Keys and IVs --------------------------------------------------------------------------- */

int trp_set_iv(struct trp_cipher *cipher, const uint8_t *iv, size_t iv_len)
{
    if (iv_len != cipher->kind->iv_len)
        return TRP_RAISE(cipher->provider, ERR_LIB_PROV, PROV_R_INVALID_IV_LENGTH);
    if (__builtin_expect(iv_len == TR_BLOCK, 1)) { /* constant size, so that memcpy() is inlined */
        memcpy(cipher->core.iv, iv, TR_BLOCK);
        memcpy(cipher->original_iv, iv, TR_BLOCK);
    } else {
        memcpy(cipher->core.iv, iv, iv_len);
        memcpy(cipher->original_iv, iv, iv_len);
    }
    cipher->iv_set = 1;
    return 1;
}

int trp_set_key(struct trp_keyed *ctx, const uint8_t *key, size_t key_len)
{
    struct trp_cipher *cipher = &ctx->cipher;
    if (key_len != cipher->kind->key_len)
        return trp_raise_status(cipher, TR_ERR_KEY_LENGTH);
    const struct tr_backend *backend = trp_backend(cipher->provider, cipher->kind->tests, key_len);
    if (backend == NULL)
        return 0;
    enum tr_status status = tr_aes_set_key(&ctx->key, backend, key, key_len);
    if (status != TR_OK)
        return trp_raise_status(cipher, status);
    cipher->key_set = 1;
    return 1;
}

static inline int init(struct trp_keyed *ctx, const unsigned char *key, size_t key_len,
                       const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                       int decrypt)
{
    struct trp_cipher *cipher = &ctx->cipher;
    enum tr_mode mode = cipher->kind->mode;
    cipher->num = 0;
    cipher->core.used = 0;
    cipher->core.decrypt = (uint8_t)decrypt;
    if (mode != TR_ECB && iv != NULL) {
        if (!trp_set_iv(cipher, iv, iv_len))
            return 0;
    } else if (mode != TR_ECB && mode != TR_CTR && cipher->iv_set) {
        memcpy(cipher->core.iv, cipher->original_iv, TR_BLOCK);
    }
    if (key != NULL && !trp_set_key(ctx, key, key_len))
        return 0;
    return params == NULL || trp_set_ctx_params(cipher, params);
}

int trp_init(struct trp_keyed *ctx, const uint8_t *key, size_t key_len, const uint8_t *iv,
             size_t iv_len, const OSSL_PARAM params[], int decrypt)
{
    return init(ctx, key, key_len, iv, iv_len, params, decrypt);
}

static int encrypt_init(void *ctx, const unsigned char *key, size_t key_len,
                        const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[])
{
    return init(ctx, key, key_len, iv, iv_len, params, 0);
}

static int decrypt_init(void *ctx, const unsigned char *key, size_t key_len,
                        const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[])
{
    return init(ctx, key, key_len, iv, iv_len, params, 1);
}

/* ---- The function tables -------------------------------------------------------------------- */

/* Calls X() for each mode. The arguments are the key bits, the name, the enum tr_mode, the suffix
 * of EVP_CIPH_..._MODE, the known-answer tests, the IV length, EVP's block size, the kind of final
 * function (block or stream), and more entries of the function table. */
#define MODES(X, bits)                                                                             \
    X(bits, ecb, TR_ECB, ECB, TR_TEST_ECB, 0, TR_BLOCK, block, )                                   \
    X(bits, cbc, TR_CBC, CBC, TR_TEST_CBC, TR_BLOCK, TR_BLOCK, block, TRP_PIPELINE(trp))           \
    X(bits, cfb, TR_CFB128, CFB, TR_TEST_CFB, TR_BLOCK, 1, stream, )                               \
    X(bits, ofb, TR_OFB, OFB, TR_TEST_OFB, TR_BLOCK, 1, stream, )                                  \
    X(bits, ctr, TR_CTR, CTR, TR_TESTS_CTR, TR_BLOCK, 1, stream, )                                 \
    X(bits, cfb8, TR_CFB128, CFB, TR_TESTS_SMALL_CFB, TR_BLOCK, 1, stream, )                       \
    X(bits, cfb1, TR_CFB128, CFB, TR_TESTS_SMALL_CFB, TR_BLOCK, 1, stream, )

#define CIPHER(bits, name, tr, evp, known, iv, block_bytes, final, functions)                      \
    static const struct trp_kind kind_##bits##_##name = {.mode = tr,                               \
                                                         .evp_mode = EVP_CIPH_##evp##_MODE,        \
                                                         .tests = known,                           \
                                                         .key_len = bits / 8,                      \
                                                         .iv_len = iv,                             \
                                                         .block_size = block_bytes};               \
    static void *new_##bits##_##name(void *provctx)                                                \
    {                                                                                              \
        return new_context(provctx, &kind_##bits##_##name);                                        \
    }                                                                                              \
    static int get_params_##bits##_##name(OSSL_PARAM params[])                                     \
    {                                                                                              \
        return trp_get_params(params, &kind_##bits##_##name);                                      \
    }                                                                                              \
    static const OSSL_DISPATCH trp_##name##_##bits##_functions[] = {                               \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, new_##bits##_##name),                                \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FREECTX, free_context),                                      \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, duplicate_context),                                  \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, encrypt_init),                                 \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, decrypt_init),                                 \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_UPDATE, trp_##name##_update),                                \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_FINAL, trp_##final##_final),                                 \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_CIPHER, trp_##name##_cipher),                                \
        functions TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##bits##_##name),           \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, trp_get_ctx_params),                         \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, trp_set_ctx_params),                         \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, trp_gettable_params),                       \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, trp_gettable_ctx_params),               \
        TRP_FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, trp_settable_ctx_params),               \
        {0, NULL}};

MODES(CIPHER, 128)
MODES(CIPHER, 192)
MODES(CIPHER, 256)

/* Each cipher has all names that the default provider gives it, because a program can use any of
 * these names. OID() gives NIST's OIDs (Computer Security Objects Register, aes). EACH() takes a
 * mode, and for 256, 192 and 128 bits the names beyond the first. */
#define OID(number) "2.16.840.1.101.3.4.1." #number
#define FAMILY(names, functions)                                                                   \
    {                                                                                              \
        names, TRP_PROPERTIES, trp_##functions##_functions, NULL                                   \
    }
#define EACH(mode, name, ...) EACH_OF(mode, name, __VA_ARGS__)
#define EACH_OF(mode, name, more256, more192, more128)                                             \
    FAMILY("AES-256-" mode more256, name##_256), FAMILY("AES-192-" mode more192, name##_192),      \
        FAMILY("AES-128-" mode more128, name##_128)
#define NO_MORE "", "", ""
#define OIDS(n) ":" OID(4##n), ":" OID(2##n), ":" OID(n)
#define IDS(suffix, n)                                                                             \
    ":id-aes256-" suffix OID(4##n), ":id-aes192-" suffix OID(2##n), ":id-aes128-" suffix OID(n)
#define WRAPS(more) ":AES256-WRAP" more, ":AES192-WRAP" more, ":AES128-WRAP" more
#define WRAP_IDS(suffix, more, n)                                                                  \
    ":id-aes256-" suffix ":AES256-" more ":" OID(4##n),                                            \
        ":id-aes192-" suffix ":AES192-" more ":" OID(2##n),                                        \
        ":id-aes128-" suffix ":AES128-" more ":" OID(n)

const OSSL_ALGORITHM trp_ciphers[] = {
    /* The first TRP_SHA_CIPHERS ciphers have an HMAC: */
    FAMILY("AES-128-CBC-HMAC-SHA1", stitched_128_sha1),
    FAMILY("AES-256-CBC-HMAC-SHA1", stitched_256_sha1),
    FAMILY("AES-128-CBC-HMAC-SHA256", stitched_128_sha256),
    FAMILY("AES-256-CBC-HMAC-SHA256", stitched_256_sha256),
    /* All other ciphers: */
    EACH("ECB", ecb, OIDS(1)),
    EACH("CBC", cbc, ":AES256:" OID(42), ":AES192:" OID(22), ":AES128:" OID(2)),
    EACH("OFB", ofb, OIDS(3)),
    EACH("CFB", cfb, OIDS(4)),
    EACH("CTR", ctr, NO_MORE),
    EACH("GCM", gcm, IDS("GCM:", 6)),
    EACH("CFB1", cfb1, NO_MORE),
    EACH("CFB8", cfb8, NO_MORE),
    EACH("CCM", ccm, IDS("CCM:", 7)),
    FAMILY("AES-256-XTS:1.3.111.2.1619.0.1.2", xts_256),
    FAMILY("AES-128-XTS:1.3.111.2.1619.0.1.1", xts_128),
    EACH("CBC-CTS", cts, NO_MORE),
    EACH("WRAP", wrap, WRAP_IDS("wrap", "WRAP", 5)),
    EACH("WRAP-PAD", wrap_pad, WRAP_IDS("wrap-pad", "WRAP-PAD", 8)),
    EACH("WRAP-INV", wrap_inv, WRAPS("-INV")),
    EACH("WRAP-PAD-INV", wrap_pad_inv, WRAPS("-PAD-INV")),
    EACH("OCB", ocb, NO_MORE),
    EACH("SIV", siv, NO_MORE),
    EACH("GCM-SIV", gcm_siv, NO_MORE),
    {NULL, NULL, NULL, NULL}};
