/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests bad input on which the default provider crashes or returns garbage. tenrounds must return
 * an error that names the fault, leave the output unchanged, and keep the context usable. Also
 * tests positions in a block (the parameter "num") for CFB, OFB and CTR. tenrounds accepts 0 to 15.
 * The default provider of OpenSSL 3.0.8 accepts any number, that of OpenSSL 3.0.22 only 0.
 */
#include "sides.h"

#include <openssl/proverr.h>

static struct evp_side us;

struct context {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *ctx;
};

static const uint8_t key[32] = "0123456789abcdef0123456789abcde", iv[16] = "an IV, 16 bytes";

#define CFB1 EVP_CIPHERS /* beside the numbers of evp_cipher_name() */

static struct context start(unsigned i, int encrypt, int padding)
{
    const char *const name = i == CFB1 ? "AES-128-CFB1" : evp_cipher_name(i);
    struct context c = {evp_fetch(&us, name), EVP_CIPHER_CTX_new()};
    if (EVP_CipherInit_ex2(c.ctx, c.cipher, key, iv, encrypt, NULL) <= 0 ||
        EVP_CIPHER_CTX_set_padding(c.ctx, padding) <= 0)
        tap_ok(false, "%s: cannot set key and padding", name);
    return c;
}

static void end(struct context *c)
{
    EVP_CIPHER_CTX_free(c->ctx);
    EVP_CIPHER_free(c->cipher);
    ERR_clear_error();
}

static bool is_block_mode(unsigned i)
{
    return i / 3 < 2;
}

/* Whether the last error has this library and reason. */
static bool error_is(int lib, int reason)
{
    const unsigned long e = ERR_peek_last_error();
    const bool good = ERR_GET_LIB(e) == lib && ERR_GET_REASON(e) == reason;
    if (!good)
        tap_diag("error: %s", ERR_error_string(e, NULL));
    ERR_clear_error();
    return good;
}

static bool without_key(unsigned i)
{
    DIFFERS("no-key");
    uint8_t data[32] = {0}, out[48];
    int n;
    struct context c = {evp_fetch(&us, evp_cipher_name(i)), EVP_CIPHER_CTX_new()};
    bool good = EVP_CipherInit_ex2(c.ctx, c.cipher, NULL, iv, 1, NULL) > 0 &&
                EVP_CipherUpdate(c.ctx, out, &n, data, 32) <= 0 &&
                error_is(ERR_LIB_PROV, PROV_R_NO_KEY_SET) &&
                EVP_CipherFinal_ex(c.ctx, out, &n) <= 0 &&
                error_is(ERR_LIB_PROV, PROV_R_NO_KEY_SET) &&
                EVP_Cipher(c.ctx, out, data, 32) <= 0 && error_is(ERR_LIB_PROV, PROV_R_NO_KEY_SET);
    good = good && EVP_CipherInit_ex2(c.ctx, NULL, key, NULL, 1, NULL) > 0 &&
           EVP_CipherUpdate(c.ctx, out, &n, data, 32) > 0 && n == 32;
    end(&c);
    return good;
}

static bool num_out_of_range(unsigned i)
{
    DIFFERS("num");
    static const int wrong[] = {16, 17, 255, 256, 65536, -1};
    struct context c = start(i, 1, 1);
    bool good = true;
    for (unsigned j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++)
        good = good && EVP_CIPHER_CTX_set_num(c.ctx, wrong[j]) <= 0 &&
               error_is(ERR_LIB_PROV, PROV_R_FAILED_TO_GET_PARAMETER) &&
               EVP_CIPHER_CTX_get_num(c.ctx) == 0;
    end(&c);
    return good;
}

/* Checks that number parameters of 0 bytes are refused. For such a parameter, libcrypto's helper
 * function would read the byte before the buffer. */
static bool no_room_for_a_number(unsigned i)
{
    DIFFERS("empty-number");
    static const char *const keys[] = {OSSL_CIPHER_PARAM_KEYLEN, OSSL_CIPHER_PARAM_NUM};
    uint8_t nothing[1] = {0};
    struct context c = start(i, 1, 1);
    bool good = true;
    for (unsigned j = 0; j < 4; j++) {
        OSSL_PARAM params[] = {
            {keys[j / 2], OSSL_PARAM_INTEGER + j % 2, nothing, 0, OSSL_PARAM_UNMODIFIED},
            OSSL_PARAM_END};
        good = good && EVP_CIPHER_CTX_get_params(c.ctx, params) <= 0 &&
               error_is(ERR_LIB_PROV, PROV_R_FAILED_TO_SET_PARAMETER);
    }
    OSSL_PARAM params[] = {{OSSL_CIPHER_PARAM_NUM, OSSL_PARAM_INTEGER, nothing, 0, 0},
                           OSSL_PARAM_END};
    good = good && EVP_CIPHER_CTX_set_params(c.ctx, params) <= 0 &&
           error_is(ERR_LIB_PROV, PROV_R_FAILED_TO_GET_PARAMETER);
    end(&c);
    return good;
}

/* Checks that "num" can be set to each value from 0 to 15, and read. In CFB, OFB and CTR, "num" is
 * the position in the block. Setting "num" to the current position must not change the output. */
static bool num_in_range(unsigned i)
{
    uint8_t data[64], once[64], twice[64];
    int n;
    bool good = true;
    memset(data, 0x5a, sizeof(data));
    for (int at = 0; good && at < 16; at++) {
        struct context a = start(i, 1, 1), b = start(i, 1, 1);
        if (is_block_mode(i)) {
            good = EVP_CIPHER_CTX_set_num(a.ctx, at) > 0 && EVP_CIPHER_CTX_get_num(a.ctx) == at;
        } else {
            good = EVP_CipherUpdate(a.ctx, once, &n, data, 48) > 0 &&
                   EVP_CipherUpdate(b.ctx, twice, &n, data, at) > 0 &&
                   EVP_CIPHER_CTX_get_num(b.ctx) == at &&
                   EVP_CIPHER_CTX_set_num(b.ctx, (at + 5) % 16) > 0 &&
                   EVP_CIPHER_CTX_set_num(b.ctx, at) > 0 &&
                   EVP_CipherUpdate(b.ctx, twice + at, &n, data, 48 - at) > 0 &&
                   tap_same(twice, once, 48);
        }
        end(&a);
        end(&b);
    }
    return good;
}

/* Checks that output that begins inside the input is refused, without an effect on memory or
 * context. */
static bool overlap(unsigned i, int encrypt)
{
    DIFFERS("overlap");
    static const int shifts[] = {1, 8, 15, 16, 17, 100};
    uint8_t memory[512], before[512], out[256], expected[256];
    bool good = true;
    int n;
    for (unsigned j = 0; good && j < sizeof(shifts) / sizeof(shifts[0]); j++) {
        struct context c = start(i, encrypt, 0), d = start(i, encrypt, 0);
        uint8_t *in = memory + 128;
        for (unsigned k = 0; k < sizeof(memory); k++)
            memory[k] = (uint8_t)k;
        memcpy(before, memory, sizeof(before));
        good = EVP_CipherUpdate(c.ctx, in + shifts[j], &n, in, 128) <= 0 && n == 0 &&
               error_is(ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING) &&
               EVP_Cipher(c.ctx, in + shifts[j], in, 128) <= 0 &&
               memcmp(memory, before, sizeof(memory)) == 0;
        /* The context must behave as if the refused calls had not happened. */
        good = good && EVP_CipherUpdate(c.ctx, out, &n, in, 128) > 0 &&
               EVP_CipherUpdate(d.ctx, expected, &n, in, 128) > 0 && tap_same(out, expected, 128);
        end(&c);
        end(&d);
    }
    return good;
}

/* Checks that an update in place is refused while the context buffers a partial block, because the
 * output would run ahead of the input. The default provider overwrites input that it has not
 * read. */
static bool ahead_in_place(unsigned i)
{
    uint8_t data[64] = {0}, out[64];
    int n;
    struct context c = start(i, 1, 1);
    const bool good = EVP_CipherUpdate(c.ctx, out, &n, data, 5) > 0 && n == 0 &&
                      EVP_CipherUpdate(c.ctx, data, &n, data, 48) <= 0 &&
                      error_is(ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
    end(&c);
    return good;
}

/* Checks overlap after decryption has held back a block, which the next call writes first. The next
 * call must succeed if the output begins at least one block before the input or after its end. Any
 * other overlap must either give the right output or be refused. */
static bool overlap_after_held_block(unsigned i)
{
    uint8_t memory[512] = {0}, expected[128];
    int n;
    bool good = true;
    for (int shift = -80; good && shift <= 80; shift++) {
        struct context c = start(i, 0, 1), d = start(i, 0, 1);
        uint8_t *in = memory + 128, *out = in + shift;
        memset(memory, 0x21, sizeof(memory));
        good = EVP_CipherUpdate(c.ctx, expected, &n, in, 16) > 0 && n == 0 &&
               EVP_CipherUpdate(d.ctx, expected, &n, in, 16) > 0 &&
               EVP_CipherUpdate(d.ctx, expected, &n, in, 64) > 0 && n == 64;
        const bool worked = EVP_CipherUpdate(c.ctx, out, &n, in, 64) > 0;
        if (worked)
            good = good && tap_same(out, expected, 64);
        else
            good = good && shift > -16 && shift < 64 && in[shift] == 0x21 &&
                   error_is(ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
        if (!good)
            tap_diag("output %d bytes from the input", shift);
        end(&c);
        end(&d);
    }
    return good;
}

/* Checks that EVP_Cipher(), which bypasses the buffer, accepts only whole blocks. With other
 * lengths the default provider reads and writes beyond the end. */
static bool odd_one_shot(unsigned i)
{
    DIFFERS("one-shot-partial-block");
    uint8_t data[64] = {0}, out[64];
    bool good = true;
    for (unsigned len = 1; good && len < 33; len++) {
        struct context c = start(i, len % 2, 1);
        memset(out, 0xa5, sizeof(out));
        const int n = EVP_Cipher(c.ctx, out, data, len);
        good = len % 16 == 0 ? n == (int)len
                             : n <= 0 && out[0] == 0xa5 &&
                                   error_is(ERR_LIB_PROV, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
        end(&c);
    }
    return good;
}

/* Checks that a key set for encryption also decrypts. */
static bool turns_around(unsigned i)
{
    DIFFERS("both-directions");
    uint8_t data[64], out[64];
    int n;
    memset(data, 0x33, sizeof(data));
    struct context c = start(i, 1, 0);
    const bool good = EVP_CipherUpdate(c.ctx, out, &n, data, 64) > 0 && n == 64 &&
                      EVP_CipherInit_ex2(c.ctx, NULL, NULL, iv, 0, NULL) > 0 &&
                      EVP_CipherUpdate(c.ctx, out, &n, out, 64) > 0 && tap_same(out, data, 64);
    end(&c);
    return good;
}

/* Checks that after a failed final, final fails again and an init starts a new message. */
static bool bad_padding(unsigned i)
{
    DIFFERS("failed-final");
    uint8_t data[32], out[48];
    int n;
    memset(data, 0x77, sizeof(data));
    struct context c = start(i, 0, 1);
    bool good = EVP_CipherUpdate(c.ctx, out, &n, data, 32) > 0 && n == 16;
    for (int j = 0; j < 2; j++) {
        memset(out, 0xa5, sizeof(out));
        good = good && EVP_CipherFinal_ex(c.ctx, out, &n) <= 0 && n == 0 && out[0] == 0xa5 &&
               error_is(ERR_LIB_PROV, PROV_R_BAD_DECRYPT);
    }
    good = good && EVP_CipherInit_ex2(c.ctx, NULL, NULL, NULL, 1, NULL) > 0 &&
           EVP_CipherUpdate(c.ctx, out, &n, data, 17) > 0 && n == 16 &&
           EVP_CipherFinal_ex(c.ctx, out, &n) > 0 && n == 16;
    end(&c);
    return good;
}

static bool wrong_lengths(unsigned i)
{
    uint8_t data[32] = {0}, out[48];
    int n;
    struct context c = start(i, 1, 0);
    const bool good = EVP_CipherUpdate(c.ctx, out, &n, data, 17) > 0 && n == 16 &&
                      EVP_CipherFinal_ex(c.ctx, out, &n) <= 0 &&
                      error_is(ERR_LIB_PROV, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
    end(&c);
    return good;
}

/* Checks that one call encrypts all of 1 MiB and 7 bytes. */
static bool many_bytes(unsigned i)
{
    const int len = 1 << 20;
    uint8_t *data = calloc(1, (size_t)len + 64), sum = 0;
    struct context c = start(i, 1, 1);
    int n = 0, m = 0;
    bool good = data != NULL && EVP_CipherUpdate(c.ctx, data + 1, &n, data + 1, len + 7) > 0 &&
                EVP_CipherFinal_ex(c.ctx, data + 1 + n, &m) > 0;
    good = good && n + m == (is_block_mode(i) ? len + 16 : len + 7);
    for (int j = 0; good && j < 16; j++)
        sum |= data[len - j];
    end(&c);
    free(data);
    return good && sum != 0;
}

/* Checks that key wrap gives the right output wherever the output overlaps the input. Like the
 * default provider, tenrounds first moves the input to the output. */
static bool wrap_in_one_buffer(const struct evp_side *side, const char *name, int encrypt)
{
    uint8_t memory[400], input[64], expected[80];
    int n, m = 0;
    struct context c = {evp_fetch(side, name), EVP_CIPHER_CTX_new()};
    bool good = EVP_CipherInit_ex2(c.ctx, c.cipher, key, NULL, 1, NULL) > 0 &&
                EVP_CipherUpdate(c.ctx, expected, &n, key, 32) > 0 && n == 40;
    memcpy(input, encrypt ? key : expected, encrypt ? 32 : 40);
    memcpy(expected, encrypt ? expected : key, encrypt ? 40 : 32);
    for (int shift = -60; good && shift <= 60; shift++) {
        memcpy(memory + 100, input, encrypt ? 32 : 40);
        good = EVP_CipherInit_ex2(c.ctx, c.cipher, key, NULL, encrypt, NULL) > 0 &&
               EVP_CipherUpdate(c.ctx, memory + 100 + shift, &m, memory + 100, encrypt ? 32 : 40) >
                   0 &&
               m == (encrypt ? 40 : 32) && tap_same(memory + 100 + shift, expected, (size_t)m);
    }
    end(&c);
    return good;
}

/* Checks that XTS refuses equal key halves for encryption when the key is set, not only when data
 * comes. For decryption, equal halves must be accepted. */
static bool equal_halves(const char *name)
{
    EVP_CIPHER *cipher = evp_fetch(&us, name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    uint8_t halves[64] = {0}, data[32] = {0};
    int n;
    const bool good = EVP_CipherInit_ex2(ctx, cipher, halves, iv, 1, NULL) <= 0 &&
                      error_is(ERR_LIB_PROV, PROV_R_XTS_DUPLICATED_KEYS) &&
                      EVP_CipherUpdate(ctx, data, &n, data, 32) <= 0 &&
                      EVP_CipherInit_ex2(ctx, cipher, halves, iv, 0, NULL) > 0 &&
                      EVP_CipherUpdate(ctx, data, &n, data, 32) > 0;
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return good;
}

int main(void)
{
    static const char *const wraps[] = {"AES-256-WRAP", "AES-256-WRAP-PAD", "AES-256-WRAP-INV",
                                        "AES-256-WRAP-PAD-INV"};
    tap_plan(8 * EVP_CIPHERS + 6 * 6 + 4 + 2);
    us = evp_open("tenrounds");
    struct evp_side them = evp_open("default");
    for (unsigned i = 0; i < 4; i++)
        tap_ok(wrap_in_one_buffer(&us, wraps[i], 1) && wrap_in_one_buffer(&us, wraps[i], 0) &&
                   wrap_in_one_buffer(&them, wraps[i], 1) && wrap_in_one_buffer(&them, wraps[i], 0),
               "%s: gives the right output wherever it overlaps the input", wraps[i]);
    evp_close(&them);
    tap_ok(equal_halves("AES-128-XTS") && equal_halves("AES-256-XTS"),
           "XTS: refuses equal key halves for encryption, and accepts them for decryption");
    tap_ok(overlap(CFB1, 1) && overlap(CFB1, 0),
           "CFB1: refuses output that begins inside the input");
    for (unsigned i = 0; i < EVP_CIPHERS; i++) {
        const char *name = evp_cipher_name(i);
        tap_ok(without_key(i), "%s: refuses data without a key", name);
        tap_ok(num_out_of_range(i), "%s: refuses num outside 0 to 15", name);
        tap_ok(no_room_for_a_number(i), "%s: refuses number parameters of 0 bytes", name);
        tap_ok(num_in_range(i), "%s: accepts num from 0 to 15", name);
        tap_ok(overlap(i, 1), "%s: encryption refuses output that begins inside the input", name);
        tap_ok(overlap(i, 0), "%s: decryption refuses output that begins inside the input", name);
        tap_ok(turns_around(i), "%s: a key set for encryption also decrypts", name);
        tap_ok(many_bytes(i), "%s: encrypts 1 MiB and 7 bytes in one call", name);
        if (!is_block_mode(i))
            continue;
        tap_ok(ahead_in_place(i), "%s: refuses an update in place after a partial block", name);
        tap_ok(overlap_after_held_block(i),
               "%s: overlap after a held-back block gives the right output or is refused", name);
        tap_ok(odd_one_shot(i), "%s: EVP_Cipher() accepts only whole blocks", name);
        tap_ok(bad_padding(i), "%s: final fails on bad padding, and an init starts a new message",
               name);
        tap_ok(wrong_lengths(i), "%s: final refuses a partial block if padding is off", name);
        tap_ok(EVP_CIPHER_fetch(us.libctx, name, "provider=default") == NULL,
               "%s: the test cannot fetch the default provider's cipher", name);
    }
    evp_close(&us);
    return tap_done();
}
