/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that no branch, address or slow instruction depends on a key or on data
 * (../core/secrets.h). The calls go through libcrypto to the provider or the engine, or to the
 * PKCS#11 module. The tracker (crates/taint) follows all code: the program's, the module's,
 * libcrypto's and libc's.
 *
 *   openssl-constant-time provider|engine|pkcs11
 *
 * The modules must be compiled with TR_TEST_PUBLIC (core/util.h). OPENSSL_MODULES is the folder of
 * the provider, TENROUNDS_ENGINE the path of the engine, and TENROUNDS_PKCS11 the path of the
 * PKCS#11 module. Keys, AAD and plaintexts are secret. IVs, ciphertexts and tags are not. Messages
 * with a tag are also decrypted with a wrong tag: with a wrong first byte, and with a wrong last
 * byte. Both decryptions must execute the same instructions and access the same addresses (the
 * path). Wrapped keys get a wrong byte at either end instead.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "../core/secrets.h"
#include "cryptoki.h"
#include "tap.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <string.h>
#ifdef WITH_ENGINE
#    include <openssl/engine.h>
#endif

#define LEN   224u
#define TAG   16u
#define AAD   21u
#define SHORT 176u /* the length of messages in the modes that take whole blocks only */

/* How a message is passed: in two parts of any length, in whole blocks, at once, or as a record of
 * TLS 1.2 (RFC 5288 and RFC 6655). */
enum shape { STREAM, BLOCKS, ONCE, RECORD };

/* What shows that a message is authentic: nothing, a tag, its own redundancy (key wrap), or the tag
 * at the end of a record. */
enum proof { NONE, TAGGED, WRAPPED, WRAPPED_PADDED, IN_RECORD };

#define EXPLICIT 8u /* bytes of the nonce's explicit part, with which a record begins */
#define FIXED    4u /* bytes of the nonce's fixed part, before the explicit part */

enum host { HOST_PROVIDER, HOST_ENGINE, HOST_PKCS11 };

struct kind {
    const char *name;  /* in libcrypto */
    ulong_t mechanism; /* in PKCS#11, or 0 */
    size_t key_len, iv_len;
    enum shape shape;
    enum proof proof;
    bool engine;     /* the engine has it; the provider has all */
    const char *cts; /* the variant of ciphertext stealing */
};

static const struct kind kinds[] = {
    {"AES-128-ECB", 0x1081, 16, 0, BLOCKS, NONE, true, NULL},
    {"AES-128-CBC", 0x1082, 16, 16, BLOCKS, NONE, true, NULL},
    {"AES-256-CBC", 0x1082, 32, 16, BLOCKS, NONE, true, NULL},
    {"AES-192-CTR", 0x1086, 24, 16, STREAM, NONE, true, NULL},
    {"AES-256-CTR", 0x1086, 32, 16, STREAM, NONE, true, NULL},
    {"AES-128-OFB", 0x2104, 16, 16, STREAM, NONE, true, NULL},
    {"AES-128-CFB", 0x2107, 16, 16, STREAM, NONE, true, NULL},
    {"AES-128-XTS", 0x1071, 32, 16, ONCE, NONE, true, NULL},
    {"AES-256-XTS", 0x1071, 64, 16, ONCE, NONE, true, NULL},
    {"AES-128-GCM", 0x1087, 16, 12, STREAM, TAGGED, true, NULL},
    {"AES-256-GCM", 0x1087, 32, 12, STREAM, TAGGED, true, NULL},
    {"AES-128-CCM", 0x1088, 16, 12, ONCE, TAGGED, true, NULL},
    {"AES-256-CCM", 0x1088, 32, 12, ONCE, TAGGED, true, NULL},
    {"AES-128-GCM", 0, 16, 12, RECORD, IN_RECORD, true, NULL},
    {"AES-256-CCM", 0, 32, 12, RECORD, IN_RECORD, true, NULL},
    {"AES-128-CBC-CTS", 0, 16, 16, ONCE, NONE, false, "CS1"},
    {"AES-192-CBC-CTS", 0, 24, 16, ONCE, NONE, false, "CS2"},
    {"AES-256-CBC-CTS", 0x1089, 32, 16, ONCE, NONE, false, "CS3"},
    {"AES-128-CFB8", 0x2106, 16, 16, STREAM, NONE, false, NULL},
    {"AES-128-CFB1", 0, 16, 16, STREAM, NONE, false, NULL},
    {"AES-128-OCB", 0, 16, 12, STREAM, TAGGED, false, NULL},
    {"AES-128-SIV", 0, 32, 0, ONCE, TAGGED, false, NULL},
    {"AES-256-SIV", 0, 64, 0, ONCE, TAGGED, false, NULL},
    {"AES-128-GCM-SIV", 0, 16, 12, ONCE, TAGGED, false, NULL},
    {"AES-256-GCM-SIV", 0, 32, 12, ONCE, TAGGED, false, NULL},
    {"AES-128-WRAP", 0x2109, 16, 0, ONCE, WRAPPED, false, NULL},
    {"AES-256-WRAP-INV", 0, 32, 0, ONCE, WRAPPED, false, NULL},
    {"AES-256-WRAP-PAD", 0x210b, 32, 0, ONCE, WRAPPED_PADDED, false, NULL},
    {"AES-128-WRAP-PAD-INV", 0, 16, 0, ONCE, WRAPPED_PADDED, false, NULL},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct message {
    uint8_t key[64], iv[16], aad[AAD], tag[TAG];
    uint8_t in[LEN + 2 * TAG], out[LEN + 2 * TAG];
    size_t len, out_len; /* of `in`, and of `out` without the tag */
};

/* Processes a message. Returns whether all calls succeeded. A forged message makes a call fail. */
typedef bool crypt_fn(const struct kind *, bool encrypt, struct message *);

/* A hash of the path on which the last message was processed. */
static uint64_t path;

/* ---- The provider and the engine ------------------------------------------------------------ */

static OSSL_LIB_CTX *library;
static EVP_CIPHER *ciphers[KINDS];
#ifdef WITH_ENGINE
static ENGINE *engine;
#endif

/* Sets cipher, key and IV. Each of `cipher`, `key` and `iv` may be NULL. */
static bool set_evp(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, const uint8_t *key,
                    const uint8_t *iv, bool encrypt)
{
#ifdef WITH_ENGINE
    if (engine != NULL) {
        const EVP_CIPHER *const legacy =
            cipher == NULL ? NULL : EVP_get_cipherbynid(EVP_CIPHER_get_nid(cipher));
        return EVP_CipherInit_ex(ctx, legacy, cipher == NULL ? NULL : engine, key, iv, encrypt) ==
               1;
    }
#endif
    return EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) == 1;
}

static bool is_ccm(const struct kind *k)
{
    return strstr(k->name, "CCM") != NULL;
}

static bool init_evp(EVP_CIPHER_CTX *ctx, const struct kind *k, bool encrypt, struct message *m)
{
    const EVP_CIPHER *const cipher = ciphers[k - kinds];
    OSSL_PARAM params[] = {OSSL_PARAM_END, OSSL_PARAM_END};
    int n;
    if (k->proof == WRAPPED || k->proof == WRAPPED_PADDED)
        EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    if (k->cts != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE,
                                                     (char *)(uintptr_t)k->cts, 0);
    if (!is_ccm(k))
        return set_evp(ctx, cipher, m->key, k->iv_len != 0 ? m->iv : NULL, encrypt) &&
               (k->cts == NULL || EVP_CIPHER_CTX_set_params(ctx, params) == 1);
    return set_evp(ctx, cipher, NULL, NULL, encrypt) &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, encrypt ? NULL : m->tag) == 1 &&
           set_evp(ctx, NULL, m->key, m->iv, encrypt) &&
           EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)m->len) == 1;
}

/* Seals or opens a record in place, in m->out. Its header is the AAD. */
static bool record_evp(EVP_CIPHER_CTX *ctx, const struct kind *k, bool encrypt, struct message *m)
{
    uint8_t header[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, (uint8_t)m->len};
    const size_t whole = encrypt ? m->out_len : m->len;
    bool good = set_evp(ctx, ciphers[k - kinds], NULL, NULL, encrypt);
    if (is_ccm(k))
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) == 1 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, NULL) == 1 &&
               set_evp(ctx, NULL, m->key, NULL, encrypt) &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_CCM_SET_IV_FIXED, FIXED, m->iv) == 1;
    else
        good = good && set_evp(ctx, NULL, m->key, NULL, encrypt) &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, -1, m->iv) == 1;
    good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(header), header) == TAG;
    memcpy(m->out, m->in, m->len);
    const int n = good ? EVP_Cipher(ctx, m->out, m->out, (unsigned)whole) : -1;
    /* After opening, a provider returns the record's length, an engine the plaintext's length. */
    return n >= 0 && ((size_t)n == whole || (!encrypt && (size_t)n == m->out_len - EXPLICIT));
}

static bool process_evp(EVP_CIPHER_CTX *ctx, const struct kind *k, bool encrypt, struct message *m)
{
    const size_t first = k->shape == ONCE ? m->len : k->shape == BLOCKS ? 96 : 75;
    int n = 0, rest = 0, end = 0;
    if (k->shape == RECORD)
        return record_evp(ctx, k, encrypt, m);
    bool good = init_evp(ctx, k, encrypt, m);
    if (k->proof == TAGGED && !is_ccm(k) && !encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, m->tag) == 1;
    if (k->proof == TAGGED)
        good = good && EVP_CipherUpdate(ctx, NULL, &n, m->aad, AAD) == 1;
    else
        good = good && EVP_CIPHER_CTX_set_padding(ctx, k->proof == WRAPPED_PADDED) == 1;
    good = good && EVP_CipherUpdate(ctx, m->out, &n, m->in, (int)first) == 1;
    if (first != m->len)
        good = good &&
               EVP_CipherUpdate(ctx, m->out + n, &rest, m->in + first, (int)(m->len - first)) == 1;
    if (!is_ccm(k))
        good = good && EVP_CipherFinal_ex(ctx, m->out + n + rest, &end) == 1;
    if (k->proof == TAGGED && encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, m->tag) == 1;
    return good && (size_t)(n + rest + end) == m->out_len;
}

static bool crypt_evp(const struct kind *k, bool encrypt, struct message *m)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    ERR_clear_error(); /* earlier errors in the queue would change the path */
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

#ifdef WITH_ENGINE
/* Loads the engine. Fetches the default provider's ciphers: set_evp() uses only their NIDs. */
static void load_engine(void)
{
    const char *const file = getenv("TENROUNDS_ENGINE");
    ENGINE_load_dynamic();
    engine = ENGINE_by_id("dynamic");
    if (engine == NULL || file == NULL || !ENGINE_ctrl_cmd_string(engine, "SO_PATH", file, 0) ||
        !ENGINE_ctrl_cmd_string(engine, "LOAD", NULL, 0) || !ENGINE_init(engine)) {
        fprintf(stderr, "TENROUNDS_ENGINE is no engine\n");
        exit(2);
    }
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].engine)
            ciphers[i] = EVP_CIPHER_fetch(NULL, kinds[i].name, NULL);
}
#endif

/* ---- MACs ----------------------------------------------------------------------------------- */

/* A MAC: its name and its cipher in libcrypto, and its mechanism in PKCS#11. GMAC has an IV. */
static const struct mac {
    const char *name, *cipher;
    ulong_t mechanism;
    size_t key_len;
} macs[] = {{"CMAC", "AES-128-CBC", 0x108a, 16},
            {"CMAC", "AES-256-CBC", 0x108a, 32},
            {"GMAC", "AES-128-GCM", 0x108e, 16}};
#define MACS (sizeof(macs) / sizeof(*macs))

static bool is_gmac(const struct mac *mac)
{
    return mac->mechanism == 0x108e;
}

/* Computes the MAC of m->in and stores it in m->tag. */
static bool mac_evp(const struct mac *mac, struct message *m)
{
    EVP_MAC *const fetched = EVP_MAC_fetch(library, mac->name, "provider=tenrounds");
    EVP_MAC_CTX *const ctx = fetched == NULL ? NULL : EVP_MAC_CTX_new(fetched);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)(uintptr_t)mac->cipher, 0),
        is_gmac(mac) ? OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, m->iv, 12)
                     : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end()};
    size_t n = 0;
    const bool good = ctx != NULL && EVP_MAC_init(ctx, m->key, mac->key_len, params) == 1 &&
                      EVP_MAC_update(ctx, m->in, 75) == 1 &&
                      EVP_MAC_update(ctx, m->in + 75, m->len - 75) == 1 &&
                      EVP_MAC_final(ctx, m->tag, &n, TAG) == 1 && n == TAG;
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(fetched);
    return good;
}

/* ---- The PKCS#11 module --------------------------------------------------------------------- */

static struct cryptoki p11;
static ulong_t (*sign_init)(ulong_t, struct mechanism *, ulong_t);
static ulong_t (*sign)(ulong_t, const uint8_t *, ulong_t, uint8_t *, ulong_t *);

/* Processes data with a PKCS#11 key: at once, or in two parts if `parts`. */
static bool process_p11(ulong_t handle, ulong_t key, const struct kind *k, bool encrypt,
                        struct message *m, bool parts)
{
    struct ctr_params ctr = {128, {0}};
    struct gcm_params gcm = {m->iv, 12, 96, m->aad, AAD, 8 * TAG};
    struct ccm_params ccm = {m->len, m->iv, 12, m->aad, AAD, TAG};
    struct mechanism mechanism = {k->mechanism, k->iv_len != 0 ? m->iv : NULL, k->iv_len};
    uint8_t in[sizeof(m->in) + TAG];
    const size_t in_len = m->len + (k->proof == TAGGED && !encrypt ? TAG : 0);
    const size_t out_len = m->out_len + (k->proof == TAGGED && encrypt ? TAG : 0);
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

/* The session and the key of the last message. If `again` is set, the next message uses them, too,
 * because the addresses of new objects would change the path. */
static ulong_t session, session_key;
static bool again;

static bool open_session(ulong_t type, size_t key_len, struct message *m)
{
    const ulong_t class = SECRET_KEY;
    struct attribute template[] = {
        {CLASS, &class, sizeof(class)}, {KEY_TYPE, &type, sizeof(type)}, {VALUE, m->key, key_len}};
    if (session != 0 && p11.close(session) != 0)
        return false;
    return p11.open(0, SERIAL, NULL, NULL, &session) == 0 &&
           p11.create(session, template, 3, &session_key) == 0;
}

static bool crypt_p11(const struct kind *k, bool encrypt, struct message *m, bool parts)
{
    bool good = again || open_session(k->mechanism == 0x1071 ? AES_XTS : AES, k->key_len, m);
    (void)path_so_far();
    good = good && process_p11(session, session_key, k, encrypt, m, parts);
    path = path_so_far();
    if (k->proof == TAGGED && encrypt)
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

static bool mac_p11(const struct mac *mac, struct message *m)
{
    struct mechanism mechanism = {mac->mechanism, is_gmac(mac) ? m->iv : NULL,
                                  is_gmac(mac) ? 12 : 0};
    ulong_t n = TAG;
    return open_session(AES, mac->key_len, m) && sign_init(session, &mechanism, session_key) == 0 &&
           sign(session, m->in, m->len, m->tag, &n) == 0 && n == TAG;
}

static void load_p11(void)
{
    cryptoki_load(&p11);
    void *const module = dlopen(getenv("TENROUNDS_PKCS11"), RTLD_NOW);
    cryptoki_find(module, &sign_init, "C_SignInit");
    cryptoki_find(module, &sign, "C_Sign");
}

/* ---- The test ------------------------------------------------------------------------------- */

/* The output length of an encryption. It includes the tag of a record, but no other tag. */
static size_t sealed_len(const struct kind *k, size_t len)
{
    if (k->proof == IN_RECORD)
        return len + TAG;
    return k->proof == WRAPPED || k->proof == WRAPPED_PADDED ? (len + 7) / 8 * 8 + 8 : len;
}

static void compose(struct message *m, size_t len)
{
    memset(m, 0, sizeof(*m));
    m->len = len;
    for (size_t i = 0; i < sizeof(m->key); i++)
        m->key[i] = (uint8_t)(3 * i + 1);
    for (size_t i = 0; i < sizeof(m->iv); i++)
        m->iv[i] = (uint8_t)(5 * i + 1);
    for (size_t i = 0; i < sizeof(m->in); i++)
        m->in[i] = (uint8_t)(7 * i + 1);
    for (size_t i = 0; i < sizeof(m->aad); i++)
        m->aad[i] = (uint8_t)(11 * i + 1);
}

static void hide(struct message *m, bool encrypt)
{
    secret(m->key, sizeof(m->key));
    secret(m->aad, sizeof(m->aad));
    if (encrypt)
        secret(m->in, sizeof(m->in));
}

/* Decrypts with a changed byte in the tag, or in a wrapped key, and returns the path. */
__attribute__((noinline)) static uint64_t
forged(const struct kind *k, crypt_fn *crypt, const struct message *sealed, size_t at, bool *right)
{
    static struct message m; /* the same addresses for each call */
    memcpy(&m, sealed, sizeof(m));
    (k->proof == TAGGED ? m.tag : m.in)[at] ^= 0x20;
    hide(&m, false);
    bool good = crypt(k, false, &m);
    published(&good, sizeof(good));
    published(&m, sizeof(m));
    *right &= !good;
    return path;
}

/* The position of the last byte to change. SIV and GCM-SIV take the counter from the tag. CTR
 * may branch on the counter wrap, because the counter is public (simd/ctr.h). In these two modes
 * the position is 8, because byte 8 of the tag does not affect the wrap. */
static size_t last_forged(const struct kind *k, const struct message *sealed)
{
    return k->proof != TAGGED ? sealed->len - 1 : strstr(k->name, "SIV") != NULL ? 8 : TAG - 1;
}

static size_t first_forged(const struct kind *k, const struct message *sealed)
{
    return k->proof == IN_RECORD ? sealed->len - TAG : 0;
}

static bool same_path_for_forgeries(const struct kind *k, crypt_fn *crypt,
                                    const struct message *sealed)
{
    bool right = true;
    /* The first calls may allocate memory that later calls reuse. */
    (void)forged(k, crypt, sealed, first_forged(k, sealed), &right);
    again = true;
    (void)forged(k, crypt, sealed, first_forged(k, sealed), &right);
    (void)forged(k, crypt, sealed, first_forged(k, sealed), &right);
    const uint64_t first = forged(k, crypt, sealed, first_forged(k, sealed), &right);
    const uint64_t last = forged(k, crypt, sealed, last_forged(k, sealed), &right);
    again = false;
    if (first != last)
        tap_diag("%s: the path shows which byte is wrong", k->name);
    return right && first == last;
}

/* Encrypts and decrypts a message. Returns whether the results are right. */
static bool watched(const struct kind *k, crypt_fn *crypt)
{
    static struct message plain, m;
    const size_t len = k->shape == BLOCKS || k->proof == WRAPPED ? SHORT : 203;
    compose(&plain, len);
    compose(&m, len);
    plain.out_len = m.out_len = sealed_len(k, len);
    /* The tracker must follow this call, so aside_begin() is not called. The call overwrites memory
     * of the last message. If the writes were not followed, that memory would stay secret. */
    bool right = crypt(k, true, &plain);
    hide(&m, true);
    right &= crypt(k, true, &m);
    published(&m, sizeof(m));
    right &= memcmp(m.out, plain.out, m.out_len) == 0 && memcmp(m.tag, plain.tag, TAG) == 0;
    memcpy(m.in, plain.out, m.out_len);
    m.len = plain.out_len;
    m.out_len = plain.len;
    const struct message sealed = m;
    hide(&m, false);
    bool good = crypt(k, false, &m);
    published(&good, sizeof(good));
    published(&m, sizeof(m));
    const size_t begin = k->proof == IN_RECORD ? EXPLICIT : 0;
    right &= good && memcmp(m.out + begin, plain.in + begin, plain.len - begin) == 0;
    return k->proof == NONE ? right : same_path_for_forgeries(k, crypt, &sealed) && right;
}

static void test(const struct kind *k, crypt_fn *crypt, const char *how)
{
    const unsigned before = uses_of_secrets();
    const bool right = watched(k, crypt);
    const unsigned uses = uses_of_secrets() - before;
    tap_ok(right && uses == 0, "%s, %s: %u uses of secrets", k->name, how, uses);
}

static void test_mac(const struct mac *mac, bool (*compute)(const struct mac *, struct message *))
{
    static struct message plain, m;
    compose(&plain, 203);
    compose(&m, 203);
    const unsigned before = uses_of_secrets();
    bool right = compute(mac, &plain);
    hide(&m, true);
    right &= compute(mac, &m);
    published(&m, sizeof(m));
    right &= memcmp(m.tag, plain.tag, TAG) == 0;
    const unsigned uses = uses_of_secrets() - before;
    tap_ok(right && uses == 0, "%s, key of %zu bytes: %u uses of secrets", mac->name, mac->key_len,
           uses);
}

static void test_evp(const struct kind *k, const char *host)
{
    if (ciphers[k - kinds] == NULL)
        tap_ok(false, "%s is not there", k->name);
    else
        test(k, crypt_evp, host);
}

/* Whether a message can be passed to the PKCS#11 module in parts of any length. */
static bool has_parts(const struct kind *k)
{
    return k->shape != ONCE || k->proof == TAGGED;
}

/* Runs the tests of a host, or only counts them. */
static unsigned tests(enum host host, bool count)
{
    unsigned n = 0;
    for (const struct kind *k = kinds; k < kinds + KINDS; k++) {
        if ((host == HOST_ENGINE && !k->engine) || (host == HOST_PKCS11 && k->mechanism == 0))
            continue;
        n += host == HOST_PKCS11 && has_parts(k) ? 2 : 1;
        if (count)
            continue;
        if (host != HOST_PKCS11)
            test_evp(k, host == HOST_ENGINE ? "engine" : "provider");
        else
            test(k, crypt_p11_once, "C_Encrypt and C_Decrypt");
        if (host == HOST_PKCS11 && has_parts(k))
            test(k, crypt_p11_parts, "in parts");
    }
    for (size_t i = 0; host != HOST_ENGINE && i < MACS; i++, n++)
        if (!count)
            test_mac(&macs[i], host == HOST_PKCS11 ? mac_p11 : mac_evp);
    return n;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum host host;
        void (*load)(void);
    } hosts[] = {{"provider", HOST_PROVIDER, load_provider},
#ifdef WITH_ENGINE
                 {"engine", HOST_ENGINE, load_engine},
#endif
                 {"pkcs11", HOST_PKCS11, load_p11}};
    for (size_t i = 0; argc == 2 && i < sizeof(hosts) / sizeof(*hosts); i++) {
        if (strcmp(argv[1], hosts[i].name) != 0)
            continue;
        const unsigned n = tests(hosts[i].host, true);
        tap_plan(n);
        if (RUNNING_ON_VALGRIND == 0) {
            tap_skip(n, NULL, "this test runs only under crates/taint");
            return tap_done();
        }
        hosts[i].load();
        (void)tests(hosts[i].host, false);
        return tap_done();
    }
#ifndef WITH_ENGINE
    if (argc == 2 && strcmp(argv[1], "engine") == 0) {
        tap_plan(1);
        tap_skip(1, NULL, "this OpenSSL has no engines");
        return tap_done();
    }
#endif
    fprintf(stderr, "usage: openssl-constant-time provider|engine|pkcs11\n");
    return 2;
}
