/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM as libcrypto 1.1.1 has it: IVs of any length, those of TLS 1.2 counted up here (RFC 5288),
 * whose records are one call each after EVP_CTRL_AEAD_TLS1_AAD.
 */
#include "aead.h"
#include "random.h"

#define DEFAULT_IV 12

struct gcm {
    struct tr_gcm core;
    uint8_t *long_iv; /* one that has no room in libcrypto's context */
    int iv_len;
    int tag_len; /* -1: there is none */
    uint8_t key_set, iv_set;
    uint8_t iv_gen; /* IVs are counted up */
    uint8_t tls;    /* buffer holds the AAD of a record */
    uint8_t buffer[TAG_BYTES];
};

/* ---- IVs ------------------------------------------------------------------------------------ */

static uint8_t *iv_of(EVP_CIPHER_CTX *ctx, const struct gcm *g)
{
    return g->long_iv != NULL ? g->long_iv : tre_evp.iv(ctx);
}

static void drop_long_iv(struct gcm *g)
{
    if (g->long_iv != NULL)
        tre_evp.clear_free(g->long_iv, (size_t)g->iv_len, __FILE__, __LINE__);
    g->long_iv = NULL;
}

static int set_iv_len(struct gcm *g, int len)
{
    if (len <= 0)
        return 0;
    if (len == g->iv_len)
        return 1;
    drop_long_iv(g);
    g->iv_len = len;
    /* A new length invalidates the IV: two IVs with a common prefix would become one nonce. */
    g->iv_set = 0;
    if (len <= EVP_MAX_IV_LENGTH)
        return 1;
    g->long_iv = tre_evp.malloc((size_t)len, __FILE__, __LINE__);
    if (g->long_iv == NULL) {
        g->iv_len = DEFAULT_IV;
        return 0;
    }
    memset(g->long_iv, 0, (size_t)len);
    return 1;
}

static int start(EVP_CIPHER_CTX *ctx, struct gcm *g)
{
    g->iv_set = tr_gcm_start(&g->core, iv_of(ctx, g), (size_t)g->iv_len) == TR_OK;
    return g->iv_set;
}

/* SP 800-38D 8.2.1: a part that stays for this key, and one to count up from. The length -1 is the whole
 * IV. */
static int set_fixed_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *fixed, int len)
{
    uint8_t *iv = iv_of(ctx, g);
    if (fixed == NULL)
        return 0;
    if (len == -1) {
        memcpy(iv, fixed, (size_t)g->iv_len);
    } else {
        if (len < FIXED || g->iv_len - len < EXPLICIT)
            return 0;
        memcpy(iv, fixed, (size_t)len);
        if (tre_evp.encrypting(ctx) && !trossl_random(iv + len, (size_t)(g->iv_len - len)))
            return 0;
    }
    g->iv_gen = 1;
    return 1;
}

/* Tells the last len bytes of the IV; the next one is one higher. */
static void count_up(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *out, int len)
{
    uint8_t *iv = iv_of(ctx, g);
    if (len <= 0 || len > g->iv_len)
        len = g->iv_len;
    memcpy(out, iv + g->iv_len - len, (size_t)len);
    for (int i = 1; i <= EXPLICIT && i <= g->iv_len && ++iv[g->iv_len - i] == 0; i++)
        ;
}

/* Begins a message with the IV. */
static int next_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *out, int len)
{
    if (!g->iv_gen || !g->key_set || out == NULL || !start(ctx, g))
        return 0;
    count_up(ctx, g, out, len);
    return 1;
}

/* The last bytes of the IV are those that the sender has told. */
static int take_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *in, int len)
{
    if (!g->iv_gen || !g->key_set || tre_evp.encrypting(ctx) || in == NULL || len < 0 ||
        len > g->iv_len)
        return 0;
    memcpy(iv_of(ctx, g) + g->iv_len - len, in, (size_t)len);
    return 1;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static int init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc)
{
    struct gcm *g = tre_evp.data(ctx);
    (void)enc;
    if (key != NULL) {
        if (tr_gcm_set_key(&g->core, tre_backend(), key, (size_t)tre_evp.key_len(ctx)) != TR_OK)
            return 0;
        g->key_set = 1;
    }
    if (iv != NULL) {
        memcpy(iv_of(ctx, g), iv, (size_t)g->iv_len);
        g->iv_set = 1;
        g->iv_gen = 0;
    }
    if (!g->key_set || !g->iv_set || (key == NULL && iv == NULL))
        return 1;
    return start(ctx, g);
}

static int cleanup(EVP_CIPHER_CTX *ctx)
{
    struct gcm *g = tre_evp.data(ctx);
    if (g != NULL)
        drop_long_iv(g);
    return 1;
}

/* libcrypto has copied the contexts, byte for byte. */
static int copy(const struct gcm *from, EVP_CIPHER_CTX *to)
{
    struct gcm *g = tre_evp.data(to);
    if (from->long_iv == NULL)
        return 1;
    g->long_iv = tre_evp.malloc((size_t)from->iv_len, __FILE__, __LINE__);
    if (g->long_iv == NULL)
        return 0;
    memcpy(g->long_iv, from->long_iv, (size_t)from->iv_len);
    return 1;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static int seal_record(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *record, size_t len)
{
    uint8_t *text = record + EXPLICIT;
    if (!g->iv_gen || !g->key_set ||
        tr_gcm_seal(&g->core, iv_of(ctx, g), (size_t)g->iv_len, g->buffer, AAD_BYTES, text, text,
                    len, text + len, TAG_BYTES) != TR_OK)
        return 0;
    count_up(ctx, g, record, EXPLICIT);
    return 1;
}

static int open_record(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *record, size_t len)
{
    uint8_t *text = record + EXPLICIT;
    return take_iv(ctx, g, record, EXPLICIT) &&
           tr_gcm_open(&g->core, iv_of(ctx, g), (size_t)g->iv_len, g->buffer, AAD_BYTES, text, text,
                       len, text + len, TAG_BYTES) == TR_OK;
}

/* One whole record in place: explicit IV, text, tag. */
static int record(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    const int encrypting = tre_evp.encrypting(ctx);
    int done = -1;
    if (out == in && out != NULL && len >= EXPLICIT + TAG_BYTES && g->iv_len >= EXPLICIT) {
        const size_t text = len - EXPLICIT - TAG_BYTES;
        if (encrypting ? seal_record(ctx, g, out, text) : open_record(ctx, g, out, text))
            done = (int)(encrypting ? len : text);
    }
    g->iv_set = g->tls = 0;
    return done;
}

static int finish(EVP_CIPHER_CTX *ctx, struct gcm *g)
{
    if (tre_evp.encrypting(ctx)) {
        if (tr_gcm_tag(&g->core, g->buffer, TAG_BYTES) != TR_OK)
            return -1;
        g->tag_len = TAG_BYTES;
    } else if (g->tag_len < 0 || tr_gcm_check(&g->core, g->buffer, (size_t)g->tag_len) != TR_OK) {
        return -1;
    }
    g->iv_set = 0; /* not to be used again */
    return 0;
}

/* No in: the end. No out: AAD. */
static int crypt(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    struct gcm *g = tre_evp.data(ctx);
    enum tr_status status;
    if (!g->key_set)
        return -1;
    if (g->tls)
        return record(ctx, g, out, in, len);
    if (!g->iv_set)
        return -1;
    if (in == NULL)
        return finish(ctx, g);
    if (len == 0) /* after no data AAD may still come */
        return 0;
    if (out == NULL)
        status = tr_gcm_aad(&g->core, in, len);
    else if (tre_evp.encrypting(ctx))
        status = tr_gcm_encrypt(&g->core, out, in, len);
    else
        status = tr_gcm_decrypt(&g->core, out, in, len);
    return status == TR_OK ? (int)len : -1;
}

/* ---- What else libcrypto asks --------------------------------------------------------------- */

static int begin(struct gcm *g)
{
    drop_long_iv(g);
    g->key_set = g->iv_set = g->iv_gen = g->tls = 0;
    g->iv_len = DEFAULT_IV;
    g->tag_len = -1;
    return 1;
}

static int set_tag(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *tag, int len)
{
    if (len <= 0 || len > TAG_BYTES || tre_evp.encrypting(ctx) || tag == NULL)
        return 0;
    memcpy(g->buffer, tag, (size_t)len);
    g->tag_len = len;
    return 1;
}

static int get_tag(EVP_CIPHER_CTX *ctx, const struct gcm *g, uint8_t *tag, int len)
{
    if (len <= 0 || len > TAG_BYTES || !tre_evp.encrypting(ctx) || g->tag_len < 0 || tag == NULL)
        return 0;
    memcpy(tag, g->buffer, (size_t)len);
    return 1;
}

static int set_tls_aad(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *aad, int len)
{
    const int grows = tre_take_aad(g->buffer, aad, len, tre_evp.encrypting(ctx), TAG_BYTES);
    if (grows > 0)
        g->tls = 1;
    return grows;
}

static int ctrl(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr)
{
    struct gcm *g = tre_evp.data(ctx);
    switch (type) {
    case EVP_CTRL_INIT:
        return begin(g);
    case EVP_CTRL_GET_IVLEN:
        *(int *)ptr = g->iv_len;
        return 1;
    case EVP_CTRL_AEAD_SET_IVLEN:
        return set_iv_len(g, arg);
    case EVP_CTRL_AEAD_SET_TAG:
        return set_tag(ctx, g, ptr, arg);
    case EVP_CTRL_AEAD_GET_TAG:
        return get_tag(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_SET_IV_FIXED:
        return set_fixed_iv(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_IV_GEN:
        return next_iv(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_SET_IV_INV:
        return take_iv(ctx, g, ptr, arg) && start(ctx, g);
    case EVP_CTRL_AEAD_TLS1_AAD:
        return set_tls_aad(ctx, g, ptr, arg);
    case EVP_CTRL_COPY:
        return copy(g, ptr);
    }
    return -1;
}

const struct tre_mode tre_gcm = {.flags = EVP_CIPH_GCM_MODE | AEAD_FLAGS,
                                 .block_size = 1,
                                 .iv_len = DEFAULT_IV,
                                 .context_size = sizeof(struct gcm),
                                 .init = init,
                                 .crypt = crypt,
                                 .cleanup = cleanup,
                                 .ctrl = ctrl};
