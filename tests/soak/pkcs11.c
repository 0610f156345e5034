/* SPDX-License-Identifier: BSD-2-Clause */
/* The PKCS#11 module as a host of the soak test: calls its exported functions. The environment
 * variable TENROUNDS_PKCS11 is the path of the module. */
#define _GNU_SOURCE
#include "soak.h"

#include "cryptoki.h"

static const ulong_t mechanisms[MODES] = {0x1081, 0x1082, 0x2107, 0x2104, 0x1086, 0x1087};

static struct cryptoki p11;

static void open_module(void)
{
    soak_count();
    cryptoki_load(&p11);
}

/* Processes the message in a session, with a key. With GCM, the tag follows the ciphertext. */
static bool message(ulong_t session, ulong_t key, const struct soak_case *c, struct soak_message *m)
{
    static _Thread_local uint8_t out[MAX_DATA + 64];
    struct ctr_params ctr = {128, {0}};
    struct gcm_params gcm = {m->iv, 12, 96, m->aad, sizeof(m->aad), 8 * TAG};
    struct mechanism mechanism = {mechanisms[c->mode], m->iv, c->mode == ECB ? 0 : 16};
    ulong_t first = sizeof(out), rest = sizeof(out), tag = sizeof(out), end = sizeof(out);
    const bool opens = c->mode == GCM && !c->encrypt;
    memcpy(ctr.counter, m->iv, 16);
    if (c->mode == CTR)
        mechanism = (struct mechanism){mechanisms[CTR], &ctr, sizeof(ctr)};
    if (c->mode == GCM)
        mechanism = (struct mechanism){mechanisms[GCM], &gcm, sizeof(gcm)};
    if (p11.way[c->encrypt].init(session, &mechanism, key) != 0 ||
        p11.way[c->encrypt].update(session, m->in, c->first, out, &first) != 0)
        return false;
    rest -= first;
    if (p11.way[c->encrypt].update(session, m->in + c->first, c->len - c->first, out + first,
                                   &rest) != 0)
        return false;
    tag = opens ? 0 : tag;
    if (opens && p11.way[0].update(session, m->tag, TAG, out, &tag) != 0)
        return false;
    end -= first + rest;
    if (p11.way[c->encrypt].final(session, out + first + rest, &end) != 0 ||
        first + rest + end != c->len + (c->mode == GCM && c->encrypt ? TAG : 0))
        return false;
    memcpy(m->out, out, c->len);
    if (c->mode == GCM && c->encrypt)
        memcpy(m->tag, out + c->len, TAG);
    return true;
}

/* Processes a message with a session and a key object of its own. */
static bool crypt_module(unsigned thread, const struct soak_case *c, struct soak_message *m)
{
    const ulong_t class = SECRET_KEY, type = AES;
    struct attribute template[] = {{CLASS, &class, sizeof(class)},
                                   {KEY_TYPE, &type, sizeof(type)},
                                   {VALUE, m->key, c->key_len}};
    ulong_t session, key;
    (void)thread;
    if (p11.open(0, SERIAL, NULL, NULL, &session) != 0)
        return false;
    const bool good = p11.create(session, template, 3, &key) == 0 && message(session, key, c, m) &&
                      p11.destroy(session, key) == 0;
    return p11.close(session) == 0 && good;
}

static const struct tr_counters *counters(void)
{
    return soak_counters(TROSSL_HOST_PKCS11);
}

const struct soak_host soak_pkcs11 = {"pkcs11", open_module, crypt_module, NULL, counters, 0};
