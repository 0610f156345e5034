/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that no branch, address or slow instruction depends on a key or on data, on the way through
 * libcrypto and the provider, or through the PKCS#11 module (../core/secrets.h). The tracker
 * (crates/taint) follows all code: the program's, the module's, libcrypto's and libc's.
 *
 *   openssl-constant-time provider
 *   openssl-constant-time pkcs11
 *
 * Both modules must be compiled with TR_TEST_PUBLIC (core/util.h). OPENSSL_MODULES is the folder of
 * the provider, and TENROUNDS_PKCS11 the path of the PKCS#11 module. Keys, AAD and plaintexts are
 * secret. IVs, ciphertexts and tags are not. Messages with a tag are also decrypted with a wrong
 * tag: with a wrong first byte, and with a wrong last byte. The paths of both must be the same.
 */
#include "../core/secrets.h"
#include "cryptoki.h"
#include "tap.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <string.h>

#define LEN   224u
#define TAG   16u
#define AAD   21u
#define SHORT 176u /* the length of messages in the modes that take whole blocks only */

/* How a message is passed: in two parts of any length, in whole blocks, or at once. */
enum shape { STREAM, BLOCKS, ONCE };

struct kind {
    const char *name; /* in libcrypto */
    ulong_t mechanism;
    size_t key_len, iv_len;
    enum shape shape;
    bool aead;
};

static const struct kind kinds[] = {
    {"AES-128-ECB", 0x1081, 16, 0, BLOCKS, false},  {"AES-128-CBC", 0x1082, 16, 16, BLOCKS, false},
    {"AES-256-CBC", 0x1082, 32, 16, BLOCKS, false}, {"AES-192-CTR", 0x1086, 24, 16, STREAM, false},
    {"AES-256-CTR", 0x1086, 32, 16, STREAM, false}, {"AES-128-OFB", 0x2104, 16, 16, STREAM, false},
    {"AES-128-CFB", 0x2107, 16, 16, STREAM, false}, {"AES-128-XTS", 0x1071, 32, 16, ONCE, false},
    {"AES-256-XTS", 0x1071, 64, 16, ONCE, false},   {"AES-128-GCM", 0x1087, 16, 12, STREAM, true},
    {"AES-256-GCM", 0x1087, 32, 12, STREAM, true},  {"AES-128-CCM", 0x1088, 16, 12, ONCE, true},
    {"AES-256-CCM", 0x1088, 32, 12, ONCE, true},    {"AES-128-OCB", 0, 16, 12, STREAM, true},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct message {
    uint8_t key[64], iv[16], aad[AAD], tag[TAG];
    uint8_t in[LEN], out[LEN + 2 * TAG];
    size_t len;
};

/* Processes a message. Returns whether all calls succeeded, and for decryption the tag is right. */
typedef bool crypt_fn(const struct kind *, bool encrypt, struct message *);

/* A hash of the path of the last message, without what prepares it. */
static uint64_t path;

/* ---- The provider --------------------------------------------------------------------------- */

static OSSL_LIB_CTX *library;
static EVP_CIPHER *ciphers[KINDS];

static bool init_evp(EVP_CIPHER_CTX *ctx, const struct kind *k, bool encrypt, struct message *m)
{
    const EVP_CIPHER *cipher = ciphers[k - kinds];
    if (strstr(k->name, "CCM") == NULL)
        return EVP_CipherInit_ex2(ctx, cipher, m->key, m->iv, encrypt, NULL) == 1;
    int n;
    return EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypt, NULL) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, encrypt ? NULL : m->tag) == 1 &&
           EVP_CipherInit_ex2(ctx, NULL, m->key, m->iv, encrypt, NULL) == 1 &&
           EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)m->len) == 1;
}

static bool process_evp(EVP_CIPHER_CTX *ctx, const struct kind *k, bool encrypt, struct message *m)
{
    const size_t first = k->shape == ONCE ? m->len : k->shape == BLOCKS ? 96 : 75;
    int n = 0, rest = 0, end = 0;
    bool good = init_evp(ctx, k, encrypt, m);
    if (k->aead && strstr(k->name, "CCM") == NULL && !encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, m->tag) == 1;
    if (!k->aead)
        good = good && EVP_CIPHER_CTX_set_padding(ctx, 0) == 1;
    else
        good = good && EVP_CipherUpdate(ctx, NULL, &n, m->aad, AAD) == 1;
    good = good && EVP_CipherUpdate(ctx, m->out, &n, m->in, (int)first) == 1;
    if (first != m->len)
        good = good &&
               EVP_CipherUpdate(ctx, m->out + n, &rest, m->in + first, (int)(m->len - first)) == 1;
    if (strstr(k->name, "CCM") == NULL)
        good = good && EVP_CipherFinal_ex(ctx, m->out + n + rest, &end) == 1;
    if (k->aead && encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, m->tag) == 1;
    return good && (size_t)(n + rest + end) == m->len;
}

static bool crypt_evp(const struct kind *k, bool encrypt, struct message *m)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    ERR_clear_error(); /* the place of an error in its queue is part of the path */
    (void)path_so_far();
    const bool good = ctx != NULL && process_evp(ctx, k, encrypt, m);
    path = path_so_far();
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static void load_provider(void)
{
    library = OSSL_LIB_CTX_new();
    if (library == NULL || OSSL_PROVIDER_load(library, "tenrounds") == NULL) {
        fprintf(stderr, "the provider of OPENSSL_MODULES does not load\n");
        exit(2);
    }
    for (size_t i = 0; i < KINDS; i++)
        ciphers[i] = EVP_CIPHER_fetch(library, kinds[i].name, "provider=tenrounds");
}

/* ---- The PKCS#11 module --------------------------------------------------------------------- */

static struct cryptoki p11;

/* Processes data with a key object: at once, or in two parts if `parts`. */
static bool process_p11(ulong_t handle, ulong_t key, const struct kind *k, bool encrypt,
                        struct message *m, bool parts)
{
    struct ctr_params ctr = {128, {0}};
    struct gcm_params gcm = {m->iv, 12, 96, m->aad, AAD, 8 * TAG};
    struct ccm_params ccm = {m->len, m->iv, 12, m->aad, AAD, TAG};
    struct mechanism mechanism = {k->mechanism, m->iv, k->iv_len};
    uint8_t in[LEN + TAG];
    const size_t in_len = m->len + (k->aead && !encrypt ? TAG : 0);
    const size_t out_len = m->len + (k->aead && encrypt ? TAG : 0);
    ulong_t n = sizeof(m->out), rest = 0, end = 0;
    memcpy(ctr.counter, m->iv, 16);
    memcpy(in, m->in, m->len);
    memcpy(in + m->len, m->tag, in_len - m->len);
    if (k->mechanism == 0x1086)
        mechanism = (struct mechanism){k->mechanism, &ctr, sizeof(ctr)};
    if (k->mechanism == 0x1087)
        mechanism = (struct mechanism){k->mechanism, &gcm, sizeof(gcm)};
    if (k->mechanism == 0x1088)
        mechanism = (struct mechanism){k->mechanism, &ccm, sizeof(ccm)};
    bool good = p11.way[encrypt].init(handle, &mechanism, key) == 0;
    if (!parts)
        return good && p11.way[encrypt].once(handle, in, in_len, m->out, &n) == 0 && n == out_len;
    good = good && p11.way[encrypt].update(handle, in, 80, m->out, &n) == 0;
    rest = sizeof(m->out) - n;
    good = good && p11.way[encrypt].update(handle, in + 80, in_len - 80, m->out + n, &rest) == 0;
    end = sizeof(m->out) - n - rest;
    return good && p11.way[encrypt].final(handle, m->out + n + rest, &end) == 0 &&
           n + rest + end == out_len;
}

/* The session and the key of the last message. The next one takes both if `again` is set, because
 * the places of new objects in memory are part of the path. */
static ulong_t session, session_key;
static bool again;

static bool open_session(const struct kind *k, struct message *m)
{
    const ulong_t class = SECRET_KEY, type = k->mechanism == 0x1071 ? AES_XTS : AES;
    struct attribute template[] = {{CLASS, &class, sizeof(class)},
                                   {KEY_TYPE, &type, sizeof(type)},
                                   {VALUE, m->key, k->key_len}};
    if (session != 0 && p11.close(session) != 0)
        return false;
    return p11.open(0, SERIAL, NULL, NULL, &session) == 0 &&
           p11.create(session, template, 3, &session_key) == 0;
}

static bool crypt_p11(const struct kind *k, bool encrypt, struct message *m, bool parts)
{
    bool good = again || open_session(k, m);
    (void)path_so_far();
    good = good && process_p11(session, session_key, k, encrypt, m, parts);
    path = path_so_far();
    if (k->aead && encrypt)
        memcpy(m->tag, m->out + m->len, TAG);
    return good;
}

static bool crypt_p11_once(const struct kind *k, bool encrypt, struct message *m)
{
    return crypt_p11(k, encrypt, m, false);
}

static bool crypt_p11_parts(const struct kind *k, bool encrypt, struct message *m)
{
    return crypt_p11(k, encrypt, m, true);
}

/* ---- The test ------------------------------------------------------------------------------- */

static void compose(const struct kind *k, struct message *m)
{
    memset(m, 0, sizeof(*m));
    for (size_t i = 0; i < sizeof(m->key); i++)
        m->key[i] = (uint8_t)(3 * i + 1);
    for (size_t i = 0; i < sizeof(m->iv); i++)
        m->iv[i] = (uint8_t)(5 * i + 1);
    for (size_t i = 0; i < sizeof(m->in); i++)
        m->in[i] = (uint8_t)(7 * i + 1);
    for (size_t i = 0; i < sizeof(m->aad); i++)
        m->aad[i] = (uint8_t)(11 * i + 1);
    m->len = k->shape == BLOCKS ? SHORT : 203;
}

static void hide(struct message *m, bool encrypt)
{
    secret(m->key, sizeof(m->key));
    secret(m->aad, sizeof(m->aad));
    if (encrypt)
        secret(m->in, sizeof(m->in));
}

/* Decrypts with a changed tag, and returns the path. */
__attribute__((noinline)) static uint64_t
forged(const struct kind *k, crypt_fn *crypt, const struct message *sealed, size_t at, bool *right)
{
    static struct message m; /* the same addresses for each call */
    memcpy(&m, sealed, sizeof(m));
    m.tag[at] ^= 0x20;
    hide(&m, false);
    bool good = crypt(k, false, &m);
    published(&good, sizeof(good));
    published(&m, sizeof(m));
    *right &= !good;
    return path;
}

/* Encrypts and decrypts a message. Returns whether the results are right. */
static bool watched(const struct kind *k, crypt_fn *crypt)
{
    static struct message plain, m;
    compose(k, &plain);
    compose(k, &m);
    /* Not between aside_begin() and aside_end(), because this call frees memory of the last one. */
    bool right = crypt(k, true, &plain);
    hide(&m, true);
    right &= crypt(k, true, &m);
    published(&m, sizeof(m));
    right &= memcmp(m.out, plain.out, m.len) == 0 && memcmp(m.tag, plain.tag, TAG) == 0;
    memcpy(m.in, plain.out, m.len);
    const struct message sealed = m;
    hide(&m, false);
    bool good = crypt(k, false, &m);
    published(&m, sizeof(m));
    right &= good && memcmp(m.out, plain.in, m.len) == 0;
    if (!k->aead)
        return right;
    /* The first such calls may allocate memory that the next ones find. */
    (void)forged(k, crypt, &sealed, 8, &right);
    again = true;
    (void)forged(k, crypt, &sealed, 8, &right);
    (void)forged(k, crypt, &sealed, 8, &right);
    const uint64_t first = forged(k, crypt, &sealed, 0, &right);
    const uint64_t last = forged(k, crypt, &sealed, TAG - 1, &right);
    again = false;
    if (first != last)
        tap_diag("%s: the path shows which byte of a tag is wrong", k->name);
    return right && first == last;
}

static void test(const struct kind *k, crypt_fn *crypt, const char *how)
{
    const unsigned before = uses_of_secrets();
    const bool right = watched(k, crypt);
    const unsigned uses = uses_of_secrets() - before;
    tap_ok(right && uses == 0, "%s, %s: %u uses of secrets", k->name, how, uses);
}

int main(int argc, char **argv)
{
    const bool provider = argc == 2 && strcmp(argv[1], "provider") == 0;
    if (!provider && (argc != 2 || strcmp(argv[1], "pkcs11") != 0)) {
        fprintf(stderr, "usage: openssl-constant-time provider|pkcs11\n");
        return 2;
    }
    tap_plan(provider ? KINDS : 2 * (KINDS - 1));
    if (RUNNING_ON_VALGRIND == 0) {
        tap_skip(provider ? KINDS : 2 * (KINDS - 1), NULL,
                 "this test runs only under crates/taint");
        return tap_done();
    }
    if (provider)
        load_provider();
    else
        cryptoki_load(&p11);
    for (size_t i = 0; i < KINDS; i++) {
        const struct kind *k = &kinds[i];
        if (provider && ciphers[i] == NULL) {
            tap_ok(false, "%s is not there", k->name);
        } else if (provider) {
            test(k, crypt_evp, "EVP");
        } else if (k->mechanism != 0) {
            test(k, crypt_p11_once, "C_Encrypt and C_Decrypt");
            test(k, k->shape == ONCE && k->mechanism == 0x1071 ? crypt_p11_once : crypt_p11_parts,
                 "in parts");
        }
    }
    return tap_done();
}
