/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-1 and SHA-256 (FIPS 180-4) for AES-CBC-HMAC. The provider cannot use libcrypto's hashes,
 * because it interleaves hash and encryption, and because it is not linked with libcrypto. Constant
 * time: no branch or index depends on data. */
#ifndef TENROUNDS_SHA_H
#define TENROUNDS_SHA_H

#include "tenrounds.h"

#define TROSSL_SHA_BLOCK 64u
#define TROSSL_SHA_MAX   32u /* bytes of the longest digest */
#define TROSSL_SHA_WORDS 8u  /* 32-bit words of the chaining value; SHA-1 uses the first 5 */

/* Hashes whole blocks of 64 bytes into the chaining value. */
typedef void trossl_sha_blocks_fn(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data, size_t blocks);

/* One record to hash and encrypt in the same loop. */
struct trossl_interleaved {
    uint8_t *iv; /* chaining value of CBC, 16 bytes, updated */
    uint32_t *h; /* chaining value of the hash, updated */
    uint8_t *out;
    const uint8_t *in; /* begins at or after `out`, or is disjoint from it */
    /* The input of the hash starts at `in` or a later address, or is disjoint from `in` and `out`.
     * The loop reads each block of this input before it writes ciphertext over the block. */
    const uint8_t *hashed;
};

/* Hashes 64 * n bytes at b->hashed, interleaved with AES-CBC encryption of 64 * n bytes at b->in.
 * The key has 128 or 256 bits. Processes 1 or 2 independent records (`records`). */
typedef void trossl_cbc_interleaved_fn(const struct tr_aes_key *key,
                                       const struct trossl_interleaved *b, unsigned records,
                                       size_t n);

/* One implementation of one hash. */
struct trossl_sha_code {
    const char *name;
    size_t digest_len;
    uint32_t initial[TROSSL_SHA_WORDS]; /* FIPS 180-4 section 5.3 */
    uint32_t example[TROSSL_SHA_WORDS]; /* the digest of the known-answer test */
    trossl_sha_blocks_fn *blocks;
    /* NULL if no such code exists. The code needs AES-NI. */
    trossl_cbc_interleaved_fn *cbc_interleaved;
};

/* Code with the SHA instructions, only for x86. It needs TR_FEATURE_SHA and TR_FEATURE_SSSE3. */
extern const struct trossl_sha_code trossl_sha1_x86, trossl_sha256_x86;

/* Whether these features allow the code with the SHA instructions. */
static inline int trossl_has_sha(tr_features usable)
{
    return (~usable & (TR_FEATURE_SHA | TR_FEATURE_SSSE3)) == 0;
}

/* Return the code with the SHA instructions, or NULL if these features do not allow it or it fails
 * its known-answer test. The first call of the process runs the test. With TR_FEATURE_AES, the test
 * compares the interleaved code with separate hash and tr_cbc_encrypt(), too. */
const struct trossl_sha_code *trossl_sha1(tr_features usable);
const struct trossl_sha_code *trossl_sha256(tr_features usable);

/* A message in progress. Assignment copies it. */
struct trossl_sha {
    uint32_t h[TROSSL_SHA_WORDS];
    uint64_t len; /* message bytes so far */
    /* The first len % 64 bytes of `block` are the end of the message so far. */
    uint8_t block[TROSSL_SHA_BLOCK];
};

void trossl_sha_begin(const struct trossl_sha_code *code, struct trossl_sha *sha);
void trossl_sha_update(const struct trossl_sha_code *code, struct trossl_sha *sha,
                       const uint8_t *data, size_t len);
/* Writes the last one or two blocks of the message, with its last bytes, padding and length.
 * Returns the number of blocks. */
size_t trossl_sha_last(const struct trossl_sha *sha, uint8_t last[2 * TROSSL_SHA_BLOCK]);

/* Writes the digest, code->digest_len bytes. After this call, *sha cannot be used. */
void trossl_sha_end(const struct trossl_sha_code *code, struct trossl_sha *sha, uint8_t *digest);

/* Writes the chaining value as a digest. */
void trossl_sha_digest(const struct trossl_sha_code *code, const uint32_t h[TROSSL_SHA_WORDS],
                       uint8_t *digest);

/* Ends a message. Its last piece, at `data`, has a secret length `len`, from `least` to `most`
 * bytes. Both bounds are public, and `most` bytes must be readable. The number of compressions and
 * the bytes read depend only on the bounds. After this call, *sha cannot be used. */
void trossl_sha_end_secret_len(const struct trossl_sha_code *code, struct trossl_sha *sha,
                               const uint8_t *data, size_t len, size_t least, size_t most,
                               uint8_t *digest);

#endif
