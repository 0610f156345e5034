/* SPDX-License-Identifier: BSD-2-Clause */
/* The two hosts of the soak test that EVP calls: the provider and the engine. Also the default
 * provider, with which all hosts are compared. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "soak.h"

#include "../openssl/sides.h"

#ifdef TENROUNDS_HAS_ENGINES
#    include <openssl/engine.h>
#else
typedef void ENGINE;
#endif

static const char *const mode_names[MODES] = {"ECB", "CBC", "CFB", "OFB", "CTR", "GCM"};

/* The ciphers of a provider, or those of an engine. */
struct ciphers {
    ENGINE *engine;
    const EVP_CIPHER *cipher[MODES][3];
};
static struct ciphers reference, of_host;

static void fetch(struct ciphers *ciphers, const struct evp_side *side)
{
    for (unsigned mode = 0; mode < MODES; mode++) {
        for (unsigned bits = 0; bits < 3; bits++) {
            char name[16];
            snprintf(name, sizeof(name), "AES-%u-%s", evp_key_bits[bits], mode_names[mode]);
            ciphers->cipher[mode][bits] = evp_fetch(side, name);
        }
    }
}

static bool set_tag(EVP_CIPHER_CTX *ctx, const struct soak_case *c, struct soak_message *m)
{
    return c->mode != GCM || c->encrypt ||
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, m->tag) > 0;
}

static bool get_tag(EVP_CIPHER_CTX *ctx, const struct soak_case *c, struct soak_message *m)
{
    return c->mode != GCM || !c->encrypt ||
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, m->tag) > 0;
}

/* Processes a message. Copies the context in the middle of the message, and ends the message in the
 * copy. */
static bool crypt_with(const struct ciphers *ciphers, const struct soak_case *c,
                       struct soak_message *m)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    int first = 0, rest = 0, end = 0;
    const bool good =
        EVP_CipherInit_ex(ctx, ciphers->cipher[c->mode][c->key_len / 8 - 2], ciphers->engine,
                          m->key, m->iv, c->encrypt) > 0 &&
        EVP_CIPHER_CTX_set_padding(ctx, 0) > 0 && set_tag(ctx, c, m) &&
        (c->mode != GCM || EVP_CipherUpdate(ctx, NULL, &end, m->aad, sizeof(m->aad)) > 0) &&
        EVP_CipherUpdate(ctx, m->out, &first, m->in, (int)c->first) > 0 &&
        EVP_CIPHER_CTX_copy(copy, ctx) > 0 &&
        EVP_CipherUpdate(copy, m->out + first, &rest, m->in + c->first, (int)(c->len - c->first)) >
            0 &&
        EVP_CipherFinal_ex(copy, m->out + first + rest, &end) > 0 && get_tag(copy, c, m);
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good && (size_t)(first + rest + end) == c->len;
}

void soak_open_reference(void)
{
    const struct evp_side side = evp_open("default");
    fetch(&reference, &side);
}

bool soak_reference(const struct soak_case *c, struct soak_message *m)
{
    return crypt_with(&reference, c, m);
}

static bool crypt_host(unsigned thread, const struct soak_case *c, struct soak_message *m)
{
    (void)thread;
    return crypt_with(&of_host, c, m);
}

/* ---- The provider --------------------------------------------------------------------------- */

static void open_provider(void)
{
    soak_count();
    const struct evp_side side = evp_open("tenrounds");
    fetch(&of_host, &side);
}

/* Loads the provider into another library context and unloads it. */
static bool load_again(void)
{
    struct evp_side side = evp_open("tenrounds");
    EVP_CIPHER_free(evp_fetch(&side, "AES-128-GCM"));
    evp_close(&side);
    return true;
}

static const struct tr_counters *provider_counters(void)
{
    return soak_counters(TROSSL_HOST_PROVIDER);
}

const struct soak_host soak_provider = {"provider", open_provider,     crypt_host,
                                        load_again, provider_counters, 0};

/* ---- The engine ----------------------------------------------------------------------------- */

#ifdef TENROUNDS_HAS_ENGINES
static void open_engine(void)
{
    soak_count();
    of_host.engine = ENGINE_by_id("tenrounds");
    if (of_host.engine == NULL || !ENGINE_init(of_host.engine)) {
        fprintf(stderr, "cannot load the engine\n");
        exit(2);
    }
    for (unsigned mode = 0; mode < MODES; mode++) {
        for (unsigned bits = 0; bits < 3; bits++) {
            char name[16];
            snprintf(name, sizeof(name), "AES-%u-%s", evp_key_bits[bits], mode_names[mode]);
            of_host.cipher[mode][bits] = EVP_get_cipherbyname(name);
        }
    }
}

static const struct tr_counters *engine_counters(void)
{
    return soak_counters(TROSSL_HOST_ENGINE);
}

const struct soak_host soak_engine = {"engine", open_engine, crypt_host, NULL, engine_counters, 0};
#endif
