/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM as libcrypto 1.1.1 defines it, with IVs of any length. After EVP_CTRL_AEAD_TLS1_AAD, the next
 * call processes a whole TLS 1.2 record (RFC 5288). */
#include "mode.h"

#define DEFAULT_IV 12

struct gcm {
    struct tr_gcm_key key;
    struct tr_gcm core;
    uint8_t *long_iv; /* an IV too long for libcrypto's context, or NULL */
    int iv_len;
    int tag_len; /* -1 if there is no tag */
    uint8_t key_set, iv_set;
    /* The fixed part of the IV is set. When encrypting, the engine increments the IV for each
     * message; when decrypting, it takes the other bytes from the record. */
    uint8_t iv_gen;
    uint8_t tls; /* `buffer` holds the AAD of a record */
    uint8_t buffer[TROSSL_TAG];
};

/* ---- IVs ------------------------------------------------------------------------------------ */

static uint8_t *gcm_iv_of(EVP_CIPHER_CTX *ctx, const struct gcm *g)
{
    return g->long_iv != NULL ? g->long_iv : tre_evp.iv(ctx);
}

/* Frees the long IV and goes back to the default length. A program can replace libcrypto's malloc()
 * and free() by functions that leave with longjmp(). Here and in gcm_new_long_iv(), the context
 * must therefore be valid before each malloc() and free(). */
static void gcm_drop_long_iv(struct gcm *g)
{
    uint8_t *const iv = g->long_iv;
    const int len = g->iv_len;
    g->long_iv = NULL;
    g->iv_len = DEFAULT_IV;
    if (iv != NULL)
        tre_evp.clear_free(iv, (size_t)len, __FILE__, __LINE__);
}

/* Allocates an IV that is too long for libcrypto's context. */
static int gcm_new_long_iv(struct gcm *g, int len)
{
    g->long_iv = NULL;
    g->iv_len = DEFAULT_IV;
    g->long_iv = tre_evp.malloc((size_t)len, __FILE__, __LINE__);
    if (g->long_iv == NULL)
        return 0;
    memset(g->long_iv, 0, (size_t)len);
    g->iv_len = len;
    return 1;
}

static int gcm_set_iv_len(struct gcm *g, int len)
{
    if (len <= 0)
        return 0;
    if (len == g->iv_len)
        return 1;
    /* A new length invalidates the IV. Otherwise, two IVs could be cut to the same nonce. */
    g->iv_set = g->iv_gen = 0;
    gcm_drop_long_iv(g);
    if (len > EVP_MAX_IV_LENGTH)
        return gcm_new_long_iv(g, len);
    g->iv_len = len;
    return 1;
}

static int gcm_start(EVP_CIPHER_CTX *ctx, struct gcm *g)
{
    g->iv_set = tr_gcm_start(&g->core, &g->key, gcm_iv_of(ctx, g), (size_t)g->iv_len) == TR_OK;
    return g->iv_set;
}

/* Sets the fixed part of the IV. When encrypting, draws the other bytes of the IV at random (SP
 * 800-38D section 8.2.1). These bytes are the first value of the invocation field, which
 * gcm_next_iv() increments. A `len` of -1 sets the whole IV. */
static int gcm_set_fixed_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *fixed, int len)
{
    uint8_t *iv = gcm_iv_of(ctx, g);
    if (fixed == NULL)
        return 0;
    if (len == -1) {
        memcpy(iv, fixed, (size_t)g->iv_len);
    } else {
        if (len < 0 || !trossl_iv_may_fix((size_t)g->iv_len, (size_t)len))
            return 0;
        memcpy(iv, fixed, (size_t)len);
        if (tre_evp.encrypting(ctx) && tre_evp.random(iv + len, g->iv_len - len) <= 0)
            return 0;
    }
    g->iv_gen = 1;
    return 1;
}

/* Starts a message, copies the last `len` bytes of its IV to `out`, and increments the IV. */
static int gcm_next_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *out, int len)
{
    if (!g->iv_gen || !g->key_set || out == NULL || !gcm_start(ctx, g))
        return 0;
    trossl_iv_next(gcm_iv_of(ctx, g), (size_t)g->iv_len, out, len < 0 ? 0 : (size_t)len);
    return 1;
}

/* Copies the explicit part of the IV, `len` bytes from the received record, to the end of the IV.
 * Then starts a message. */
static int gcm_take_explicit_iv(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *in, int len)
{
    if (!g->iv_gen || !g->key_set || tre_evp.encrypting(ctx) || in == NULL || len < 0 ||
        len > g->iv_len)
        return 0;
    memcpy(gcm_iv_of(ctx, g) + g->iv_len - len, in, (size_t)len);
    return gcm_start(ctx, g);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static int gcm_init(EVP_CIPHER_CTX *ctx, const unsigned char *key, const unsigned char *iv, int enc)
{
    struct gcm *g = tre_evp.data(ctx);
    if (key != NULL) {
        memset(&g->core, 0, sizeof(g->core)); /* so that no message continues under another key */
        if (tr_gcm_set_key(&g->key, tre_backend(), key, (size_t)tre_evp.key_len(ctx)) != TR_OK)
            return 0;
        g->key_set = 1;
    }
    if (iv != NULL) {
        memcpy(gcm_iv_of(ctx, g), iv, (size_t)g->iv_len);
        g->iv_set = 1;
        g->iv_gen = 0;
    }
    if (!g->key_set || !g->iv_set || (key == NULL && iv == NULL))
        return 1;
    return gcm_start(ctx, g);
}

static int gcm_cleanup(EVP_CIPHER_CTX *ctx)
{
    struct gcm *g = tre_evp.data(ctx);
    if (g != NULL)
        gcm_drop_long_iv(g);
    return 1;
}

/* Corrects the pointers of a context that libcrypto has copied bytewise, and copies a long IV. */
static int gcm_copy(const struct gcm *from, EVP_CIPHER_CTX *to)
{
    struct gcm *g = tre_evp.data(to);
    tr_gcm_rebind(&g->core, &g->key);
    if (from->long_iv == NULL)
        return 1;
    g->iv_set = g->iv_gen = 0;
    if (!gcm_new_long_iv(g, from->iv_len))
        return 0;
    memcpy(g->long_iv, from->long_iv, (size_t)from->iv_len);
    g->iv_set = from->iv_set;
    g->iv_gen = from->iv_gen;
    return 1;
}

/* ---- Messages ------------------------------------------------------------------------------- */

/* Seals or opens one TLS record in place. */
static int gcm_record(EVP_CIPHER_CTX *ctx, struct gcm *g, uint8_t *out, const uint8_t *in,
                      size_t len)
{
    size_t n;
    const int good = out == in && out != NULL && g->iv_gen &&
                     trossl_tls_gcm(&g->key, tre_evp.encrypting(ctx), gcm_iv_of(ctx, g),
                                    (size_t)g->iv_len, g->buffer, out, len, &n) == TR_OK;
    g->iv_set = g->tls = 0;
    return good ? (int)n : -1;
}

static int gcm_finish(EVP_CIPHER_CTX *ctx, struct gcm *g)
{
    if (tre_evp.encrypting(ctx)) {
        if (tr_gcm_tag(&g->core, g->buffer, TROSSL_TAG) != TR_OK)
            return -1;
        g->tag_len = TROSSL_TAG;
    } else if (g->tag_len < 0 || tr_gcm_check(&g->core, g->buffer, (size_t)g->tag_len) != TR_OK) {
        return -1;
    }
    g->iv_set = 0; /* each IV serves only one message */
    return 0;
}

/* Processes data, or AAD if `out` is NULL. Ends the message if `in` is NULL. */
static int gcm_crypt(EVP_CIPHER_CTX *ctx, unsigned char *out, const unsigned char *in, size_t len)
{
    struct gcm *g = tre_evp.data(ctx);
    if (!g->key_set)
        return -1;
    if (g->tls)
        return gcm_record(ctx, g, out, in, len);
    if (!g->iv_set)
        return -1;
    if (in == NULL)
        return gcm_finish(ctx, g);
    if (len == 0) /* empty data does not end the AAD */
        return 0;
    const enum tr_status status = out == NULL ? tr_gcm_aad(&g->core, in, len)
                                  : tre_evp.encrypting(ctx)
                                      ? tr_gcm_encrypt(&g->core, out, in, len)
                                      : tr_gcm_decrypt(&g->core, out, in, len);
    return status == TR_OK ? (int)len : -1;
}

/* ---- Controls ------------------------------------------------------------------------------- */

static int gcm_begin(struct gcm *g)
{
    gcm_drop_long_iv(g);
    g->key_set = g->iv_set = g->iv_gen = g->tls = 0;
    g->iv_len = DEFAULT_IV;
    g->tag_len = -1;
    return 1;
}

static int gcm_set_tag(EVP_CIPHER_CTX *ctx, struct gcm *g, const uint8_t *tag, int len)
{
    if (len <= 0 || len > (int)TROSSL_TAG || tre_evp.encrypting(ctx) || tag == NULL)
        return 0;
    memcpy(g->buffer, tag, (size_t)len);
    g->tag_len = len;
    return 1;
}

static int gcm_get_tag(EVP_CIPHER_CTX *ctx, const struct gcm *g, uint8_t *tag, int len)
{
    if (len <= 0 || len > (int)TROSSL_TAG || !tre_evp.encrypting(ctx) || g->tag_len < 0 ||
        tag == NULL)
        return 0;
    memcpy(tag, g->buffer, (size_t)len);
    return 1;
}

static int gcm_ctrl(EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr)
{
    struct gcm *g = tre_evp.data(ctx);
    switch (type) {
    case EVP_CTRL_INIT:
        return gcm_begin(g);
    case EVP_CTRL_GET_IVLEN:
        *(int *)ptr = g->iv_len;
        return 1;
    case EVP_CTRL_AEAD_SET_IVLEN:
        return gcm_set_iv_len(g, arg);
    case EVP_CTRL_AEAD_SET_TAG:
        return gcm_set_tag(ctx, g, ptr, arg);
    case EVP_CTRL_AEAD_GET_TAG:
        return gcm_get_tag(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_SET_IV_FIXED:
        return gcm_set_fixed_iv(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_IV_GEN:
        return gcm_next_iv(ctx, g, ptr, arg);
    case EVP_CTRL_GCM_SET_IV_INV:
        return gcm_take_explicit_iv(ctx, g, ptr, arg);
    case EVP_CTRL_AEAD_TLS1_AAD:
        return tre_take_aad(ctx, g->buffer, &g->tls, ptr, arg, TROSSL_TAG);
    case EVP_CTRL_COPY:
        return gcm_copy(g, ptr);
    }
    return -1;
}

const struct tre_mode tre_gcm = {.flags = EVP_CIPH_GCM_MODE | TRE_AEAD_FLAGS,
                                 .block_size = 1,
                                 .iv_len = DEFAULT_IV,
                                 .context_size = sizeof(struct gcm),
                                 .init = gcm_init,
                                 .crypt = gcm_crypt,
                                 .cleanup = gcm_cleanup,
                                 .ctrl = gcm_ctrl};
