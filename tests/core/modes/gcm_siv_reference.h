/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes GCM-SIV by its definition (RFC 8452 sections 3 and 4), because OpenSSL has it only from
 * 3.2 on. */
#ifndef TENROUNDS_TESTS_GCM_SIV_REFERENCE_H
#define TENROUNDS_TESTS_GCM_SIV_REFERENCE_H

#include "../common.h"

/* One step of POLYVAL: XORs x into s, then multiplies s by h and by X^-128, bit by bit. Bit i of
 * byte j is the coefficient of X^(8j+i). */
static inline void polyval_step(uint8_t s[16], const uint8_t x[16], const uint8_t h[16])
{
    uint8_t sum[16] = {0};
    for (unsigned i = 0; i < 16; i++)
        s[i] ^= x[i];
    for (unsigned bit = 0; bit < 128; bit++) {
        for (unsigned i = 0; i < 16 && (s[bit / 8] >> bit % 8 & 1) != 0; i++)
            sum[i] ^= h[i];
        /* Divides by X. If the constant term is 1, first XORs the modulus X^128 + X^127 + X^126 +
         * X^121 + 1. */
        const bool odd = (sum[0] & 1) != 0;
        for (unsigned i = 0; i < 16; i++)
            sum[i] = (uint8_t)(sum[i] >> 1 | (i < 15 ? sum[i + 1] << 7 : 0));
        sum[15] ^= odd ? 0xe1 : 0;
    }
    memcpy(s, sum, 16);
}

static inline void polyval_bytes(uint8_t s[16], const uint8_t *data, size_t len,
                                 const uint8_t h[16])
{
    for (size_t i = 0; i < len; i += 16) {
        uint8_t x[16] = {0};
        memcpy(x, data + i, len - i < 16 ? len - i : 16);
        polyval_step(s, x, h);
    }
}

static inline void encrypt_block(const struct tr_aes_key *key, uint8_t out[16],
                                 const uint8_t in[16])
{
    if (tr_ecb_encrypt(key, out, in, 16) != TR_OK)
        abort();
}

static inline void gcm_siv_reference(const uint8_t *raw_key, size_t key_len,
                                     const uint8_t nonce[12], const uint8_t *aad, size_t aad_len,
                                     uint8_t *out, const uint8_t *in, size_t len, uint8_t tag[16])
{
    struct tr_aes_key generator = key_for(&tr_bitslice, raw_key, key_len), key;
    uint8_t raw[48], block[16], s[16] = {0};
    for (unsigned i = 0; i < 2 + key_len / 8; i++) {
        memset(block, 0, 4);
        block[0] = (uint8_t)i;
        memcpy(block + 4, nonce, 12);
        encrypt_block(&generator, block, block);
        memcpy(raw + 8 * (size_t)i, block, 8);
    }
    key = key_for(&tr_bitslice, raw + 16, key_len);
    polyval_bytes(s, aad, aad_len, raw);
    polyval_bytes(s, in, len, raw);
    for (unsigned i = 0; i < 8; i++) {
        block[i] = (uint8_t)((uint64_t)aad_len * 8 >> 8 * i);
        block[8 + i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
    }
    polyval_step(s, block, raw);
    for (unsigned i = 0; i < 12; i++)
        s[i] ^= nonce[i];
    s[15] &= 0x7f;
    encrypt_block(&key, tag, s);
    memcpy(s, tag, 16);
    s[15] |= 0x80;
    for (size_t i = 0; i < len; i++) {
        if (i % 16 == 0) {
            encrypt_block(&key, block, s);
            for (unsigned j = 0; j < 4 && ++s[j] == 0; j++)
                continue;
        }
        out[i] = in[i] ^ block[i % 16];
    }
}

#endif
