/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SHA-1 and SHA-256 (FIPS 180-4) for the ciphers that come with an HMAC: what lives inside libcrypto is
 * not linked with it, and only code of our own can run beside the encryption of the same record.
 * Constant time: no branch or index depends on data.
 */
#ifndef TENROUNDS_SHA_H
#define TENROUNDS_SHA_H

#include "tenrounds.h"

#define TROSSL_SHA_BLOCK 64u
#define TROSSL_SHA_MAX   32u /* bytes of the longest digest */
#define TROSSL_SHA_WORDS 8u  /* of the chaining value; SHA-1 uses the first five */

/* Takes whole blocks of 64 bytes into the chaining value. */
typedef void trossl_sha_blocks_fn(uint32_t h[TROSSL_SHA_WORDS], const uint8_t *data, size_t blocks);

/* The two chains of a sealed record. */
struct trossl_beside {
    uint8_t *iv; /* of CBC, 16 bytes, updated */
    uint32_t *h; /* chaining value, updated */
    uint8_t *out;
    const uint8_t *in;     /* out, or disjoint from it */
    const uint8_t *hashed; /* at in or after it, or disjoint; read before what is written over it */
};

/*
 * Hashes 64 * n bytes from each b->hashed on, and encrypts as many from b->in on with AES-CBC: of one record
 * (records == 1) or of two that have nothing to do with each other, in one loop.
 */
typedef void trossl_cbc_beside_fn(const struct tr_aes_key *key, const struct trossl_beside *b,
                                  unsigned records, size_t n);

/* One hash by one kind of code. */
struct trossl_sha_code {
    const char *name;
    size_t digest_len;
    uint32_t initial[TROSSL_SHA_WORDS]; /* FIPS 180-4 section 5.3 */
    trossl_sha_blocks_fn *blocks;
    trossl_cbc_beside_fn *cbc_beside; /* NULL where there is none; needs AES-NI as well */
};

/* In C, for every processor. */
extern const struct trossl_sha_code trossl_sha1_portable, trossl_sha256_portable;
/* With the SHA instructions: needs TR_FEATURE_SHA and TR_FEATURE_SSSE3. x86 only. */
extern const struct trossl_sha_code trossl_sha1_x86, trossl_sha256_x86;

/* The best code for a processor with these features that passes a known answer, just now: the same hash as
 * the code in C, of which that is the weaker form, and beside CBC the same ciphertext as without. */
const struct trossl_sha_code *trossl_sha1(tr_features usable);
const struct trossl_sha_code *trossl_sha256(tr_features usable);

/* A message in the making; a plain struct, copied by assignment. */
struct trossl_sha {
    uint32_t h[TROSSL_SHA_WORDS];
    uint64_t len;                    /* bytes so far */
    uint8_t block[TROSSL_SHA_BLOCK]; /* the last len % 64 of them */
};

void trossl_sha_begin(const struct trossl_sha_code *code, struct trossl_sha *sha);
void trossl_sha_update(const struct trossl_sha_code *code, struct trossl_sha *sha,
                       const uint8_t *data, size_t len);
/* The blocks that end the message, of bytes, padding and length: one or two. Returns their number. */
size_t trossl_sha_last(const struct trossl_sha *sha, uint8_t last[2 * TROSSL_SHA_BLOCK]);

/* Writes code->digest_len bytes; *sha is used up. */
void trossl_sha_end(const struct trossl_sha_code *code, struct trossl_sha *sha, uint8_t *digest);

/* The bytes of a digest from the chaining value. */
void trossl_sha_digest(const struct trossl_sha_code *code, const uint32_t h[TROSSL_SHA_WORDS],
                       uint8_t *digest);

/*
 * Ends a message of which the length of the last piece is secret: len bytes of it, between least and
 * most (both public), lie at data, where most bytes can be read. The number of compressions and what
 * is read depend on least and most alone. *sha is used up.
 */
void trossl_sha_end_secretly(const struct trossl_sha_code *code, struct trossl_sha *sha,
                             const uint8_t *data, size_t len, size_t least, size_t most,
                             uint8_t *digest);

#endif
