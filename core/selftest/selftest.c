/* SPDX-License-Identifier: BSD-2-Clause */
/* Known-answer tests for every operation, direction and key size of a backend. They call the modes,
 * at lengths that reach each loop and tail. The expected answers are 64-bit digests of the
 * ciphertexts and tags, because whole ciphertexts would make the library slower to load. Decryption
 * must give the plaintext. The test suite recomputes the digests with another implementation of
 * AES. */
#include "selftest/selftest.h"

#include "dispatch/backend.h"
#include "util.h"

/*
 * Lengths of 1 to 77 blocks, and of 222, 254 and 389 blocks. Messages of 77 blocks run the main
 * loop of the widest backend, over groups of 32 or 64 blocks. The remaining 13 blocks run the code
 * for smaller groups. Messages of 13 and 31 blocks end in a partial vector. The extra bytes test
 * tails, in the modes that accept them. Messages of 389 blocks test the loops for long data units
 * of XTS and long GCM messages. GCM precomputes AES states from 384 blocks on (simd/gcm/long.h).
 * The last 5 of the 389 blocks do not fill a group. Messages of 222 and 254 blocks have 14 and 16
 * chunks, and in the longer one the last byte of the counter wraps (simd/gcm/chunks.h).
 */
const uint16_t tr_known_lengths[10] = {16 + 5,   32 + 10,   48 + 15,  96 + 14,  208 + 1,
                                       496 + 11, 1232 + 15, 6224 + 7, 3552 + 9, 4064 + 9};

/* The low 64 bits of the counter wrap after 17 blocks, and the carry propagates into the high half.
 * Because 17 is no multiple of 2 or 4, the counter wraps within a vector. */
const uint8_t tr_known_iv[16] = {0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xef};

uint8_t tr_known_plaintext(size_t i)
{
    return (uint8_t)(167 * i + 11 * (i >> 4) + 13);
}

uint8_t tr_known_key(size_t i)
{
    return (uint8_t)(0x10 + 7 * i);
}

static void fill_key(uint8_t *raw, size_t len)
{
    for (size_t i = 0; i < len; i++)
        raw[i] = tr_known_key(i);
}

TR_INLINE uint64_t mix(uint64_t digest, const uint8_t word[8])
{
    digest = (digest ^ __builtin_bswap64(tr_load64_be(word))) * 0x100000001b3u;
    return digest ^ digest >> 29;
}

/* Continues a digest: a variant of FNV-1a over little-endian 64-bit words. The last word is padded
 * with zeros. The shift mixes high bits into low ones. The digest is not cryptographic: it detects
 * faults, not attacks. */
uint64_t tr_known_digest(uint64_t digest, const uint8_t *data, size_t len)
{
    uint8_t last[8] = {0};
    for (; len >= 8; data += 8, len -= 8)
        digest = mix(digest, data);
    __builtin_memcpy(last, data, len);
    return len != 0 ? mix(digest, last) : digest;
}

/* CCM is serial and has only one loop, so the first 4 lengths suffice. GCM_LONG begins with 77
 * blocks, which need all powers of H (see set_key()). */
const struct tr_known_answer tr_known[TR_KNOWN_TESTS] = {
#define ANSWER(known, test, first, end, aad, blocks, ...)                                          \
    [TR_KNOWN_##known] = {{__VA_ARGS__}, TR_TEST_##test, first, end, TR_KNOWN_##aad, blocks}
    ANSWER(ECB, ECB, 0, 7, NONE, 1, 0x4851f67f2080e3f5, 0x3adbd955ad073377, 0x6e323e1e30d9dcb4),
    ANSWER(CBC, CBC, 0, 7, NONE, 1, 0x09fc1b258d12596f, 0x315b502c168e5c9c, 0x570b081e35b1c393),
    ANSWER(CFB, CFB, 0, 7, NONE, 0, 0x136db8ffbd18e26b, 0x8a35407c9d3758a5, 0x7182b260be7d5fa5),
    ANSWER(OFB, OFB, 0, 7, NONE, 0, 0x522315906b7fc896, 0x5896164f0d44026f, 0x0d9d65c503f0d3d5),
    ANSWER(CTR, CTR, 0, 7, NONE, 0, 0xd767ca3f2a29cd59, 0xbbcf494058d6044b, 0xe53cf357c714119d),
    ANSWER(XTS, XTS, 0, 7, NONE, 0, 0xc8f00c2b8a13ae27, 0, 0x00baea1dd2af0bad),
    ANSWER(XTS_LONG, XTS, 7, 8, NONE, 0, 0xc4cd8b28aaae2faa, 0, 0xd61f6816f16750f0),
    ANSWER(CCM, CCM, 0, 4, ALL, 0, 0xaa8c02e9c49c2b8f, 0x7a332e6e11e417ec, 0x5feb1b2b67ca6e2b),
    ANSWER(OCB, OCB, 0, 7, ALL, 0, 0xd056b99a9b7e7411, 0xb3ce5c7c1697d264, 0x1e22c26e0e25908a),
    ANSWER(GCM_SIV, GCM_SIV, 0, 7, ALL, 0, 0x00f1804b39cca1ec, 0xfa93a6c21c9bf714,
           0x18d39ade0ecc81be),
    ANSWER(GCM, GCM, 0, 7, ALL, 0, 0xa05f568558980040, 0xe9baeee2139f6480, 0x799a53a89512dbae),
    ANSWER(GCM_WRAP, GCM, 0, 7, ALL, 0, 0x475e587c8ceec4bf, 0x6bdf34e0f91245ae, 0x768159b3f0989fb3),
    ANSWER(GCM_LONG, GCM, 6, 8, TLS, 0, 0x00bb18a712e0e5c4, 0x08f2116c10b84683, 0xda330a1ec6dc7406),
    ANSWER(GCM_CHUNKS, GCM, 8, 10, TLS, 0, 0xcb57159ab50fe143, 0x5dda4fafc3c92b30,
           0x85f45e022f7d9338),
    ANSWER(GCM_SHORT, GCM, 0, 7, TLS, 0, 0x0d2254b03dedbb57, 0x07a02934d96c478e,
           0x6a553a54f97391c4),
    ANSWER(GCM_BLOCKS, GCM, 0, 7, TLS, 1, 0xf0ddb142adc8b927, 0xb906c16fcc970e85,
           0xdf6bd571144ee372),
};

/* The IVs of GCM_WRAP, 16 bytes for each key size. They give J0 = a0a1a2a3 a4a5a6a7 a8a9aaab
 * ffffffee. Such an IV is (J0 H^-1 XOR L) H^-1. H is the hash subkey, and L is the length block for
 * an IV of 128 bits. This is the equation of SP 800-38D section 7.1 step 2, solved for the IV. */
const uint8_t tr_known_wrapping_iv[TR_KNOWN_KEYS][16] = {
    {0x44, 0x80, 0x55, 0x74, 0x4b, 0x21, 0xfb, 0x67, 0x41, 0xdf, 0xcb, 0xd9, 0x18, 0x8f, 0x24,
     0x68},
    {0xc1, 0x7a, 0xa5, 0x9b, 0xaf, 0x5e, 0x4a, 0x7c, 0x32, 0xa6, 0x41, 0xc7, 0x90, 0x47, 0x61,
     0xf3},
    {0x06, 0xd0, 0xcb, 0x49, 0xb5, 0x40, 0x70, 0x0b, 0xb6, 0x99, 0x4f, 0x99, 0x0e, 0x73, 0xc0,
     0xf9}};

#if TR_ENV_ALL_MODES
/* Decrypts in one call, or in two calls: the whole blocks, then the tail. One call tests the
 * backend's function for ragged lengths (tr_backend.whole.cfb_decrypt), if there is one. Two calls
 * test the bulk operation. The known lengths of 1, 13 and 77 blocks take two calls. */
static enum tr_status cfb_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                  const uint8_t *in, size_t len)
{
    const size_t whole = (len / TR_BLOCK & 2) == 0 ? len - len % TR_BLOCK : 0;
    unsigned used = 0;
    const enum tr_status status = tr_cfb128_decrypt(key, iv, &used, out, in, whole);
    return status != TR_OK
               ? status
               : tr_cfb128_decrypt(key, iv, &used, out + whole, in + whole, len - whole);
}
#endif

/* A block of the plaintext as two words. */
struct plain_block {
    uint64_t words[2];
};

/* tr_known_plaintext() of 0 to 15. */
TR_INLINE struct plain_block first_block(void)
{
    static const uint8_t bytes[TR_BLOCK] = {0x0d, 0xb4, 0x5b, 0x02, 0xa9, 0x50, 0xf7, 0x9e,
                                            0x45, 0xec, 0x93, 0x3a, 0xe1, 0x88, 0x2f, 0xd6};
    struct plain_block b;
    __builtin_memcpy(b.words, bytes, TR_BLOCK);
    return b;
}

/* Each byte of a block is the byte of the previous block plus 167 * 16 + 11, which is 123 modulo
 * 256. Adds 8 bytes at once; the high bits stay apart, so that no carry leaves its byte. */
TR_INLINE struct plain_block next_block(struct plain_block b)
{
    for (unsigned i = 0; i < 2; i++)
        b.words[i] = ((b.words[i] & 0x7f7f7f7f7f7f7f7f) + 0x7b7b7b7b7b7b7b7b) ^
                     (b.words[i] & 0x8080808080808080);
    return b;
}

/* Fills a buffer with the plaintext. */
static void fill(uint8_t *data, size_t len)
{
    struct plain_block b = first_block();
    /* Two copies: for one of 16 bytes, gcc keeps the words in memory, and each copy waits for
     * both. */
    for (; len >= TR_BLOCK; data += TR_BLOCK, len -= TR_BLOCK, b = next_block(b)) {
        __builtin_memcpy(data, &b.words[0], 8);
        __builtin_memcpy(data + 8, &b.words[1], 8);
    }
    __builtin_memcpy(data, b.words, len);
}

static int is_plaintext(const uint8_t *data, size_t len)
{
    struct plain_block b = first_block();
    uint64_t difference = 0;
    for (; len >= TR_BLOCK; data += TR_BLOCK, len -= TR_BLOCK, b = next_block(b)) {
        uint64_t words[2];
        __builtin_memcpy(words, data, TR_BLOCK);
        difference |= (words[0] ^ b.words[0]) | (words[1] ^ b.words[1]);
    }
    return difference == 0 && __builtin_memcmp(data, b.words, len) == 0;
}

#if TR_ENV_ALL_MODES
/* Tests of multi-buffer code. JOBS is the largest lane count of any backend. The jobs have two
 * lengths, so that lanes refill or go idle. In half of the tests, every second job uses a second
 * key. Jobs with several key objects run different code. Each result must equal the result of a
 * single-message call, which tr_kat_short() has already tested. */
#    define JOBS         24u
#    define CHAIN_BLOCKS 9u /* two cache lines and a block */

struct multibuffer_test {
    struct tr_aes_key keys[2];
    struct tr_job jobs[JOBS];
    uint8_t ivs[JOBS][TR_BLOCK], text[CHAIN_BLOCKS * TR_BLOCK];
    uint8_t single[2][CHAIN_BLOCKS * TR_BLOCK], out[JOBS][CHAIN_BLOCKS * TR_BLOCK];
};

static size_t chain_blocks(unsigned i)
{
    return i < JOBS / 2 ? CHAIN_BLOCKS : CHAIN_BLOCKS - 4;
}

/* Tests `count` jobs under the first `keys` keys. */
static int jobs_are_right(struct multibuffer_test *c, enum tr_mb_op op, unsigned keys,
                          unsigned count)
{
    const struct tr_backend *b = tr_backend_with_multibuffer(c->keys[0].backend);
    struct tr_jobs jobs = {.list = c->jobs};
    struct tr_job last;
    for (unsigned i = 0; i < count; i++) {
        __builtin_memcpy(c->ivs[i], tr_known_iv, TR_BLOCK);
        c->jobs[i] =
            (struct tr_job){&c->keys[i % keys], c->ivs[i], c->text, c->out[i], chain_blocks(i)};
        tr_jobs_add(&jobs, &c->jobs[i]);
    }
    if (!tr_env_vector_begin(b->features))
        return 1; /* without the registers, the modes run no multi-buffer code */
    b->multibuffer(op, &jobs, &last);
    tr_env_vector_end();
    if (last.blocks != 0)
        tr_bulk(last.key, op == TR_MB_CFB ? TR_OP_CFB_ENCRYPT : TR_OP_CBC_ENCRYPT,
                op == TR_MB_MAC ? c->out[0] : last.out, last.in, last.blocks, last.chain);
    for (unsigned i = 0; i < count; i++) {
        const size_t len = chain_blocks(i) * TR_BLOCK;
        const uint8_t *single = c->single[i % keys];
        if ((op != TR_MB_MAC && __builtin_memcmp(c->out[i], single, len) != 0) ||
            __builtin_memcmp(c->ivs[i], single + len - TR_BLOCK, TR_BLOCK) != 0)
            return 0;
    }
    return 1;
}

static int multibuffer_is_right(struct multibuffer_test *c, enum tr_mb_op op)
{
    int right = 1;
    for (unsigned k = 0; k < 2; k++) {
        const size_t len = sizeof(c->single[k]);
        uint8_t iv[TR_BLOCK], *single = c->single[k];
        unsigned used = 0;
        __builtin_memcpy(iv, tr_known_iv, TR_BLOCK);
        right &= (op == TR_MB_CBC
                      ? tr_cbc_encrypt(&c->keys[k], iv, single, c->text, len)
                      : tr_cfb128_encrypt(&c->keys[k], iv, &used, single, c->text, len)) == TR_OK;
    }
    /* Fewer jobs run in fewer lanes, with different code. 20 jobs leave some of 24 lanes idle. */
    static const uint8_t counts[] = {JOBS, 20, 12, 6};
    for (unsigned i = 0; right && i < sizeof(counts); i++) {
        const unsigned count = counts[i];
        right = jobs_are_right(c, op, 1, count) && jobs_are_right(c, op, 2, count);
        if (right && op == TR_MB_CBC)
            right =
                jobs_are_right(c, TR_MB_MAC, 1, count) && jobs_are_right(c, TR_MB_MAC, 2, count);
    }
    return right;
}

TR_COLD enum tr_status tr_kat_multibuffer(const struct tr_backend *backend)
{
    struct multibuffer_test c;
    uint8_t raw[32 + 1]; /* the second key begins a byte later */
    int right = 1;
    fill_key(raw, sizeof(raw));
    fill(c.text, sizeof(c.text));
    for (unsigned k = 0; k < TR_KNOWN_KEYS && right; k++) {
        for (unsigned i = 0; i < 2; i++)
            right &= tr_aes_set_key(&c.keys[i], backend, raw + i, TR_KNOWN_KEY_LEN(k)) == TR_OK;
        right = right && multibuffer_is_right(&c, TR_MB_CBC) && multibuffer_is_right(&c, TR_MB_CFB);
    }
    return right ? TR_OK : TR_ERR_SELF_TEST;
}

/* Tests of a backend's multi-message code for GCM, with groups of 16 and of four messages. A
 * message has one block or, under one key, 1 to 6 vectors of 64 bytes. Each result must equal the
 * result of a single call under the same key, which other tests have checked. One message is forged
 * before all are opened. */
#    define GCM_JOBS   20u
#    define GCM_FORGED 5u
#    define GCM_LONG   333u

struct gcm_many_test {
    struct tr_gcm_key keys[2];
    struct tr_gcm_job jobs[GCM_JOBS];
    uint8_t ivs[GCM_JOBS][12], tags[GCM_JOBS][TR_BLOCK], text[GCM_LONG], out[GCM_JOBS][GCM_LONG];
    uint8_t single[GCM_LONG], tag[TR_BLOCK];
};

static int sealed_is_right(struct gcm_many_test *c, const struct tr_gcm_job *j)
{
    return tr_gcm_seal(j->key, j->iv, j->iv_len, j->aad, j->aad_len, c->single, c->text, j->len,
                       c->tag, TR_BLOCK) == TR_OK &&
           __builtin_memcmp(c->single, j->out, j->len) == 0 &&
           __builtin_memcmp(c->tag, j->tag, TR_BLOCK) == 0;
}

static int gcm_many_is_right(struct gcm_many_test *c, size_t len, size_t aad_len, int own_keys)
{
    tr_gcm_many_fn *many = c->keys[0].aes.backend->whole.gcm_many;
    int right = 1;
    for (unsigned i = 0; i < GCM_JOBS; i++) {
        __builtin_memcpy(c->ivs[i], tr_known_iv, sizeof(c->ivs[i]));
        c->ivs[i][0] ^= (uint8_t)i;
        c->jobs[i] = (struct tr_gcm_job){&c->keys[own_keys ? i % 2 : 0],
                                         c->ivs[i],
                                         sizeof(c->ivs[i]),
                                         c->text,
                                         aad_len,
                                         c->out[i],
                                         c->text,
                                         len,
                                         c->tags[i],
                                         TR_BLOCK,
                                         TR_ERR_STATE};
    }
    right = many(c->jobs, GCM_JOBS, 0, own_keys) == GCM_JOBS;
    for (unsigned i = 0; right && i < GCM_JOBS; i++) {
        right = c->jobs[i].status == TR_OK && sealed_is_right(c, &c->jobs[i]);
        c->jobs[i].in = c->out[i];
    }
    c->tags[GCM_FORGED][0] ^= 1;
    right = right && many(c->jobs, GCM_JOBS, 1, own_keys) == GCM_JOBS;
    for (unsigned i = 0; right && i < GCM_JOBS; i++) {
        uint8_t zeros = 0;
        for (size_t k = 0; k < len; k++)
            zeros |= c->out[i][k];
        right = i == GCM_FORGED
                    ? c->jobs[i].status == TR_ERR_TAG && zeros == 0
                    : c->jobs[i].status == TR_OK && __builtin_memcmp(c->out[i], c->text, len) == 0;
    }
    return right;
}

/* Samples at odd addresses, under one key or two. */
static int masks_are_right(struct gcm_many_test *c, int own_keys)
{
    enum { COUNT = 16 };
    struct tr_mask_job jobs[COUNT];
    uint8_t single[TR_BLOCK];
    for (unsigned i = 0; i < COUNT; i++)
        jobs[i] = (struct tr_mask_job){&c->keys[own_keys ? i % 2 : 0].aes, c->text + 3 * i,
                                       c->out[0] + 17 * i};
    int right = c->keys[0].aes.backend->whole.masks(jobs, COUNT, own_keys) == COUNT;
    for (unsigned i = 0; right && i < COUNT; i++)
        right = tr_ecb_encrypt(jobs[i].key, single, jobs[i].sample, TR_BLOCK) == TR_OK &&
                __builtin_memcmp(single, jobs[i].mask, TR_BLOCK) == 0;
    return right;
}

TR_COLD enum tr_status tr_kat_many(const struct tr_backend *backend)
{
    static const uint16_t lengths[] = {9, 16, 17, 64, 100, 190, GCM_LONG};
    struct gcm_many_test c;
    uint8_t raw[32 + 1]; /* the second key begins a byte later */
    int right = 1;
    fill_key(raw, sizeof(raw));
    fill(c.text, sizeof(c.text));
    for (unsigned k = 0; k < TR_KNOWN_KEYS && right; k++) {
        for (unsigned i = 0; i < 2; i++)
            right &= tr_gcm_set_key(&c.keys[i], backend, raw + i, TR_KNOWN_KEY_LEN(k)) == TR_OK;
        for (unsigned i = 0; right && i < sizeof(lengths) / sizeof(*lengths); i++)
            right = gcm_many_is_right(&c, lengths[i], 13 + i, 0) &&
                    (lengths[i] > TR_BLOCK || gcm_many_is_right(&c, lengths[i], 13 + i, 1));
        right = right && masks_are_right(&c, 0) && masks_are_right(&c, 1);
    }
    return right ? TR_OK : TR_ERR_SELF_TEST;
}
#endif

/* Whether the parallel modes have whole calls (tr_backend.whole.few and more). */
static int has_blocks(const struct tr_backend *backend)
{
    return backend->whole.few[TR_OP_CTR] != NULL;
}

TR_INLINE struct tr_backend without_whole_calls(const struct tr_backend *backend)
{
    static const struct tr_whole_calls none;
    struct tr_backend plain = *backend;
    plain.whole = none;
    return plain;
}

static int set_key(union tr_known_key *key, enum tr_known known, const struct tr_backend *backend,
                   const uint8_t *raw, size_t len)
{
    switch (tr_known[known].test) {
    case TR_TEST_XTS:
        return tr_xts_set_key(&key->xts, backend, raw, 2 * len) == TR_OK;
#if TR_ENV_ALL_MODES
    case TR_TEST_OCB:
        return tr_ocb_set_key(&key->ocb, backend, raw, len) == TR_OK;
    case TR_TEST_GCM_SIV:
        return tr_gcm_siv_set_key(&key->gcm_siv, backend, raw, len) == TR_OK;
#endif
    case TR_TEST_CCM:
        return tr_ccm_set_key(&key->ccm, backend, raw, len) == TR_OK;
    case TR_TEST_GCM:
        if (tr_gcm_set_key(&key->gcm, backend, raw, len) != TR_OK)
            return 0;
        /* The first message of the long tests stores the powers of H in the key. Long messages then
         * need less stack. The short tests cover both cases: powers in the key, and powers on the
         * stack. */
        key->gcm.hash.powers_wanted = TR_KNOWN_IS_LONG(known);
        return 1;
    default:
        return tr_aes_set_key(&key->aes, backend, raw, len) == TR_OK;
    }
}

/* Encrypts or decrypts a message of GCM with one streaming call for all data, which is a bulk
 * operation (modes/gcm.c). One-shot calls may have other functions (tr_gcm_fn). */
static enum tr_status stream_gcm(const struct tr_gcm_key *key, const uint8_t *iv, size_t n,
                                 const uint8_t *aad, size_t aad_len, int decrypt, uint8_t *data,
                                 size_t len, uint8_t tag[TR_BLOCK])
{
    struct tr_gcm gcm;
    enum tr_status status = tr_gcm_start(&gcm, key, iv, n);
    if (status == TR_OK)
        status = tr_gcm_aad(&gcm, aad, aad_len);
    if (status == TR_OK)
        status = (decrypt ? tr_gcm_decrypt : tr_gcm_encrypt)(&gcm, data, data, len);
    if (status == TR_OK)
        status = decrypt ? tr_gcm_check(&gcm, tag, TR_BLOCK) : tr_gcm_tag(&gcm, tag, TR_BLOCK);
    return status;
}

/* Encrypts or decrypts a message in place, with the known IV and key k. The AAD is the plaintext or
 * its start, so that the hash loops also run on AAD of each length. */
static enum tr_status crypt(const union tr_known_key *key, enum tr_known known, unsigned k,
                            int decrypt, uint8_t *data, const uint8_t *aad, size_t len,
                            uint8_t tag[TR_BLOCK])
{
    uint8_t chain[TR_BLOCK], keystream[TR_BLOCK];
    const uint8_t *iv = known == TR_KNOWN_GCM_WRAP ? tr_known_wrapping_iv[k] : tr_known_iv;
    const size_t n = known == TR_KNOWN_GCM_WRAP ? TR_BLOCK : 12, a = TR_KNOWN_AAD(known, len);
    unsigned used = 0;
    __builtin_memcpy(chain, tr_known_iv, TR_BLOCK);
#define CRYPT(mode, ...)                                                                           \
    (decrypt ? tr_##mode##_decrypt(__VA_ARGS__, data, data, len)                                   \
             : tr_##mode##_encrypt(__VA_ARGS__, data, data, len))
#define SEAL(mode, nonce, ...)                                                                     \
    (decrypt ? tr_##mode##_open(&key->mode, nonce, aad, a, data, data, len, __VA_ARGS__)           \
             : tr_##mode##_seal(&key->mode, nonce, aad, a, data, data, len, __VA_ARGS__))
#define IV iv, n
    switch (tr_known[known].test) {
    case TR_TEST_ECB:
        return CRYPT(ecb, &key->aes);
    case TR_TEST_CBC:
        return CRYPT(cbc, &key->aes, chain);
    case TR_TEST_CTR:
        return tr_ctr(&key->aes, chain, keystream, &used, data, data, len);
    case TR_TEST_XTS:
        return CRYPT(xts, &key->xts, iv);
#if TR_ENV_ALL_MODES
    case TR_TEST_CFB:
        return decrypt ? cfb_decrypt(&key->aes, chain, data, data, len)
                       : tr_cfb128_encrypt(&key->aes, chain, &used, data, data, len);
    case TR_TEST_OFB:
        return tr_ofb(&key->aes, chain, &used, data, data, len);
    case TR_TEST_OCB:
        return SEAL(ocb, IV, tag, TR_BLOCK);
    case TR_TEST_GCM_SIV:
        return SEAL(gcm_siv, iv, tag);
#endif
    case TR_TEST_CCM:
        return SEAL(ccm, IV, tag, TR_BLOCK);
    default:
        if (known == TR_KNOWN_GCM_LONG)
            return stream_gcm(&key->gcm, iv, n, aad, a, decrypt, data, len, tag);
        return SEAL(gcm, IV, tag, TR_BLOCK);
    }
}

#if TR_ENV_ALL_MODES
/* Compares tr_xts_encrypt_units() and tr_xts_decrypt_units() with calls for single data units. */
static int units_are_right(const struct tr_xts_key *key, uint8_t *data)
{
    enum { UNITS = 3 };
    static const uint8_t zero[TR_BLOCK];
    for (size_t len = 512; len <= 1024; len += 512) {
        for (int decrypt = 0; decrypt < 2; decrypt++) {
            fill(data, UNITS * len);
            int right = decrypt || tr_xts_encrypt_units(key, zero, data, data, len, UNITS) == TR_OK;
            for (uint8_t i = 0; i < UNITS; i++) {
                const uint8_t number[TR_BLOCK] = {i};
                uint8_t *unit = data + i * len;
                right &= (decrypt ? tr_xts_encrypt : tr_xts_decrypt)(key, number, unit, unit,
                                                                     len) == TR_OK;
            }
            if (decrypt)
                right &= tr_xts_decrypt_units(key, zero, data, data, len, UNITS) == TR_OK;
            if (!right || !is_plaintext(data, UNITS * len))
                return 0;
        }
    }
    return 1;
}
#endif

/* Whether each message gives the expected digest, and decryption the plaintext. */
static int is_right(const union tr_known_key *key, enum tr_known known, unsigned k, uint8_t *data,
                    const uint8_t *aad, int falsify)
{
    uint64_t digest = falsify != 0;
    uint8_t tag[TR_BLOCK];
    for (unsigned i = tr_known[known].first; i < tr_known[known].end; i++) {
        const size_t len = TR_KNOWN_LEN(known, i);
        fill(data, len);
        if (crypt(key, known, k, 0, data, aad, len, tag) != TR_OK)
            return 0;
        digest = tr_known_digest(digest, data, len);
        if (TR_KNOWN_IS_AEAD(known))
            digest = tr_known_digest(digest, tag, TR_BLOCK);
        if (crypt(key, known, k, 1, data, aad, len, tag) != TR_OK || !is_plaintext(data, len))
            return 0;
    }
    return digest == tr_known[known].digest[k];
}

/* Encrypts a message with the streaming calls, then opens and seals it with the one-shot calls.
 * Finally, it decrypts the message with one streaming call, which is a bulk operation for the whole
 * message. All results must agree. */
static int gcm_agrees(struct tr_known_work *w, size_t len, size_t aad_len)
{
    enum { NONCE = 12, PIECE = 3 * TR_BLOCK };
    const struct tr_gcm_key *key = &w->key.gcm;
    const uint8_t *iv = tr_known_iv, *in = w->text;
    uint8_t *again = w->data + TR_KNOWN_SHORT / 2, tag[2][TR_BLOCK];
    struct tr_gcm gcm;
    int right = tr_gcm_start(&gcm, key, iv, NONCE) == TR_OK;
    right &= tr_gcm_aad(&gcm, in, aad_len) == TR_OK;
    for (size_t at = 0; at < len; at += PIECE) {
        const size_t n = len - at < PIECE ? len - at : PIECE;
        right &= tr_gcm_encrypt(&gcm, w->data + at, in + at, n) == TR_OK;
    }
    right &= tr_gcm_tag(&gcm, tag[0], TR_BLOCK) == TR_OK;
    right &=
        tr_gcm_open(key, iv, NONCE, in, aad_len, again, w->data, len, tag[0], TR_BLOCK) == TR_OK;
    right &= __builtin_memcmp(again, in, len) == 0;
    right &= tr_gcm_seal(key, iv, NONCE, in, aad_len, again, in, len, tag[1], TR_BLOCK) == TR_OK;
    right &= __builtin_memcmp(again, w->data, len) == 0;
    right &= stream_gcm(key, iv, NONCE, in, aad_len, 1, again, len, tag[1]) == TR_OK;
    right &= __builtin_memcmp(again, in, len) == 0;
    return right && __builtin_memcmp(tag[0], tag[1], TR_BLOCK) == 0;
}

/* Tests messages of one to twelve vectors of 64 bytes. There is separate code for each number of
 * vectors up to eight, and for each number of vectors in the last chunk (simd/gcm/chunks.h). Once
 * the key has its powers, there is also separate code (simd/gcm/call.h):
 * - for a whole last vector, up to 256 bytes;
 * - for no AAD, and for AAD of more than one and more than three blocks, up to 512 bytes: where
 *   processors seal in chunks, only such AAD reaches the code for five to eight vectors. */
static int short_gcm_is_right(struct tr_known_work *w)
{
    static const uint8_t aad_len[] = {0, 20, 50};
    for (size_t len = 13; len < TR_KNOWN_SHORT / 2; len += len < 256 ? 16 : 64) {
        if (!gcm_agrees(w, len, 13))
            return 0;
    }
    for (size_t len = 13; len <= 512; len += len < 256 ? 16 : 64) {
        for (unsigned i = 0; i < sizeof(aad_len); i++) {
            if (!gcm_agrees(w, len, aad_len[i]))
                return 0;
        }
    }
    return 1;
}

/* Compares a CTR call with shorter calls of `piece` blocks. The last byte of the first counter is
 * `first`. */
TR_INLINE int ctr_agrees(const struct tr_aes_key *key, uint8_t *data, size_t blocks, size_t piece,
                         uint8_t first)
{
    const size_t len = blocks * TR_BLOCK, most = piece * TR_BLOCK;
    uint8_t counter[TR_BLOCK] = {[TR_BLOCK - 1] = first}, again[TR_BLOCK], keystream[TR_BLOCK];
    unsigned used = 0;
    __builtin_memcpy(again, counter, TR_BLOCK);
    fill(data, len);
    int right = tr_ctr(key, counter, keystream, &used, data, data, len) == TR_OK;
    for (size_t at = 0; at < len; at += most) {
        const size_t n = len - at < most ? len - at : most;
        right &= tr_ctr(key, again, keystream, &used, data + at, data + at, n) == TR_OK;
    }
    return right && is_plaintext(data, len) && __builtin_memcmp(again, counter, TR_BLOCK) == 0;
}

#if TR_ENV_STACK >= 16384
/*
 * Tests CTR calls that are long enough to precompute AES states (simd/ctr_states.h). Calls of 549
 * and 441 blocks reach every stage of that code at each vector width. The first counter of the 441
 * blocks is odd, so it is no multiple of a group's length. The shorter calls of 64 and 160 blocks
 * reach the groups at aligned counters (simd/ctr.h). XMM has these from 64 blocks on, YMM from 128.
 */
static __attribute__((__noinline__)) int long_ctr_is_right(const struct tr_aes_key *key)
{
    /* 32-bit code has groups of half the length, and needs more stack for them. */
    enum { MOST = sizeof(void *) == 8 ? TR_KNOWN_MAX / TR_BLOCK : 528 };
    static const uint16_t blocks[2] = {MOST, 441}, pieces[2] = {64, 160};
    uint8_t data[MOST * TR_BLOCK];
    int right = 1;
    for (unsigned i = 0; right && i < 2; i++)
        right = ctr_agrees(key, data, blocks[i], pieces[i], i == 0 ? 0xa0 : 0xa3);
    return right;
}
#endif

/* Tests CTR with each number of blocks after the first group of the widest backend, against calls
 * of less than such a group. */
static int each_rest_is_right(struct tr_known_work *w)
{
    for (size_t blocks = 32; blocks < 64; blocks++)
        if (!ctr_agrees(&w->key.aes, w->data, blocks, 31, 0))
            return 0;
    return 1;
}

/* Tests the parallel modes with each number of blocks below a group of the widest backend: each has
 * code of its own. `known` is one of them. The message of MOST blocks is one of tr_known_lengths.
 * Encryption and decryption of its first blocks must give the first blocks of its ciphertext (in
 * CBC and CFB, encryption is serial) and its plaintext. */
static int each_number_is_right(struct tr_known_work *w, enum tr_known known)
{
    enum { MOST = 31 * TR_BLOCK };
    const int encrypts = known == TR_KNOWN_ECB || known == TR_KNOWN_CTR;
    uint8_t *const data = w->data + MOST;
    fill(w->data, MOST);
    int right = crypt(&w->key, known, 0, 0, w->data, NULL, MOST, NULL) == TR_OK;
    for (size_t len = TR_BLOCK; len <= MOST && right; len += TR_BLOCK) {
        if (encrypts) {
            fill(data, len);
            right = crypt(&w->key, known, 0, 0, data, NULL, len, NULL) == TR_OK &&
                    __builtin_memcmp(data, w->data, len) == 0;
        }
        __builtin_memcpy(data, w->data, len);
        right &=
            crypt(&w->key, known, 0, 1, data, NULL, len, NULL) == TR_OK && is_plaintext(data, len);
    }
    return right;
}

#ifdef TR_ENV_ALWAYS_VECTOR
/* Tests tr_backend.whole.cts_decrypt for CS1 to CS3. The other steps of CBC-CTS are bulk
 * operations. */
static int stealing_is_right(struct tr_known_work *w)
{
    for (int form = TR_CS1; form <= TR_CS3; form++) {
        for (size_t len = TR_BLOCK + 1; len <= 3 * TR_BLOCK; len += 5) {
            uint8_t iv[2][TR_BLOCK] = {{1}, {1}};
            fill(w->data, len);
            if (tr_cbc_cts_encrypt(&w->key.aes, (enum tr_cts)form, iv[0], w->data, w->data, len) !=
                    TR_OK ||
                tr_cbc_cts_decrypt(&w->key.aes, (enum tr_cts)form, iv[1], w->data, w->data, len) !=
                    TR_OK ||
                !is_plaintext(w->data, len) || __builtin_memcmp(iv[0], iv[1], TR_BLOCK) != 0)
                return 0;
        }
    }
    return 1;
}

/* Tests tr_backend.whole.cfb_decrypt with each number of vectors of 64 bytes, after a call that
 * ends within a block. A third call continues the message, which tests the IV. Other code runs near
 * the end of a page (modes/cfb.c). So the last byte of each call beyond 64 bytes is at a multiple
 * of 64 bytes. Uses w->text for the ciphertext, and then restores it. */
static int any_cfb_is_right(struct tr_known_work *w)
{
    const size_t more = 64;
    uint8_t first[TR_BLOCK] = {1};
    unsigned begin = 0;
    int right =
        tr_cfb128_encrypt(&w->key.aes, first, &begin, w->text, w->text, TR_KNOWN_SHORT) == TR_OK;
    for (size_t len = 7; len + more <= TR_KNOWN_SHORT; len += len == 7 ? 58 : 64) {
        uint8_t iv[TR_BLOCK] = {1};
        unsigned used = 0;
        right &=
            tr_cfb128_decrypt(&w->key.aes, iv, &used, w->data, w->text, 5) == TR_OK &&
            tr_cfb128_decrypt(&w->key.aes, iv, &used, w->data + 5, w->text + 5, len - 5) == TR_OK &&
            tr_cfb128_decrypt(&w->key.aes, iv, &used, w->data + len, w->text + len, more) ==
                TR_OK &&
            is_plaintext(w->data, len + more);
    }
    fill(w->text, TR_KNOWN_SHORT);
    return right;
}

/* Whether calls for one data unit and for many of them agree in both directions. */
static int unit_is_right(const struct tr_xts_key *key, uint8_t *data, size_t len)
{
    fill(data, len);
    return tr_xts_encrypt(key, tr_known_iv, data, data, len) == TR_OK &&
           tr_xts_decrypt_units(key, tr_known_iv, data, data, len, 1) == TR_OK &&
           is_plaintext(data, len) &&
           tr_xts_encrypt_units(key, tr_known_iv, data, data, len, 1) == TR_OK &&
           tr_xts_decrypt(key, tr_known_iv, data, data, len) == TR_OK && is_plaintext(data, len);
}

/* Tests tr_backend.whole.xts_unit with each number of vectors, whole and partial. */
static int short_units_are_right(struct tr_known_work *w)
{
    for (size_t n = TR_BLOCK; n < TR_KNOWN_SHORT; n += n < 520 ? 24 : 400)
        if (!unit_is_right(&w->key.xts, w->data, n))
            return 0;
    return 1;
}
#endif

/* The parts of tests that have no digest: code that the messages above do not reach. */
static int others_are_right(struct tr_known_work *w, enum tr_known known,
                            const struct tr_backend *backend)
{
    switch (known) {
    case TR_KNOWN_ECB:
        return !has_blocks(backend) || each_number_is_right(w, known);
    case TR_KNOWN_CTR:
        return (!has_blocks(backend) || each_number_is_right(w, known)) &&
               ((backend->features & TR_FEATURE_AES) == 0 || each_rest_is_right(w));
#ifdef TR_ENV_ALWAYS_VECTOR
    case TR_KNOWN_CBC:
        return (backend->whole.cts_decrypt == NULL || stealing_is_right(w)) &&
               (!has_blocks(backend) || each_number_is_right(w, known));
    case TR_KNOWN_CFB:
        return (backend->whole.cfb_decrypt == NULL || any_cfb_is_right(w)) &&
               (!has_blocks(backend) || each_number_is_right(w, known));
    case TR_KNOWN_XTS:
        return backend->whole.xts_unit[0] == NULL || short_units_are_right(w);
#endif
    case TR_KNOWN_GCM_SHORT:
        return tr_backend_doing(backend, TR_OP_GCM_SEAL) == NULL || short_gcm_is_right(w);
    default:
        return 1;
    }
}

#ifdef TR_ENV_ALWAYS_VECTOR
/* Whether the messages of a test reach whole calls of the backend. */
static int has_whole_calls(const struct tr_backend *backend, enum tr_known known)
{
    switch (known) {
    case TR_KNOWN_XTS:
        return backend->whole.xts_unit[0] != NULL;
    case TR_KNOWN_GCM_SHORT:
    case TR_KNOWN_GCM_BLOCKS:
        return backend->whole.gcm[0][TR_GCM_ANY] != NULL;
    default:
        return known <= TR_KNOWN_CTR && has_blocks(backend);
    }
}

/* Whether a mode that tries whole calls first is right without them, by its bulk operations. Only
 * these run in counting tables (dispatch/counting.h), in tr_xts_*_units(), in the modes that are
 * composed of others, and in GCM with a truncated tag. `raw` has 2 * len bytes. */
static int bulk_is_right(struct tr_known_work *w, enum tr_known known, unsigned k,
                         const struct tr_backend *backend, const uint8_t *raw, size_t len)
{
    if (!has_whole_calls(backend, known))
        return 1;
    struct tr_backend plain = *backend;
    plain.whole.cfb_decrypt = NULL; /* near the end of a page, CFB does without it (modes/cfb.c) */
    if (known == TR_KNOWN_CFB && (!set_key(&w->key, known, &plain, raw, len) ||
                                  !is_right(&w->key, known, k, w->data, w->text, 0)))
        return 0;
    plain = without_whole_calls(backend);
    return set_key(&w->key, known, &plain, raw, len) &&
           is_right(&w->key, known, k, w->data, w->text, 0);
}
#else
#    define bulk_is_right(...) 1
#endif

/* Whether a set of tests includes this one, here and with this key. */
static int is_asked(enum tr_known known, unsigned tests, unsigned k)
{
    if (!TR_ENV_ALL_MODES)
        tests &= ~(unsigned)(TR_TEST_CFB | TR_TEST_OFB | TR_TEST_OCB | TR_TEST_GCM_SIV);
    return (tests & tr_known[known].test) != 0 && tr_known[known].digest[k] != 0;
}

/* Whether a backend has separate code for long messages. The code of CTR for long calls has its own
 * test, tr_kat_ctr(). */
static int has_long(const struct tr_backend *backend, enum tr_known known)
{
    /* 32-bit code has no chunks, and needs more stack. */
    if (known == TR_KNOWN_GCM_CHUNKS)
        return sizeof(void *) == 8 && tr_backend_doing(backend, TR_OP_GCM_SEAL) != NULL;
    if (known == TR_KNOWN_GCM_LONG)
        return TR_ENV_STACK >= 16384 && tr_backend_doing(backend, TR_OP_GCM_ENCRYPT) != NULL;
    return known == TR_KNOWN_XTS_LONG && tr_backend_doing(backend, TR_OP_XTS_ENCRYPT) != NULL;
}

TR_COLD enum tr_status tr_kat_short(const struct tr_backend *backend, unsigned tests, unsigned k,
                                    int falsify, struct tr_known_work *w)
{
    const size_t len = TR_KNOWN_KEY_LEN(k);
    uint8_t raw[64];
    fill_key(raw, sizeof(raw));
    fill(w->text, sizeof(w->text));
    for (enum tr_known known = 0; known < TR_KNOWN_TESTS; known++)
        if (is_asked(known, tests, k) && !TR_KNOWN_IS_LONG(known) &&
            (!set_key(&w->key, known, backend, raw, len) ||
             !is_right(&w->key, known, k, w->data, w->text, falsify) ||
             !others_are_right(w, known, backend) ||
             !bulk_is_right(w, known, k, backend, raw, len)))
            return TR_ERR_SELF_TEST;
    return TR_OK;
}

TR_COLD enum tr_status tr_kat_long(const struct tr_backend *backend, unsigned tests, unsigned k,
                                   struct tr_known_long_work *w)
{
    uint8_t raw[64], aad[TR_BLOCK];
    fill_key(raw, sizeof(raw));
    fill(aad, sizeof(aad));
    for (enum tr_known known = 0; known < TR_KNOWN_TESTS; known++) {
        if (!is_asked(known, tests, k) || !has_long(backend, known))
            continue;
        if (!set_key(&w->key, known, backend, raw, TR_KNOWN_KEY_LEN(k)) ||
            !is_right(&w->key, known, k, w->data, aad, 0))
            return TR_ERR_SELF_TEST;
#ifdef TR_ENV_ALWAYS_VECTOR
        /* Where one long data unit is a whole call (modes/xts.c), only many units take the loop. */
        if (known == TR_KNOWN_XTS_LONG && backend->whole.xts_unit[0] != NULL &&
            !unit_is_right(&w->key.xts, w->data, sizeof(w->data)))
            return TR_ERR_SELF_TEST;
#endif
#if TR_ENV_ALL_MODES
        if (known == TR_KNOWN_XTS_LONG && tr_backend_doing(backend, TR_OP_XTS_ENC_UNITS) != NULL &&
            !units_are_right(&w->key.xts, w->data))
            return TR_ERR_SELF_TEST;
#endif
    }
#if TR_ENV_STACK < 16384
    /* Groups at aligned counters (simd/ctr.h): there is no stack for tr_kat_ctr() here. */
    if ((tests & TR_TEST_CTR) != 0 &&
        (!set_key(&w->key, TR_KNOWN_CTR, backend, raw, TR_KNOWN_KEY_LEN(k)) ||
         !ctr_agrees(&w->key.aes, w->data, 160, 40, 0xa3)))
        return TR_ERR_SELF_TEST;
#endif
    return TR_OK;
}

#if TR_ENV_STACK >= 16384
TR_COLD enum tr_status tr_kat_ctr(const struct tr_backend *backend, unsigned tests, unsigned k)
{
    uint8_t raw[32];
    struct tr_aes_key key;
    const struct tr_backend plain = without_whole_calls(backend);
    const int composed = tr_backend_doing(backend, TR_OP_GCM_ENCRYPT) == NULL;
    if ((backend->features & TR_FEATURE_AES) == 0 ||
        (tests & (TR_TEST_LONG_CTR | (composed ? TR_TEST_GCM : 0))) == 0)
        return TR_OK;
    fill_key(raw, sizeof(raw));
    int right = tr_aes_set_key(&key, backend, raw, TR_KNOWN_KEY_LEN(k)) == TR_OK;
    right = right && long_ctr_is_right(&key);
    key.backend = &plain;
    return right && long_ctr_is_right(&key) ? TR_OK : TR_ERR_SELF_TEST;
}
#endif
