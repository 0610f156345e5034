/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SHA-1 and SHA-256 with the SHA instructions (Intel SDM volume 2, SHA1RNDS4 and others), alone and
 * interleaved with AES-CBC encryption.
 *
 * Hash and CBC are both latency-bound. On Zen 4, SHA-1 of 64 bytes takes 120 cycles, for 20
 * SHA1RNDS4 of 6 cycles each. SHA-256 takes 128 cycles, for 32 SHA256RNDS2 of 4 cycles each. CBC
 * encryption of 64 bytes takes 4 blocks x 10 or 14 rounds x 4 cycles = 160 or 224 cycles. Hash and
 * CBC use different execution units and do not depend on each other. One loop that alternates a few
 * rounds of each therefore hides the hash behind AES.
 */
#include "dispatch/backend.h"
#include "sha.h"
#if TR_X86
#    include <immintrin.h>

#    define TARGET             __attribute__((target("sha,ssse3")))
#    define TARGET_INTERLEAVED __attribute__((target("aes,sha,ssse3")))
#    define INLINE             static inline __attribute__((always_inline))
#    define UNROLL             _Pragma("GCC unroll 20")

INLINE TARGET __m128i load(const void *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

INLINE TARGET void store(void *p, __m128i x)
{
    _mm_storeu_si128((__m128i *)p, x);
}

/* ---- SHA-1: the first word is in the highest element ----------------------------------------- */

struct sha1 {
    /* After a group of four rounds, `e` holds the abcd from before the group. SHA1NEXTE computes
     * the next e from that abcd. */
    __m128i abcd, e;
    __m128i abcd_0, e_0; /* the values at the start of the block */
    __m128i w[4];
};

INLINE TARGET void sha1_load(struct sha1 *s, const uint32_t *h)
{
    s->abcd = _mm_shuffle_epi32(load(h), 0x1b);
    s->e = _mm_set_epi32((int)h[4], 0, 0, 0);
}

INLINE TARGET void sha1_store(const struct sha1 *s, uint32_t *h)
{
    store(h, _mm_shuffle_epi32(s->abcd, 0x1b));
    h[4] = (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(s->e, 12));
}

INLINE TARGET void sha1_begin(struct sha1 *s, const uint8_t *data)
{
    const __m128i reversed = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    for (int i = 0; i < 4; i++)
        s->w[i] = _mm_shuffle_epi8(load(data + 16 * i), reversed);
    s->abcd_0 = s->abcd;
    s->e_0 = s->e;
}

/* Performs the four rounds of one group. The groups are 0 to 19. */
INLINE TARGET void sha1_rounds(struct sha1 *s, int group)
{
    __m128i *w = s->w;
    __m128i e = group == 0 ? _mm_add_epi32(s->e, w[0]) : _mm_sha1nexte_epu32(s->e, w[group % 4]);
    s->e = s->abcd;
    s->abcd = group < 5    ? _mm_sha1rnds4_epu32(s->abcd, e, 0)
              : group < 10 ? _mm_sha1rnds4_epu32(s->abcd, e, 1)
              : group < 15 ? _mm_sha1rnds4_epu32(s->abcd, e, 2)
                           : _mm_sha1rnds4_epu32(s->abcd, e, 3);
    if (group < 16) {
        __m128i x = _mm_sha1msg1_epu32(w[group % 4], w[(group + 1) % 4]);
        x = _mm_xor_si128(x, w[(group + 2) % 4]);
        w[group % 4] = _mm_sha1msg2_epu32(x, w[(group + 3) % 4]);
    }
}

INLINE TARGET void sha1_finish(struct sha1 *s)
{
    s->e = _mm_sha1nexte_epu32(s->e, s->e_0);
    s->abcd = _mm_add_epi32(s->abcd, s->abcd_0);
}

/* ---- SHA-256: the state in the two halves that SHA256RNDS2 takes ----------------------------- */

struct sha256 {
    __m128i abef, cdgh, abef_0, cdgh_0;
    __m128i w[4];
};

/* The round constants K (FIPS 180-4 section 4.2.2). */
static const uint32_t k256[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

INLINE TARGET void sha256_load(struct sha256 *s, const uint32_t *h)
{
    __m128i badc = _mm_shuffle_epi32(load(h), 0xb1), fehg = _mm_shuffle_epi32(load(h + 4), 0xb1);
    s->abef = _mm_unpacklo_epi64(fehg, badc);
    s->cdgh = _mm_unpackhi_epi64(fehg, badc);
}

INLINE TARGET void sha256_store(const struct sha256 *s, uint32_t *h)
{
    store(h, _mm_shuffle_epi32(_mm_unpackhi_epi64(s->abef, s->cdgh), 0xb1));
    store(h + 4, _mm_shuffle_epi32(_mm_unpacklo_epi64(s->abef, s->cdgh), 0xb1));
}

INLINE TARGET void sha256_begin(struct sha256 *s, const uint8_t *data)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    for (int i = 0; i < 4; i++)
        s->w[i] = _mm_shuffle_epi8(load(data + 16 * i), big_endian);
    s->abef_0 = s->abef;
    s->cdgh_0 = s->cdgh;
}

/* Performs the four rounds of one group. The groups are 0 to 15. */
INLINE TARGET void sha256_rounds(struct sha256 *s, int group)
{
    __m128i *w = s->w;
    __m128i wk = _mm_add_epi32(w[group % 4], load(k256 + 4 * group));
    s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, wk);
    s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(wk, 0x0e));
    if (group < 12) {
        __m128i x = _mm_sha256msg1_epu32(w[group % 4], w[(group + 1) % 4]);
        x = _mm_add_epi32(x, _mm_alignr_epi8(w[(group + 3) % 4], w[(group + 2) % 4], 4));
        w[group % 4] = _mm_sha256msg2_epu32(x, w[(group + 3) % 4]);
    }
}

INLINE TARGET void sha256_finish(struct sha256 *s)
{
    s->abef = _mm_add_epi32(s->abef, s->abef_0);
    s->cdgh = _mm_add_epi32(s->cdgh, s->cdgh_0);
}

/* ---- Both hashes, alone and interleaved with CBC --------------------------------------------- */

/* AES-CBC encryption. The key of a block's last round includes F = k0 XOR the next plaintext. The
 * result `s` is then ciphertext XOR F, with which the next block's round 1 begins
 * (core/simd/serial.h). */
struct cbc {
    const uint8_t (*keys)[16];
    __m128i k0, kn, s; /* the first and the last round key, the state */
};

INLINE TARGET_INTERLEAVED void cbc_begin(struct cbc *c, const struct tr_aes_key *key,
                                         const uint8_t *iv, const uint8_t *in)
{
    c->keys = key->enc;
    c->k0 = load(key->enc[0]);
    c->kn = load(key->enc[key->rounds]);
    __m128i f = _mm_xor_si128(c->k0, load(in));
    c->s = _mm_xor_si128(load(iv), f);
}

INLINE TARGET_INTERLEAVED void cbc_rounds(struct cbc *c, int from, int to)
{
    UNROLL
    for (int r = from; r < to; r++)
        c->s = _mm_aesenc_si128(c->s, load(c->keys[r]));
}

/* Performs the last round of a block; `next` is the plaintext of the next block. Returns the
 * block's ciphertext, s XOR F. */
INLINE TARGET_INTERLEAVED __m128i cbc_end(struct cbc *c, __m128i next)
{
    __m128i f = _mm_xor_si128(c->k0, next);
    c->s = _mm_aesenclast_si128(c->s, _mm_xor_si128(c->kn, f));
    return _mm_xor_si128(c->s, f);
}

/* Processes 64 * n bytes of each of L records. For each 64 bytes, hashes a block in `groups` groups
 * of 4 rounds and encrypts four AES blocks of `rounds` rounds. Reads the block to hash and the next
 * plaintext before it writes ciphertext. The last block has no next plaintext, and takes k0
 * instead. F is then 0, so the CBC state equals the ciphertext, and needs no cleansing. */
#    define INTERLEAVED(hash, groups, rounds, L)                                                   \
        static TARGET_INTERLEAVED void hash##_interleaved_##rounds##_##L(                          \
            const struct tr_aes_key *key, const struct trossl_interleaved *b, size_t n)            \
        {                                                                                          \
            struct hash s[L];                                                                      \
            struct cbc c[L];                                                                       \
            __m128i block[L];                                                                      \
            size_t at = 0;                                                                         \
            for (int l = 0; l < L; l++) {                                                          \
                hash##_load(&s[l], b[l].h);                                                        \
                cbc_begin(&c[l], key, b[l].iv, b[l].in);                                           \
                block[l] = _mm_setzero_si128();                                                    \
            }                                                                                      \
            for (; n > 0; n--, at += 64) {                                                         \
                UNROLL                                                                             \
                for (int l = 0; l < L; l++)                                                        \
                    hash##_begin(&s[l], b[l].hashed + at);                                         \
                UNROLL                                                                             \
                for (int i = 0; i < 4; i++) {                                                      \
                    __m128i next[L];                                                               \
                    UNROLL                                                                         \
                    for (int l = 0; l < L; l++)                                                    \
                        next[l] = i < 3 || n > 1 ? load(b[l].in + at + 16 * i + 16) : c[l].k0;     \
                    UNROLL                                                                         \
                    for (int j = 0; j < (groups) / 4; j++) {                                       \
                        UNROLL                                                                     \
                        for (int l = 0; l < L; l++) {                                              \
                            hash##_rounds(&s[l], (groups) / 4 * i + j);                            \
                            cbc_rounds(&c[l], 1 + ((rounds)-1) * 4 * j / (groups),                 \
                                       1 + ((rounds)-1) * 4 * (j + 1) / (groups));                 \
                        }                                                                          \
                    }                                                                              \
                    UNROLL                                                                         \
                    for (int l = 0; l < L; l++) {                                                  \
                        block[l] = cbc_end(&c[l], next[l]);                                        \
                        store(b[l].out + at + 16 * i, block[l]);                                   \
                    }                                                                              \
                }                                                                                  \
                UNROLL                                                                             \
                for (int l = 0; l < L; l++)                                                        \
                    hash##_finish(&s[l]);                                                          \
            }                                                                                      \
            for (int l = 0; l < L; l++) {                                                          \
                store(b[l].iv, block[l]);                                                          \
                hash##_store(&s[l], b[l].h);                                                       \
            }                                                                                      \
        }

#    define HASH(hash, groups)                                                                     \
        static TARGET void hash##_blocks(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data,        \
                                         size_t blocks)                                            \
        {                                                                                          \
            struct hash s;                                                                         \
            hash##_load(&s, h);                                                                    \
            for (; blocks > 0; blocks--, data += TROSSL_SHA_BLOCK) {                               \
                hash##_begin(&s, data);                                                            \
                UNROLL                                                                             \
                for (int i = 0; i < (groups); i++)                                                 \
                    hash##_rounds(&s, i);                                                          \
                hash##_finish(&s);                                                                 \
            }                                                                                      \
            hash##_store(&s, h);                                                                   \
        }                                                                                          \
        INTERLEAVED(hash, groups, 10, 1)                                                           \
        INTERLEAVED(hash, groups, 14, 1)                                                           \
        INTERLEAVED(hash, groups, 10, 2)                                                           \
        INTERLEAVED(hash, groups, 14, 2)                                                           \
        static void hash##_interleaved(const struct tr_aes_key *key,                               \
                                       const struct trossl_interleaved *b, unsigned records,       \
                                       size_t n)                                                   \
        {                                                                                          \
            if (n == 0)                                                                            \
                return;                                                                            \
            if (key->rounds == 10)                                                                 \
                (records == 1 ? hash##_interleaved_10_1 : hash##_interleaved_10_2)(key, b, n);     \
            else                                                                                   \
                (records == 1 ? hash##_interleaved_14_1 : hash##_interleaved_14_2)(key, b, n);     \
        }

HASH(sha1, 20)
HASH(sha256, 16)

const struct trossl_sha_code trossl_sha1_x86 = {
    .name = "SHA-1 with SHA instructions",
    .digest_len = 20,
    .initial = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
    .example = {0x84983e44, 0x1c3bd26e, 0xbaae4aa1, 0xf95129e5, 0xe54670f1},
    .blocks = sha1_blocks,
    .cbc_interleaved = sha1_interleaved};

const struct trossl_sha_code trossl_sha256_x86 = {
    .name = "SHA-256 with SHA instructions",
    .digest_len = 32,
    .initial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                0x5be0cd19},
    .example = {0x248d6a61, 0xd20638b8, 0xe5c02693, 0x0c3e6039, 0xa33ce459, 0x64ff2167, 0xf6ecedd4,
                0x19db06c1},
    .blocks = sha256_blocks,
    .cbc_interleaved = sha256_interleaved};
#endif
