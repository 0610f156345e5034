/* SPDX-License-Identifier: BSD-2-Clause */
/* The PKCS#11 module as a host of the soak test: calls its exported functions. The environment
 * variable TENROUNDS_PKCS11 is the path of the module. */
#define _GNU_SOURCE
#include "soak.h"

#include <dlfcn.h>

/* Declarations of Cryptoki's header (PKCS#11 2.40), repeated here because Debian has no package of
 * the header alone. */
typedef unsigned long ulong_t;
struct attribute {
    ulong_t type;
    const void *value;
    ulong_t len;
};
struct mechanism {
    ulong_t type;
    const void *parameter;
    ulong_t len;
};
struct ctr_params {
    ulong_t bits;
    uint8_t counter[16];
};
struct gcm_params {
    const uint8_t *iv;
    ulong_t iv_len, iv_bits;
    const uint8_t *aad;
    ulong_t aad_len, tag_bits;
};
enum { CLASS = 0, VALUE = 0x11, KEY_TYPE = 0x100, SECRET_KEY = 4, AES = 0x1f, SERIAL = 4 };
static const ulong_t mechanisms[MODES] = {0x1081, 0x1082, 0x2107, 0x2104, 0x1086, 0x1087};

static struct {
    ulong_t (*initialize)(void *);
    ulong_t (*open)(ulong_t, ulong_t, void *, void *, ulong_t *);
    ulong_t (*close)(ulong_t);
    ulong_t (*create)(ulong_t, struct attribute *, ulong_t, ulong_t *);
    ulong_t (*destroy)(ulong_t, ulong_t);
    struct {
        ulong_t (*init)(ulong_t, struct mechanism *, ulong_t);
        ulong_t (*update)(ulong_t, const uint8_t *, ulong_t, uint8_t *, ulong_t *);
        ulong_t (*final)(ulong_t, uint8_t *, ulong_t *);
    } way[2]; /* decrypt, encrypt */
} p11;

static void find(void *module, void *function, const char *name)
{
    *(void **)function = module == NULL ? NULL : dlsym(module, name);
    if (*(void **)function != NULL)
        return;
    fprintf(stderr, "TENROUNDS_PKCS11 is no PKCS#11 module: no %s\n", name);
    exit(2);
}

static void open_module(void)
{
    soak_count();
    const char *const path = getenv("TENROUNDS_PKCS11");
    void *const module = path == NULL ? NULL : dlopen(path, RTLD_NOW);
    find(module, &p11.initialize, "C_Initialize");
    find(module, &p11.open, "C_OpenSession");
    find(module, &p11.close, "C_CloseSession");
    find(module, &p11.create, "C_CreateObject");
    find(module, &p11.destroy, "C_DestroyObject");
    find(module, &p11.way[0].init, "C_DecryptInit");
    find(module, &p11.way[0].update, "C_DecryptUpdate");
    find(module, &p11.way[0].final, "C_DecryptFinal");
    find(module, &p11.way[1].init, "C_EncryptInit");
    find(module, &p11.way[1].update, "C_EncryptUpdate");
    find(module, &p11.way[1].final, "C_EncryptFinal");
    if (p11.initialize(NULL) != 0)
        exit(2);
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

const struct soak_host soak_pkcs11 = {"pkcs11", open_module, crypt_module, NULL, counters};
