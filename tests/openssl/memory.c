/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes each allocation of a scenario fail in turn, in the provider and in libcrypto. The scenarios
 * are messages of every cipher, TLS records, MACs, pipelines and key objects (EVP_SKEY). While the
 * provider loads, only some allocations fail. The distance between two failures, in allocations, is
 * random, and at most the argument (default 8). The expected results come from the default
 * provider. For algorithms that the default provider lacks, the results come from tenrounds without
 * failures.
 */
#define _GNU_SOURCE
#include "sides.h"

#include "failing_memory.h"
#include "pipeline_api.h"

#include <openssl/prov_ssl.h>

#define DATA 240
#define TAG  16

/* Whether a call succeeded. EVP_CTRL_AEAD_TLS1_AAD returns more than 1. */
#define GOOD(call) ((call) > 0)

static uint8_t key[64], iv[32], data[DATA];

struct algorithm {
    const struct evp_side *side;
    const char *name;
};

/* ---- Messages ------------------------------------------------------------------------------- */

struct cipher {
    EVP_CIPHER *evp;
    int iv_len, aad_len;
    bool is_aead, is_ccm, has_updates;
};

static bool has_updates(const EVP_CIPHER *cipher)
{
    const int mode = EVP_CIPHER_get_mode(cipher);
    return (mode <= EVP_CIPH_GCM_MODE || mode == EVP_CIPH_OCB_MODE) && mode != EVP_CIPH_CBC_MODE;
}

static bool fetch(struct cipher *c, const struct algorithm *a)
{
    c->evp = EVP_CIPHER_fetch(a->side->libctx, a->name, NULL);
    if (c->evp == NULL)
        return false;
    const int mode = EVP_CIPHER_get_mode(c->evp);
    c->is_aead = mode != EVP_CIPH_CBC_MODE && /* AES-CBC-HMAC also has the flag below */
                 (EVP_CIPHER_get_flags(c->evp) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
    c->is_ccm = mode == EVP_CIPH_CCM_MODE;
    c->iv_len = mode == EVP_CIPH_GCM_MODE ? 32 : EVP_CIPHER_get_iv_length(c->evp);
    c->aad_len = c->is_aead ? 100 : 0;
    c->has_updates = has_updates(c->evp);
    return true;
}

static bool set_tag(EVP_CIPHER_CTX *ctx, void *tag)
{
    return GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag));
}

/* Sets the key, the IV, the AAD, and the tag if there is one. */
static bool begin(EVP_CIPHER_CTX *ctx, const struct cipher *c, int encrypt, void *tag)
{
    const bool has_tag = c->is_aead && !encrypt;
    int n;
    EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    return GOOD(EVP_CipherInit_ex2(ctx, c->evp, NULL, NULL, encrypt, NULL)) &&
           (c->iv_len != 32 ||
            GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, c->iv_len, NULL))) &&
           (!c->is_ccm || set_tag(ctx, tag)) &&
           GOOD(EVP_CipherInit_ex2(ctx, NULL, key, iv, encrypt, NULL)) &&
           (!has_tag || c->is_ccm || set_tag(ctx, tag)) &&
           (!c->is_ccm || GOOD(EVP_CipherUpdate(ctx, NULL, &n, NULL, DATA))) &&
           (c->aad_len == 0 || GOOD(EVP_CipherUpdate(ctx, NULL, &n, data, c->aad_len)));
}

/* Processes the data and ends the message. */
static bool end(EVP_CIPHER_CTX *ctx, const struct cipher *c, const uint8_t *in, int len,
                uint8_t *out, int *out_len)
{
    const int first = c->has_updates ? 48 : len;
    int n = 0, m = 0;
    *out_len = 0;
    if (!GOOD(EVP_CipherUpdate(ctx, out, &n, in, first)) ||
        (first != len && !GOOD(EVP_CipherUpdate(ctx, out + n, &m, in + first, len - first))))
        return false;
    *out_len = n + m;
    /* CCM's final does nothing. */
    if (!c->is_ccm && !GOOD(EVP_CipherFinal_ex(ctx, out + n + m, &n)))
        return false;
    *out_len += c->is_ccm ? 0 : n;
    return true;
}

/* Encrypts twice, in a context and its copy, then decrypts. */
static bool messages(EVP_CIPHER_CTX *ctx, EVP_CIPHER_CTX *copy, const struct cipher *c,
                     struct memory_trace *trace)
{
    uint8_t out[DATA + 64], again[DATA + 64], tag[TAG] = {0};
    int len, len_again;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, TAG),
                           OSSL_PARAM_END};
    if (!begin(ctx, c, 1, NULL) || !GOOD(EVP_CIPHER_CTX_copy(copy, ctx)) ||
        !end(ctx, c, data, DATA, out, &len) || !end(copy, c, data, DATA, again, &len_again) ||
        (c->is_aead && !GOOD(EVP_CIPHER_CTX_get_params(ctx, params))))
        return false;
    memory_record(trace, out, (size_t)len);
    memory_record(trace, again, (size_t)len_again);
    memory_record(trace, tag, TAG);
    if (!GOOD(EVP_CIPHER_CTX_reset(ctx)) || !begin(ctx, c, 0, tag) ||
        !end(ctx, c, out, len, again, &len_again))
        return false;
    memory_record(trace, again, (size_t)len_again);
    return true;
}

static bool cipher_scenario(const void *arg, struct memory_trace *trace)
{
    struct cipher c = {0};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    const bool good =
        ctx != NULL && copy != NULL && fetch(&c, arg) && messages(ctx, copy, &c, trace);
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(c.evp);
    return good;
}

/* ---- TLS records ---------------------------------------------------------------------------- */

#define RECORD 64 /* bytes of a record, with the explicit IV, padding and tag or MAC */

/* Announces a TLS 1.2 record to a cipher that processes a whole record: GCM (RFC 5288), CCM (RFC
 * 6655) or AES-CBC-HMAC. */
static bool announce(EVP_CIPHER_CTX *ctx, bool is_cbc, int len)
{
    const int fixed_len = EVP_CIPHER_CTX_get_mode(ctx) == EVP_CIPH_GCM_MODE ? -1 : 4;
    uint8_t aad[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, (uint8_t)len};
    const bool fixed =
        is_cbc ? GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, 32, key))
               : GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, fixed_len, iv));
    return fixed && GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(aad), aad));
}

static bool seal_and_open(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, struct memory_trace *trace)
{
    const bool is_cbc = EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CBC_MODE,
               is_ccm = EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE;
    uint8_t record[RECORD] = {0};
    const int text = is_cbc ? RECORD / 2 - 4 : RECORD - 8 - TAG;
    for (int encrypt = 1; encrypt >= 0; encrypt--) {
        if (!GOOD(EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypt, NULL)) ||
            (is_ccm && (!GOOD(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL)) ||
                        !set_tag(ctx, NULL))) ||
            !GOOD(EVP_CipherInit_ex2(ctx, NULL, key, is_cbc ? iv : NULL, encrypt, NULL)) ||
            !announce(ctx, is_cbc, encrypt ? (is_cbc ? text : text + 8) : RECORD) ||
            EVP_Cipher(ctx, record, record, RECORD) <= 0)
            return false;
        memory_record(trace, record, sizeof(record));
    }
    return true;
}

static bool record_scenario(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(a->side->libctx, a->name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good = cipher != NULL && ctx != NULL && seal_and_open(ctx, cipher, trace);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* Seals and opens a record of plain CBC. libssl computes and checks the MAC itself, and leaves the
 * padding to the provider. */
static bool cbc_record_scenario(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    unsigned version = TLS1_2_VERSION;
    size_t mac_size = 20;
    void *mac = NULL;
    const OSSL_PARAM set[] = {
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_size), OSSL_PARAM_END};
    OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &mac, 0),
                        OSSL_PARAM_END};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(a->side->libctx, a->name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    uint8_t record[RECORD + 16];
    int len = RECORD - 1;
    memcpy(record, data, sizeof(record));
    bool good = cipher != NULL && ctx != NULL;
    for (int encrypt = 1; good && encrypt >= 0; encrypt--) {
        good = GOOD(EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL)) &&
               GOOD(EVP_CIPHER_CTX_set_params(ctx, set)) &&
               GOOD(EVP_CipherUpdate(ctx, record, &len, record, len));
        if (good)
            memory_record(trace, record, (size_t)len);
    }
    good = good && GOOD(EVP_CIPHER_CTX_get_params(ctx, get)) && mac != NULL;
    if (good)
        memory_record(trace, mac, mac_size);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* ---- MACs ----------------------------------------------------------------------------------- */

/* For ciphers that tenrounds lacks, its MACs call the default provider's MACs. */
static const struct mac {
    const char *name, *cipher;
    size_t key_len;
} macs[] = {{"CMAC", "AES-256-CBC", 32},
            {"CMAC", "DES-EDE3-CBC", 24},
            {"GMAC", "AES-128-GCM", 16},
            {"GMAC", "ARIA-128-GCM", 16}};
#define MACS (sizeof(macs) / sizeof(macs[0]))

struct mac_of {
    OSSL_LIB_CTX *libctx;
    const struct mac *mac;
};

static bool mac_scenario(const void *arg, struct memory_trace *trace)
{
    const struct mac_of *of = arg;
    const struct mac *m = of->mac;
    uint8_t tag[TAG], again[TAG];
    size_t len = 0, len_again = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)m->cipher, 0),
        m->name[0] == 'G' ? OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, iv, 12)
                          : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(of->libctx, m->name, NULL);
    EVP_MAC_CTX *ctx = mac == NULL ? NULL : EVP_MAC_CTX_new(mac), *copy = NULL;
    const bool good =
        ctx != NULL && GOOD(EVP_MAC_init(ctx, key, m->key_len, params)) &&
        GOOD(EVP_MAC_update(ctx, data, 37)) && (copy = EVP_MAC_CTX_dup(ctx)) != NULL &&
        GOOD(EVP_MAC_update(copy, data, DATA)) && GOOD(EVP_MAC_final(ctx, tag, &len, TAG)) &&
        GOOD(EVP_MAC_final(copy, again, &len_again, TAG));
    if (good) {
        memory_record(trace, tag, len);
        memory_record(trace, again, len_again);
    }
    EVP_MAC_CTX_free(copy);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    return good;
}

/* ---- Pipelines and key objects, of OpenSSL 3.5 and later ------------------------------------- */

#define PIPES     3
#define PIPELINES 2 /* ciphers */

static bool pipeline_scenario(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    uint8_t out[PIPES][DATA + 16];
    const unsigned char *ivs[PIPES] = {iv, iv + 1, iv + 2}, *in[PIPES] = {data, data, data};
    unsigned char *to[PIPES] = {out[0], out[1], out[2]};
    size_t in_len[PIPES] = {17, 32, DATA}, n[PIPES], m[PIPES];
    const size_t room[PIPES] = {DATA + 16, DATA + 16, DATA + 16}, room_left[PIPES] = {16, 16, 16};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(a->side->libctx, a->name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    bool good = cipher != NULL && ctx != NULL && copy != NULL &&
                pipeline_api.encrypt_init(ctx, cipher, key, 16, PIPES, ivs,
                                          (size_t)EVP_CIPHER_get_iv_length(cipher)) > 0 &&
                EVP_CIPHER_CTX_copy(copy, ctx) > 0 &&
                pipeline_api.update(copy, to, n, room, in, in_len) > 0;
    for (int i = 0; i < PIPES; i++)
        to[i] += good ? n[i] : 0;
    good = good && pipeline_api.final(copy, to, m, room_left) > 0;
    for (int i = 0; good && i < PIPES; i++)
        memory_record(trace, out[i], n[i] + m[i]);
    EVP_CIPHER_CTX_free(copy);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* The expected result of pipeline_scenario(), from a cipher without pipelines. */
static bool expect_pipeline(const struct evp_side *side, const char *name,
                            struct memory_trace *trace)
{
    const int len[PIPES] = {17, 32, DATA};
    EVP_CIPHER *cipher = evp_fetch(side, name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = true;
    for (int i = 0; good && i < PIPES; i++) {
        uint8_t out[DATA + 16];
        int n, m;
        good = GOOD(EVP_CipherInit_ex2(ctx, cipher, key, iv + i, 1, NULL)) &&
               GOOD(EVP_CipherUpdate(ctx, out, &n, data, len[i])) &&
               GOOD(EVP_CipherFinal_ex(ctx, out + n, &m));
        if (good)
            memory_record(trace, out, (size_t)(n + m));
    }
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

static struct {
    void *(*import)(OSSL_LIB_CTX *, const char *, unsigned char *, size_t, const char *);
    int (*init)(EVP_CIPHER_CTX *, const EVP_CIPHER *, void *, const unsigned char *, size_t, int,
                const OSSL_PARAM[]);
    void (*release)(void *);
} skey;

static bool find_skey(void)
{
    *(void **)&skey.import = dlsym(RTLD_DEFAULT, "EVP_SKEY_import_raw_key");
    *(void **)&skey.init = dlsym(RTLD_DEFAULT, "EVP_CipherInit_SKEY");
    *(void **)&skey.release = dlsym(RTLD_DEFAULT, "EVP_SKEY_free");
    return skey.import != NULL && skey.init != NULL && skey.release != NULL;
}

static bool skey_scenario(const void *arg, struct memory_trace *trace)
{
    const struct algorithm *a = arg;
    uint8_t out[DATA];
    int n;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(a->side->libctx, a->name, NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    void *object = skey.import(a->side->libctx, "AES", key, 16, NULL);
    const bool good = cipher != NULL && ctx != NULL && object != NULL &&
                      skey.init(ctx, cipher, object, iv, 16, 1, NULL) > 0 &&
                      GOOD(EVP_CipherUpdate(ctx, out, &n, data, DATA));
    if (good)
        memory_record(trace, out, (size_t)n);
    skey.release(object);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* ---- Loading -------------------------------------------------------------------------------- */

/* Loads the provider into a new library context and fetches algorithms. Suspends the failures in
 * OSSL_LIB_CTX_new() and OSSL_LIB_CTX_free(), because these functions leak memory after a failure.
 * OSSL_LIB_CTX_free() even leaks providers. */
static bool load_scenario(const void *arg, struct memory_trace *trace)
{
    (void)arg;
    long until_failure = memory_suspend();
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    memory.until_failure = until_failure;
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, "tenrounds");
    EVP_CIPHER *cipher = provider == NULL ? NULL : EVP_CIPHER_fetch(libctx, "AES-128-GCM", NULL);
    EVP_MAC *mac = provider == NULL ? NULL : EVP_MAC_fetch(libctx, "CMAC", NULL);
    const bool good = cipher != NULL && mac != NULL;
    if (good)
        memory_record(trace, EVP_CIPHER_get0_name(cipher), strlen("AES-128-GCM"));
    EVP_CIPHER_free(cipher);
    EVP_MAC_free(mac);
    if (provider != NULL)
        OSSL_PROVIDER_unload(provider);
    until_failure = memory_suspend();
    OSSL_LIB_CTX_free(libctx);
    memory.until_failure = until_failure;
    return good;
}

/* ---- The tests ------------------------------------------------------------------------------ */

static struct evp_side ours, theirs;
static bool usable_after_jumps = true;
static long jumps;

#define MAX_CIPHERS 80
static const char *names[MAX_CIPHERS];
static unsigned ciphers;

static void add_name(EVP_CIPHER *cipher, void *arg)
{
    (void)arg;
    if (EVP_CIPHER_get0_provider(cipher) == ours.provider && ciphers < MAX_CIPHERS)
        names[ciphers++] = EVP_CIPHER_get0_name(cipher);
}

/* Fails each allocation of a scenario. Then calls longjmp() inside each allocation of the
 * provider. */
static void test_scenario(const char *title, memory_scenario *scenario, const void *arg,
                          const struct memory_trace *expected)
{
    memory_test(title, scenario, arg, expected);
    usable_after_jumps &= memory_jumps("openssl/provider/", scenario, arg, expected, &jumps);
}

/* Tests a scenario with a cipher of tenrounds. The expected results come from the default provider,
 * or from tenrounds if the default provider lacks the cipher. */
static void test(const char *what, memory_scenario *scenario, const char *name)
{
    static struct memory_trace expected;
    const struct algorithm mine = {&ours, name}, other = {&theirs, name};
    char title[100];
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(theirs.libctx, name, NULL);
    EVP_CIPHER_free(cipher);
    snprintf(title, sizeof(title), "%s, %s", name, what);
    if (!memory_run(scenario, cipher != NULL ? &other : &mine, &expected))
        tap_ok(false, "%s: the expected results", title);
    else
        test_scenario(title, scenario, &mine, &expected);
}

static void test_ciphers(void)
{
    static const char *const records[] = {"AES-128-GCM", "AES-128-CCM", "AES-128-CBC-HMAC-SHA1",
                                          "AES-128-CBC-HMAC-SHA256"};
    for (unsigned i = 0; i < ciphers; i++)
        test("messages", cipher_scenario, names[i]);
    for (unsigned i = 0; i < 4; i++) {
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(ours.libctx, records[i], NULL);
        if (cipher == NULL) /* without SHA instructions */
            tap_skip(1, "sha_ni", "tenrounds has no %s here", records[i]);
        else
            test("records", record_scenario, records[i]);
        EVP_CIPHER_free(cipher);
    }
    test("records", cbc_record_scenario, "AES-128-CBC");
}

static void test_macs(void)
{
    static struct memory_trace expected;
    struct evp_side both = evp_open("tenrounds");
    OSSL_PROVIDER *also = OSSL_PROVIDER_load(both.libctx, "default");
    if (also == NULL || !EVP_set_default_properties(both.libctx, "?provider=tenrounds"))
        exit(2);
    for (unsigned i = 0; i < MACS; i++) {
        char title[100];
        const struct mac_of mine = {both.libctx, &macs[i]}, other = {theirs.libctx, &macs[i]};
        snprintf(title, sizeof(title), "%s with %s", macs[i].name, macs[i].cipher);
        if (memory_run(mac_scenario, &other, &expected))
            test_scenario(title, mac_scenario, &mine, &expected);
        else
            tap_ok(false, "%s: the expected results", title);
    }
    OSSL_PROVIDER_unload(also);
    evp_close(&both);
}

/* Tests functions that OpenSSL has since 3.5. Their absence is a success and not a skip, because
 * Debian 12 has OpenSSL 3.0. */
static void test_later(void)
{
    static struct memory_trace expected;
    static const char *const pipelines[] = {"AES-128-CBC", "AES-128-GCM"};
    if (!find_pipeline_api() || !find_skey()) {
        for (size_t i = 0; i < PIPELINES; i++)
            tap_ok(true, "OpenSSL %s has no pipelines", OpenSSL_version(OPENSSL_VERSION_STRING));
        tap_ok(true, "OpenSSL %s has no EVP_SKEY", OpenSSL_version(OPENSSL_VERSION_STRING));
        return;
    }
    for (size_t i = 0; i < PIPELINES; i++) {
        const struct algorithm mine = {&ours, pipelines[i]};
        expected.len = 0;
        if (expect_pipeline(&theirs, mine.name, &expected))
            test_scenario(i == 0 ? "a pipeline" : "a pipeline of GCM", pipeline_scenario, &mine,
                          &expected);
    }
    test("a key object", skey_scenario, "AES-128-CTR");
}

int main(int argc, char **argv)
{
    static struct memory_trace expected;
    memory_begin();
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)(3 * i + 1);
    for (size_t i = 0; i < sizeof(iv); i++)
        iv[i] = (uint8_t)(5 * i + 2);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(7 * i + 3);
    ours = evp_open("tenrounds");
    theirs = evp_open("default");
    EVP_CIPHER_do_all_provided(ours.libctx, add_name, NULL);
    tap_plan(1 + ciphers + 5 + MACS + 1 + PIPELINES + 1);
    memory_record(&expected, "AES-128-GCM", strlen("AES-128-GCM"));
    memory.libcrypto_may_leak = true; /* libcrypto can leak when it stores algorithms */
    memory.stride = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    memory_test("loading", load_scenario, NULL, &expected);
    memory.libcrypto_may_leak = false;
    memory.stride = 1;
    test_ciphers();
    test_macs();
    test_later();
    tap_ok(usable_after_jumps && jumps > 0,
           "everything works after longjmp() out of an allocation (%ld times)", jumps);
    evp_close(&theirs);
    evp_close(&ours);
    return tap_done();
}
