/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The AEADs gcm, rfc4106(gcm) and ccm. Any number of requests can use the key in a transform's
 * context at the same time. Requests only read the key, except that GCM requests add powers of H to
 * it, in a thread-safe way (dispatch/ghash.h). Requests are synchronous, so the message object, at
 * most 256 bytes, is on the stack. The core gets data in contiguous steps (steps.h), and long AAD
 * in the pieces of the scatterlist. AAD of at most 32 bytes is copied and passed in one piece.
 *
 * Decryption writes the plaintext before it has checked the tag. The kernel's interface allows
 * that: after -EBADMSG the caller must not use the output.
 */
#include "tenrounds_kernel.h"

#include "steps.h"

#include <linux/module.h>

#include <crypto/aead.h>
#include <crypto/aes.h>
#include <crypto/algapi.h>
#include <crypto/gcm.h>

#define RFC4106_IV 8u

/* The key begins on a cache line, so that no 64-byte load of the powers of H crosses two lines. */
struct gcm_context {
    struct tr_gcm_key key __aligned(64);
    u8 salt[4]; /* rfc4106: the first bytes of the IV */
};
static_assert(offsetof(struct gcm_context, key.hash.power) % 64 == 0);

static struct gcm_context *gcm_of(struct crypto_aead *tfm)
{
    return PTR_ALIGN(crypto_aead_ctx(tfm), __alignof__(struct gcm_context));
}

static struct tr_ccm_key *ccm_of(struct crypto_aead *tfm)
{
    return PTR_ALIGN(crypto_aead_ctx(tfm), __alignof__(struct tr_ccm_key));
}

/* ---- Code that all modes share ---- */

/* One request, and the functions of its mode. */
struct message {
    enum tr_kernel_alg alg;
    bool decrypt;
    bool begun;
    const struct tr_aes_key *key;
    tr_features fast; /* hold() acquires registers only for a backend with these */
    struct aead_request *req;
    const u8 *iv;
    enum tr_status (*begin)(struct message *m);
    enum tr_status (*aad)(struct message *m, const u8 *data, size_t len);
    enum tr_status (*data)(struct message *m, u8 *out, const u8 *in, size_t len);
    enum tr_status (*tag)(struct message *m, u8 tag[TR_BLOCK]);
};

/* The errno for a status of the core. */
static int error_of(enum tr_status status)
{
    if (status == TR_OK)
        return 0;
    return status == TR_ERR_LENGTH ? -EOVERFLOW : -EINVAL;
}

/* Authenticates the first `len` bytes of the scatterlist `source`. */
static noinline int hash_aad(struct message *m, struct scatterlist *source, unsigned int len)
{
    struct sg_mapping_iter piece;
    enum tr_status status = TR_OK;
    int entries = sg_nents_for_len(source, len);

    if (entries < 0)
        return entries;
    sg_miter_start(&piece, source, entries, SG_MITER_ATOMIC | SG_MITER_FROM_SG);
    while (len != 0 && status == TR_OK && sg_miter_next(&piece)) {
        size_t n = min_t(size_t, len, piece.length);

        status = m->aad(m, piece.addr, n);
        len -= n;
    }
    sg_miter_stop(&piece);
    return len == 0 || status != TR_OK ? error_of(status) : -EINVAL;
}

/* A copy of short AAD, to authenticate it while the registers are held for the data. */
struct short_aad {
    unsigned int len;
    u8 bytes[2 * TR_BLOCK];
};

/* Begins the message and authenticates its short AAD, unless that is done already. */
static enum tr_status begin_with(struct message *m, const struct short_aad *aad)
{
    enum tr_status status = TR_OK;

    if (!m->begun) {
        m->begun = true;
        status = m->begin(m);
        if (status == TR_OK && aad->len != 0)
            status = m->aad(m, aad->bytes, aad->len);
    }
    return status;
}

/* Acquires the vector registers once for a whole step, if the backend is fast enough. Software
 * GHASH must not run while the registers are held, because it takes 6 times as long as AES and does
 * not need the registers. */
static bool hold(const struct message *m, unsigned int len)
{
    return (m->key->backend->features & m->fast) == m->fast && tr_kernel_hold(m->key, len);
}

/* Processes the data and computes the tag. The core can continue in mid-block, so each step takes
 * all its bytes and leaves no partial block to the next step. The last step also computes the tag,
 * so a one-step message, such as a packet, acquires the registers only once. */
static noinline int crypt_data(struct message *m, const struct short_aad *aad, u8 tag[TR_BLOCK])
{
    struct tr_steps steps __uninitialized;
    enum tr_status status = TR_OK;
    bool held, done = false;
    int err = tr_steps_begin_aead(&steps, m->req, m->decrypt);

    while (steps.nbytes != 0) {
        unsigned int len = steps.nbytes;

        held = hold(m, len);
        status = begin_with(m, aad);
        if (status == TR_OK)
            status = m->data(m, steps.out, steps.in, len);
        done = len == steps.total;
        if (status == TR_OK && done)
            status = m->tag(m, tag);
        tr_kernel_release(held);
        tr_kernel_count_step(m->alg, len);
        err = tr_steps_next(&steps, status == TR_OK ? 0 : error_of(status));
    }
    if (err != 0 || done)
        return err;
    /* There is no data. */
    held = hold(m, 0);
    status = begin_with(m, aad);
    if (status == TR_OK)
        status = m->tag(m, tag);
    tr_kernel_release(held);
    return error_of(status);
}

/* Encrypts or decrypts a request whose AAD has aad_len bytes, then writes or checks the tag. */
static int crypt_message(struct message *m, unsigned int aad_len)
{
    struct aead_request *req = m->req;
    unsigned int size = crypto_aead_authsize(crypto_aead_reqtfm(req));
    unsigned int end = req->assoclen + req->cryptlen;
    u8 tag[TR_BLOCK], received[TR_BLOCK];
    struct short_aad aad = {.len = 0};
    int err = 0;

    tr_kernel_count_call(m->alg);
    if (aad_len > sizeof(aad.bytes)) {
        err = error_of(begin_with(m, &aad));
        if (err == 0)
            err = hash_aad(m, req->src, aad_len);
    } else if (aad_len != 0) {
        aad.len = aad_len;
        tr_copy_few(aad.bytes, req->src, 0, aad_len, 0);
    }
    if (err == 0)
        err = crypt_data(m, &aad, tag);
    if (err == 0 && m->decrypt) {
        tr_copy_few(received, req->src, end - size, size, 0);
        err = crypto_memneq(tag, received, size) ? -EBADMSG : 0;
    } else if (err == 0) {
        tr_copy_few(tag, req->dst, end, size, 1);
    }
    memzero_explicit(tag, sizeof(tag));
    return err;
}

/* ---- gcm, rfc4106(gcm) ---- */

struct gcm_message {
    struct message message;
    struct tr_gcm gcm;
};

static struct tr_gcm *gcm_in(struct message *m)
{
    return &container_of(m, struct gcm_message, message)->gcm;
}

static enum tr_status gcm_begin(struct message *m)
{
    const struct gcm_context *context = gcm_of(crypto_aead_reqtfm(m->req));

    return tr_gcm_start(gcm_in(m), &context->key, m->iv, GCM_AES_IV_SIZE);
}

static enum tr_status gcm_aad(struct message *m, const u8 *data, size_t len)
{
    return tr_gcm_aad(gcm_in(m), data, len);
}

static enum tr_status gcm_data(struct message *m, u8 *out, const u8 *in, size_t len)
{
    return m->decrypt ? tr_gcm_decrypt(gcm_in(m), out, in, len)
                      : tr_gcm_encrypt(gcm_in(m), out, in, len);
}

static enum tr_status gcm_tag(struct message *m, u8 tag[TR_BLOCK])
{
    return tr_gcm_tag(gcm_in(m), tag, TR_BLOCK);
}

static noinline int gcm_crypt(struct aead_request *req, enum tr_kernel_alg alg, const u8 *iv,
                              unsigned int aad_len, bool decrypt)
{
    struct gcm_message m __uninitialized;
    int err;

    m.message = (struct message){.alg = alg,
                                 .decrypt = decrypt,
                                 .req = req,
                                 .iv = iv,
                                 .key = &gcm_of(crypto_aead_reqtfm(req))->key.aes,
                                 .fast = TR_FEATURE_AES | TR_FEATURE_CLMUL,
                                 .begin = gcm_begin,
                                 .aad = gcm_aad,
                                 .data = gcm_data,
                                 .tag = gcm_tag};
    err = crypt_message(&m.message, aad_len);
    memzero_explicit(&m.gcm, sizeof(m.gcm));
    return err;
}

static int gcm_encrypt(struct aead_request *req)
{
    return gcm_crypt(req, TR_KERNEL_GCM, req->iv, req->assoclen, false);
}

static int gcm_decrypt(struct aead_request *req)
{
    return gcm_crypt(req, TR_KERNEL_GCM, req->iv, req->assoclen, true);
}

/* RFC 4106 section 4: GCM's IV is the salt, which comes with the key, and then the request's IV.
 * The last 8 bytes of the AAD repeat the request's IV and are not authenticated. */
static int rfc4106_crypt(struct aead_request *req, bool decrypt)
{
    u8 iv[GCM_AES_IV_SIZE];
    int err = crypto_ipsec_check_assoclen(req->assoclen);

    if (err != 0)
        return err;
    memcpy(iv, gcm_of(crypto_aead_reqtfm(req))->salt, sizeof(iv) - RFC4106_IV);
    memcpy(iv + sizeof(iv) - RFC4106_IV, req->iv, RFC4106_IV);
    err = gcm_crypt(req, TR_KERNEL_RFC4106, iv, req->assoclen - RFC4106_IV, decrypt);
    memzero_explicit(iv, sizeof(iv)); /* the salt is part of the key */
    return err;
}

static int rfc4106_encrypt(struct aead_request *req)
{
    return rfc4106_crypt(req, false);
}

static int rfc4106_decrypt(struct aead_request *req)
{
    return rfc4106_crypt(req, true);
}

static int gcm_set_key(struct crypto_aead *tfm, const u8 *raw, unsigned int len)
{
    return tr_gcm_set_key(&gcm_of(tfm)->key, tr_kernel_backend, raw, len) == TR_OK ? 0 : -EINVAL;
}

static int rfc4106_set_key(struct crypto_aead *tfm, const u8 *raw, unsigned int len)
{
    struct gcm_context *context = gcm_of(tfm);

    if (len < sizeof(context->salt))
        return -EINVAL;
    len -= sizeof(context->salt);
    memcpy(context->salt, raw + len, sizeof(context->salt));
    return gcm_set_key(tfm, raw, len);
}

static int gcm_set_authsize(struct crypto_aead *tfm, unsigned int size)
{
    return crypto_gcm_check_authsize(size);
}

static int rfc4106_set_authsize(struct crypto_aead *tfm, unsigned int size)
{
    return crypto_rfc4106_check_authsize(size);
}

/* ---- ccm ---- */

struct ccm_message {
    struct message message;
    struct tr_ccm ccm;
};

static struct tr_ccm *ccm_in(struct message *m)
{
    return &container_of(m, struct ccm_message, message)->ccm;
}

/* The request's IV is counter block 0 (RFC 3610 section 2.3). The first byte of this block is the
 * size of the length field minus one. The nonce and the counter follow. The counter has the size of
 * the length field. */
static enum tr_status ccm_begin(struct message *m)
{
    struct crypto_aead *tfm = crypto_aead_reqtfm(m->req);
    unsigned int size = crypto_aead_authsize(tfm);

    return tr_ccm_start(ccm_in(m), ccm_of(tfm), m->iv + 1, 14 - m->iv[0], size, m->req->assoclen,
                        m->decrypt ? m->req->cryptlen - size : m->req->cryptlen);
}

static enum tr_status ccm_aad(struct message *m, const u8 *data, size_t len)
{
    return tr_ccm_aad(ccm_in(m), data, len);
}

static enum tr_status ccm_data(struct message *m, u8 *out, const u8 *in, size_t len)
{
    return m->decrypt ? tr_ccm_decrypt(ccm_in(m), out, in, len)
                      : tr_ccm_encrypt(ccm_in(m), out, in, len);
}

static enum tr_status ccm_tag(struct message *m, u8 tag[TR_BLOCK])
{
    return tr_ccm_tag(ccm_in(m), tag);
}

static int ccm_crypt(struct aead_request *req, bool decrypt)
{
    struct ccm_message m __uninitialized;
    int err;

    if (req->iv[0] < 1 || req->iv[0] > 7)
        return -EINVAL;
    m.message = (struct message){.alg = TR_KERNEL_CCM,
                                 .decrypt = decrypt,
                                 .req = req,
                                 .iv = req->iv,
                                 .key = &ccm_of(crypto_aead_reqtfm(req))->aes,
                                 .fast = TR_FEATURE_AES,
                                 .begin = ccm_begin,
                                 .aad = ccm_aad,
                                 .data = ccm_data,
                                 .tag = ccm_tag};
    err = crypt_message(&m.message, req->assoclen);
    memzero_explicit(&m.ccm, sizeof(m.ccm));
    return err;
}

static int ccm_encrypt(struct aead_request *req)
{
    return ccm_crypt(req, false);
}

static int ccm_decrypt(struct aead_request *req)
{
    return ccm_crypt(req, true);
}

static int ccm_set_key(struct crypto_aead *tfm, const u8 *raw, unsigned int len)
{
    return tr_ccm_set_key(ccm_of(tfm), tr_kernel_backend, raw, len) == TR_OK ? 0 : -EINVAL;
}

static int ccm_set_authsize(struct crypto_aead *tfm, unsigned int size)
{
    return size < 4 || size > TR_BLOCK || size % 2 != 0 ? -EINVAL : 0;
}

/* ---- Registration ---- */

#define AEAD(name, driver, context)                                                                \
    .base = {.cra_name = name,                                                                     \
             .cra_driver_name = driver "-tenrounds-",                                              \
             .cra_blocksize = 1,                                                                   \
             .cra_ctxsize = TR_KERNEL_CONTEXT_SIZE(context),                                       \
             .cra_module = THIS_MODULE},                                                           \
    .maxauthsize = TR_BLOCK, .chunksize = TR_BLOCK

static struct aead_alg algs[] = {
    {
        AEAD("gcm(aes)", "gcm-aes", struct gcm_context),
        .setkey = gcm_set_key,
        .setauthsize = gcm_set_authsize,
        .encrypt = gcm_encrypt,
        .decrypt = gcm_decrypt,
        .ivsize = GCM_AES_IV_SIZE,
    },
    {
        AEAD("rfc4106(gcm(aes))", "rfc4106-gcm-aes", struct gcm_context),
        .setkey = rfc4106_set_key,
        .setauthsize = rfc4106_set_authsize,
        .encrypt = rfc4106_encrypt,
        .decrypt = rfc4106_decrypt,
        .ivsize = RFC4106_IV,
    },
    {
        AEAD("ccm(aes)", "ccm-aes", struct tr_ccm_key),
        .setkey = ccm_set_key,
        .setauthsize = ccm_set_authsize,
        .encrypt = ccm_encrypt,
        .decrypt = ccm_decrypt,
        .ivsize = TR_BLOCK,
    },
};

int tr_kernel_register_aeads(const char *backend, int priority)
{
    unsigned int i;

    for (i = 0; i < ARRAY_SIZE(algs); i++) {
        tr_kernel_name_driver(algs[i].base.cra_driver_name, backend);
        algs[i].base.cra_priority = priority;
    }
    return crypto_register_aeads(algs, ARRAY_SIZE(algs));
}

void tr_kernel_unregister_aeads(void)
{
    crypto_unregister_aeads(algs, ARRAY_SIZE(algs));
}
