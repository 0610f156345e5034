/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that no call on data makes a system call. The test runs the provider's ciphers in both
 * directions, its MACs, and the engine. It also runs records of SSL 3.0 to TLS 1.2 as libssl
 * passes them. Programs forbid system calls with seccomp(2) once they have set up their keys. In
 * connections of TLS 1.0 to 1.3, libssl itself makes system calls for its random numbers. There, a
 * connection with tenrounds must make no more than one with the default provider.
 *
 * A child process does the work. The parent traces it with ptrace(2), and counts the system calls
 * of each operation that the child announces in shared memory. Two calls draw random IVs, as in the
 * default provider, and are not tested. They are GCM without an IV, and the sealing of several
 * records of AES-CBC-HMAC in one call.
 */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sides.h"

#if __has_include(<openssl/engine.h>)
#    include <openssl/engine.h>
#endif
#include <openssl/prov_ssl.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 4096

static struct {
    unsigned now, count; /* the current operation, or 0 outside any; the number of operations */
    struct operation {
        char name[120];
        unsigned calls;
        uint64_t first; /* the number of the first system call */
        bool good;      /* the operation succeeded */
        bool stock;     /* the default provider, the limit of the next operation */
    } list[MOST];
} * shared;

/* ---- The parent ------------------------------------------------------------------------------ */

/* libssl may allocate memory for a record. */
static bool is_for_memory(uint64_t number)
{
    return number == SYS_brk || number == SYS_munmap || number == SYS_madvise ||
#ifdef SYS_mmap2
           number == SYS_mmap2 ||
#endif
           number == SYS_mmap;
}

static void count_call(pid_t child)
{
    struct __ptrace_syscall_info call;
    memset(&call, 0, sizeof(call));
    if (shared->now == 0 ||
        ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(call), &call) <= 0 ||
        call.op != PTRACE_SYSCALL_INFO_ENTRY)
        return;
    struct operation *op = &shared->list[shared->now - 1];
    const bool connection = op->stock || (shared->now > 1 && op[-1].stock);
    if (connection && is_for_memory(call.entry.nr))
        return;
    if (op->calls++ == 0)
        op->first = call.entry.nr;
}

/* Traces the child until its end. Returns its status. */
static int trace(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        const int sig = WSTOPSIG(status);
        if (sig == (SIGTRAP | 0x80))
            count_call(child);
        ptrace(PTRACE_SYSCALL, child, NULL,
               (void *)(intptr_t)(sig == (SIGTRAP | 0x80) || sig == SIGSTOP ? 0 : sig));
    }
    return status;
}

static void report(void)
{
    for (unsigned i = 0; i < shared->count; i++) {
        const struct operation *op = &shared->list[i];
        const unsigned limit = i != 0 && op[-1].stock ? op[-1].calls : 0;
        if (op->stock)
            continue;
        if (!op->good)
            tap_diag("the operation failed");
        if (op->calls > limit)
            tap_diag("%u system calls, at most %u expected; the first has the number %llu",
                     op->calls, limit, (unsigned long long)op->first);
        tap_ok(op->good && op->calls <= limit, "%s", op->name);
    }
}

/* ---- Operations, in the child ---------------------------------------------------------------- */

static void begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void begin(const char *format, ...)
{
    if (shared->count == MOST)
        _exit(3);
    va_list args;
    va_start(args, format);
    vsnprintf(shared->list[shared->count].name, sizeof(shared->list[0].name), format, args);
    va_end(args);
    __atomic_store_n(&shared->now, ++shared->count, __ATOMIC_SEQ_CST);
}

static void end(bool good)
{
    __atomic_store_n(&shared->now, 0, __ATOMIC_SEQ_CST);
    shared->list[shared->count - 1].good = good;
}

/* The key of a cipher. The halves differ, as XTS demands. */
static const uint8_t raw[128] = "a key that is long enough for every cipher, with unequal halves";
static const uint8_t iv[16] = {1, 2, 3};
#define TEXT 1040

/* Where the function table of a cipher comes from. */
struct source {
    const EVP_CIPHER *cipher;
    ENGINE *engine;
    const char *name;
};

static EVP_CIPHER_CTX *context(const struct source *s, int encrypt)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (ctx == NULL)
        _exit(3);
    EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    if (EVP_CipherInit_ex(ctx, s->cipher, s->engine, NULL, NULL, encrypt) <= 0)
        _exit(3);
    if (EVP_CIPHER_get_mode(s->cipher) == EVP_CIPH_CCM_MODE)
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, NULL);
    if (EVP_CipherInit_ex(ctx, NULL, NULL, raw, iv, encrypt) <= 0)
        _exit(3);
    return ctx;
}

static bool is_aead(const EVP_CIPHER *cipher)
{
    return (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
}

/* Whether a message takes one call of update. */
static bool in_one_call(const EVP_CIPHER *cipher)
{
    const int mode = EVP_CIPHER_get_mode(cipher);
    return mode == EVP_CIPH_CCM_MODE || mode == EVP_CIPH_XTS_MODE || mode == EVP_CIPH_WRAP_MODE ||
           mode == EVP_CIPH_SIV_MODE || (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_CTS) != 0 ||
           strstr(EVP_CIPHER_get0_name(cipher), "GCM-SIV") != NULL;
}

/* Processes the next message: the IV, AAD, data in one call or two, the tag. */
static bool message(EVP_CIPHER_CTX *ctx, uint8_t *out, int *out_len, const uint8_t *in, int len,
                    uint8_t tag[16])
{
    const EVP_CIPHER *cipher = EVP_CIPHER_CTX_get0_cipher(ctx);
    const bool encrypt = EVP_CIPHER_CTX_is_encrypting(ctx), aead = is_aead(cipher);
    const int first = in_one_call(cipher) ? len : 7;
    int n = 0, more = 0, last = 0;
    bool good = EVP_CipherInit_ex(ctx, NULL, NULL, NULL, iv, -1) > 0;
    if (aead && !encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, tag) > 0;
    if (EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE)
        good = good && EVP_CipherUpdate(ctx, NULL, &n, NULL, len) > 0;
    if (aead)
        good = good && EVP_CipherUpdate(ctx, NULL, &n, raw, 33) > 0;
    good = good && EVP_CipherUpdate(ctx, out, &n, in, first) > 0;
    if (first < len)
        good = good && EVP_CipherUpdate(ctx, out + n, &more, in + first, len - first) > 0;
    if (!aead || encrypt || EVP_CIPHER_get_mode(cipher) != EVP_CIPH_CCM_MODE)
        good = good && EVP_CipherFinal_ex(ctx, out + n + more, &last) > 0;
    if (aead && encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    *out_len = n + more + last;
    return good;
}

/* Encrypts and decrypts messages of one cipher. */
static void use(const struct source *s)
{
    static const int lengths[] = {TEXT, 64};
    static uint8_t text[TEXT], sealed[TEXT + 32], opened[TEXT + 64];
    for (int i = 0; i < 2; i++) {
        EVP_CIPHER_CTX *seals = context(s, 1), *opens = context(s, 0);
        uint8_t tag[16];
        int n = 0, back = 0;
        begin("%s: encrypts %d bytes", s->name, lengths[i]);
        end(message(seals, sealed, &n, text, lengths[i], tag));
        begin("%s: decrypts %d bytes", s->name, lengths[i]);
        const bool good = message(opens, opened, &back, sealed, n, tag);
        end(good && back == lengths[i] && memcmp(opened, text, (size_t)back) == 0);
        EVP_CIPHER_CTX_free(seals);
        EVP_CIPHER_CTX_free(opens);
    }
}

/* ---- Records, as libssl passes them to a cipher ----------------------------------------------- */

static const struct {
    unsigned version;
    const char *name;
} versions[] = {{SSL3_VERSION, "SSL 3.0"},     {TLS1_VERSION, "TLS 1.0"},
                {TLS1_1_VERSION, "TLS 1.1"},   {TLS1_2_VERSION, "TLS 1.2"},
                {DTLS1_BAD_VER, "DTLS 0.9"},   {DTLS1_VERSION, "DTLS 1.0"},
                {DTLS1_2_VERSION, "DTLS 1.2"}, {0, NULL}};

static EVP_CIPHER_CTX *cbc_context(const struct source *s, unsigned version, size_t mac,
                                   int encrypt)
{
    EVP_CIPHER_CTX *ctx = context(s, encrypt);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                                 OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac),
                                 OSSL_PARAM_END};
    if (EVP_CIPHER_CTX_set_params(ctx, params) <= 0)
        _exit(3);
    return ctx;
}

/* Seals a CBC record, and opens it with right and with wrong padding. libssl has verified a record
 * without a MAC, so wrong padding is an error there. */
static void cbc_records(const struct source *s, size_t mac)
{
    for (unsigned v = 0; versions[v].version != 0; v++) {
        uint8_t sealed[512] = {0}, record[512];
        EVP_CIPHER_CTX *seals = cbc_context(s, versions[v].version, mac, 1);
        int n = 0, back = 0;
        begin("%s: seals a record of %s, MAC of %zu bytes", s->name, versions[v].name, mac);
        end(EVP_CipherUpdate(seals, sealed, &n, sealed, 300) > 0);
        for (int wrong = 0; wrong < 2; wrong++) {
            EVP_CIPHER_CTX *opens = cbc_context(s, versions[v].version, mac, 0);
            void *at = NULL;
            OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &at, mac),
                                OSSL_PARAM_END};
            memcpy(record, sealed, sizeof(record));
            record[n - 17] ^= wrong ? 0x81 : 0; /* changes the length of the padding */
            begin("%s: opens a record of %s with %s padding, MAC of %zu bytes", s->name,
                  versions[v].name, wrong ? "wrong" : "right", mac);
            const bool opened = EVP_CipherUpdate(opens, record, &back, record, n) > 0;
            end(opened ? mac == 0 || (EVP_CIPHER_CTX_get_params(opens, get) > 0 && at != NULL)
                       : wrong && mac == 0);
            EVP_CIPHER_CTX_free(opens);
        }
        EVP_CIPHER_CTX_free(seals);
    }
}

static void put_aad(uint8_t aad[13], unsigned version, size_t len)
{
    const uint8_t is[13] = {[8] = 23,
                            [9] = (uint8_t)(version >> 8),
                            [10] = (uint8_t)version,
                            [11] = (uint8_t)(len >> 8),
                            [12] = (uint8_t)len};
    memcpy(aad, is, 13);
}

/* Seals and opens a record after EVP_CTRL_AEAD_TLS1_AAD. The explicit IV, if there is one, has
 * `skip` bytes. */
static void aad_record(const struct source *s, const char *version_name, unsigned version,
                       size_t skip, EVP_CIPHER_CTX *seals, EVP_CIPHER_CTX *opens)
{
    const size_t len = 300 + skip;
    uint8_t record[512] = {0}, aad[13];
    put_aad(aad, version, len);
    begin("%s: seals a record of %s", s->name, version_name);
    const int pad = EVP_CIPHER_CTX_ctrl(seals, EVP_CTRL_AEAD_TLS1_AAD, 13, aad);
    const int total = (int)len + pad;
    const int sealed = pad > 0 ? EVP_Cipher(seals, record, record, (unsigned)total) : 0;
    end(sealed > 0);
    put_aad(aad, version, (size_t)total);
    begin("%s: opens a record of %s", s->name, version_name);
    end(EVP_CIPHER_CTX_ctrl(opens, EVP_CTRL_AEAD_TLS1_AAD, 13, aad) > 0 &&
        EVP_Cipher(opens, record, record, (unsigned)total) > 0);
}

static void aead_records(const struct source *s)
{
    const bool ccm = EVP_CIPHER_get_mode(s->cipher) == EVP_CIPH_CCM_MODE;
    EVP_CIPHER_CTX *ctx[2];
    for (int i = 0; i < 2; i++) {
        ctx[i] = EVP_CIPHER_CTX_new();
        if (EVP_CipherInit_ex(ctx[i], s->cipher, s->engine, NULL, NULL, i == 0) <= 0 ||
            EVP_CIPHER_CTX_ctrl(ctx[i], EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) <= 0 ||
            (ccm && EVP_CIPHER_CTX_ctrl(ctx[i], EVP_CTRL_AEAD_SET_TAG, 16, NULL) <= 0) ||
            EVP_CipherInit_ex(ctx[i], NULL, NULL, raw, NULL, i == 0) <= 0 ||
            EVP_CIPHER_CTX_ctrl(ctx[i], EVP_CTRL_AEAD_SET_IV_FIXED, 4, (void *)(uintptr_t)iv) <= 0)
            _exit(3);
    }
    aad_record(s, "TLS 1.2", TLS1_2_VERSION, 8, ctx[0], ctx[1]);
    EVP_CIPHER_CTX_free(ctx[0]);
    EVP_CIPHER_CTX_free(ctx[1]);
}

static void stitched_records(const struct source *s)
{
    for (unsigned v = 1; v < 4; v++) { /* TLS 1.0 to 1.2 */
        EVP_CIPHER_CTX *ctx[2] = {context(s, 1), context(s, 0)};
        unsigned version = versions[v].version;
        for (int i = 0; i < 2; i++)
            if (EVP_CIPHER_CTX_ctrl(ctx[i], EVP_CTRL_AEAD_SET_MAC_KEY, 32,
                                    (void *)(uintptr_t)raw) <= 0)
                _exit(3);
        aad_record(s, versions[v].name, version, version >= TLS1_1_VERSION ? 16 : 0, ctx[0],
                   ctx[1]);
        EVP_CIPHER_CTX_free(ctx[0]);
        EVP_CIPHER_CTX_free(ctx[1]);
    }
}

/* ---- The provider and the engine ------------------------------------------------------------- */

static void each_cipher(EVP_CIPHER *cipher, void *unused)
{
    const struct source s = {cipher, NULL, EVP_CIPHER_get0_name(cipher)};
    const int mode = EVP_CIPHER_get_mode(cipher);
    (void)unused;
    if (strstr(s.name, "HMAC") != NULL) {
        stitched_records(&s);
        return;
    }
    use(&s);
    if (mode == EVP_CIPH_CBC_MODE && strstr(s.name, "CTS") == NULL)
        for (size_t mac = 0; mac <= 48; mac += 16)
            cbc_records(&s, mac);
    if (mode == EVP_CIPH_GCM_MODE || mode == EVP_CIPH_CCM_MODE)
        aead_records(&s);
}

static void use_mac(const struct evp_side *side, const char *name, const char *cipher)
{
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)(uintptr_t)cipher, 0),
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)(uintptr_t)iv, 12),
        OSSL_PARAM_END};
    const OSSL_PARAM cmac_params[] = {params[0], OSSL_PARAM_END};
    EVP_MAC *mac = EVP_MAC_fetch(side->libctx, name, "provider=tenrounds");
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
    const bool gmac = strcmp(name, "GMAC") == 0;
    uint8_t tag[16];
    size_t len;
    if (ctx == NULL || !EVP_MAC_init(ctx, raw, 32, gmac ? params : cmac_params))
        _exit(3);
    begin("%s with %s", name, cipher);
    bool good = EVP_MAC_update(ctx, raw, sizeof(raw)) && EVP_MAC_update(ctx, raw, 7) &&
                EVP_MAC_final(ctx, tag, &len, sizeof(tag));
    if (!gmac) /* the next message under the same key */
        good = good && EVP_MAC_init(ctx, NULL, 0, NULL) && EVP_MAC_update(ctx, raw, 40) &&
               EVP_MAC_final(ctx, tag, &len, sizeof(tag));
    end(good);
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
}

static void use_engine(void)
{
#ifndef WITHOUT_ENGINE
    const int *nids;
    ENGINE *engine = ENGINE_by_id("tenrounds");
    if (engine == NULL || !ENGINE_init(engine)) {
        ERR_print_errors_fp(stderr);
        _exit(3);
    }
    const int n = ENGINE_get_ciphers(engine)(engine, NULL, &nids, 0);
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof(name), "engine, %s", OBJ_nid2sn(nids[i]));
        const struct source s = {EVP_get_cipherbynid(nids[i]), engine, name};
        const int mode = EVP_CIPHER_get_mode(s.cipher);
        use(&s);
        if (mode == EVP_CIPH_GCM_MODE || mode == EVP_CIPH_CCM_MODE)
            aead_records(&s);
    }
    ENGINE_finish(engine);
    ENGINE_free(engine);
#endif
}

/* ---- Connections ----------------------------------------------------------------------------- */

static X509 *certificate(EVP_PKEY *key)
{
    X509 *x = X509_new();
    if (x == NULL || !X509_set_version(x, 2) ||
        X509_gmtime_adj(X509_getm_notBefore(x), 0) == NULL ||
        X509_gmtime_adj(X509_getm_notAfter(x), 86400) == NULL || !X509_set_pubkey(x, key) ||
        X509_sign(x, key, EVP_sha256()) == 0)
        _exit(3);
    return x;
}

static SSL *ssl_of(const struct evp_side *side, bool server, int version, const char *suite,
                   EVP_PKEY *key, X509 *cert)
{
    SSL_CTX *c = SSL_CTX_new_ex(side->libctx, "?tenrounds.aes=yes",
                                server ? TLS_server_method() : TLS_client_method());
    char list[128];
    snprintf(list, sizeof(list), "%s:@SECLEVEL=0", suite);
    if (c == NULL || !SSL_CTX_set_min_proto_version(c, version) ||
        !SSL_CTX_set_max_proto_version(c, version) ||
        !(version == TLS1_3_VERSION ? SSL_CTX_set_ciphersuites(c, suite)
                                    : SSL_CTX_set_cipher_list(c, list)) ||
        (server && (!SSL_CTX_use_certificate(c, cert) || !SSL_CTX_use_PrivateKey(c, key))))
        _exit(3);
    SSL_CTX_set_security_level(c, 0);
    SSL_CTX_set_options(c, SSL_OP_NO_ENCRYPT_THEN_MAC);
    SSL *ssl = SSL_new(c);
    SSL_CTX_free(c);
    return ssl;
}

/* Sends data in both directions. */
static bool transfer(SSL *peer[2])
{
    static char sent[20000], got[20000];
    for (int i = 0; i < 2; i++) {
        int n, all = 0;
        if (SSL_write(peer[i], sent, sizeof(sent)) != sizeof(sent))
            return false;
        while (all < (int)sizeof(got) && (n = SSL_read(peer[!i], got, sizeof(got))) > 0)
            all += n;
        if (all != (int)sizeof(got))
            return false;
    }
    return true;
}

/* The first transfers allocate memory and seed generators. */
static void connect_by(const struct evp_side *side, bool stock, int version, const char *suite,
                       EVP_PKEY *key, X509 *cert)
{
    SSL *peer[2];
    BIO *wire[2];
    if (!BIO_new_bio_pair(&wire[0], 1 << 16, &wire[1], 1 << 16))
        _exit(3);
    for (int i = 0; i < 2; i++) {
        peer[i] = ssl_of(side, i == 1, version, suite, key, cert);
        SSL_set_bio(peer[i], wire[i], wire[i]);
        (i == 1 ? SSL_set_accept_state : SSL_set_connect_state)(peer[i]);
    }
    for (int i = 0; i < 10; i++)
        SSL_do_handshake(peer[i % 2]);
    if (!SSL_is_init_finished(peer[0]) || !SSL_is_init_finished(peer[1])) {
        ERR_print_errors_fp(stderr);
        _exit(3);
    }
    bool good = transfer(peer) && transfer(peer);
    begin("%s, %s: records", SSL_get_version(peer[0]), suite);
    shared->list[shared->count - 1].stock = stock;
    for (int i = 0; i < 5; i++)
        good = good && transfer(peer);
    end(good);
    SSL_free(peer[0]);
    SSL_free(peer[1]);
}

static void use_connections(void)
{
    static const struct {
        int from, to;
        const char *suite;
    } suites[] = {
        {TLS1_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA"},
        {TLS1_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA384"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-CCM"},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES256-CCM8"},
        {TLS1_3_VERSION, TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256"},
        {TLS1_3_VERSION, TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384"},
        {TLS1_3_VERSION, TLS1_3_VERSION, "TLS_AES_128_CCM_SHA256"},
        {TLS1_3_VERSION, TLS1_3_VERSION, "TLS_AES_128_CCM_8_SHA256"},
    };
    struct evp_side stock = evp_open("default"), ours = evp_open("default");
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(ours.libctx, "tenrounds");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = certificate(key);
    for (size_t i = 0; provider != NULL && i < sizeof(suites) / sizeof(suites[0]); i++) {
        for (int version = suites[i].from; version <= suites[i].to; version++) {
            connect_by(&stock, true, version, suites[i].suite, key, cert);
            connect_by(&ours, false, version, suites[i].suite, key, cert);
        }
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    OSSL_PROVIDER_unload(provider);
    evp_close(&ours);
    evp_close(&stock);
}

static void work(void)
{
    struct evp_side side = evp_open("tenrounds");
    /* libcrypto's first error initializes its queue, and wakes whoever waits for that. */
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    ERR_clear_error();
    EVP_CIPHER_do_all_provided(side.libctx, each_cipher, NULL);
    use_mac(&side, "CMAC", "AES-256-CBC");
    use_mac(&side, "GMAC", "AES-256-GCM");
    evp_close(&side);
    use_connections();
    use_engine();
}

int main(void)
{
    int status;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        work();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        tap_plan(1);
        tap_skip(1, "ptrace", "this system forbids ptrace(2)");
        return tap_done();
    }
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    status = trace(child);
    unsigned results = 1;
    for (unsigned i = 0; i < shared->count; i++)
        results += !shared->list[i].stock;
    tap_plan(results);
    report();
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && results > 200,
           "the child did all its work: %u operations", results - 1);
    return tap_done();
}
