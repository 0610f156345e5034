/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM as EVP has it: IVs of 1 to 128 bytes, generated when an encryption is given none, and the
 * records of TLS 1.2 (RFC 5288), which are one update each after the parameter "tlsaad".
 */
#include "dispatch.h"
#include "param.h"
#include "random.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string.h>

#define MAX_IV       128
#define DEFAULT_IV   12
#define TAG          16
#define TLS_AAD      13
#define TLS_FIXED    4 /* at least so much of an IV is fixed, */
#define TLS_EXPLICIT 8 /* and so much of it is in the record */

enum iv_state {
    IV_NONE,
    IV_GIVEN, /* but the message has not begun */
    IV_IN_USE,
    IV_SPENT /* its message has ended */
};

struct trp_gcm {
    struct tr_gcm core;
    const struct trp_provider *provider;
    const struct trp_kind *kind;
    size_t iv_len;
    size_t tag_len; /* 0: there is no tag yet */
    size_t tls_pad; /* how much a TLS record grows by the tag */
    uint64_t tls_records;
    uint8_t iv_state; /* enum iv_state */
    uint8_t key_set, encrypt;
    uint8_t tls;       /* buffer holds the AAD of a TLS record */
    uint8_t iv_gen;    /* IVs are counted up by us */
    uint8_t iv_random; /* IVs have been drawn at random */
    uint8_t buffer[TAG];
    uint8_t iv[MAX_IV];
};

TRP_PLAIN_CONTEXT(gcm)

static void *gcm_new(void *provctx, const struct trp_kind *kind)
{
    const struct trp_provider *provider = provctx;
    struct trp_gcm *g = provider->zalloc(sizeof(*g), __FILE__, __LINE__);
    if (g == NULL)
        return NULL;
    g->provider = provider;
    g->kind = kind;
    g->iv_len = DEFAULT_IV;
    return g;
}

/* ---- IVs ------------------------------------------------------------------------------------ */

static int start(struct trp_gcm *g)
{
    if (tr_gcm_start(&g->core, g->iv, g->iv_len) != TR_OK)
        return 0;
    g->iv_state = IV_IN_USE;
    return 1;
}

/* SP 800-38D 8.2.2. */
static int generate_iv(struct trp_gcm *g)
{
    if (g->iv_len < DEFAULT_IV || !trp_random(g->iv, g->iv_len))
        return 0;
    g->iv_state = IV_GIVEN;
    g->iv_random = 1;
    return 1;
}

/* SP 800-38D 8.2.1: the part that stays for this key, and one to count up from. The length -1 is the
 * whole IV. */
static int set_fixed_iv(struct trp_gcm *g, const uint8_t *iv, size_t len)
{
    if (len == (size_t)-1) {
        memcpy(g->iv, iv, g->iv_len);
    } else {
        if (len < TLS_FIXED || len > g->iv_len || g->iv_len - len < TLS_EXPLICIT)
            return 0;
        memcpy(g->iv, iv, len);
        if (g->encrypt) {
            if (!trp_random(g->iv + len, g->iv_len - len))
                return 0;
            g->iv_random = 1;
        }
    }
    g->iv_gen = 1;
    g->iv_state = IV_GIVEN;
    return 1;
}

/* Begins a message with the IV and tells its last len bytes (0: all); the next one is one higher. */
static int next_iv(struct trp_gcm *g, uint8_t *out, size_t len)
{
    if (!g->iv_gen || !g->key_set || !start(g))
        return 0;
    if (len == 0 || len > g->iv_len)
        len = g->iv_len;
    memcpy(out, g->iv + g->iv_len - len, len);
    for (size_t i = 1; i <= TLS_EXPLICIT && i <= g->iv_len && ++g->iv[g->iv_len - i] == 0; i++)
        ;
    return 1;
}

/* Begins a message with the IV whose last bytes the sender has told. */
static int take_iv(struct trp_gcm *g, const uint8_t *in, size_t len)
{
    if (!g->iv_gen || !g->key_set || g->encrypt || len > g->iv_len)
        return 0;
    memcpy(g->iv + g->iv_len - len, in, len);
    return start(g);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int __attribute__((cold, noinline)) failed(const struct trp_gcm *g, int reason)
{
    return TRP_RAISE(g->provider, ERR_LIB_PROV, reason);
}

static int set_aad(struct trp_gcm *g, const uint8_t *aad, size_t len)
{
    if (len != TLS_AAD || aad == NULL)
        return 0;
    memcpy(g->buffer, aad, TLS_AAD);
    g->tls = 1;
    /* The AAD counts the plaintext, the caller everything (RFC 5246 section 6.2.3.3). */
    size_t least = TLS_EXPLICIT + (g->encrypt ? 0 : TAG);
    size_t n = (size_t)aad[11] << 8 | aad[12];
    if (n < least)
        return 0;
    n -= least;
    g->buffer[11] = (uint8_t)(n >> 8);
    g->buffer[12] = (uint8_t)n;
    g->tls_pad = TAG;
    return 1;
}

static int seal_record(struct trp_gcm *g, uint8_t *record, size_t len)
{
    if (++g->tls_records == 0)
        return failed(g, PROV_R_TOO_MANY_RECORDS);
    uint8_t *text = record + TLS_EXPLICIT;
    if (!next_iv(g, record, TLS_EXPLICIT))
        return 0;
    g->tag_len = TAG;
    return tr_gcm_aad(&g->core, g->buffer, TLS_AAD) == TR_OK &&
           tr_gcm_encrypt(&g->core, text, text, len) == TR_OK &&
           tr_gcm_tag(&g->core, text + len, TAG) == TR_OK;
}

static int open_record(struct trp_gcm *g, uint8_t *record, size_t len)
{
    uint8_t *text = record + TLS_EXPLICIT;
    if (!take_iv(g, record, TLS_EXPLICIT))
        return 0;
    g->tag_len = TAG;
    if (tr_gcm_aad(&g->core, g->buffer, TLS_AAD) == TR_OK &&
        tr_gcm_decrypt(&g->core, text, text, len) == TR_OK &&
        tr_gcm_check(&g->core, text + len, TAG) == TR_OK)
        return 1;
    tr_cleanse(text, len);
    return 0;
}

/* One whole record in place: explicit IV, text, tag. */
static __attribute__((noinline)) int record(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                            const uint8_t *in, size_t len)
{
    int good = 0;
    *out_len = 0;
    if (g->key_set && out == in && out != NULL && len >= TLS_EXPLICIT + TAG) {
        size_t text = len - TLS_EXPLICIT - TAG;
        good = g->encrypt ? seal_record(g, out, text) : open_record(g, out, text);
        if (good)
            *out_len = g->encrypt ? len : text;
    }
    g->iv_state = IV_SPENT;
    g->tls = 0;
    return good;
}

/* Makes sure that a message has begun. */
static inline int begun(struct trp_gcm *g)
{
    if (g->iv_state == IV_IN_USE)
        return 1;
    if (!g->key_set || g->iv_state == IV_SPENT)
        return 0;
    if (g->iv_state == IV_NONE && (!g->encrypt || !generate_iv(g)))
        return 0;
    return start(g);
}

static int finish(struct trp_gcm *g)
{
    if (!begun(g))
        return 0;
    if (g->encrypt) {
        if (tr_gcm_tag(&g->core, g->buffer, TAG) != TR_OK)
            return 0;
        g->tag_len = TAG;
    } else if (g->tag_len == 0 || tr_gcm_check(&g->core, g->buffer, g->tag_len) != TR_OK) {
        return 0;
    }
    g->iv_state = IV_SPENT;
    return 1;
}

/* No in: the end. No out: AAD. */
static inline int crypt(struct trp_gcm *g, uint8_t *out, size_t *out_len, const uint8_t *in,
                        size_t len)
{
    if (g->tls)
        return record(g, out, out_len, in, len);
    *out_len = 0;
    if (in == NULL)
        return finish(g);
    if (!begun(g))
        return 0;
    if (out != NULL && len == 0)
        return 1; /* which EVP_Cipher() may ask for; AAD may still come */
    enum tr_status status = out == NULL  ? tr_gcm_aad(&g->core, in, len)
                            : g->encrypt ? tr_gcm_encrypt(&g->core, out, in, len)
                                         : tr_gcm_decrypt(&g->core, out, in, len);
    if (status == TR_ERR_OVERLAP)
        return TRP_RAISE(g->provider, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    if (status != TR_OK)
        return 0;
    *out_len = len;
    return 1;
}

static int gcm_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_gcm *g = ctx;
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out_size < len)
        return failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return crypt(g, out, out_len, in, len) || failed(g, PROV_R_CIPHER_OPERATION_FAILED);
}

static int gcm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    (void)out_size;
    return crypt(ctx, out, out_len, NULL, 0);
}

static int gcm_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_gcm *g = ctx;
    if (out_size < len)
        return failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt(g, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const OSSL_PARAM *gcm_gettable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_KEYLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_IVLEN),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TAGLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_UPDATED_IV),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG),
                                      TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN),
                                      TRP_UINT("iv-generated"), /* since 3.2 */
                                      TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

static const OSSL_PARAM *gcm_settable_ctx_params(void *ctx, void *provctx)
{
    static const OSSL_PARAM list[] = {TRP_SIZE(OSSL_CIPHER_PARAM_AEAD_IVLEN),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TAG),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED),
                                      TRP_OCTETS(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV),
                                      TRP_END};
    (void)ctx;
    (void)provctx;
    return list;
}

/* In the order in which the default provider looks at them, whatever the caller's: a failure leaves
 * the later ones undone. */
enum {
    GET_IVLEN,
    GET_KEYLEN,
    GET_TAGLEN,
    GET_IV,
    GET_UPDATED_IV,
    GET_PAD,
    GET_TAG,
    GET_IV_GEN,
    GET_GENERATED,
    GETS
};
static const char *const get_keys[GETS] = {OSSL_CIPHER_PARAM_IVLEN,
                                           OSSL_CIPHER_PARAM_KEYLEN,
                                           OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                           OSSL_CIPHER_PARAM_IV,
                                           OSSL_CIPHER_PARAM_UPDATED_IV,
                                           OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD,
                                           OSSL_CIPHER_PARAM_AEAD_TAG,
                                           OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN,
                                           "iv-generated"};

static int get_number(const struct trp_gcm *g, OSSL_PARAM *p, uint64_t value, size_t size)
{
    return trp_param_set_number(p, value, size) || failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_tag(const struct trp_gcm *g, OSSL_PARAM *p)
{
    if (p->data_size == 0 || p->data_size > TAG || !g->encrypt || g->tag_len == 0)
        return failed(g, PROV_R_INVALID_TAG);
    if (p->data_type != OSSL_PARAM_OCTET_STRING ||
        !trp_param_set_octets(p, g->buffer, p->data_size))
        return failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
    return 1;
}

static int get_iv(struct trp_gcm *g, OSSL_PARAM *p)
{
    /* Up to 3.6, an IV that is to be drawn cannot be told before it is used. */
    if (g->iv_state == IV_NONE &&
        (g->provider->libcrypto < TRP_LIBCRYPTO(4, 0) || !g->encrypt || g->tls || !generate_iv(g)))
        return 0;
    if (p->data_size < g->iv_len)
        return failed(g, PROV_R_INVALID_IV_LENGTH);
    return trp_param_set_octets(p, g->iv, g->iv_len) || failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_one(struct trp_gcm *g, int which, OSSL_PARAM *p)
{
    switch (which) {
    case GET_IVLEN:
        return get_number(g, p, g->iv_len, sizeof(size_t));
    case GET_KEYLEN:
        return get_number(g, p, g->kind->key_len, sizeof(size_t));
    case GET_TAGLEN:
        return get_number(g, p, g->tag_len != 0 ? g->tag_len : TAG, sizeof(size_t));
    case GET_IV:
    case GET_UPDATED_IV:
        return get_iv(g, p);
    case GET_PAD:
        return get_number(g, p, g->tls_pad, sizeof(size_t));
    case GET_TAG:
        return get_tag(g, p);
    case GET_IV_GEN:
        return p->data != NULL && p->data_type == OSSL_PARAM_OCTET_STRING &&
               next_iv(g, p->data, p->data_size);
    default:
        return trp_param_set_number(p, g->iv_random, sizeof(unsigned));
    }
}

static int gcm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    struct trp_gcm *g = ctx;
    /* What every message asks, each alone. */
    if (params != NULL && params[0].key != NULL && params[1].key == NULL) {
        if (strcmp(params[0].key, OSSL_CIPHER_PARAM_AEAD_TAG) == 0)
            return get_tag(g, params);
        if (strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0)
            return get_number(g, params, g->iv_len, sizeof(size_t));
    }
    for (int i = 0; i < GETS; i++) {
        OSSL_PARAM *p = (OSSL_PARAM *)trp_param_find(params, get_keys[i]);
        if (p != NULL && !get_one(g, i, p))
            return 0;
    }
    return 1;
}

static int set_tag(struct trp_gcm *g, const OSSL_PARAM *p)
{
    size_t len;
    if (!trp_param_get_octets(p, g->buffer, TAG, &len))
        return failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    if (len == 0 || g->encrypt)
        return failed(g, PROV_R_INVALID_TAG);
    g->tag_len = len;
    return 1;
}

static int set_iv_len(struct trp_gcm *g, const OSSL_PARAM *p)
{
    uint64_t len;
    if (!trp_param_get_number(p, SIZE_MAX, &len))
        return failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    if (len == 0 || len > MAX_IV)
        return failed(g, PROV_R_INVALID_IV_LENGTH);
    /* An IV of another length is none of this length. */
    if (len != g->iv_len && g->iv_state != IV_NONE)
        g->iv_state = IV_SPENT;
    g->iv_len = (size_t)len;
    return 1;
}

static int set_tls_aad(struct trp_gcm *g, const OSSL_PARAM *p)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    return set_aad(g, p->data, p->data_size) || failed(g, PROV_R_INVALID_AAD);
}

static int set_fixed(struct trp_gcm *g, const OSSL_PARAM *p)
{
    return (p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
            set_fixed_iv(g, p->data, p->data_size)) ||
           failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
}

static int set_explicit(struct trp_gcm *g, const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
           take_iv(g, p->data, p->data_size);
}

static const struct setter {
    const char *key;
    int (*set)(struct trp_gcm *g, const OSSL_PARAM *p);
} setters[] = {{OSSL_CIPHER_PARAM_AEAD_TAG, set_tag},
               {OSSL_CIPHER_PARAM_AEAD_IVLEN, set_iv_len},
               {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, set_tls_aad},
               {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, set_fixed},
               {OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, set_explicit}};
#define SETTERS (sizeof(setters) / sizeof(setters[0]))

/* Of several, a wrong one leaves those undone that are looked at after it. The default provider looks
 * in an order of its own, above; from 3.2 to 3.5 in that of the caller. */
static int gcm_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    struct trp_gcm *g = ctx;
    const int callers = g->provider->libcrypto >= TRP_LIBCRYPTO(3, 2) &&
                        g->provider->libcrypto < TRP_LIBCRYPTO(3, 6);
    if (params == NULL)
        return 1;
    for (const OSSL_PARAM *p = params; callers && p->key != NULL; p++) {
        for (size_t i = 0; i < SETTERS; i++) {
            if (strcmp(p->key, setters[i].key) == 0 && !setters[i].set(g, p))
                return 0;
        }
    }
    for (size_t i = 0; !callers && i < SETTERS; i++) {
        const OSSL_PARAM *p = trp_param_find(params, setters[i].key);
        if (p != NULL && !setters[i].set(g, p))
            return 0;
    }
    return 1;
}

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static inline int gcm_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_gcm *g = ctx;
    g->encrypt = (uint8_t)encrypt;
    if (iv != NULL) {
        if (iv_len == 0 || iv_len > MAX_IV)
            return failed(g, PROV_R_INVALID_IV_LENGTH);
        g->iv_len = iv_len;
        memcpy(g->iv, iv, iv_len);
        g->iv_state = IV_GIVEN;
    }
    if (key != NULL) {
        if (key_len != g->kind->key_len)
            return failed(g, PROV_R_INVALID_KEY_LENGTH);
        if (tr_gcm_set_key(&g->core, g->provider->selection.backend, key, key_len) != TR_OK)
            return 0;
        g->key_set = 1;
        g->tls_records = 0;
    }
    return gcm_set_ctx_params(g, params);
}

TRP_INITS(gcm)

#define GCM(bits)                                                                                  \
    static const struct trp_kind kind_gcm_##bits = {.evp_mode = EVP_CIPH_GCM_MODE,                 \
                                                    .key_len = bits / 8,                           \
                                                    .iv_len = DEFAULT_IV,                          \
                                                    .block_size = 1,                               \
                                                    .aead = 1,                                     \
                                                    .custom_iv = 1};                               \
    TRP_DISPATCH(gcm_##bits, gcm)

GCM(128);
GCM(192);
GCM(256);
