/* SPDX-License-Identifier: BSD-2-Clause */
/* Recomputes the known-answer digests of core/selftest/selftest.c with libcrypto's default
 * provider. In modes without fused operations, also compares every backend's output byte for byte.
 * For GCM-SIV, which OpenSSL 3.0 lacks, gcm_siv_reference.h recomputes the digests. */
#include "common.h"
#include "modes/gcm_siv_reference.h"
#include "selftest/selftest.h"

#include <openssl/evp.h>
#include <openssl/provider.h>

static OSSL_LIB_CTX *libctx; /* a separate context, which reads no configuration file */

static void make_inputs(uint8_t raw[64], uint8_t plaintext[TR_KNOWN_MAX])
{
    for (size_t i = 0; i < 64; i++)
        raw[i] = tr_known_key(i);
    for (size_t i = 0; i < TR_KNOWN_MAX; i++)
        plaintext[i] = tr_known_plaintext(i);
}

static EVP_CIPHER *fetch(enum tr_mode mode, size_t key_len)
{
    char name[32];
    snprintf(name, sizeof(name), "AES-%zu-%s", key_len * 8,
             mode == TR_CFB128 ? "CFB" : mode_name(mode));
    return EVP_CIPHER_fetch(libctx, name, "provider=default");
}

static bool libcrypto_encrypts(const EVP_CIPHER *cipher, const uint8_t *raw, uint8_t *out,
                               const uint8_t *in, size_t len)
{
    int written = 0;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const uint8_t *iv = EVP_CIPHER_get_iv_length(cipher) == 16 ? tr_known_iv : NULL;
    const bool good = ctx != NULL && EVP_EncryptInit_ex2(ctx, cipher, raw, iv, NULL) == 1 &&
                      EVP_CIPHER_CTX_set_padding(ctx, 0) == 1 &&
                      EVP_EncryptUpdate(ctx, out, &written, in, (int)len) == 1 &&
                      (size_t)written == len;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static bool backends_agree(enum tr_mode mode, size_t key_len, const uint8_t *raw,
                           const uint8_t *plaintext, const uint8_t *ciphertext, size_t len)
{
    bool good = true;
    const struct tr_backend *b;
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        uint8_t out[TR_KNOWN_MAX];
        if (!backend_usable(b))
            continue;
        const struct tr_aes_key key = key_for(b, raw, key_len);
        struct position p = position_at(tr_known_iv);
        good &= mode_run(&key, mode, false, &p, out, plaintext, len) == TR_OK &&
                tap_same(out, ciphertext, len);
    }
    return good;
}

static void test_digest(unsigned m, unsigned k)
{
    uint8_t raw[64], plaintext[TR_KNOWN_MAX], ciphertext[TR_KNOWN_MAX];
    const enum tr_mode mode = all_modes[m];
    const enum tr_known known = (enum tr_known)(TR_KNOWN_ECB + m);
    EVP_CIPHER *cipher = fetch(mode, key_lengths[k]);
    uint64_t digest = 0;
    bool good = cipher != NULL;
    make_inputs(raw, plaintext);
    for (unsigned i = 0; i < tr_known[known].end && good; i++) {
        const size_t len = TR_KNOWN_LEN(known, i);
        good = libcrypto_encrypts(cipher, raw, ciphertext, plaintext, len) &&
               backends_agree(mode, key_lengths[k], raw, plaintext, ciphertext, len);
        digest = tr_known_digest(digest, ciphertext, len);
    }
    EVP_CIPHER_free(cipher);
    tap_ok(good && digest == tr_known[known].digest[k],
           "%s-%zu: selftest.c has libcrypto's digest (computed 0x%016llx, stored 0x%016llx)",
           mode_name(mode), key_lengths[k] * 8, (unsigned long long)digest,
           (unsigned long long)tr_known[known].digest[k]);
}

/* ---- The modes with fused operations --------------------------------------------------------- */

static const char *const fused_names[] = {"XTS", "XTS", "CCM", "OCB", "GCM-SIV", "GCM",
                                          "GCM", "GCM", "GCM", "GCM", "GCM"};
#define NAME(known) fused_names[(known)-TR_KNOWN_XTS]

/* Computes with libcrypto the ciphertext and, for an AEAD, the tag. The AAD is the plaintext or its
 * beginning. */
static bool libcrypto_fused(enum tr_known known, unsigned k, const uint8_t *raw, uint8_t *out,
                            const uint8_t *in, size_t len, uint8_t tag[16])
{
    const bool wraps = known == TR_KNOWN_GCM_WRAP, aead = TR_KNOWN_IS_AEAD(known);
    const bool ccm = known == TR_KNOWN_CCM;
    int n = 0, end = 0;
    char name[32];
    snprintf(name, sizeof(name), "AES-%zu-%s", key_lengths[k] * 8, NAME(known));
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(libctx, name, "provider=default");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good =
        cipher != NULL && ctx != NULL && EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, NULL) == 1 &&
        (!wraps || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 16, NULL) == 1) &&
        (!ccm || (EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) == 1 &&
                  EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, NULL) == 1)) &&
        EVP_EncryptInit_ex2(ctx, NULL, raw, wraps ? tr_known_wrapping_iv[k] : tr_known_iv, NULL) ==
            1 &&
        (!ccm || EVP_EncryptUpdate(ctx, NULL, &n, NULL, (int)len) == 1) &&
        (!aead || EVP_EncryptUpdate(ctx, NULL, &n, in, (int)TR_KNOWN_AAD(known, len)) == 1) &&
        EVP_EncryptUpdate(ctx, out, &n, in, (int)len) == 1 &&
        EVP_EncryptFinal_ex(ctx, out + n, &end) == 1 && (size_t)(n + end) == len &&
        (!aead || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

static bool recompute(enum tr_known known, unsigned k, const uint8_t *raw, uint8_t *out,
                      const uint8_t *in, size_t len, uint8_t tag[16])
{
    if (known != TR_KNOWN_GCM_SIV)
        return libcrypto_fused(known, k, raw, out, in, len, tag);
    gcm_siv_reference(raw, key_lengths[k], tr_known_iv, in, len, out, in, len, tag);
    return true;
}

static void test_fused(enum tr_known known, unsigned k)
{
    uint8_t raw[64], plaintext[TR_KNOWN_MAX], ciphertext[TR_KNOWN_MAX + 16], tag[16];
    uint64_t digest = 0;
    bool good = true;
    make_inputs(raw, plaintext);
    if (!TR_KNOWN_IS_AEAD(known) && key_lengths[k] == 24) {
        tap_ok(tr_known[known].digest[k] == 0,
               "selftest.c has no digest of XTS-AES-192, which does not exist");
        return;
    }
    for (unsigned i = tr_known[known].first; i < tr_known[known].end && good; i++) {
        const size_t len = TR_KNOWN_LEN(known, i);
        good = recompute(known, k, raw, ciphertext, plaintext, len, tag);
        digest = tr_known_digest(digest, ciphertext, len);
        if (TR_KNOWN_IS_AEAD(known))
            digest = tr_known_digest(digest, tag, 16);
    }
    tap_ok(good && digest == tr_known[known].digest[k],
           "%s-%zu%s: selftest.c has the right digest (computed 0x%016llx, stored 0x%016llx)",
           NAME(known), key_lengths[k] * 8, known == TR_KNOWN_GCM_WRAP ? ", counter wraps" : "",
           (unsigned long long)digest, (unsigned long long)tr_known[known].digest[k]);
}

/* Tests that GCM's counter wraps soon after it starts from the wrapping IVs of selftest.c. */
static void test_wrap(void)
{
    bool good = true;
    uint8_t raw[64], plaintext[TR_KNOWN_MAX];
    make_inputs(raw, plaintext);
    for (unsigned k = 0; k < TR_KNOWN_KEYS; k++) {
        struct tr_gcm_key key;
        struct tr_gcm gcm;
        good &= tr_gcm_set_key(&key, &tr_bitslice, raw, key_lengths[k]) == TR_OK &&
                tr_gcm_start(&gcm, &key, tr_known_wrapping_iv[k], 16) == TR_OK &&
                tap_same(gcm.counter + 12, "\xff\xff\xff\xef", 4);
    }
    tap_ok(good, "GCM's counter wraps 17 blocks after each wrapping IV");
}

int main(void)
{
    tap_plan(3 + TR_KNOWN_TESTS * TR_KNOWN_KEYS);
    libctx = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *provider = libctx == NULL ? NULL : OSSL_PROVIDER_load(libctx, "default");
    tap_ok(provider != NULL, "libcrypto's default provider is loaded");
    tap_ok(TR_KNOWN_XTS == MODES && TR_KNOWN_KEYS == 3, "every mode and key size has a digest");
    for (unsigned m = 0; m < MODES; m++)
        for (unsigned k = 0; k < TR_KNOWN_KEYS; k++)
            test_digest(m, k);
    for (enum tr_known known = TR_KNOWN_XTS; known < TR_KNOWN_TESTS; known++)
        for (unsigned k = 0; k < TR_KNOWN_KEYS; k++)
            test_fused(known, k);
    test_wrap();
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    return tap_done();
}
