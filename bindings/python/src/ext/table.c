/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of authenticated modes: the core's calls, with one type for all. */
#include "aead.h"

#define SET_KEY(name)                                                                              \
    static enum tr_status name##_set_key(void *key, const uint8_t *raw, size_t len)                \
    {                                                                                              \
        return tr_##name##_set_key(key, NULL, raw, len);                                           \
    }

/* Calls with a nonce and a tag of some lengths. */
#define CALLS(name)                                                                                \
    SET_KEY(name)                                                                                  \
    static enum tr_status name##_seal(const void *key, const uint8_t *nonce, size_t nonce_len,     \
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,            \
                                      const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len) \
    {                                                                                              \
        return tr_##name##_seal(key, nonce, nonce_len, aad, aad_len, out, in, len, tag, tag_len);  \
    }                                                                                              \
    static enum tr_status name##_open(const void *key, const uint8_t *nonce, size_t nonce_len,     \
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,            \
                                      const uint8_t *in, size_t len, const uint8_t *tag,           \
                                      size_t tag_len)                                              \
    {                                                                                              \
        return tr_##name##_open(key, nonce, nonce_len, aad, aad_len, out, in, len, tag, tag_len);  \
    }

CALLS(gcm)
CALLS(ccm)
CALLS(ocb)
SET_KEY(gcm_siv)
SET_KEY(siv)

static enum tr_status gcm_siv_seal(const void *key, const uint8_t *nonce, size_t nonce_len,
                                   const uint8_t *aad, size_t aad_len, uint8_t *out,
                                   const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len)
{
    (void)nonce_len;
    (void)tag_len;
    return tr_gcm_siv_seal(key, nonce, aad, aad_len, out, in, len, tag);
}
static enum tr_status gcm_siv_open(const void *key, const uint8_t *nonce, size_t nonce_len,
                                   const uint8_t *aad, size_t aad_len, uint8_t *out,
                                   const uint8_t *in, size_t len, const uint8_t *tag,
                                   size_t tag_len)
{
    (void)nonce_len;
    (void)tag_len;
    return tr_gcm_siv_open(key, nonce, aad, aad_len, out, in, len, tag);
}

/* Many messages, one after the other. */
#define LOOP(name)                                                                                 \
    static enum tr_status name##_seal_many(const void *key, struct tr_gcm_job *jobs, size_t count) \
    {                                                                                              \
        enum tr_status result = TR_OK;                                                             \
        for (struct tr_gcm_job *j = jobs; j < jobs + count && result == TR_OK; j++)                \
            result = name##_seal(key, j->iv, j->iv_len, j->aad, j->aad_len, j->out, j->in, j->len, \
                                 j->tag, j->tag_len);                                              \
        return result;                                                                             \
    }                                                                                              \
    static enum tr_status name##_open_many(const void *key, struct tr_gcm_job *jobs, size_t count) \
    {                                                                                              \
        enum tr_status result = TR_OK;                                                             \
        for (struct tr_gcm_job *j = jobs; j < jobs + count; j++) {                                 \
            j->status = name##_open(key, j->iv, j->iv_len, j->aad, j->aad_len, j->out, j->in,      \
                                    j->len, j->tag, j->tag_len);                                   \
            if (j->status != TR_OK)                                                                \
                result = j->status;                                                                \
        }                                                                                          \
        return result;                                                                             \
    }

LOOP(gcm_siv)
LOOP(ocb)

/* CCM is serial: its calls for many messages interleave these. */
enum { CCM_JOBS = 32 };
static enum tr_status ccm_many(enum tr_status (*call)(struct tr_ccm_job *, size_t), const void *key,
                               struct tr_gcm_job *jobs, size_t count)
{
    struct tr_ccm_job ccm[CCM_JOBS];
    enum tr_status result = TR_OK;

    for (size_t done = 0, part; done < count; done += part) {
        part = count - done < CCM_JOBS ? count - done : CCM_JOBS;
        for (size_t i = 0; i < part; i++) {
            const struct tr_gcm_job *job = &jobs[done + i];
            ccm[i] = (struct tr_ccm_job){
                .key = key,
                .nonce = job->iv,
                .nonce_len = job->iv_len,
                .aad = job->aad,
                .aad_len = job->aad_len,
                .out = job->out,
                .in = job->in,
                .len = job->len,
                .tag = job->tag,
                .tag_len = job->tag_len,
            };
        }
        enum tr_status status = call(ccm, part);
        for (size_t i = 0; i < part; i++)
            jobs[done + i].status = ccm[i].status;
        result = status == TR_OK ? result : status;
        if (status != TR_OK && status != TR_ERR_TAG)
            break;
    }
    tr_cleanse(ccm, sizeof ccm);
    return result;
}
static enum tr_status ccm_seal_many(const void *key, struct tr_gcm_job *jobs, size_t count)
{
    return ccm_many(tr_ccm_seal_many, key, jobs, count);
}
static enum tr_status ccm_open_many(const void *key, struct tr_gcm_job *jobs, size_t count)
{
    return ccm_many(tr_ccm_open_many, key, jobs, count);
}

static enum tr_status gcm_many(enum tr_status (*call)(struct tr_gcm_job *, size_t), const void *key,
                               struct tr_gcm_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        jobs[i].key = key;
    return call(jobs, count);
}
static enum tr_status gcm_seal_many(const void *key, struct tr_gcm_job *jobs, size_t count)
{
    return gcm_many(tr_gcm_seal_many, key, jobs, count);
}
static enum tr_status gcm_open_many(const void *key, struct tr_gcm_job *jobs, size_t count)
{
    return gcm_many(tr_gcm_open_many, key, jobs, count);
}

#define NONCE_MODE(name)                                                                           \
    .set_key = name##_set_key, .seal = name##_seal, .open = name##_open,                           \
    .seal_many = name##_seal_many, .open_many = name##_open_many, .key_unit = 8,                   \
    .bits_error = "bit_length must be 128, 192, or 256"

/* Lengths and texts as in cryptography. */
const struct mode mode_gcm = {
    NONCE_MODE(gcm), .name = "AESGCM", .key_error = "AESGCM key must be 128, 192, or 256 bits.",
    .nonce_min = 8,  .nonce_max = 128, .nonce_error = "Nonce must be between 8 and 128 bytes",
};
const struct mode mode_gcm_siv = {
    NONCE_MODE(gcm_siv),
    .name = "AESGCMSIV",
    .key_error = "AES-GCM-SIV key must be 128, 192 or 256 bits.",
    .nonce_min = 12,
    .nonce_max = 12,
    .nonce_error = "Nonce must be 12 bytes long",
};
const struct mode mode_ccm = {
    NONCE_MODE(ccm), .name = "AESCCM", .key_error = "AESCCM key must be 128, 192, or 256 bits.",
    .nonce_min = 7,  .nonce_max = 13,  .nonce_error = "Nonce must be between 7 and 13 bytes",
};
const struct mode mode_ocb = {
    NONCE_MODE(ocb), .name = "AESOCB3", .key_error = "AESOCB3 key must be 128, 192, or 256 bits.",
    .nonce_min = 12, .nonce_max = 15,   .nonce_error = "Nonce must be between 12 and 15 bytes",
};
const struct mode mode_siv = {
    .name = "AESSIV",
    .key_error = "AESSIV key must be 256, 384, or 512 bits.",
    .bits_error = "bit_length must be 256, 384, or 512",
    .key_unit = 16,
    .set_key = siv_set_key,
};
