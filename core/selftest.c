/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known answers for every mode, direction and key size of a backend, through the modes, at lengths
 * that reach each of its loops and tails. The answers are kept as 64-bit digests of the
 * ciphertexts, so that loading stays quick; decryption is compared with the plaintext itself. The
 * test suite recomputes the digests with another implementation of AES.
 */
#include "selftest.h"

#include "backend.h"
#include "util.h"

/* 1 to 77 blocks; 77 = 64 + 8 + 4 + 1 goes through every group of the widest backend, the main loop
 * twice, and 13 and 31 through its partial vectors. The odd bytes are for the modes that take them.
 */
const uint16_t tr_known_lengths[7] = {16 + 5,  32 + 10,  48 + 15,     96 + 14,
                                      208 + 1, 496 + 11, TR_KNOWN_MAX};

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

struct work {
    struct tr_cipher cipher;
    uint8_t plaintext[TR_KNOWN_MAX], data[TR_KNOWN_MAX];
};

static enum tr_status crypt(struct work *w, enum tr_mode mode, int decrypt, const uint8_t *in,
                            size_t len)
{
    size_t out_len;
    enum tr_status status = tr_cipher_start(&w->cipher, mode, decrypt, 0, tr_known_iv);
    if (status == TR_OK)
        status = tr_cipher_update(&w->cipher, w->data, &out_len, in, len);
    return status == TR_OK && out_len != len ? TR_ERR_SELF_TEST : status;
}

static int mode_is_right(struct work *w, enum tr_mode mode, uint64_t expected)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < 7; i++) {
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

enum tr_status tr_known_answers(const struct tr_backend *backend, int falsify)
{
    struct work w;
    uint8_t raw[32];
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = tr_known_key(i);
    for (size_t i = 0; i < TR_KNOWN_MAX; i++)
        w.plaintext[i] = tr_known_plaintext(i);
    for (unsigned k = 0; k < TR_KNOWN_KEYS; k++) {
        if (tr_aes_set_key(&w.cipher.key, backend, raw, 16 + 8 * (size_t)k) != TR_OK)
            return TR_ERR_SELF_TEST;
        for (unsigned m = 0; m < TR_KNOWN_MODES; m++) {
            uint64_t expected = tr_known_digests[m][k] ^ (falsify != 0);
            if (!mode_is_right(&w, (enum tr_mode)(TR_ECB + m), expected))
                return TR_ERR_SELF_TEST;
        }
    }
    return TR_OK;
}
