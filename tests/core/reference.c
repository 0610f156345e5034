/* SPDX-License-Identifier: BSD-2-Clause */
/* The textbook AES and its modes. Section numbers without a document refer to FIPS-197 (2001). */
#include "reference.h"

#include <string.h>

#include "tenrounds.h"

static uint8_t sbox[256], inv_sbox[256];

/* Multiplies modulo x^8 + x^4 + x^3 + x + 1 (section 4.2). */
static uint8_t multiply(uint8_t a, uint8_t b)
{
    uint8_t product = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1)
            product ^= a;
        a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return product;
}

/* Computes the S-box: multiplicative inverse, then affine transformation (section 5.1.1). */
static void make_sbox(void)
{
    for (unsigned x = 0; x < 256; x++) {
        uint8_t inverse = 0, y = 0;
        for (unsigned c = 1; c < 256 && inverse == 0; c++)
            if (multiply((uint8_t)x, (uint8_t)c) == 1)
                inverse = (uint8_t)c;
        for (unsigned i = 0; i < 8; i++) {
            const unsigned bit = inverse >> i ^ inverse >> (i + 4) % 8 ^ inverse >> (i + 5) % 8 ^
                                 inverse >> (i + 6) % 8 ^ inverse >> (i + 7) % 8 ^ 0x63u >> i;
            y |= (uint8_t)((bit & 1) << i);
        }
        sbox[x] = y;
        inv_sbox[y] = (uint8_t)x;
    }
}

/* Key expansion (section 5.2). */
void reference_expand(struct reference_key *key, const uint8_t *raw, size_t len)
{
    uint8_t *w = key->w[0], rcon = 1;
    if (sbox[0] == 0)
        make_sbox();
    key->rounds = (unsigned)len / 4 + 6;
    memcpy(w, raw, len);
    for (size_t i = len; i < 16 * (key->rounds + 1); i += 4) {
        uint8_t t[4];
        memcpy(t, w + i - 4, 4);
        if (i % len == 0) {
            const uint8_t first = t[0];
            for (int j = 0; j < 3; j++)
                t[j] = sbox[t[j + 1]];
            t[3] = sbox[first];
            t[0] ^= rcon;
            rcon = multiply(rcon, 2);
        } else if (len == 32 && i % len == 16) {
            for (int j = 0; j < 4; j++)
                t[j] = sbox[t[j]];
        }
        for (size_t j = 0; j < 4; j++)
            w[i + j] = w[i + j - len] ^ t[j];
    }
}

static void add_round_key(const struct reference_key *key, unsigned round, uint8_t s[16])
{
    for (int i = 0; i < 16; i++)
        s[i] ^= key->w[round][i];
}

/* SubBytes and ShiftRows, or their inverses (sections 5.1.1, 5.1.2, 5.3.1, 5.3.2). Byte r + 4c of
 * the state is in row r, column c. */
static void substitute_and_shift(uint8_t s[16], bool inverse)
{
    uint8_t t[16];
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 4; r++) {
            if (inverse)
                t[r + 4 * ((c + r) % 4)] = inv_sbox[s[r + 4 * c]];
            else
                t[r + 4 * c] = sbox[s[r + 4 * ((c + r) % 4)]];
        }
    memcpy(s, t, 16);
}

/* MixColumns or its inverse: multiplies each column by the circulant matrix over GF(2^8) whose
 * first row is `m` (sections 5.1.3, 5.3.3). */
static void mix_columns(uint8_t s[16], const uint8_t m[4])
{
    for (int c = 0; c < 4; c++) {
        uint8_t column[4];
        memcpy(column, s + 4 * c, 4);
        for (int r = 0; r < 4; r++) {
            s[4 * c + r] = 0;
            for (int i = 0; i < 4; i++)
                s[4 * c + r] ^= multiply(column[(r + i) % 4], m[i]);
        }
    }
}

void reference_inv_mix_columns(uint8_t state[16])
{
    static const uint8_t coefficients[4] = {0x0e, 0x0b, 0x0d, 0x09};
    mix_columns(state, coefficients);
}

/* The first `rounds` rounds of Cipher (section 5.1). */
static void encrypt_rounds(const struct reference_key *key, uint8_t block[16], unsigned rounds)
{
    static const uint8_t coefficients[4] = {2, 3, 1, 1};
    add_round_key(key, 0, block);
    for (unsigned round = 1; round <= rounds; round++) {
        substitute_and_shift(block, false);
        if (round < key->rounds)
            mix_columns(block, coefficients);
        add_round_key(key, round, block);
    }
}

void reference_encrypt_block(const struct reference_key *key, uint8_t block[16])
{
    encrypt_rounds(key, block, key->rounds);
}

void reference_first_rounds(const struct reference_key *key, uint8_t block[16], unsigned rounds)
{
    encrypt_rounds(key, block, rounds);
}

/* InvCipher (section 5.3). */
void reference_decrypt_block(const struct reference_key *key, uint8_t block[16])
{
    add_round_key(key, key->rounds, block);
    for (unsigned round = key->rounds; round-- > 0;) {
        substitute_and_shift(block, true);
        add_round_key(key, round, block);
        if (round > 0)
            reference_inv_mix_columns(block);
    }
}

static void xor_block(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i];
}

/* Processes one block in ECB (`chain` is NULL) or CBC (SP 800-38A sections 6.1 and 6.2). */
static void whole_block(const struct reference_key *key, bool decrypt, uint8_t *chain, uint8_t *out,
                        const uint8_t *in)
{
    uint8_t block[16];
    if (decrypt) {
        memcpy(block, in, 16);
        reference_decrypt_block(key, block);
        if (chain != NULL) {
            xor_block(block, block, chain, 16);
            memcpy(chain, in, 16);
        }
    } else {
        memcpy(block, in, 16);
        if (chain != NULL)
            xor_block(block, block, chain, 16);
        reference_encrypt_block(key, block);
        if (chain != NULL)
            memcpy(chain, block, 16);
    }
    memcpy(out, block, 16);
}

/* Processes n bytes, at most one block, in CFB, OFB or CTR (SP 800-38A sections 6.3 to 6.5). Sets
 * `state` to the cipher's next input block. */
static void stream_block(const struct reference_key *key, int mode, bool decrypt, uint8_t *state,
                         uint8_t *out, const uint8_t *in, size_t n)
{
    uint8_t block[16], ciphertext[16] = {0};
    memcpy(block, state, 16);
    reference_encrypt_block(key, block);
    if (decrypt)
        memcpy(ciphertext, in, n);
    xor_block(out, in, block, n);
    if (!decrypt)
        memcpy(ciphertext, out, n);
    if (mode == TR_CFB128)
        memcpy(state, ciphertext, 16);
    else if (mode == TR_OFB)
        memcpy(state, block, 16);
    else
        for (int i = 15; i >= 0 && ++state[i] == 0; i--)
            ;
}

void reference_message(const struct reference_key *key, int mode, bool decrypt,
                       const uint8_t iv[16], uint8_t *out, const uint8_t *in, size_t len)
{
    uint8_t state[16];
    memcpy(state, iv, 16);
    for (size_t at = 0; at < len; at += 16) {
        const size_t n = len - at < 16 ? len - at : 16;
        if (mode == TR_ECB || mode == TR_CBC)
            whole_block(key, decrypt, mode == TR_CBC ? state : NULL, out + at, in + at);
        else
            stream_block(key, mode, decrypt, state, out + at, in + at, n);
    }
}
