/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of tenrounds' key and message objects: not a part of the interface.
 *
 * tenrounds.h includes this file, because callers own the objects and the compiler must know their
 * sizes. Callers must not use these fields: they may change with the library's soversion.
 */
#ifndef TENROUNDS_PRIVATE_H
#define TENROUNDS_PRIVATE_H

#ifndef TENROUNDS_H
#    error "include tenrounds.h instead"
#endif

/* ---- Keys: constant once set, except for the powers in struct tr_ghash_key ---- */

struct tr_aes_key {
    /* The round keys of the cipher, 0 to `rounds`, in order of use. */
    uint8_t enc[15][TR_BLOCK];
    /* The round keys of the equivalent inverse cipher (FIPS-197 section 5.3.5), in order of use. */
    uint8_t dec[15][TR_BLOCK];
    const struct tr_backend *backend; /* NULL: the key is not set */
    uint32_t rounds;                  /* 10, 12 or 14 */
} TR_ALIGNED(16);

/* The most powers of H in a key: 32 for blocks of data, and 4 for AAD. */
#define TR_GHASH_POWERS 36u
/*
 * GHASH's hash subkey H and its powers (SP 800-38D section 6.4); see core/dispatch/ghash.h. With
 * carry-less multiplication, H^n is power[TR_GHASH_POWERS - n]. The GHASH of vperm multiplies by
 * byte shuffles: `power` has the multiplication tables of H. The GHASH of bitslice uses only `h`.
 */
struct tr_ghash_key {
    uint8_t power[TR_GHASH_POWERS][TR_BLOCK];
    uint8_t h[TR_BLOCK];
    uintptr_t powers_state; /* atomic: the number of powers, encoded (dispatch/ghash.h) */
    uint16_t short_len;     /* atomic: the most data of a short call (dispatch/ghash.h) */
    uint8_t powers_wanted;  /* atomic: a message has needed more powers */
    uint8_t unshared;       /* 1: only one message, and so only one thread, uses the key */
    uint8_t in_pieces;      /* atomic: the next messages of GCM that are expected in pieces */
} TR_ALIGNED(16);

/* The field `hash` comes first, so that its array `power` has the offset 0. If the key is aligned
 * to 64 bytes, no x86 vector load of a full group's powers crosses a cache line. */
struct tr_gcm_key {
    struct tr_ghash_key hash;
    struct tr_aes_key aes;
} TR_ALIGNED(16);

struct tr_ccm_key {
    struct tr_aes_key aes;
} TR_ALIGNED(16);

#define TR_OCB_POWERS 16u
struct tr_ocb_key {
    struct tr_aes_key aes;
    uint8_t l[TR_OCB_POWERS][TR_BLOCK]; /* L_0, L_1, .. (RFC 7253 section 4.1) */
    uint8_t l_star[TR_BLOCK], l_dollar[TR_BLOCK];
} TR_ALIGNED(16);

struct tr_cmac_key {
    struct tr_aes_key aes;
    uint8_t subkey[2][TR_BLOCK]; /* K1 for a full last block, K2 for a partial last block */
} TR_ALIGNED(16);

struct tr_siv_key {
    struct tr_cmac_key mac; /* K1 of RFC 5297 */
    struct tr_aes_key ctr;  /* K2 of RFC 5297 */
    uint8_t zero[TR_BLOCK]; /* CMAC of a block of zeros, the first step of S2V (section 2.4) */
} TR_ALIGNED(16);

struct tr_gcm_siv_key {
    struct tr_aes_key aes; /* the key-generating key (RFC 8452 section 4) */
} TR_ALIGNED(16);

struct tr_xts_key {
    struct tr_aes_key data, tweak;
    uint8_t equal; /* 1: both halves are the same key */
} TR_ALIGNED(16);

/* ---- Messages ---- */

struct tr_ghash {
    uint8_t hash[TR_BLOCK]; /* the hash so far */
    const struct tr_ghash_key *key;
} TR_ALIGNED(16);

/* The most AAD that a GCM message holds until data arrives, in bytes (core/modes/gcm.c). */
#define TR_GCM_HELD 64u
struct tr_gcm {
    struct tr_ghash ghash;
    uint8_t counter[TR_BLOCK]; /* the next counter block; only its last 32 bits change */
    uint8_t mask[TR_BLOCK];    /* the encrypted J0, which masks the tag; in the end the tag */
    const struct tr_gcm_key *key;
    uint64_t aad_len, len;     /* bytes so far */
    unsigned used;             /* bytes already used of the current block of AAD or data */
    uint8_t phase;             /* what the message expects (core/modes/gcm.c) */
    uint8_t mask_due;          /* 1: the mask is not computed yet */
    uint8_t keystream_due;     /* 1: the tail's keystream is not computed yet */
    uint8_t counter_is_secret; /* 1: derived from H, so no branch or index may use the counter */
    uint8_t addend_due;        /* multiplications of the hash by H until `addend` is XORed in */
    uint8_t held[TR_GCM_HELD] TR_ALIGNED(16); /* the AAD, if it is held */
    uint8_t keystream[TR_BLOCK]; /* the current block; its first `used` bytes are already used */
    uint8_t addend[TR_BLOCK];    /* if addend_due is 0, there is none */
} TR_ALIGNED(16);

struct tr_ccm {
    struct tr_ccm_run {
        uint8_t mac[TR_BLOCK]; /* the chaining value of the CBC-MAC */
        uint8_t counter[TR_BLOCK];
    } run;
    uint8_t tag_mask[TR_BLOCK];  /* the encrypted counter block 0 */
    uint8_t keystream[TR_BLOCK]; /* the current block; its first `used` bytes are already used */
    const struct tr_ccm_key *key;
    uint64_t aad_left, left; /* bytes still to come */
    unsigned used;           /* bytes already used of the current block of AAD or data */
    uint8_t tag_len, phase;
} TR_ALIGNED(16);

struct tr_ocb {
    struct tr_ocb_run {
        uint8_t offset[TR_BLOCK];   /* the offset of the previous block */
        uint8_t checksum[TR_BLOCK]; /* for AAD: the variable Sum (RFC 7253 section 4.1) */
        const struct tr_ocb_key *key;
        uint64_t index; /* whole blocks so far */
    } run, aad;
    uint8_t buffer[TR_BLOCK]; /* `used` bytes of AAD, less than a block */
    unsigned used;
    uint8_t tag_len, phase;
} TR_ALIGNED(16);

struct tr_cmac {
    const struct tr_cmac_key *key;
    uint8_t chain[TR_BLOCK];
    uint8_t buffer[TR_BLOCK]; /* 0 to 16 bytes: even a full block stays, as it may be the last */
    unsigned used;
    uint8_t phase;
} TR_ALIGNED(16);

struct tr_siv {
    const struct tr_siv_key *key;
    uint8_t sum[TR_BLOCK]; /* S2V's variable D (RFC 5297 section 2.4), without the plaintext */
    uint8_t components;    /* components of AAD so far */
    uint8_t phase;
} TR_ALIGNED(16);

/* A message holds the keys derived for its nonce. */
struct tr_gcm_siv {
    struct tr_ghash_key hash; /* POLYVAL computed as GHASH (RFC 8452 appendix A) */
    struct tr_aes_key aes;    /* the message-encryption key */
    struct tr_ghash ghash;
    uint8_t nonce[12];
    uint8_t buffer[TR_BLOCK]; /* `used` bytes of AAD, less than a block */
    uint64_t aad_len;
    unsigned used;
    uint8_t phase;
} TR_ALIGNED(16);

#endif
