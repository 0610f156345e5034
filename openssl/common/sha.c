/* SPDX-License-Identifier: BSD-2-Clause */
#include "sha.h"

#include "dispatch/backend.h"
#include "dispatch/env.h"
#include "dispatch/select.h"
#include "masks.h"

#include <string.h>

static inline void store32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

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

/* Keeps the bytes before offset `end`, writes 0x80 at `end`, and zeros after it. The offset may lie
 * outside the block. */
static void sha_end_at(uint8_t block[TROSSL_SHA_BLOCK], uint32_t end)
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
        sha_end_at(block, total - (uint32_t)(i * TROSSL_SHA_BLOCK));
        /* Without opaque(), gcc 12 would count from -last in 32-bit code, which is secret. The loop
         * would run as often, but valgrind would report a branch on a secret. */
        const uint32_t is_last = (uint32_t)mask_equal(opaque(i), last);
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

/* ---- Selection ------------------------------------------------------------------------------- */

#if TR_X86
#    define CHECKED (2 * TROSSL_SHA_BLOCK)

/* Tests the interleaved code against separate hash and CBC, for each key length and for one and two
 * records. Each record has 128 bytes, which are two hash blocks and eight AES blocks. */
static int sha_interleaved_agrees(const struct trossl_sha_code *code, const uint8_t data[CHECKED])
{
    uint8_t ivs[3][TR_BLOCK], out[3][CHECKED];
    uint32_t h[2][TROSSL_SHA_WORDS];
    struct tr_aes_key key;
    int good = 1;
    for (size_t len = 16; len <= 32; len += 16) {
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
                        memcmp(h[i], code->example, code->digest_len) == 0;
        }
    }
    return good;
}

/* The known-answer test: the example of two blocks (RFC 6234 section 8.5, TEST2_1). */
static __attribute__((noinline)) int sha_is_right(const struct trossl_sha_code *code, int aes)
{
    static const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    struct trossl_sha sha;
    uint8_t data[CHECKED];
    trossl_sha_begin(code, &sha);
    trossl_sha_update(code, &sha, (const uint8_t *)text, sizeof(text) - 1);
    code->blocks(sha.h, data, trossl_sha_last(&sha, data));
    sha.h[0] ^=
        (uint32_t)tr_is_listed(tr_env_sabotage(), code->digest_len == 20 ? "sha1" : "sha256");
    return memcmp(sha.h, code->example, code->digest_len) == 0 &&
           (!aes || sha_interleaved_agrees(code, data));
}

/* The verdicts of the known-answer tests of SHA-1 and SHA-256, without and with AES instructions.
 * Threads that race here compute the same verdict. */
enum { NOT_TESTED, RIGHT, WRONG };
static uint8_t verdicts[2][2];

static const struct trossl_sha_code *sha_usable_code(tr_features usable, uint8_t verdict_of[2],
                                                     const struct trossl_sha_code *code)
{
    const int aes = (usable & TR_FEATURE_AES) != 0;
    if (!trossl_has_sha(usable))
        return NULL;
    uint8_t verdict = __atomic_load_n(&verdict_of[aes], __ATOMIC_RELAXED);
    if (verdict == NOT_TESTED) {
        verdict = sha_is_right(code, aes) ? RIGHT : WRONG;
        __atomic_store_n(&verdict_of[aes], verdict, __ATOMIC_RELAXED);
    }
    return verdict == RIGHT ? code : NULL;
}
#else
#    define sha_usable_code(usable, verdict_of, code) ((void)(usable), NULL)
#endif

const struct trossl_sha_code *trossl_sha1(tr_features usable)
{
    return sha_usable_code(usable, verdicts[0], &trossl_sha1_x86);
}

const struct trossl_sha_code *trossl_sha256(tr_features usable)
{
    return sha_usable_code(usable, verdicts[1], &trossl_sha256_x86);
}
