/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts, keys and IVs of ECB, CBC, CFB, OFB and CTR, and the list of all ciphers. */
#include "dispatch.h"
#include "pipeline.h"

/* ---- Contexts ------------------------------------------------------------------------------- */

void *trp_new(void *provctx, const struct trp_kind *kind)
{
    struct trp_head *head = trp_context(provctx, kind->family->context_size);
    if (head == NULL)
        return NULL;
    head->provider = provctx;
    head->kind = kind;
    kind->family->begin(head);
    return head;
}

void trp_free(void *ctx)
{
    const struct trp_head *head = ctx;
    if (head == NULL)
        return;
    const struct trp_family *family = head->kind->family;
    trp_pipes_free(head->pipes);
    if (family->release != NULL)
        family->release(ctx);
    trp_context_free(head->provider, ctx, family->context_size);
}

void *trp_dup(void *ctx)
{
    const struct trp_head *from = ctx;
    const struct trp_family *family = from->kind->family;
    struct trp_head *copy = trp_context_copy(from->provider, from, family->context_size);
    if (copy == NULL || (trp_pipes_copy(copy) && (family->copied == NULL || family->copied(copy))))
        return copy;
    trp_free(copy);
    return NULL;
}

int trp_failed(const void *ctx, int reason)
{
    const struct trp_head *head = ctx;
    return TRP_RAISE(head->provider, ERR_LIB_PROV, reason);
}

void trp_keyed_begin(void *ctx)
{
    struct trp_keyed *k = ctx;
    k->cipher.core.key = &k->key;
    k->cipher.core.mode = (uint8_t)k->cipher.head.kind->mode;
    k->cipher.core.padding = 1;
}

int trp_keyed_copied(void *copy)
{
    struct trp_keyed *k = copy;
    k->cipher.core.key = &k->key;
    trp_cbc_pipes_rebind(k);
    return 1;
}

static const struct trp_family keyed = {.context_size = sizeof(struct trp_keyed),
                                        .begin = trp_keyed_begin,
                                        .copied = trp_keyed_copied,
                                        .pipeline = &trp_cbc_pipeline};

/* ---- Keys and IVs --------------------------------------------------------------------------- */

int trp_set_key(struct trp_keyed *ctx, const uint8_t *key, size_t key_len)
{
    struct trp_cipher *cipher = &ctx->cipher;
    if (key_len != cipher->head.kind->key_len)
        return trp_raise_status(cipher, TR_ERR_KEY_LENGTH);
    const struct tr_backend *backend =
        trp_backend(cipher->head.provider, cipher->head.kind->tests, key_len);
    if (backend == NULL)
        return 0;
    enum tr_status status = tr_aes_set_key(&ctx->key, backend, key, key_len);
    if (status != TR_OK)
        return trp_raise_status(cipher, status);
    cipher->key_set = 1;
    return 1;
}

static inline int trp_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_cipher *cipher = ctx;
    enum tr_mode mode = cipher->head.kind->mode;
    cipher->num = 0;
    cipher->core.used = 0;
    cipher->core.decrypt = !encrypt;
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

TRP_INITS(, trp)

/* ---- The function tables -------------------------------------------------------------------- */

/* Defines three ciphers of a mode: `tr` is its enum tr_mode, EVP_CIPH_<evp>_MODE its EVP mode, and
 * `known` its known-answer tests. `block_bytes` is EVP's block size. `final` chooses the final
 * function (block or stream), and `functions` has more entries of the function table. */
#define CIPHER(name, tr, evp, known, iv, block_bytes, final, functions)                            \
    TRP_TABLES(name, 1, trp, trp_##name, trp_##final##_final, trp, trp,                            \
               (TRP_CIPHER(trp_##name) functions), .family = &keyed, .mode = tr,                   \
               .evp_mode = EVP_CIPH_##evp##_MODE, .tests = known, .iv_len = iv,                    \
               .block_size = block_bytes)

CIPHER(ecb, TR_ECB, ECB, TR_TEST_ECB, 0, TR_BLOCK, block, );
CIPHER(cbc, TR_CBC, CBC, TR_TEST_CBC, TR_BLOCK, TR_BLOCK, block, TRP_PIPELINE(trp_cbc));
CIPHER(cfb, TR_CFB128, CFB, TR_TEST_CFB, TR_BLOCK, 1, stream, );
CIPHER(ofb, TR_OFB, OFB, TR_TEST_OFB, TR_BLOCK, 1, stream, );
CIPHER(ctr, TR_CTR, CTR, TR_TESTS_CTR, TR_BLOCK, 1, stream, );
CIPHER(cfb8, TR_CFB128, CFB, TR_TESTS_SMALL_CFB, TR_BLOCK, 1, stream, );
CIPHER(cfb1, TR_CFB128, CFB, TR_TESTS_SMALL_CFB, TR_BLOCK, 1, stream, );

/* Each cipher has all names that the default provider gives it, because a program can use any of
 * these names. OID() gives NIST's OIDs (Computer Security Objects Register, aes). EACH() takes a
 * mode, and for 256, 192 and 128 bits the names beyond the first. */
#define OID(number) "2.16.840.1.101.3.4.1." #number
#define NO_MORE     "", "", ""
#define OIDS(n)     ":" OID(4##n), ":" OID(2##n), ":" OID(n)
#define IDS(suffix, n)                                                                             \
    ":id-aes256-" suffix OID(4##n), ":id-aes192-" suffix OID(2##n), ":id-aes128-" suffix OID(n)
#define WRAPS(more) ":AES256-WRAP" more, ":AES192-WRAP" more, ":AES128-WRAP" more
#define WRAP_IDS(suffix, more, n)                                                                  \
    ":id-aes256-" suffix ":AES256-" more ":" OID(4##n),                                            \
        ":id-aes192-" suffix ":AES192-" more ":" OID(2##n),                                        \
        ":id-aes128-" suffix ":AES128-" more ":" OID(n)

/* FAMILY() is one cipher, EACH() three. The first TRP_SHA_CIPHERS ciphers have an HMAC. */
#define CIPHERS(FAMILY, EACH)                                                                      \
    FAMILY("AES-128-CBC-HMAC-SHA1", stitched_128_sha1)                                             \
    FAMILY("AES-256-CBC-HMAC-SHA1", stitched_256_sha1)                                             \
    FAMILY("AES-128-CBC-HMAC-SHA256", stitched_128_sha256)                                         \
    FAMILY("AES-256-CBC-HMAC-SHA256", stitched_256_sha256)                                         \
    EACH("ECB", ecb, OIDS(1))                                                                      \
    EACH("CBC", cbc, ":AES256:" OID(42), ":AES192:" OID(22), ":AES128:" OID(2))                    \
    EACH("OFB", ofb, OIDS(3))                                                                      \
    EACH("CFB", cfb, OIDS(4))                                                                      \
    EACH("CTR", ctr, NO_MORE)                                                                      \
    EACH("GCM", gcm, IDS("GCM:", 6))                                                               \
    EACH("CFB1", cfb1, NO_MORE)                                                                    \
    EACH("CFB8", cfb8, NO_MORE)                                                                    \
    EACH("CCM", ccm, IDS("CCM:", 7))                                                               \
    FAMILY("AES-256-XTS:1.3.111.2.1619.0.1.2", xts_256)                                            \
    FAMILY("AES-128-XTS:1.3.111.2.1619.0.1.1", xts_128)                                            \
    EACH("CBC-CTS", cts, NO_MORE)                                                                  \
    EACH("WRAP", wrap, WRAP_IDS("wrap", "WRAP", 5))                                                \
    EACH("WRAP-PAD", wrap_pad, WRAP_IDS("wrap-pad", "WRAP-PAD", 8))                                \
    EACH("WRAP-INV", wrap_inv, WRAPS("-INV"))                                                      \
    EACH("WRAP-PAD-INV", wrap_pad_inv, WRAPS("-PAD-INV"))                                          \
    EACH("OCB", ocb, NO_MORE)                                                                      \
    EACH("SIV", siv, NO_MORE)                                                                      \
    EACH("GCM-SIV", gcm_siv, NO_MORE)

/* The tables of the other files. */
#define DECLARE(names, name) extern const OSSL_DISPATCH trp_##name##_functions[];
#define DECLARE_EACH(mode, name, ...)                                                              \
    DECLARE(, name##_256) DECLARE(, name##_192) DECLARE(, name##_128)
CIPHERS(DECLARE, DECLARE_EACH)

#define ROW(names, name)      {names, TRP_PROPERTIES, trp_##name##_functions, NULL},
#define ROWS(mode, name, ...) ROWS_OF(mode, name, __VA_ARGS__)
#define ROWS_OF(mode, name, more256, more192, more128)                                             \
    ROW("AES-256-" mode more256, name##_256)                                                       \
    ROW("AES-192-" mode more192, name##_192)                                                       \
    ROW("AES-128-" mode more128, name##_128)
const OSSL_ALGORITHM trp_ciphers[] = {CIPHERS(ROW, ROWS){NULL, NULL, NULL, NULL}};
