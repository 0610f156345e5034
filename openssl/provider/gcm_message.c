/* SPDX-License-Identifier: BSD-2-Clause */
#include "gcm_message.h"

#include "util.h"

/* If more data follows a one-shot call, repeat_data() processes the data of that call again. This
 * message and the next STREAMS - 1 messages then use streaming calls (gcm_message.h). */
#define STREAMS 8u

void trp_gcm_copied(struct trp_gcm_message *copy, const struct trp_gcm_message *from,
                    const struct tr_gcm_key *key, const uint8_t *iv)
{
    tr_gcm_rebind(&copy->core, key);
    copy->key = key;
    copy->iv = iv;
    if (from->state == TRP_GCM_DONE)
        memcpy(copy->text, from->text, from->text_len);
}

/* Repeats the data of a one-shot call as a streaming call. Decrypts the stored ciphertext even if
 * the message is being encrypted: the streaming state is the same, because GHASH reads only AAD and
 * ciphertext. */
static enum tr_status repeat_data(struct trp_gcm_message *m)
{
    uint8_t text[TRP_GCM_HELD_TEXT];
    const enum tr_status status = tr_gcm_decrypt(&m->core, text, m->text, m->text_len);
    tr_cleanse(text, m->text_len);
    m->streams = STREAMS;
    return status;
}

/* Switches a message to streaming calls. Returns TR_ERR_STATE if no message has started. */
__attribute__((noinline)) enum tr_status trp_gcm_stream(struct trp_gcm_message *m)
{
    const int done = m->state == TRP_GCM_DONE;
    if (m->state == TRP_GCM_STREAMING)
        return TR_OK;
    if (m->state == TRP_GCM_IDLE)
        return TR_ERR_STATE;
    enum tr_status status = tr_gcm_start(&m->core, m->key, m->iv, m->iv_len);
    if (status != TR_OK)
        return status;
    m->state = TRP_GCM_STREAMING;
    if (m->aad_len != 0)
        status = tr_gcm_aad(&m->core, m->aad, m->aad_len);
    return done && status == TR_OK ? repeat_data(m) : status;
}

static inline enum tr_status streaming(struct trp_gcm_message *m)
{
    return m->state == TRP_GCM_STREAMING ? TR_OK : trp_gcm_stream(m);
}

enum tr_status trp_gcm_more_aad(struct trp_gcm_message *m, const uint8_t *in, size_t len)
{
    if (m->state == TRP_GCM_HELD && len <= TRP_GCM_HELD_AAD - m->aad_len) {
        memcpy(m->aad + m->aad_len, in, len);
        m->aad_len += len;
        return TR_OK;
    }
    const enum tr_status status = streaming(m);
    return status == TR_OK ? tr_gcm_aad(&m->core, in, len) : status;
}

/* Whether to treat this update as all of the message's data. */
static inline int is_all(const struct trp_gcm_message *m, size_t len)
{
    return m->state == TRP_GCM_HELD && len <= TRP_GCM_HELD_TEXT && m->streams == 0;
}

static inline void done(struct trp_gcm_message *m, int encrypt, size_t len, size_t tag_len)
{
    m->state = TRP_GCM_DONE;
    m->encrypted = (uint8_t)encrypt;
    m->text_len = len;
    m->tag_len = (uint8_t)tag_len;
}

enum tr_status trp_gcm_encrypt(struct trp_gcm_message *m, uint8_t *out, const uint8_t *in,
                               size_t len)
{
    enum tr_status status;
    if (!is_all(m, len)) {
        status = streaming(m);
        return status == TR_OK ? tr_gcm_encrypt(&m->core, out, in, len) : status;
    }
    status = tr_gcm_seal(m->key, m->iv, TRP_GCM_IV, m->aad, m->aad_len, out, in, len, m->tag,
                         TROSSL_TAG);
    if (status == TR_OK) {
        trp_gcm_keep(m->text, out, len);
        done(m, 1, len, TROSSL_TAG);
    }
    return status;
}

enum tr_status trp_gcm_decrypt(struct trp_gcm_message *m, uint8_t *out, const uint8_t *in,
                               size_t len, const uint8_t *expected, size_t tag_len)
{
    enum tr_status status;
    if (expected == NULL || !is_all(m, len)) {
        status = streaming(m);
        return status == TR_OK ? tr_gcm_decrypt(&m->core, out, in, len) : status;
    }
    trp_gcm_keep(m->text, in, len);
    status =
        tr_gcm_open(m->key, m->iv, TRP_GCM_IV, m->aad, m->aad_len, out, in, len, expected, tag_len);
    if (status == TR_OK) {
        memcpy(m->tag, expected, TROSSL_TAG);
        done(m, 0, len, tag_len);
    } else if (status == TR_ERR_TAG) {
        status = trp_gcm_stream(m);
        if (status == TR_OK)
            status = tr_gcm_decrypt(&m->core, out, m->text, len);
    }
    return status;
}

enum tr_status trp_gcm_stream_tag(struct trp_gcm_message *m, uint8_t *tag)
{
    const enum tr_status status = streaming(m);
    if (status != TR_OK)
        return status;
    m->streams -= m->streams != 0;
    return tr_gcm_tag(&m->core, tag, TROSSL_TAG);
}

enum tr_status trp_gcm_stream_check(struct trp_gcm_message *m, const uint8_t *tag, size_t tag_len)
{
    if (m->state == TRP_GCM_DONE && !m->encrypted && tag_len == m->tag_len &&
        TR_PUBLIC(tr_equal(m->tag, tag, tag_len)))
        return TR_OK;
    const enum tr_status status = streaming(m);
    if (status != TR_OK)
        return status;
    m->streams -= m->streams != 0;
    return tr_gcm_check(&m->core, tag, tag_len);
}
