/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes each allocation of a scenario fail in turn, in the engine and in libcrypto. The scenarios
 * are the load of the engine, messages of every cipher, and TLS records of AES-128-GCM. Also calls
 * longjmp() inside the engine's allocation of a long IV. The expected results come from libcrypto's
 * ciphers.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "failing_memory.h"

#include <openssl/engine.h>
#include <openssl/evp.h>

#define DATA 240
#define TAG  16

/* Whether a call succeeded. EVP_CTRL_AEAD_TLS1_AAD returns more than 1. */
#define GOOD(call) ((call) > 0)

static const int nids[] = {
    NID_aes_128_ecb,    NID_aes_192_ecb,    NID_aes_256_ecb,    NID_aes_128_cbc,
    NID_aes_192_cbc,    NID_aes_256_cbc,    NID_aes_128_cfb128, NID_aes_192_cfb128,
    NID_aes_256_cfb128, NID_aes_128_ofb128, NID_aes_192_ofb128, NID_aes_256_ofb128,
    NID_aes_128_ctr,    NID_aes_192_ctr,    NID_aes_256_ctr,    NID_aes_128_gcm,
    NID_aes_192_gcm,    NID_aes_256_gcm,    NID_aes_128_ccm,    NID_aes_192_ccm,
    NID_aes_256_ccm,    NID_aes_128_xts,    NID_aes_256_xts};
#define CIPHERS (sizeof(nids) / sizeof(nids[0]))

static uint8_t key[64], iv[32], data[DATA];

struct algorithm {
    ENGINE *engine; /* NULL: libcrypto's cipher */
    int nid;
};

/* ---- Messages ------------------------------------------------------------------------------- */

static bool set_tag(EVP_CIPHER_CTX *ctx, void *tag)
{
    return GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag));
}

/* Sets the key, the IV (32 bytes in GCM), the AAD, and the tag if there is one. */
static bool begin(EVP_CIPHER_CTX *ctx, const struct algorithm *a, int encrypt, void *tag)
{
    const EVP_CIPHER *const cipher = EVP_get_cipherbynid(a->nid);
    int n;
    if (!GOOD(EVP_CipherInit_ex(ctx, cipher, a->engine, NULL, NULL, encrypt)))
        return false;
    const int mode = EVP_CIPHER_CTX_mode(ctx);
    const bool is_gcm = mode == EVP_CIPH_GCM_MODE, is_ccm = mode == EVP_CIPH_CCM_MODE;
    return (!is_gcm || GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 32, NULL))) &&
           (!is_ccm || set_tag(ctx, tag)) &&
           GOOD(EVP_CipherInit_ex(ctx, NULL, NULL, key, iv, encrypt)) &&
           (!is_gcm || encrypt || set_tag(ctx, tag)) &&
           (!is_ccm || GOOD(EVP_CipherUpdate(ctx, NULL, &n, NULL, DATA))) &&
           ((!is_gcm && !is_ccm) || GOOD(EVP_CipherUpdate(ctx, NULL, &n, data, 100)));
}

/* Processes the data and ends the message. */
static bool end(EVP_CIPHER_CTX *ctx, const uint8_t *in, int len, uint8_t *out, int *out_len)
{
    const bool is_ccm = EVP_CIPHER_CTX_mode(ctx) == EVP_CIPH_CCM_MODE;
    int n = 0;
    if (!GOOD(EVP_CipherUpdate(ctx, out, out_len, in, len)) ||
        (!is_ccm && !GOOD(EVP_CipherFinal_ex(ctx, out + *out_len, &n)))) /* CCM needs no final */
        return false;
    *out_len += n;
    return true;
}

/* Encrypts twice, in a context and its copy, then decrypts. */
static bool messages(EVP_CIPHER_CTX *ctx, EVP_CIPHER_CTX *copy, const struct algorithm *a,
                     struct memory_trace *trace)
{
    uint8_t out[DATA + 16], again[DATA + 16], tag[TAG] = {0};
    int len, len_again;
    if (!begin(ctx, a, 1, NULL) || !GOOD(EVP_CIPHER_CTX_copy(copy, ctx)) ||
        !end(ctx, data, DATA, out, &len) || !end(copy, data, DATA, again, &len_again) ||
        ((EVP_CIPHER_CTX_flags(ctx) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0 &&
         !GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, tag))))
        return false;
    memory_record(trace, out, (size_t)len);
    memory_record(trace, again, (size_t)len_again);
    memory_record(trace, tag, TAG);
    if (!GOOD(EVP_CIPHER_CTX_reset(ctx)) || !begin(ctx, a, 0, tag) ||
        !end(ctx, out, len, again, &len_again))
        return false;
    memory_record(trace, again, (size_t)len_again);
    return true;
}

static bool cipher_scenario(const void *arg, struct memory_trace *trace)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    const bool good = ctx != NULL && copy != NULL && messages(ctx, copy, arg, trace);
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Seals and opens a record of TLS 1.2 (RFC 5288). */
static bool record_scenario(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    uint8_t record[64] = {0};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = ctx != NULL;
    for (int encrypt = 1; good && encrypt >= 0; encrypt--) {
        uint8_t aad[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, encrypt ? 64 - TAG : 64};
        good = GOOD(EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(a->nid), a->engine, key, NULL,
                                      encrypt)) &&
               GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, iv)) &&
               GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(aad), aad)) &&
               EVP_Cipher(ctx, record, record, sizeof(record)) > 0;
        if (good)
            memory_record(trace, record, sizeof(record));
    }
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* ---- longjmp() ------------------------------------------------------------------------------ */

/* Static, so that they survive longjmp(). The second context becomes a copy of the first. */
static EVP_CIPHER_CTX *contexts[2];

/* Sets a long IV, copies the context, and encrypts with the copy. The engine allocates memory for
 * the IV, because libcrypto's contexts hold only 16 bytes. */
static bool set_and_copy(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    uint8_t out[DATA + 16];
    int len;
    const bool good = begin(contexts[0], a, 1, NULL) &&
                      GOOD(EVP_CIPHER_CTX_copy(contexts[1], contexts[0])) &&
                      end(contexts[1], data, DATA, out, &len);
    if (good)
        memory_record(trace, out, (size_t)len);
    return good;
}

/* Calls longjmp() inside the engine's two allocations in set_and_copy(): the long IV and its copy.
 * Checks that both contexts then take a key and IV, give the right output and can be freed. */
static bool long_iv_is_left(const struct algorithm *a)
{
    static struct memory_trace expected, trace;
    bool good = true;
    for (long n = 1; n <= 2; n++) {
        for (unsigned i = 0; i < 2; i++)
            contexts[i] = EVP_CIPHER_CTX_new();
        good = good && memory_leave_at(n, "openssl/engine/", set_and_copy, a);
        for (unsigned i = 0; i < 2; i++)
            good = good && GOOD(EVP_CipherInit_ex(contexts[i], EVP_get_cipherbynid(a->nid),
                                                  a->engine, key, iv, 1));
        good = good && memory_run(set_and_copy, a, &trace);
        for (unsigned i = 0; i < 2; i++) {
            EVP_CIPHER_CTX_free(contexts[i]);
            contexts[i] = EVP_CIPHER_CTX_new();
        }
        good = good && memory_run(set_and_copy, a, &expected) && memory_same(&trace, &expected);
        for (unsigned i = 0; i < 2; i++)
            EVP_CIPHER_CTX_free(contexts[i]);
    }
    return good;
}

/* ---- Loading -------------------------------------------------------------------------------- */

/* Loads the engine, but does not put it into libcrypto's list, where it would stay. */
static bool load_scenario(const void *arg, struct memory_trace *trace)
{
    const char *const path = arg;
    ENGINE *engine = ENGINE_by_id("dynamic");
    const bool good = engine != NULL && ENGINE_ctrl_cmd_string(engine, "SO_PATH", path, 0) &&
                      ENGINE_ctrl_cmd_string(engine, "LOAD", NULL, 0) &&
                      ENGINE_get_cipher(engine, NID_aes_128_gcm) != NULL;
    if (good)
        memory_record(trace, ENGINE_get_id(engine), strlen("tenrounds"));
    ENGINE_free(engine);
    return good;
}

int main(void)
{
    static struct memory_trace expected;
    static char path[4096];
    memory_begin();
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(3 * i + 1);
    for (size_t i = 0; i < sizeof(iv); i++)
        iv[i] = (uint8_t)(5 * i + 2);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(7 * i + 3);
    OPENSSL_init_crypto(OPENSSL_INIT_ENGINE_ALL_BUILTIN | OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    tap_plan(1 + CIPHERS + 2);
    memory_record(&expected, "tenrounds", strlen("tenrounds"));
    const char *const folder = getenv("OPENSSL_ENGINES");
    snprintf(path, sizeof(path), "%s/tenrounds.so", folder != NULL ? folder : ".");
    memory_test("loading", load_scenario, path, &expected);

    struct algorithm ours = {ENGINE_by_id("tenrounds"), 0}, theirs = {NULL, 0};
    if (ours.engine == NULL || !ENGINE_init(ours.engine)) {
        ERR_print_errors_fp(stderr);
        return 2;
    }
    for (size_t i = 0; i < CIPHERS; i++) {
        ours.nid = theirs.nid = nids[i];
        if (memory_run(cipher_scenario, &theirs, &expected))
            memory_test(OBJ_nid2sn(nids[i]), cipher_scenario, &ours, &expected);
        else
            tap_ok(false, "%s: the expected results", OBJ_nid2sn(nids[i]));
    }
    ours.nid = theirs.nid = NID_aes_128_gcm;
    if (memory_run(record_scenario, &theirs, &expected))
        memory_test("records of GCM", record_scenario, &ours, &expected);
    tap_ok(long_iv_is_left(&ours), "contexts are usable after longjmp() out of an allocation");
    ENGINE_finish(ours.engine);
    ENGINE_free(ours.engine);
    return tap_done();
}
