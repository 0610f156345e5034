/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of Calls.java over the core. */
#define _GNU_SOURCE
#include "context.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "org_tenrounds_Calls.h"

/* The header has each constant of Calls.java as org_tenrounds_Calls_NAME. */
#define JAVA(name) org_tenrounds_Calls_##name

_Static_assert(TR_ERR_TAG == JAVA(TAG_MISMATCH), "Calls.java has another value");
_Static_assert(sizeof(((union context *)0)->aes.text) == JAVA(SHORT),
               "Calls.java has another value");

static const struct tr_backend *backend;

static const char *variable(const char *name)
{
    return secure_getenv(name);
}

int select_backend(void)
{
    static struct tr_environment environment = {.variable = variable};
    struct tr_selection selection;
    const tr_features wanted = TR_FEATURE_AES | TR_FEATURE_CLMUL;

    environment.hwcap = getauxval(AT_HWCAP);
    tr_set_environment(&environment);
    if (tr_select(secure_getenv("TENROUNDS_MASK"), 0, &selection) != TR_OK || selection.failed != 0)
        return JAVA(SELF_TEST_FAILED);
    if ((tr_backend_features(selection.backend) & wanted) != wanted)
        return (selection.cpu.usable & wanted) == wanted ? JAVA(MASKED) : JAVA(NO_INSTRUCTIONS);
    backend = selection.backend;
    return JAVA(READY);
}

static int wipe(const struct call *c)
{
    tr_cleanse(c->out, c->len);
    return TR_OK;
}

static int copy(const struct call *c)
{
    memmove(c->out, c->in, c->len);
    return TR_OK;
}

/* ---- GCM. One-shot calls have the tag directly after the ciphertext. ---- */

static int gcm_key(const struct call *c)
{
    return tr_gcm_set_key(&c->context->gcm.key, backend, c->in, c->len);
}

static int gcm_seal(const struct call *c)
{
    return tr_gcm_seal(&c->context->gcm.key, c->iv, c->iv_len, c->aad, c->aad_len, c->out, c->in,
                       c->len, c->out + c->len, c->tag_len);
}

static int gcm_open(const struct call *c)
{
    return tr_gcm_open(&c->context->gcm.key, c->iv, c->iv_len, c->aad, c->aad_len, c->out, c->in,
                       c->len, c->in + c->len, c->tag_len);
}

static int gcm_start(const struct call *c)
{
    return tr_gcm_start(&c->context->gcm.message, &c->context->gcm.key, c->iv, c->iv_len);
}

static int gcm_aad(const struct call *c)
{
    return tr_gcm_aad(&c->context->gcm.message, c->in, c->len);
}

static int gcm_encrypt(const struct call *c)
{
    return tr_gcm_encrypt(&c->context->gcm.message, c->out, c->in, c->len);
}

static int gcm_decrypt(const struct call *c)
{
    return tr_gcm_decrypt(&c->context->gcm.message, c->out, c->in, c->len);
}

static int gcm_tag(const struct call *c)
{
    return tr_gcm_tag(&c->context->gcm.message, c->out, c->len);
}

static int gcm_check(const struct call *c)
{
    return tr_gcm_check(&c->context->gcm.message, c->in, c->len);
}

/* ---- The modes of SP 800-38A. An IV starts a message. ---- */

static int aes_key(const struct call *c)
{
    return tr_aes_set_key(&c->context->aes.key, backend, c->in, c->len);
}

static union context *started(const struct call *c)
{
    if (c->iv_len == TR_BLOCK) {
        memcpy(c->context->aes.iv, c->iv, TR_BLOCK);
        c->context->aes.used = 0;
    }
    return c->context;
}

/* Between whole blocks, the IV is all of a message's state. */
static int aes_iv(const struct call *c)
{
    memcpy(c->out, c->context->aes.iv, c->len);
    return TR_OK;
}

static int cbc_encrypt(const struct call *c)
{
    union context *x = started(c);
    return tr_cbc_encrypt(&x->aes.key, x->aes.iv, c->out, c->in, c->len);
}

static int cbc_decrypt(const struct call *c)
{
    union context *x = started(c);
    return tr_cbc_decrypt(&x->aes.key, x->aes.iv, c->out, c->in, c->len);
}

static int cfb_encrypt(const struct call *c)
{
    union context *x = started(c);
    return tr_cfb128_encrypt(&x->aes.key, x->aes.iv, &x->aes.used, c->out, c->in, c->len);
}

static int cfb_decrypt(const struct call *c)
{
    union context *x = started(c);
    return tr_cfb128_decrypt(&x->aes.key, x->aes.iv, &x->aes.used, c->out, c->in, c->len);
}

static int ofb(const struct call *c)
{
    union context *x = started(c);
    return tr_ofb(&x->aes.key, x->aes.iv, &x->aes.used, c->out, c->in, c->len);
}

static int ctr(const struct call *c)
{
    union context *x = started(c);
    return tr_ctr(&x->aes.key, x->aes.iv, x->aes.keystream, &x->aes.used, c->out, c->in, c->len);
}

/* ---- CMAC ---- */

static int cmac_key(const struct call *c)
{
    return tr_cmac_set_key(&c->context->cmac.key, backend, c->in, c->len);
}

static int cmac_sign(const struct call *c)
{
    return tr_cmac_sign(&c->context->cmac.key, c->in, c->len, c->out, c->tag_len);
}

static int cmac_start(const struct call *c)
{
    return tr_cmac_start(&c->context->cmac.message, &c->context->cmac.key);
}

static int cmac_update(const struct call *c)
{
    return tr_cmac_update(&c->context->cmac.message, c->in, c->len);
}

static int cmac_tag(const struct call *c)
{
    return tr_cmac_tag(&c->context->cmac.message, c->out, c->len);
}

/* ---- Key wrap, in place ---- */

static int kw_wrap(const struct call *c)
{
    return tr_kw_wrap(&c->context->aes.key, 0, c->iv, c->out, c->in, c->len);
}

static int kw_unwrap(const struct call *c)
{
    return tr_kw_unwrap(&c->context->aes.key, 0, c->iv, c->out, c->in, c->len);
}

static int kwp_wrap(const struct call *c)
{
    return tr_kwp_wrap(&c->context->aes.key, 0, NULL, c->out, c->in, c->len);
}

/* The last 4 of the bytes that unwrapping frees hold the length of the plaintext. */
static int kwp_unwrap(const struct call *c)
{
    size_t len = 0;
    int status = tr_kwp_unwrap(&c->context->aes.key, 0, NULL, c->out, &len, c->in, c->len);

    for (int i = 1; i <= 4; i++, len >>= 8)
        c->out[c->len - (size_t)i] = (uint8_t)len;
    return status;
}

/* ---- Modes of whole messages, in place ---- */

static int ccm_key(const struct call *c)
{
    return tr_ccm_set_key(&c->context->ccm, backend, c->in, c->len);
}

static int ccm_seal(const struct call *c)
{
    return tr_ccm_seal(&c->context->ccm, c->iv, c->iv_len, c->aad, c->aad_len, c->out, c->in,
                       c->len, c->out + c->len, c->tag_len);
}

static int ccm_open(const struct call *c)
{
    return tr_ccm_open(&c->context->ccm, c->iv, c->iv_len, c->aad, c->aad_len, c->out, c->in,
                       c->len, c->in + c->len, c->tag_len);
}

static int gcm_siv_key(const struct call *c)
{
    return tr_gcm_siv_set_key(&c->context->gcm_siv, backend, c->in, c->len);
}

static int gcm_siv_seal(const struct call *c)
{
    return tr_gcm_siv_seal(&c->context->gcm_siv, c->iv, c->aad, c->aad_len, c->out, c->in, c->len,
                           c->out + c->len);
}

static int gcm_siv_open(const struct call *c)
{
    return tr_gcm_siv_open(&c->context->gcm_siv, c->iv, c->aad, c->aad_len, c->out, c->in, c->len,
                           c->in + c->len);
}

static int xts_key(const struct call *c)
{
    return tr_xts_set_key(&c->context->xts, backend, c->in, c->len);
}

static int xts_encrypt(const struct call *c)
{
    return tr_xts_encrypt(&c->context->xts, c->iv, c->out, c->in, c->len);
}

static int xts_decrypt(const struct call *c)
{
    return tr_xts_decrypt(&c->context->xts, c->iv, c->out, c->in, c->len);
}

/* ---- Many GCM messages, packed: in sealed form, each has its tag after it ---- */

/* A message as GcmBatch.java writes it, in native byte order. */
struct record {
    uint8_t iv[12];
    uint32_t aad_len, len;
};

static int gcm_many(const struct call *c, int opens)
{
    struct tr_gcm_job jobs[64];
    const uint8_t *aad = c->aad, *in = c->in;
    uint8_t *out = c->out;
    int status = TR_OK;

    for (size_t at = 0, n = 0; at < c->iv_len; at += sizeof(struct record)) {
        struct record record;
        size_t in_len, out_len;

        memcpy(&record, c->iv + at, sizeof(record));
        in_len = record.len + (opens ? c->tag_len : 0);
        out_len = record.len + (opens ? 0 : c->tag_len);
        jobs[n++] = (struct tr_gcm_job){
            .key = &c->context->gcm.key,
            .iv = c->iv + at,
            .iv_len = sizeof(record.iv),
            .aad = aad,
            .aad_len = record.aad_len,
            .out = out,
            .in = in,
            .len = record.len,
            .tag = opens ? (uint8_t *)in + record.len : out + record.len,
            .tag_len = c->tag_len,
        };
        aad += record.aad_len;
        in += in_len;
        out += out_len;
        if (n == sizeof(jobs) / sizeof(jobs[0]) || at + sizeof(record) == c->iv_len) {
            int result = opens ? tr_gcm_open_many(jobs, n) : tr_gcm_seal_many(jobs, n);

            status = status == TR_OK ? result : status;
            n = 0;
        }
    }
    return status;
}

static int gcm_seal_many(const struct call *c)
{
    return gcm_many(c, 0);
}

static int gcm_open_many(const struct call *c)
{
    return gcm_many(c, 1);
}

int run(int operation, const struct call *call)
{
    static int (*const operations[])(const struct call *) = {
        [JAVA(WIPE)] = wipe,
        [JAVA(COPY)] = copy,
        [JAVA(GCM_KEY)] = gcm_key,
        [JAVA(GCM_SEAL)] = gcm_seal,
        [JAVA(GCM_OPEN)] = gcm_open,
        [JAVA(GCM_START)] = gcm_start,
        [JAVA(GCM_AAD)] = gcm_aad,
        [JAVA(GCM_ENCRYPT)] = gcm_encrypt,
        [JAVA(GCM_DECRYPT)] = gcm_decrypt,
        [JAVA(GCM_TAG)] = gcm_tag,
        [JAVA(GCM_CHECK)] = gcm_check,
        [JAVA(AES_KEY)] = aes_key,
        [JAVA(CBC_ENCRYPT)] = cbc_encrypt,
        [JAVA(CBC_DECRYPT)] = cbc_decrypt,
        [JAVA(CFB_ENCRYPT)] = cfb_encrypt,
        [JAVA(CFB_DECRYPT)] = cfb_decrypt,
        [JAVA(OFB)] = ofb,
        [JAVA(CTR)] = ctr,
        [JAVA(AES_IV)] = aes_iv,
        [JAVA(CMAC_KEY)] = cmac_key,
        [JAVA(CMAC_SIGN)] = cmac_sign,
        [JAVA(CMAC_START)] = cmac_start,
        [JAVA(CMAC_UPDATE)] = cmac_update,
        [JAVA(CMAC_TAG)] = cmac_tag,
        [JAVA(KW_WRAP)] = kw_wrap,
        [JAVA(KW_UNWRAP)] = kw_unwrap,
        [JAVA(KWP_WRAP)] = kwp_wrap,
        [JAVA(KWP_UNWRAP)] = kwp_unwrap,
        [JAVA(CCM_KEY)] = ccm_key,
        [JAVA(CCM_SEAL)] = ccm_seal,
        [JAVA(CCM_OPEN)] = ccm_open,
        [JAVA(GCM_SIV_KEY)] = gcm_siv_key,
        [JAVA(GCM_SIV_SEAL)] = gcm_siv_seal,
        [JAVA(GCM_SIV_OPEN)] = gcm_siv_open,
        [JAVA(XTS_KEY)] = xts_key,
        [JAVA(XTS_ENCRYPT)] = xts_encrypt,
        [JAVA(XTS_DECRYPT)] = xts_decrypt,
        [JAVA(GCM_SEAL_MANY)] = gcm_seal_many,
        [JAVA(GCM_OPEN_MANY)] = gcm_open_many,
    };
    return operations[operation](call);
}
