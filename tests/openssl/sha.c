/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests SHA-1 and SHA-256 of AES-CBC-HMAC, in C and with the SHA instructions:
 * - the examples of FIPS 180-4 (NIST, "SHA1.pdf" and "SHA256.pdf" of the Cryptographic Standards
 *   examples) and the million a's of FIPS 180-2 appendices A.3 and B.3;
 * - messages in pieces, compared with libcrypto;
 * - secret lengths, compared with public lengths;
 * - interleaved CBC and hash, compared with separate calls.
 */
#include "sha_portable.h"

#include "dispatch/backend.h"

#include "tap.h"

#include <openssl/evp.h>

#define LONGEST 1200

static const struct {
    const char *text;
    unsigned times;
    uint8_t sha1[20], sha256[32];
} examples[] = {
    {"abc",
     1,
     {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
      0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d},
     {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
      0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
      0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     1,
     {0x84, 0x98, 0x3e, 0x44, 0x1c, 0x3b, 0xd2, 0x6e, 0xba, 0xae,
      0x4a, 0xa1, 0xf9, 0x51, 0x29, 0xe5, 0xe5, 0x46, 0x70, 0xf1},
     {0x24, 0x8d, 0x6a, 0x61, 0xd2, 0x06, 0x38, 0xb8, 0xe5, 0xc0, 0x26,
      0x93, 0x0c, 0x3e, 0x60, 0x39, 0xa3, 0x3c, 0xe4, 0x59, 0x64, 0xff,
      0x21, 0x67, 0xf6, 0xec, 0xed, 0xd4, 0x19, 0xdb, 0x06, 0xc1}},
    {"aaaaaaaaaa",
     100000,
     {0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda, 0xa4, 0xf6, 0x1e,
      0xeb, 0x2b, 0xdb, 0xad, 0x27, 0x31, 0x65, 0x34, 0x01, 0x6f},
     {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
      0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
      0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0}},
};
#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static bool is_example(const struct trossl_sha_code *code, unsigned i)
{
    struct trossl_sha sha;
    uint8_t digest[TROSSL_SHA_MAX];
    trossl_sha_begin(code, &sha);
    for (unsigned n = 0; n < examples[i].times; n++)
        trossl_sha_update(code, &sha, (const uint8_t *)examples[i].text, strlen(examples[i].text));
    trossl_sha_end(code, &sha, digest);
    return tap_same(digest, code->digest_len == 20 ? examples[i].sha1 : examples[i].sha256,
                    code->digest_len);
}

static bool in_pieces(const struct trossl_sha_code *code, struct tap_random *random,
                      const uint8_t *data, size_t len)
{
    struct trossl_sha sha;
    uint8_t digest[TROSSL_SHA_MAX], expected[TROSSL_SHA_MAX];
    trossl_sha_begin(code, &sha);
    for (size_t done = 0, n; done < len; done += n) {
        n = 1 + tap_below(random, len - done);
        trossl_sha_update(code, &sha, data + done, n);
    }
    trossl_sha_end(code, &sha, digest);
    return EVP_Digest(data, len, expected, NULL, code->digest_len == 20 ? EVP_sha1() : EVP_sha256(),
                      NULL) > 0 &&
           tap_same(digest, expected, code->digest_len);
}

/* Hashes `before` bytes and then `len` bytes, once with a secret length and once with a public
 * length. Compares the digests. Only the bounds of the secret length are public: least <= len <=
 * most. */
static bool secret_len_matches(const struct trossl_sha_code *code, const uint8_t *data,
                               size_t before, size_t least, size_t len, size_t most)
{
    struct trossl_sha sha, copy;
    uint8_t digest[TROSSL_SHA_MAX], expected[TROSSL_SHA_MAX];
    trossl_sha_begin(code, &sha);
    trossl_sha_update(code, &sha, data, before);
    copy = sha;
    trossl_sha_end_secret_len(code, &copy, data + before, len, least, most, digest);
    trossl_sha_update(code, &sha, data + before, len);
    trossl_sha_end(code, &sha, expected);
    if (memcmp(digest, expected, code->digest_len) == 0)
        return true;
    tap_diag("after %zu bytes: wrong digest of %zu bytes, with bounds %zu and %zu", before, len,
             least, most);
    return false;
}

static bool all_secret_lens(const struct trossl_sha_code *code, struct tap_random *random,
                            const uint8_t *data)
{
    bool good = true;
    for (unsigned i = 0; good && i < 20000; i++) {
        const size_t before = tap_below(random, 150), least = tap_below(random, 400);
        const size_t most = least + tap_below(random, 300);
        good = secret_len_matches(code, data, before, least,
                                  least + tap_below(random, most - least + 1), most);
    }
    return good;
}

/* Compares interleaved CBC and hash, over n hash blocks, with separate calls. The hashed bytes
 * begin `ahead` bytes after the start of CBC's input. */
static bool interleaved_matches(const struct trossl_sha_code *code, struct tap_random *random,
                                const uint8_t *data, size_t n, int in_place, size_t ahead)
{
    static const size_t key_lens[] = {16, 32};
    static uint8_t buffer[2 * LONGEST], expected[LONGEST];
    uint8_t raw[32], iv[2][16];
    uint32_t h[2][TROSSL_SHA_WORDS];
    struct tr_aes_key key;
    const size_t len = n * TROSSL_SHA_BLOCK;
    tap_fill(random, raw, sizeof(raw));
    memcpy(iv[0], data, 16);
    memcpy(iv[1], data, 16);
    memcpy(h[0], code->initial, sizeof(h[0]));
    memcpy(h[1], code->initial, sizeof(h[1]));
    memcpy(buffer, data, LONGEST);
    if (tr_aes_set_key(&key, NULL, raw, key_lens[tap_below(random, 2)]) != TR_OK ||
        tr_cbc_encrypt(&key, iv[1], expected, data, len) != TR_OK)
        return false;
    code->blocks(h[1], data + ahead, n);
    uint8_t *const out = in_place ? buffer : buffer + LONGEST;
    const struct trossl_interleaved b = {iv[0], h[0], out, buffer, buffer + ahead};
    code->cbc_interleaved(&key, &b, 1, n);
    return tap_same(out, expected, len) && tap_same(iv[0], iv[1], 16) &&
           tap_same(h[0], h[1], code->digest_len);
}

static bool all_interleaved(const struct trossl_sha_code *code, struct tap_random *random,
                            const uint8_t *data)
{
    bool good = true;
    for (size_t n = 1; good && n <= 16; n++) {
        for (size_t ahead = 0; good && ahead < 80; ahead++)
            good = interleaved_matches(code, random, data, n, 0, ahead) &&
                   interleaved_matches(code, random, data, n, 1, ahead);
    }
    return good;
}

static void test(const struct trossl_sha_code *code)
{
    static uint8_t data[LONGEST];
    struct tap_random random = tap_random(0);
    bool good = true;
    tap_fill(&random, data, sizeof(data));
    for (unsigned i = 0; i < EXAMPLES; i++)
        good &= is_example(code, i);
    tap_ok(good, "%s: the standard's examples are right", code->name);
    good = true;
    for (size_t len = 0; good && len <= 600; len++)
        good = in_pieces(code, &random, data, len);
    tap_ok(good, "%s: up to 600 bytes in pieces match libcrypto", code->name);
    tap_ok(all_secret_lens(code, &random, data),
           "%s: a secret length gives the same digest as a public length", code->name);
}

int main(void)
{
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    const struct trossl_sha_code *const best[] = {trossl_sha1(cpu.usable),
                                                  trossl_sha256(cpu.usable)};
    const bool instructions = best[0] != NULL && best[1] != NULL;
    const unsigned with_instructions = TR_X86 ? 8 : 0; /* only x86 has this code */
    tap_plan(6 + with_instructions + 2);
    test(&sha1_portable);
    test(&sha256_portable);
    if (!instructions)
        tap_skip(with_instructions, "sha_ni", "this processor has no SHA instructions");
    for (int i = 0; instructions && i < 2; i++) {
        static uint8_t data[LONGEST];
        struct tap_random random = tap_random(1);
        tap_fill(&random, data, sizeof(data));
        test(best[i]);
        if ((cpu.usable & TR_FEATURE_AES) != 0)
            tap_ok(all_interleaved(best[i], &random, data),
                   "%s interleaved with CBC matches separate calls", best[i]->name);
        else
            tap_skip(1, "aes", "this processor has no AES instructions");
    }
    tap_ok(trossl_sha1(0) == NULL && trossl_sha256(TR_FEATURE_SHA) == NULL,
           "no code is selected if SHA or SSSE3 is masked");
    tap_ok((cpu.usable & (TR_FEATURE_SHA | TR_FEATURE_SSSE3)) !=
                   (TR_FEATURE_SHA | TR_FEATURE_SSSE3) ||
               instructions,
           "the SHA instructions are selected if the processor has them");
    return tap_done();
}
