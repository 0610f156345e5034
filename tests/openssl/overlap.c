/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the provider's ciphers with output that begins 1 to 128 bytes before the input, in one
 * update and in pieces. The output must equal that of separate buffers. guards.c tests key wrap,
 * which allows any overlap.
 */
#include "sides.h"

#define FURTHEST 128
#define LONGEST  4111

static struct evp_side us;
static struct tap_random rng;
static uint8_t memory[FURTHEST + LONGEST + 64];
static uint8_t key[64], iv[16], aad[20], text[LONGEST + 64], sealed[LONGEST + 64];

static const size_t lengths[] = {16,  17,  31,  32,  33,   47,   64,   100,  128,    129,
                                 256, 333, 512, 577, 1024, 1350, 1600, 2048, LONGEST};
#define LENGTHS (sizeof(lengths) / sizeof(*lengths))

/* A mode, and how a message of it may be cut. */
struct mode {
    const char *name;
    size_t unit; /* pieces are a multiple of this; 0: one update only */
    bool tag;
    bool blocks; /* pieces need padding off and whole blocks */
};

static const struct mode modes[] = {
    {"ECB", 16, false, true},    {"CBC", 16, false, true},    {"CFB", 1, false, false},
    {"CFB8", 1, false, false},   {"CFB1", 1, false, false},   {"OFB", 1, false, false},
    {"CTR", 1, false, false},    {"XTS", 0, false, false},    {"GCM", 1, true, false},
    {"CCM", 0, true, false},     {"OCB", 16, true, false},    {"SIV", 0, true, false},
    {"GCM-SIV", 0, true, false}, {"CBC-CTS", 0, false, false}};
#define EVERY (sizeof(modes) / sizeof(*modes))

static bool set_up(EVP_CIPHER_CTX *ctx, EVP_CIPHER *cipher, const struct mode *m, bool encrypt,
                   bool pieces, size_t len, uint8_t *tag)
{
    int n;
    const bool ccm = strcmp(m->name, "CCM") == 0;
    if (EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, encrypt, NULL) <= 0 ||
        (m->blocks && EVP_CIPHER_CTX_set_padding(ctx, !pieces) <= 0) ||
        ((m->tag && (!encrypt || ccm)) &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, encrypt ? NULL : tag) <= 0) ||
        EVP_CipherInit_ex2(ctx, NULL, key, iv, encrypt, NULL) <= 0)
        return false;
    return !m->tag || ((!ccm || EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)len) > 0) &&
                       EVP_CipherUpdate(ctx, NULL, &n, aad, sizeof(aad)) > 0);
}

/* Processes a message. Returns the length of the output, or -1. */
static int message(EVP_CIPHER *cipher, const struct mode *m, bool encrypt, bool pieces,
                   uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    size_t done = 0;
    int n = 0;
    bool good = set_up(ctx, cipher, m, encrypt, pieces, len, tag);
    for (size_t at = 0, count; good && at < len; at += count) {
        count = pieces ? m->unit * (1 + tap_below(&rng, 300 / m->unit)) : len;
        if (count > len - at)
            count = len - at;
        good = EVP_CipherUpdate(ctx, out + done, &n, in + at, (int)count) > 0;
        done += (size_t)n;
    }
    /* CCM has no final when it decrypts. */
    if (strcmp(m->name, "CCM") != 0) {
        good = good && EVP_CipherFinal_ex(ctx, out + done, &n) > 0;
        done += (size_t)n;
    }
    if (m->tag && encrypt)
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return good ? (int)done : -1;
}

static bool one_length(EVP_CIPHER *cipher, const struct mode *m, bool encrypt, bool pieces,
                       size_t len)
{
    uint8_t tag[16] = {0}, again[16] = {0};
    if (m->blocks && pieces)
        len -= len % 16;
    tap_fill(&rng, text, len);
    const int n = message(cipher, m, true, pieces, sealed, text, len, tag);
    bool good = n >= (int)len;
    const uint8_t *input = encrypt ? text : sealed, *output = encrypt ? sealed : text;
    const size_t in_len = encrypt ? len : (size_t)n, out_len = encrypt ? (size_t)n : len;
    for (size_t k = 1; good && k <= FURTHEST; k += len > 64 ? 1 + tap_below(&rng, 32) : 1) {
        uint8_t *const in = memory + FURTHEST, *const out = in - k;
        memcpy(in, input, in_len);
        if (!encrypt)
            memcpy(again, tag, 16);
        good = message(cipher, m, encrypt, pieces, out, in, in_len, again) == (int)out_len &&
               tap_same(out, output, out_len) && tap_same(again, tag, m->tag ? 16 : 0);
        if (!good)
            tap_diag("%zu bytes, output %zu bytes before the input%s", len, k,
                     pieces ? ", in pieces" : "");
    }
    return good;
}

static void all_lengths(const struct mode *m, unsigned bits)
{
    char name[32];
    snprintf(name, sizeof(name), "AES-%u-%s", bits, m->name);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(us.libctx, name, NULL);
    if (cipher == NULL) {
        tap_ok(bits == 192 && strcmp(m->name, "XTS") == 0, "%s: does not exist", name);
        ERR_clear_error();
        return;
    }
    bool good = true;
    for (size_t i = 0; good && i < LENGTHS; i += tap_stride(&rng))
        for (int way = 0; good && way < 4; way++) {
            const bool slow = strncmp(m->name, "CFB1", 5) == 0 && lengths[i] > 64;
            if ((way & 2 && m->unit == 0) || slow)
                continue;
            good = one_length(cipher, m, way & 1, way & 2, lengths[i]);
        }
    tap_ok(good, "%s: right if the output begins before the input", name);
    EVP_CIPHER_free(cipher);
}

/* ---- TLS records of CBC and HMAC, 1.1 and later ---- */

/* Seals or opens a record of `len` bytes: explicit IV, payload, and room for MAC and padding. */
static bool record(EVP_CIPHER *cipher, bool encrypt, size_t aad_len, uint8_t *out,
                   const uint8_t *in, size_t len)
{
    uint8_t head[EVP_AEAD_TLS1_AAD_LEN] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 2};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;
    head[11] = (uint8_t)(aad_len >> 8);
    head[12] = (uint8_t)aad_len;
    const bool good = EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_MAC_KEY, 20, key + 32) > 0 &&
                      EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_TLS1_AAD, sizeof(head), head) > 0 &&
                      EVP_CipherUpdate(ctx, out, &n, in, (int)len) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static void records(const char *name, size_t mac_len)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(us.libctx, name, NULL);
    const char *const mask = getenv("TENROUNDS_MASK");
    bool good = true;
    if (cipher == NULL) {
        ERR_clear_error();
        if (mask != NULL && strstr(mask, "nossse3") != NULL)
            tap_ok(true, "%s: not offered without SSSE3", name);
        else
            tap_skip(1, "sha_ni ssse3", "this processor lacks SHA instructions or SSSE3");
        return;
    }
    for (size_t i = 1; good && i < LENGTHS; i++) {
        const size_t payload = 16 + lengths[i] / 2;
        const size_t len = (payload + mac_len + 16) / 16 * 16;
        tap_fill(&rng, text, len);
        good = record(cipher, true, payload, sealed, text, len);
        for (size_t k = 1; good && k <= FURTHEST; k += 1 + tap_below(&rng, 8)) {
            uint8_t *const in = memory + FURTHEST, *const out = in - k;
            memcpy(in, text, len);
            good = record(cipher, true, payload, out, in, len) && tap_same(out, sealed, len);
            memcpy(in, sealed, len);
            /* The explicit IV is not part of the payload. */
            good = good && record(cipher, false, len, out, in, len) &&
                   tap_same(out + 16, text + 16, payload - 16);
            if (!good)
                tap_diag("%zu bytes of payload, output %zu bytes before the input", payload, k);
        }
    }
    tap_ok(good, "%s: records are right if the output begins before the input", name);
    EVP_CIPHER_free(cipher);
}

int main(void)
{
    tap_plan(3 * (unsigned)EVERY + 4);
    us = evp_open("tenrounds");
    rng = tap_random(0);
    tap_fill(&rng, key, sizeof(key));
    tap_fill(&rng, iv, sizeof(iv));
    tap_fill(&rng, aad, sizeof(aad));
    for (unsigned i = 0; i < EVERY; i++)
        for (unsigned bits = 128; bits <= 256; bits += 64)
            all_lengths(&modes[i], bits);
    records("AES-128-CBC-HMAC-SHA1", 20);
    records("AES-256-CBC-HMAC-SHA1", 20);
    records("AES-128-CBC-HMAC-SHA256", 32);
    records("AES-256-CBC-HMAC-SHA256", 32);
    evp_close(&us);
    return tap_done();
}
