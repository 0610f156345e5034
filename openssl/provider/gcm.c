/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM as EVP has it: IVs of 1 to 128 bytes, generated when an encryption is given none, and the
 * records of TLS 1.2 (RFC 5288), which are one update each after the parameter "tlsaad".
 *
 * The core does a whole message in half the time that start, AAD, data and tag take one by one, and short
 * messages are nearly always one update. So IV and AAD are held back until data comes; where that is short, it
 * is taken for all of the message, and the tag computed or compared with it. If more comes after all, the core
 * is brought to where it would be from the ciphertext, which is kept, and the next messages are not taken so.
 */
#include "aead.h"
#include "part.h"
#include "random.h"

#define DEFAULT_IV 12
#define HELD_AAD   64
#define HELD_TEXT  1536 /* a packet */
#define WARY       8u

/* Where the message is that has begun. */
enum trp_gcm_held {
    TRP_GCM_IN_CORE,
    TRP_GCM_HELD, /* IV and AAD, that is: the core knows of none */
    TRP_GCM_DONE  /* the core has taken held_text for all of it */
};

struct trp_gcm {
    struct trp_aead a; /* tag_len is 0 as long as there is no tag */
    struct tr_gcm core;
    uint64_t tls_records;
    uint8_t iv_gen;          /* the provider increments the IV for each message */
    uint8_t iv_random;       /* "iv-generated": an IV was drawn at random */
    uint8_t iv_random_stays; /* 1 before OpenSSL 4.0: an explicit IV does not reset iv_random */
    uint8_t held;            /* enum trp_gcm_held */
    uint8_t done_encrypt;
    uint8_t tag_given; /* since the last message ended */
    uint8_t wary;      /* so many messages are not taken to be one update, because one was not */
    uint8_t done_tag[TRP_TAG];
    size_t held_aad_len, held_text_len;
    uint8_t held_aad[HELD_AAD];
    uint8_t held_text
        [HELD_TEXT]; /* ciphertext; the last, because it is no secret (trp_aead_mode.room) */
};

/* ---- IVs ------------------------------------------------------------------------------------ */

static int start(struct trp_gcm *g)
{
    if (tr_gcm_start(&g->core, g->a.iv, g->a.iv_len) != TR_OK)
        return 0;
    g->a.iv_state = TRP_IV_IN_USE;
    g->held = TRP_GCM_IN_CORE;
    return 1;
}

/* SP 800-38D 8.2.2. */
static int generate_iv(struct trp_gcm *g)
{
    if (g->a.iv_len < DEFAULT_IV || !trossl_random(g->a.iv, g->a.iv_len))
        return 0;
    g->a.iv_state = TRP_IV_GIVEN;
    g->iv_random = 1;
    return 1;
}

/* SP 800-38D 8.2.1: the part that stays for this key, and one to count up from. The length -1 is the
 * whole IV. */
static int set_fixed_iv(struct trp_gcm *g, const uint8_t *iv, size_t len)
{
    if (len == (size_t)-1) {
        memcpy(g->a.iv, iv, g->a.iv_len);
        g->iv_random &= g->iv_random_stays;
    } else {
        if (len < TRP_TLS_FIXED || len > g->a.iv_len || g->a.iv_len - len < TRP_TLS_EXPLICIT)
            return 0;
        uint8_t random[TRP_MAX_IV];
        if (g->a.encrypt && !trossl_random(random, g->a.iv_len - len))
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

/* Tells the last len bytes of the IV (0: all); the next one is one higher. */
static void count_up(struct trp_gcm *g, uint8_t *out, size_t len)
{
    if (len == 0 || len > g->a.iv_len)
        len = g->a.iv_len;
    memcpy(out, g->a.iv + g->a.iv_len - len, len);
    for (size_t i = 1; i <= TRP_TLS_EXPLICIT && i <= g->a.iv_len && ++g->a.iv[g->a.iv_len - i] == 0;
         i++)
        ;
}

/* Begins a message with the IV. */
static int next_iv(struct trp_gcm *g, uint8_t *out, size_t len)
{
    if (!g->iv_gen || !g->a.key_set || !start(g))
        return 0;
    count_up(g, out, len);
    return 1;
}

/* The last bytes of the IV are those that the sender has told. */
static int take_iv(struct trp_gcm *g, const uint8_t *in, size_t len)
{
    if (!g->iv_gen || !g->a.key_set || g->a.encrypt || len > g->a.iv_len)
        return 0;
    memcpy(g->a.iv + g->a.iv_len - len, in, len);
    return 1;
}

/* ---- Short messages at once ----------------------------------------------------------------- */

static inline int hold(struct trp_gcm *g)
{
    g->a.iv_state = TRP_IV_IN_USE;
    g->held = TRP_GCM_HELD;
    g->held_aad_len = 0;
    return 1;
}

/* The core to where it would be if nothing had been held back. */
static __attribute__((noinline)) int put_into_core(struct trp_gcm *g)
{
    const int done = g->held == TRP_GCM_DONE;
    if (!start(g) ||
        (g->held_aad_len != 0 && tr_gcm_aad(&g->core, g->held_aad, g->held_aad_len) != TR_OK))
        return 0;
    if (!done)
        return 1;
    g->wary = WARY;
    uint8_t text[HELD_TEXT];
    enum tr_status status = tr_gcm_decrypt(&g->core, text, g->held_text, g->held_text_len);
    tr_cleanse(text, g->held_text_len);
    return status == TR_OK;
}

static inline int in_core(struct trp_gcm *g)
{
    return LIKELY(g->held == TRP_GCM_IN_CORE) || put_into_core(g);
}

static inline int may_do_at_once(const struct trp_gcm *g, size_t len)
{
    return g->held == TRP_GCM_HELD && len <= HELD_TEXT && g->wary == 0 &&
           (g->a.encrypt || g->tag_given);
}

/* What is short by words, without a call. */
static inline void keep(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len < TR_BLOCK) {
        part_store(to, part_load(from, len), len);
    } else if (len <= 4 * TR_BLOCK) {
        for (size_t i = 0; i < len - TR_BLOCK; i += TR_BLOCK)
            memcpy(to + i, from + i, TR_BLOCK);
        memcpy(to + len - TR_BLOCK, from + len - TR_BLOCK, TR_BLOCK);
    } else {
        memcpy(to, from, len);
    }
}

static enum tr_status seal_at_once(struct trp_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status = tr_gcm_seal(&g->core, g->a.iv, DEFAULT_IV, g->held_aad, g->held_aad_len,
                                        out, in, len, g->done_tag, TRP_TAG);
    if (status == TR_OK)
        keep(g->held_text, out, len);
    return status;
}

/* A wrong tag is for the end to say; the text comes out as it would have. */
static enum tr_status open_at_once(struct trp_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    keep(g->held_text, in, len);
    enum tr_status status = tr_gcm_open(&g->core, g->a.iv, DEFAULT_IV, g->held_aad, g->held_aad_len,
                                        out, in, len, g->a.buffer, g->a.tag_len);
    if (status != TR_ERR_TAG)
        return status;
    if (!put_into_core(g))
        return TR_ERR_STATE;
    return tr_gcm_decrypt(&g->core, out, g->held_text, len);
}

static inline enum tr_status at_once(struct trp_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status =
        g->a.encrypt ? seal_at_once(g, out, in, len) : open_at_once(g, out, in, len);
    if (LIKELY(status == TR_OK && g->held == TRP_GCM_HELD)) {
        g->held = TRP_GCM_DONE;
        g->held_text_len = len;
        g->done_encrypt = g->a.encrypt;
    }
    return status;
}

static int aad(struct trp_gcm *g, const uint8_t *in, size_t len)
{
    if (g->held == TRP_GCM_HELD && len <= HELD_AAD - g->held_aad_len) {
        memcpy(g->held_aad + g->held_aad_len, in, len);
        g->held_aad_len += len;
        return 1;
    }
    return in_core(g) && tr_gcm_aad(&g->core, in, len) == TR_OK;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int seal_record(struct trp_gcm *g, uint8_t *record, size_t len)
{
    if (++g->tls_records == 0)
        return trp_aead_failed(g, PROV_R_TOO_MANY_RECORDS);
    uint8_t *text = record + TRP_TLS_EXPLICIT;
    if (!g->iv_gen || tr_gcm_seal(&g->core, g->a.iv, g->a.iv_len, g->a.buffer, TRP_TLS_AAD, text,
                                  text, len, text + len, TRP_TAG) != TR_OK)
        return 0;
    count_up(g, record, TRP_TLS_EXPLICIT);
    g->a.tag_len = TRP_TAG;
    return 1;
}

static int open_record(struct trp_gcm *g, uint8_t *record, size_t len)
{
    uint8_t *text = record + TRP_TLS_EXPLICIT;
    if (!take_iv(g, record, TRP_TLS_EXPLICIT))
        return 0;
    g->a.tag_len = TRP_TAG;
    return tr_gcm_open(&g->core, g->a.iv, g->a.iv_len, g->a.buffer, TRP_TLS_AAD, text, text, len,
                       text + len, TRP_TAG) == TR_OK;
}

/* One whole record in place: explicit IV, text, tag. */
static __attribute__((noinline)) int record(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                            const uint8_t *in, size_t len)
{
    int good = 0;
    *out_len = 0;
    if (g->a.key_set && out == in && out != NULL && len >= TRP_TLS_EXPLICIT + TRP_TAG &&
        g->a.iv_len >= TRP_TLS_EXPLICIT) {
        size_t text = len - TRP_TLS_EXPLICIT - TRP_TAG;
        good = g->a.encrypt ? seal_record(g, out, text) : open_record(g, out, text);
        if (good)
            *out_len = g->a.encrypt ? len : text;
    }
    g->a.iv_state = TRP_IV_SPENT;
    g->a.tls = 0;
    return good;
}

static __attribute__((noinline)) int begin(struct trp_gcm *g)
{
    if (!g->a.key_set || g->a.iv_state == TRP_IV_SPENT)
        return 0;
    if (g->a.iv_state == TRP_IV_NONE && (!g->a.encrypt || !generate_iv(g)))
        return 0;
    return g->a.iv_len == DEFAULT_IV ? hold(g) : start(g);
}

/* Makes sure that a message has begun. */
static inline int begun(struct trp_gcm *g)
{
    return LIKELY(g->a.iv_state == TRP_IV_IN_USE) || begin(g);
}

/* The message has been done at once, in this direction. */
static inline int is_done(const struct trp_gcm *g)
{
    return g->held == TRP_GCM_DONE && g->done_encrypt == g->a.encrypt;
}

static inline int end_done(struct trp_gcm *g)
{
    if (g->a.encrypt) {
        memcpy(g->a.buffer, g->done_tag, TRP_TAG);
        g->a.tag_len = TRP_TAG;
    }
    g->a.iv_state = TRP_IV_SPENT;
    g->tag_given = 0;
    return 1;
}

static int finish(struct trp_gcm *g)
{
    if (!begun(g))
        return 0;
    if (is_done(g))
        return end_done(g);
    if (!in_core(g))
        return 0;
    g->wary -= g->wary != 0;
    if (g->a.encrypt) {
        if (tr_gcm_tag(&g->core, g->a.buffer, TRP_TAG) != TR_OK)
            return 0;
        g->a.tag_len = TRP_TAG;
    } else if (g->a.tag_len == 0 || tr_gcm_check(&g->core, g->a.buffer, g->a.tag_len) != TR_OK) {
        return 0;
    }
    g->a.iv_state = TRP_IV_SPENT;
    g->tag_given = 0;
    return 1;
}

static __attribute__((noinline)) int data(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                          const uint8_t *in, size_t len)
{
    enum tr_status status;
    if (may_do_at_once(g, len))
        status = at_once(g, out, in, len);
    else if (!in_core(g))
        status = TR_ERR_STATE;
    else
        status = g->a.encrypt ? tr_gcm_encrypt(&g->core, out, in, len)
                              : tr_gcm_decrypt(&g->core, out, in, len);
    *out_len = LIKELY(status == TR_OK) ? len : 0;
    return LIKELY(status == TR_OK) || trp_aead_status(g, status);
}

/* No in: the end. No out: AAD. */
static __attribute__((noinline)) int crypt(struct trp_gcm *g, uint8_t *out, size_t *out_len,
                                           const uint8_t *in, size_t len)
{
    if (g->a.tls)
        return record(g, out, out_len, in, len);
    *out_len = 0;
    if (in == NULL)
        return finish(g);
    if (!begun(g))
        return 0;
    if (out != NULL) /* EVP_Cipher() may ask for no bytes; AAD may still come then */
        return len == 0 || data(g, out, out_len, in, len);
    if (!aad(g, in, len))
        return 0;
    *out_len = len;
    return 1;
}

static __attribute__((noinline)) int update_otherwise(struct trp_gcm *g, uint8_t *out,
                                                      size_t *out_len, size_t out_size,
                                                      const uint8_t *in, size_t len)
{
    *out_len = 0;
    if (len == 0)
        return 1;
    if (out_size < len && out != NULL)
        return trp_aead_failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return crypt(g, out, out_len, in, len) || trp_aead_failed(g, PROV_R_CIPHER_OPERATION_FAILED);
}

/* AAD that a message of the usual kind begins with. */
static inline int may_hold(const struct trp_gcm *g, size_t len)
{
    return g->a.iv_state == TRP_IV_GIVEN && g->a.key_set && g->a.iv_len == DEFAULT_IV &&
           len <= HELD_AAD;
}

/* What most updates are goes by the shortest way: each of the calls of a short message costs as much as its AES. */
static int gcm_update(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_gcm *g = ctx;
    if (LIKELY(in != NULL && len != 0 && !g->a.tls)) {
        if (out != NULL && g->a.iv_state == TRP_IV_IN_USE && len <= out_size)
            return LIKELY(data(g, out, out_len, in, len)) ||
                   trp_aead_failed(g, PROV_R_CIPHER_OPERATION_FAILED);
        if (out == NULL && may_hold(g, len)) {
            hold(g);
            keep(g->held_aad, in, len);
            g->held_aad_len = len;
            *out_len = len;
            return 1;
        }
    }
    return update_otherwise(g, out, out_len, out_size, in, len);
}

static int gcm_final(void *ctx, unsigned char *out, size_t *out_len, size_t out_size)
{
    struct trp_gcm *g = ctx;
    (void)out_size;
    if (LIKELY(g->a.iv_state == TRP_IV_IN_USE && !g->a.tls && is_done(g))) {
        *out_len = 0;
        return end_done(g);
    }
    return crypt(g, out, out_len, NULL, 0);
}

static int gcm_cipher(void *ctx, unsigned char *out, size_t *out_len, size_t out_size,
                      const unsigned char *in, size_t len)
{
    struct trp_gcm *g = ctx;
    if (out_size < len)
        return trp_aead_failed(g, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt(g, out, out_len, in, len))
        return 0;
    *out_len = len;
    return 1;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

static const OSSL_PARAM gcm_gettable[] = {TRP_AEAD_GETTABLE, TRP_AEAD_GETTABLE_TLS,
                                          TRP_UINT("iv-generated"), /* since 3.2 */
                                          TRP_PIPELINE_TAGS, TRP_END};
static const OSSL_PARAM gcm_settable[] = {TRP_AEAD_SETTABLE, TRP_AEAD_SETTABLE_TLS,
                                          TRP_PIPELINE_TAGS, TRP_END};
TRP_AEAD_LISTS(gcm)

/* What is done with a parameter "tag", for the tag of each pipe. */
static int tag_of_each(struct trp_gcm *g, const OSSL_PARAM *p, int (*act)(void *, OSSL_PARAM *))
{
    uint8_t **tags = NULL;
    if (p->data_type == OSSL_PARAM_OCTET_PTR && p->data != NULL)
        memcpy(&tags, p->data, sizeof(tags));
    if (tags == NULL || g->a.pipes == NULL)
        return trp_aead_failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    for (size_t i = 0; i < g->a.pipes->n; i++) {
        OSSL_PARAM tag = {OSSL_CIPHER_PARAM_AEAD_TAG, OSSL_PARAM_OCTET_STRING, tags[i],
                          p->data_size, OSSL_PARAM_UNMODIFIED};
        if (tags[i] == NULL)
            return trp_aead_failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
        if (!act(trp_pipe(g->a.pipes, i), &tag))
            return 0;
    }
    return 1;
}

static int get_tag_len(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    return trp_aead_put_number(g, p, g->a.tag_len != 0 ? g->a.tag_len : TRP_TAG);
}

/* Since 4.0, a NULL buffer asks for the size. */
static int answers_size(const struct trp_gcm *g, const OSSL_PARAM *p)
{
    return p->data == NULL && g->a.provider->libcrypto >= TRP_LIBCRYPTO(4, 0);
}

static __attribute__((noinline)) int get_tag_otherwise(const struct trp_gcm *g, OSSL_PARAM *p)
{
    const size_t len = answers_size(g, p) ? g->a.tag_len : p->data_size;
    if (len == 0 || len > TRP_TAG || !g->a.encrypt || g->a.tag_len == 0)
        return trp_aead_failed(g, PROV_R_INVALID_TAG);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return trp_aead_failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
    p->return_size = len;
    if (p->data != NULL)
        memcpy(p->data, g->a.buffer, len);
    return 1;
}

static int get_tag(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    if (LIKELY(p->data != NULL && p->data_size == TRP_TAG &&
               p->data_type == OSSL_PARAM_OCTET_STRING && g->a.encrypt && g->a.tag_len != 0)) {
        memcpy(p->data, g->a.buffer, TRP_TAG); /* constant size: inlined */
        p->return_size = TRP_TAG;
        return 1;
    }
    return get_tag_otherwise(g, p);
}

static int get_iv(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    /* Up to 3.6, an IV that is to be drawn cannot be told before it is used. */
    if (g->a.iv_state == TRP_IV_NONE && (g->a.provider->libcrypto < TRP_LIBCRYPTO(4, 0) ||
                                         !g->a.encrypt || g->a.tls || !generate_iv(g)))
        return 0;
    if (!answers_size(g, p))
        return trp_aead_get_iv(g, p);
    return trp_param_set_octets(p, NULL, g->a.iv_len) ||
           trp_aead_failed(g, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_tags(void *ctx, OSSL_PARAM *p)
{
    return tag_of_each(ctx, p, get_tag);
}

static int get_next_iv(void *ctx, OSSL_PARAM *p)
{
    return p->data != NULL && p->data_type == OSSL_PARAM_OCTET_STRING &&
           next_iv(ctx, p->data, p->data_size);
}

static int get_generated(void *ctx, OSSL_PARAM *p)
{
    const struct trp_gcm *g = ctx;
    return trp_param_set_number(p, g->iv_random, sizeof(unsigned));
}

static const struct trp_aead_param gcm_get[] = {
    {OSSL_CIPHER_PARAM_IVLEN, trp_aead_get_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TAG, get_tag},
    {OSSL_CIPHER_PARAM_KEYLEN, trp_aead_get_key_len},
    {OSSL_CIPHER_PARAM_AEAD_TAGLEN, get_tag_len},
    {OSSL_CIPHER_PARAM_IV, get_iv},
    {OSSL_CIPHER_PARAM_UPDATED_IV, get_iv},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, trp_aead_get_tls_pad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, get_next_iv},
    {"iv-generated", get_generated},
    {TRP_PIPELINE_TAG, get_tags},
    {NULL, NULL}};

static int set_tag(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    size_t len;
    if (LIKELY(p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
               p->data_size == TRP_TAG)) { /* without a call */
        memcpy(g->a.buffer, p->data, TRP_TAG);
        len = TRP_TAG;
    } else if (!trp_param_get_octets(p, g->a.buffer, TRP_TAG, &len)) {
        return trp_aead_failed(g, PROV_R_FAILED_TO_GET_PARAMETER);
    }
    if (len == 0 || g->a.encrypt)
        return trp_aead_failed(g, PROV_R_INVALID_TAG);
    g->a.tag_len = len;
    g->tag_given = 1;
    /* What was compared was another tag. */
    if (g->a.iv_state == TRP_IV_IN_USE && g->held == TRP_GCM_DONE && !put_into_core(g))
        return trp_aead_failed(g, PROV_R_CIPHER_OPERATION_FAILED);
    return 1;
}

static int set_tags(void *ctx, OSSL_PARAM *p)
{
    return tag_of_each(ctx, p, set_tag);
}

static int set_iv_len(void *ctx, OSSL_PARAM *p)
{
    struct trp_gcm *g = ctx;
    size_t len;
    if (!trp_aead_take_number(g, p, &len))
        return 0;
    if (len == 0 || len > TRP_MAX_IV)
        return trp_aead_failed(g, PROV_R_INVALID_IV_LENGTH);
    /* An IV of another length is none of this length. */
    if (len != g->a.iv_len && g->a.iv_state != TRP_IV_NONE)
        g->a.iv_state = TRP_IV_SPENT;
    g->a.iv_len = len;
    return 1;
}

static int set_tls_aad(void *ctx, OSSL_PARAM *p)
{
    return trp_aead_set_tls_aad(ctx, p, TRP_TAG, PROV_R_INVALID_AAD);
}

static int set_fixed(void *ctx, OSSL_PARAM *p)
{
    return (p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
            set_fixed_iv(ctx, p->data, p->data_size)) ||
           trp_aead_failed(ctx, PROV_R_FAILED_TO_GET_PARAMETER);
}

static int set_explicit(void *ctx, OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL &&
           take_iv(ctx, p->data, p->data_size) && start(ctx);
}

static const struct trp_aead_param gcm_set[] = {
    {OSSL_CIPHER_PARAM_AEAD_TAG, set_tag},
    {OSSL_CIPHER_PARAM_AEAD_IVLEN, set_iv_len},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, set_tls_aad},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, set_fixed},
    {OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, set_explicit},
    {TRP_PIPELINE_TAG, set_tags},
    {NULL, NULL}};

/* The one parameter of the list is this one. */
#define ONLY(params, name)                                                                         \
    ((params)[0].key != NULL && trp_param_is_short((params), (name)) && (params)[1].key == NULL)

/* What every message asks for, and in 3.0 every init. */
static int gcm_get_ctx_params(void *ctx, OSSL_PARAM params[])
{
    if (LIKELY(params != NULL)) {
        if (ONLY(params, OSSL_CIPHER_PARAM_AEAD_TAG))
            return get_tag(ctx, params);
        if (ONLY(params, OSSL_CIPHER_PARAM_IVLEN))
            return trp_aead_get_iv_len(ctx, params);
    }
    return trp_aead_get_ctx_params(ctx, params);
}

static int gcm_set_ctx_params(void *ctx, const OSSL_PARAM params[])
{
    if (LIKELY(params != NULL && ONLY(params, OSSL_CIPHER_PARAM_AEAD_TAG)))
        return set_tag(ctx, (OSSL_PARAM *)params);
    return trp_aead_set_ctx_params(ctx, params);
}

/* ---- Keys, and the tables ------------------------------------------------------------------- */

static enum tr_status set_key(void *ctx, const struct tr_backend *backend, const uint8_t *key,
                              size_t key_len)
{
    struct trp_gcm *g = ctx;
    g->tls_records = 0;
    g->held = TRP_GCM_IN_CORE; /* no message goes on under another key */
    return tr_gcm_set_key(&g->core, backend, key, key_len);
}

static const struct trp_aead_mode gcm_mode = {.context_size = offsetof(struct trp_gcm, held_text),
                                              .room = sizeof(struct trp_gcm) -
                                                      offsetof(struct trp_gcm, held_text),
                                              .max_iv = TRP_MAX_IV,
                                              .set_key = set_key,
                                              .get_tag = get_tag,
                                              .get = gcm_get,
                                              .set = gcm_set,
                                              .callers_order = 1};

/* For most messages only the IV is new, and has the usual length; to open one, the tag comes with it. */
static inline int gcm_init(void *ctx, const unsigned char *key, size_t key_len,
                           const unsigned char *iv, size_t iv_len, const OSSL_PARAM params[],
                           int encrypt)
{
    struct trp_gcm *g = ctx;
    if (LIKELY(key == NULL && iv != NULL && iv_len == DEFAULT_IV)) {
        g->a.encrypt = (uint8_t)encrypt;
        g->a.iv_len = DEFAULT_IV;
        memcpy(g->a.iv, iv, DEFAULT_IV);
        g->a.iv_state = TRP_IV_GIVEN;
        g->iv_random &= g->iv_random_stays;
        return params == NULL || gcm_set_ctx_params(g, params);
    }
    if (iv != NULL && iv_len - 1 < TRP_MAX_IV)
        g->iv_random &= g->iv_random_stays;
    return (encrypt ? trp_aead_encrypt_init : trp_aead_decrypt_init)(g, key, key_len, iv, iv_len,
                                                                     params);
}

TRP_INITS(gcm)

TRP_PIPELINE_FUNCTIONS(gcm, trp_aead, sizeof(struct trp_gcm), gcm_encrypt_init, gcm_decrypt_init,
                       trp_pipes_update, gcm_update, gcm_final)

#define gcm_free trp_aead_free

static void *gcm_new(void *provctx, const struct trp_kind *kind)
{
    struct trp_gcm *g = trp_aead_new(provctx, kind);
    if (g != NULL)
        g->iv_random_stays = g->a.provider->libcrypto < TRP_LIBCRYPTO(4, 0);
    return g;
}

static void *gcm_dup(void *ctx)
{
    const struct trp_gcm *from = ctx;
    struct trp_gcm *copy = trp_aead_dup(ctx);
    if (copy != NULL && from->held == TRP_GCM_DONE)
        memcpy(copy->held_text, from->held_text, from->held_text_len);
    return copy;
}

#define GCM(bits)                                                                                  \
    TRP_AEAD_BY(gcm, gcm, bits, TRP_PIPELINE(gcm), .evp_mode = EVP_CIPH_GCM_MODE,                  \
                .iv_len = DEFAULT_IV, .block_size = 1)

GCM(128);
GCM(192);
GCM(256);
