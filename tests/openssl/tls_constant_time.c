/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that TLS records are opened in constant time. No branch or index may depend on the
 * contents, especially not on the padding length or the position of the MAC. With AES-CBC-HMAC,
 * neither opening nor sealing may depend on the keys. The test runs under valgrind or the tracker
 * (../core/secrets.h). The code with SHA instructions runs only under the tracker, because valgrind
 * does not know these instructions.
 *
 *   openssl-tls-constant-time [--whole]
 *
 * Under valgrind, the test takes all lengths. Under the tracker, it does so only with --whole.
 */
#include "../core/secrets.h"
#include "dispatch/backend.h"
#include "sha_portable.h"
#include "stitched.h"
#include "tap.h"
#include "tls_record.h"

#include <openssl/prov_ssl.h>

/* Whether to take all lengths. */
static bool whole;

/* Returns the step between lengths. */
static size_t stride(size_t step)
{
    return whole ? step : 17 * step;
}

static const unsigned versions[] = {SSL3_VERSION, TLS1_VERSION, TLS1_2_VERSION};
static const size_t mac_sizes[] = {16, 20, 32, 48};

/* Writes a record whose last byte announces n bytes of padding. If `right` is true, the padding is
 * valid. */
static void compose(uint8_t *record, size_t len, size_t n, bool right)
{
    for (size_t i = 0; i < len; i++)
        record[i] = (uint8_t)(i * 5 + 3);
    for (size_t i = 1; right && i <= n; i++)
        record[len - i] = (uint8_t)(n - 1);
    record[len - 1] = (uint8_t)(n - 1);
}

static bool open_secretly(unsigned version, size_t mac_size, size_t len, size_t n, bool right)
{
    static const uint8_t substitute[TRP_TLS_MAC] = {1};
    uint8_t record[512], mac[2][64];
    size_t payload[2];
    bool ok[2];
    compose(record, len, n, right);
    ok[0] = trp_tls_open(version, record, len, mac[0], mac_size, substitute, &payload[0]) == NULL;
    VALGRIND_MAKE_MEM_UNDEFINED(record, len);
    ok[1] = trp_tls_open(version, record, len, mac[1], mac_size, substitute, &payload[1]) == NULL;
    VALGRIND_MAKE_MEM_DEFINED(record, len);
    VALGRIND_MAKE_MEM_DEFINED(&payload[1], sizeof(payload[1]));
    VALGRIND_MAKE_MEM_DEFINED(mac[1], sizeof(mac[1]));
    const size_t skip = version == TLS1_2_VERSION ? 16 : 0;
    const bool fits = right && n + mac_size + skip <= len && (version != SSL3_VERSION || n <= 16);
    return ok[0] && ok[1] && payload[0] == payload[1] &&
           (!fits || memcmp(mac[0], mac[1], mac_size) == 0);
}

/* Initializes a context with keys, for a record of this version. */
static void set_keys(struct trp_stitched *c, const struct trossl_sha_code *sha, size_t key_len,
                     unsigned version)
{
    static const uint8_t key[64] = {1, 2, 3};
    memset(c, 0, sizeof(*c));
    c->sha = sha;
    c->aad[9] = (uint8_t)(version >> 8);
    c->aad[10] = (uint8_t)version;
    c->base.cipher.core.key = &c->base.key;
    if (tr_aes_set_key(&c->base.key, NULL, key, key_len) != TR_OK)
        exit(2);
    trp_stitched_mac_key(c, key, sha->digest_len);
}

/* Makes both keys undefined for memcheck. The number of rounds and the backend are not secret. */
static void hide_keys(struct trp_stitched *c)
{
    VALGRIND_MAKE_MEM_UNDEFINED(c->base.key.enc, sizeof(c->base.key.enc));
    VALGRIND_MAKE_MEM_UNDEFINED(c->base.key.dec, sizeof(c->base.key.dec));
    VALGRIND_MAKE_MEM_UNDEFINED(c->head.h, sizeof(c->head.h));
    VALGRIND_MAKE_MEM_UNDEFINED(c->tail.h, sizeof(c->tail.h));
}

static bool seal_secretly(const struct trossl_sha_code *sha, size_t key_len, unsigned version,
                          size_t len)
{
    uint8_t record[2][1024] = {{0}};
    const size_t sealed = (len + sha->digest_len + 16) / 16 * 16;
    int ok = 1;
    for (int i = 0; i < 2; i++) {
        struct trp_stitched c;
        set_keys(&c, sha, key_len, version);
        c.payload_len = len;
        if (i == 1) {
            hide_keys(&c);
            VALGRIND_MAKE_MEM_UNDEFINED(record[i], len);
        }
        ok &= trp_stitched_crypt(&c, record[i], record[i], sealed);
    }
    VALGRIND_MAKE_MEM_DEFINED(record[1], sizeof(record[1]));
    return ok && memcmp(record[0], record[1], sealed) == 0;
}

/* Verifies a record with n bytes of padding, first with the right MAC and then with a wrong MAC. */
static bool verify_secretly(const struct trossl_sha_code *sha, size_t len, size_t n)
{
    uint8_t record[1024];
    struct trp_stitched c;
    set_keys(&c, sha, 16, TLS1_VERSION);
    struct trossl_sha md = c.head;
    const size_t payload = len - n - sha->digest_len;
    compose(record, len, n, true);
    c.aad[11] = (uint8_t)(payload >> 8);
    c.aad[12] = (uint8_t)payload;
    trossl_sha_update(sha, &md, c.aad, TRP_AAD);
    trossl_sha_update(sha, &md, record, payload);
    trossl_sha_end(sha, &md, record + payload);
    md = c.tail;
    trossl_sha_update(sha, &md, record + payload, sha->digest_len);
    trossl_sha_end(sha, &md, record + payload);
    size_t wrong[2];
    for (int i = 0; i < 2; i++) {
        record[payload] ^= (uint8_t)i;
        hide_keys(&c);
        VALGRIND_MAKE_MEM_UNDEFINED(record, len);
        wrong[i] = trp_stitched_verify(&c, record, len);
        VALGRIND_MAKE_MEM_DEFINED(record, len);
        VALGRIND_MAKE_MEM_DEFINED(&c, sizeof(c));
        VALGRIND_MAKE_MEM_DEFINED(&wrong[i], sizeof(wrong[i]));
    }
    return wrong[0] == 0 && wrong[1] != 0;
}

static void test_stitched(const struct trossl_sha_code *sha)
{
    const unsigned before = VALGRIND_COUNT_ERRORS;
    bool sealed = true, opened = true;
    for (size_t len = 16; len < 500; len += stride(7)) {
        sealed &= seal_secretly(sha, 16, TLS1_VERSION, len) &&
                  seal_secretly(sha, 32, TLS1_2_VERSION, len);
    }
    for (size_t n = 1; n <= 256; n += stride(3)) {
        for (size_t len = 304; len <= 560; len += 128)
            opened &= verify_secretly(sha, len, n);
        if (n + sha->digest_len < 112)
            opened &= verify_secretly(sha, 112, n);
    }
    /* Counts before any output, because memcheck reports false errors in strlen() of a static
     * libc. */
    const unsigned places = VALGRIND_COUNT_ERRORS - before;
    tap_ok(sealed && places == 0, "%s: sealing a record depends on neither keys nor data",
           sha->name);
    tap_ok(opened && places == 0, "%s: opening a record depends on neither keys nor data",
           sha->name);
}

/* On i386, marks the thread block of libc as defined. Valgrind needs a static program there, and
 * memcheck does not know that the block begins as zeros. libc reads the block before a system
 * call. */
static void know_thread_block(void)
{
#if defined(__i386__)
    char *block;
    __asm__("mov %%gs:0, %0" : "=r"(block));
    VALGRIND_MAKE_MEM_DEFINED(block - 512, 1536);
#endif
}

/* Tests the code with SHA instructions, if the checker and the processor know them. */
static void test_instructions(void)
{
#if TR_X86
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    const tr_features needed = TR_FEATURE_SHA | TR_FEATURE_SSSE3 | TR_FEATURE_AES;
    if (by_tracker() && (cpu.usable & needed) == needed) {
        test_stitched(&trossl_sha1_x86);
        test_stitched(&trossl_sha256_x86);
        return;
    }
#endif
    if (by_tracker())
        tap_skip(4, "sha_ni", "this processor has no SHA instructions");
}

int main(int argc, char **argv)
{
    know_thread_block();
    whole = !by_tracker() || (argc > 1 && strcmp(argv[1], "--whole") == 0);
    tap_plan(by_tracker() ? 2 + 8 : 3 + 4);
    test_stitched(&sha1_portable);
    test_stitched(&sha256_portable);
    test_instructions();
    const unsigned before = VALGRIND_COUNT_ERRORS;
    bool alike = true;
    for (unsigned v = 0; v < 3; v++) {
        for (unsigned m = 0; m < 4; m++) {
            for (size_t n = 1; n <= 256; n += stride(5)) {
                alike &= open_secretly(versions[v], mac_sizes[m], 384, n, true);
                alike &= open_secretly(versions[v], mac_sizes[m], 384, n, false);
                alike &= open_secretly(versions[v], mac_sizes[m], 80, n, true);
            }
        }
    }
    const unsigned errors = VALGRIND_COUNT_ERRORS - before;
    tap_ok(alike, "secret and public records open alike");
    tap_ok(errors == 0, "no branch or index depends on a record's contents (%u reports)", errors);
    if (by_tracker()) /* the tracker's own tests check its reports */
        return tap_done();

    /* Checks that memcheck reports a branch on a secret. */
    uint8_t secret = 1;
    unsigned noticed = 0 - VALGRIND_COUNT_ERRORS;
    VALGRIND_MAKE_MEM_UNDEFINED(&secret, sizeof(secret));
    if (secret == 1)
        noticed += VALGRIND_COUNT_ERRORS;
    VALGRIND_MAKE_MEM_DEFINED(&secret, sizeof(secret));
    tap_ok(noticed == 1, "memcheck reports a branch on a secret");
    return tap_done();
}
