/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of a dynamic engine, ENGINE_by_id(3), for OpenSSL 1.1.1 and 3.x. The same module
 * serves both versions, because it is not linked with libcrypto. The module looks up the functions
 * of the libcrypto that loads the module. */
#include "mode.h"
#include "selection.h"

#include <openssl/obj_mac.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ID "tenrounds"

/* ---- The ciphers ---------------------------------------------------------------------------- */

static const struct {
    int nid, key_len;
    const struct tre_mode *mode;
} ciphers[] = {
    {NID_aes_128_ecb, 16, &tre_ecb},    {NID_aes_192_ecb, 24, &tre_ecb},
    {NID_aes_256_ecb, 32, &tre_ecb},    {NID_aes_128_cbc, 16, &tre_cbc},
    {NID_aes_192_cbc, 24, &tre_cbc},    {NID_aes_256_cbc, 32, &tre_cbc},
    {NID_aes_128_cfb128, 16, &tre_cfb}, {NID_aes_192_cfb128, 24, &tre_cfb},
    {NID_aes_256_cfb128, 32, &tre_cfb}, {NID_aes_128_ofb128, 16, &tre_ofb},
    {NID_aes_192_ofb128, 24, &tre_ofb}, {NID_aes_256_ofb128, 32, &tre_ofb},
    {NID_aes_128_ctr, 16, &tre_ctr},    {NID_aes_192_ctr, 24, &tre_ctr},
    {NID_aes_256_ctr, 32, &tre_ctr},    {NID_aes_128_gcm, 16, &tre_gcm},
    {NID_aes_192_gcm, 24, &tre_gcm},    {NID_aes_256_gcm, 32, &tre_gcm},
    {NID_aes_128_ccm, 16, &tre_ccm},    {NID_aes_192_ccm, 24, &tre_ccm},
    {NID_aes_256_ccm, 32, &tre_ccm},    {NID_aes_128_xts, 32, &tre_xts},
    {NID_aes_256_xts, 64, &tre_xts},
};
#define CIPHERS (sizeof(ciphers) / sizeof(ciphers[0]))

/* ---- State that all engines of the process share -------------------------------------------- */

/* libcrypto can bind the engine several times, through openssl.cnf and by name. The last destroy()
 * frees this state. */
static struct {
    pthread_mutex_t lock;
    unsigned engines;
    const void *libcrypto; /* an address in the libcrypto that has bound the engine */
    struct trossl_selection selection;
    const struct tr_backend *backend; /* for tre_backend() */
    char name[3 * TROSSL_TEXT];
    int nids[CIPHERS];
    EVP_CIPHER *made[CIPHERS];
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

const struct tr_backend *tre_backend(void)
{
    return shared.backend;
}

/* Describes the selection in the engine's name, because `openssl engine` shows nothing else. The
 * name is constant, so all known-answer tests run before. Returns 0 if every backend fails. */
static int engine_describe(void)
{
    const struct trossl_selection *s = &shared.selection;
    char passed_over[TROSSL_TEXT];
    const struct tr_backend *backend = trossl_selection_test(s, passed_over);
    if (backend == NULL)
        return 0;
    const int aes = (tr_backend_features(backend) & TR_FEATURE_AES) != 0;
    const int failed = strcmp(passed_over, "none") != 0;
    const char *const error = s->choice.mask_error;
    const int bad_mask = strcmp(error, "none") != 0;
    snprintf(shared.name, sizeof(shared.name), "tenrounds AES engine (%s%s%s%s%s)",
             aes ? tr_backend_name(backend) : "no AES instructions: constant-time software",
             failed ? "; passed over: " : "", failed ? passed_over : "",
             bad_mask ? "; error: " : "", bad_mask ? error : "");
    shared.backend = trossl_backend(s, TR_TESTS_ALL, 32);
    return 1;
}

static EVP_CIPHER *engine_make(int nid, int key_len, const struct tre_mode *mode)
{
    EVP_CIPHER *cipher = tre_evp.meth_new(nid, mode->block_size, key_len);
    if (cipher != NULL && tre_evp.meth_set_iv_length(cipher, mode->iv_len) &&
        tre_evp.meth_set_flags(cipher, mode->flags) &&
        tre_evp.meth_set_size(cipher, (int)mode->context_size) &&
        tre_evp.meth_set_init(cipher, mode->init) && tre_evp.meth_set_crypt(cipher, mode->crypt) &&
        tre_evp.meth_set_cleanup(cipher, mode->cleanup) &&
        tre_evp.meth_set_ctrl(cipher, mode->ctrl))
        return cipher;
    tre_evp.meth_free(cipher);
    return NULL;
}

static void engine_end(void)
{
    for (size_t i = 0; i < CIPHERS; i++) {
        tre_evp.meth_free(shared.made[i]);
        shared.made[i] = NULL;
    }
    trossl_selection_end(&shared.selection);
}

/* Sets up the shared state for the first engine. Draws no random numbers, because the generator of
 * OpenSSL 1.1.1 may be waiting for AES from this engine. */
static int engine_begin(const void *libcrypto)
{
    if (!tre_evp_find(libcrypto))
        return 0;
    trossl_selection_begin(&shared.selection, TROSSL_HOST_ENGINE);
    if (!engine_describe()) {
        trossl_selection_end(&shared.selection);
        return 0;
    }
    shared.libcrypto = libcrypto;
    for (size_t i = 0; i < CIPHERS; i++) {
        shared.nids[i] = ciphers[i].nid;
        shared.made[i] = engine_make(ciphers[i].nid, ciphers[i].key_len, ciphers[i].mode);
        if (shared.made[i] == NULL) {
            engine_end();
            return 0;
        }
    }
    return 1;
}

/* Adds an engine. Returns 0 for a second libcrypto of the process, because tre_evp points to the
 * functions of the first. */
static int engine_join(const void *libcrypto)
{
    pthread_mutex_lock(&shared.lock);
    const int joined = shared.engines > 0 ? shared.libcrypto == libcrypto : engine_begin(libcrypto);
    shared.engines += (unsigned)joined;
    pthread_mutex_unlock(&shared.lock);
    return joined;
}

/* Removes an engine. No key is in use at this point, because each cipher context holds a reference
 * to its engine. */
static int engine_leave(ENGINE *e)
{
    pthread_mutex_lock(&shared.lock);
    if (--shared.engines == 0)
        engine_end();
    pthread_mutex_unlock(&shared.lock);
    return 1;
}

/* ---- One engine ----------------------------------------------------------------------------- */

/* Stores the cipher of this `nid`, or the list of all nids if `cipher` is NULL. */
static int engine_give(ENGINE *e, const EVP_CIPHER **cipher, const int **nids, int nid)
{
    if (cipher == NULL) {
        *nids = shared.nids;
        return (int)CIPHERS;
    }
    *cipher = NULL;
    for (size_t i = 0; i < CIPHERS; i++) {
        if (shared.nids[i] == nid)
            *cipher = shared.made[i];
    }
    return *cipher != NULL;
}

unsigned long v_check(unsigned long version);
__attribute__((visibility("default"))) unsigned long v_check(unsigned long version)
{
    return version >= OSSL_DYNAMIC_OLDEST ? OSSL_DYNAMIC_VERSION : 0;
}

int bind_engine(ENGINE *e, const char *id, const dynamic_fns *functions);
__attribute__((visibility("default"))) int bind_engine(ENGINE *e, const char *id,
                                                       const dynamic_fns *functions)
{
    if ((id != NULL && strcmp(id, ID) != 0) || !engine_join(functions->static_state))
        return 0;
    if (tre_evp.engine_set_id(e, ID) && tre_evp.engine_set_name(e, shared.name) &&
        tre_evp.engine_set_ciphers(e, engine_give) && tre_evp.engine_set_destroy(e, engine_leave))
        return 1;
    engine_leave(e);
    return 0;
}
