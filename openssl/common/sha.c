/* SPDX-License-Identifier: BSD-2-Clause */
#include "sha.h"

#include "dispatch/backend.h"

#include <string.h>

/* ---- The compression functions, FIPS 180-4 section 6 ----------------------------------------- */

static inline uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static inline uint32_t left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static inline uint32_t right(uint32_t x, unsigned n)
{
    return left(x, 32 - n);
}

/* The functions Ch and Maj (section 4.1.1), each with one operation fewer than in the standard. */
static inline uint32_t choose(uint32_t x, uint32_t y, uint32_t z)
{
    return z ^ (x & (y ^ z));
}

static inline uint32_t majority(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & y) | (z & (x | y));
}

/* Returns the function f with the constant K of round t added (sections 4.1.1, 4.2.1). The index t
 * is public. */
static inline uint32_t sha1_f(unsigned t, uint32_t b, uint32_t c, uint32_t d)
{
    switch (t / 20) {
    case 0:
        return choose(b, c, d) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return majority(b, c, d) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void sha1_block(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned t = 0; t < 16; t++)
        w[t] = load32(data + 4 * (size_t)t);
    for (unsigned t = 16; t < 80; t++)
        w[t] = left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (unsigned t = 0; t < 80; t++) {
        uint32_t next = left(a, 5) + sha1_f(t, b, c, d) + e + w[t];
        e = d;
        d = c;
        c = left(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
    tr_cleanse(w, sizeof(w));
}

/* The round constants K (section 4.2.2). */
static const uint32_t k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data)
{
    uint32_t w[64], s[8];
    for (unsigned t = 0; t < 16; t++)
        w[t] = load32(data + 4 * (size_t)t);
    for (unsigned t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = (right(y, 17) ^ right(y, 19) ^ y >> 10) + w[t - 7] +
               (right(x, 7) ^ right(x, 18) ^ x >> 3) + w[t - 16];
    }
    memcpy(s, h, sizeof(s));
    for (unsigned t = 0; t < 64; t++) {
        uint32_t t1 = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) +
                      choose(s[4], s[5], s[6]) + k256[t] + w[t];
        uint32_t t2 =
            (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) + majority(s[0], s[1], s[2]);
        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] += s[i];
    tr_cleanse(w, sizeof(w));
    tr_cleanse(s, sizeof(s));
}

#define BLOCKS(name)                                                                               \
    static void name##_blocks(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data, size_t blocks)    \
    {                                                                                              \
        for (; blocks > 0; blocks--, data += TROSSL_SHA_BLOCK)                                     \
            name##_block(h, data);                                                                 \
    }
BLOCKS(sha1)
BLOCKS(sha256)

const struct trossl_sha_code trossl_sha1_portable = {
    .name = "SHA-1 in C",
    .digest_len = 20,
    .initial = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
    .blocks = sha1_blocks};

const struct trossl_sha_code trossl_sha256_portable = {
    .name = "SHA-256 in C",
    .digest_len = 32,
    .initial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                0x5be0cd19},
    .blocks = sha256_blocks};

/* ---- Selection ------------------------------------------------------------------------------- */

#if TR_X86
#    define CHECKED (2 * TROSSL_SHA_BLOCK)

/* Tests the interleaved code against separate hash and CBC, for each key length and for one and two
 * records. Each record has 128 bytes, which are two hash blocks and eight AES blocks. */
static int interleaved_agrees(const struct trossl_sha_code *code, const uint8_t data[CHECKED],
                              const uint32_t expected[TROSSL_SHA_WORDS])
{
    uint8_t ivs[3][TR_BLOCK], out[3][CHECKED];
    uint32_t h[2][TROSSL_SHA_WORDS];
    struct tr_aes_key key;
    int good = 1;
    for (size_t len = 16; len <= 32; len += 8) {
        const struct trossl_interleaved b[2] = {{ivs[0], h[0], out[0], data, data},
                                                {ivs[1], h[1], out[1], data, data}};
        memcpy(ivs[2], data, TR_BLOCK);
        if (tr_aes_set_key(&key, &tr_aesni_noclmul, data, len) != TR_OK ||
            tr_cbc_encrypt(&key, ivs[2], out[2], data, CHECKED) != TR_OK)
            return 0;
        for (unsigned records = 1; records <= 2; records++) {
            for (unsigned i = 0; i < records; i++) {
                memcpy(ivs[i], data, TR_BLOCK);
                memcpy(h[i], code->initial, sizeof(h[i]));
                memset(out[i], 0, CHECKED);
            }
            code->cbc_interleaved(&key, b, records, 2);
            for (unsigned i = 0; i < records; i++)
                good &= memcmp(out[i], out[2], CHECKED) == 0 &&
                        memcmp(ivs[i], ivs[2], TR_BLOCK) == 0 &&
                        memcmp(h[i], expected, code->digest_len) == 0;
        }
    }
    return good;
}

static __attribute__((noinline)) int is_right(const struct trossl_sha_code *instructions,
                                              const struct trossl_sha_code *portable, int aes)
{
    uint8_t data[CHECKED];
    uint32_t h[TROSSL_SHA_WORDS], expected[TROSSL_SHA_WORDS];
    for (size_t i = 0; i < CHECKED; i++)
        data[i] = (uint8_t)(167 * i + 13);
    memcpy(h, portable->initial, sizeof(h));
    memcpy(expected, portable->initial, sizeof(h));
    instructions->blocks(h, data, 2);
    portable->blocks(expected, data, 2);
    return memcmp(h, expected, portable->digest_len) == 0 &&
           (!aes || interleaved_agrees(instructions, data, expected));
}

/* The verdicts of the known-answer tests, without and with AES instructions. Threads that race here
 * compute the same verdict. */
enum { NOT_TESTED, RIGHT, WRONG };
struct tested {
    uint8_t verdict[2];
};
static struct {
    struct tested sha1, sha256;
} verdicts;

static const struct trossl_sha_code *choose_code(tr_features usable, struct tested *tested,
                                                 const struct trossl_sha_code *instructions,
                                                 const struct trossl_sha_code *portable)
{
    const int aes = (usable & TR_FEATURE_AES) != 0;
    if (!trossl_has_sha(usable))
        return portable;
    uint8_t verdict = __atomic_load_n(&tested->verdict[aes], __ATOMIC_RELAXED);
    if (verdict == NOT_TESTED) {
        verdict = is_right(instructions, portable, aes) ? RIGHT : WRONG;
        __atomic_store_n(&tested->verdict[aes], verdict, __ATOMIC_RELAXED);
    }
    return verdict == RIGHT ? instructions : portable;
}
#else
#    define choose_code(usable, tested, instructions, portable) ((void)(usable), (portable))
#endif

const struct trossl_sha_code *trossl_sha1(tr_features usable)
{
    return choose_code(usable, &verdicts.sha1, &trossl_sha1_x86, &trossl_sha1_portable);
}

const struct trossl_sha_code *trossl_sha256(tr_features usable)
{
    return choose_code(usable, &verdicts.sha256, &trossl_sha256_x86, &trossl_sha256_portable);
}

/* ---- Messages -------------------------------------------------------------------------------- */

void trossl_sha_begin(const struct trossl_sha_code *code, struct trossl_sha *sha)
{
    memcpy(sha->h, code->initial, sizeof(sha->h));
    sha->len = 0;
}

void trossl_sha_update(const struct trossl_sha_code *code, struct trossl_sha *sha,
                       const uint8_t *data, size_t len)
{
    size_t used = sha->len % TROSSL_SHA_BLOCK;
    if (len == 0)
        return;
    sha->len += len;
    if (used != 0) {
        size_t n = TROSSL_SHA_BLOCK - used;
        if (n > len)
            n = len;
        memcpy(sha->block + used, data, n);
        data += n;
        len -= n;
        if (used + n < TROSSL_SHA_BLOCK)
            return;
        code->blocks(sha->h, sha->block, 1);
    }
    if (len >= TROSSL_SHA_BLOCK)
        code->blocks(sha->h, data, len / TROSSL_SHA_BLOCK);
    memcpy(sha->block, data + len - len % TROSSL_SHA_BLOCK, len % TROSSL_SHA_BLOCK);
}

void trossl_sha_digest(const struct trossl_sha_code *code, const uint32_t h[TROSSL_SHA_WORDS],
                       uint8_t *digest)
{
    for (size_t i = 0; i < code->digest_len / 4; i++)
        store32(digest + 4 * i, h[i]);
}

/* Appends the padding (FIPS 180-4 section 5.1.1): a 1 bit, zeros, and the length in bits. */
size_t trossl_sha_last(const struct trossl_sha *sha, uint8_t last[2 * TROSSL_SHA_BLOCK])
{
    size_t used = sha->len % TROSSL_SHA_BLOCK;
    size_t blocks = used + 9 > TROSSL_SHA_BLOCK ? 2 : 1;
    memset(last + used, 0, blocks * TROSSL_SHA_BLOCK - used);
    memcpy(last, sha->block, used);
    last[used] = 0x80;
    store32(last + blocks * TROSSL_SHA_BLOCK - 8, (uint32_t)(sha->len >> 29));
    store32(last + blocks * TROSSL_SHA_BLOCK - 4, (uint32_t)(sha->len << 3));
    return blocks;
}

void trossl_sha_end(const struct trossl_sha_code *code, struct trossl_sha *sha, uint8_t *digest)
{
    uint8_t last[2 * TROSSL_SHA_BLOCK];
    code->blocks(sha->h, last, trossl_sha_last(sha, last));
    trossl_sha_digest(code, sha->h, digest);
    tr_cleanse(last, sizeof(last));
}

/* ---- Messages of secret length --------------------------------------------------------------- */

/* Returns all ones if a < b, else zero. Both numbers must be below 2^31. */
static inline uint32_t mask_less(uint32_t a, uint32_t b)
{
    uint32_t difference = a - b;
    /* Hides the value from the optimizer, which could turn the mask into a branch. */
    __asm__("" : "+r"(difference));
    return 0 - (difference >> 31);
}

static inline uint32_t mask_equal(uint32_t a, uint32_t b)
{
    return ~(mask_less(a, b) | mask_less(b, a));
}

/* Keeps the bytes before offset `end`, writes 0x80 at `end`, and zeros after it. The offset may lie
 * outside the block. */
static void end_at(uint8_t block[TROSSL_SHA_BLOCK], uint32_t end)
{
    __asm__("" : "+r"(end));
    for (uint32_t i = 0; i < TROSSL_SHA_BLOCK; i++) {
        uint8_t before = (uint8_t)((i - end) >> 24), not_after = (uint8_t)((i - end - 1) >> 24);
        block[i] = (uint8_t)((block[i] & before) | (0x80 & not_after & ~before));
    }
}

/*
 * Let `total` be the number of message bytes from the start of sha->block on. The padding has at
 * least 9 bytes (0x80 and the length field), so the last block is (total + 8) / 64, counted from 0.
 * The chaining value after that block is the result. The function hashes the blocks before the
 * earliest possible end without masks. In each later block, up to the last possible end, masks cut
 * the data at `total` and add padding and length. Another mask keeps the chaining value after the
 * block (total + 8) / 64.
 */
void trossl_sha_end_secret_len(const struct trossl_sha_code *code, struct trossl_sha *sha,
                               const uint8_t *data, size_t len, size_t least, size_t most,
                               uint8_t *digest)
{
    uint8_t block[TROSSL_SHA_BLOCK];
    uint32_t result[TROSSL_SHA_WORDS] = {0};
    const uint64_t bits = 8 * (sha->len + len);
    const size_t used = sha->len % TROSSL_SHA_BLOCK;

    /* Hashes the blocks that contain only data at every possible length. */
    const size_t certain = (used + least) / TROSSL_SHA_BLOCK * TROSSL_SHA_BLOCK;
    if (certain > used) {
        trossl_sha_update(code, sha, data, certain - used);
        data += certain - used;
        len -= certain - used;
        most -= certain - used;
    }
    const size_t kept = sha->len % TROSSL_SHA_BLOCK;
    const uint32_t total = (uint32_t)(kept + len);
    const uint32_t last = (total + 8) / TROSSL_SHA_BLOCK;
    const size_t blocks = (kept + most + 8) / TROSSL_SHA_BLOCK + 1;

    memcpy(block, sha->block, kept);
    size_t at = kept;
    for (size_t i = 0; i < blocks; i++, at = 0) {
        size_t n = TROSSL_SHA_BLOCK - at;
        if (n > most)
            n = most;
        memcpy(block + at, data, n);
        memset(block + at + n, 0, TROSSL_SHA_BLOCK - at - n);
        data += n;
        most -= n;
        end_at(block, total - (uint32_t)(i * TROSSL_SHA_BLOCK));
        /* Hides i from gcc 12. In 32-bit code, gcc would otherwise count from -last, which is
         * secret, instead of from 0. The number of iterations would be the same, but valgrind would
         * report a branch on a secret. */
        uint32_t number = (uint32_t)i;
        __asm__("" : "+r"(number));
        const uint32_t is_last = mask_equal(number, last);
        for (unsigned j = 0; j < 8; j++)
            block[56 + j] |= (uint8_t)((bits >> (56 - 8 * j)) & is_last);
        code->blocks(sha->h, block, 1);
        for (unsigned j = 0; j < TROSSL_SHA_WORDS; j++)
            result[j] |= sha->h[j] & is_last;
    }
    trossl_sha_digest(code, result, digest);
    tr_cleanse(block, sizeof(block));
    tr_cleanse(result, sizeof(result));
}
