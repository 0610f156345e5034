/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of the core that scripts/bench-commits times, one for each row of its table.
 *
 * The script compiles this file once against the header of each of two commits. TR_MANY_MESSAGES is
 * set if the header has calls for many messages of GCM and for masks.
 */
#include "ops.h"
#include "tenrounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 16u
#define NONCE   12u
#define AAD     13u

struct state {
    union {
        struct tr_aes_key aes;
        struct tr_gcm_key gcm;
        struct tr_ccm_key ccm[STREAMS];
        struct tr_ocb_key ocb;
        struct tr_siv_key siv;
        struct tr_gcm_siv_key gcm_siv;
        struct tr_xts_key xts;
        struct tr_cmac_key cmac;
    } key;
    struct tr_gcm gcm_message;
    union {
        struct tr_stream streams[STREAMS];
        struct tr_cmac_job cmac[STREAMS];
        struct tr_ccm_job ccm[STREAMS];
#ifdef TR_MANY_MESSAGES
        struct tr_gcm_job gcm[STREAMS];
        struct tr_mask_job masks[STREAMS];
#endif
    } jobs;
    const struct tr_backend *backend;
    size_t key_len;
    uint8_t raw[64], iv[16], ivs[STREAMS][16], keystream[16], tag[STREAMS][PAIRED_TAG];
    uint8_t aad_bytes[AAD];
    const uint8_t *aad;
    size_t aad_len;
    unsigned used;
};

static void good(enum tr_status status)
{
    if (status == TR_OK)
        return;
    fprintf(stderr, "bench-commits: a call of the core fails: %s\n", tr_strerror(status));
    exit(1);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static struct state *begin(void *memory, const char *backend, size_t key_len)
{
    struct state *s = memory;
    memset(s, 0, sizeof(*s));
    s->backend = tr_backend_by_name(backend);
    s->key_len = key_len;
    for (unsigned i = 0; i < sizeof(s->raw); i++)
        s->raw[i] = (uint8_t)(7 * i + 1);
    for (unsigned i = 0; i < sizeof(s->iv); i++)
        s->iv[i] = (uint8_t)(0x5a ^ (31 * i));
    memset(s->ivs, 0x31, sizeof(s->ivs));
    memset(s->aad_bytes, 0xaa, sizeof(s->aad_bytes));
    s->aad = s->aad_bytes;
    s->aad_len = AAD;
    return s;
}

static void prepare_aes(void *memory, const char *backend, size_t key_len, uint8_t *in, size_t len)
{
    struct state *s = begin(memory, backend, key_len);
    (void)in;
    (void)len;
    good(tr_aes_set_key(&s->key.aes, s->backend, s->raw, key_len));
}

/* Defines a prepare function; `keys` is 2 for XTS and SIV, which need two keys. */
#define PREPARE(name, keys)                                                                        \
    static void prepare_##name(void *memory, const char *backend, size_t key_len, uint8_t *in,     \
                               size_t len)                                                         \
    {                                                                                              \
        struct state *s = begin(memory, backend, key_len);                                         \
        (void)in;                                                                                  \
        (void)len;                                                                                 \
        good(tr_##name##_set_key(&s->key.name, s->backend, s->raw, (keys)*key_len));               \
    }
PREPARE(gcm, 1)
PREPARE(ocb, 1)
PREPARE(siv, 2)
PREPARE(gcm_siv, 1)
PREPARE(xts, 2)
PREPARE(cmac, 1)

static void prepare_ccm(void *memory, const char *backend, size_t key_len, uint8_t *in, size_t len)
{
    struct state *s = begin(memory, backend, key_len);
    (void)in;
    (void)len;
    for (unsigned i = 0; i < STREAMS; i++)
        good(tr_ccm_set_key(&s->key.ccm[i], s->backend, s->raw, key_len));
}

/* ---- Modes without authentication ------------------------------------------------------------ */

#define RUN(name)                                                                                  \
    static void run_##name(void *memory, uint8_t *out, const uint8_t *in, size_t len, size_t calls)
#define REPEAT(call)                                                                               \
    do {                                                                                           \
        struct state *s = memory;                                                                  \
        while (calls-- != 0)                                                                       \
            good(call);                                                                            \
    } while (0)

RUN(ecb_encrypt)
{
    REPEAT(tr_ecb_encrypt(&s->key.aes, out, in, len));
}
RUN(ecb_decrypt)
{
    REPEAT(tr_ecb_decrypt(&s->key.aes, out, in, len));
}
RUN(cbc_encrypt)
{
    REPEAT(tr_cbc_encrypt(&s->key.aes, s->iv, out, in, len));
}
RUN(cbc_decrypt)
{
    REPEAT(tr_cbc_decrypt(&s->key.aes, s->iv, out, in, len));
}
/* Each call begins at the start of a block, so that all calls of a cell do the same work. */
RUN(cfb_encrypt)
{
    REPEAT((s->used = 0, tr_cfb128_encrypt(&s->key.aes, s->iv, &s->used, out, in, len)));
}
RUN(cfb_decrypt)
{
    REPEAT((s->used = 0, tr_cfb128_decrypt(&s->key.aes, s->iv, &s->used, out, in, len)));
}
RUN(ofb)
{
    REPEAT((s->used = 0, tr_ofb(&s->key.aes, s->iv, &s->used, out, in, len)));
}
RUN(ctr)
{
    REPEAT((s->used = 0, tr_ctr(&s->key.aes, s->iv, s->keystream, &s->used, out, in, len)));
}
RUN(xts_encrypt)
{
    REPEAT(tr_xts_encrypt(&s->key.xts, s->iv, out, in, len));
}
RUN(xts_decrypt)
{
    REPEAT(tr_xts_decrypt(&s->key.xts, s->iv, out, in, len));
}
RUN(xts_units_encrypt)
{
    REPEAT(tr_xts_encrypt_units(&s->key.xts, s->iv, out, in, len, STREAMS));
}
RUN(xts_units_decrypt)
{
    REPEAT(tr_xts_decrypt_units(&s->key.xts, s->iv, out, in, len, STREAMS));
}
RUN(cbc_cts_encrypt)
{
    REPEAT(tr_cbc_cts_encrypt(&s->key.aes, TR_CS3, s->iv, out, in, len));
}
RUN(cbc_cts_decrypt)
{
    REPEAT(tr_cbc_cts_decrypt(&s->key.aes, TR_CS3, s->iv, out, in, len));
}
RUN(cfb8_encrypt)
{
    REPEAT(tr_cfb8_encrypt(&s->key.aes, s->iv, out, in, len));
}
RUN(cfb8_decrypt)
{
    REPEAT(tr_cfb8_decrypt(&s->key.aes, s->iv, out, in, len));
}
RUN(kw_wrap)
{
    REPEAT(tr_kw_wrap(&s->key.aes, 0, NULL, out, in, len));
}
/* KWP, because KW unwraps no 16 bytes. */
static void prepare_unwrap(void *memory, const char *backend, size_t key_len, uint8_t *in,
                           size_t len)
{
    struct state *s = memory;
    prepare_aes(memory, backend, key_len, in, len);
    good(tr_kwp_wrap(&s->key.aes, 0, NULL, in, in, len - 8));
}
RUN(kwp_unwrap)
{
    size_t out_len;
    REPEAT(tr_kwp_unwrap(&s->key.aes, 0, NULL, out, &out_len, in, len));
}
RUN(aes_key)
{
    REPEAT(tr_aes_set_key(&s->key.aes, s->backend, s->raw, s->key_len));
    (void)len;
    /* The output shows whether both builds set the same key. */
    good(tr_ecb_encrypt(&((struct state *)memory)->key.aes, out, in, TR_BLOCK));
}

/* ---- Modes with authentication --------------------------------------------------------------- */

/* Adds 1 to the nonce. */
static void next(struct state *s)
{
    uint64_t n;
    memcpy(&n, s->iv, sizeof(n));
    n++;
    memcpy(s->iv, &n, sizeof(n));
}

#define SEAL_OPEN(name)                                                                            \
    static enum tr_status seal_##name(struct state *s, uint8_t *out, const uint8_t *in,            \
                                      size_t len)                                                  \
    {                                                                                              \
        next(s);                                                                                   \
        return CALL(seal, name, out + len);                                                        \
    }                                                                                              \
    RUN(name##_seal)                                                                               \
    {                                                                                              \
        REPEAT(seal_##name(s, out, in, len));                                                      \
    }                                                                                              \
    RUN(name##_open)                                                                               \
    {                                                                                              \
        REPEAT(CALL(open, name, s->tag[0]));                                                       \
    }                                                                                              \
    static void sealed_##name(struct state *s, uint8_t *in, size_t len)                            \
    {                                                                                              \
        uint8_t *out = in;                                                                         \
        good(CALL(seal, name, s->tag[0]));                                                         \
    }                                                                                              \
    static void prepare_##name##_open(void *memory, const char *backend, size_t key_len,           \
                                      uint8_t *in, size_t len)                                     \
    {                                                                                              \
        prepare_##name(memory, backend, key_len, in, len);                                         \
        sealed_##name(memory, in, len);                                                            \
    }

#define CALL(what, name, tag)                                                                      \
    tr_##name##_##what(&s->key.name, s->iv, NONCE, s->aad, s->aad_len, out, in, len, tag,          \
                       PAIRED_TAG)
SEAL_OPEN(gcm)
SEAL_OPEN(ocb)

/* Writes the nonce as protocols do: a salt of 4 bytes, and a counter of 8 (RFC 4106, RFC 5288). */
static enum tr_status gcm_salted_seal(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    const uint32_t salt = 7;
    uint64_t n;
    memcpy(&n, s->iv + sizeof(salt), sizeof(n));
    n++;
    memcpy(s->iv, &salt, sizeof(salt));
    memcpy(s->iv + sizeof(salt), &n, sizeof(n));
    return CALL(seal, gcm, out + len);
}
RUN(gcm_salted_seal)
{
    REPEAT(gcm_salted_seal(s, out, in, len));
}
#undef CALL
#define CALL(what, name, tag)                                                                      \
    tr_##name##_##what(&s->key.name[0], s->iv, NONCE, s->aad, s->aad_len, out, in, len, tag,       \
                       PAIRED_TAG)
SEAL_OPEN(ccm)
#undef CALL
#define CALL(what, name, tag)                                                                      \
    tr_##name##_##what(&s->key.name, s->iv, s->aad, s->aad_len, out, in, len, tag)
SEAL_OPEN(gcm_siv)
#undef CALL
/* SIV: the nonce is the AAD. */
#define CALL(what, name, tag) tr_##name##_##what(&s->key.name, s->iv, 16, out, in, len, tag)
SEAL_OPEN(siv)
#undef CALL

/* AAD other than 13 bytes: none at NULL, none at a mapped address, one byte. */
#define AAD_FORM(name, form, at, n)                                                                \
    static void prepare_##name##_##form(void *memory, const char *backend, size_t key_len,         \
                                        uint8_t *in, size_t len)                                   \
    {                                                                                              \
        struct state *s = memory;                                                                  \
        prepare_##name(memory, backend, key_len, in, len);                                         \
        s->aad = (at);                                                                             \
        s->aad_len = (n);                                                                          \
    }                                                                                              \
    static void prepare_##name##_open_##form(void *memory, const char *backend, size_t key_len,    \
                                             uint8_t *in, size_t len)                              \
    {                                                                                              \
        prepare_##name##_##form(memory, backend, key_len, in, len);                                \
        sealed_##name(memory, in, len);                                                            \
    }
#define AAD_FORMS(name)                                                                            \
    AAD_FORM(name, null, NULL, 0)                                                                  \
    AAD_FORM(name, empty, s->aad_bytes, 0)                                                         \
    AAD_FORM(name, byte, s->aad_bytes, 1)
AAD_FORMS(gcm)
AAD_FORMS(ccm)
AAD_FORMS(ocb)
AAD_FORMS(gcm_siv)

static struct tr_gcm *start_gcm(struct state *s)
{
    good(tr_gcm_start(&s->gcm_message, &s->key.gcm, s->iv, NONCE));
    return &s->gcm_message;
}

static enum tr_status gcm_stream_encrypt(struct state *s, uint8_t *out, const uint8_t *in,
                                         size_t len)
{
    next(s);
    struct tr_gcm *gcm = start_gcm(s);
    good(tr_gcm_aad(gcm, s->aad, s->aad_len));
    good(tr_gcm_encrypt(gcm, out, in, len));
    return tr_gcm_tag(gcm, out + len, PAIRED_TAG);
}
RUN(gcm_stream_encrypt)
{
    REPEAT(gcm_stream_encrypt(s, out, in, len));
}

static enum tr_status gcm_stream_decrypt(struct state *s, uint8_t *out, const uint8_t *in,
                                         size_t len)
{
    struct tr_gcm *gcm = start_gcm(s);
    good(tr_gcm_aad(gcm, s->aad, s->aad_len));
    good(tr_gcm_decrypt(gcm, out, in, len));
    return tr_gcm_check(gcm, s->tag[0], PAIRED_TAG);
}
RUN(gcm_stream_decrypt)
{
    REPEAT(gcm_stream_decrypt(s, out, in, len));
}

/* Sets a new key for each message. */
static enum tr_status gcm_key_seal(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    good(tr_gcm_set_key(&s->key.gcm, s->backend, s->raw, s->key_len));
    return seal_gcm(s, out, in, len);
}
RUN(gcm_key_seal)
{
    REPEAT(gcm_key_seal(s, out, in, len));
}

RUN(cmac)
{
    REPEAT(tr_cmac_sign(&s->key.cmac, in, len, out, PAIRED_TAG));
}

/* ---- Multi-buffer ---------------------------------------------------------------------------- */

static void streams(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        struct tr_stream *job = &s->jobs.streams[i];
        job->key = &s->key.aes;
        job->iv = s->ivs[i];
        job->out = out + i * len;
        job->in = in + i * len;
        job->len = len;
    }
}

static enum tr_status cbc_many(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    streams(s, out, in, len);
    return tr_cbc_encrypt_many(s->jobs.streams, STREAMS);
}
RUN(cbc_many)
{
    REPEAT(cbc_many(s, out, in, len));
}

static enum tr_status cfb_many(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    /* Sets the IVs again, because the tails of the previous call left partly used blocks there. */
    memset(s->ivs, 0x31, sizeof(s->ivs));
    streams(s, out, in, len);
    return tr_cfb128_encrypt_many(s->jobs.streams, STREAMS);
}
RUN(cfb_many)
{
    REPEAT(cfb_many(s, out, in, len));
}

static enum tr_status cmac_many(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        struct tr_cmac_job *job = &s->jobs.cmac[i];
        job->key = &s->key.cmac;
        job->data = in + i * len;
        job->len = len;
    }
    good(tr_cmac_sign_many(s->jobs.cmac, STREAMS));
    for (unsigned i = 0; i < STREAMS; i++)
        memcpy(out + i * PAIRED_TAG, s->jobs.cmac[i].tag, PAIRED_TAG);
    return TR_OK;
}
RUN(cmac_many)
{
    REPEAT(cmac_many(s, out, in, len));
}

static enum tr_status ccm_many(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        struct tr_ccm_job *job = &s->jobs.ccm[i];
        job->key = &s->key.ccm[0];
        job->nonce = s->ivs[i];
        job->nonce_len = NONCE;
        job->aad = s->aad;
        job->aad_len = s->aad_len;
        job->out = out + i * (len + PAIRED_TAG);
        job->in = in + i * len;
        job->len = len;
        job->tag = job->out + len;
        job->tag_len = PAIRED_TAG;
    }
    return tr_ccm_seal_many(s->jobs.ccm, STREAMS);
}
RUN(ccm_many)
{
    REPEAT(ccm_many(s, out, in, len));
}

#ifdef TR_MANY_MESSAGES
static struct tr_gcm_job *gcm_jobs(struct state *s, uint8_t *out, const uint8_t *in, size_t len)
{
    for (unsigned i = 0; i < STREAMS; i++)
        s->jobs.gcm[i] = (struct tr_gcm_job){
            .key = &s->key.gcm,
            .iv = s->ivs[i],
            .iv_len = NONCE,
            .aad = s->aad,
            .aad_len = s->aad_len,
            .out = out + i * len,
            .in = in + i * len,
            .len = len,
            .tag = s->tag[i],
            .tag_len = PAIRED_TAG,
        };
    return s->jobs.gcm;
}
RUN(gcm_many_seal)
{
    REPEAT(tr_gcm_seal_many(gcm_jobs(s, out, in, len), STREAMS));
}
static void prepare_gcm_many_open(void *memory, const char *backend, size_t key_len, uint8_t *in,
                                  size_t len)
{
    prepare_gcm(memory, backend, key_len, in, len);
    good(tr_gcm_seal_many(gcm_jobs(memory, in, in, len), STREAMS));
}
RUN(gcm_many_open)
{
    REPEAT(tr_gcm_open_many(gcm_jobs(s, out, in, len), STREAMS));
}

static enum tr_status ecb_masks(struct state *s, uint8_t *out, const uint8_t *in)
{
    for (unsigned i = 0; i < STREAMS; i++)
        s->jobs.masks[i] = (struct tr_mask_job){&s->key.aes, in + i * TR_BLOCK, out + i * TR_BLOCK};
    return tr_ecb_masks(s->jobs.masks, STREAMS);
}
RUN(ecb_masks)
{
    (void)len;
    REPEAT(ecb_masks(s, out, in));
}
#endif

/* ---- The exported table ---------------------------------------------------------------------- */

#define AAD_ROWS(title, name)                                                                      \
    {title "-seal-null-aad", 1, false, prepare_##name##_null, run_##name##_seal},                  \
        {title "-seal-empty-aad", 1, false, prepare_##name##_empty, run_##name##_seal},            \
        {title "-seal-byte-aad", 1, false, prepare_##name##_byte, run_##name##_seal},              \
        {title "-open-null-aad", 1, false, prepare_##name##_open_null, run_##name##_open},         \
        {title "-open-empty-aad", 1, false, prepare_##name##_open_empty, run_##name##_open},       \
    {                                                                                              \
        title "-open-byte-aad", 1, false, prepare_##name##_open_byte, run_##name##_open            \
    }

static const struct paired_op ops[] = {
    {"ecb-encrypt", 1, true, prepare_aes, run_ecb_encrypt},
    {"ecb-decrypt", 1, true, prepare_aes, run_ecb_decrypt},
    {"cbc-encrypt", 1, true, prepare_aes, run_cbc_encrypt},
    {"cbc-decrypt", 1, true, prepare_aes, run_cbc_decrypt},
    {"cfb-encrypt", 1, false, prepare_aes, run_cfb_encrypt},
    {"cfb-decrypt", 1, false, prepare_aes, run_cfb_decrypt},
    {"ofb", 1, false, prepare_aes, run_ofb},
    {"ctr", 1, false, prepare_aes, run_ctr},
    {"xts-encrypt", 1, false, prepare_xts, run_xts_encrypt},
    {"xts-decrypt", 1, false, prepare_xts, run_xts_decrypt},
    {"xts-units-encrypt", STREAMS, false, prepare_xts, run_xts_units_encrypt},
    {"xts-units-decrypt", STREAMS, false, prepare_xts, run_xts_units_decrypt},
    {"cbc-cts-encrypt", 1, false, prepare_aes, run_cbc_cts_encrypt},
    {"cbc-cts-decrypt", 1, false, prepare_aes, run_cbc_cts_decrypt},
    {"cfb8-encrypt", 1, false, prepare_aes, run_cfb8_encrypt},
    {"cfb8-decrypt", 1, false, prepare_aes, run_cfb8_decrypt},
    {"kw-wrap", 1, true, prepare_aes, run_kw_wrap},
    {"kwp-unwrap", 1, true, prepare_unwrap, run_kwp_unwrap},
    {"gcm-seal", 1, false, prepare_gcm, run_gcm_seal},
    {"gcm-open", 1, false, prepare_gcm_open, run_gcm_open},
    {"gcm-stream-encrypt", 1, false, prepare_gcm, run_gcm_stream_encrypt},
    {"gcm-stream-decrypt", 1, false, prepare_gcm_open, run_gcm_stream_decrypt},
    {"gcm-key-and-seal", 1, false, prepare_gcm, run_gcm_key_seal},
    {"gcm-salted-seal", 1, false, prepare_gcm, run_gcm_salted_seal},
    {"ccm-seal", 1, false, prepare_ccm, run_ccm_seal},
    {"ccm-open", 1, false, prepare_ccm_open, run_ccm_open},
    {"ocb-seal", 1, false, prepare_ocb, run_ocb_seal},
    {"ocb-open", 1, false, prepare_ocb_open, run_ocb_open},
    {"siv-seal", 1, false, prepare_siv, run_siv_seal},
    {"siv-open", 1, false, prepare_siv_open, run_siv_open},
    {"gcm-siv-seal", 1, false, prepare_gcm_siv, run_gcm_siv_seal},
    {"gcm-siv-open", 1, false, prepare_gcm_siv_open, run_gcm_siv_open},
    AAD_ROWS("gcm", gcm),
    AAD_ROWS("ccm", ccm),
    AAD_ROWS("ocb", ocb),
    AAD_ROWS("gcm-siv", gcm_siv),
    {"cmac", 1, false, prepare_cmac, run_cmac},
    {"cbc-many", STREAMS, true, prepare_aes, run_cbc_many},
    {"cfb-many", STREAMS, false, prepare_aes, run_cfb_many},
    {"cmac-many", STREAMS, false, prepare_cmac, run_cmac_many},
    {"ccm-many", STREAMS, false, prepare_ccm, run_ccm_many},
#ifdef TR_MANY_MESSAGES
    {"gcm-many-seal", STREAMS, false, prepare_gcm, run_gcm_many_seal},
    {"gcm-many-open", STREAMS, false, prepare_gcm_many_open, run_gcm_many_open},
    {"ecb-masks", STREAMS, true, prepare_aes, run_ecb_masks},
#endif
    {"aes-key", 1, false, prepare_aes, run_aes_key},
};

static bool usable(const char *name)
{
    const struct tr_backend *backend = tr_backend_by_name(name);
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    return backend != NULL &&
           (tr_backend_features(backend) & cpu.usable) == tr_backend_features(backend);
}

__attribute__((visibility("default"))) const struct paired_ops paired_ops = {
    sizeof(struct state), sizeof(ops) / sizeof(ops[0]), ops, usable};
