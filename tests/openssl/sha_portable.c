/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-1 and SHA-256 in C, for processors and checkers without SHA instructions. */
#include "sha_portable.h"

#include <string.h>

/* ---- The compression functions, FIPS 180-4 section 6 ----------------------------------------- */

static inline uint32_t load32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
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

const struct trossl_sha_code sha1_portable = {
    .name = "SHA-1 in C",
    .digest_len = 20,
    .initial = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
    .blocks = sha1_blocks};

const struct trossl_sha_code sha256_portable = {.name = "SHA-256 in C",
                                                .digest_len = 32,
                                                .initial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                                            0xa54ff53a, 0x510e527f, 0x9b05688c,
                                                            0x1f83d9ab, 0x5be0cd19},
                                                .blocks = sha256_blocks};
