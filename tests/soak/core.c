/* SPDX-License-Identifier: BSD-2-Clause */
/* The core as a host of the soak test: calls its functions directly. */
#include "soak.h"
#include "tenrounds.h"

static struct tr_counting counting;
static struct tr_counters core_counters;
static const struct tr_backend *backend;

static void open_core(void)
{
    struct tr_selection selection;
    if (tr_select(getenv("TENROUNDS_MASK"), 0, &selection) != TR_OK)
        exit(2);
    backend = tr_counting_init(&counting, selection.backend, &core_counters);
}

static bool gcm(const struct soak_case *c, struct soak_message *m)
{
    struct tr_gcm_key key;
    struct tr_gcm gcm;
    enum tr_status (*const update)(struct tr_gcm *, uint8_t *, const uint8_t *, size_t) =
        c->encrypt ? tr_gcm_encrypt : tr_gcm_decrypt;
    return tr_gcm_set_key(&key, backend, m->key, c->key_len) == TR_OK &&
           tr_gcm_start(&gcm, &key, m->iv, 12) == TR_OK &&
           tr_gcm_aad(&gcm, m->aad, sizeof(m->aad)) == TR_OK &&
           update(&gcm, m->out, m->in, c->first) == TR_OK &&
           update(&gcm, m->out + c->first, m->in + c->first, c->len - c->first) == TR_OK &&
           (c->encrypt ? tr_gcm_tag(&gcm, m->tag, TAG) : tr_gcm_check(&gcm, m->tag, TAG)) == TR_OK;
}

static bool crypt_core(unsigned thread, const struct soak_case *c, struct soak_message *m)
{
    struct tr_aes_key key;
    uint8_t iv[16], stream[16];
    unsigned used = 0;
    enum tr_status status = TR_OK;
    (void)thread;
    if (c->mode == GCM)
        return gcm(c, m);
    memcpy(iv, m->iv, sizeof(iv));
    if (tr_aes_set_key(&key, backend, m->key, c->key_len) != TR_OK)
        return false;
    for (size_t at = 0, n = c->first; status == TR_OK && at < c->len; at += n, n = c->len - at) {
        uint8_t *const out = m->out + at;
        const uint8_t *const in = m->in + at;
        switch (c->mode) {
        case ECB:
            status = (c->encrypt ? tr_ecb_encrypt : tr_ecb_decrypt)(&key, out, in, n);
            break;
        case CBC:
            status = (c->encrypt ? tr_cbc_encrypt : tr_cbc_decrypt)(&key, iv, out, in, n);
            break;
        case CFB:
            status =
                (c->encrypt ? tr_cfb128_encrypt : tr_cfb128_decrypt)(&key, iv, &used, out, in, n);
            break;
        case OFB:
            status = tr_ofb(&key, iv, &used, out, in, n);
            break;
        default:
            status = tr_ctr(&key, iv, stream, &used, out, in, n);
        }
    }
    return status == TR_OK;
}

static const struct tr_counters *counters(void)
{
    return &core_counters;
}

const struct soak_host soak_core = {"core", open_core, crypt_core, NULL, counters, 0};
