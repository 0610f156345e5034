/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests deliberate differences from the default provider (DIFFERENCES in
 * OSSL_PROVIDER-tenrounds(7)) that the random sequences leave out. */
#include "sides.h"

static const uint8_t key[32] = {1}, iv[16] = {2}, text[64] = {3};

static struct evp_side us;

static EVP_CIPHER_CTX *start(const char *name, int encrypt)
{
    EVP_CIPHER *cipher = evp_fetch(&us, name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    if (EVP_CipherInit_ex2(ctx, cipher, key,
                           EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE ? iv : NULL, encrypt,
                           NULL) <= 0)
        ERR_print_errors_fp(stderr);
    EVP_CIPHER_free(cipher);
    return ctx;
}

/* Encrypts `text` with CCM, with or without an update of 0 bytes after the data, and stores the
 * tag. Returns what that update returns, or -1 if another call fails. */
static int ccm(bool with_empty_update, uint8_t tag[12])
{
    uint8_t out[64];
    int n, empty = 0;
    EVP_CIPHER_CTX *ctx = start("AES-128-CCM", 1);
    const bool data = EVP_CipherUpdate(ctx, out, &n, text, 20) > 0;
    if (with_empty_update)
        empty = EVP_CipherUpdate(ctx, out, &n, text, 0);
    const bool good = data && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 12, tag) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return good ? empty : -1;
}

/* CCM: checks that data of 0 bytes after the data fails and leaves the tag. */
static bool empty_update_keeps_tag(void)
{
    uint8_t tag[2][12];
    DIFFERS("ccm-empty-update");
    return ccm(false, tag[0]) == 0 && ccm(true, tag[1]) == 0 && memcmp(tag[0], tag[1], 12) == 0;
}

/* Checks that EVP_Cipher() reports whether a key was unwrapped. */
static bool one_shot_reports(const char *name)
{
    uint8_t wrapped[40], out[40];
    DIFFERS("wrap-one-shot-failure");
    EVP_CIPHER_CTX *wrap = start(name, 1), *unwrap = start(name, 0);
    bool good = EVP_Cipher(wrap, wrapped, text, 16) == 1 &&
                EVP_Cipher(unwrap, out, wrapped, 24) == 1 && memcmp(out, text, 16) == 0;
    wrapped[5] ^= 1;
    good = good && EVP_Cipher(unwrap, out, wrapped, 24) == 0;
    EVP_CIPHER_CTX_free(wrap);
    EVP_CIPHER_CTX_free(unwrap);
    return good;
}

/* Checks that a failed unwrap writes nothing beyond the key, which has 8 bytes less than the
 * input. */
static bool failure_writes_no_more(const char *name)
{
    bool good = true;
    DIFFERS("wrap-failed-unwrap");
    for (int len = 16; len <= 64; len += 8) {
        uint8_t out[80], untouched[80];
        int n;
        EVP_CIPHER_CTX *ctx = start(name, 0);
        memset(out, 0xa5, sizeof(out));
        memset(untouched, 0xa5, sizeof(untouched));
        good &= EVP_CipherUpdate(ctx, out, &n, text, len) <= 0 &&
                memcmp(out + len - 8, untouched, sizeof(out) - (size_t)len + 8) == 0;
        EVP_CIPHER_CTX_free(ctx);
    }
    return good;
}

/* Checks that CMAC refuses this cipher, as a parameter and in an init. */
static bool no_cmac(const char *cipher)
{
    uint8_t tag[16];
    size_t len;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)cipher, 0), OSSL_PARAM_END};
    DIFFERS("cmac-cipher");
    EVP_MAC *mac = EVP_MAC_fetch(us.libctx, "CMAC", NULL);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
    const bool good =
        EVP_MAC_CTX_set_params(ctx, params) <= 0 && EVP_MAC_init(ctx, key, 16, params) <= 0 &&
        EVP_MAC_update(ctx, text, 20) <= 0 && EVP_MAC_final(ctx, tag, &len, sizeof(tag)) <= 0;
    EVP_MAC_CTX_free(ctx);
    EVP_MAC_free(mac);
    return good;
}

int main(void)
{
    static const char *const wraps[] = {"AES-128-WRAP", "AES-192-WRAP-INV", "AES-128-WRAP-PAD",
                                        "AES-256-WRAP-PAD-INV"};
    static const char *const others[] = {"AES-128-ECB",     "AES-128-CTR", "AES-128-GCM",
                                         "AES-128-OCB",     "AES-128-SIV", "AES-128-XTS",
                                         "AES-128-CBC-CTS", "AES-128-CFB", "AES-128-OFB",
                                         "AES-128-WRAP",    "AES-128-CCM", "AES-128-WRAP-PAD"};
    bool refused = true;
    tap_plan(10);
    us = evp_open("tenrounds");
    tap_ok(empty_update_keeps_tag(), "CCM: data of 0 bytes after the data leaves the tag");
    for (unsigned i = 0; i < 4; i++) {
        tap_ok(one_shot_reports(wraps[i]), "%s: EVP_Cipher() reports a failure", wraps[i]);
        tap_ok(failure_writes_no_more(wraps[i]), "%s: a failed unwrap writes at most the key",
               wraps[i]);
    }
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        refused &= no_cmac(others[i]);
    tap_ok(refused, "CMAC refuses ciphers of AES other than CBC");
    ERR_clear_error();
    evp_close(&us);
    return tap_done();
}
