/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known answers for every operation, direction and key size of a backend, through the modes, at lengths
 * that reach each of its loops and tails. The answers are kept as 64-bit digests of the
 * ciphertexts, so that loading stays quick; decryption is compared with the plaintext itself. The
 * test suite recomputes the digests with another implementation of AES.
 */
#include "selftest.h"

#include "backend.h"
#include "util.h"

/* 1 to 77 blocks; 77 = 64 + 8 + 4 + 1 goes through every group of the widest backend, the main loop
 * twice, and 13 and 31 through its partial vectors. The odd bytes are for the modes that take them. The last,
 * 549 blocks, is for GCM (two periods of its table of states, a third begun, and a rest) and XTS alone.
 */
const uint16_t tr_known_lengths[8] = {16 + 5,  32 + 10,  48 + 15,   96 + 14,
                                      208 + 1, 496 + 11, 1232 + 15, TR_KNOWN_MAX};
#define MODE_LENGTHS 7u

/* The low half of the counter wraps after 17 blocks, which no vector divides, and the carry ripples
 * on. */
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

/* FNV-1a over little-endian 64-bit words, the last one filled up with zeros, with a shift so that
 * high bits matter, too. Not cryptographic: it meets faults, not forgers. */
uint64_t tr_known_digest(uint64_t digest, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = 0;
        for (size_t j = 0; j < 8 && i + j < len; j++)
            word |= (uint64_t)data[i + j] << 8 * j;
        digest = (digest ^ word) * 0x100000001b3u;
        digest ^= digest >> 29;
    }
    return digest;
}

const uint64_t tr_known_digests[TR_KNOWN_MODES][TR_KNOWN_KEYS] = {
    /* 128, 192, 256 bits */
    {0x4851f67f2080e3f5, 0x3adbd955ad073377, 0x6e323e1e30d9dcb4}, /* ECB */
    {0x09fc1b258d12596f, 0x315b502c168e5c9c, 0x570b081e35b1c393}, /* CBC */
    {0x136db8ffbd18e26b, 0x8a35407c9d3758a5, 0x7182b260be7d5fa5}, /* CFB128 */
    {0x522315906b7fc896, 0x5896164f0d44026f, 0x0d9d65c503f0d3d5}, /* OFB */
    {0xd767ca3f2a29cd59, 0xbbcf494058d6044b, 0xe53cf357c714119d}, /* CTR */
};

const uint64_t tr_known_fused[TR_KNOWN_FUSED][TR_KNOWN_KEYS] = {
    {0xa05f568558980040, 0xe9baeee2139f6480, 0x799a53a89512dbae}, /* GCM */
    {0x475e587c8ceec4bf, 0x6bdf34e0f91245ae, 0x768159b3f0989fb3}, /* GCM_WRAP */
    {0xc8f00c2b8a13ae27, 0, 0x00baea1dd2af0bad},                  /* XTS */
    {0xd056b99a9b7e7411, 0xb3ce5c7c1697d264, 0x1e22c26e0e25908a}, /* OCB */
    {0xaa8c02e9c49c2b8f, 0x7a332e6e11e417ec, 0x5feb1b2b67ca6e2b}, /* CCM */
    {0x00f1804b39cca1ec, 0xfa93a6c21c9bf714, 0x18d39ade0ecc81be}, /* GCM_SIV */
    {0xa56c1ff42f790e3b, 0xbb7421cb18ee0977, 0x9f245d686fc14c02}, /* GCM_LONG */
    {0x04066f6be07550ac, 0, 0x649ea97ce3afd1db},                  /* XTS_LONG */
    {0x0d2254b03dedbb57, 0x07a02934d96c478e, 0x6a553a54f97391c4}, /* GCM_SHORT */
    {0xf0ddb142adc8b927, 0xb906c16fcc970e85, 0xdf6bd571144ee372}, /* GCM_BLOCKS */
};

/* (J0 H^-1 + 128) H^-1, with H the hash key and J0 = a0a1a2a3 a4a5a6a7 a8a9aaab ffffffee (SP 800-38D
 * 7.1 step 2, solved for the IV). */
const uint8_t tr_known_wrapping_iv[TR_KNOWN_KEYS][16] = {
    {0x44, 0x80, 0x55, 0x74, 0x4b, 0x21, 0xfb, 0x67, 0x41, 0xdf, 0xcb, 0xd9, 0x18, 0x8f, 0x24,
     0x68},
    {0xc1, 0x7a, 0xa5, 0x9b, 0xaf, 0x5e, 0x4a, 0x7c, 0x32, 0xa6, 0x41, 0xc7, 0x90, 0x47, 0x61,
     0xf3},
    {0x06, 0xd0, 0xcb, 0x49, 0xb5, 0x40, 0x70, 0x0b, 0xb6, 0x99, 0x4f, 0x99, 0x0e, 0x73, 0xc0,
     0xf9}};

/* One message in a plain mode, from the known IV on. */
static enum tr_status crypt_to(struct tr_known_work *w, enum tr_mode mode, int decrypt,
                               uint8_t *out, const uint8_t *in, size_t len)
{
    const struct tr_aes_key *key = &w->key;
    uint8_t iv[TR_BLOCK], keystream[TR_BLOCK];
    unsigned used = 0;
    __builtin_memcpy(iv, tr_known_iv, TR_BLOCK);
    switch (mode) {
    case TR_ECB:
        return decrypt ? tr_ecb_decrypt(key, out, in, len) : tr_ecb_encrypt(key, out, in, len);
    case TR_CBC:
        return decrypt ? tr_cbc_decrypt(key, iv, out, in, len)
                       : tr_cbc_encrypt(key, iv, out, in, len);
#if TR_ENV_ALL_MODES
    case TR_CFB128:
        return decrypt ? tr_cfb128_decrypt(key, iv, &used, out, in, len)
                       : tr_cfb128_encrypt(key, iv, &used, out, in, len);
    case TR_OFB:
        return tr_ofb(key, iv, &used, out, in, len);
#endif
    case TR_CTR:
        return tr_ctr(key, iv, keystream, &used, out, in, len);
    default:
        return TR_ERR_MODE;
    }
}

static enum tr_status crypt(struct tr_known_work *w, enum tr_mode mode, int decrypt,
                            const uint8_t *in, size_t len)
{
    return crypt_to(w, mode, decrypt, w->data, in, len);
}

static int mode_is_right(struct tr_known_work *w, enum tr_mode mode, uint64_t expected)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < MODE_LENGTHS; i++) {
        size_t len = tr_known_lengths[i];
        if (mode == TR_ECB || mode == TR_CBC)
            len -= len % TR_BLOCK;
        if (crypt(w, mode, 0, w->plaintext, len) != TR_OK)
            return 0;
        digest = tr_known_digest(digest, w->data, len);
        if (crypt(w, mode, 1, w->data, len) != TR_OK ||
            __builtin_memcmp(w->data, w->plaintext, len) != 0)
            return 0;
    }
    return digest == expected;
}

#if TR_ENV_ALL_MODES
/* The messages of mode_is_right() side by side, several times over so that every lane is filled and refilled; each
 * time they have the same digest. What the MAC leaves is the last block that CBC would have written. */
#    define MANY 21u

struct many {
    struct tr_stream jobs[MANY];
    uint8_t ivs[MANY][TR_BLOCK];
};

static struct tr_lane mac_of(const void *jobs, size_t i)
{
    struct tr_lane lane = {0};
    const struct tr_stream *job = (const struct tr_stream *)jobs + i;
    lane.key = job->key;
    lane.chain = job->iv;
    lane.in = job->in;
    lane.blocks = job->len / TR_BLOCK;
    return lane;
}

static void make_many(struct many *m, struct tr_known_work *w, enum tr_mode mode)
{
    uint8_t *out = w->data;
    for (unsigned i = 0; i < MANY; i++) {
        size_t len = tr_known_lengths[i % MODE_LENGTHS];
        if (mode == TR_CBC)
            len -= len % TR_BLOCK;
        __builtin_memcpy(m->ivs[i], tr_known_iv, TR_BLOCK);
        m->jobs[i] = (struct tr_stream){&w->key, m->ivs[i], out, w->plaintext, len};
        out += len;
    }
}

static int macs_are_right(const struct many *before)
{
    struct many m = *before;
    for (unsigned i = 0; i < MANY; i++) {
        m.jobs[i].iv = m.ivs[i];
        __builtin_memcpy(m.ivs[i], tr_known_iv, TR_BLOCK);
    }
    tr_lanes(TR_LANES_MAC, mac_of, m.jobs, MANY);
    return __builtin_memcmp(m.ivs, before->ivs, sizeof(m.ivs)) == 0;
}

static int many_are_right(struct tr_known_work *w, enum tr_mode mode, uint64_t expected)
{
    struct many m;
    make_many(&m, w, mode);
    if ((mode == TR_CBC ? tr_cbc_encrypt_many : tr_cfb128_encrypt_many)(m.jobs, MANY) != TR_OK)
        return 0;
    for (unsigned i = 0; i < MANY; i += MODE_LENGTHS) {
        uint64_t digest = 0;
        for (unsigned j = i; j < i + MODE_LENGTHS; j++)
            digest = tr_known_digest(digest, m.jobs[j].out, m.jobs[j].len);
        if (digest != expected)
            return 0;
    }
    return mode != TR_CBC || macs_are_right(&m);
}

/* As many as there are lanes at most, and all alike, so that all lanes run: each with the result of a single message. Every other
 * one has the other key, which is the same or a copy; lanes with keys of their own are code of their own. */
#    define ALIKE        24u
#    define ALIKE_BLOCKS 21u

static int alike_are_right(struct tr_known_work *w, enum tr_mode mode,
                           const struct tr_aes_key *other)
{
    const size_t len = ALIKE_BLOCKS * TR_BLOCK;
    uint8_t ivs[ALIKE][TR_BLOCK], *single = w->data + ALIKE * len;
    struct tr_stream jobs[ALIKE];
    int right = crypt_to(w, mode, 0, single, w->plaintext, len) == TR_OK;
    for (unsigned i = 0; i < ALIKE; i++) {
        __builtin_memcpy(ivs[i], tr_known_iv, TR_BLOCK);
        jobs[i] = (struct tr_stream){i % 2 != 0 ? other : &w->key, ivs[i], w->data + i * len,
                                     w->plaintext, len};
    }
    right &= (mode == TR_CBC ? tr_cbc_encrypt_many : tr_cfb128_encrypt_many)(jobs, ALIKE) == TR_OK;
    for (unsigned i = 0; i < ALIKE; i++)
        right &= __builtin_memcmp(jobs[i].out, single, len) == 0;
    for (unsigned i = 0; i < ALIKE; i++)
        __builtin_memcpy(ivs[i], tr_known_iv, TR_BLOCK);
    if (mode == TR_CBC)
        tr_lanes(TR_LANES_MAC, mac_of, jobs, ALIKE);
    for (unsigned i = 0; mode == TR_CBC && i < ALIKE; i++)
        right &= __builtin_memcmp(ivs[i], single + len - TR_BLOCK, TR_BLOCK) == 0;
    return right;
}

static int lanes_are_right(struct tr_known_work *w, enum tr_mode mode, uint64_t expected)
{
    struct tr_aes_key copy = w->key;
    const int right = many_are_right(w, mode, expected) && alike_are_right(w, mode, &w->key) &&
                      alike_are_right(w, mode, &copy);
    tr_cleanse(&copy, sizeof(copy));
    return right;
}
#endif

static int set_key(struct tr_known_work *w, enum tr_known mode, const struct tr_backend *backend,
                   const uint8_t *raw, size_t len)
{
    switch (mode) {
    case TR_KNOWN_XTS:
    case TR_KNOWN_XTS_LONG:
        return tr_xts_set_key(&w->xts, backend, raw, 2 * len) == TR_OK;
#if TR_ENV_ALL_MODES
    case TR_KNOWN_OCB:
        return tr_ocb_set_key(&w->ocb, backend, raw, len) == TR_OK;
    case TR_KNOWN_GCM_SIV:
        return tr_gcm_siv_set_key(&w->gcm_siv, backend, raw, len) == TR_OK;
#endif
    case TR_KNOWN_CCM:
        return tr_ccm_set_key(&w->ccm, backend, raw, len) == TR_OK;
    default:
#ifdef TR_SHARED_POWERS
        w->gcm.run.ghash.power = w->powers;
#endif
        return tr_gcm_set_key(&w->gcm, backend, raw, len) == TR_OK;
    }
}

/* The AAD is the plaintext, or its beginning, so that it reaches the loops of the hashes, too. */
static enum tr_status crypt_fused(struct tr_known_work *w, enum tr_known mode, unsigned k,
                                  int decrypt, const uint8_t *in, size_t len)
{
    const uint8_t *iv = mode == TR_KNOWN_GCM_WRAP ? tr_known_wrapping_iv[k] : tr_known_iv;
    const uint8_t *aad = w->plaintext;
    size_t n = mode == TR_KNOWN_GCM_WRAP ? TR_BLOCK : 12, a;
    uint8_t *out = w->data, *tag = w->tag;
    switch (mode) {
    case TR_KNOWN_XTS:
    case TR_KNOWN_XTS_LONG:
        return decrypt ? tr_xts_decrypt(&w->xts, iv, out, in, len)
                       : tr_xts_encrypt(&w->xts, iv, out, in, len);
#if TR_ENV_ALL_MODES
    case TR_KNOWN_OCB:
        return decrypt ? tr_ocb_open(&w->ocb, iv, n, aad, len, out, in, len, tag, TR_BLOCK)
                       : tr_ocb_seal(&w->ocb, iv, n, aad, len, out, in, len, tag, TR_BLOCK);
    case TR_KNOWN_GCM_SIV:
        return decrypt ? tr_gcm_siv_open(&w->gcm_siv, iv, aad, len, out, in, len, tag)
                       : tr_gcm_siv_seal(&w->gcm_siv, iv, aad, len, out, in, len, tag);
#endif
    case TR_KNOWN_CCM:
        return decrypt ? tr_ccm_open(&w->ccm, iv, n, aad, len, out, in, len, tag, TR_BLOCK)
                       : tr_ccm_seal(&w->ccm, iv, n, aad, len, out, in, len, tag, TR_BLOCK);
    default:
        a = TR_KNOWN_AAD(mode, len);
        return decrypt ? tr_gcm_open(&w->gcm, iv, n, aad, a, out, in, len, tag, TR_BLOCK)
                       : tr_gcm_seal(&w->gcm, iv, n, aad, a, out, in, len, tag, TR_BLOCK);
    }
}

static int fused_is_right(struct tr_known_work *w, enum tr_known mode, unsigned k,
                          uint64_t expected)
{
    uint64_t digest = 0;
    for (unsigned i = TR_KNOWN_FIRST(mode); i < TR_KNOWN_END(mode); i++) {
        size_t len = TR_KNOWN_LEN(mode, i);
        if (crypt_fused(w, mode, k, 0, w->plaintext, len) != TR_OK)
            return 0;
        digest = tr_known_digest(digest, w->data, len);
        if (!TR_KNOWN_IS_XTS(mode))
            digest = tr_known_digest(digest, w->tag, TR_BLOCK);
        if (crypt_fused(w, mode, k, 1, w->data, len) != TR_OK ||
            __builtin_memcmp(w->data, w->plaintext, len) != 0)
            return 0;
    }
    return digest == expected;
}

/* A message of up to eight vectors is one sum, with code of its own for each number of them (x86/gcm.h): each gives what pieces
 * of three blocks give. */
static int short_gcm_is_right(struct tr_known_work *w)
{
    enum { NONCE = 12, AAD = 13, PIECE = 3 * TR_BLOCK };
    const uint8_t *iv = tr_known_iv, *in = w->plaintext;
    uint8_t *again = w->data + 512, tag[TR_BLOCK];
    for (size_t len = 13; len < 512; len += len < 256 ? 32 : 64) {
        int right = tr_gcm_start(&w->gcm, iv, NONCE) == TR_OK;
        right &= tr_gcm_aad(&w->gcm, in, AAD) == TR_OK;
        for (size_t at = 0; at < len; at += PIECE) {
            const size_t n = len - at < PIECE ? len - at : PIECE;
            right &= tr_gcm_encrypt(&w->gcm, w->data + at, in + at, n) == TR_OK;
        }
        right &= tr_gcm_tag(&w->gcm, w->tag, TR_BLOCK) == TR_OK;
        right &= tr_gcm_open(&w->gcm, iv, NONCE, in, AAD, again, w->data, len, w->tag, TR_BLOCK) ==
                 TR_OK;
        right &= __builtin_memcmp(again, in, len) == 0;
        right &= tr_gcm_seal(&w->gcm, iv, NONCE, in, AAD, again, in, len, tag, TR_BLOCK) == TR_OK;
        right &= __builtin_memcmp(again, w->data, len) == 0;
        if (!right || __builtin_memcmp(tag, w->tag, TR_BLOCK) != 0)
            return 0;
    }
    return 1;
}

#if TR_ENV_LARGE_STACK
/* CTR in one call that is long enough for what only such have (x86/ctr_states.h) gives what shorter calls give. 549 and 441
 * blocks go through every stage of it, at each width; the second begin where no group does. */
static int long_ctr_is_right(struct tr_known_work *w)
{
    static const uint16_t blocks[2] = {TR_KNOWN_MAX / TR_BLOCK, 441};
    for (unsigned i = 0; i < 2; i++) {
        const size_t len = blocks[i] * (size_t)TR_BLOCK, most = 64 * (size_t)TR_BLOCK;
        uint8_t counter[TR_BLOCK] = {[TR_BLOCK - 1] = i == 0 ? 0xa0 : 0xa3}, again[TR_BLOCK],
                keystream[TR_BLOCK];
        unsigned used = 0;
        __builtin_memcpy(again, counter, TR_BLOCK);
        int right = tr_ctr(&w->key, counter, keystream, &used, w->data, w->plaintext, len) == TR_OK;
        for (size_t at = 0; at < len; at += most) {
            const size_t n = len - at < most ? len - at : most;
            right &=
                tr_ctr(&w->key, again, keystream, &used, w->data + at, w->data + at, n) == TR_OK;
        }
        right &= __builtin_memcmp(w->data, w->plaintext, len) == 0;
        if (!right || __builtin_memcmp(again, counter, TR_BLOCK) != 0)
            return 0;
    }
    return 1;
}
#endif

static int mode_is_asked(enum tr_mode mode)
{
    return TR_ENV_ALL_MODES || (mode != TR_CFB128 && mode != TR_OFB);
}

/* Where a mode is not fused, a long message is but more of the same, and takes bitslice half a millisecond. */
static int fused_is_asked(enum tr_known mode, const struct tr_backend *backend)
{
    if (mode == TR_KNOWN_GCM_LONG)
        return TR_ENV_LARGE_STACK && tr_backend_doing(backend, TR_OP_GCM_ENCRYPT) != NULL;
    if (mode == TR_KNOWN_XTS_LONG)
        return tr_backend_doing(backend, TR_OP_XTS_ENCRYPT) != NULL;
    return TR_ENV_ALL_MODES || (mode != TR_KNOWN_OCB && mode != TR_KNOWN_GCM_SIV);
}

enum tr_status tr_known_answers(const struct tr_backend *backend, int falsify,
                                struct tr_known_work *w)
{
    uint8_t raw[64];
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = tr_known_key(i);
    for (size_t i = 0; i < TR_KNOWN_MAX; i++)
        w->plaintext[i] = tr_known_plaintext(i);
    for (unsigned k = 0; k < TR_KNOWN_KEYS; k++) {
        size_t len = 16 + 8 * (size_t)k;
        if (tr_aes_set_key(&w->key, backend, raw, len) != TR_OK)
            return TR_ERR_SELF_TEST;
        for (unsigned m = 0; m < TR_KNOWN_MODES; m++) {
            enum tr_mode mode = (enum tr_mode)(TR_ECB + m);
            uint64_t expected = tr_known_digests[m][k] ^ (falsify != 0);
            if (mode_is_asked(mode) && !mode_is_right(w, mode, expected))
                return TR_ERR_SELF_TEST;
#if TR_ENV_ALL_MODES
            if ((mode == TR_CBC || mode == TR_CFB128) && tr_backend_with_lanes(backend) != NULL &&
                !lanes_are_right(w, mode, expected))
                return TR_ERR_SELF_TEST;
#endif
        }
#if TR_ENV_LARGE_STACK
        if ((backend->features & TR_FEATURE_AES) != 0 && !long_ctr_is_right(w))
            return TR_ERR_SELF_TEST;
#endif
        for (unsigned m = 0; m < TR_KNOWN_FUSED; m++) {
            enum tr_known mode = (enum tr_known)m;
            if (tr_known_fused[m][k] == 0 || !fused_is_asked(mode, backend))
                continue;
            if (!set_key(w, mode, backend, raw, len) ||
                !fused_is_right(w, mode, k, tr_known_fused[m][k]))
                return TR_ERR_SELF_TEST;
            if (mode == TR_KNOWN_GCM_SHORT && tr_backend_doing(backend, TR_OP_GCM_SEAL) != NULL &&
                !short_gcm_is_right(w))
                return TR_ERR_SELF_TEST;
        }
    }
    return TR_OK;
}
