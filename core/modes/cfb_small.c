/* SPDX-License-Identifier: BSD-2-Clause */
/* CFB with segments of 8 bits and of 1 bit, SP 800-38A section 6.3. The IV followed by the
 * ciphertext is one string. The input block of a segment is the 128 bits before the segment in that
 * string. Decryption knows the whole string, so it encrypts a chunk of input blocks in one call. */
#include "modes/modes.h"

/* A window is the IV followed by a chunk of ciphertext. The last 16 bytes of a window are the IV of
 * the next chunk. */
#define WINDOW (TR_BLOCK + TR_CHUNK)

static void cfb8_encrypt_chunk(const struct tr_aes_key *key, uint8_t window[WINDOW], uint8_t *out,
                               const uint8_t *in, size_t len)
{
    uint8_t block[TR_BLOCK];
    for (size_t i = 0; i < len; i++) {
        tr_bulk(key, TR_OP_ECB_ENCRYPT, block, window + i, 1, NULL);
        out[i] = window[TR_BLOCK + i] = in[i] ^ block[0];
    }
    tr_cleanse(block, sizeof(block));
}

static void cfb8_decrypt_chunk(const struct tr_aes_key *key, uint8_t window[WINDOW], uint8_t *out,
                               const uint8_t *in, size_t len)
{
    uint8_t blocks[TR_CHUNK][TR_BLOCK];
    __builtin_memcpy(window + TR_BLOCK, in, len);
    for (size_t i = 0; i < len; i++)
        __builtin_memcpy(blocks[i], window + i, TR_BLOCK);
    tr_bulk(key, TR_OP_ECB_ENCRYPT, blocks[0], blocks[0], len, NULL);
    for (size_t i = 0; i < len; i++)
        out[i] = window[TR_BLOCK + i] ^ blocks[i][0];
    tr_cleanse(blocks, len * TR_BLOCK);
}

TR_INLINE enum tr_status cfb8(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                              const uint8_t *in, size_t len, int decrypt)
{
    uint8_t window[WINDOW];
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    while (len != 0) {
        size_t n = len < TR_CHUNK ? len : TR_CHUNK;
        __builtin_memcpy(window, iv, TR_BLOCK);
        (decrypt ? cfb8_decrypt_chunk : cfb8_encrypt_chunk)(key, window, out, in, n);
        __builtin_memcpy(iv, window + n, TR_BLOCK);
        in += n;
        out += n;
        len -= n;
    }
    return TR_OK;
}

enum tr_status tr_cfb8_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                               const uint8_t *in, size_t len)
{
    return cfb8(key, iv, out, in, len, 0);
}

enum tr_status tr_cfb8_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                               const uint8_t *in, size_t len)
{
    return cfb8(key, iv, out, in, len, 1);
}

/* cfb1_get_bit() reads bit i, cfb1_set_bit() writes it. Bit 0 is the highest bit of the first
 * byte. */
static unsigned cfb1_get_bit(const uint8_t *in, size_t i)
{
    return in[i / 8] >> (7 - i % 8) & 1u;
}

static void cfb1_set_bit(uint8_t *out, size_t i, unsigned value)
{
    unsigned shift = 7 - (unsigned)(i % 8);
    out[i / 8] = (uint8_t)((out[i / 8] & ~(1u << shift)) | value << shift);
}

/* Shifts a bit of ciphertext into the shift register. */
static void cfb1_shift_in(uint8_t iv[16], unsigned bit)
{
    uint64_t high = tr_load64_be(iv), low = tr_load64_be(iv + 8);
    tr_store64_be(iv, high << 1 | low >> 63);
    tr_store64_be(iv + 8, low << 1 | bit);
}

enum tr_status tr_cfb1_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                               const uint8_t *in, size_t bits)
{
    uint8_t block[TR_BLOCK];
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (tr_bad_overlap(out, in, bits / 8 + (bits % 8 != 0)))
        return TR_ERR_OVERLAP;
    for (size_t i = 0; i < bits; i++) {
        tr_bulk(key, TR_OP_ECB_ENCRYPT, block, iv, 1, NULL);
        unsigned c = cfb1_get_bit(in, i) ^ block[0] >> 7;
        cfb1_shift_in(iv, c);
        cfb1_set_bit(out, i, c);
    }
    tr_cleanse(block, sizeof(block));
    return TR_OK;
}

enum tr_status tr_cfb1_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                               const uint8_t *in, size_t bits)
{
    uint8_t blocks[TR_CHUNK][TR_BLOCK];
    if (!tr_is_set(key))
        return TR_ERR_STATE;
    if (tr_bad_overlap(out, in, bits / 8 + (bits % 8 != 0)))
        return TR_ERR_OVERLAP;
    while (bits != 0) {
        size_t n = bits < TR_CHUNK ? bits : TR_CHUNK;
        for (size_t i = 0; i < n; i++) {
            __builtin_memcpy(blocks[i], iv, TR_BLOCK);
            cfb1_shift_in(iv, cfb1_get_bit(in, i));
        }
        tr_bulk(key, TR_OP_ECB_ENCRYPT, blocks[0], blocks[0], n, NULL);
        for (size_t i = 0; i < n; i++)
            cfb1_set_bit(out, i, cfb1_get_bit(in, i) ^ blocks[i][0] >> 7);
        in += n / 8;
        out += n / 8;
        bits -= n;
    }
    tr_cleanse(blocks, sizeof(blocks));
    return TR_OK;
}
