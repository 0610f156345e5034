/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The core's one-shot calls behind one interface, one row for each mode, so that the tool measures
 * all modes alike.
 */
#include "tenrounds.h"

#include <stdlib.h>
#include <string.h>

enum { NONCE = 12, TAG = 16 };

/* A message: nonce or tweak, additional data, input, output, and the tag. */
struct message {
    const uint8_t *nonce, *aad;
    size_t aad_len;
    uint8_t *out;
    const uint8_t *in;
    size_t len;
    uint8_t *tag;
};

typedef enum tr_status (*key_fn)(void *key, const struct tr_backend *backend, const uint8_t *raw,
                                 size_t key_len);
typedef enum tr_status (*message_fn)(const void *key, const struct message *m);

#define KEY_FN(mode)                                                                               \
    static enum tr_status mode##_key(void *key, const struct tr_backend *backend,                  \
                                     const uint8_t *raw, size_t key_len)                           \
    {                                                                                              \
        return tr_##mode##_set_key(key, backend, raw, key_len);                                    \
    }
/* Defines a function of that name that makes this call. */
#define MESSAGE_FN(name, call)                                                                     \
    static enum tr_status name(const void *key, const struct message *m)                           \
    {                                                                                              \
        return call;                                                                               \
    }
#define WITH_NONCE(call)                                                                           \
    call(key, m->nonce, NONCE, m->aad, m->aad_len, m->out, m->in, m->len, m->tag, TAG)

KEY_FN(gcm)
MESSAGE_FN(gcm_seal, WITH_NONCE(tr_gcm_seal))
MESSAGE_FN(gcm_open, WITH_NONCE(tr_gcm_open))
KEY_FN(ccm)
MESSAGE_FN(ccm_seal, WITH_NONCE(tr_ccm_seal))
MESSAGE_FN(ccm_open, WITH_NONCE(tr_ccm_open))
KEY_FN(ocb)
MESSAGE_FN(ocb_seal, WITH_NONCE(tr_ocb_seal))
MESSAGE_FN(ocb_open, WITH_NONCE(tr_ocb_open))
KEY_FN(gcm_siv)
MESSAGE_FN(gcm_siv_seal,
           tr_gcm_siv_seal(key, m->nonce, m->aad, m->aad_len, m->out, m->in, m->len, m->tag))
MESSAGE_FN(gcm_siv_open,
           tr_gcm_siv_open(key, m->nonce, m->aad, m->aad_len, m->out, m->in, m->len, m->tag))
KEY_FN(siv)
MESSAGE_FN(siv_seal, tr_siv_seal(key, m->aad, m->aad_len, m->out, m->in, m->len, m->tag))
MESSAGE_FN(siv_open, tr_siv_open(key, m->aad, m->aad_len, m->out, m->in, m->len, m->tag))
KEY_FN(xts)
MESSAGE_FN(xts_seal, tr_xts_encrypt(key, m->nonce, m->out, m->in, m->len))
MESSAGE_FN(xts_open, tr_xts_decrypt(key, m->nonce, m->out, m->in, m->len))
KEY_FN(cmac)
MESSAGE_FN(cmac_seal, tr_cmac_sign(key, m->in, m->len, m->tag, TAG))

static const struct row {
    const char *mode; /* as the tool names it */
    size_t size;      /* of the key object */
    key_fn key;
    message_fn seal, open; /* a MAC has no open */
} rows[] = {
    {"gcm", sizeof(struct tr_gcm_key), gcm_key, gcm_seal, gcm_open},
    {"ccm", sizeof(struct tr_ccm_key), ccm_key, ccm_seal, ccm_open},
    {"ocb", sizeof(struct tr_ocb_key), ocb_key, ocb_seal, ocb_open},
    {"gcm-siv", sizeof(struct tr_gcm_siv_key), gcm_siv_key, gcm_siv_seal, gcm_siv_open},
    {"siv", sizeof(struct tr_siv_key), siv_key, siv_seal, siv_open},
    {"xts", sizeof(struct tr_xts_key), xts_key, xts_seal, xts_open},
    {"cmac", sizeof(struct tr_cmac_key), cmac_key, cmac_seal, NULL},
};

struct shim_messages {
    const struct row *row;
    void *key;
};

struct shim_messages *shim_messages_new(const char *mode);
int shim_messages_key(struct shim_messages *messages, const struct tr_backend *backend,
                      const uint8_t *raw, size_t key_len);
int shim_messages_seal(struct shim_messages *messages, const struct message *m);
int shim_messages_open(struct shim_messages *messages, const struct message *m);
void shim_messages_free(struct shim_messages *messages);

/* Allocates the objects for a mode; NULL if the mode has no row or memory runs out. */
struct shim_messages *shim_messages_new(const char *mode)
{
    const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(rows[0]);
    while (row != end && strcmp(row->mode, mode) != 0)
        row++;
    struct shim_messages *messages = row != end ? calloc(1, sizeof(*messages)) : NULL;
    if (messages == NULL)
        return NULL;
    messages->row = row;
    messages->key = aligned_alloc(64, (row->size + 63) / 64 * 64);
    if (messages->key == NULL) {
        free(messages);
        return NULL;
    }
    return messages;
}

int shim_messages_key(struct shim_messages *messages, const struct tr_backend *backend,
                      const uint8_t *raw, size_t key_len)
{
    return messages->row->key(messages->key, backend, raw, key_len);
}

int shim_messages_seal(struct shim_messages *messages, const struct message *m)
{
    return messages->row->seal(messages->key, m);
}

int shim_messages_open(struct shim_messages *messages, const struct message *m)
{
    return messages->row->open != NULL ? messages->row->open(messages->key, m) : TR_ERR_MODE;
}

void shim_messages_free(struct shim_messages *messages)
{
    tr_cleanse(messages->key, messages->row->size);
    free(messages->key);
    free(messages);
}
