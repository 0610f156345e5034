/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM as EVP defines it. IVs have 1 to 128 bytes. Encryption without an IV generates an IV.
 * After the parameter "tlsaad", the next update processes a whole TLS 1.2 record (RFC 5288).
 *
 * The table shows the IV state (enum trp_iv_state) after each call. The column is the state before
 * the call. A call marked "-" fails.
 *
 *   call                      | NONE      | GIVEN    | IN_USE    | SPENT
 *   --------------------------+-----------+----------+-----------+-------
 *   init with an IV           | GIVEN     | GIVEN    | GIVEN     | GIVEN
 *   init with a new key only  | NONE      | GIVEN    | IN_USE 1) | SPENT
 *   new IV length             | NONE      | SPENT    | SPENT     | SPENT
 *   fixed part of the IV      | GIVEN     | GIVEN    | GIVEN     | GIVEN
 *   next IV, explicit part 2) | IN_USE    | IN_USE   | IN_USE    | IN_USE
 *   AAD, data                 | IN_USE 3) | IN_USE   | IN_USE    | -
 *   final                     | SPENT 3)  | SPENT 4) | SPENT 4)  | -
 *   TLS record 2)             | SPENT     | SPENT    | SPENT     | SPENT
 *
 *   1) A new key abandons the message: AAD, data and final fail until there is another IV.
 *   2) The fixed part of the IV must be set. Encryption refuses the call "explicit part". A TLS
 *      record needs no call "explicit part", because the record contains that part.
 *   3) Encryption generates an IV if the IV length is at least 12 bytes; decryption fails.
 *   4) Decryption needs a tag. Without a tag, or on tag mismatch, final fails and the state is
 *      IN_USE.
 *
 * AAD, data, final and records need a key. The core's streaming calls process the message.
 */
#include "gcm_pipeline.h"

#define IV 12u /* the usual length in bytes */

struct trp_gcm {
    /* a.tag_len is 0 if there is no tag. a.buffer holds the tag, or the AAD of a TLS record. */
    struct trp_aead a;
    struct tr_gcm_key key
        __attribute__((aligned(64))); /* so that no load of powers of H crosses a cache line */
    uint64_t tls_records;
    uint8_t iv_gen; /* the fixed part of the IV is set (gcm_set_fixed_iv()) */
    /* The parameter "iv-generated": the provider drew IV bytes at random. */
    uint8_t iv_random;
    struct tr_gcm core __attribute__((aligned(64)));
};

/* ---- IVs ------------------------------------------------------------------------------------ */

static int gcm_start(struct trp_gcm *g)
{
    if (tr_gcm_start(&g->core, &g->key, g->a.iv, g->a.iv_len) != TR_OK)
        return 0;
    g->a.iv_state = TRP_IV_IN_USE;
    return 1;
}

/* Generates a random IV (SP 800-38D section 8.2.2). */
static __attribute__((noinline)) int gcm_generate_iv(struct trp_gcm *g)
{
    if (g->a.iv_len < IV || !trp_random(g->a.head.provider, g->a.iv, g->a.iv_len))
        return 0;
    g->a.iv_state = TRP_IV_GIVEN;
    g->iv_random = 1;
    return 1;
}

/* Sets the fixed part of the IV. When encrypting, draws the other bytes of the IV at random (SP
 * 800-38D section 8.2.1). These bytes are the first value of the invocation field, which
 * gcm_get_next_iv() increments. A `len` of -1 sets the whole IV. */
static int gcm_set_fixed_iv(struct trp_gcm *g, const uint8_t *iv, size_t len)
{
    if (len == (size_t)-1) {
        memcpy(g->a.iv, iv, g->a.iv_len);
        g->iv_random = 0;
    } else {
        if (!trossl_iv_may_fix(g->a.iv_len, len))
            return 0;
        uint8_t random[TRP_MAX_IV];
        if (g->a.encrypt && !trp_random(g->a.head.provider, random, g->a.iv_len - len))
            return 0;
        memcpy(g->a.iv, iv, len);
        if (g->a.encrypt) {
            memcpy(g->a.iv + len, random, g->a.iv_len - len);
            g->iv_random = 1;
        }
    }
    g->iv_gen = 1;
    g->a.iv_state = TRP_IV_GIVEN;
    return 1;
}

/* ---- Messages ------------------------------------------------------------------------------- */

/* Seals or opens one TLS record in place. */
static __attribute__((noinline)) int gcm_record(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                                const uint8_t *in, size_t len)
{
    size_t n = 0;
    enum tr_status status = TR_ERR_STATE;
    if (g->a.key_set && g->iv_gen && out == in && out != NULL) {
        if (g->a.encrypt && ++g->tls_records == 0)
            trp_failed(g, PROV_R_TOO_MANY_RECORDS);
        else
            status = trossl_tls_gcm(&g->key, g->a.encrypt, g->a.iv, g->a.iv_len, g->a.buffer, out,
                                    len, &n);
    }
    if (status == TR_OK || status == TR_ERR_TAG)
        g->a.tag_len = TRP_TAG;
    *out_len = status == TR_OK ? n : 0;
    g->a.iv_state = TRP_IV_SPENT;
    g->a.tls = 0;
    return status == TR_OK;
}

/* Starts the message if it has not begun. */
static inline int gcm_begun(struct trp_gcm *g)
{
    if (LIKELY(g->a.iv_state == TRP_IV_IN_USE))
        return 1;
    if (!g->a.key_set || g->a.iv_state == TRP_IV_SPENT)
        return 0;
    if (g->a.iv_state == TRP_IV_NONE && (!g->a.encrypt || !gcm_generate_iv(g)))
        return 0;
    return gcm_start(g);
}

/* Processes data, or AAD if `out` is NULL. */
static inline int gcm_process(struct trp_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    const enum tr_status status = out == NULL    ? tr_gcm_aad(&g->core, in, len)
                                  : g->a.encrypt ? tr_gcm_encrypt(&g->core, out, in, len)
                                                 : tr_gcm_decrypt(&g->core, out, in, len);
    return LIKELY(status == TR_OK) || trp_aead_status(g, status);
}

/* Ends a message that has begun: computes or checks the tag. */
static inline int gcm_end(struct trp_gcm *g)
{
    if (g->a.encrypt) {
        if (tr_gcm_tag(&g->core, g->a.buffer, TRP_TAG) != TR_OK)
            return 0;
        g->a.tag_len = TRP_TAG;
    } else if (g->a.tag_len == 0 || tr_gcm_check(&g->core, g->a.buffer, g->a.tag_len) != TR_OK) {
        return 0;
    }
    g->a.iv_state = TRP_IV_SPENT;
    return 1;
}

/* Processes data, or AAD if `out` is NULL. Ends the message if `in` is NULL. */
static __attribute__((noinline)) int gcm_crypt(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                               const uint8_t *in, size_t len)
{
    if (g->a.tls)
        return gcm_record(g, out, out_len, in, len);
    *out_len = 0;
    if (!gcm_begun(g))
        return 0;
    if (in == NULL)
        return gcm_end(g);
    if (out != NULL && len == 0) /* empty data, from EVP_Cipher(), does not end the AAD */
        return 1;
    *out_len = len;
    return gcm_process(g, out, in, len);
}

static __attribute__((noinline)) int gcm_update_otherwise(struct trp_gcm *g, uint8_t *out,
                                                          size_t *out_len, size_t out_size,
                                                          const uint8_t *in, size_t len)
{
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out_size < len && out != NULL)
        return trp_failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return gcm_crypt(g, out, out_len, in, len) || trp_failed(g, PROV_R_CIPHER_OPERATION_FAILED);
}

int trp_gcm_update(TRP_DATA_PARAMETERS)
{
    struct trp_gcm *g = ctx;
    if (in == NULL || len == 0 || g->a.tls || (out != NULL && out_size < len))
        return gcm_update_otherwise(g, out, out_len, out_size, in, len);
    *out_len = len;
    return LIKELY(gcm_begun(g) && gcm_process(g, out, in, len)) ||
           trp_failed(g, PROV_R_CIPHER_OPERATION_FAILED);
}

int trp_gcm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_gcm *g = ctx;
    if (LIKELY(g->a.iv_state == TRP_IV_IN_USE && !g->a.tls)) {
        *out_len = 0;
        return gcm_end(g);
    }
    return gcm_crypt(g, out, out_len, NULL, 0);
}

static int gcm_cipher(TRP_DATA_PARAMETERS)
{
    struct trp_gcm *g = ctx;
    if (out_size < len)
        return trp_failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!gcm_crypt(g, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

#define PIPELINE_TAG "pipeline-tag" /* OSSL_CIPHER_PARAM_PIPELINE_AEAD_TAG, since OpenSSL 3.5 */

static TRP_LIST(gcm_gettable_ctx_params, TRP_AEAD_GETTABLE, TRP_AEAD_GETTABLE_TLS,
                TRP_UINT("iv-generated"), /* since OpenSSL 3.2 */
                TRP_ENTRY(PIPELINE_TAG, OSSL_PARAM_OCTET_PTR, 0))
static TRP_LIST(gcm_settable_ctx_params, TRP_AEAD_SETTABLE, TRP_AEAD_SETTABLE_TLS,
                TRP_ENTRY(PIPELINE_TAG, OSSL_PARAM_OCTET_PTR, 0))

static int gcm_get_tag_len(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    return trp_aead_put_number(g, p, g->a.tag_len != 0 ? g->a.tag_len : TRP_TAG);
}

/* With a NULL buffer, the caller asks for the size. */
static int gcm_get_tag(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    const size_t len = p->data == NULL ? g->a.tag_len : p->data_size;
    if (len == 0 || len > TRP_TAG || !g->a.encrypt || g->a.tag_len == 0)
        return trp_failed(g, PROV_R_INVALID_TAG);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
    p->return_size = len;
    if (p->data != NULL)
        trp_copy(p->data, g->a.buffer, len, TRP_TAG);
    return 1;
}

/* Generates an IV if there is none, so that the caller can read it before the first update. With a
 * NULL buffer, the caller asks for the size. */
static int gcm_get_iv(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    if (g->a.iv_state == TRP_IV_NONE && (!g->a.encrypt || g->a.tls || !gcm_generate_iv(g)))
        return 0;
    if (p->data != NULL)
        return trp_aead_get_iv(g, p);
    return trp_param_set_octets(p, NULL, g->a.iv_len) ||
           trp_failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
}

/* Starts a message, copies the last bytes of its IV to the caller, and increments the IV. */
static int gcm_get_next_iv(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    if (p->data == NULL || p->data_type != OSSL_PARAM_OCTET_STRING || !g->iv_gen || !g->a.key_set ||
        !gcm_start(g))
        return 0;
    trossl_iv_next(g->a.iv, g->a.iv_len, p->data, p->data_size);
    return 1;
}

static int gcm_get_generated(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    return trp_param_set_number(p, g->iv_random, sizeof(unsigned));
}

static const struct trp_aead_param gcm_get[] = {
    {OSSL_CIPHER_PARAM_IVLEN, trp_aead_get_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TAG, gcm_get_tag},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, gcm_get_tag_len},
    {OSSL_CIPHER_PARAM_IV, gcm_get_iv},
    {OSSL_CIPHER_PARAM_UPDATED_IV, gcm_get_iv},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, trp_aead_get_tls_pad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, gcm_get_next_iv},
    {"iv-generated", gcm_get_generated},
    {PIPELINE_TAG, trp_gcm_pipes_get_tags},
    {NULL, NULL}};

static int gcm_set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    size_t len;
    if (LIKELY(p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
               p->data_size == TRP_TAG)) { /* constant size, so that memcpy() is inlined */
        memcpy(g->a.buffer, p->data, TRP_TAG);
        len = TRP_TAG;
    } else if (!trp_param_get_octets(p, g->a.buffer, TRP_TAG, &len)) {
        return trp_failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    }
    if (len == 0 || g->a.encrypt)
        return trp_failed(g, PROV_R_INVALID_TAG);
    g->a.tag_len = len;
    return 1;
}

static int gcm_set_iv_len(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    size_t len;
    if (!trp_take_number(g, p, SIZE_MAX, &len))
        return 0;
    if (len == 0 || len > TRP_MAX_IV)
        return trp_failed(g, PROV_R_INVALID_IV_LENGTH);
    /* A new length invalidates the IV. Otherwise, two IVs could be cut to the same nonce. */
    if (len != g->a.iv_len && g->a.iv_state != TRP_IV_NONE)
        g->a.iv_state = TRP_IV_SPENT;
    g->a.iv_len = len;
    return 1;
}

static int gcm_set_tls_aad(void *ctx, OSSL_PARAM *p)
{
    return trp_aead_set_tls_aad(ctx, p, TRP_TAG, PROV_R_INVALID_AAD);
}

static int gcm_set_fixed(void *ctx, OSSL_PARAM *p)
{
    return (p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
            gcm_set_fixed_iv(ctx, p->data, p->data_size)) ||
           trp_failed(ctx, PROV_R_FAILED_TO_GET_PARAMETER);
}

/* Copies the explicit part of the IV, which comes from the received record, to the end of the IV.
 * Then starts a message. */
static int gcm_set_explicit(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    const size_t len = p->data_size;
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == NULL || !g->iv_gen || !g->a.key_set ||
        g->a.encrypt || len > g->a.iv_len)
        return 0;
    memcpy(g->a.iv + g->a.iv_len - len, p->data, len);
    return gcm_start(g);
}

static const struct trp_aead_param gcm_set[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, gcm_set_tag},
    {OSSL_CIPHER_PARAM_AEAD_IVLEN, gcm_set_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, gcm_set_tls_aad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, gcm_set_fixed},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, gcm_set_explicit},
    {PIPELINE_TAG, trp_gcm_pipes_set_tags},
    {NULL, NULL}};

/* Whether `params` has exactly one parameter, with this name. */
#define ONLY(params, name)                                                                         \
    ((params)[0].key != NULL && trp_param_is_short((params), (name)) && (params)[1].key == NULL)

/* Gets parameters. Has fast paths, because the caller reads the tag after each sealed message, and
 * libcrypto 3.0 reads the IV length at each init. */
int trp_gcm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    if (LIKELY(params != NULL)) {
        if (ONLY(params, OSSL_CIPHER_PARAM_AEAD_TAG))
            return gcm_get_tag(ctx, params);
        if (ONLY(params, OSSL_CIPHER_PARAM_IVLEN))
            return trp_aead_get_iv_len(ctx, params);
        if (ONLY(params, OSSL_CIPHER_PARAM_KEYLEN))
            return trp_aead_get_key_len(ctx, params);
    }
    return trp_aead_act(ctx, gcm_get, params);
}

int trp_gcm_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    if (LIKELY(params != NULL && ONLY(params, OSSL_CIPHER_PARAM_AEAD_TAG)))
        return gcm_set_tag(ctx, (OSSL_PARAM *)params);
    return trp_aead_act(ctx, gcm_set, params);
}

/* ---- Keys, and the function tables ---------------------------------------------------------- */

static void gcm_drop_pipes(struct trp_gcm *g)
{
    trp_pipes_free(g->a.head.pipes);
    g->a.head.pipes = NULL;
}

static enum tr_status gcm_set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                                  size_t key_len)
{
    struct trp_gcm *g = ctx;
    g->tls_records = 0;
    gcm_drop_pipes(g);
    if (g->core.phase != 0) /* no message continues under another key */
        memset(&g->core, 0, sizeof(g->core));
    return tr_gcm_set_key(&g->key, backend, key, key_len);
}

static int gcm_copied(void *ctx)
{
    struct trp_gcm *g = ctx;
    tr_gcm_rebind(&g->core, &g->key);
    trp_gcm_pipes_rebind(&g->a, &g->key);
    return 1;
}

static const struct trp_pipeline gcm_pipeline;

static const struct trp_aead_mode gcm_mode = {.family = {.context_size = sizeof(struct trp_gcm),
                                                         .begin = trp_aead_begin,
                                                         .copied = gcm_copied,
                                                         .pipeline = &gcm_pipeline},
                                              .max_iv = TRP_MAX_IV,
                                              .tests = TR_TEST_GCM,
                                              .set_key = gcm_set_key,
                                              .get_tag = gcm_get_tag,
                                              .get = gcm_get,
                                              .set = gcm_set};

/* Initializes a message. Fast path for most messages: the old key, a 12-byte IV and, when
 * decrypting, a tag. */
static inline int trp_gcm_init(TRP_INIT_PARAMETERS, int encrypt)
{
    struct trp_gcm *g = ctx;
    if (LIKELY(key == NULL && iv != NULL && iv_len == IV)) {
        g->a.encrypt = (uint8_t)encrypt;
        g->a.iv_len = IV;
        memcpy(g->a.iv, iv, IV);
        g->a.iv_state = TRP_IV_GIVEN;
        g->iv_random = 0;
        return params == NULL || trp_gcm_set_ctx_params(g, params);
    }
    if (iv != NULL && iv_len - 1 < TRP_MAX_IV)
        g->iv_random = 0;
    return (encrypt ? trp_aead_encrypt_init : trp_aead_decrypt_init)(g, key, key_len, iv, iv_len,
                                                                     NULL) &&
           (params == NULL || trp_gcm_set_ctx_params(g, params));
}

TRP_INITS(, trp_gcm)

/* Before there is a key, leaves no pipes. */
static int gcm_begin_pipes(void *ctx, const uint8_t **iv, size_t iv_len)
{
    struct trp_gcm *g = ctx;
    if (g->a.key_set)
        return trp_gcm_pipes_begin(&g->a, &g->key, iv, iv_len);
    gcm_drop_pipes(g);
    return 1;
}

static const struct trp_pipeline gcm_pipeline = {trp_gcm_encrypt_init, trp_gcm_decrypt_init,
                                                 sizeof(struct trp_gcm_pipes),
                                                 sizeof(struct trp_gcm_pipe), gcm_begin_pipes};

TRP_TABLES(gcm, 1, trp_gcm, trp_gcm, trp_gcm_final, trp_gcm, gcm,
           (TRP_CIPHER(gcm) TRP_PIPELINE(trp_gcm)), TRP_AEAD_CONSTANTS(gcm),
           .evp_mode = EVP_CIPH_GCM_MODE, .iv_len = IV, .block_size = 1);

void *trp_gcm_new(const struct trp_provider *provider, size_t key_len)
{
    return trp_new((void *)provider, key_len == 16   ? &kind_gcm_128
                                     : key_len == 24 ? &kind_gcm_192
                                                     : &kind_gcm_256);
}
